"""The whole daemon with webhooks: what it tells, what it says of them, and that it waits for none."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from equipoise.service import jobs
from tests.cli.house import run
from tests.daemons import RealDaemon
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.web.test_admin import crowd
from tests.web.test_batches import batch
from tests.webhooks.discord_server import discord, listening

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


async def doctor(daemon: Daemon, *options: str) -> list[dict[str, Any]]:
    command = (
        "doctor",
        "--url",
        f"http://{daemon.host}:{daemon.port}",
        "--token",
        SECRETS["owner"],
        "--json",
        *options,
    )
    answer = await asyncio.to_thread(run, *command)
    return [line for line in json.loads(answer.stdout)["findings"] if "notice." in line["what"]]


async def test_a_scramble_is_told_a_test_message_comes_and_a_dead_webhook_is_said(
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
            taken, refused = sorted(await doctor(daemon, "--notices"), key=lambda line: bool(line["bad"]))
            assert (taken["bad"], taken["what"]) == (False, "the webhook of [notice.club] took a test message")
            assert (refused["bad"], refused["what"]) == (
                *(True, "the webhook of [notice.site] does not take messages: it answered 500"),
            )
            assert any("a test message of Equipoise" in content for content in server.contents)
            server.tokens.clear()
            (dead,) = [line for line in await doctor(daemon, "--notices") if "club" in line["what"]]
            said = "the webhook of [notice.club] is switched off: it answered 404 (Unknown Webhook)"
            assert (dead["bad"], dead["what"]) == (True, said)
            status = await asyncio.to_thread(daemon.call, "GET", "/v1/admin/servers")
            assert any(remark.startswith(said) for remark in status.body["remarks"])
            path = tmp_path / "config.toml"
            path.write_text(path.read_text().partition("[notice.club]")[0])
            reloaded = await asyncio.to_thread(daemon.call, "POST", "/v1/admin/reload", {})
            assert set(reloaded.body["changes"]) == {"[notice.club] removed", "[notice.site] removed"}
            status = await asyncio.to_thread(daemon.call, "GET", "/v1/admin/servers")
            assert not {"notices", "daily summary"} & {job["name"] for job in status.body["jobs"]}


async def test_scripts_are_answered_and_the_daemon_stops_while_a_webhook_does_not_answer(tmp_path: Path) -> None:
    async with discord(time.monotonic) as server:
        server.delay = 30.0
        daemon = RealDaemon(tmp_path, settings="silence_seconds = 10\n", forked=True)
        daemon.config.write_text(
            f"{daemon.config.read_text()}\n[notice.club]\nkind = 'discord'\nurl = '{server.url()}'\n"
        )
        await asyncio.to_thread(daemon.start)
        call = asyncio.create_task(asyncio.to_thread(daemon.ask, "doctor?notices=true"))
        async with asyncio.timeout(60):
            while not server.requests:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        began = time.monotonic()
        assert (await asyncio.to_thread(daemon.ask, "servers"))["servers"]
        assert time.monotonic() - began < 1.0
        call.cancel()
        began = time.monotonic()
        assert await asyncio.to_thread(daemon.stop) == 0
        assert time.monotonic() - began < 1.0
