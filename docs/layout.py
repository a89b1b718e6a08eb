"""The layout in docs/architecture.md, made from the first lines of the modules: `make layout` writes it again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "daemon" / "equipoise"
DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- made by make layout -->\n", "<!-- end of what make layout made -->\n"


def draw() -> str:
    """Return the tree of folders and files, each with the first line of its docstring."""
    return "```\ndaemon/equipoise/\n" + "".join(_lines(PACKAGE, 1)) + "```\n"


def _lines(folder: Path, depth: int) -> Iterator[str]:
    files = sorted(path for path in folder.glob("*.py") if path.name not in ("__init__.py", "__main__.py"))
    main = folder / "__main__.py"
    for path in (*files, *([main] if main.exists() and folder != PACKAGE else ())):
        yield _line(path.name, path, depth)
    for inner in sorted(path for path in folder.iterdir() if (path / "__init__.py").exists()):
        yield _line(f"{inner.name}/", inner / "__init__.py", depth)
        yield from _lines(inner, depth + 1)


def _line(name: str, path: Path, depth: int) -> str:
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
    return f"{'    ' * depth}{name:<{max(0, 26 - 4 * depth)}}  {first}\n".rstrip() + "\n"


def written(document: str) -> str:
    """Return the document with the layout of the code as it is."""
    before, _, rest = document.partition(BEGIN)
    return before + BEGIN + draw() + END + rest.partition(END)[2]


if __name__ == "__main__":
    DOCUMENT.write_text(written(DOCUMENT.read_text()))
