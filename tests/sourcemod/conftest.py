"""A fake server per test, and the plugin compiled once. A test that leaves an unexpected plugin error behind fails."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import RealDaemon
from tests.sourcemod.answerer import daemon, koth, live, plugin  # noqa: F401  (fixtures of test_plugin_*)
from tests.sourcemod.rig import Game, Plugin, compile_plugin, compile_text
from tests.sourcemod.rig.game.facts import Mode
from tests.sourcemod.sessions import Evening

HERE = Path(__file__).parent
SOURCEMOD = HERE.parents[1] / "sourcemod"
SCRIPTING = SOURCEMOD / "scripting"
TRANSLATIONS = SOURCEMOD / "translations"
RIG = ("test_rig_", "test_scenarios_")
"""Files whose tests need nothing of ours."""
QUICK = ("test_sessions_koth", "test_plugin_release")
"""Files whose tests the quick loop runs: one session, and whether phrases and translations agree."""
if os.environ.get("EQUIPOISE_TESTS") == "quick":  # what it leaves out it does not read either
    collect_ignore = [path.name for path in HERE.glob("test_*.py") if not path.name.startswith(QUICK)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the rig's own tests to `make rig`, and the plugin's to the whole suite: a server for each takes minutes."""
    for item in items:
        if item.path.parent == HERE and item.path.name.startswith(RIG):
            item.add_marker(pytest.mark.rig)
        elif item.path.parent == HERE and not item.path.name.startswith(QUICK):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def equipoise_smx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's bytecode, compiled once per session, or a mutant of it (`mutation/sourcepawn.py`)."""
    if mutant := os.environ.get("EQUIPOISE_PLUGIN"):
        return Path(mutant)
    output = tmp_path_factory.mktemp("plugin") / "equipoise.smx"
    return compile_plugin(SCRIPTING / "equipoise.sp", output, SCRIPTING / "include")


@pytest.fixture
def new_game(tmp_path: Path) -> Iterator[Callable[..., Game]]:
    """Makes fake servers (arguments as `Game` has them), each in a folder of its own or in one that is given, and shuts
    them down."""
    games: list[Game] = []

    def make(folder: Path | None = None, **arguments: Any) -> Game:
        games.append(Game(folder or tmp_path / f"server{len(games)}", **arguments))
        return games[-1]

    yield make
    for game in games:
        game.close()
    assert not [fault for game in games for fault in game.sm.log.faults]


@pytest.fixture
def game(new_game: Callable[..., Game]) -> Game:
    """A fake server on which nothing runs yet."""
    return new_game()


@pytest.fixture
def script(game: Game, tmp_path: Path) -> Callable[..., Plugin]:
    """Compiles SourcePawn written in the test (the usual includes are there) and loads it, into `game` or `on`."""
    prelude = "#include <tf2_stocks>\n#include <ripext>\n#pragma semicolon 1\n#pragma newdecls required\n"

    def load(text: str, name: str = "script", includes: str = "", on: Game = game) -> Plugin:
        return on.load(compile_text(includes + prelude + text, tmp_path, name, tmp_path))

    return load


@pytest.fixture
def new_evening(new_game: Callable[..., Game], equipoise_smx: Path, tmp_path: Path) -> Iterator[Callable[..., Evening]]:
    """Makes evenings on a map: our plugin, and a real daemon with `settings` in its configuration.

    `mode`: the map's facts, where a test needs others (a shorter clock).
    """
    daemons: list[RealDaemon] = []

    def make(map_name: str, settings: str = "", mode: Mode | None = None) -> Evening:
        daemons.append(RealDaemon(tmp_path / f"daemon{len(daemons)}", settings=settings, forked=True))
        daemons[-1].start()
        evening = Evening(new_game(), daemons[-1], equipoise_smx)
        evening.game.start_map(map_name, mode)
        evening.game.settle()
        return evening

    yield make
    for started in daemons:
        started.kill()
