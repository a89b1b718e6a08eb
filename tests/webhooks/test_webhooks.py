"""Webhooks against real HTTP servers: Discord's stand-in, and others that behave worse."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from aiohttp import web

from equipoise.config import Event, ServerId, Webhook
from equipoise.service.event_loop import Loop
from equipoise.service.notices import Notice
from equipoise.webhooks import FILE, MOST, Webhooks
from tests.webhooks.discord_server import PERIOD, Discord, discord, listening

ROOT = Path(__file__).parents[2]
KEY = bytes(range(32))
HOUR = 3600.0
ARENA, DUST = ServerId("arena-1"), ServerId("dust_2")


@dataclass
class Fast:
    """A clock that only sleeping moves: an hour takes as long as what happens in it."""

    now: float = 1_763_622_000.0

    def monotonic(self) -> float:
        return self.now

    def epoch(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Told:
    """Where `Webhooks` asks what happened: what a test puts in."""

    notices: list[Notice] = field(default_factory=list)
    lines: list[str] = field(default_factory=lambda: ["arena-1: cp_well, 12 RED, 12 BLU"])

    async def look(self) -> list[Notice]:
        notices, self.notices = self.notices, []
        return notices

    async def summary(self) -> list[Notice]:
        return []

    def status(self, servers: object = ()) -> list[str]:
        return self.lines


@dataclass
class Rig:
    """Webhooks in a folder, and what they are to tell."""

    folder: Path
    clock: Fast
    timeout_seconds: float = 10.0
    told: Told = field(default_factory=Told)

    async def __aenter__(self) -> Rig:
        self.webhooks = Webhooks(
            self.told,  # type: ignore[arg-type]
            self.folder,
            self.clock,
            sleep=self.clock.sleep,
            timeout_seconds=self.timeout_seconds,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        began = time.monotonic()
        await self.webhooks.close()
        assert time.monotonic() - began < 1.0

    def use(self, *webhooks: Webhook) -> None:
        self.webhooks.use({webhook.name: webhook for webhook in webhooks})

    async def look(self, *notices: Notice) -> None:
        self.told.notices += notices
        await self.webhooks.look()


def webhook(url: str, name: str = "club", **keys: Any) -> Webhook:
    defaults = {"kind": "discord", "key": b"", "events": get_args(Event), "servers": (), "status": False}
    return Webhook(**{"name": name, "url": url, **defaults, **keys})


def generic(port: int, path: str = "/hook/s3cret", **keys: Any) -> Webhook:
    return webhook(f"http://127.0.0.1:{port}{path}", kind="generic", key=KEY, **keys)


def news(text: str = "arena-1: scramble", server: ServerId | None = ARENA, event: str = "scramble") -> Notice:
    return Notice(event, "news", server, 1_763_622_000.0, text)


def fault(text: str = "the store is full", event: str = "store") -> Notice:
    return Notice(event, "fault", None, 1_763_622_000.0, text)


@asynccontextmanager
async def played(folder: Path, **keys: Any) -> AsyncIterator[tuple[Rig, Discord]]:
    clock = Fast()
    async with discord(clock.monotonic) as server, Rig(folder, clock, **keys) as rig:
        yield rig, server


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def settled() -> None:
    """Long enough for a request that should not come."""
    await asyncio.sleep(0.15)


def shown(content: str) -> str:
    """What Discord's clients show: a backslash before a character that is no letter makes it plain."""
    return re.sub(r"\\([^\w\s]|_)", r"\1", content).replace("\u200b", "")


# Discord.


@pytest.mark.parametrize(
    "text",
    [
        "@everyone @here <@123> <@!123> <@&123> <#123> </kick:123>",
        "**bold** __under__ ~~gone~~ `code` ||hidden|| [a](https://b.example) > # - \\*",
        "https://evil.example :smile: <:emoji:123> <t:0:R>",
    ],
)
async def test_what_comes_from_outside_is_shown_letter_by_letter_and_notifies_nobody(text: str, tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url()))
        await rig.look(news(text))
        await until(lambda: server.messages)
        content = server.contents[0].partition(" ")[2]
        assert server.notified == []
        assert server.parsed == [[]], "nothing is to be taken for a mention, whatever its letters"
        assert shown(content) == text
        # No sign that means something to Discord is left without a backslash before it.
        assert not re.search(r"(?<!\\)(?:\\\\)*[*_~|`<\[\]]|@(?!\u200b)|https?:", re.sub(r"\\[^\w\s]|\\_", "", content))


