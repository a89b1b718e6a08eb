"""A fake NS2 server with the mod's real files, and the daemon's side of its protocol as a script."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ns2mod.rig import Game
from tests.ns2mod.scripted import Scene, ScriptedDaemon
from tests.ns2mod.sessions import Evening

HERE = Path(__file__).parent
MOD = HERE.parents[1] / "ns2mod"
QUICK = ("test_sessions_rounds", "test_mod_policy", "test_mod_texts")
"""Files whose tests the quick loop runs: sessions of rounds, the mod's decisions, and whether its texts are ours."""
if os.environ.get("EQUIPOISE_TESTS") == "quick":  # what it leaves out it does not read either
    collect_ignore = [path.name for path in HERE.glob("test_*.py") if not path.name.startswith(QUICK)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the rig's own tests to `make rig`, and the mod's on a scripted daemon to the whole suite."""
    for item in items:
        if item.path.parent == HERE and item.path.name.startswith("test_rig_"):
            item.add_marker(pytest.mark.rig)
        elif item.path.parent == HERE and not item.path.name.startswith(QUICK):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def scripted_daemon() -> Iterator[ScriptedDaemon]:
    daemon = ScriptedDaemon()
    yield daemon
    daemon.close()


@pytest.fixture
def scene(scripted_daemon: ScriptedDaemon) -> Iterator[Callable[..., Scene]]:
    """Starts a server with the mod, settings written; a script error, or a batch that is none, fails the test."""
    started: list[Scene] = []

    def start(mods: Iterable[Path] = (), settings: dict[str, Any] | None = None, **options: Any) -> Scene:
        game = Game([MOD, *mods], **options)
        game.settings |= settings or {}
        game.files.put("Equipoise.json", json.dumps({"url": scripted_daemon.url, "server": "eu-1", "secret": "s3cret"}))
        game.boot()
        started.append(Scene(game, scripted_daemon))
        return started[-1]

    yield start
    for one in started:
        assert one.game.errors == []
        assert one.daemon.faults == []


@pytest.fixture
def new_evening(tmp_path: Path) -> Iterator[Callable[..., Evening]]:
    """Makes evenings with a real daemon. `settings` go into its configuration, the rest are options of the game."""
    evenings: list[Evening] = []

    def make(settings: str = "", **options: Any) -> Evening:
        evenings.append(Evening(tmp_path / f"evening{len(evenings)}", settings, **options))
        return evenings[-1]

    yield make
    for evening in evenings:
        evening.daemon.kill()
    assert not [fault for evening in evenings for fault in evening.game.errors]
