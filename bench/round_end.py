"""A round end over HTTP: 24 players, full 500-round windows, durable commit, splits of every size in the reply."""

from __future__ import annotations

from bench.scripts import Script, percentiles, round_ended, running

FILL, MEASURED = 520, 500
TARGET = "p99 15 ms"


def main() -> None:
    with running() as daemon:
        script = Script(daemon.port, daemon.server, daemon.secret)
        script.introduce()
        filling = [script.post(round_ended(number))[1] for number in range(FILL)]
        full = [script.post(round_ended(FILL + number))[1] for number in range(MEASURED)]
    print(f"windows filling ({FILL} rounds)   {percentiles(filling)}")
    print(f"windows full    ({MEASURED} rounds)   {percentiles(full)}   target {TARGET}")


if __name__ == "__main__":
    main()
