"""A daemon seen from outside: its memory, its processor time, and how long its event loop lets others wait."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from bench.measuring import status_of

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def busy_seconds() -> float:
    """Processor time of all processes of the machine so far."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


@dataclass(frozen=True, slots=True)
class Moment:
    """Use of the daemon and the machine up to a moment."""

    at: float
    daemon: float
    ours: float
    """Processor time of the daemon and of the simulated servers."""
    machine: float
    memory: float
    """Resident, in MB."""

    @classmethod
    def now(cls, pid: int) -> Moment:
        daemon = cpu_seconds(pid)
        return cls(monotonic(), daemon, daemon + cpu_seconds(os.getpid()), busy_seconds(), status_of(pid, "VmRSS"))


@contextmanager
def probing(port: int, file: Path) -> Iterator[None]:
    """The probe runs meanwhile; `lags` reads what it wrote."""
    with file.open("w") as out:
        probe = subprocess.Popen([sys.executable, "-m", "bench.soak.probe", str(port)], stdout=out)
    try:
        yield
    finally:
        probe.kill()
        probe.wait()


def lags(file: Path, since: float, until: float) -> list[float]:
    """Milliseconds that the probe's questions of a stretch of time waited for their answers."""
    found = (line.split() for line in file.read_text().splitlines())
    return [float(took) for at, took in (each for each in found if len(each) == 2) if since <= float(at) < until]
