"""The command lines of the documents, as they stand there, and what is declared of each block.

The line before a fenced `sh` block is a comment that GitHub does not show:

- `<!-- walk: NAME -->`: the walk runs it in its step NAME. Then may follow, in this order: `, exit 2` where the outcome
  is not 0; `, FILE is "~/x.db"` for a word that the reader replaces; `, answer "y"` to whatever it asks; `, says "x"`
  where the output matters.
- `<!-- typed elsewhere: NAME, REASON -->`: it belongs to step NAME and is counted, but nothing here can run it.
- `<!-- not walked: REASON -->`: no step of the walk.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "docs/operations.md",
    "docs/commands.md",
    "docs/corrections.md",
    "docs/shared.md",
    "systemd/README.md",
)

_BLOCK = re.compile(r"^(?P<indent> *)```sh\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(r"<!-- (?P<said>[^\n]*?) -->\n *\Z")
_WALK = re.compile(
    r'walk: (?P<step>[\w-]+)(?:, exit (?P<exit>\d+))?(?:, (?P<word>[A-Z]+) is "(?P<meant>[^"]+)")?'
    r'(?:, answer "(?P<answer>[^"]+)")?(?P<says>(?:, says "[^"]+")*)'
)
_ELSEWHERE = re.compile(r"typed elsewhere: (?P<step>[\w-]+), .{20,}")
_NOT = re.compile(r"not walked: .{20,}")


@dataclass(frozen=True)
class Block:
    """A block and its declaration; `step` is None for one that is not walked."""

    place: str
    text: str
    step: str | None = None
    code: int = 0
    answer: str = ""
    says: tuple[str, ...] = ()
    elsewhere: bool = False

    def commands(self) -> list[str]:
        """What a person types, without comments.

        `a && b` are two; a line that goes on in the next is one, and so is a here-document.
        """
        joined = re.sub(r"\\\n\s*", "", self.text)
        joined = re.sub(r"(<<-?\s*'?(\w+)'?.*)\n(?:.*\n)*?\2$", r"\1", joined, flags=re.MULTILINE)
        lines = (line for line in joined.splitlines() if line and not line.startswith("#"))
        return [command for line in lines for command in line.split(" && ")]


def blocks(document: str) -> Iterator[Block]:
    """Every `sh` block of a document; ValueError names one that is not declared, or not so that it is understood."""
    text = (ROOT / document).read_text()
    for found in _BLOCK.finditer(text):
        place = f"{document}:{text.count(chr(10), 0, found.start()) + 1}"
        said = _DECLARED.search(text, 0, found.start())
        body = textwrap.dedent(found["text"]).strip("\n")
        if said is None:
            raise ValueError(f"{place}: the line before the block must declare it; tests/walk/blocks.py says how")
        yield _declared(place, body, said["said"])


def _declared(place: str, text: str, said: str) -> Block:
    if walk := _WALK.fullmatch(said):
        if walk["word"]:
            text = re.sub(rf"\b{walk['word']}\b", walk["meant"], text)
        says = tuple(re.findall(r'says "([^"]+)"', walk["says"]))
        return Block(place, text, walk["step"], int(walk["exit"] or 0), walk["answer"] or "", says)
    if elsewhere := _ELSEWHERE.fullmatch(said):
        return Block(place, text, elsewhere["step"], elsewhere=True)
    if _NOT.fullmatch(said):
        return Block(place, text)
    raise ValueError(f"{place}: this is no declaration: {said}")


def steps() -> dict[str, list[Block]]:
    """The walked blocks of all documents by their steps, in the order of the documents."""
    found: dict[str, list[Block]] = {}
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.step:
                found.setdefault(block.step, []).append(block)
    return found