async def test_lines_and_control_characters_in_a_text_make_no_second_line(tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url()))
        await rig.look(news("a\n# b\x1b\u202ec\ud800" + "x" * 5000))
        await until(lambda: server.messages)
        assert shown(server.contents[0]).startswith("<t:1763622000:t> a\ufffd# b\ufffd\ufffdc\ufffdxxx")
        assert len(server.contents[0]) < 500


async def test_ten_thousand_in_a_minute_are_few_messages_that_count_the_rest_and_keep_faults(tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url()))
        many = [news(f"arena-1: scramble {number}: *three* wins in a row") for number in range(10_000)]
        for at in range(0, 10_000, 2000):  # of five looks
            rig.told.notices = many[at : at + 2000]
            await rig.webhooks.look()
            if not at:
                await rig.look(fault())
        await until(lambda: server.messages)
        await settled()
        (content,) = server.contents
        lines = content.splitlines()
        assert "the store is full" in lines[0]
        more = re.fullmatch(r"and ([\d,]+) more", lines[-1])
        assert more
        assert int(more[1].replace(",", "")) + len(lines) - 1 == 10_001
        assert 10 < len(lines) <= MOST + 1


async def test_a_429_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url("1"), "one"), webhook(server.url("2"), "two"))
        server._began[("1", "POST")] = (rig.clock.now, 99)  # another program used it up
        began = rig.clock.now
        await rig.look(news())
        await until(lambda: len(server.messages) == 2)
        assert sorted(server.answers) == [204, 204, 429]
        assert rig.clock.now - began >= PERIOD
        assert "it is tried again: it answered 429 (You are being rate limited.)" in caplog.text
        server.overall = over = rig.clock.now + 64.57
        await rig.look(news())
        await until(lambda: len(server.messages) == 4)
        assert sorted(server.answers[3:]) == [204, 204, 429, 429]
        assert (
            min(at for (at, _, _), status in zip(server.requests[3:], server.answers[3:], strict=True) if status == 204)
            >= over
        )


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda server: server.tokens.clear(), "it answered 404 (Unknown Webhook)"),
        (lambda server: server.tokens.update({"1": "another"}), "it answered 401 (Invalid Webhook Token)"),
        (lambda server: setattr(server, "trouble", lambda: 403), "it answered 403"),
    ],
)
async def test_a_dead_webhook_is_switched_off_said_once_and_tried_when_the_configuration_is_read_again(
    break_it: Callable[[Discord], None], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url(), status=True))
        break_it(server)
        for _ in range(30):
            await rig.look(news())
            rig.clock.now += 10
            await asyncio.sleep(0.005)
        await settled()
        assert len(server.requests) == 1
        (status,) = rig.webhooks.statuses()
        assert (status.off, status.fault) == (True, said)
        lines = [record.getMessage() for record in caplog.records]
        assert lines == [f"[notice.club] is switched off until the configuration is read again: {said}"]
        server.tokens["1"], server.trouble = server.url().rpartition("/")[2], lambda: 0
        rig.use(webhook(server.url(), status=True))
        await until(lambda: server.messages)
        assert server.contents[0].endswith(r"a test message of Equipoise: \[notice.club\] works")
        assert rig.webhooks.statuses()[0].fault == ""


async def test_a_redirect_is_not_followed_and_neither_its_target_nor_the_url_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with played(tmp_path) as (rig, server), discord(rig.clock.monotonic) as other:
        server.elsewhere = other.url()
        rig.use(webhook(server.url()))
        await rig.look(news())
        await until(lambda: rig.webhooks.statuses()[0].off)
        assert rig.webhooks.statuses()[0].fault == "it answered 308 and wants us elsewhere"
        await settled()
        assert other.requests == []
        assert "aToken" not in caplog.text


