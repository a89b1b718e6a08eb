"""Webhooks: notices on their way to Discord and to programs of operators, by HTTP.

Each webhook has a task of its own, and a list of notices that is as long as it may get: what comes beyond is counted.
A delivery is tried until it is taken, later and later; it takes all that waits then along. It is never waited for: not
by a look, not by the daemon's end.

Discord's facts are from its documentation (discord/discord-api-docs: resources/webhook, resources/message,
topics/rate-limits, topics/opcodes-and-status-codes, reference). Generic deliveries are signed as Standard Webhooks
says (standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import math
import os
import random
import re
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import aiohttp
import msgspec

import equipoise
from equipoise.config import Webhook
from equipoise.files import read_small, replace_private
from equipoise.service.clock import Clock
from equipoise.service.notices import Notice, Notices, WebhookStatus

FILE = "notices.json"
"""In the state directory: the ids of status messages, by the names of their webhooks."""
MOST = 50
"""Notices that wait for one webhook."""
LONGEST = 400
"""Characters of one notice."""
TIMEOUT_SECONDS = 10.0
FIRST_SECONDS, LONGEST_SECONDS = 5.0, 300.0
"""Between two attempts, the first and the longest time; each is shortened by up to a half, at random."""
MOST_PAUSE_SECONDS = 86_400.0
STATUS_SECONDS = 60.0
LARGEST_ANSWER = 1 << 16
"""Bytes of an answer that are read."""
DISCORD_LONGEST = 2000
"""Characters of a message's content."""
UNKNOWN_MESSAGE = 10008
"""Discord's code of a 404: the message was deleted, and its webhook is there."""

MessageId = Annotated[str, msgspec.Meta(pattern="^[0-9]{1,20}$")]
Verdict = Literal["taken", "gone", "dead", "refused", "later"]
"""gone: the message to be edited was deleted. dead: the webhook takes nothing any more. refused: it does not take this
delivery. later: this delivery is to be tried again."""

log = logging.getLogger(__name__)


class _Body(msgspec.Struct, frozen=True):
    """An answer of Discord, as far as it is read; one in another form says nothing."""

    id: MessageId | None = None
    code: int = 0
    message: str = ""
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class _Answer:
    verdict: Verdict
    fault: str = ""
    message: str | None = None
    """The id of the message that was made."""
    pause_seconds: float = 0.0
    """For so long the other end wants no request."""


