"""How much of NS2's hidden skills comes back by the whole way: rounds posted to a daemon, stored, rated, refitted.

`python -m bench.ns2_live [players rounds size]`.  Not among the benches that `python -m bench` runs: like
`bench.ns2_recovery` it measures the model and the way of the data, not the machine.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from equipoise.ratings.history import Floats, History
from equipoise.ratings.ns2.formulas import POINTS
from tests.daemons import EQUIPOISE
from tests.ratings.ns2.posted import NS2Server, recovered, rounds_of
from tests.ratings.ns2.samples import ns2
from tests.ratings.ns2.simulated import World, simulated

CASES = ((60, 10_000, 4), (200, 10_000, 12))
"""Players, rounds, players a side."""


def main(cases: tuple[tuple[int, int, int], ...] = CASES) -> None:
    for players, rounds, size in cases:
        rng = np.random.default_rng(1)
        world = World.drawn(rng, players, ns2().params)
        history = simulated(rng, world, rounds, size)
        truth = {"average": world.skill, "offset": world.offset, "commander": world.commander}
        with TemporaryDirectory() as place:
            _measure(Path(place) / "daemon", history, {name: POINTS * each for name, each in truth.items()})


def _measure(folder: Path, history: History, truth: dict[str, Floats]) -> None:
    server = NS2Server(folder)
    server.daemon.start()
    try:
        began = time.monotonic()
        server.play(list(rounds_of(history)))
        took = time.monotonic() - began
        size = int(history.teams[1])
        print(f"\n{len(history.players):,} players, {len(history):,} rounds of {size}v{size}, posted in {took:.0f} s")
        print(_quality(server), flush=True)
        online = recovered(server.daemon, history, truth)
        url = f"http://127.0.0.1:{server.daemon.port}"
        command = [*EQUIPOISE, "pool", "refit", "--config", server.daemon.config, "--url", url]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0])
        fitted = recovered(server.daemon, history, truth)
    finally:
        server.daemon.stop()
    print("           spread |   fit: error  correlation  in deviations | online: error  correlation  in deviations")
    for name, one in fitted.items():
        both = (
            f"{each.error:14.0f} {each.correlation:12.3f} {each.in_deviations:14.2f}" for each in (one, online[name])
        )
        print(f"{name:9s} {one.truth.std():7.0f} |{' |'.join(both)}", flush=True)


def _quality(server: NS2Server) -> str:
    quality = server.daemon.ask("pools/main/quality")["quality"]
    brier, loss = (f"{quality[name]['value']:.4f} ± {quality[name]['error']:.4f}" for name in ("brier", "log_loss"))
    return f"the last {quality['rounds']} forecasts: Brier {brier}, log loss {loss}, calibration " + (
        f"{quality['calibration_error']:.3f}"
    )


if __name__ == "__main__":
    given = tuple(map(int, sys.argv[1:]))
    main((given,) if len(given) == 3 else CASES)