async def test_500_for_an_hour_is_tried_ever_more_rarely_and_then_nothing_but_a_number_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with played(tmp_path) as (rig, server):
        end = rig.clock.now + HOUR
        looks: list[asyncio.Task[None]] = []

        def trouble() -> int:
            if len(server.requests) == 5:
                assert rig.webhooks.statuses()[0].fault == "it answered 500"
                looks.append(asyncio.create_task(rig.look(*(news() for _ in range(100)), fault("the last"))))
            return 500 if rig.clock.now < end else 0

        server.trouble = trouble
        rig.use(webhook(server.url()))
        await rig.look(fault("the first"))
        await until(lambda: len(server.messages) == 2)
        first, rest = map(shown, server.contents)
        assert first == "<t:1763622000:t> ⚠️ the first"
        assert rest.splitlines()[0] == "<t:1763622000:t> ⚠️ the last"
        assert re.search(r"and \d\d more$", rest)
        times = [at for at, _, _ in server.requests]
        gaps = [after - before for before, after in pairwise(times)]
        assert 15 <= len(gaps) <= 40
        assert all(2.5 * 2**at <= gap <= 5 * 2**at for at, gap in enumerate(gaps[:6]))
        assert max(gaps) <= 300
        assert len(set(gaps[8:])) > 5, "not all daemons come back at the same moment"
        assert rig.webhooks.statuses()[0].fault == ""
        assert [record.getMessage() for record in caplog.records] == [
            "[notice.club] does not take a message, it is tried again: it answered 500",
            "[notice.club] takes messages again",
        ]


async def test_an_answer_after_30_s_is_not_waited_for_and_the_message_comes_again_rather_than_never(
    tmp_path: Path,
) -> None:
    async with played(tmp_path, timeout_seconds=0.1) as (rig, server):
        server.delay = 30.0
        rig.use(webhook(server.url()))
        began = time.monotonic()
        await rig.look(news())
        assert time.monotonic() - began < 0.1, "a look does not wait for it"
        await until(lambda: len(server.requests) >= 2)
        assert rig.webhooks.statuses()[0].fault == "no answer within 0.1 s"
        server.delay = 0.0
        await until(lambda: server.answers)
        assert len(server.messages) == len(server.requests) > 1
        assert len(set(server.contents)) == 1


async def test_a_webhook_is_told_of_its_events_on_its_servers_in_one_message_a_look_with_faults_first(
    tmp_path: Path,
) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url(), events=("lost", "store"), servers=(DUST,)))
        await rig.look(
            news("scramble"),
            news("arena", ARENA, "lost"),
            news("RED → 50 %", DUST, "lost"),
            fault(),
            fault("x", "backup"),
        )
        await until(lambda: server.messages)
        await settled()
        said = "<t:1763622000:t> ⚠️ the store is full\n<t:1763622000:t> RED → 50 %"
        assert [shown(content) for content in server.contents] == [said]


async def test_a_message_that_is_refused_itself_is_left_out_and_the_next_one_comes(tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url()))
        server.trouble = lambda: 400
        await rig.look(news("first"))
        await until(lambda: rig.webhooks.statuses()[0].fault)
        server.trouble = lambda: 0
        await rig.look(news("second"))
        await until(lambda: server.messages)
        assert server.contents[0].endswith("second")
        assert not rig.webhooks.statuses()[0].off


# The message with the state of the servers.


async def test_the_status_message_is_made_once_edited_every_minute_and_found_after_a_restart(tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url(query="?thread_id=7"), status=True, events=()))
        await rig.look()
        await until(lambda: (tmp_path / FILE).exists())
        for _ in range(7):
            rig.clock.now += 10
            await rig.look()
        await until(lambda: len(server.requests) == 2)
        assert [method for _, method, _ in server.requests] == ["POST", "PATCH"]
        (made,) = server.messages.values()
        assert made["content"].startswith(f"**Equipoise**, as of <t:{rig.clock.now - 10:.0f}:R>\narena-1: cp\\_well")
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
        assert "aToken" not in (tmp_path / FILE).read_text()
        rig.told.lines = [f"arena-{number}: cp_well, 12 RED, 12 BLU, RED 54 %" for number in range(100)]
        async with Rig(tmp_path, rig.clock, told=rig.told) as again:
            again.use(webhook(server.url(query="?thread_id=7"), status=True))
            await again.look()
            await until(lambda: len(server.requests) == 3)
            await settled()
        assert len(server.messages) == 1
        assert re.search(r"and \d\d more$", made["content"])


