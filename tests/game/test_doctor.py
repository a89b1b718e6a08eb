"""Each thing that the daemon finds wrong with itself or a game server, provoked."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import equipoise
from tests.game.query_server import CHALLENGE, SIMPLE, info, query_server, right
from tests.game.rcon_servers import free_port, source_server
from tests.game.test_daemon import call, daemon_beside, rcon_keys
from tests.game.test_inspection import console
from tests.web.daemon import Daemon
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import HELLO, ROUND

VERSION = equipoise.__version__
GREETING = {**HELLO, "plugin": VERSION}
LISTED = f'[SM] Listing 1 plugin:\n  01 "Equipoise" ({VERSION}) by Equipoise\n'


async def said(daemon: Daemon, about: str = "arena-1", *, bad: bool = True) -> str:
    """What is wrong with a server, or with the daemon, a line each; every line comes with advice."""
    answer = (await call(daemon, "GET", "/v1/admin/doctor")).body
    found = [each for each in answer["findings"] if (each["about"], each["bad"]) == (about, bad)]
    assert all(each["advice"] for each in found)
    return "\n".join(each["what"] for each in found)


async def greet(daemon: Daemon, **fields: object) -> None:
    assert (await asyncio.to_thread(daemon.post, batch(1, {**GREETING, **fields}, ROSTER))).status == 200


async def test_of_a_server_on_which_all_is_right_nothing_is_said(tmp_path: Path) -> None:
    async with source_server(console(LISTED, {"mp_autoteambalance": "0"})) as (_, rcon), query_server() as (_, query):
        keys = rcon_keys(rcon).replace("query = ''", f"query = '127.0.0.1:{query}'")
        with daemon_beside(tmp_path, keys) as daemon:
            await greet(daemon)
            assert await said(daemon) == await said(daemon, bad=False) == await said(daemon, "daemon") == ""


async def test_a_script_is_awaited_after_a_start_and_said_to_be_silent_only_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for never in ("has never called", "has not called since the daemon started 0 min ago"):
        with daemon_beside(tmp_path, "") as daemon:
            monkeypatch.setattr("equipoise.service.diagnosis.PATIENCE_SECONDS", 60.0)
            assert await said(daemon) == ""
            assert "its script has not called yet" in await said(daemon, bad=False)
            monkeypatch.setattr("equipoise.service.diagnosis.PATIENCE_SECONDS", 0.0)
            assert await said(daemon) == f"its script {never}"
            await asyncio.to_thread(daemon.post, batch(1, GREETING, ROSTER, ended(1)))
            assert await said(daemon) == await said(daemon, bad=False) == ""


async def test_a_script_of_another_game_has_versions_and_a_console_of_its_own(tmp_path: Path) -> None:
    async with source_server(console("[SM] No plugins loaded\n", {})) as (_, rcon):
        keys = f"game = 'other'\n{rcon_keys(rcon)}"
        with daemon_beside(tmp_path, keys) as daemon:
            findings = (await call(daemon, "GET", "/v1/admin/doctor")).body["findings"]
            (silent,) = (each for each in findings if each["about"] == "arena-1")
            assert "its script has not called yet" in silent["what"]
            assert "sm plugins" not in silent["advice"]
            await greet(daemon, plugin="99.1", game="other", facts={})
            assert await said(daemon) == ""


async def test_a_server_that_stands_aside_or_is_switched_off_is_worth_knowing(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        await greet(daemon, inactive_reason="mvm")
        assert (await said(daemon), await said(daemon, bad=False)) == ("", "it is inactive: mvm")
        shuffled = {**GREETING, "game": "ns2", "inactive_reason": "shuffle"}
        await asyncio.to_thread(daemon.post, batch(1, shuffled, server="ns2-1"), "ns2-1")
        assert "Shine's voterandom shuffles the teams" in await said(daemon, "ns2-1")
        await asyncio.to_thread(daemon.post, batch(2, {**GREETING, "inactive_reason": "damaged"}, ROSTER))
        assert "a file of its mod is damaged" in await said(daemon)
        await asyncio.to_thread(daemon.post, batch(3, {**GREETING, "map": "vsh_dust", "session": "s-2"}))
        await call(daemon, "POST", "/v1/admin/servers/arena-1/off", {})
        assert "on this map it is inactive: " in await said(daemon, bad=False)
        assert "an admin switched it off" in await said(daemon, bad=False)


async def call_in_vain(daemon: Daemon, server: str, secret: str) -> None:
    body = f'{{"v": 1, "server": "{server}", "boot": 1, "seq": 1, "at": 0, "events": []}}'.encode()
    await asyncio.to_thread(lambda: daemon.request("POST", "/v1/events", body, authorization=f"Bearer {secret}"))


async def test_a_script_with_the_secret_of_another_server_is_said_until_that_one_calls(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        await call_in_vain(daemon, "arena-1", "ns2 secret")
        assert "arena-1 called from 127.0.0.1 in the last hour with the secret of another server" in await said(daemon)
        await asyncio.to_thread(daemon.post, batch(1, server="ns2-1"), "ns2-1")
        assert await said(daemon) == ""


async def test_a_wrong_secret_beside_the_right_one_is_said_until_it_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        for seq in range(1, 4):
            await call_in_vain(daemon, "arena-1", "wrong")
            await asyncio.to_thread(daemon.post, batch(seq, GREETING))
        assert "arena-1 called from 127.0.0.1 2 times in the last hour with a wrong secret" in await said(daemon)
        monkeypatch.setattr("equipoise.service.diagnosis.MENDED_SECONDS", 0.0)
        assert await said(daemon) == ""


async def test_a_name_that_nobody_has_is_one_line_without_what_a_terminal_obeys(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        body = b'{"v": 1, "server": "x\nbad   daemon: \x1b[2J", "boot": 1'
        await asyncio.to_thread(lambda: daemon.request("POST", "/v1/events", body, authorization="Bearer wrong"))
        found = await said(daemon, "daemon")
        assert found.startswith("x\ufffdbad   daemon: \ufffd[2J called from 127.0.0.1 in the last hour")


async def test_two_scripts_with_one_name_and_lost_rounds(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        await asyncio.to_thread(daemon.post, batch(1, GREETING, boot=1))
        await asyncio.to_thread(daemon.post, batch(1, GREETING, ROSTER, boot=2, dropped=2))
        await asyncio.to_thread(daemon.post, batch(2, GREETING, boot=1))
        found = await said(daemon)
        assert "2 scripts call with this name" in found
        assert "its script lost 2 rounds" in await said(daemon, bad=False)


async def test_a_clock_that_is_an_hour_behind_by_the_round_that_has_just_ended(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        fresh = {**ROUND, "started_at": time.time() - 3600 - ROUND["seconds"]}
        await asyncio.to_thread(daemon.post, batch(1, GREETING, fresh))
        assert re.fullmatch(r"its machine's clock is 3,[56]\d\d s behind this one's", await said(daemon))


async def test_a_round_that_waited_in_its_script_says_nothing_of_the_clock(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        queued = {**ROUND, "started_at": time.time() - 3600, "at": 100.0}
        await asyncio.to_thread(daemon.post, batch(1, GREETING, queued, at=3700.0))
        assert await said(daemon) == ""


async def test_rounds_that_wait_for_a_store_in_trouble(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        await greet(daemon)
        with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await asyncio.to_thread(daemon.post, batch(2, ended(1)))
            found = await said(daemon, "daemon")
            other.execute("ROLLBACK")
        assert "the store is locked" in found
        assert "1 rounds of pool main wait for the store" in found


@pytest.mark.parametrize(
    ("plugins", "variables", "what"),
    [
        ('Unknown command "sm"\n', {}, "SourceMod does not run there"),
        ("[SM] No plugins loaded\n", {}, "the plugin is not loaded"),
        (
            '[SM] Listing 1 plugin:\n  01 <Failed> "Equipoise" (0.1.0) by x\n',
            {},
            "SourceMod says of the plugin: Failed",
        ),
        (LISTED, {"tf_arena_use_queue": "1"}, "tf_arena_use_queue is on, although the plugin switches it off"),
    ],
)
async def test_what_the_console_says(plugins: str, variables: dict[str, str], what: str, tmp_path: Path) -> None:
    async with source_server(console(plugins, variables)) as (_, port):
        with daemon_beside(tmp_path, rcon_keys(port)) as daemon:
            await greet(daemon)
            assert what in await said(daemon)


async def test_variables_of_a_server_that_stands_aside_are_the_operators_own(tmp_path: Path) -> None:
    async with source_server(console(LISTED, {"mp_autoteambalance": "1"})) as (_, port):
        with daemon_beside(tmp_path, rcon_keys(port)) as daemon:
            await greet(daemon, inactive_reason="tournament")
            assert await said(daemon) == ""


async def test_rcon_that_is_unreachable(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, rcon_keys(free_port())) as daemon:
        assert "RCON failed: Connection refused" in await said(daemon)


async def test_more_slots_than_an_old_sourcemod_knows_players(tmp_path: Path) -> None:
    version = " SourceMod Version Information:\n    SourceMod Version: {}\n    SourcePawn Engine: 1.11.0.6970\n"
    hundred = info().replace(b"\xb8\x01\x03\x18", b"\xb8\x01\x03\x64")
    answers = [info(), hundred, hundred]
    versions = ["1.11.0.6970", "1.11.0.6970-dev", "1.12.0.7195"]
    texts = [console(LISTED, {}, {"sm version": version.format(each)}) for each in versions]
    async with source_server() as (rcon, rcon_port), query_server() as (query, port):
        keys = rcon_keys(rcon_port).replace("query = ''", f"query = '127.0.0.1:{port}'")
        with daemon_beside(tmp_path, keys) as daemon:
            await greet(daemon)
            found = []
            for answer, text in zip(answers, texts, strict=True):
                query.answer = lambda request, answer=answer: (
                    [SIMPLE + answer] if request[-4:] == CHALLENGE else right(request)
                )
                rcon._answers = text
                found.append(await said(daemon))
    assert found == ["", "it has 100 slots, and SourceMod 1.11.0.6970-dev knows 64 players at most", ""]


async def test_a2s_that_is_silent_or_answers_while_the_script_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.service.diagnosis.PATIENCE_SECONDS", 0.0)
    async with query_server() as (server, port):
        with daemon_beside(tmp_path, f"query = '127.0.0.1:{port}'") as daemon:
            assert "the game server answers A2S (arena_well), so it is its script that is silent" in await said(daemon)
            await greet(daemon)
            assert await said(daemon) == ""
            server.answer = lambda _: [b"\xff\xff\xff\xff"]
            assert f"nothing answers A2S at 127.0.0.1:{port}" in await said(daemon)
