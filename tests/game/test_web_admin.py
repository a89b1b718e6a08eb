"""NS2's web admin as the daemon reaches it; the stand-in is written from the game's script and measurements."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import PeerError
from equipoise.game.console import LONGEST_STATE, WebAdmin
from equipoise.game.port import WebState
from tests.game.rcon_servers import free_port, stand_in
from tests.game.test_daemon import Daemon, call, daemon_beside, remarks, send
from tests.game.test_doctor import GREETING as VERSIONED
from tests.game.test_doctor import greet, said
from tests.game.web_admin_server import NONCE_SECONDS, PASSWORD, USER, WebAdminServer, player, web_admin_server
from tests.web.test_batches import batch
from tests.wire.samples import HELLO


def reached(port: int, password: str = PASSWORD, user: str = USER, seconds: float = 5.0) -> WebAdmin:
    return WebAdmin("ns2-1", ("127.0.0.1", port), user, password, seconds=seconds)


async def test_a_command_runs_once_and_has_no_output_and_the_login_is_asked_for_once() -> None:
    async with web_admin_server() as (server, port):
        admin = reached(port)
        for command in ("sv_say a & b = 50 % + \u2603", "sv_status"):
            assert await admin.execute(command) is None
        assert server.commands == ["sv_say a & b = 50 % + \u2603", "sv_status"]
        assert server.requests == 3
        assert (admin.status().state, admin.status().commands, admin.status().failures) == ("answers", 2, 0)


async def test_the_state_is_read_and_nothing_is_run_for_it() -> None:
    async with web_admin_server() as (server, port):
        server.state["server_name"] = "A\x1b[2J\udce2" + "x" * 100
        state = await reached(port).look()
        assert state == WebState("A\ufffd[2J\ufffd" + "x" * 58, "ns2_summit", players=3, bots=1, cheats=False)
        assert server.commands == []
        # As a mod's copy of the script writes it.
        server.state |= {"cheats": True, "player_list": [{**player("Ann", 1001, 1), "isbot": False}]}
        assert await reached(port).look() == WebState(state.name, "ns2_summit", players=1, bots=0, cheats=True)


async def test_a_refused_password_is_not_tried_again_so_that_the_address_is_not_locked_out() -> None:
    async with web_admin_server() as (server, port):
        admin = reached(port, "wrong")
        for _ in range(20):
            with pytest.raises(PeerError, match="the web admin refused user and password"):
                await admin.execute("sv_status")
        assert len(server.wrong["127.0.0.1"]) == 1
        assert admin.status().state == "refused"
        admin.forgive()
        server.password = "wrong"
        assert await admin.execute("sv_status") is None
        assert server.commands == ["sv_status"]


async def test_a_nonce_that_has_grown_old_costs_one_more_request_and_no_command() -> None:
    async with web_admin_server() as (server, port):
        admin = reached(port)
        await admin.execute("sv_say one")
        server.now = lambda: time.monotonic() + NONCE_SECONDS + 1
        await admin.execute("sv_say two")
        assert server.commands == ["sv_say one", "sv_say two"]
        assert server.requests == 4
        assert not server.wrong["127.0.0.1"]


async def test_commands_that_come_together_are_sent_one_after_the_other() -> None:
    async with web_admin_server() as (server, port):
        admin = reached(port)
        await asyncio.gather(*(admin.execute(f"sv_say {number}") for number in range(10)))
        assert server.commands == [f"sv_say {number}" for number in range(10)]


async def test_a_web_admin_without_a_login_takes_what_it_is_sent() -> None:
    async with web_admin_server() as (server, port):
        server.user = ""
        await reached(port).execute("sv_say one")
        assert (server.commands, server.requests) == (["sv_say one"], 1)


async def test_while_a_map_loads_and_while_the_game_is_busy_the_error_says_so_and_is_over_by_itself() -> None:
    async with web_admin_server() as (server, port):
        admin = reached(port)
        server.loading = True
        with pytest.raises(PeerError, match="it loads a map"):
            await admin.execute("sv_status")
        server.loading, server.busy = False, True
        with pytest.raises(PeerError, match=r"busy \(503\)"):
            await admin.execute("sv_status")
        with pytest.raises(PeerError, match="it was tried lately"):
            await admin.execute("equipoise_poll", unasked=True)
        server.busy = False
        await admin.execute("sv_status")
        assert admin.status().state == "answers"


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"\xff\xff\xff\xffprint\n", "this is no web admin of NS2"),
        (answer(b"<html>nginx</html>"), "this is no web admin of NS2$"),
        (answer(b"[]"), "this is no web admin of NS2$"),
        (
            answer(b'{"map": 1, "server_name": "", "player_list": [], "cheats": "false"}'),
            "this is no web admin of NS2$",
        ),
        (answer(b"", "404 Not Found"), "this is no web admin of NS2: status 404"),
        (answer(b"", "302 Found", "Location: http://127.0.0.1:1/\r\n"), "this is no web admin of NS2: status 302"),
        (answer(b"", "401 Unauthorized", 'WWW-Authenticate: Basic realm="x"\r\n'), "status 401"),
        (answer(b"", "401 Unauthorized", "WWW-Authenticate: Digest realm=\r\n"), "no web admin|refused user"),
        # Bytes that are no UTF-8, of which aiohttp makes a login.
        (
            answer(b"", "401 Unauthorized", 'WWW-Authenticate: Digest realm="R", nonce="n", qop="auth"\r\n').replace(
                b"R", b"\xff\xfe"
            ),
            "this is no web admin of NS2",
        ),
        (answer(b"", "403 Forbidden"), "403"),
        (answer(b" " * (LONGEST_STATE + 2)), f"more than {LONGEST_STATE} bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "this is no web admin of NS2|closed"),
        (b"", "this is no web admin of NS2|closed"),
    ],
)
async def test_what_is_no_web_admin_is_named_and_never_a_traceback(reply: bytes, why: str) -> None:
    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()

    async with stand_in(act) as port:
        with pytest.raises(PeerError, match=why):
            await reached(port).execute("sv_status")


async def test_a_web_admin_that_is_silent_or_not_there_is_said() -> None:
    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with stand_in(act) as port:
        with pytest.raises(PeerError, match=r"no answer within 0\.1 s"):
            await reached(port, seconds=0.1).execute("sv_status")
    with pytest.raises(PeerError, match="Connection refused"):
        await reached(free_port()).execute("sv_status")


# The whole daemon beside it.


def keys(port: int) -> str:
    return f"game = 'ns2'\nrcon = '127.0.0.1:{port}'\nrcon_user = '{USER}'\nrcon_password_file = 'rcon'"


@asynccontextmanager
async def beside(folder: Path, password: str = PASSWORD) -> AsyncIterator[tuple[Daemon, WebAdminServer]]:
    async with web_admin_server() as (server, port):
        with daemon_beside(folder, keys(port), password) as daemon:
            yield daemon, server


GREETING: dict[str, Any] = {"game": "ns2", "map": "ns2_summit", "facts": {}}


async def test_orders_nudge_the_mod_and_commands_stand_in_the_audit(tmp_path: Path) -> None:
    async with beside(tmp_path) as (daemon, server):
        hello = {**HELLO, **GREETING, "phase": "idle"}
        sides = [{"id": str(76561197960265729 + n), "side": ("marines", "aliens")[n % 3 == 0]} for n in range(9)]
        await asyncio.to_thread(daemon.post, batch(1, hello, {"kind": "roster", "players": sides}))
        polled = asyncio.Event()
        server.runs = lambda command: polled.set()
        assert (await call(daemon, "POST", "/v1/admin/servers/arena-1/scramble", {})).status == 200
        await asyncio.wait_for(polled.wait(), 60)
        assert server.commands == ["equipoise_poll"]
        answered = await send(daemon, "sv_say hello")
        assert (answered.status, answered.body["output"], server.commands[-1]) == (200, None, "sv_say hello")
        lines = (await call(daemon, "GET", "/v1/admin/audit")).body["audit"]
        assert [line["after"] for line in lines if line["action"] == "rcon"] == ["sv_say hello"]


async def test_the_doctor_sees_cheats_a_mod_that_is_silent_and_why_the_game_does_not_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with beside(tmp_path) as (daemon, server):
        await greet(daemon, **GREETING)
        assert (await said(daemon), await said(daemon, bad=False)) == ("", "")
        server.state["cheats"] = "true"
        assert await said(daemon) == "sv_cheats is on: its rounds are not rated"
        reasons = {"cheats": "sv_cheats is on", "slots": "12 or more than 20", "mods": "Equipoise's own"}
        for seq, reason in enumerate(reasons, start=2):
            await asyncio.to_thread(daemon.post, batch(seq, {**VERSIONED, **GREETING, "unranked": reason}))
            assert reasons[reason] in await said(daemon, bad=False)
    monkeypatch.setattr("equipoise.service.diagnosis.PATIENCE_SECONDS", 0.0)
    (tmp_path / "other").mkdir()
    async with beside(tmp_path / "other") as (daemon, _):
        assert "the web admin answers (ns2_summit, players: 2), so it is the mod that is silent" in await said(daemon)


async def test_a_wrong_password_is_said_until_the_configuration_is_loaded_again(tmp_path: Path) -> None:
    async with beside(tmp_path, "wrong") as (daemon, server):
        for _ in range(12):
            assert (await send(daemon, "sv_status")).status == 502
        assert len(server.wrong["127.0.0.1"]) == 1
        shown = await remarks(daemon)
        assert "RCON" not in shown
        assert "arena-1: the web admin refused user and password" in shown
        assert "correct rcon_user and the file of rcon_password_file" in shown
        assert "the web admin refuses user and password" in await said(daemon)
        (tmp_path / "rcon").write_text(PASSWORD)
        answered = await call(daemon, "POST", "/v1/admin/reload", {})
        assert answered.body["rcon"][0].endswith("answers")
        assert server.commands == []


# The stand-in itself.


def curl(port: int, *options: str) -> tuple[int, str]:
    command = ["curl", "-sS", "-o", "-", "-w", "\n%{http_code}", *options, f"http://127.0.0.1:{port}/?request=json"]
    body, _, status = subprocess.run(command, capture_output=True, text=True, check=True).stdout.rpartition("\n")
    return int(status), body


LOGIN = ("--digest", "-u", f"{USER}:{PASSWORD}")


@pytest.mark.rig
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_curl_finds_the_stand_in_as_it_was_measured() -> None:
    async with web_admin_server() as (server, port):

        async def asked(*options: str) -> tuple[int, str]:
            return await asyncio.to_thread(curl, port, *options)

        assert (await asked())[0] == 401
        status, body = await asked(*LOGIN)
        assert (status, '"server_name": "A fake server"' in body) == (200, True)
        for method in ("PUT", "DELETE", "OPTIONS"):
            assert (await asked(*LOGIN, "-X", method))[0] == 405
        for origin, right in (
            (f"http://127.0.0.1:{port}", 200),
            ("https://127.0.0.1", 200),
            ("http://localhost:5173", 403),
            ("https://evil.example", 403),
            ("null", 403),
        ):
            assert (await asked(*LOGIN, "-H", f"Origin: {origin}"))[0] == right, origin
        # Of a POST the form alone is read; `rcon` alone runs nothing.
        assert (await asked(*LOGIN, "-d", "rcon=sv_say+one"))[0] == 200
        assert (await asked(*LOGIN, "-d", "command=Send&rcon=sv_say+two"))[0] == 200
        assert server.commands == ["sv_say two"]
        server.user = ""
        for host, right in (("10.1.2.3", 200), ("LOCALHOST:8080", 200), ("[::1]:8080", 200), ("adm.example", 403)):
            assert (await asked("-H", f"Host: {host}"))[0] == right, host


@pytest.mark.rig
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_curl_is_locked_out_after_ten_wrong_logins_in_a_minute_for_one_from_the_tenth() -> None:
    async with web_admin_server() as (server, port):

        async def asked(*options: str, after: float) -> int:
            server.now = lambda: after
            return (await asyncio.to_thread(curl, port, *options))[0]

        for number in range(10):
            assert await asked("--digest", "-u", f"{USER}:wrong", after=5.0 * number) == 401
        assert await asked(*LOGIN, after=104) == 401
        assert await asked(*LOGIN, after=106) == 200
