"""A2S: what game servers say of themselves, and what comes of answers that are none."""

from __future__ import annotations

import asyncio
import re

import pytest

from equipoise.errors import PeerError
from equipoise.game.port import QueryAnswer
from equipoise.game.query import Query
from equipoise.game.query import info as ask
from tests.game.query_server import SIMPLE, info, query_server, right, split
from tests.game.rcon_servers import free_port

PATIENT = 20.0
SOON = 0.2


async def test_the_answer_has_the_map_and_the_players() -> None:
    async with query_server() as (server, port):
        answer = await ask(("127.0.0.1", port), PATIENT)
        assert answer == QueryAnswer("Fair Arena \u2603", "arena_well", players=3, bots=1, max_players=24)
        assert server.asked == 2, "once for the challenge"


async def test_a_name_that_is_no_text_is_no_failure() -> None:
    async with query_server(lambda _: [SIMPLE + info(b"caf\xe9 \xff\x1b[2J")]) as (_, port):
        assert (await ask(("127.0.0.1", port), PATIENT)).name == "caf\ufffd \ufffd\x1b[2J"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ([], "no answer within"),
        ([b"\x00\x01\x02\x03rest"], "no answer to A2S_INFO"),
        ([SIMPLE], "no answer to A2S_INFO"),
        ([SIMPLE + b"\x44\x00"], "no answer to A2S_INFO"),
        ([SIMPLE + info()[:20]], "no answer to A2S_INFO"),
        ([SIMPLE + b"\x41\x01\x02\x03\x04"], "no answer to A2S_INFO"),
        (split(0x1234, SIMPLE + info())[:1], "no answer within"),
    ],
    ids=["nothing", "other header", "header alone", "players", "cut", "challenges for ever", "half"],
)
async def test_what_is_no_answer_is_an_error_of_the_peer(answer: list[bytes], why: str) -> None:
    async with query_server(lambda _: answer) as (_, port):
        with pytest.raises(PeerError, match=why):
            await ask(("127.0.0.1", port), SOON if why.startswith("no answer within") else PATIENT)


async def test_a_split_answer_is_read_unless_bit_15_of_its_id_is_set() -> None:
    """python-a2s then takes it for compressed, and loses it: a failure like silence, and the next query is answered."""
    async with query_server(lambda _: split(0x1234, SIMPLE + info())) as (server, port):
        assert (await ask(("127.0.0.1", port), PATIENT)).map == "arena_well"
        lost = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context["exception"]))
        server.answer = lambda _: split(0x9234, SIMPLE + info())
        with pytest.raises(PeerError, match="no answer within"):
            await ask(("127.0.0.1", port), SOON)
        assert lost
        server.answer = right
        assert (await ask(("127.0.0.1", port), PATIENT)).map == "arena_well"


async def test_a_closed_port_is_an_error_of_the_peer() -> None:
    with pytest.raises(PeerError, match=re.escape("Connection refused")):
        await ask(("127.0.0.1", free_port()), PATIENT)


async def test_a_server_is_silent_only_after_it_has_been_for_longer_than_a_change_of_the_map_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with query_server() as (server, port):
        query = Query(("127.0.0.1", port))
        assert query.status().state == "unknown"
        await query.ask()
        assert query.status().state == "answers"
        server.answer = lambda _: [SIMPLE]
        await query.ask()
        status = query.status()
        assert (status.state, status.failures) == ("answers", 1)
        assert status.answer is not None
        monkeypatch.setattr("equipoise.game.query.SILENT_SECONDS", 0.0)
        assert query.status().state == "silent"
