"""Logins of browsers: links that log in once, and the sessions that a login opens.

A browser that has logged in has a cookie with a random id. The daemon keeps the SHA-256 of the id, and that of the
token whose holder has logged in: a session is as good as that token, which is looked up at each use. Sessions outlive
the daemon in a small file, so that a second screen stays logged in after an update. A file that cannot be read costs
its sessions and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from equipoise.files import open_private, read_small, sync

LINK_SECONDS = 600.0
MOST_LINKS = 8
"""Of one token; a new one takes the place of the oldest."""
DAY = 86400.0
IDLE_SECONDS = 14 * DAY
LONGEST_SECONDS = 30 * DAY
MOST_SESSIONS = 200
"""Of one token; a new one takes the place of the one that was opened first."""
FILE = "sessions.json"

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


class Session(msgspec.Struct, forbid_unknown_fields=True):
    """A browser that has logged in."""

    token: bytes
    """The digest of the token whose holder it was."""
    role: str
    """The role of that token then."""
    opened: float
    used: float
    """When it was used last, in seconds since the epoch; in the file up to a day before that."""


class Sessions:
    """The sessions of a daemon, by the SHA-256 of their ids, the oldest first."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._sessions = self._read()
        self._writing = asyncio.Lock()
        self._late: asyncio.Task[None] | None = None
        """Writes what a reload has ended."""

    async def open(self, token: bytes, role: str, now: float) -> str:
        """Return the id of a new session."""
        others = [key for key, session in self._sessions.items() if session.token == token]
        for key in others[: max(0, len(others) + 1 - MOST_SESSIONS)]:
            del self._sessions[key]
        self._retain(lambda session: _lasts(session, now))
        name = new_id()
        self._sessions[_digest(name)] = Session(token, role, now, now)
        await self._write()
        return name

    def find(self, name: str, now: float) -> Session | None:
        """Return the session with this id; None: there is none, or it is over."""
        session = self._sessions.get(_digest(name))
        return session if session is not None and _lasts(session, now) else None

    async def use(self, session: Session, now: float) -> None:
        """Note that a browser has used its session."""
        if now - session.used >= DAY:
            session.used = now
            await self._write()

    async def end(self, name: str) -> None:
        """End the session with this id, if there is one."""
        if self._sessions.pop(_digest(name), None) is not None:
            await self._write()

    def keep(self, roles: Mapping[bytes, str]) -> None:
        """End the sessions of all tokens but these, and of those that have another role now."""
        if self._retain(lambda session: roles.get(session.token) == session.role):
            self._late = asyncio.create_task(self._write())

    def _retain(self, good: Callable[[Session], bool]) -> bool:
        """Drop all sessions that are not good; return whether there were any."""
        bad = [key for key, session in self._sessions.items() if not good(session)]
        for key in bad:
            del self._sessions[key]
        return bool(bad)

    def _read(self) -> dict[str, Session]:
        try:
            return msgspec.json.decode(read_small(self._path), type=dict[str, Session])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            log.warning("%s cannot be read, and who was logged in has to log in again: %s", self._path, error)
            return {}

    async def _write(self) -> None:
        async with self._writing:
            content = msgspec.json.encode(self._sessions)
            try:
                await asyncio.to_thread(_replace, self._path, content)
            except OSError as error:
                log.warning("%s cannot be written, and a restart will end sessions: %s", self._path, error.strerror)


def _lasts(session: Session, now: float) -> bool:
    return now - session.used < IDLE_SECONDS and now - session.opened < LONGEST_SECONDS


class Logins:
    """The way in of browsers."""

    def __init__(self, directory: Path) -> None:
        self.links, self.sessions = Links(), Sessions(directory)


def new_id() -> str:
    """Return an id that nobody can guess."""
    return secrets.token_urlsafe(32)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    """Write a private file, whole or not at all."""
    part = path.with_suffix(".part")
    with open(open_private(part, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(content)
    sync(part)
    part.rename(path)
