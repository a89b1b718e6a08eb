"""Round ends while a backup is made of a store of 100,000 rounds, beside those before it."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.filled_store import Past, fill
from bench.scripts import Script, percentiles, round_ended, running
from equipoise.store.backups import BackupRequest
from equipoise.workers import framed
from equipoise.workers.process import COMMAND

FILL, MEASURED, PAUSE = 520, 500, 0.02
TARGET = "p99 15 ms"


def main() -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "daemon"
        (folder / "state").mkdir(parents=True)
        file = folder / "state" / "equipoise.db"
        asyncio.run(fill(file, Past(players=1_000, rounds=100_000)))
        with running(folder=folder) as daemon:
            script = Script(daemon.port, daemon.server, daemon.secret)
            script.introduce()
            for number in range(FILL):
                script.post(round_ended(number))
            alone = [_apart(script, FILL + number) for number in range(MEASURED)]
            request = framed(BackupRequest(str(file), str(folder / "copy.db")))
            began = time.monotonic()
            beside, copys = [], 0.0
            copying = subprocess.Popen([*COMMAND, "backup"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            assert copying.stdin is not None
            with copying.stdin as requests:
                requests.write(request)
            while copying.poll() is None:
                copys = max(copys, high_water(copying.pid))
                beside.append(_apart(script, FILL + MEASURED + len(beside)))
            took = time.monotonic() - began
            daemons = high_water(daemon.pid)
            assert copying.returncode == 0
    print(f"it took {took:.0f} s, and had {copys:.0f} MB at most; the daemon had {daemons:.0f} MB")
    print(f"without a backup       ({len(alone)} rounds)   {percentiles(alone)}")
    print(f"while one is made      ({len(beside)} rounds)   {percentiles(beside)}   target {TARGET}")


def high_water(pid: int) -> float:
    """The most memory that a process has ever had, in MB; 0 for one that has ended."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def _apart(script: Script, number: int) -> float:
    """Rounds are minutes apart: what is written behind a reply is on disk before the next one."""
    time.sleep(PAUSE)
    return script.post(round_ended(number))[1]


if __name__ == "__main__":
    main()
