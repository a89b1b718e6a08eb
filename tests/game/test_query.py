"""A2S: what game servers say of themselves, and what comes of answers that are none."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import struct
import tracemalloc
from contextlib import suppress

import pytest

from equipoise.errors import PeerError
from equipoise.game import query as module
from equipoise.game.port import QueryAnswer
from equipoise.game.query import LARGEST, MOST_CHALLENGES, Query
from equipoise.game.query import info as ask
from tests.game.query_server import CHALLENGE, SIMPLE, SPLIT, bomb, info, query_server, right, split
from tests.game.rcon_servers import free_port

PATIENT = 20.0
SOON = 0.2


async def test_the_answer_has_the_map_and_the_players() -> None:
    async with query_server() as (server, port):
        answer = await ask(("127.0.0.1", port), PATIENT)
        assert answer == QueryAnswer(
            "Fair Arena \u2603", "arena_well", players=3, bots=1, max_players=24, game="Team Fortress", app=440
        )
        assert server.asked == 2, "once for the challenge"


async def test_a_name_that_is_no_text_is_no_failure_nothing_that_a_terminal_obeys_is_left_of_it_and_it_is_cut() -> None:
    name, map_name = b"caf\xe9 \xff\x1b[2J\xe2\x80\xae", "cp_well\nbad   daemon: x\r\x9b2J\u2028"
    async with query_server(lambda _: [SIMPLE + info(name, map_name)]) as (_, port):
        answer = await ask(("127.0.0.1", port), PATIENT)
    assert (answer.name, answer.map) == (
        "caf\ufffd \ufffd\ufffd[2J\ufffd",
        "cp_well\ufffdbad   daemon: x\ufffd\ufffd2J\ufffd",
    )
    async with query_server(lambda _: [SIMPLE + info("\u2603".encode() * 300, "m" * 100)]) as (_, port):
        answer = await ask(("127.0.0.1", port), PATIENT)
    assert (answer.name, answer.map, answer.players) == ("\u2603" * 64, "m" * 64, 3)


NO_ANSWERS: dict[str, tuple[list[bytes], str]] = {
    "nothing": ([], "no answer within"),
    "empty": ([b""], "no answer to A2S_INFO: 0 bytes"),
    "other header": ([b"\x00\x01\x02\x03rest"], "no answer to A2S_INFO: 8 bytes that begin with 0001020372"),
    "header alone": ([SIMPLE], "no answer to A2S_INFO"),
    "players": ([SIMPLE + b"\x44\x00"], "no answer to A2S_INFO"),
    "GoldSrc": ([SIMPLE + b"\x6d" + info()[1:]], "no answer to A2S_INFO"),
    "half a challenge": ([SIMPLE + b"\x41\x01\x02\x03"], "8 bytes that begin with ffffffff41"),
    "a long challenge": ([SIMPLE + b"\x41" + CHALLENGE + b"x"], "10 bytes that begin with ffffffff41"),
    "challenges for ever": ([SIMPLE + b"\x41" + CHALLENGE], "one challenge after another"),
    "a name of 10 KB": ([SIMPLE + info(b"x" * 10_000)], "a packet of 10085 bytes"),
    "huge": ([SIMPLE + bytes(65_000)], "a packet of 65004 bytes"),
    "fragments": (split(0x1234, SIMPLE + info()), "a fragment"),
    "packed fragments": (split(0x9234, SIMPLE + info()), "a fragment"),
    "half a fragment": ([SPLIT], "a fragment"),
}


@pytest.mark.parametrize(("answer", "why"), NO_ANSWERS.values(), ids=NO_ANSWERS)
async def test_what_is_no_answer_is_an_error_of_the_peer(answer: list[bytes], why: str) -> None:
    async with query_server(lambda _: answer) as (_, port):
        with pytest.raises(PeerError, match=why):
            await ask(("127.0.0.1", port), SOON if why.startswith("no answer within") else PATIENT)


@pytest.mark.slow
async def test_a_packed_fragment_is_not_unpacked() -> None:
    """500 bytes that are 100 MB: unpacked, they would hold the event loop and the memory."""
    packet = bomb(100_000_000)
    assert len(packet) < LARGEST
    async with query_server(lambda _: [packet]) as (_, port):
        tracemalloc.start()
        try:
            with pytest.raises(PeerError, match="a fragment"):
                await ask(("127.0.0.1", port), PATIENT)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 5_000_000


async def test_an_answer_that_is_cut_off_anywhere_is_an_error_of_the_peer_or_lacks_what_is_not_read() -> None:
    whole = SIMPLE + info()
    read = whole.index(b"9800111\0") + len(b"9800111\0")
    async with query_server() as (server, port):
        for length in range(len(whole)):
            server.answer = lambda _, length=length: [whole[:length]]  # type: ignore[misc]
            if length == read:  # where the fields begin that an answer may lack
                assert (await ask(("127.0.0.1", port), PATIENT)).map == "arena_well"
                continue
            with pytest.raises(PeerError, match="no answer to A2S_INFO"):
                await ask(("127.0.0.1", port), PATIENT)


async def test_an_answer_with_any_byte_of_it_changed_is_an_answer_or_an_error_of_the_peer() -> None:
    whole = SIMPLE + info()
    answered = 0
    async with query_server() as (server, port):
        for place in range(len(whole)):
            for value in (0, 0x0A, 0xFF):
                changed = whole[:place] + bytes([value]) + whole[place + 1 :]
                server.answer = lambda _, changed=changed: [changed]  # type: ignore[misc]
                try:
                    answer = await ask(("127.0.0.1", port), PATIENT)
                except PeerError:
                    continue
                answered += 1
                assert (answer.name + answer.map).isprintable()
    assert answered > len(whole)


async def test_an_answer_of_as_many_bytes_as_the_game_sends_is_read() -> None:
    room = LARGEST - len(SIMPLE + info(b""))
    async with query_server(lambda _: [SIMPLE + info(b"x" * room)]) as (server, port):
        assert (await ask(("127.0.0.1", port), PATIENT)).name == "x" * 64
        server.answer = lambda _: [SIMPLE + info(b"x" * (room + 1))]
        with pytest.raises(PeerError, match="a packet of 1401 bytes"):
            await ask(("127.0.0.1", port), PATIENT)


async def test_a_challenge_is_sent_back_as_it_came_and_only_a_few_times() -> None:
    asked: list[bytes] = []

    def answer(request: bytes) -> list[bytes]:
        asked.append(request)
        return [SIMPLE + b"\x41" + struct.pack("<L", len(asked) - 1)] * 100

    async with query_server(answer) as (_, port):
        with pytest.raises(PeerError, match="one challenge after another"):
            await ask(("127.0.0.1", port), PATIENT)
    begin = SIMPLE + b"\x54Source Engine Query\0"
    assert asked[:2] == [begin, begin + bytes(4)], "a challenge of zeros is one"
    assert len(asked) <= 1 + MOST_CHALLENGES


@pytest.mark.parametrize("packet", [b"rubbish", SPLIT + b"rubbish", SIMPLE + b"\x41" + CHALLENGE, SIMPLE + info()])
async def test_of_a_flood_only_the_first_packets_are_read(packet: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def kind(packet: bytes) -> int:
        read.append(packet)
        return counted(packet)

    counted = module._kind
    monkeypatch.setattr(module, "_kind", kind)
    async with query_server(lambda _: [packet] * 1000) as (_, port):
        with suppress(PeerError):
            await ask(("127.0.0.1", port), PATIENT)
        assert 1 <= len(read) <= 1 + MOST_CHALLENGES


async def test_what_comes_in_the_same_moment_as_the_answer_changes_nothing() -> None:
    loop = asyncio.get_running_loop()
    async with query_server(lambda _: []) as (_, port):
        transport, exchange = await loop.create_datagram_endpoint(module._Exchange, remote_addr=("127.0.0.1", port))
        for packet in (SIMPLE + info(), b"rubbish", SIMPLE + info(map_name="ctf_later")):
            exchange.datagram_received(packet, ("127.0.0.1", port))
        exchange.error_received(ConnectionRefusedError())
        assert (await exchange.answer).map == "arena_well"
        transport.close()


async def test_an_answer_from_another_address_is_none() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as other:
        async with query_server() as (server, port):

            def answer(request: bytes) -> list[bytes]:
                other.sendto(SIMPLE + info(map_name="ctf_elsewhere"), server.asker)
                return right(request)

            server.answer = answer
            assert (await ask(("127.0.0.1", port), PATIENT)).map == "arena_well"
            server.answer = lambda request: answer(request)[:0]
            with pytest.raises(PeerError, match="no answer within"):
                await ask(("127.0.0.1", port), SOON)


async def test_bad_packets_are_one_line_of_the_log_until_a_right_one_comes(caplog: pytest.LogCaptureFixture) -> None:
    async with query_server() as (server, port):
        query = Query("arena-1", ("127.0.0.1", port))
        for answers in (split(0x1234, SIMPLE + info()), [SIMPLE + info()]) * 2:
            server.answer = lambda _, answers=answers: answers  # type: ignore[misc]
            for _ in range(10):
                await query.ask()
        assert query.status().failures == 20
    lines = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.getMessage() for record in lines] == ["A2S failed: this is no answer to A2S_INFO: a fragment"] * 2
    assert {record.__dict__["server"] for record in lines} == {"arena-1"}


async def test_a_closed_port_is_an_error_of_the_peer() -> None:
    with pytest.raises(PeerError, match=re.escape("Connection refused")):
        await ask(("127.0.0.1", free_port()), PATIENT)


async def test_a_server_is_silent_only_after_it_has_been_for_longer_than_a_change_of_the_map_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with query_server() as (server, port):
        query = Query("arena-1", ("127.0.0.1", port))
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
