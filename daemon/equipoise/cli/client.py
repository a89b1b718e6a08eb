"""The HTTP client for the daemon's admin interface. Standard library only, so that commands start fast."""

from __future__ import annotations

import http.client
import json
import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from equipoise.cli.options import FAILED, stop
from equipoise.cli.output import json_text

REFUSED = FAILED
NO_DAEMON = 3
TIMEOUT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Client:
    """A daemon's address and the token for it."""

    url: str
    token: str

    @classmethod
    def of(cls, config: Path, url: str | None, token: str | None) -> Client:
        """From the options, else from the configuration and the `owner.token` that `init` wrote beside it."""
        return cls(url or _configured(config), token or _token(config.with_name("owner.token")))

    def get(self, *path: str, **query: str | int | None) -> Any:
        """Send GET; returns the daemon's answer. A query parameter that is None is left out."""
        return self._call("GET", path, query, None)

    def send(
        self, method: str, *path: str, body: Any = None, wait: float = TIMEOUT_SECONDS, **query: str | None
    ) -> Any:
        """Send a request that changes something, and wait this many seconds; returns the daemon's answer."""
        return self._call(method, path, query, body, wait)

    def _call(
        self,
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, object],
        body: Any,
        wait: float = TIMEOUT_SECONDS,
    ) -> Any:
        asked = urlencode({name: value for name, value in query.items() if value is not None})
        target = "/v1/admin/" + "/".join(quote(part, safe="") for part in path) + (f"?{asked}" if asked else "")
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        text = None if body is None else json_text(body, indent=None)
        try:
            with closing(self._connection(wait)) as connection:
                connection.request(method, target, text, headers)
                answer = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            stop(f"no daemon answers at {self.url}: {error}; is `equipoise serve` running?", NO_DAEMON)
        if not answer.get("ok"):
            stop(answer.get("error", {}).get("message", "refused"), REFUSED)
        return answer

    def _connection(self, wait: float) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        return kind(address.hostname or "", address.port, timeout=wait)


def _configured(config: Path) -> str:
    """The address in the configuration, whose other keys are not read."""
    try:
        web = tomllib.loads(config.read_text("utf-8")).get("web", {})
        host, port = web.get("host", "127.0.0.1"), web.get("port", 27500)
    except (OSError, ValueError, AttributeError):
        host, port = "127.0.0.1", 27500
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _token(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, ValueError):
        stop(f"no token: use --token, EQUIPOISE_TOKEN, or the owner.token of `equipoise init` ({file})")
