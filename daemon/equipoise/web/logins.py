"""Logins of browsers, and links by which a browser logs in once.

A browser that has logged in has a cookie with a random id. The daemon keeps the SHA-256 of the id, and that of the
token whose holder has logged in: a login is as good as that token, which is looked up at each use. Logins outlive the
daemon in a small file, so that a second screen stays logged in after an update. A file that cannot be read costs the
logins in it and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from equipoise.files import read_small, replace_private

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
