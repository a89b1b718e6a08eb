"""Refused requests: counted, written to the log, and answered late where an address tries secrets.

A log line names what the request claims (server, program, path), which may be anything: it is cut and escaped, and is
never part of what makes two lines equal, except the server.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from aiohttp import web

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError
from equipoise.service.diagnosis import Tried
from equipoise.service.host import Host
from equipoise.service.log_lines import Repeats
from equipoise.service.metrics import Metrics
from equipoise.web.routes import Answer, Caller
from equipoise.wire import encode_refusal

CALLER = web.RequestKey("caller", Caller)
"""The caller whose secret a request carries, once that is known."""
BODY = web.RequestKey("body", bytes)
"""The beginning of a request's body, once that is read."""

TRIES = 30
"""Wrong secrets that an address may send in a minute before it is throttled."""
MINUTE = 60.0
DELAY_SECONDS = 1.0
"""How late a throttled answer is. A script waits 3 s."""
ADDRESSES = 1000
"""Addresses that are told apart in a minute; all others share one count."""
HOUR = 3600.0
MOST_TRIES, MOST_TIMES = 100, 20
"""Claimed servers and addresses that are remembered for an hour, and how many times of each."""
EVENTS = "/v1/events"
"""The path that scripts call."""
CUT = 64
"""Characters that are logged of a claimed name; the longest server has so many."""
HEAD_BYTES = 1024
"""The beginning of a body, where scripts put the name of their server."""

_ADVICE: Mapping[int, Mapping[str, str]] = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}}
_SERVER = re.compile(r'"server"\s*:\s*"([^"]*)"?')

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Tries:
    """Requests of one script, known by its claimed server and its address, that were not let in."""

    times: list[float] = field(default_factory=list)
    """The last ones."""
    owner: str = ""
    """The server whose secret the last one carried; empty: nobody's."""
    turns: int = 0
    """How often a batch of this server was taken between two of them."""


class Refusals:
    """All refusals of a daemon."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._repeats = Repeats(log, logging.INFO)
        self._wrong_secrets: dict[str, int] = {}
        self._tries: dict[tuple[str, str, str], _Tries] = {}
        """By claimed server, code and address."""
        self._minute_ends = 0.0

    def close(self) -> None:
        """Write what was counted."""
        self._repeats.close()

    async def throttled(self, peer: str | None, error: ScriptError) -> ScriptError:
        """Return the error to answer; it is a 429, a second late, for an address that has tried too many wrong secrets.

        The delay is what limits guessing, to as many a second as there may be connections. A right secret never comes
        here: a program at the address of the game servers cannot lock them out.
        """
        if error.status != 401 or self._tried(peer or "") <= TRIES:
            return error
        await asyncio.sleep(DELAY_SECONDS)
        message = f"more than {TRIES} wrong secrets in a minute from this address; this one is wrong too"
        return ScriptError("throttled", message, status=429)

    def _tried(self, peer: str) -> int:
        now = asyncio.get_running_loop().time()
        if now >= self._minute_ends:
            self._wrong_secrets.clear()
            self._minute_ends = now + MINUTE
        # Where more addresses guess than are told apart they are throttled together: none of them has a right secret.
        name = peer if peer in self._wrong_secrets or len(self._wrong_secrets) < ADDRESSES else ""
        self._wrong_secrets[name] = self._wrong_secrets.get(name, 0) + 1
        return self._wrong_secrets[name]

    def tried(self) -> Iterator[Tried]:
        """Yield those who were not let in during the last hour."""
        now = time.monotonic()
        for (server, code, peer), tries in self._tries.items():
            if count := sum(now - at < HOUR for at in tries.times):
                yield Tried(server, code, peer, count, tries.owner, now - tries.times[-1], tries.turns)

    def _note(self, server: str, code: str, peer: str, owner: str, silent: float | None) -> None:
        """`silent`: for how long the server's own script has been; None: it was never heard."""
        key, now = (server, code, peer), time.monotonic()
        # Out and in again: the first in the dict is the one that tried longest ago.
        tries = self._tries.pop(key, _Tries())
        if tries.times and now - tries.times[-1] >= HOUR:
            tries = _Tries()
        if tries.times and silent is not None and silent < now - tries.times[-1]:
            tries.turns += 1
            if tries.turns == 1:  # it was put right, and is wrong again; or a second script has the name
                tries.times = []
        # `1 - MOST_TIMES`: with the new one they are as many as are remembered.
        tries.times, tries.owner = [*tries.times[1 - MOST_TIMES :], now], owner
        self._tries[key] = tries
        while len(self._tries) > MOST_TRIES:
            del self._tries[next(iter(self._tries))]

    def answer(self, error: ScriptError) -> web.Response:
        """Return the refusal as it goes out."""
        response = Answer(encode_refusal(error.code, error.message, error.path), error.status).response()
        response.headers.update(_ADVICE.get(error.status, {}))
        return response

    def record(
        self, request: web.BaseRequest, error: ScriptError, body: bytes, hosts: Mapping[ServerId, Host] | None = None
    ) -> None:
        """Count it and log it; `body` is what has been read of it."""
        caller = request.get(CALLER)
        self._metrics.refused.labels(error.code).inc()
        claims = {
            "server": claimed_server(body),
            "caller": caller and caller.who,
            "agent": request.headers.get("User-Agent"),
            "path": request.rel_url.raw_path,
        }
        fields = {name: value[:CUT] for name, value in claims.items() if value}
        if error.code in ("credentials", "throttled", "server") and request.rel_url.raw_path == EVENTS:
            server, owner = fields.get("server", ""), caller.name if caller and caller.role == "script" else ""
            host = (hosts or {}).get(ServerId(server))
            self._note(server, error.code, request.remote or "", owner, host.silent_seconds() if host else None)
        key = (error.code, request.remote, fields.get("server"), fields.get("caller"))
        self._repeats.log(key, "refused", code=error.code, status=error.status, peer=request.remote, **fields)


def claimed_server(body: bytes) -> str | None:
    """Return the server that a batch, as JSON or in a form, says it comes from; None where its beginning names none.

    >>> claimed_server(b'{"v": 1, "server": "arena-1", "boot"')
    'arena-1'
    >>> claimed_server(b"secret=x&data=%7B%22server%22%3A%22ns2-1%22")
    'ns2-1'
    """
    text = body[:HEAD_BYTES].decode(errors="replace")
    match = _SERVER.search(text) or _SERVER.search(unquote_plus(text))
    return match[1] if match else None
