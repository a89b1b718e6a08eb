"""How the house reads: its files, its satellites, and the words of its docstrings and locals.

`python -m bench.rooms [TREE …]` prints a column for each checkout (this one by default), so that two can be compared.
It is read by people and fails nothing: a figure that becomes worse asks for a look at the files that it names (`-v`).
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parents[1]
SMALL, SATELLITE = 60, 80
"""Lines below which a file is small, and one with a single importer is a satellite of it."""
OPENINGS = ("Of", "What", "Where", "By", "As")
"""First words of docstrings that are no sentence and no noun phrase."""
PARTICIPLES = re.compile(
    r"(?!(?:rating|evening|ring|string|seed|speed|finding|listing|setting|warning|beginning|ending|nothing|"
    r"need|red|ceiling|meeting)$)"
    r"(?:[a-z]+(?:ed|ing)$|found|known|given|made|held|told|said|each|one|other|here|there)"
)
"""Names of locals that say a state or a pronoun; nouns that end alike are left out."""


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    """Dotted, without the package's own name."""
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Lines of the file."""
        return self.text.count("\n")

    def imports(self) -> set[str]:
        """Full names, within the package, of what is imported."""
        names = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("equipoise"):
                inside = (node.module or "").removeprefix("equipoise").removeprefix(".")
                names |= {inside, *(f"{inside}.{alias.name}".removeprefix(".") for alias in node.names)}
        return names


Measure = Callable[[Sequence[Module]], tuple[str, Sequence[str]]]
"""The figure to print, and the places that it counts."""


def modules(tree: Path) -> list[Module]:
    """Every file of the daemon's package in a checkout."""
    package = tree / "daemon" / "equipoise"
    paths = sorted(package.rglob("*.py"))
    names = [".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    texts = [path.read_text() for path in paths]
    return [Module(name, text, ast.parse(text)) for name, text in zip(names, texts, strict=True)]


def small_files(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return the files with fewer than `SMALL` lines, empty package files left out."""
    small = [each.name for each in house if 5 < each.lines < SMALL]
    return str(len(small)), small


def satellites(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return the short files that one other file alone imports."""
    names = {each.name for each in house}
    importers: dict[str, set[str]] = {name: set() for name in names}
    for each in house:
        for name in each.imports() & names:
            importers[name].add(each.name)
    lines = {each.name: each.lines for each in house}
    found = [name for name, users in importers.items() if len(users) == 1 and 5 < lines[name] < SATELLITE]
    return str(len(found)), sorted(found)


def repeated_names(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return the file names that stand more than once; the families of ratings share theirs on purpose."""
    counts = Counter(each.name.rpartition(".")[2] for each in house if each.lines > 5)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    return str(len(repeated)), repeated


def round_classes(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return the classes that are named for a round."""
    classes = [node.name for each in house for node in ast.walk(each.tree) if isinstance(node, ast.ClassDef)]
    found = sorted({name for name in classes if "Round" in name})
    return str(len(found)), found


def openings(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return the docstrings that open with one of `OPENINGS`, of all."""
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module
    texts = [
        (each.name, text)
        for each in house
        for node in ast.walk(each.tree)
        if isinstance(node, kinds) and (text := ast.get_docstring(node))
    ]
    opened = [f"{name}: {text.splitlines()[0]}" for name, text in texts if text.split()[0] in OPENINGS]
    return f"{100 * len(opened) / len(texts):.1f} %", opened


def local_names(house: Sequence[Module]) -> Iterator[tuple[str, str]]:
    """Yield module and name of every local that a function assigns."""
    for each in house:
        for function in ast.walk(each.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                stored = (node for node in ast.walk(function) if isinstance(node, ast.Name))
                names = {node.id for node in stored if isinstance(node.ctx, ast.Store)}
                yield from ((each.name, name) for name in sorted(names))


def participles(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return the locals that are participles or pronouns, of all."""
    names = list(local_names(house))
    found = [f"{module}: {name}" for module, name in names if PARTICIPLES.fullmatch(name)]
    return f"{100 * len(found) / len(names):.1f} %", found


def shadowed(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return the locals and arguments that hide a builtin."""
    arguments = ((each.name, node.arg) for each in house for node in ast.walk(each.tree) if isinstance(node, ast.arg))
    hidden = [f"{module}: {name}" for module, name in (*local_names(house), *arguments) if hasattr(builtins, name)]
    return str(len(hidden)), hidden


def comments(house: Sequence[Module]) -> tuple[str, Sequence[str]]:
    """Return how many of 100 lines are comments."""
    count = sum(
        token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
        for each in house
        for token in tokenize.generate_tokens(io.StringIO(each.text).readline)
    )
    return f"{100 * count / sum(each.lines for each in house):.1f}", ()


MEASURES: Mapping[str, Measure] = {
    "files": lambda house: (str(len(house)), ()),
    "lines": lambda house: (f"{sum(each.lines for each in house):,}", ()),
    f"files under {SMALL} lines": small_files,
    f"under {SATELLITE} lines, one importer": satellites,
    "file names that stand twice": repeated_names,
    "classes named for a round": round_classes,
    f"docstrings that open with {', '.join(OPENINGS)}": openings,
    "locals that are participles or pronouns": participles,
    "names that hide a builtin": shadowed,
    "comments in 100 lines": comments,
}


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="*", type=Path, default=[HERE], metavar="TREE", help="checkouts to compare")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="name the places that are counted, of the last tree"
    )
    asked = parser.parse_args()
    houses = [modules(tree) for tree in asked.trees]
    table = Table("", *(tree.resolve().name for tree in asked.trees), box=None)
    for name, measure in MEASURES.items():
        table.add_row(name, *(measure(house)[0] for house in houses))
    console = Console()
    console.print(table)
    for name, measure in MEASURES.items() if asked.verbose else ():
        for place in measure(houses[-1])[1]:
            console.print(f"{name}: {place}", highlight=False, markup=False)


if __name__ == "__main__":
    main()
