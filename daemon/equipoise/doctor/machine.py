"""The machine: its clock, who has the daemon's port, where compiled kernels go."""

from __future__ import annotations

import os
import time
from pathlib import Path

import equipoise
from equipoise.config import MACHINE_CONFIG, Config
from equipoise.doctor.finding import Finding, Findings

CLOCK_NOT_SET = 1_735_689_600.0
"""The year 2025: a clock that shows less was not set since the machine was started."""
LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""
MACHINE_CACHE = Path("/var/cache/equipoise")
"""The unit's `CacheDirectory`."""


def clock(now: float | None = None) -> Findings:
    """A clock that was never set dates rounds wrongly."""
    now = time.time() if now is None else now
    shown = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now))
    if now < CLOCK_NOT_SET:
        yield Finding("bad", "clock", f"it shows {shown}", "set it, then restart the daemon: timedatectl set-ntp true")
    else:
        yield Finding("good", "clock", shown)


def port(config: Config) -> Findings:
    """Who listens on the daemon's port, when the daemon does not answer there."""
    number = config.web.port
    holder = listener(number)
    where = f"{config.web.host}:{number}"
    if holder is None:
        yield Finding("bad", where, "no daemon listens", "start it: `systemctl start equipoise`, or `equipoise serve`")
    else:
        yield Finding("bad", where, f"{holder} listens, and does not answer as a daemon", "stop it, or change web.port")


def listener(port: int, proc: Path = Path("/proc")) -> str | None:
    """The process that listens on a TCP port, by name and number; None: no process does."""
    sockets = {inode for table in ("tcp", "tcp6") for inode in _listening(proc / "net" / table, port)}
    if not sockets:
        return None
    for process in proc.glob("[0-9]*"):
        if _opened(process) & sockets:
            try:
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
            except OSError:
                break
    return "another user's process"


def _listening(table: Path, port: int) -> list[str]:
    """The inodes of sockets that listen on a port: fields 1, 3 and 9 of `/proc/net/tcp` (proc(5))."""
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == LISTENS and int(row[1].rpartition(":")[2], 16) == port]


def _opened(process: Path) -> set[str]:
    """The inodes of a process's sockets; none where it may not be looked at."""
    try:
        links = [os.readlink(file) for file in (process / "fd").iterdir()]
    except OSError:
        return set()
    return {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}


def cache(path: Path) -> Findings:
    """Where numba keeps compiled kernels, which replays of histories need; serving does not."""
    unit = path.absolute() == MACHINE_CONFIG and MACHINE_CACHE.is_dir()
    place = MACHINE_CACHE if unit else Path(os.environ.get("NUMBA_CACHE_DIR") or Path(equipoise.__file__).parent)
    if os.access(place, os.W_OK):
        yield Finding("good", str(place), "compiled kernels are kept there")
    else:
        what = "compiled kernels cannot be kept there: each replay of a history compiles them anew"
        yield Finding("note", str(place), what, "set NUMBA_CACHE_DIR to a directory that you can write")
