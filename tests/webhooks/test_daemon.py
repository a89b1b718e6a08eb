"""The whole daemon with webhooks: what it tells, what it says of them, and that it waits for none."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from equipoise.service import jobs
from tests.cli.house import run
from tests.daemons import RealDaemon
from tests.postgres import PASSWORD, Postgres
from tests.postgres import postgres as postgres
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.web.test_admin import crowd
from tests.web.test_batches import ROSTER, batch, ended
from tests.webhooks.discord_server import discord, listening
from tests.wire.samples import HELLO, KOTH

pytestmark = pytest.mark.slow


def tables(url: str, port: int) -> str:
    return f"""
[notice.club]
kind = "discord"
url = "{url}"
status = true
[notice.site]
kind = "generic"
url = "http://127.0.0.1:{port}/hook"
secret_file = "site.key"
"""


async def doctor(daemon: Daemon) -> list[dict[str, Any]]:
    there = "--url", f"http://{daemon.host}:{daemon.port}", "--token", SECRETS["owner"]
    answer = await asyncio.to_thread(run, "doctor", *there, "--json")
    return [line for line in json.loads(answer.stdout)["findings"] if "notice." in line["what"]]


async def test_a_scramble_is_told_a_reload_sends_a_test_message_and_a_dead_webhook_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "NOTICES_SECONDS", 0.1)
    (tmp_path / "site.key").write_text(f"whsec_{base64.b64encode(bytes(32)).decode()}")
    bodies: list[dict[str, Any]] = []

    async def take(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.Response(status=500 if b'"test"' in await request.read() else 204)

    async with discord(time.monotonic) as server, listening(take) as port, asyncio.timeout(60):
        text = CONFIG + tables(server.url(), port)
        with running(tmp_path, text) as daemon:
            await asyncio.to_thread(crowd, daemon, "red", "red", "blu", "blu")
            while not any("Equipoise" in content for content in server.contents):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await asyncio.to_thread(daemon.call, "POST", "/v1/admin/servers/arena-1/scramble", {})
            await asyncio.to_thread(daemon.post, batch(2))
            while not bodies:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            (notice,) = bodies[0]["notices"]
            assert (notice["event"], notice["server"]) == ("scramble", "arena-1")
            assert notice["text"].startswith("arena-1: scramble: ordered by an admin, ")
            while not any("scramble" in content for content in server.contents):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert await doctor(daemon) == []
            path = tmp_path / "config.toml"
            more = f'[notice.other]\nkind = "discord"\nurl = "{server.url("2")}"\n[notice.gone]\nkind = "discord"\n'
            path.write_text(f'{text}{more}url = "{server.url("3")}"\n'.replace("/hook", "/other"))
            await asyncio.to_thread(daemon.call, "POST", "/v1/admin/reload", {})
            while len(findings := await doctor(daemon)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            said = "the webhook of [notice.gone] is switched off: it answered 404 (Unknown Webhook)"
            assert {(line["bad"], line["what"]) for line in findings} == {
                (True, said),
                (True, "the webhook of [notice.site] does not take messages: it answered 500"),
            }
            (told,) = [content for content in server.contents if "a test message of Equipoise" in content]
            assert r"\[notice.other\]" in told
            status = await asyncio.to_thread(daemon.call, "GET", "/v1/admin/servers")
            assert any(remark.startswith(said) for remark in status.body["remarks"])


async def test_scripts_are_answered_and_the_daemon_stops_while_a_webhook_does_not_answer(tmp_path: Path) -> None:
    async with discord(time.monotonic) as server:
        server.delay = 30.0
        daemon = RealDaemon(tmp_path, settings="silence_seconds = 10\n", forked=True)
        await asyncio.to_thread(daemon.start)
        with daemon.config.open("a") as config:
            config.write(f"\n[notice.club]\nkind = 'discord'\nurl = '{server.url()}'\n")
        await asyncio.to_thread(daemon.ask, "reload", {})
        async with asyncio.timeout(60):
            while not server.requests:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        began = time.monotonic()
        assert (await asyncio.to_thread(daemon.ask, "servers"))["servers"]
        assert time.monotonic() - began < 1.0
        began = time.monotonic()
        assert await asyncio.to_thread(daemon.stop) == 0
        assert time.monotonic() - began < 1.0


@contextmanager
def machine(folder: Path, number: int, database: str, notices: str) -> Iterator[Daemon]:
    """A daemon of a shared pool with a game server of its own, and one that moves between all."""
    folder.mkdir()
    (folder / "site.key").write_text(f"whsec_{base64.b64encode(bytes(32)).decode()}")
    (folder / "database").write_text(PASSWORD)
    (folder / "database").chmod(0o600)
    for name, secret in (("own", f"own {number}"), ("mover", "mover")):
        (folder / name).write_text(hashlib.sha256(secret.encode()).hexdigest())
    text = f"""
