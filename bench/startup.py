"""From process start to the first answer, and the memory of the idle daemon."""

from __future__ import annotations

import time
from pathlib import Path

from bench.measuring import status_of
from bench.scripts import Script, round_ended, running

STARTS = 5


def main() -> None:
    with running() as daemon:
        times = []
        for _ in range(STARTS):
            daemon.stop()
            began = time.perf_counter()
            daemon.start()
            times.append(time.perf_counter() - began)
        idle = status_of(daemon.pid, "VmRSS")
        script = Script(daemon.port, daemon.server, daemon.secret)
        script.introduce()
        for number in range(20):
            script.post(round_ended(number))
        used = status_of(daemon.pid, "VmRSS")
        numba = "numba" in Path(f"/proc/{daemon.pid}/maps").read_text()
    print(f"ready after {min(times):.2f} to {max(times):.2f} s (cold process, warm disk)   target 1 s")
    print(f"resident: idle {idle:.0f} MB, after 20 rounds {used:.0f} MB   target 80 MB   numba loaded: {numba}")


if __name__ == "__main__":
    main()