async def test_a_status_message_that_was_deleted_is_made_anew(tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url(), status=True))
        await rig.look()
        await until(lambda: (tmp_path / FILE).exists())
        (old,) = server.messages
        server.messages.clear()
        server.messages["5"] = {"id": "5", "content": "somebody's"}
        rig.clock.now += 60
        await rig.look()
        await until(lambda: len(server.messages) == 2)
        await until(lambda: old not in json.loads((tmp_path / FILE).read_text()).values())
        assert not rig.webhooks.statuses()[0].off
        server.tokens.clear()
        rig.clock.now += 60
        await rig.look()
        await until(lambda: rig.webhooks.statuses()[0].off)
        assert [method for _, method, _ in server.requests] == ["POST", "PATCH", "POST", "PATCH"]


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"x": 1}', '{"x": "../.."}', "\xff"])
async def test_a_file_of_ids_that_cannot_be_read_only_costs_a_new_message(content: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(content)
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url(), status=True))
        await rig.look()
        await until(lambda: server.messages)


# Programs of operators.


@dataclass
class Receiver:
    """A generic webhook that answers as a test wants."""

    answers: list[web.Response]
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def serve(self, request: web.Request) -> web.Response:
        self.requests.append((dict(request.headers), await request.read()))
        return self.answers.pop(0) if self.answers else web.Response(status=204)


async def test_a_delivery_is_signed_as_standard_webhooks_says_and_keeps_its_id(tmp_path: Path) -> None:
    receiver = Receiver([web.Response(status=500), web.Response(status=503, headers={"Retry-After": "120"})])
    clock = Fast()
    async with listening(receiver.serve) as port, Rig(tmp_path, clock) as rig:
        rig.use(generic(port))
        await rig.look(news("arena-1: **scramble**"), fault())
        await until(lambda: len(receiver.requests) == 3)
        (first, body), (_, second), (last, third) = receiver.requests
        assert body == second == third
        assert first["webhook-id"] == last["webhook-id"]
        assert int(last["webhook-timestamp"]) - int(first["webhook-timestamp"]) >= 120
        at = {"at": 1_763_622_000.0}
        assert json.loads(body) == {
            "notices": [
                {"event": "store", "state": "fault", "server": None, "text": "the store is full", **at},
                {"event": "scramble", "state": "news", "server": "arena-1", "text": "arena-1: **scramble**", **at},
            ],
            "more": 0,
        }
        for headers in (first, last):
            signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
            signature = base64.b64encode(hmac.new(KEY, signed, "sha256").digest()).decode()
            assert headers["webhook-signature"] == f"v1,{signature}"
            assert int(headers["webhook-timestamp"]) <= clock.now
        await rig.look(news())
        await until(lambda: len(receiver.requests) == 4)
        assert receiver.requests[3][0]["webhook-id"] != first["webhook-id"]


async def test_the_documents_example_verifies_a_delivery_and_refuses_what_was_changed_or_is_old(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "protocol.md").read_text().partition("## Notices")[2]
    (example,) = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    verified = names["verified"]
    secret = f"whsec_{base64.b64encode(KEY).decode()}\n"
    receiver, clock = Receiver([]), Fast(time.time())
    async with listening(receiver.serve) as port, Rig(tmp_path, clock) as rig:
        rig.use(generic(port))
        for number in (1, 2):
            await rig.look(news())
            await until(lambda wanted=number: len(receiver.requests) == wanted)  # type: ignore[misc]
            clock.now -= 301
    (headers, body), (old, old_body) = receiver.requests
    assert verified(headers, body, secret)
    assert not verified(old, old_body, secret)
    assert not verified(headers, body + b" ", secret)
    assert not verified(headers, body, f"whsec_{base64.b64encode(KEY[::-1]).decode()}")
    assert not verified({**headers, "webhook-id": "another"}, body, secret)
    assert verified({**headers, "webhook-signature": f"v1,x {headers['webhook-signature']}"}, body, secret)


async def test_an_address_is_never_said_even_where_the_other_end_repeats_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = json.dumps({"message": "no route /hook/s3cret"})
    receiver = Receiver([web.Response(status=404, text=body)])
    async with listening(receiver.serve) as port, Rig(tmp_path, Fast()) as rig:
        rig.use(generic(port), generic(port, "/s3cret\\", name="odd"))
        await rig.look(news())
        await until(lambda: any(status.off for status in rig.webhooks.statuses()))
        assert "s3cret" not in f"{caplog.text} {rig.webhooks.statuses()}"


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(status=503, headers={"Retry-After": "1e999"})
    await response.prepare(request)
    while True:
        await response.write(b"[" * 65536)


