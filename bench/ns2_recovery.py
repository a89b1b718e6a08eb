"""How much of NS2's hidden skills its fit and its online estimates find again: the tables of docs/ratings/ns2.md.

Not among the benches that `python -m bench` runs: it measures the model, not the machine.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from equipoise.ratings import replay
from equipoise.ratings.history import Floats, History
from equipoise.ratings.ns2.fit import fit
from equipoise.ratings.ns2.formulas import POINTS, intercept
from equipoise.ratings.ns2.system import NS2
from tests.ratings.ns2.samples import ns2
from tests.ratings.ns2.simulated import MAPS, World, simulated

CASES = (
    (60, 300, 4),
    (60, 20_000, 4),
    (200, 10_000, 12),
    (200, 100_000, 12),
    (2000, 100_000, 12),
    (10_000, 100_000, 12),
)
"""Players, rounds, players a side."""
FACTS = {"s": "skill", "o": "offset", "χ": "commander"}
HANDED_OUT = {"skill": "average", "offset": "offset", "commander": "commander"}
"""The names in `Skills`."""


def main() -> None:
    for players, rounds, size in CASES:
        rng = np.random.default_rng(1)
        fitted, online = ns2(), ns2()
        world = World.drawn(rng, players, fitted.params)
        history = simulated(rng, world, rounds, size)
        start = process_time()
        ended = fit(fitted, history)
        seconds = process_time() - start
        replay(online, history)
        print(f"\n{players:,} players, {rounds:,} rounds of {size}v{size}; fit {seconds:.1f} s, {ended}")
        columns = "error  correlation  deviation  ratio  within"
        print(f"      spread |  fit: {columns} |  online: {columns}")
        for name, fact in FACTS.items():
            true = getattr(world, fact)
            both = (
                f"{error:11.0f} {like:12.3f} {deviation:10.0f} {ratio:6.2f} {within:7.2f}"
                for error, like, deviation, ratio, within in (
                    against(true, system, history, fact) for system in (fitted, online)
                )
            )
            print(f"  {name} {POINTS * true.std():8.0f} | {' |   '.join(both)}", flush=True)
        for name, system in (("given", None), ("fit", fitted), ("online", online)):
            f = world.maps if system is None else maps_of(system, history, size)
            print(f"  F and the mean offset, {name:7s}", "  ".join(f"{each:5.2f}" for each in f))


def against(true: Floats, system: NS2, history: History, fact: str) -> tuple[float, float, float, float, float]:
    """Root mean square error in points, correlation; the mean deviation, the errors in it, how many are within 1.96."""
    found = estimates(system, history, fact)
    errors = POINTS * (found - true)
    deviations = np.array([getattr(system.skills(one), HANDED_OUT[fact]).deviation for one in history.players])
    return (
        float(np.sqrt(np.mean(errors**2))),
        float(np.corrcoef(found, true)[0, 1]),
        float(deviations.mean()),
        float(np.sqrt(np.mean((errors / deviations) ** 2))),
        float(np.mean(np.abs(errors) < 1.96 * deviations)),
    )


def estimates(system: NS2, history: History, fact: str) -> Floats:
    return np.array([getattr(system.players[player], fact) for player in history.players])


def maps_of(system: NS2, history: History, size: int) -> list[float]:
    """A map's F and the mean offset, which say the same of a round; log-odds."""
    environment, large = system.environment, 2 * size > system.params.large_above
    mean = float(estimates(system, history, "offset").mean())
    prior = system.params.prior_rounds
    return [mean + intercept(environment.maps[name], large, environment.arrays, prior) for name in MAPS]


if __name__ == "__main__":
    main()
