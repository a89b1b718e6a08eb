"""The HTTP client for the daemon's admin interface. Standard library only, so that commands start fast."""

from __future__ import annotations

import http.client
import json
import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from equipoise.cli.options import FAILED, Stopped, stop
from equipoise.cli.output import json_text
from equipoise.files import read_small

REFUSED = FAILED
NO_DAEMON = 3
TIMEOUT_SECONDS = 10
ANOTHER = "another program listens there"


class Unreachable(Stopped):
    """No daemon answers; `--watch` and `--follow` ask again."""


@dataclass(frozen=True, slots=True)
class Client:
    """A daemon's address and the token for it."""

    url: str
    token: str

    @classmethod
    def of(cls, config: Path, url: str | None, token: str | None) -> Client:
        """From the options, else from the configuration and the `owner.token` that `init` wrote beside it."""
        if not (url or token or config.exists()) and os.access(config.parent, os.X_OK):
            stop(f"there is no {config}: `equipoise init` makes one; --config names another")
        found = token or _token(config.with_name("owner.token"))
        return cls(_checked(url) if url else configured_url(config), _sendable(found))

    def get(self, *path: str, **query: str | float | None) -> Any:
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
        if "" in path:
            stop("a name or an id is empty")
        asked = urlencode({name: _as_typed(str(value)) for name, value in query.items() if value is not None})
        target = self._target(path) + (f"?{asked}" if asked else "")
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        text = None if body is None else json_text(body, indent=None)
        try:
            with closing(self._connection(wait)) as connection:
                connection.request(method, target, text, headers)
                answer = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._unreachable(error) from None
        if not isinstance(answer, dict) or "ok" not in answer:
            raise Unreachable(f"no daemon answers at {self.url}: {ANOTHER}", NO_DAEMON)
        if not answer["ok"]:
            stop(_refusal(answer.get("error", {})), REFUSED)
        return answer

    def _target(self, path: tuple[str, ...]) -> str:
        below = urlsplit(self.url).path.rstrip("/")
        return f"{below}/v1/admin/" + "/".join(quote(_as_typed(part), safe="") for part in path)

    def _connection(self, wait: float) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        return kind(address.hostname or "", address.port, timeout=wait)

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"no daemon answers at {self.url}: {_why(error, self.url)}", NO_DAEMON)


def _refusal(error: Mapping[str, str]) -> str:
    """The daemon's message; where it is about one value of several, with the value's name."""
    message, name = error.get("message", "refused"), error.get("path", "").removeprefix("$.")
    return f"{name}: {message}" if error.get("code") == "schema" and name.isidentifier() else message


def _as_typed(text: str) -> str:
    """An argument as UTF-8, also where the locale is not: Python hides the bytes that it cannot read in surrogates."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _why(error: Exception, url: str) -> str:
    """Why no daemon answers, with what to do."""
    if getattr(error, "reason", None) == "WRONG_VERSION_NUMBER":  # of ssl.SSLError, which costs time to import
        return f"what listens there speaks http: use --url {url.replace('https://', 'http://', 1)}"
    if isinstance(error, TimeoutError):
        return f"nothing came within {TIMEOUT_SECONDS} s"
    if isinstance(error, OSError):
        return f"{error.strerror or error}; is `equipoise serve` running?"
    return ANOTHER


def _checked(url: str) -> str:
    """The address, if a connection can be made to it."""
    if "://" not in url:
        stop(f"--url {url}: http:// is missing; write http://{url}")
    try:
        address = urlsplit(url)
        good = address.scheme in ("http", "https") and address.hostname and (address.port is None or address.port >= 0)
    except ValueError as error:
        stop(f"--url {url}: {error}")
    if not good:
        stop(f"--url {url}: expected an address like http://127.0.0.1:27500")
    return url


def configured_url(config: Path) -> str:
    """The daemon's address in a configuration, whose other keys are not read and may be wrong."""
    try:
        web = _web_table(read_small(config).decode())
        host, port = web.get("host", "127.0.0.1"), web.get("port", 27500)
    except (OSError, ValueError, AttributeError):
        host, port = "127.0.0.1", 27500
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _web_table(text: str) -> dict[str, Any]:
    try:
        table: dict[str, Any] = tomllib.loads(text).get("web", {})
    except tomllib.TOMLDecodeError:
        # A daemon runs on, and is asked, while the file is edited: what is wrong in it may stand elsewhere.
        found = re.search(r"^\[web\].*\n((?:(?!\[).*\n)*)", text, re.MULTILINE)
        return tomllib.loads(found[1]) if found else {}
    return table


def _token(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except PermissionError:
        stop(f"cannot read {file}: permission denied; use sudo, or EQUIPOISE_TOKEN")
    except (OSError, ValueError):
        stop(f"no token: use --token, EQUIPOISE_TOKEN, or the owner.token of `equipoise init` ({file})")


def _sendable(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        stop("the token has a character that no token has")
    return token
