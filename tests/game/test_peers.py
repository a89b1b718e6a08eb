"""Game servers whose addresses change while the daemon runs, and nudges that come together."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from equipoise.core.model import ServerId
from equipoise.errors import PeerError
from equipoise.game.peers import NUDGE, PeerServers
from equipoise.game.port import Peer
from tests.game.query_server import query_server
from tests.game.rcon_servers import PASSWORD, free_port, source_server

ONE, TWO = ServerId("one"), ServerId("two")


def rcon(port: int, password: str = PASSWORD) -> Peer:
    return Peer(("127.0.0.1", port), password)


async def test_a_server_whose_address_stays_keeps_its_connection_and_another_one_gets_a_new_one() -> None:
    async with source_server() as (first, at), source_server() as (second, elsewhere):
        servers = PeerServers({ONE: rcon(at), TWO: rcon(at)})
        for name in (ONE, TWO):
            await servers.execute(name, "status")
        servers.set({ONE: rcon(at), TWO: rcon(elsewhere)})
        for name in (ONE, TWO):
            await servers.execute(name, "status")
        assert (len(first.connections), len(second.connections)) == (2, 1)
        servers.set({ONE: rcon(at)})
        with pytest.raises(PeerError, match=r"\[server.two\] has no `rcon`"):
            await servers.execute(TWO, "status")
        assert [status.server for status in servers.statuses()] == [ONE]
        servers.close()


async def test_a_refused_password_is_tried_again_when_the_configuration_is_loaded_again() -> None:
    async with source_server() as (server, port):
        servers = PeerServers({ONE: rcon(port, "wrong")})
        for _ in range(3):
            with pytest.raises(PeerError):
                await servers.execute(ONE, "status")
        assert len(server.connections) == 1
        servers.set({ONE: rcon(port, "wrong")})
        with pytest.raises(PeerError):
            await servers.execute(ONE, "status")
        assert len(server.connections) == 2
        servers.set({ONE: rcon(port)})
        assert await servers.execute(ONE, "status") == "STATUS"
        servers.close()


async def test_addresses_that_change_under_load_never_make_two_connections_to_one_server() -> None:
    async with source_server() as (server, port):
        servers = PeerServers({ONE: rcon(port)})

        async def load() -> None:
            while True:
                try:
                    await servers.execute(ONE, "status")
                except PeerError:
                    await asyncio.sleep(0.001)

        loads = [asyncio.create_task(load()) for _ in range(5)]
        for _ in range(50):
            servers.set({})
            await asyncio.sleep(0.005)
            servers.set({ONE: rcon(port)})
            await asyncio.sleep(0.005)
        for task in loads:
            task.cancel()
        await asyncio.gather(*loads, return_exceptions=True)
        assert server.most_at_once == 1
        assert server.commands
        servers.close()


async def test_many_nudges_at_once_are_few_commands_of_which_the_last_follows_the_last_nudge() -> None:
    async with source_server() as (server, port):
        servers = PeerServers({ONE: rcon(port)})
        await servers.execute(ONE, "status")
        for _ in range(100):
            servers.nudge(ONE)
            await asyncio.sleep(0)
        nudged = len(server.commands)
        again = asyncio.Event()
        server._answers = lambda command: again.set() or command  # type: ignore[func-returns-value]
        servers.nudge(ONE)
        await asyncio.wait_for(again.wait(), 60)
        assert len(server.commands) > nudged
        assert set(server.commands) == {"status", "equipoise_poll"}
        assert len(server.commands) < 100
        servers.close()


async def test_a_nudge_never_fails() -> None:
    servers = PeerServers({ONE: rcon(free_port()), TWO: Peer(query=("127.0.0.1", free_port()))})
    for name in (ONE, TWO, ServerId("three")):
        servers.nudge(name)
    with pytest.raises(PeerError, match="Connection refused"):
        await servers.execute(ONE, "status")
    assert servers.status(ONE).rcon.state == "unreachable"
    servers.close()


async def test_all_servers_are_asked() -> None:
    async with query_server() as (_, port):
        servers = PeerServers({name: Peer(query=("127.0.0.1", port)) for name in (ONE, TWO)})
        await servers.ask_all(spread=0.01)
        assert [status.query.state for status in servers.statuses()] == ["answers", "answers"]
        servers.close()
        await asyncio.sleep(0.05)


def test_the_plugin_has_the_command_that_makes_it_call() -> None:
    plugin = Path(__file__).parents[2] / "sourcemod" / "scripting" / "equipoise" / "commands.sp"
    assert f'RegServerCmd("{NUDGE}", Command_Poll' in plugin.read_text()
