"""The stand-in for Discord's webhooks does what their documentation says; a plain HTTP client asks it."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import pytest

from tests.webhooks.discord_server import LIMIT, PERIOD, TOKEN, Discord, discord

pytestmark = pytest.mark.rig

AGENT = "DiscordBot (tests, 1)"
PATH = f"/api/webhooks/1/{TOKEN}"


def asked(port: int, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body, {"User-Agent": AGENT, "Content-Type": "application/json", **headers})
    with connection.getresponse() as response:
        raw = response.read()
    connection.close()
    return response.status, json.loads(raw) if raw[:1] == b"{" else raw, dict(response.getheaders())


async def call(
    server: Discord, path: str = PATH, body: object = None, method: str = "POST", **headers: str
) -> tuple[int, Any, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body or {"content": "hello"}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await asyncio.to_thread(asked, server.port, method, path, raw, named)


async def test_a_message_is_made_told_of_with_wait_edited_and_unknown_when_deleted() -> None:
    async with discord(lambda: 0.0) as server:
        assert (await call(server))[:2] == (204, b"")
        status, message, _ = await call(server, f"{PATH}?wait=true", {"content": "status"})
        assert (status, message["content"]) == (200, "status")
        edit = f"{PATH}/messages/{message['id']}"
        assert (await call(server, edit, {"content": "new"}, "PATCH"))[0] == 200
        assert server.contents == ["hello", "new"]
        del server.messages[message["id"]]
        status, body, _ = await call(server, edit, {"content": "newer"}, "PATCH")
        assert (status, body["code"]) == (404, 10008)


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "code"),
    [
        (f"/api/webhooks/3/{TOKEN}", None, {}, 404, 10015),
        ("/api/webhooks/1/other", None, {}, 401, 50027),
        (PATH, {"content": "x" * 2001}, {}, 400, 50035),
        (PATH, {"content": "\N{PILE OF POO}" * 1001}, {}, 400, 50035),
        (PATH, {"content": ""}, {}, 400, 50006),
        (PATH, b"{", {}, 400, 50109),
        (PATH, None, {"Content_Type": "text/plain"}, 400, 50035),
    ],
)
async def test_what_is_wrong_has_a_status_and_a_code(
    path: str, body: object, headers: dict[str, str], status: int, code: int
) -> None:
    async with discord(lambda: 0.0) as server:
        answer = await call(server, path, body, **headers)
        assert (answer[0], answer[1]["code"]) == (status, code)
        assert server.messages == {}


async def test_who_does_not_say_their_program_in_discords_form_is_blocked_by_cloudflare() -> None:
    async with discord(lambda: 0.0) as server:
        assert (await call(server, User_Agent="Python/3"))[:2] == (403, b"<html>error code: 1010</html>")


async def test_a_limit_is_enforced_until_its_period_ends() -> None:
    now = 100.0
    async with discord(lambda: now) as server:
        assert [(await call(server))[0] for _ in range(LIMIT)] == [204] * LIMIT
        now += 0.5
        status, body, headers = await call(server)
        assert (status, body["retry_after"], body["global"]) == (429, PERIOD - 0.5, False)
        assert headers["Retry-After"] == "2"
        assert (await call(server, f"/api/webhooks/2/{TOKEN}"))[0] == 204, "every webhook has its own"
        now += body["retry_after"]
        assert (await call(server))[0] == 204
        server.overall = now + 64.57
        status, body, headers = await call(server)
        assert (status, body["global"], headers["Retry-After"]) == (429, True, "65")


async def test_users_are_notified_unless_mentions_are_switched_off() -> None:
    async with discord(lambda: 0.0) as server:
        await call(server, PATH, {"content": "<@12> and <@!34>"})
        assert server.notified == ["12", "34"]
        await call(server, PATH, {"content": "<@56> \\<@78>", "allowed_mentions": {"parse": []}})
        assert server.notified == ["12", "34"]
