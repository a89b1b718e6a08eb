"""Words that docs/glossary.md replaced, and pronouns that leave people out, come back nowhere.

Left out are released steps of the database's schema, which are never edited. Hebrew's language code is no pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("daemon", "ns2mod", "sourcemod/scripting", "tests", "bench", "docs", "systemd")
KINDS = {".py", ".sp", ".inc", ".lua", ".md"}
ELSEWHERE = (
    ROOT / "daemon" / "equipoise" / "store" / "migrations.py",
    ROOT / "tests" / "store" / "test_migrations.py",
    Path(__file__),
)

RETIRED = {
    "doors": "live (the moment), lineup (the people)",
    "card": "player summary",
    "cards": "player summaries",
    "ledger": "points system, environment",
    "desk": "lookups",
    "recipe": "fingerprint",
    "foretell": "predict",
    "take_back": "write_back",
    "laid_out": "one-match history",
    "room_for": "allocate",
    "whoever": "the players who …",
    "he": "they",
    "him": "them",
    "his": "their",
    "himself": "themselves",
}
"""Each with the word to write instead."""

WORD = re.compile(r"(?<![A-Za-z-])(" + "|".join(RETIRED) + r')(?![A-Za-z-])(?!": "hebrew")', re.IGNORECASE)


def texts() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in KINDS and not any(path.is_relative_to(each) for each in ELSEWHERE):
                yield str(path.relative_to(ROOT)), path.read_text()


def test_words_that_were_replaced_stand_nowhere() -> None:
    found = [
        f"{name}:{number}: {match[0]} → {RETIRED[match[0].lower()]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        for match in WORD.finditer(line)
    ]
    assert found == []
