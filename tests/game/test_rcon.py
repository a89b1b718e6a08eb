"""RCON against two servers that others wrote, and against every fault that a server or the way to it can have."""

from __future__ import annotations

import asyncio
import io
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from equipoise.errors import PeerError
from equipoise.game.console import CLOSED, LONGEST, MOST_BEFORE, MOST_PACKETS, Packet, Rcon
from tests.game.rcon_servers import (
    EXEC,
    PASSWORD,
    RESULT,
    VALUE,
    Acts,
    Reader,
    Writer,
    accept_login,
    fake_server,
    free_port,
    packet,
    received,
    source_server,
    stand_in,
)

LONG = "".join(f"{number:09d}\n" for number in range(1000))
"""10,000 bytes."""
PATIENT = 60.0
"""Seconds that a busy machine may take."""
SOON = 0.3
"""Seconds after which a server counts as silent, where it is."""


def rcon(port: int, password: str = PASSWORD, seconds: float = PATIENT) -> Rcon:
    return Rcon("test", ("127.0.0.1", port), password, seconds=seconds)


@asynccontextmanager
async def connected(acts: Acts, seconds: float = PATIENT) -> AsyncIterator[Rcon]:
    """A client of a server that does this with each connection."""
    async with stand_in(acts) as port:
        client = rcon(port, seconds=seconds)
        yield client
        client.close()


async def test_commands_one_after_the_other_and_at_the_same_time_take_turns_on_one_connection() -> None:
    async with source_server() as (server, port):
        client = rcon(port)
        assert [await client.execute(f"say {number}") for number in range(300)] == [f"SAY {n}" for n in range(300)]
        answers = await asyncio.gather(*(client.execute(f"a{number}") for number in range(50)))
        assert answers == [f"A{number}" for number in range(50)]
        assert (client.status().connections, server.most_at_once) == (1, 1)
        client.close()


async def test_an_answer_of_10_000_bytes_is_whole_and_the_next_one_is_not_mixed_with_it() -> None:
    async with source_server(lambda command: LONG if command == "long" else command) as (server, port):
        client = rcon(port)
        for _ in range(3):
            assert await client.execute("long") == LONG
            assert await client.execute("short") == "short"
        assert server.most_at_once == 1
        client.close()


async def test_rcon_fake_answers_and_a_packet_larger_than_the_game_sends_is_refused() -> None:
    """rcon-fake sends 10,000 bytes as one packet."""
    with fake_server() as port:
        client = rcon(port)
        assert await client.execute("status") == "<status>"
        assert await client.execute("x5000") == "x" * 5000
        assert await client.execute("status") == "<status>"
        with pytest.raises(PeerError, match="a packet of 10010 bytes"):
            await client.execute("x10000")
        client.close()


async def test_a_refused_password_is_not_sent_again_until_the_configuration_is_loaded_again() -> None:
    async with source_server() as (server, port):
        client = rcon(port, "wrong")
        waiting = [client.execute("status") for _ in range(10)]
        for outcome in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(outcome, PeerError)
            assert "refused the RCON password" in str(outcome)
        with pytest.raises(PeerError, match="until the configuration is loaded again"):
            await client.execute("status")
        assert client.status().state == "refused"
        assert len(server.connections) == 1
        client.forgive()
        server.set_password("wrong")
        assert await client.execute("status") == "STATUS"
        client.close()


async def test_a_server_that_closes_all_connections_because_its_password_was_set_is_asked_again() -> None:
    """A server.cfg that sets rcon_password is read at each change of the map."""
    async with source_server() as (server, port):
        client = rcon(port)
        await client.execute("first")
        for _ in range(20):
            server.set_password(PASSWORD)
            assert await client._reader.read() == b"", "it is closed"
            assert await client.execute("then") == "THEN"
        assert client.status().failures == 0
        client.close()


async def test_segments_of_any_size_are_one_answer() -> None:
    async def act(reader: Reader, writer: Writer) -> None:
        await accept_login(reader, writer)
        while True:
            number, kind, body = await received(reader)
            part = packet(number, VALUE, body * 1000 if kind == EXEC else b"")
            for start in range(0, len(part), 7):
                writer.write(part[start : start + 7])
                await writer.drain()
                await asyncio.sleep(0)

    async with connected(act) as client:
        assert await client.execute("abcd") == "abcd" * 1000
        assert await client.execute("ab") == "ab" * 1000


async def test_the_packets_of_a_login_may_come_in_one_segment_with_others() -> None:
    async def act(reader: Reader, writer: Writer) -> None:
        number, _, _ = await received(reader)
        login = packet(number, VALUE) + packet(number, VALUE, b"noise") + packet(0, RESULT) + packet(7, VALUE, b"old")
        writer.write(login)
        number, _, _ = await received(reader)
        writer.write(packet(number - 1, VALUE, b"another's") + packet(number, VALUE, b"mine"))
        await reader.read()

    async with connected(act) as client:
        assert await client.execute("status") == "mine"