silence_seconds = 10
[web]
port = 0
[store]
directory = "{{state}}"
[shared]
machine = "machine-{number}"
[pool.main]
balance = "synelo"
database = "{database}"
database_password_file = "database"
[server.arena-{number}]
secret_file = "own"
[server.mover]
secret_file = "mover"
[token.owner]
secret_file = "owner"
role = "admin"
{notices}
"""
    with running(folder, text) as daemon:
        yield daemon


class Community:
    """Three machines of a shared pool, and what their webhooks were told: event, state and server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.daemons: list[Daemon] = []
        self.told: list[tuple[str, str, str | None]] = []
        self._days: list[tuple[asyncio.AbstractEventLoop, jobs.Run]] = []
        schedule = jobs.schedule_notices

        def noted(scheduler: jobs.Scheduler, wanted: bool, look: jobs.Run, summarize: jobs.Run) -> None:
            self._days.append((asyncio.get_running_loop(), summarize))
            schedule(scheduler, wanted, look, summarize)

        monkeypatch.setattr(jobs, "schedule_notices", noted)
        monkeypatch.setattr(jobs, "NOTICES_SECONDS", 0.1)
        monkeypatch.setattr(jobs, "PUBLISH_SECONDS", 0.2)

    async def take(self, request: web.Request) -> web.Response:
        lines = (await request.json())["notices"]
        self.told += [(line["event"], line["state"], line["server"]) for line in lines]
        return web.Response(status=204)

    async def told_of(self, *notices: tuple[str, str, str | None]) -> None:
        while not {*notices} <= {*self.told}:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def sum_up(self) -> None:
        """The time of the daily summary, on all machines."""
        for loop, summarize in self._days:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(summarize(), loop))

    async def post(self, number: int, name: str, *happened: dict[str, Any], seq: int, boot: int = 1) -> None:
        body = json.dumps(batch(seq, *happened, server=name, boot=boot)).encode()
        secret = "mover" if name == "mover" else f"own {number}"
        request = self.daemons[number].request
        answer = await asyncio.to_thread(request, "POST", "/v1/events", body, authorization=f"Bearer {secret}")
        assert answer.status == 200, answer.raw

    async def servers(self, number: int) -> Any:
        return (await asyncio.to_thread(self.daemons[number].call, "GET", "/v1/admin/servers")).body

    async def see_each_other(self) -> None:
        for number in range(len(self.daemons)):
            while len((await self.servers(number))["elsewhere"]) < 2 * len(self.daemons) - 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def move(self) -> None:
        """`mover` goes from machine 0 to machine 1, and plays there until it has fallen silent on the other."""
        await self.post(1, "mover", HELLO, ROSTER, ended(2), seq=1, boot=2)
        for seq in count(2):
            await asyncio.sleep(0.2)
            await self.post(1, "mover", seq=seq, boot=2)
            if {each["server"]: each["lost"] for each in (await self.servers(0))["servers"]}["mover"]:
                return


@pytest.mark.world
async def test_three_machines_of_a_shared_pool_tell_each_thing_once(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    players = [{"id": str(76561197960287930 + one), "side": ("red", "blu")[one > 3]} for one in range(5)]
    live = {"kind": "round_live", "round": "2-1", "players": players}
    house, own = Community(monkeypatch), ["arena-0", "arena-1", "arena-2"]
    summaries = [("summary", "news", name) for name in (*own, "mover")]
    async with discord(time.monotonic) as server, listening(house.take) as port, asyncio.timeout(120):
        database = postgres.url(await asyncio.to_thread(postgres.database))
        with ExitStack() as stack:
            for number in range(3):
                one = machine(tmp_path / f"{number}", number, database, tables(server.url(), port))
                house.daemons.append(stack.enter_context(one))
            await house.see_each_other()
            await house.sum_up()
            await house.told_of(("summary", "news", None))
            for number, name in enumerate(own):
                await house.post(number, name, HELLO, ROSTER, ended(1), seq=1)
            await house.post(0, "mover", HELLO, ROSTER, ended(1), seq=1)
            await house.move()
            await house.told_of(*(("lost", "fault", name) for name in own))
            await house.sum_up()
            await house.post(2, "arena-2", KOTH, {**ROSTER, "players": players}, live, seq=1, boot=2)
            await asyncio.to_thread(house.daemons[2].call, "POST", "/v1/admin/servers/arena-2/scramble", {})
            await house.post(2, "arena-2", seq=2, boot=2)
            await house.told_of(*summaries, ("scramble", "news", "arena-2"), ("lost", "over", "arena-2"))
        assert Counter(house.told) == Counter(
            [
                *summaries,
                ("summary", "news", None),
                *(("lost", "fault", name) for name in own),
                ("lost", "over", "arena-2"),
                ("scramble", "news", "arena-2"),
            ]
        )
