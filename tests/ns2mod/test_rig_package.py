"""The rig stands alone: another project could copy its folder and use it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.ns2mod import rig

RIG = Path(rig.__file__).parent
ALLOWED = sys.stdlib_module_names | {"lupa"}


def imports(path: Path) -> Iterator[str]:
    """The packages a module imports that are not the rig's own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def test_the_rig_imports_nothing_from_outside() -> None:
    found = {name for path in RIG.rglob("*.py") for name in imports(path)}
    assert found <= ALLOWED, found - ALLOWED


def test_the_rig_does_not_know_who_uses_it() -> None:
    texts = {path: path.read_text() for path in RIG.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert [path.name for path, text in texts.items() if re.search("equipoise", text, re.IGNORECASE)] == []


def test_a_copy_of_the_folder_runs_the_example_of_its_description(tmp_path: Path) -> None:
    shutil.copytree(RIG, tmp_path / "rig")
    (example,) = re.findall(r"^```python\n(.*?)^```$", (RIG / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_switch_is_named_in_the_engine_or_the_network() -> None:
    used = "".join(path.read_text() for path in RIG.rglob("*") if path.suffix in {".lua", ".py"})
    assert [name for name in rig.Switches.__dataclass_fields__ if f"switches.{name}" not in used] == []
