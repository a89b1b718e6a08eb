"""One command adds a game server that plays: the plugin's own bytecode reads what was written, and calls the daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.install.game_folders import PLUGIN
from tests.cli.house import run
from tests.daemons import RealDaemon
from tests.install.game_server import game_server
from tests.sourcemod.rig import Game


@pytest.mark.slow
def test_after_the_one_command_that_is_left_the_daemon_serves_the_server(tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    daemon = RealDaemon(tmp_path / "daemon", forked=True)
    daemon.start()
    game = Game(tf)
    try:
        game.start_map("koth_harvest_final")
        added = run("server", "add", "dustbowl", "--tf", tf, "--config", daemon.config)
        assert added.returncode == 0, added.stderr
        assert "  sm plugins load equipoise" in added.stdout
        game.load(tf / PLUGIN, translations=tf / "addons/sourcemod/translations")  # in the middle of the map
        game.advance(5)
        game.settle()
        answer = daemon.ask("servers")
        (dustbowl,) = (server for server in answer["servers"] if server["server"] == "dustbowl")
        assert (dustbowl["map"], dustbowl["lost"]) == ("koth_harvest_final", False)
        assert dustbowl["silent_seconds"] is not None
    finally:
        game.close()
        daemon.kill()
