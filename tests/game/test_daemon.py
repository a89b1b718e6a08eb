"""The whole daemon beside a game server, whose script is played by the test."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import ScriptError
from equipoise.service.status import TARGETING, check_command
from tests.game.query_server import query_server
from tests.game.rcon_servers import PASSWORD, SourceServer, free_port, source_server
from tests.web.daemon import CONFIG, Answer, Daemon, running
from tests.web.test_batches import batch
from tests.wire.samples import HELLO, RED

SERVERS = "/v1/admin/servers"
WORDS = (
    "status",
    "all",
    "Bob Marley",
    "x",
    "y",
    "z",
    "1",
    "list",
    "#12",
    "12",
    "@all",
    "#12x",
    "#STEAM_0:1:5",
    "#[U:1:7]",
)
"""What players call themselves."""
NAMES = {str(int(RED) + number): name for number, name in enumerate(WORDS)}
ROSTER = {
    "kind": "roster",
    "players": [{"id": steam_id, "side": ("red", "blu")[at % 2]} for at, steam_id in enumerate(NAMES)],
}
JOINED = [{"kind": "player_joined", "id": steam_id, "name": name} for steam_id, name in NAMES.items()]


@contextmanager
def daemon_beside(
    folder: Path, keys: str, password: str = PASSWORD, rules: str = "poll_seconds = 60\n"
) -> Iterator[Daemon]:
    (folder / "rcon").write_text(password)
    with running(folder, rules + CONFIG.replace("[server.ns2-1]", f"{keys}\n[server.ns2-1]")) as daemon:
        yield daemon


def rcon_keys(port: int) -> str:
    return f"rcon = '127.0.0.1:{port}'\nrcon_password_file = 'rcon'\nquery = ''"


@asynccontextmanager
async def beside(folder: Path) -> AsyncIterator[tuple[Daemon, SourceServer]]:
    """A daemon and an RCON server that answers in capitals."""
    async with source_server() as (server, port):
        with daemon_beside(folder, rcon_keys(port)) as daemon:
            yield daemon, server


async def call(daemon: Daemon, method: str, path: str, body: Any = None, who: str = "owner") -> Answer:
    return await asyncio.to_thread(daemon.call, method, path, body, who)


async def send(daemon: Daemon, command: str, who: str = "owner") -> Answer:
    return await call(daemon, "POST", f"{SERVERS}/arena-1/rcon", {"command": command}, who)


@pytest.mark.slow
async def test_an_admins_order_reaches_the_script_at_once_although_it_calls_once_a_minute(tmp_path: Path) -> None:
    async with beside(tmp_path) as (daemon, server):
        hello = {**HELLO, "map": "koth_nucleus", "phase": "running", "facts": {"game_type": 2, "koth": True}}
        await asyncio.to_thread(daemon.post, batch(1, hello, ROSTER))
        polled = asyncio.Event()
        server._answers = lambda command: polled.set() or command  # type: ignore[func-returns-value]
        assert (await call(daemon, "POST", f"{SERVERS}/arena-1/scramble", {})).status == 200
        await asyncio.wait_for(polled.wait(), 60)
        assert server.commands == ["equipoise_poll"]
        reply = (await asyncio.to_thread(daemon.post, batch(2))).body
        assert [order["kind"] for order in reply["orders"]] == ["assign"]


async def test_rcon_that_fails_is_never_the_trouble_of_an_admin_who_orders_something(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, rcon_keys(free_port())) as daemon:
        await asyncio.to_thread(daemon.post, batch(1, HELLO, *JOINED, ROSTER))
        for action in ("off", "on", "off"):
            assert (await call(daemon, "POST", f"{SERVERS}/arena-1/{action}", {})).status == 200


async def test_a_command_is_answered_and_stands_in_the_audit(tmp_path: Path) -> None:
    async with beside(tmp_path) as (daemon, server):
        server._answers = lambda command: f"<{command}>\x1b[2J"
        answer = await send(daemon, "  sm_kick #12 spam ")
        assert (answer.status, answer.body["output"]) == (200, "<sm_kick #12 spam>\\x1b[2J")
        (line,) = (await call(daemon, "GET", "/v1/admin/audit")).body["audit"]
        found = {key: line[key] for key in ("who", "action", "target", "after")}
        assert found == {"who": "token:owner", "action": "rcon", "target": "arena-1", "after": "sm_kick #12 spam"}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("say a;quit", "';'"),
        ('say "a', "'\"'"),
        ("say don't", '"\'"'),
        ("say a\nquit", r"'\n'"),
        ("say a\rquit", r"'\r'"),
        ("say \0", r"'\x00'"),
        ("say \x1b[2J", r"'\x1b'"),
        ("say \u202e", r"'\u202e'"),
        ("say \u2028quit", r"'\u2028'"),
        (" ", "there is no command"),
        ("say " + "\u2603" * 200, "at most 400 bytes"),
        ("sm_slay  bob  MARLEY 3", "'Bob Marley' is the name of a player"),
        ("SM_Ban list 0 spam", "'list' is the name of a player"),
        ("sm_rcon sm_rcon sm_psay list hello", "'list' is the name of a player"),
        ("sm_slay @all", "'@all' is the name of a player"),
        ("sm_kick #12x", "'#12x' is the name of a player"),
        ("RCON_password", "would stand in the audit"),
        ("sm_cvar rcon_password x", "would stand in the audit"),
        *((f"{command} Bob Marley 1", "'Bob Marley' is the name of a player") for command in sorted(TARGETING)),
    ],
)
def test_what_could_be_another_command_or_player_is_refused(command: str, why: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(why)):
        check_command(command, WORDS)


async def test_a_refused_command_reaches_neither_the_server_nor_the_audit(tmp_path: Path) -> None:
    async with beside(tmp_path) as (daemon, server):
        await asyncio.to_thread(daemon.post, batch(1, HELLO, *JOINED, ROSTER))
        for command in ("say a;quit", "sm_kick Bob Marley"):
            answer = await send(daemon, command)
            assert (answer.status, answer.code) == (422, "command")
        assert server.commands == []
        assert (await call(daemon, "GET", "/v1/admin/audit")).body["audit"] == []


def test_players_who_are_called_like_commands_values_or_ids_do_not_stop_them() -> None:
    commands = [
        *("status", "say all is well", "sm_kick allison", "mp_autoteambalance 1", "sm plugins list", "sm_cvar x list"),
        *("sm_kick #12", "sm_kick #12 Bob Marley", "kickid 12", "sm_slap 12 1", "sm_ban #STEAM_0:1:5 0 list", "kick"),
        *("sm_gag #[U:1:7]", "sm_rcon sm plugins list", "sm_map x", "sm_votemap x y z", "banid 1 12", "sm_rcon"),
        *(f"{command} #7 Bob Marley" for command in TARGETING),
    ]
    assert [check_command(command, [*WORDS, "#7", "7"]) for command in commands] == commands


def test_our_plugins_commands_that_take_a_player_are_among_them() -> None:
    plugin = Path(__file__).parents[2] / "sourcemod" / "scripting" / "equipoise" / "commands.sp"
    taking = re.findall(r'RegAdminCmd\("(\w+)", Command_Target\b', plugin.read_text())
    assert len(taking) == 4
    assert set(taking) <= TARGETING


@pytest.mark.parametrize("who", ["guest", "arena-1"])
async def test_only_admins_may_send_commands(who: str, tmp_path: Path) -> None:
    async with beside(tmp_path) as (daemon, server):
        assert (await send(daemon, "status", who)).status == 403
        assert server.connections == []


async def test_without_rcon_or_without_its_answer_the_error_says_so(tmp_path: Path) -> None:
    with daemon_beside(tmp_path, "") as daemon:
        answer = await send(daemon, "status")
        assert (answer.status, answer.code) == (409, "rcon")
    with daemon_beside(tmp_path, rcon_keys(free_port())) as daemon:
        answer = await send(daemon, "status")
        assert (answer.status, answer.code) == (502, "game_server")
        assert "RCON of arena-1: Connection refused" in answer.body["error"]["message"]
        assert "failed: Connection refused" in await remarks(daemon)


async def remarks(daemon: Daemon) -> str:
    answer = (await call(daemon, "GET", SERVERS)).body
    return "\n".join(answer["remarks"])


async def test_a_wrong_password_is_said_until_the_configuration_is_loaded_again(tmp_path: Path) -> None:
    async with source_server() as (server, port):
        with daemon_beside(tmp_path, rcon_keys(port), "wrong") as daemon:
            for _ in range(20):
                assert (await send(daemon, "status")).status == 502
            assert len(server.connections) == 1
            refusal = "arena-1: the game server refused the RCON password, and it is not tried again"
            assert refusal in await remarks(daemon)
            answer = await call(daemon, "POST", "/v1/admin/reload", {})
            assert answer.body["rcon"] == [
                f"arena-1: RCON at 127.0.0.1:{port} failed: the game server refused the RCON password"
            ]
            (tmp_path / "rcon").write_text(PASSWORD)
            answer = await call(daemon, "POST", "/v1/admin/reload", {})
            assert answer.body["changes"] == ["server.arena-1.rcon.password: secret changed"]
            assert answer.body["rcon"] == [f"arena-1: RCON at 127.0.0.1:{port} answers"]
            assert (await call(daemon, "POST", "/v1/admin/reload", {})).body["rcon"] == []


async def test_the_numbers_are_among_the_metrics(tmp_path: Path) -> None:
    async with beside(tmp_path) as (daemon, _):
        await send(daemon, "status")
        text = (await call(daemon, "GET", "/metrics")).raw.decode()
        assert 'equipoise_rcon_up{server="arena-1"} 1.0' in text
        assert 'equipoise_rcon_commands_total{server="arena-1"} 1.0' in text
        assert "equipoise_query_up" not in text


async def game_server(daemon: Daemon, field: str) -> None:
    """Wait until the first query has got an answer, or an error."""
    async with asyncio.timeout(60):
        while True:
            (found,) = (await call(daemon, "GET", SERVERS)).body["game_servers"]
            if found["query"][field]:
                return
            await asyncio.sleep(0.01)


async def test_a_game_server_that_answers_while_its_script_has_never_called_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.service.diagnosis.PATIENCE_SECONDS", 0.0)
    async with query_server() as (_, port):
        with daemon_beside(tmp_path, f"query = '127.0.0.1:{port}'") as daemon:
            await game_server(daemon, "answer")
            said = await remarks(daemon)
            assert said.startswith("arena-1: the game server answers (arena_well, players: 3), but")
            await asyncio.to_thread(daemon.post, batch(1, HELLO, *JOINED, ROSTER))
            assert await remarks(daemon) == ""


async def test_a_script_that_calls_while_nothing_answers_a2s_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    with daemon_beside(tmp_path, f"query = '127.0.0.1:{port}'") as daemon:
        await asyncio.to_thread(daemon.post, batch(1, HELLO, *JOINED, ROSTER))
        await game_server(daemon, "error")
        assert await remarks(daemon) == "", "it may be changing its map"
        monkeypatch.setattr("equipoise.game.query.SILENT_SECONDS", 0.0)
        assert f"nothing answers A2S at 127.0.0.1:{port} (Connection refused)" in await remarks(daemon)
