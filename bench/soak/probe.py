"""Asks /healthz ten times a second on a connection of its own: `python -m bench.soak.probe PORT`, until it is killed.

A process of its own, because the simulated servers would delay it. The answer needs nothing but the daemon's event
loop, so its latency is how long any work waits there. It counts from the moment at which the question was due: one
long pause of the loop counts for every question that it delays.
"""

from __future__ import annotations

import http.client
import sys
import time

EVERY = 0.1


def main() -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    began, number = time.monotonic(), 0
    while True:
        due = began + number * EVERY
        time.sleep(max(0.0, due - time.monotonic()))
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        print(f"{due} {1e3 * (time.monotonic() - due)}", flush=True)
        number += 1


if __name__ == "__main__":
    main()