def sent(*parts: Callable[[int], bytes]) -> Acts:
    """What a server sends instead of an answer; then it waits for the client to go."""

    async def act(reader: Reader, writer: Writer) -> None:
        await accept_login(reader, writer)
        number, _, _ = await received(reader)
        for part in parts:
            writer.write(part(number))
        await reader.read()

    return act


async def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    async with connected(sent(lambda number: packet(number, VALUE, b"caf\xe9 \xff"))) as client:
        assert await client.execute("status") == "caf\ufffd \ufffd"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda _: struct.pack("<i", 0), "a packet of 0 bytes"),
        (lambda _: struct.pack("<i", 9), "a packet of 9 bytes"),
        (lambda _: struct.pack("<i", -5), "a packet of -5 bytes"),
        (lambda _: struct.pack("<i", 2**31 - 1), "a packet of 2147483647 bytes"),
        (lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n", "a packet of 1347703880 bytes"),
        (lambda number: packet(number, 77, b"x"), "77"),
        (lambda number: packet(number, VALUE, b"x")[:-2] + b"xx", "xx"),
        (lambda _: packet(-1, RESULT), "ended the login"),
    ],
)
async def test_what_is_no_rcon_is_an_error_of_the_peer(answer: Callable[[int], bytes], why: str) -> None:
    async with connected(sent(answer)) as client:
        with pytest.raises(PeerError, match=why):
            await client.execute("status")
        assert client.status().state == "unreachable"


async def test_an_answer_without_an_end_is_given_up() -> None:
    async def act(reader: Reader, writer: Writer) -> None:
        await accept_login(reader, writer)
        number, _, _ = await received(reader)
        while True:
            writer.write(packet(number, VALUE, b"x" * 4086))
            await writer.drain()

    async with connected(act) as client:
        with pytest.raises(PeerError, match="an answer of more than"):
            await client.execute("status")


def flooded(begins: int, first: Callable[[int], bytes], noise: Callable[[int], bytes]) -> Acts:
    """A server that sends the same packet without an end, before it answers a login (0) or a command (1)."""

    async def act(reader: Reader, writer: Writer) -> None:
        if begins:
            await accept_login(reader, writer)
        number, _, _ = await received(reader)
        writer.write(first(number))
        while True:
            writer.write(noise(number) * 1000)
            await writer.drain()

    return act


