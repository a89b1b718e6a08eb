"""A game server with RCON is added to a daemon that serves; RCON's other end is PyPI's rcon-server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.conftest import house as house
from tests.cli.house import House, ask, post, run, serving
from tests.game.rcon_servers import PASSWORD, SourceServer, free_port, source_server
from tests.install.game_server import game_server
from tests.threads import served
from tests.wire.samples import HELLO, posted


class Console(NamedTuple):
    """The console of a game server, in a thread."""

    server: SourceServer
    address: str


def answer(command: str) -> str:
    if command == "sm plugins load equipoise":  # SourceMod, core/logic/PluginSys.cpp, OnRootConsoleCommand
        return "[SM] Loaded plugin equipoise.smx successfully.\n"
    return f"{command}: done\n"


@contextmanager
def console() -> Iterator[Console]:
    """rcon-server, for as long as the context lasts."""

    async def serve(ready: Callable[[Console], None], over: asyncio.Event) -> None:
        async with source_server(answer) as (server, port):
            ready(Console(server, f"127.0.0.1:{port}"))
            await over.wait()

    with served(serve, "console") as game:
        yield game


def _added(house: House, address: str, console: Console, tmp_path: Path, password: str = PASSWORD) -> Any:
    file = tmp_path / "password"
    file.write_text(f"{password}\n")
    tf = game_server(tmp_path)
    options = ("--tf", str(tf), "--rcon", console.address, "--rcon-password-file", str(file))
    done = ask(house, address, "server", "add", "dustbowl", *options)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout, (tf / "cfg/sourcemod/equipoise.cfg").read_text().split('equipoise_secret "')[1].split('"')[0]


@pytest.mark.slow
def test_the_plugin_is_loaded_by_rcon_and_the_daemon_reaches_the_server_without_a_restart(
    house: House, tmp_path: Path
) -> None:
    with console() as game, serving(house) as (_, address):
        said, secret = _added(house, address, game, tmp_path)
        assert "RCON: sm plugins load equipoise: [SM] Loaded plugin equipoise.smx successfully." in said
        assert "One command is left" not in said
        assert post(address, secret, posted(HELLO, seq=1, server="dustbowl"))["ok"]
        assert ask(house, address, "server", "rcon", "dustbowl", "status").stdout == "status: done\n"
        assert game.server.most_at_once == 1


@pytest.mark.slow
def test_under_systemd_the_new_password_is_passed_on_and_nothing_is_left_to_do(house: House, tmp_path: Path) -> None:
    (credentials := tmp_path / "credentials").mkdir()
    house.edit("port = 0", f"port = {free_port()}")
    (password := tmp_path / "password").write_text(PASSWORD)
    with console() as game, serving(house, forked=False, CREDENTIALS_DIRECTORY=str(credentials)):
        options = ("--tf", game_server(tmp_path), "--rcon", game.address, "--rcon-password-file", password)
        done = run("server", "add", "dustbowl", *options, "--config", house.config)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert "Loaded plugin equipoise.smx successfully." in done.stdout
        assert done.stdout.endswith(f"dustbowl: RCON at {game.address} answers\n")
        assert "left" not in done.stdout
        findings = json.loads(run("doctor", "--json", "--config", house.config).stdout)["findings"]
        assert [each["what"] for each in findings if "RCON" in each["what"] or "never called" in each["what"]] == []


@pytest.mark.slow
def test_a_wrong_password_leaves_one_command(house: House, tmp_path: Path) -> None:
    with console() as game, serving(house) as (_, address):
        said, _ = _added(house, address, game, tmp_path, "wrong")
        assert "RCON: " in said
        assert "refused the RCON password" in said
        assert "One command is left, in the console of dustbowl:\n\n  sm plugins load equipoise" in said


@pytest.mark.slow
def test_the_password_is_removed_with_the_server(house: House, tmp_path: Path) -> None:
    with console() as game, serving(house) as (_, address):
        _added(house, address, game, tmp_path)
        assert ask(house, address, "server", "remove", "dustbowl", "--yes").returncode == 0
        assert not list((house.folder / "secrets").glob("dustbowl*"))
        gone = ask(house, address, "server", "rcon", "dustbowl", "status")
        assert (gone.returncode, "dustbowl" in gone.stderr) == (1, True)
        servers = json.loads(ask(house, address, "status", "--json").stdout)["servers"]
        assert [server["server"] for server in servers] == ["arena-1"]
        assert run("check-config", "-c", house.config).returncode == 0
