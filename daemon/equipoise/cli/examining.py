"""What `equipoise doctor` sees on this machine by itself, also while no daemon runs."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from equipoise.config import MACHINE_CONFIG, STORE, Config
from equipoise.service.diagnosis import DAEMON, Finding

CHECK_SECONDS = 60.0
"""For a look through the store: one of a million rounds may take longer than anybody waits."""
STEPS = 1000
"""Of SQLite's machine, between two looks at the clock."""
LISTENING = "0A"
"""The state of a listening socket in /proc/net/tcp: TCP_LISTEN of the kernel's tcp_states.h."""
SOMEBODY = -1
"""The user of a unit with DynamicUser, who exists only while it runs."""


def of_files(config: Config, uid: int | None) -> Iterator[Finding]:
    """Who may read the files; `uid` is the daemon's user, None while no daemon runs."""
    folder = config.path.parent
    secrets = [folder / "owner.token", *(folder / "secrets").glob("*")]
    for path in (*secrets, *config.directory.glob(f"{STORE}*"), *config.directory.glob("*.ring*")):
        with suppress(OSError):
            if path.suffix != ".sha256" and path.stat().st_mode & 0o077:
                yield Finding(True, DAEMON, f"other users can read {path}", f"chmod 600 {path}")
    if uid is None and config.path.absolute() == MACHINE_CONFIG:
        uid = SOMEBODY
    for path in (config.path, *(folder / "servers.d").glob("*.toml")):
        if uid is not None and (closed := _closed(path.absolute(), uid)) is not None:
            what = f"the daemon's user cannot read {path}: its next start or reload fails"
            yield Finding(True, DAEMON, what, f"chmod o+r{'x' if closed.is_dir() else ''} {closed}")


def _closed(path: Path, uid: int) -> Path | None:
    """What keeps a user from reading a file: the file, or a folder above it. Groups are not looked at."""
    if uid == 0:
        return None
    with suppress(OSError):
        for place, needed in ((path, 4), *((folder, 1) for folder in path.parents)):
            state = place.stat()
            if not (state.st_mode >> (6 if state.st_uid == uid else 0)) & needed:
                return place
    return None


def of_store(path: Path, seconds: float = CHECK_SECONDS) -> Iterator[Finding]:
    """Whether the store is whole, by a connection that only reads."""
    restore = "restore a backup: docs/operations.md, The store is damaged or lost"
    if not path.exists():
        return
    end = time.monotonic() + seconds
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as store:
            store.set_progress_handler(lambda: time.monotonic() > end, STEPS)
            (found,) = store.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            what = f"the store is too large to be checked in {seconds:g} s; the part that was looked at is whole"
            yield Finding(False, DAEMON, what, "the daemon checks all of it after each start, and its log says so")
        else:
            yield Finding(False, DAEMON, f"{path} could not be checked: {error}", "use sudo")
    except sqlite3.DatabaseError as error:
        yield Finding(True, DAEMON, f"{path} is damaged: {error}", restore)
    else:
        if found != "ok":
            yield Finding(True, DAEMON, f"{path} is damaged: {' '.join(found.split())}", restore)


def of_port(port: int) -> Iterator[Finding]:
    """Who has the daemon's port, where no daemon answers at it."""
    for inode in _listening(port):
        pid, name = _owner(inode)
        who = f"{name} (pid {pid})" if pid else "a program of another user (sudo shows which)"
        yield Finding(True, DAEMON, f"port {port} is taken by {who}", "stop it, or set web.port to another one")
        return


def _listening(port: int) -> Iterator[str]:
    """The inodes of the sockets that listen on a port: proc(5), /proc/net/tcp."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                if state == LISTENING and int(local.rpartition(":")[2], 16) == port:
                    yield rest[5]


def _owner(inode: str) -> tuple[int | None, str]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(os.readlink(link) == f"socket:[{inode}]" for link in (process / "fd").iterdir()):
                return int(process.name), (process / "comm").read_text().strip()
    return None, ""