async def test_an_answer_without_end_is_read_as_far_as_64_kb(tmp_path: Path) -> None:
    async with listening(endless) as port, Rig(tmp_path, Fast()) as rig:
        rig.use(generic(port))
        began = rig.clock.now
        await rig.look(news())
        await until(lambda: rig.clock.now > began)
        assert (rig.clock.now - began) % 86_400 == 0
        assert rig.webhooks.statuses()[0].fault == "it answered 503"


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (200, b"\x1f\x8bgarbage", {"Content-Encoding": "gzip"}),
        (200, b"[" * 60_000, {}),
        (
            429,
            b'{"retry_after": "soon", "global": "yes", "code": []}',
            {"Retry-After": "Fri, 28 Nov 2025 12:00:00 GMT"},
        ),
        (500, b'["message"]', {"X-RateLimit-Remaining": "0"}),
        (404, b"\xff", {"Content-Type": "application/json; charset=nonsense"}),
    ],
)
async def test_odd_answers_are_worth_their_status(
    status: int, body: bytes, headers: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = Receiver([web.Response(status=status, body=body, headers=headers)])
    async with listening(receiver.serve) as port, Rig(tmp_path, Fast()) as rig:
        rig.use(generic(port))
        await rig.look(news())
        await until(lambda: receiver.requests and (status == 200 or caplog.records))
        await settled()
        assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == (
            [] if status == 200 else [f"it answered {status}"]
        )
        assert rig.webhooks.statuses()[0].off == (status == 404)


async def test_a_reload_keeps_what_waits_for_a_webhook_whose_url_stays(tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        rig.use(webhook(server.url(), events=("store",)))
        server.delay = 0.3
        await rig.look(fault("first"))
        await until(lambda: server.requests)
        await rig.look(fault("second"))
        rig.use(webhook(server.url(), events=("store", "scramble")))
        await rig.look(news("third"))
        await until(lambda: len(server.messages) == 2)
        assert shown(server.contents[1]).splitlines() == ["<t:1763622000:t> ⚠️ second", "<t:1763622000:t> third"]
        rig.use()
        await rig.look(news("fourth"))
        await settled()
        assert len(server.requests) == 2


async def test_another_url_is_used_at_once_whatever_waits_for_the_one_before(tmp_path: Path) -> None:
    async with played(tmp_path) as (rig, server):
        server.trouble = lambda: 500 if server.requests[-1][2].startswith("/api/webhooks/1/") else 0
        rig.use(webhook(server.url("1")))
        await rig.look(news("first"))
        await until(lambda: server.requests)
        rig.use(webhook(server.url("2")))
        await rig.look(news("second"))
        await until(lambda: server.messages)
        (content,) = server.contents
        assert content.endswith("second")


async def faults(rig: Rig) -> list[str]:
    """Why each webhook took nothing."""
    await rig.look(news())
    await until(lambda: all(status.fault for status in rig.webhooks.statuses()))
    return [status.fault for status in rig.webhooks.statuses()]


async def test_who_does_not_answer_http_is_tried_again(tmp_path: Path) -> None:
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    async with Rig(tmp_path, Fast(), timeout_seconds=0.2) as rig:
        rig.use(
            webhook(f"https://127.0.0.1:{port}/a", kind="generic", key=KEY),
            webhook("https://a.invalid/api/webhooks/1/a", "lost"),
        )
        assert set(await faults(rig)) == {"no connection: Connection refused", "its name is not found"}

    async def garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x16\x03\x01SSH-2.0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(garbage, "127.0.0.1", 0) as server, Rig(tmp_path, Fast()) as rig:
        port = server.sockets[0].getsockname()[1]
        rig.use(generic(port), webhook(f"https://127.0.0.1:{port}/a", "tls", kind="generic", key=KEY))
        plain, tls = await faults(rig)
        assert plain.startswith("no answer (")
        assert tls == "no secure connection: is its certificate valid?"


def test_the_end_does_not_wait_for_a_name_that_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answered = threading.Event(), threading.Event()

    def slow(*_args: object, **_hints: object) -> list[Any]:
        asked.set()
        answered.wait(60)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    async def serve() -> None:
        async with Rig(tmp_path, Fast()) as rig:
            rig.use(webhook("https://a.example/api/webhooks/1/a"))
            await rig.look(news())
            await asyncio.to_thread(asked.wait, 60)

    began = time.monotonic()
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(serve())
    assert time.monotonic() - began < 1.0
    answered.set()
