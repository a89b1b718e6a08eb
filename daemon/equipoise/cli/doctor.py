"""`equipoise doctor`: what is wrong with the daemon, this machine and the game servers, and what to do."""

from __future__ import annotations

import http.client
import json
import os
import platform
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

import equipoise
from equipoise.cli.client import (
    ANOTHER,
    START,
    configured_url,
    json_option,
    listening_url,
    print_json,
    token_option,
    url_option,
)
from equipoise.cli.options import FAILED, config_option, examples
from equipoise.cli.output import counted, print_note
from equipoise.cli.starting import needs
from equipoise.config import MACHINE_CONFIG, STORE, Config, load
from equipoise.errors import ConfigError
from equipoise.install import unit
from equipoise.service.diagnosis import DAEMON, Finding, of_disk

TIMEOUT_SECONDS = 15
EPILOG = examples("equipoise doctor", "equipoise doctor --json | jq '.findings[] | select(.bad)'")


@click.command(epilog=EPILOG)
@config_option
@url_option
@token_option
@json_option
def doctor(path: Path, url: str | None, token: str | None, as_json: bool) -> None:
    """Look for what is wrong: on this machine, in the daemon, on every game server. Exit code 1: something is.

    Game servers are asked by RCON and A2S where the configuration has their addresses. Without a running daemon it
    checks what it can. Run it with sudo where the daemon runs as a systemd unit.
    """
    findings = list(_findings(path, url, token))
    findings.sort(key=lambda finding: (not finding.bad, finding.about != DAEMON, finding.about))
    versions = {
        "equipoise": equipoise.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    bad = sum(finding.bad for finding in findings)
    if not print_json({"versions": versions, "findings": [asdict(finding) for finding in findings]}, as_json):
        click.echo(", ".join(f"{name} {version}" for name, version in versions.items()))
        for finding in findings:
            click.echo()
            print_note(f"{finding.about}: {finding.what}", "bad   " if finding.bad else "note  ")
            print_note(finding.advice, "      ")
        notes = f", {counted(len(findings) - bad, 'note')}" if len(findings) > bad else ""
        click.echo(f"\n{counted(bad, 'problem') if bad else 'all good'}{notes}")
    if bad:
        raise SystemExit(FAILED)


def _findings(path: Path, url: str | None, token: str | None) -> Iterator[Finding]:
    config: Config | None = None
    try:
        config = load(path, os.environ)
    except ConfigError as error:
        yield Finding(
            True,
            DAEMON,
            f"the configuration is wrong: {error}",
            "mend that; `equipoise check-config` reads it again",
        )
    answer = _ask(url or configured_url(path), token or _token(path))
    # The port in the file may be newer than the daemon's start.
    address = listening_url(path) if url is None and isinstance(answer, Finding) else None
    if address not in (None, configured_url(path)) and not isinstance(
        answer_there := _ask(address, token or _token(path)), Finding
    ):
        what = f"the daemon still listens at {address}, the configuration says {configured_url(path)}"
        yield Finding(False, DAEMON, what, "restart it: systemctl restart equipoise; scripts need the new address too")
        answer = answer_there
    if isinstance(answer, Finding):
        yield answer
    else:
        yield from (Finding(**line) for line in answer["findings"])
        if answer["version"] != equipoise.__version__:
            what = f"the daemon is version {answer['version']}, this command {equipoise.__version__}"
            yield Finding(True, DAEMON, what, "restart the daemon: systemctl restart equipoise")
    if config is not None and url is None:
        yield from _of_machine(config, None if isinstance(answer, Finding) else answer["uid"])


def _of_machine(config: Config, uid: int | None) -> Iterator[Finding]:
    """`uid`: the daemon's user; None while none answers."""
    yield from of_files(config, uid)
    if unit.is_ours() and needs(config).outward and not unit.is_open():
        what = "its unit lets the daemon reach this machine alone, and a webhook or a database may be on another"
        yield Finding(True, DAEMON, what, "equipoise init --systemd writes it anew, and restarts the daemon")
    yield from of_owner(config.directory)
    yield from of_store(config.directory / STORE)
    if uid is None:
        yield from of_port(config.web.port)
        if config.directory.is_dir():
            yield from of_disk(config.directory)


def _token(config: Path) -> str:
    """The owner's; empty where it cannot be read, which the daemon then refuses."""
    try:
        return config.with_name("owner.token").read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def _ask(url: str, token: str) -> Any:
    """The daemon's own findings, or the one that it does not tell them."""
    start = f"{START}; its log says why it does not"
    try:
        request = urllib.request.Request(f"{url}/v1/admin/doctor", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403):
            return Finding(
                True, DAEMON, f"what answers at {url} is not a daemon, or an older one ({error.code})", start
            )
        advice = "use sudo, or EQUIPOISE_TOKEN with a token of the role admin"
        return Finding(True, DAEMON, f"the daemon at {url} refuses the token", advice)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return Finding(True, DAEMON, f"no daemon answers at {url}: {reason}", start)
    except http.client.HTTPException:
        answer = None
    if not isinstance(answer, dict) or "findings" not in answer:
        return Finding(True, DAEMON, f"no daemon answers at {url}: {ANOTHER}", start)
    return answer


CHECK_SECONDS = 60.0
"""For a look through the store: one of a million rounds may take longer than anybody waits."""
STEPS = 1000
"""Steps of SQLite's machine between two looks at the clock."""
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
            readable = path.stat().st_mode & 0o077 and path.parent.stat().st_mode & 0o011
            if readable and path.suffix != ".sha256":
                yield Finding(True, DAEMON, f"other users can read {path}", f"chmod 600 {path}")
    # The daemon is down: who will run it is known for the machine's own configuration alone.
    if uid is None and config.path.absolute() == MACHINE_CONFIG:
        uid = SOMEBODY
    for path in (config.path, *(folder / "servers.d").glob("*.toml")):
        if uid is not None and (obstacle := _closed(path.absolute(), uid)) is not None:
            what = f"the daemon's user cannot read {path}: its next start or reload fails"
            yield Finding(True, DAEMON, what, f"chmod o+r{'x' if obstacle.is_dir() else ''} {obstacle}")


def _closed(path: Path, uid: int) -> Path | None:
    """Return what keeps a user from reading a file: the file, or a folder above it. Groups are not looked at."""
    if uid == 0:
        return None
    with suppress(OSError):
        for place, right in ((path, 4), *((folder, 1) for folder in path.parents)):
            state = place.stat()
            if not (state.st_mode >> (6 if state.st_uid == uid else 0)) & right:
                return place
    return None


def of_owner(directory: Path) -> Iterator[Finding]:
    """Files of the state directory that its owner may not write, as a command of root leaves them behind.

    The owner is the daemon's user. The daemon may know itself by another number: for a unit with DynamicUser systemd
    from 257 on keeps the files as `nobody`'s and maps them (exec-invoke.c, `setup_exec_directory`).
    """
    with suppress(OSError):
        owner, group = (state := directory.stat()).st_uid, state.st_gid
        files = [*directory.glob(f"{STORE}*"), *directory.glob("*.ring*")]
        strangers = sorted(
            file for file in files if owner not in (0, (state := file.stat()).st_uid) and not state.st_mode & 2
        )
        if strangers:
            names = " ".join(str(file) for file in strangers)
            what = f"the daemon's user (uid {owner}) does not own, and cannot write: {names}"
            yield Finding(True, DAEMON, what, f"chown {owner}:{group} {names}")


def of_store(path: Path, seconds: float = CHECK_SECONDS) -> Iterator[Finding]:
    """Whether the store is there and whole, by a connection that only reads."""
    restore = _restored(path.parent)
    if not path.exists():
        if trace := next(path.parent.glob("*.ring*"), None):
            yield Finding(True, DAEMON, f"the store is gone: there is no {path}, but {trace.name} beside it", restore)
        return
    end = time.monotonic() + seconds
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as store:
            store.set_progress_handler(lambda: time.monotonic() > end, STEPS)
            (answer,) = store.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            what = f"the store is too large to be checked in {seconds:g} s; the part that was looked at is whole"
            yield Finding(False, DAEMON, what, "the daemon checks all of it after each start, and its log says so")
        else:
            yield Finding(False, DAEMON, f"{path} could not be checked: {error}", "use sudo")
    except sqlite3.DatabaseError as error:
        yield Finding(True, DAEMON, f"{path} is damaged: {error}", restore)
    else:
        if answer != "ok":
            yield Finding(True, DAEMON, f"{path} is damaged: {' '.join(answer.split())}", restore)


def _restored(directory: Path) -> str:
    newest = max((directory / "backups").glob("*.db"), default=None)
    line = f"equipoise restore {newest} --force" if newest else "restore a backup"
    return f"stop the daemon, {line}, start it (docs/operations.md, The store is damaged or lost)"


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
