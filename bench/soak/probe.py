"""Asks /healthz ten times a second on a connection of its own: `python -m bench.soak.probe PORT`, until it is killed.

A process of its own, because the simulated servers would delay it. The answer needs nothing but the daemon's event
loop, so its latency is how long any work waits there. While one question waits, those that were due meanwhile are not
asked, but count as if they had been: a pause of a second is ten long waits and not one.
"""

from __future__ import annotations

import http.client
import sys
import time

EVERY = 0.1


def main() -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    due = time.monotonic()
    while True:
        time.sleep(max(0.0, due - time.monotonic()))
        asked = time.monotonic()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        answered = time.monotonic()
        due = asked
        while due < answered:
            print(f"{due} {1e3 * (answered - due)}", flush=True)
            due += EVERY


if __name__ == "__main__":
    main()
