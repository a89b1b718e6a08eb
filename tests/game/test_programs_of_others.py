"""Programs that others wrote, against our stand-ins: what these send is what game servers send."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.game.query_server import query_server
from tests.game.rcon_servers import (
    EXEC,
    PASSWORD,
    VALUE,
    Reader,
    Writer,
    accept_login,
    fake_server,
    packet,
    received,
    source_server,
    stand_in,
)
from tests.game.test_rcon import LONG, rcon
from tests.programs import installed, npm_package

pytestmark = pytest.mark.world

RCON_CLIENT = """
const { Rcon } = require(process.argv[1]);
Rcon.connect({ host: "127.0.0.1", port: +process.argv[2], password: process.argv[3] }).then(async rcon => {
    for (const command of process.argv.slice(4)) console.log(JSON.stringify(await rcon.send(command)));
    rcon.end();
});
"""


async def output(*command: str | Path) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    text, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    return text.decode()


async def rcon_client(port: int, *commands: str) -> list[str]:
    """The answers that npm's rcon-client gets."""
    words = ("node", "-e", RCON_CLIENT, npm_package("rcon-client"), str(port), PASSWORD, *commands)
    return [json.loads(line) for line in (await output(*words)).splitlines()]


async def test_quakestat_reads_the_stand_in_for_a2s() -> None:
    async with query_server() as (_, port):
        words = ("-a2s", f"127.0.0.1:{port}", "-R", "-P", "-nh", "-raw", "|", "-utf8")
        told = await output(installed("quakestat"), *words)
    server, rules, *players = told.splitlines()
    assert server.startswith(f"A2S|127.0.0.1:{port}|Fair Arena \u2603|arena_well|24|3|")
    assert "mp_autoteambalance=0" in rules
    assert {tuple(line.split("|")[:2]) for line in players if line} == {
        ("Scout \u2603", "12"),
        ("Heavy", "3"),
        ("Bot 01", "0"),
    }


async def test_gamedig_reads_the_stand_in_for_a2s() -> None:
    async with query_server() as (_, port):
        words = ("--type", "teamfortress2", "--host", "127.0.0.1", "--port", str(port), "--givenPortOnly")
        told = json.loads(await output(installed("gamedig"), *words))
    assert (told["name"], told["map"], told["maxplayers"], told["numplayers"]) == (
        "Fair Arena \u2603",
        "arena_well",
        24,
        3,
    )
    assert told["raw"]["numbots"] == 1


async def test_rcon_client_and_ours_are_answered_the_same_by_servers_that_others_wrote() -> None:
    async with source_server(lambda command: LONG[:4000] if command == "long" else command) as (_, port):
        ours = rcon(port)
        assert await rcon_client(port, "status") == [await ours.execute("status")] == ["status"]
        ours.close()
    with fake_server() as port:
        ours = rcon(port)
        assert await rcon_client(port, "x3000", "a") == [await ours.execute("x3000"), await ours.execute("a")]
        ours.close()


async def test_rcon_client_reads_the_stand_in_for_rcon() -> None:
    async def act(reader: Reader, writer: Writer) -> None:
        await accept_login(reader, writer)
        while True:
            number, kind, body = await received(reader)
            assert kind == EXEC
            writer.write(packet(number, VALUE, body[::-1]))

    async with stand_in(act) as port:
        assert await rcon_client(port, "abc", "def") == ["cba", "fed"]