class Webhooks:
    """All configured webhooks: call `use` with each configuration, `look` and `summarize` from time to time, and
    `close` at the end. It is made inside the running event loop."""

    def __init__(
        self,
        notices: Notices,
        directory: Path,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._notices, self._file = notices, directory / FILE
        self.clock, self.sleep, self.seconds = clock, sleep, timeout_seconds
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=aiohttp.ThreadedResolver(), force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=timeout_seconds),
            # Discord's documentation asks for this form. Nothing is unpacked: 64 KB may unpack to 64 MB.
            headers={"User-Agent": f"DiscordBot (equipoise, {equipoise.__version__})", "Accept-Encoding": "identity"},
            auto_decompress=False,
        )
        self.messages = _read(self._file)
        self._senders: dict[str, _Sender] = {}
        self._begun = False
        self._shown_at = -math.inf
        self._writing = asyncio.Lock()

    def use(self, webhooks: Mapping[str, Webhook]) -> None:
        """Send by these from now on. One that is new since the start, or was switched off, is sent a test message."""
        before, self._senders, now = self._senders, {}, self.clock.epoch()
        for name, webhook in webhooks.items():
            sender = before.get(name)
            if sender is None or sender.off or sender.webhook.url != webhook.url:
                test = Notice("test", "news", None, now, f"a test message of Equipoise: [notice.{name}] works")
                sender = _Sender(self, [test] if self._begun else [])
            sender.webhook = webhook
            self._senders[name] = sender
        for name, sender in before.items():
            if sender is not self._senders.get(name):
                sender.close()
        self._begun = True

    async def look(self) -> None:
        """Tell of what has happened since the last look, and bring status messages up to date."""
        self._say(await self._notices.look())
        now = self.clock.monotonic()
        if now - self._shown_at >= STATUS_SECONDS:
            self._shown_at = now
            for sender in self._senders.values():
                if sender.webhook.status:
                    sender.show(self._notices.status(sender.webhook.servers), self.clock.epoch())

    async def summarize(self) -> None:
        """Tell what the last 24 hours brought."""
        self._say(await self._notices.summary())

    def statuses(self) -> Sequence[WebhookStatus]:
        """Return how the last attempts went."""
        return tuple(WebhookStatus(name, sender.off, sender.fault) for name, sender in self._senders.items())

    async def close(self) -> None:
        """Send no more, and wait for nothing."""
        for sender in self._senders.values():
            sender.close()
        await self.session.close()

    def _say(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            for sender in self._senders.values():
                sender.say(notice)

    async def keep(self) -> None:
        """Write down the ids of the status messages."""
        async with self._writing:
            try:
                await asyncio.to_thread(replace_private, self._file, json.dumps(self.messages).encode())
            except OSError as error:
                log.warning("%s: after a restart status messages are made anew: %s", self._file, error.strerror)


class _Sender:
    """One webhook, and what waits for it."""

    webhook: Webhook

    def __init__(self, owner: Webhooks, waiting: list[Notice]) -> None:
        self._owner = owner
        self.off = False
        self.fault = ""
        self._waiting = waiting
        self._more = 0
        """Notices that found no place."""
        self._shown: bytes | None = None
        """The newest status message that was not sent yet."""
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        self._task.cancel()

    def say(self, notice: Notice) -> None:
        """Send this soon, if it is of those that the webhook is to be told of."""
        webhook = self.webhook
        theirs = notice.server is None or not webhook.servers or notice.server in webhook.servers
        if self.off or notice.event not in webhook.events or not theirs:
            return
        self._waiting.append(notice)
        if len(self._waiting) > MOST:
            # Faults stay: they are told only once.
            self._waiting.pop(next((i for i, older in enumerate(self._waiting) if older.state == "news"), MOST))
            self._more += 1
        self._wake.set()

    def show(self, lines: Sequence[str], at: float) -> None:
        """Have the status message say this."""
        head = f"**Equipoise**, as of <t:{at:.0f}:R>"
        self._shown = _discord([head, *map(_escaped, lines)], 0)
        self._wake.set()

    async def _run(self) -> None:
        while not self.off:
            if self._waiting:
                body = self._message()
                self._waiting, self._more = [], 0
                await self._deliver("POST", self.webhook.url, body)
            if self._shown is not None and not self.off:
                shown, self._shown = self._shown, None
                await self._edit(shown)
            await self._wake.wait()
            self._wake.clear()

    def _message(self) -> bytes:
        """Return all that waits as one message."""
        # Faults first: what has no room in a message is only counted.
        notices = sorted(self._waiting, key=lambda notice: notice.state == "news")
        if self.webhook.kind == "discord":
            return _discord([_line(notice) for notice in notices], self._more)
        lines = [{**asdict(notice), "text": _plain(notice.text)} for notice in notices]
        return json.dumps({"notices": lines, "more": self._more}).encode()

    async def _edit(self, body: bytes) -> None:
        """Have the status message say this: the one that was sent before, or a new one."""
        messages, name, (base, _, query) = self._owner.messages, self.webhook.name, self.webhook.url.partition("?")
        if (number := messages.get(name)) is not None:
            url = f"{base}/messages/{number}{query and f'?{query}'}"
            if (await self._deliver("PATCH", url, body)).verdict != "gone":
                return
        answer = await self._deliver("POST", f"{base}?{query and f'{query}&'}wait=true", body)
        if answer.message is not None:
            messages[name] = answer.message
            await self._owner.keep()
        elif answer.verdict == "taken":  # a message would be added every minute
            self._note(_Answer("dead", "it does not say the id of the status message: it is not Discord's"))

    async def _deliver(self, method: str, url: str, body: bytes) -> _Answer:
        """Try until the answer is final: the same bytes under the same id at every attempt."""
        delivery, seconds = str(uuid.uuid4()), FIRST_SECONDS
        while True:
            answer = await self._attempt(method, url, body, delivery)
            self._note(answer)
            if answer.verdict != "later":
                return answer
            await self._owner.sleep(max(answer.pause_seconds, seconds * random.uniform(0.5, 1.0)))
            seconds = min(2 * seconds, LONGEST_SECONDS)

    async def _attempt(self, method: str, url: str, body: bytes, delivery: str) -> _Answer:
        owner, webhook = self._owner, self.webhook
        headers = {"Content-Type": "application/json", **_signed(webhook.key, delivery, body, owner.clock.epoch())}
        try:
            async with owner.session.request(
                method, url, data=body, headers=headers, allow_redirects=False
            ) as response:
                said = _parsed(await _received(response.content))
        except TimeoutError:
            return _Answer("later", f"no answer within {owner.seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _Answer("later", _reason(error))
        status, verdict = response.status, _verdict(response.status, said.code, editing=method == "PATCH")
        if verdict in ("taken", "gone"):
            return _Answer(verdict, message=said.id)
        # Words of others than Discord may be the address, which is a secret; so may the target of a redirect.
        words = said.message if webhook.kind == "discord" else ""
        more = " and wants us elsewhere" if status // 100 == 3 else f" ({_plain(words)})" if words else ""
        pause = _pause_seconds(response.headers.get("Retry-After"), said.retry_after)
        return _Answer(verdict, f"it answered {status}{more}", pause_seconds=pause)

    def _note(self, answer: _Answer) -> None:
        """Keep how it went for operators, and log what is new in that."""
        before, self.fault = self.fault, answer.fault
        if answer.verdict == "dead":
            self.off = True
            what = "[notice.%s] is switched off until the configuration is read again: %s"
            log.error(what, self.webhook.name, answer.fault)
        elif answer.fault and not before:
            then = "this message is left out" if answer.verdict == "refused" else "it is tried again"
            log.warning("[notice.%s] does not take a message, %s: %s", self.webhook.name, then, answer.fault)
        elif before and not answer.fault:
            log.info("[notice.%s] takes messages again", self.webhook.name)


# What an answer means.


def _verdict(status: int, code: object, *, editing: bool) -> Verdict:
    """Return what became of a delivery. 429 comes with a pause of its own.

    >>> _verdict(404, 10008, editing=True), _verdict(404, 10015, editing=True), _verdict(503, None, editing=False)
    ('gone', 'dead', 'later')
    """
    if status // 100 == 2:
        return "taken"
    if editing and status == 404 and code == UNKNOWN_MESSAGE:
        return "gone"
    # A redirect is not followed: what it leads to was not written into the configuration.
    if status // 100 == 3 or status in (401, 403, 404, 410):
        return "dead"
    return "later" if status in (408, 425, 429) or status >= 500 else "refused"


def _pause_seconds(header: str | None, wish: float) -> float:
    """How long there must be no request, by Retry-After and the body.

    >>> _pause_seconds("65", 64.57), _pause_seconds("Fri, 28 Nov 2025 12:00:00 GMT", 0.0)
    (65.0, 0.0)
    """
    with suppress(TypeError, ValueError):  # nothing, or a date
        wish = max(wish, float(header or ""))
    return min(wish, MOST_PAUSE_SECONDS)


async def _received(stream: aiohttp.StreamReader) -> bytes:
    """The beginning of an answer: another end may send for ever."""
    content = b""
    while len(content) < LARGEST_ANSWER and (piece := await stream.read(LARGEST_ANSWER - len(content))):
        content += piece
    return content


def _parsed(content: bytes) -> _Body:
    try:
        return msgspec.json.decode(content, type=_Body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _Body()


def _plain(text: object) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in str(text)[:LONGEST])


def _reason(error: Exception) -> str:
    """Why there was no answer; without the URL, which is a secret."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "its name is not found"
        case aiohttp.ClientSSLError():
            return "no secure connection: is its certificate valid?"
        case OSError() if error.errno:
            return f"no connection: {os.strerror(error.errno)}"
    return f"no answer ({type(error).__name__})"


# What is sent.


def _signed(key: bytes, delivery: str, body: bytes, now: float) -> Mapping[str, str]:
    """The headers of Standard Webhooks; the id is the same at every attempt."""
    if not key:
        return {}
    signature = base64.b64encode(hmac.digest(key, f"{delivery}.{int(now)}.".encode() + body, "sha256")).decode()
    return {"webhook-id": delivery, "webhook-timestamp": f"{int(now)}", "webhook-signature": f"v1,{signature}"}


def _discord(lines: Sequence[str], more: int) -> bytes:
    """A message of as many lines as it may have, and the number of the others. It mentions nobody."""
    kept = list(lines)
    while _length(content := "\n".join([*kept, *([f"and {more:,} more"] if more else [])])) > DISCORD_LONGEST:
        kept.pop()
        more += 1
    return json.dumps({"content": content, "allowed_mentions": {"parse": []}}).encode()


def _length(text: str) -> int:
    """Characters as JavaScript counts them, which are never fewer than others count."""
    return len(text.encode("utf-16-le", "replace")) // 2


_SIGNS = {"news": "", "fault": "⚠️ ", "over": "✅ "}


def _line(notice: Notice) -> str:
    return f"<t:{notice.at:.0f}:t> {_SIGNS[notice.state]}{_escaped(notice.text)}"


def _escaped(text: str) -> str:
    r"""A text as Discord shows it letter by letter: no markdown, mention, emoji or link.

    >>> print(_escaped("**a_b** <@1> https://x `c`"))
    \*\*a\_b\*\* \<@​1\> https\://x \`c\`
    """
    return re.sub(r"([\\*_~|`<>\[\]#]|:(?=\S))", r"\\\1", _plain(text)).replace("@", "@\u200b")


def _read(file: Path) -> dict[str, MessageId]:
    """The ids of status messages; none where the file cannot be read."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        return msgspec.json.decode(read_small(file), type=dict[str, MessageId])
    return {}
