"""100 servers that poll every 5 s: the fraction of one core that the daemon uses."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from bench.scripts import Script, percentiles, running

SERVERS, POLL, SECONDS = 100, 5.0, 20.0
TARGET = "25 % of one core"


def main() -> None:
    with running() as daemon:
        daemon.stop()
        _more_servers(daemon.folder, daemon.config)
        daemon.start()
        scripts = [Script(daemon.port, f"bench-{number}", f"secret-{number}") for number in range(SERVERS)]
        for script in scripts:
            script.introduce()
        before, began, times = _cpu_seconds(daemon.pid), time.monotonic(), []
        polls = int(SECONDS / POLL) * SERVERS
        for number in range(polls):
            time.sleep(max(0.0, began + number * POLL / SERVERS - time.monotonic()))
            times.append(scripts[number % SERVERS].post()[1])
        busy = (_cpu_seconds(daemon.pid) - before) / (time.monotonic() - began)
    print(f"{SERVERS} servers, {polls} polls   {100 * busy:.1f} % of one core   target {TARGET}   {percentiles(times)}")


def _more_servers(folder: Path, config: Path) -> None:
    tables = []
    for number in range(SERVERS):
        digest = hashlib.sha256(f"secret-{number}".encode()).hexdigest()
        (folder / "secrets" / f"bench-{number}.sha256").write_text(digest + "\n")
        tables.append(f'[server.bench-{number}]\nsecret_file = "secrets/bench-{number}.sha256"\n')
    config.write_text(config.read_text() + "\n" + "\n".join(tables))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
