"""100 servers that poll every 5 s: the fraction of one core that the daemon uses."""

from __future__ import annotations

import time

from bench.scripts import Script, percentiles, running
from bench.servers import more_servers
from bench.soak.watch import cpu_seconds

SERVERS, POLL, SECONDS = 100, 5.0, 20.0
TARGET = "25 % of one core"


def main() -> None:
    with running() as daemon:
        daemon.stop()
        more_servers(daemon)
        daemon.start()
        scripts = [Script(daemon.port, f"bench-{number}", f"secret-{number}") for number in range(SERVERS)]
        for script in scripts:
            script.introduce()
        before, began, times = cpu_seconds(daemon.pid), time.monotonic(), []
        polls = int(SECONDS / POLL) * SERVERS
        for number in range(polls):
            time.sleep(max(0.0, began + number * POLL / SERVERS - time.monotonic()))
            times.append(scripts[number % SERVERS].post()[1])
        busy = (cpu_seconds(daemon.pid) - before) / (time.monotonic() - began)
    print(f"{SERVERS} servers, {polls} polls   {100 * busy:.1f} % of one core   target {TARGET}   {percentiles(times)}")


if __name__ == "__main__":
    main()
