"""The rig stands alone: another project could copy its folder and use it."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.sourcemod.rig import Game, sm
from tests.sourcemod.rig.game import facts

RIG = Path(sm.__file__).parents[1]
ALLOWED = sys.stdlib_module_names | {"smx"}
"""The standard library, and pysmx."""


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


def test_the_readmes_example_runs_where_nothing_else_is(tmp_path: Path) -> None:
    shutil.copytree(RIG, tmp_path / "rig", ignore=shutil.ignore_patterns("__pycache__"))
    example = re.findall(r"```python\n(.*?)```", (RIG / "README.md").read_text(), re.DOTALL)[0]
    (tmp_path / "example.py").write_text(example)
    run = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def shared() -> dict[str, str]:
    """What the rig's modules hold in lists, dictionaries and sets of their own."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("tests.sourcemod.rig")]
    return {
        f"{module.__name__}.{name}": repr(value)
        for module in modules
        if isinstance(module, ModuleType)
        for name, value in vars(module).items()
        if isinstance(value, dict | list | set) and not name.startswith("__")
    }


@pytest.mark.parametrize("name", ["arena_well", "cp_dustbowl", "ctf_2fort"])
def test_games_share_nothing(tmp_path: Path, name: str) -> None:
    before = shared()
    first, second = Game(tmp_path / "first"), Game(tmp_path / "second")
    first.sm.convars["mp_timelimit"].set("7")
    first.sm.configs.arena["tf_arena_use_queue"] = "0"
    first.server_cfg["mp_winlimit"] = "3"
    first.start_map(name)
    players = [first.add("Ann", "red"), first.add("Bob", "blue")]
    first.advance(20)
    second.start_map(name)
    assert (second.sm.convars["mp_timelimit"].value, second.sm.convars["mp_winlimit"].value) == ("0", "0")
    assert second.sm.configs.arena == {"tf_arena_use_queue": "1"}
    assert list(second.players) == []
    assert {event for _, event, _ in second.history} <= {"server_cvar"}  # of the map's mode
    assert {player.team for player in players} == set(facts.SIDES)
    for game in (first, second):
        game.close()
    assert shared() == before
