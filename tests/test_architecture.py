"""The import table of docs/architecture.md against every import of every module, and what serving imports.

The tree is parsed once; a test names every offender at once.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "daemon" / "equipoise"

IO = {"asyncio", "os", "time", "random", "socket", "sqlite3", "aiohttp", "logging"}
NEVER: dict[str, set[str]] = {
    "solver": IO | {"numpy", "numba", "pathlib"},
    "ratings": IO,
    "wire": IO | {"pathlib"},
    "balancing": IO | {"pathlib"},
    "moving": IO | {"pathlib"},
}
CORE_MAY = {"__future__", "dataclasses", "enum", "math", "typing", "collections", "itertools", "functools", "msgspec"}
"""msgspec has no I/O, and a struct is as pure as a dataclass: what the protocol and the core share is said once."""
NUMBA = {"ratings.parts.compiling"}
"""The modules that import numba, inside functions."""


@dataclass(frozen=True)
class Import:
    """A full name that a module imports."""

    name: str
    late: bool
    """Inside a function, or for type checking only."""


@dataclass(frozen=True)
class Module:
    """One file of the package and what it imports."""

    name: str
    imports: tuple[Import, ...]

    @property
    def layer(self) -> str:
        return self.name.partition(".")[0]

    def packages(self, *, late: bool | None = None) -> set[str]:
        """Top-level packages; only those imported late, or only those not, where that is asked."""
        return {one.name.partition(".")[0] for one in self.imports if late is None or one.late is late}


def parsed() -> Iterator[Module]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__":
            yield Module(name, tuple(_imports(ast.parse(path.read_text()))))


def _imports(parent: ast.AST, late: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are written in full"
            yield from (Import(f"{node.module}.{alias.name}", late) for alias in node.names)
        elif not isinstance(node, ast.expr):
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _type_checking(node)
            yield from _imports(node, late or inside)


def _type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def modules() -> dict[str, Module]:
    """All of them by name, parsed once, when the first test needs them."""
    return {module.name: module for module in parsed()}


def ours(module: Module) -> set[str]:
    """Modules of ours that a module imports, without the package's name."""
    found = set()
    for one in module.imports:
        package, _, inside = one.name.partition(".")
        if package == "equipoise":
            found.add(inside if inside in modules() else inside.rpartition(".")[0])
    return found - {""}


@cache
def imports() -> dict[str, set[str]]:
    """What of ours each module imports."""
    return {name: ours(module) for name, module in modules().items()}


def table() -> Iterator[tuple[str, set[str]]]:
    """Layer and what of ours it may import, `*` being everything; a layer may always import itself."""
    document = (ROOT / "docs" / "architecture.md").read_text()
    section = document.partition("## Who may import whom")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| (`.+)$", section, re.MULTILINE):
        layers, may, *_ = row.split("|")
        named = {"*"} if may.strip() == "everything" else set(re.findall(r"`([\w.]+)`", may))
        yield from ((layer, named) for layer in re.findall(r"`(\w+)`", layers))


MAY = dict(table())


def within(module: str, packages: set[str]) -> bool:
    return "*" in packages or any(f"{module}.".startswith(f"{package}.") for package in packages)


def test_the_table_has_a_row_for_every_layer_and_no_other() -> None:
    assert MAY.keys() == {module.layer for module in modules().values()}


def test_a_module_imports_only_what_its_layer_may() -> None:
    forbidden = [
        f"{name} imports {other}"
        for name, others in imports().items()
        for other in sorted(others)
        if not within(other, MAY[modules()[name].layer] | {modules()[name].layer})
    ]
    assert forbidden == []


def test_no_files_import_each_other_around_a_circle() -> None:
    """Of what only type checkers import too: files that need each other are read together."""
    inner = {name: {other for other in others if other in imports()} for name, others in imports().items()}
    while leaves := {name for name, others in inner.items() if not others}:
        inner = {name: others - leaves for name, others in inner.items() if name not in leaves}
    assert inner == {}, "each of these is part of a circle or imports one"


def test_the_table_allows_nothing_that_nobody_imports() -> None:
    unused = []
    for layer, may in MAY.items():
        sharing = {each for each in MAY if MAY[each] == may}
        used = {other for name, others in imports().items() if modules()[name].layer in sharing for other in others}
        unused += [f"{layer} need not import {one}" for one in may - {"*"} if not any(within(o, {one}) for o in used)]
    assert unused == []


def test_the_core_imports_nothing_but_values_of_the_standard_library_and_msgspec() -> None:
    core = [module for module in modules().values() if module.layer == "core"]
    assert core
    assert {module.name: module.packages() - CORE_MAY - {"equipoise"} for module in core} == {
        module.name: set() for module in core
    }


def test_a_pure_layer_imports_no_clock_and_no_io() -> None:
    pure = [module for module in modules().values() if module.layer in NEVER]
    assert {module.layer for module in pure} == NEVER.keys()
    assert {module.name: module.packages() & NEVER[module.layer] for module in pure} == {
        module.name: set() for module in pure
    }


def test_numba_is_imported_only_inside_functions_of_the_module_that_compiles() -> None:
    assert {name for name, module in modules().items() if "numba" in module.packages()} == NUMBA
    assert {name for name, module in modules().items() if "numba" in module.packages(late=False)} == set()


def test_nothing_but_the_command_line_imports_the_composition_root() -> None:
    assert {modules()[name].layer for name, others in imports().items() if "app" in others} == {"cli"}


def loaded(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after the code.

    It has no pandas: sqlite-utils imports it where it is installed, and that brings pyarrow, for nothing of ours.
    """
    lines = f"import sys\nsys.modules['pandas'] = None\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout.split())


HEAVY = {"numba", "numpy", "rich", "aiohttp", "sqlite3", "msgspec", "prometheus_client", "apscheduler"}


def test_help_imports_next_to_nothing() -> None:
    assert loaded("import equipoise.cli") & HEAVY == set()


@pytest.mark.slow
def test_commands_that_ask_the_daemon_import_next_to_nothing() -> None:
    modules = ("server_commands", "player_commands", "round_commands", "decisions", "pool_commands")
    assert loaded("\n".join(f"import equipoise.cli.{name}" for name in modules)) & HEAVY == set()


@pytest.mark.slow
def test_a_daemon_that_nobody_looks_at_has_no_templates_in_memory() -> None:
    assert "jinja2" not in loaded("import equipoise.app")


@pytest.mark.slow
def test_sides_are_improved_without_numpys_random_numbers_which_take_two_megabytes() -> None:
    code = "import sys; from equipoise.balancing.mean_variance import all_evened\n"
    code += "all_evened([1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]], [[1, -1]])\nprint('numpy.random' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.slow
def test_pyarrow_reads_csv_files_and_is_imported_for_nothing_else() -> None:
    code = "import equipoise.cli.lab, equipoise.cli.pool_commands\nfrom equipoise.lab import "
    assert "pyarrow" not in loaded(code + "charts, estimates, json_output, report, simulation, tune")
    assert "pyarrow" in loaded("import equipoise.lab.reading")


@pytest.mark.slow
def test_the_daemon_is_built_without_numba_and_rich() -> None:
    assert loaded("import equipoise.app") & {"numba", "rich", "asyncpg", "pyarrow", "uvloop", "pygal"} == set()
