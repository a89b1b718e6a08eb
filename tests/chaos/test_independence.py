"""The driver knows the daemon by its documents alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.rig

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


OF_MACHINES = "machines.py"
"""It configures daemons with a database, which is no file of theirs; `__main__` imports it when it is asked for."""
KNOWN = ("tests.chaos", "tests.document_client", "tests.postgres")
"""A server of PostgreSQL is none of Equipoise's; it is imported where a fault needs one."""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            yield f"{node.module}"


def test_chaos_imports_itself_a_script_by_the_document_and_the_standard_library() -> None:
    found = {path.name: set(imported(path)) for path in HERE.rglob("*.py") if path.name != OF_MACHINES}
    assert len(found) > 20
    foreign = {
        f"{name} imports {other}"
        for name, others in found.items()
        for other in others
        if not other.startswith(KNOWN) and other.partition(".")[0] not in sys.stdlib_module_names | {"pytest"}
    }
    assert foreign == set()


def test_nothing_of_the_daemon_is_loaded_with_the_driver() -> None:
    code = "import sys, tests.chaos.__main__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "tests.chaos.faults.points" in loaded.split()
    assert [name for name in loaded.split() if name.partition(".")[0] == "equipoise"] == []
