"""The import table of docs/architecture.md against every import of every module, and what serving imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "daemon" / "equipoise"


def table() -> Iterator[tuple[str, set[str]]]:
    """Layer and what of ours it may import, `*` being everything; a layer may always import itself."""
    document = (ROOT / "docs" / "architecture.md").read_text()
    section = document.partition("## Who may import whom")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| (`.+)$", section, re.MULTILINE):
        layers, may, *_ = row.split("|")
        named = {"*"} if may.strip() == "everything" else set(re.findall(r"`([\w.]+)`", may))
        yield from ((layer, named) for layer in re.findall(r"`(\w+)`", layers))


MAY = dict(table())
CORE_MAY = {"__future__", "dataclasses", "enum", "math", "typing", "collections", "itertools", "functools"}
NEVER: dict[str, set[str]] = {
    "solver": {"numpy", "numba", "asyncio", "os", "time", "pathlib", "random", "socket", "sqlite3", "logging"},
    "ratings": {"asyncio", "os", "time", "random", "socket", "sqlite3", "aiohttp", "logging"},
    "wire": {"asyncio", "os", "time", "random", "socket", "sqlite3", "aiohttp", "logging", "pathlib"},
    "answers": {"asyncio", "os", "time", "random", "socket", "sqlite3", "aiohttp", "logging", "pathlib"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__":
            yield name, path


MODULES = dict(modules())


def imports(name: str, path: Path) -> Iterator[tuple[str, bool]]:
    """Full names that a module imports, and whether inside a function or for type checking only."""
    tree = ast.parse(path.read_text())
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _type_checking(node)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(name, path, node)
            yield from ((f"{base}.{alias.name}", node in late) for alias in node.names)


def _type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _base(name: str, path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = ["equipoise", *name.split(".")]
    keep = len(package) - node.level + (path.name == "__init__.py")
    return ".".join([*package[:keep], *([node.module] if node.module else [])])


def ours(name: str, path: Path) -> set[str]:
    """Modules of ours that a module imports, without the package's name."""
    found = set()
    for full, _ in imports(name, path):
        parts = full.split(".")
        if parts[0] == "equipoise":
            inside = ".".join(parts[1:])
            found.add(inside if inside in MODULES else ".".join(parts[1:-1]))
    return found - {""}


def allowed(module: str, layer: str) -> bool:
    may = MAY[layer] | {layer}
    parts = module.split(".")
    return "*" in may or any(".".join(parts[:n]) in may for n in range(1, len(parts) + 1))


def test_the_table_has_a_row_for_every_layer_and_no_other() -> None:
    assert MAY.keys() == {name.split(".")[0] for name in MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_its_layer_may(name: str) -> None:
    layer = name.split(".")[0]
    assert [module for module in sorted(ours(name, MODULES[name])) if not allowed(module, layer)] == []


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("core")])
def test_the_core_imports_nothing_but_values_of_the_standard_library(name: str) -> None:
    others = {full.split(".")[0] for full, _ in imports(name, MODULES[name])} - {"equipoise"}
    assert others <= CORE_MAY


@pytest.mark.parametrize("name", [name for name in MODULES if name.split(".")[0] in NEVER])
def test_a_pure_layer_imports_no_clock_and_no_io(name: str) -> None:
    layer = name.split(".")[0]
    assert {full.split(".")[0] for full, _ in imports(name, MODULES[name])} & NEVER[layer] == set()


@pytest.mark.parametrize("name", MODULES)
def test_numba_is_imported_only_inside_functions_of_kernels(name: str) -> None:
    eager = {full.split(".")[0] for full, late in imports(name, MODULES[name]) if not late}
    assert "numba" not in eager
    lazy = {full.split(".")[0] for full, late in imports(name, MODULES[name]) if late}
    assert "numba" not in lazy or name.endswith("_kernel")


def test_nothing_but_the_command_line_imports_the_composition_root() -> None:
    importers = {name for name, path in MODULES.items() if "app" in ours(name, path)}
    assert all(name.startswith("cli") for name in importers)


@pytest.mark.parametrize("layer", [layer for layer in MAY if "*" not in MAY[layer]])
def test_the_table_allows_nothing_that_nobody_imports(layer: str) -> None:
    sharing = [each for each in MAY if MAY[each] == MAY[layer]]
    used = {module for name, path in MODULES.items() if name.split(".")[0] in sharing for module in ours(name, path)}
    assert {may for may in MAY[layer] if not any(f"{module}.".startswith(f"{may}.") for module in used)} == set()


def loaded(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after the code."""
    lines = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout.split())


HEAVY = {"numba", "numpy", "rich", "aiohttp", "sqlite3", "msgspec", "prometheus_client", "apscheduler"}


def test_help_imports_next_to_nothing() -> None:
    assert loaded("import equipoise.cli") & HEAVY == set()


def test_commands_that_ask_the_daemon_import_next_to_nothing() -> None:
    assert loaded("import equipoise.cli.remote, equipoise.cli.pools") & HEAVY == set()


def test_the_daemon_is_built_without_numba_and_rich() -> None:
    assert loaded("import equipoise.app") & {"numba", "rich", "asyncpg", "uvloop", "pygal"} == set()
