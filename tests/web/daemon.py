"""A whole daemon on a loopback socket, in a thread of the test's process, and a plain HTTP client for it."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from equipoise import app, config
from tests.threads import served

SECRETS = {"arena-1": "arena secret", "ns2-1": "ns2 secret", "owner": "owner token", "guest": "guest token"}
ALONE = 'balance = "synelo"'
"""The pool's own system makes the teams."""
CONFIG = """
[web]
port = 0
[store]
directory = "{state}"
[pool.main]
balance = "synelo"
shadow_rounds = 2
[server.arena-1]
secret_file = "arena-1"
[server.ns2-1]
secret_file = "ns2-1"
game = "ns2"
min_rated_humans = 2
[token.owner]
secret_file = "owner"
role = "admin"
[token.guest]
secret_file = "guest"
role = "viewer"
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def code(self) -> str:
        """The error's code; "ok" for an answer that is no refusal."""
        return "ok" if self.body["ok"] else self.body["error"]["code"]


@dataclass(frozen=True, slots=True)
class Daemon:
    """A client of the running daemon."""

    host: str
    port: int
    state: Path

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Any request; `content_type` is the header Content-Type. A header set to "" is left out."""
        named = {"Host": f"{self.host}:{self.port}", "Content-Type": "application/json"} | {
            name.replace("_", "-").title(): value for name, value in headers.items()
        }
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in named.items():
            if value:
                connection.putheader(name, value)
        if body is not None and "Transfer-Encoding" not in named:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        with connection.getresponse() as response:
            answer = Answer(response.status, dict(response.getheaders()), _whole(response))
        connection.close()
        return answer

    def call(self, method: str, path: str, body: Any = None, who: str = "owner") -> Answer:
        """A well-formed request of a known caller."""
        raw = None if body is None else json.dumps(body).encode()
        return self.request(method, path, raw, authorization=f"Bearer {SECRETS[who]}")

    def post(self, batch: dict[str, Any], who: str = "arena-1") -> Answer:
        """A batch of a game script."""
        return self.call("POST", "/v1/events", batch, who)

    def form(self, data: dict[str, Any] | str, who: str = "ns2-1") -> Answer:
        """A batch as NS2's script posts it."""
        text = data if isinstance(data, str) else json.dumps(data)
        form = urlencode({"data": text, "secret": SECRETS[who]}).encode()
        return self.request("POST", "/v1/events", form, content_type="application/x-www-form-urlencoded")

    def refused(self) -> dict[str, float]:
        """The counter of refusals, by code."""
        lines = self.call("GET", "/metrics").raw.decode().splitlines()
        counted = (line for line in lines if line.startswith("equipoise_refused_total{"))
        return {line.split('"')[1]: float(line.rsplit(" ", 1)[1]) for line in counted}


def _whole(response: http.client.HTTPResponse) -> bytes:
    """The body; of a stream without an end what its first event has to say."""
    if response.headers.get_content_type() != "text/event-stream":
        return response.read()
    return next(line.removeprefix(b"data:") for line in response if line.startswith(b"data:"))


@contextmanager
def running(folder: Path, text: str = CONFIG) -> Iterator[Daemon]:
    """A daemon for as long as the context lasts; what it raises is raised here."""
    for name, secret in SECRETS.items():
        (folder / name).write_text(hashlib.sha256(secret.encode()).hexdigest())
    path = folder / "config.toml"
    path.write_text(text.format(state=folder / "state"))

    async def serve(ready: Callable[[Daemon], None], stop: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            address = await app.start(config.load(path, {}), stack, environ={})
            host, _, port = address.rpartition(":")
            ready(Daemon(host, int(port), folder / "state"))
            await stop.wait()

    with served(serve, "daemon") as daemon:
        yield daemon