@pytest.mark.parametrize(
    ("acts", "most", "why"),
    [
        (flooded(0, lambda _: b"", lambda number: packet(number, VALUE)), 65, "more than 64 packets before an answer"),
        (flooded(1, lambda _: b"", lambda _: packet(99, VALUE)), 67, "more than 64 packets before an answer"),
        (
            flooded(1, lambda number: packet(number, VALUE, b"x" * 4000), lambda number: packet(number, VALUE)),
            515,
            "an answer of more than 512 packets",
        ),
        (
            flooded(
                1, lambda number: packet(number, VALUE, b"x" * 4000), lambda number: packet(99, VALUE, b"y" * 4000)
            ),
            515,
            "an answer of more than 512 packets",
        ),
        (
            flooded(
                1, lambda number: packet(number, VALUE, b"x" * 4000), lambda number: packet(number, VALUE, b"y" * 8000)
            ),
            3 + (LONGEST - 4000) // 8000 + 1,
            "an answer of more than 1048576 bytes",
        ),
    ],
    ids=["login", "command", "answer", "others in an answer", "large answer"],
)
async def test_of_a_flood_few_packets_are_read_and_others_have_their_turn_between_any_two(
    acts: Acts, most: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, read = 0, list[int]()

    async def another() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    def reads(file: io.BytesIO, **options: bool) -> Packet:
        read.append(turns)
        return whole(file, **options)

    whole = Packet.read
    monkeypatch.setattr(Packet, "read", reads)
    async with stand_in(acts) as port:
        client, other = rcon(port), asyncio.create_task(another())
        with pytest.raises(PeerError, match=why):
            await client.execute("status")
        assert len(read) == most
        assert all(later > earlier for earlier, later in pairwise(read))
        assert client.status().state == "unreachable"
        assert client._writer is None, "the connection is dropped"
        client.close()
        other.cancel()


async def test_what_is_short_of_a_flood_is_an_answer() -> None:
    async def act(reader: Reader, writer: Writer) -> None:
        number, _, _ = await received(reader)
        writer.write(packet(number, VALUE) * MOST_BEFORE + packet(number, RESULT))
        number, _, _ = await received(reader)
        writer.write(packet(0, VALUE) * MOST_BEFORE + packet(number, VALUE, b"x" * 4000))
        last, _, _ = await received(reader)
        writer.write(packet(number, VALUE, b"y") * (MOST_PACKETS - 1) + packet(last, VALUE))
        await reader.read()

    async with connected(act) as client:
        assert await client.execute("status") == "x" * 4000 + "y" * (MOST_PACKETS - 1)


@pytest.mark.parametrize("logged_in", [False, True])
async def test_a_server_that_does_not_answer_is_not_waited_for(logged_in: bool) -> None:
    """A half-open connection looks the same: nothing comes, not even an end."""
    silent = asyncio.Event()

    async def act(reader: Reader, writer: Writer) -> None:
        if logged_in:
            await accept_login(reader, writer)
        await silent.wait()

    async with connected(act, SOON) as client:
        with pytest.raises(PeerError, match=r"no answer within 0\.3 s"):
            await client.execute("status")
        silent.set()


async def test_a_half_open_connection_is_replaced_after_one_failure() -> None:
    answered = 0

    async def act(reader: Reader, writer: Writer) -> None:
        nonlocal answered
        await accept_login(reader, writer)
        while True:
            number, _, _ = await received(reader)
            answered += 1
            if answered != 2:
                writer.write(packet(number, VALUE, b"here"))

    async with connected(act, SOON) as client:
        assert await client.execute("status") == "here"
        with pytest.raises(PeerError):
            await client.execute("status")
        assert await rcon_until_answered(client) == "here"


async def rcon_until_answered(client: Rcon) -> str:
    """On a busy machine an answer may take longer than the short time of a test for silence."""
    for _ in range(100):
        try:
            return await client.execute("status")
        except PeerError:
            continue
    raise AssertionError("RCON did not come back")


async def test_a_reset_in_the_middle_of_an_answer_is_an_error_of_the_peer() -> None:
    async def act(reader: Reader, writer: Writer) -> None:
        await accept_login(reader, writer)
        number, _, _ = await received(reader)
        writer.write(packet(number, VALUE, b"half an answer")[:15])
        await writer.drain()
        writer.transport.abort()

    async with connected(act) as client:
        with pytest.raises(PeerError, match=r"closed the connection|reset"):
            await client.execute("status")


async def test_a_server_that_hangs_up_at_the_login_may_have_banned_this_address() -> None:
    async def act(_: Reader, writer: Writer) -> None:
        writer.transport.abort()

    async with connected(act) as client:
        with pytest.raises(PeerError, match="banned this address"):
            await client.execute("status")
        assert client.status().state == "closed"


async def test_a_closed_port_is_an_error_of_the_peer_and_is_left_in_peace_unasked() -> None:
    client = rcon(free_port())
    for _ in range(5):
        with pytest.raises(PeerError, match="refused"):
            await client.execute("status")
    with pytest.raises(PeerError, match="it was tried lately"):
        await client.execute("equipoise_poll", unasked=True)
    client.close()


async def test_a_caller_who_gives_up_leaves_no_answer_to_the_next_one() -> None:
    asked = asyncio.Event()

    async def act(reader: Reader, writer: Writer) -> None:
        await accept_login(reader, writer)
        while True:
            number, _, body = await received(reader)
            if body == b"slow":
                asked.set()
                continue
            writer.write(packet(number, VALUE, body))

    async with connected(act) as client:
        slow = asyncio.create_task(client.execute("slow"))
        await asked.wait()
        quick = asyncio.create_task(client.execute("quick"))
        slow.cancel()
        assert await quick == "quick"


async def test_after_its_end_no_command_connects_again() -> None:
    async with source_server() as (server, port):
        client = rcon(port)
        waiting = [asyncio.create_task(client.execute("status")) for _ in range(10)]
        await asyncio.sleep(0)
        client.close()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert {str(outcome) for outcome in outcomes} == {CLOSED}
        assert len(server.connections) <= 1


async def test_a_command_that_waits_for_a_silent_server_ends_with_the_connection() -> None:
    asked = asyncio.Event()

    async def act(reader: Reader, writer: Writer) -> None:
        await accept_login(reader, writer)
        await received(reader)
        asked.set()
        await reader.read()

    async with connected(act) as client:
        waiting = asyncio.create_task(client.execute("status"))
        await asked.wait()
        client.close()
        with pytest.raises(PeerError, match="the daemon closed its RCON connection"):
            await waiting


@pytest.mark.slow
async def test_rcon_comes_back_after_each_of_100_restarts_under_load() -> None:
    """And there are never two connections at once."""
    port = free_port()
    client, answers = rcon(port), asyncio.Queue[str]()

    async def load() -> None:
        while True:
            try:
                answers.put_nowait(await client.execute("status"))
            except PeerError:
                await asyncio.sleep(0.001)

    loads = [asyncio.create_task(load()) for _ in range(5)]
    for _ in range(100):
        async with source_server(port=port) as (server, _):
            while not answers.empty():
                answers.get_nowait()
            for _ in range(3):
                assert await answers.get() == "STATUS"
            assert server.most_at_once == 1
    for task in loads:
        task.cancel()
    await asyncio.gather(*loads, return_exceptions=True)
    assert client.status().connections >= 100
    client.close()
