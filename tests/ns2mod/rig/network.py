"""HTTP of the fake server: real requests over real sockets, in threads, at most eight at a time.

Answers reach the game in its frames only. Latency is counted by the fake system clock: a frame first waits, in real
time and up to `patience`, for the requests that run, and `delay` holds their answers back.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlencode, urlsplit

from .switches import Switches

COULD_NOT_CONNECT = 7
"""curl's number and text (ns2_game.md 12.1)."""
TOO_LARGE = 63
LONGEST = 60.0
"""Real seconds after which a thread gives a request up."""

Reply = tuple[str, str | None, int, int]
"""Body, error text, error number and HTTP status; a failure has an empty body and status 0 (ns2_game.md 12.1)."""


@dataclass
class Exchange:
    """A request of the game and, once it is there, its answer."""

    id: int
    url: str
    method: str
    form: dict[str, str] | None
    sent_at: float
    """By the fake system clock."""
    dropped: bool = False
    waited: float = 0.0
    """Real seconds that frames waited for it."""
    reply: Reply | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Network:
    """What tests do to the network, and what the game asked for."""

    def __init__(self, switches: Switches) -> None:
        self.switches = switches
        self.limit = 8
        """ServerConfig.json max_http_requests (ns2_game.md 6.1)."""
        self.delay = 0.0
        """Seconds by the fake system clock until an answer is delivered."""
        self.drop = False
        """Requests are swallowed: they reach no server and are never answered."""
        self.lose_answers = False
        """Requests reach the server, their answers never come back."""
        self.failure: tuple[str, int] | None = None
        """Every request fails with this text and number."""
        self.body: str | Callable[[str], str] | None = None
        """What the game gets instead of the body that came, or a function of it."""
        self.waits = True
        """Frames wait for running requests; if not, real time is the tests' business."""
        self.patience = 2.0
        """Real seconds that frames wait for one request; beyond them it is a slow one, which time does not wait for."""
        self.sent: list[Exchange] = []
        self.most_running = 0
        self._queue: deque[Exchange] = deque()
        self._running: list[Exchange] = []

    def __len__(self) -> int:
        """Requests whose answers the game still waits for, or would."""
        return len(self._queue) + len(self._running)

    def send(self, exchange: Exchange) -> None:
        exchange.dropped = self.drop
        self.sent.append(exchange)
        self._queue.append(exchange)

    def start(self) -> None:
        """Give free slots to the requests that wait, oldest first; threads begin outside of frames."""
        while self._queue and len(self._running) < self.limit:
            self._begin(self._queue.popleft())
            self.most_running = max(self.most_running, len(self._running))

    def _begin(self, exchange: Exchange) -> None:
        self._running.append(exchange)
        if not exchange.dropped:
            threading.Thread(target=self._run, args=(exchange,), daemon=True).start()

    def _run(self, exchange: Exchange) -> None:
        if self.failure:
            exchange.reply = ("", *self.failure, 0)
        else:
            exchange.reply = self._transfer(exchange)
        exchange.done.set()

    def _transfer(self, exchange: Exchange) -> Reply:
        parts = urlsplit(exchange.url)
        if parts.scheme != "http":  # ns2.md 1.1: https is not verified
            return "", f"Protocol {parts.scheme} not supported", 1, 0
        path, body = parts.path or "/", None
        headers = {}
        if exchange.method == "GET" and exchange.form:
            path += "?" + self._encoded(exchange.form)
        elif exchange.method == "POST":
            body = self._encoded(exchange.form or {}).encode("latin-1")
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            connection = HTTPConnection(parts.hostname or "", parts.port or 80, timeout=LONGEST)
            try:
                connection.request(exchange.method, path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
            finally:
                connection.close()
        except (OSError, HTTPException) as error:
            return "", f"Failed to connect to {parts.netloc}: {error}", COULD_NOT_CONNECT, 0
        if self.switches.largest_reply is not None and len(data) > self.switches.largest_reply:
            return "", "Maximum file size exceeded", TOO_LARGE, 0
        return data.decode("latin-1"), None, 0, answer.status

    def _encoded(self, form: dict[str, str]) -> str:
        if self.switches.form_is_encoded:
            return urlencode(form, encoding="latin-1")
        return "&".join(f"{key}={value}" for key, value in form.items())

    def arrived(self, now: float) -> list[Exchange]:
        """The exchanges whose answers the game gets at this moment, oldest first."""
        self.start()
        if self.waits:
            self._wait()
        due = [each for each in self._running if each.done.is_set() and now >= each.sent_at + self.delay]
        for each in due:
            self._running.remove(each)
        if self.lose_answers:
            return []
        for each in due:
            each.reply = self._replaced(each.reply or ("", None, 0, 0))
        return due

    def _replaced(self, reply: Reply) -> Reply:
        if self.body is None or reply[1] is not None:
            return reply
        body = self.body if isinstance(self.body, str) else self.body(reply[0].encode("latin-1").decode())
        return body.encode().decode("latin-1"), None, 0, reply[3]

    def _wait(self) -> None:
        begun = time.monotonic()
        for each in self._running:
            if not each.dropped:
                each.done.wait(max(0.0, self.patience - each.waited - (time.monotonic() - begun)))
        for each in self._running:
            each.waited += time.monotonic() - begun

    def map_changes(self) -> None:
        """The machine that asked is gone: its answers come to no one."""
        if not self.switches.requests_survive_map_change:
            self._queue.clear()
        while self._queue:
            self._begin(self._queue.popleft())
        self._running = []
