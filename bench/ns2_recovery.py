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
from tests.ratings.ns2.simulated import MAPS, World, simulated

CASES = ((60, 20_000, 4), (200, 100_000, 12), (2000, 100_000, 12), (10_000, 100_000, 12))
"""Players, rounds, players a side."""
FACTS = {"s": "skill", "o": "offset", "χ": "commander"}


def main() -> None:
    for players, rounds, size in CASES:
        rng = np.random.default_rng(1)
        fitted, online = NS2.create(), NS2.create()
        world = World.drawn(rng, players, fitted.params)
        history = simulated(rng, world, rounds, size)
        start = process_time()
        ended = fit(fitted, history)
        seconds = process_time() - start
        replay(online, history)
        print(f"\n{players:,} players, {rounds:,} rounds of {size}v{size}; fit {seconds:.1f} s, {ended}")
        print("      spread |  fit: error  correlation |  online: error  correlation")
        for name, fact in FACTS.items():
            true = getattr(world, fact)
            fit_error, fit_like = against(true, fitted, history, fact)
            error, like = against(true, online, history, fact)
            spread = POINTS * true.std()
            print(
                f"  {name} {spread:8.0f} | {fit_error:11.0f} {fit_like:12.3f} | {error:14.0f} {like:12.3f}", flush=True
            )
        for name, system in (("given", None), ("fit", fitted), ("online", online)):
            f = world.maps if system is None else maps_of(system, history, size)
            print(f"  F and the mean offset, {name:7s}", "  ".join(f"{each:5.2f}" for each in f))


def against(true: Floats, system: NS2, history: History, fact: str) -> tuple[float, float]:
    """Root mean square error in points, and correlation."""
    found = estimates(system, history, fact)
    return float(POINTS * np.sqrt(np.mean((found - true) ** 2))), float(np.corrcoef(found, true)[0, 1])


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
