"""Callers: who has really called through a proxy, logins of browsers, and links by which a browser logs in once.

A proxy says whose request it sends on, over TLS or not, by which name, and below which path, in headers that anybody
can send. They are read from the configured addresses alone (`web.proxies` of the configuration), and what is no
address, name or path in them is as if it were not there.

A browser that has logged in has a cookie with a random id. The daemon keeps the SHA-256 of the id, and that of the
token whose holder has logged in: a login is as good as that token, which is looked up at each use. Logins outlive the
daemon in a small file, so that a second screen stays logged in after an update. A file that cannot be read costs the
logins in it and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path

import msgspec
from aiohttp import web

from equipoise.files import read_small, replace_private

Network = IPv4Network | IPv6Network

HOST = web.RequestKey("host", str)
"""The name by which a browser has called the proxy."""
PREFIX = web.RequestKey("prefix", str)
"""The path below which the proxy has the daemon."""

_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,8}")


def seen_through(request: web.Request, proxies: Collection[Network]) -> web.Request:
    """Return the request as the proxy got it; the request itself where no trusted proxy has sent it."""
    peer = _address(request.remote or "")
    if peer is None or not _within(peer, proxies):
        return request
    # A proxy adds the address that called it at the end: the last one that is none of ours has called.
    for text in reversed(",".join(request.headers.getall("X-Forwarded-For", [])).split(",")):
        before = _address(text.strip())
        if before is None:
            break
        peer = before
        if not _within(peer, proxies):
            break
    scheme = request.headers.get("X-Forwarded-Proto", "").lower()
    seen = request.clone(remote=str(peer), scheme=scheme if scheme in ("http", "https") else "http")
    host, prefix = request.headers.get("X-Forwarded-Host", ""), request.headers.get("X-Forwarded-Prefix", "")
    if _HOST.fullmatch(host):
        seen[HOST] = host
    if _PREFIX.fullmatch(prefix.rstrip("/")):
        seen[PREFIX] = prefix.rstrip("/")
    return seen


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address as proxies write it: with a port or without, and of IPv6 in brackets or not."""
    bare = re.sub(r"^\[(.*)\](:\d+)?$|^([\d.]+):\d+$", r"\1\3", text)
    try:
        address = ip_address(bare)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _within(address: IPv4Address | IPv6Address, networks: Collection[Network]) -> bool:
    return any(address in network for network in networks)


# Logins.

LINK_SECONDS = 600.0
MOST_LINKS = 8
"""Of one token; a new one takes the place of the oldest."""
DAY = 86400.0
IDLE_SECONDS = 14 * DAY
LONGEST_SECONDS = 30 * DAY
MOST_LOGINS = 200
"""Of one token; a new one takes the place of the one that was opened first."""
FILE = "logins.json"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Link:
    token: bytes
    until: float
    """By the clock that never goes back."""


class Links:
    """The links that nobody has used yet, by the SHA-256 of their secret. A restart forgets them."""

    def __init__(self) -> None:
        self._links: dict[str, _Link] = {}

    def make(self, token: bytes, now: float) -> str:
        """Return the secret of a new link for the holder of a token, which is named by its digest."""
        others = [key for key, link in self._links.items() if link.token == token]
        for key in others[: max(0, len(others) + 1 - MOST_LINKS)]:
            del self._links[key]
        secret = secrets.token_urlsafe(24)
        self._links[_digest(secret)] = _Link(token, now + LINK_SECONDS)
        return secret

    def token(self, secret: str, now: float, *, use: bool) -> bytes | None:
        """Return whom a link logs in, which it does once; None: it was used, is too old, or never was."""
        link = self._links.get(_digest(secret))
        if link is not None and use:
            del self._links[_digest(secret)]
        return link.token if link is not None and now < link.until else None


class Login(msgspec.Struct, forbid_unknown_fields=True):
    """A browser that has logged in."""

    token: bytes
    """The digest of the token whose holder it was."""
    role: str
    """The role of that token then."""
    opened: float
    used: float
    """When it was used last, in seconds since the epoch; in the file up to a day before that."""


class Logins:
    """The logins of a daemon, by the SHA-256 of their ids, the oldest first."""

    def __init__(self, directory: Path) -> None:
        self.links = Links()
        self._path = directory / FILE
        self._logins = self._read()
        self._writing = asyncio.Lock()
        self._late: asyncio.Task[None] | None = None
        """Writes what a reload has ended."""

    async def open(self, token: bytes, role: str, now: float) -> str:
        """Return the id of a new login."""
        others = [key for key, login in self._logins.items() if login.token == token]
        for key in others[: max(0, len(others) + 1 - MOST_LOGINS)]:
            del self._logins[key]
        self._retain(lambda login: _lasts(login, now))
        name = new_id()
        self._logins[_digest(name)] = Login(token, role, now, now)
        await self._write()
        return name

    def find(self, name: str, now: float) -> Login | None:
        """Return the login with this id; None: there is none, or it is over."""
        login = self._logins.get(_digest(name))
        return login if login is not None and _lasts(login, now) else None

    async def use(self, login: Login, now: float) -> None:
        """Note that a browser has used its login."""
        if now - login.used >= DAY:
            login.used = now
            await self._write()

    async def end(self, name: str) -> None:
        """End the login with this id, if there is one."""
        if self._logins.pop(_digest(name), None) is not None:
            await self._write()

    def keep(self, roles: Mapping[bytes, str]) -> None:
        """End the logins of all tokens but these, and of those that have another role now."""
        if self._retain(lambda login: roles.get(login.token) == login.role):
            self._late = asyncio.create_task(self._write())

    def _retain(self, good: Callable[[Login], bool]) -> bool:
        """Drop all logins that are not good; return whether there were any."""
        bad = [key for key, login in self._logins.items() if not good(login)]
        for key in bad:
            del self._logins[key]
        return bool(bad)

    def _read(self) -> dict[str, Login]:
        try:
            return msgspec.json.decode(read_small(self._path), type=dict[str, Login])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            log.warning("%s cannot be read, and who was logged in has to log in again: %s", self._path, error)
            return {}

    async def _write(self) -> None:
        async with self._writing:
            content = msgspec.json.encode(self._logins)
            try:
                await asyncio.to_thread(replace_private, self._path, content)
            except OSError as error:
                log.warning("%s cannot be written, and a restart will end logins: %s", self._path, error.strerror)


def _lasts(login: Login, now: float) -> bool:
    return now - login.used < IDLE_SECONDS and now - login.opened < LONGEST_SECONDS


def new_id() -> str:
    """Return an id that nobody can guess."""
    return secrets.token_urlsafe(32)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
