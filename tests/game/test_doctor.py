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
from tests.game.query_server import query_server
from tests.game.rcon_servers import Reader, Writer, free_port, source_server, stand_in
from tests.game.test_daemon import call, daemon_beside, rcon_keys
from tests.game.test_inspection import PLUGINS, console
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


@pytest.mark.slow
async def test_a_script_that_never_called_or_is_of_another_version(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        assert await said(daemon) == "its script has never called since the daemon started"
        await greet(daemon, plugin="0.0.9")
        assert await said(daemon) == f"its plugin is version 0.0.9, older than the daemon's {VERSION}"
        newer = {**GREETING, "plugin": "99.1"}
        await asyncio.to_thread(daemon.post, batch(2, newer))
        assert await said(daemon) == f"its plugin is version 99.1, newer than the daemon's {VERSION}"


async def test_a_script_of_another_game_has_versions_and_a_console_of_its_own(tmp_path: Path) -> None:
    async with source_server(console("[SM] No plugins loaded\n", {})) as (_, rcon):
        keys = f"game = 'other'\n{rcon_keys(rcon)}"
        with daemon_beside(tmp_path, keys) as daemon:
            findings = (await call(daemon, "GET", "/v1/admin/doctor")).body["findings"]
            (silent,) = (each for each in findings if each["about"] == "arena-1")
            assert silent["what"] == "its script has never called since the daemon started"
            assert "sm plugins" not in silent["advice"]
            await greet(daemon, plugin="99.1", game="other", facts={})
            assert await said(daemon) == ""


async def test_a_server_that_stands_aside_or_is_switched_off_is_worth_knowing(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        await greet(daemon, inactive_reason="mvm")
        assert (await said(daemon), await said(daemon, bad=False)) == ("", "it is inactive: mvm")
        await asyncio.to_thread(daemon.post, batch(2, {**GREETING, "inactive_reason": "damaged"}, ROSTER))
        assert "a file of its mod is damaged" in await said(daemon)
        await asyncio.to_thread(daemon.post, batch(3, {**GREETING, "map": "vsh_dust", "session": "s-2"}))
        await call(daemon, "POST", "/v1/admin/servers/arena-1/off", {})
        assert "on this map it is inactive: " in await said(daemon, bad=False)
        assert "an admin switched it off" in await said(daemon, bad=False)


async def test_wrong_secrets_and_names_of_the_last_hour(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        for server, secret in (
            ("arena-1", "wrong"),
            ("arena-1", "wrong"),
            ("dustbowl", "wrong"),
            ("arena-1", "ns2 secret"),
        ):
            authorization = f"Bearer {secret}"
            body = f'{{"v": 1, "server": "{server}", "boot": 1, "seq": 1, "at": 0, "events": []}}'.encode()
            await asyncio.to_thread(
                lambda body=body, authorization=authorization: daemon.request(
                    "POST", "/v1/events", body, authorization=authorization
                )
            )
        found = await said(daemon)
        assert "arena-1 called from 127.0.0.1 2 times in the last hour with a wrong secret" in found
        assert "arena-1 called from 127.0.0.1 in the last hour with the secret of another server" in found
        assert "there is no [server.dustbowl]" in await said(daemon, "daemon")


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


@pytest.mark.parametrize(("ahead", "order"), [(3600, "ahead of"), (-3600, "behind")])
async def test_a_clock_that_is_an_hour_off_by_the_round_that_has_just_ended(
    tmp_path: Path, ahead: float, order: str
) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        fresh = {**ROUND, "started_at": time.time() + ahead - ROUND["seconds"]}
        await asyncio.to_thread(daemon.post, batch(1, GREETING, fresh))
        assert re.fullmatch(rf"its machine's clock is 3,[56]\d\d s {order} this one's", await said(daemon))


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
        (PLUGINS, {}, "another plugin seems to balance teams: [TF2] gScramble"),
        (LISTED, {"mp_autoteambalance": "1"}, "mp_autoteambalance is on, although the plugin switches it off"),
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


async def test_rcon_that_is_refused_closed_or_unreachable(tmp_path: Path) -> None:
    async def hang_up(_: Reader, writer: Writer) -> None:
        writer.transport.abort()

    async with source_server() as (_, port), stand_in(hang_up) as banned:
        for number, (keys, password, what) in enumerate(
            (
                (rcon_keys(port), "wrong", "the game server refuses the RCON password"),
                (rcon_keys(banned), "wrong", "the game server hangs up at the RCON login: it may have banned us"),
                (rcon_keys(free_port()), "wrong", "RCON failed: Connection refused"),
            )
        ):
            (folder := tmp_path / str(number)).mkdir()
            with daemon_beside(folder, keys, password) as daemon:
                assert what in await said(daemon)


async def test_a2s_that_is_silent_or_answers_while_the_script_is_silent(tmp_path: Path) -> None:
    async with query_server() as (server, port):
        with daemon_beside(tmp_path, f"query = '127.0.0.1:{port}'") as daemon:
            assert "the game server answers A2S (arena_well), so it is its script that is silent" in await said(daemon)
            await greet(daemon)
            assert await said(daemon) == ""
            server.answer = lambda _: [b"\xff\xff\xff\xff"]
            assert f"nothing answers A2S at 127.0.0.1:{port}" in await said(daemon)
