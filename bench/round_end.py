"""A round end over HTTP: 24 players, full 500-round windows, durable commit, splits of every size in the reply."""

from __future__ import annotations

import time

from bench.scripts import Script, percentiles, round_ended, running

FILL, MEASURED, PAUSE = 520, 500, 0.02
TARGET = "p99 15 ms"


def main() -> None:
    with running() as daemon:
        script = Script(daemon.port, daemon.server, daemon.secret)
        script.introduce()
        filling = [script.post(round_ended(number))[1] for number in range(FILL)]
        full = [_apart(script, FILL + number) for number in range(MEASURED)]
    print(f"windows filling ({FILL} rounds)   {percentiles(filling)}")
    print(f"windows full    ({MEASURED} rounds)   {percentiles(full)}   target {TARGET}")


def _apart(script: Script, number: int) -> float:
    """Rounds are minutes apart: what is written behind a reply is on disk before the next one."""
    time.sleep(PAUSE)
    return script.post(round_ended(number))[1]


if __name__ == "__main__":
    main()
