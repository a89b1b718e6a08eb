"""What the command chairs are worth to NS2's predictions: Brier scores in worlds with other commanders.

Not among the benches that `python -m bench` runs: it measures the model, not the machine. The table of
docs/ratings/ns2.md, in about ten minutes of one core.
"""

from __future__ import annotations

import numpy as np

from equipoise.ratings import replay
from equipoise.ratings.history import Floats, History
from equipoise.ratings.ns2.system import NS2
from tests.ratings.ns2.samples import ns2
from tests.ratings.ns2.simulated import World, simulated

SYSTEMS = (
    (0.0, 6.0),
    (0.0, 21.0),
    (0.25, 6.0),
    (0.25, 12.0),
    (0.5, 6.0),
    (0.5, 12.0),
    (0.5, 21.0),
    (0.75, 12.0),
    (1.0, 6.0),
)
"""f and k of χ; the first are the source's."""
WORLDS = tuple((share, spread) for share in (0.0, 0.5, 1.0) for spread in (1.0, 0.5, 0.25))
"""Of a commander's true skill: the share of field skill, and how far χ spreads, in that of s."""
SIZES = ((60, 600, 8), (16, 300, 6))
"""Players, rounds, players a side."""
SEEDS = range(1, 13)
KEEN = 6.0
"""How much keener some are to command: the power to which a uniform number is raised."""


def history(seed: int, share: float, spread: float, players: int, rounds: int, size: int) -> History:
    """Rounds with results by other commanders than the rating system's."""
    rng = np.random.default_rng(seed)
    world = World.drawn(rng, players, ns2().params)
    mode = ns2().params.newcomer
    world = World(world.skill, world.offset, mode + spread * (world.commander - mode), world.maps, share)
    return simulated(rng, world, rounds, size, keenness=rng.random(players) ** KEEN)


def brier(history: History, **params: object) -> float:
    """The Brier score of all predictions, each made before its round was rated."""
    first = np.asarray(replay(NS2.create(**params), history).wins).reshape(-1)[::2]
    won = 1 - np.asarray(history.ranks)[::2]
    return float(np.mean((first - won) ** 2))


def main() -> None:
    gains: list[Floats] = []
    print(" " * 44, *(f"{share:4.2f},{k:3.0f}" for share, k in SYSTEMS))
    for players, rounds, size in SIZES:
        for share, spread in WORLDS:
            rows = []
            for seed in SEEDS:
                played = history(seed, share, spread, players, rounds, size)
                scores = (brier(played, commander_field_share=f, commander_shape=k) for f, k in SYSTEMS)
                rows.append(list(scores))
            apart = 1e4 * (np.array(rows) - np.array(rows)[:, :1])
            gains.append(apart.mean(0))
            name = f"{players} people, share {share}, spread {spread}: {np.mean(rows, axis=0)[0]:.4f}"
            print(f"{name:44s}", *(f"{gain:+8.0f}" for gain in apart.mean(0)), flush=True)
            print(f"{'':44s}", *(f"± {error:6.0f}" for error in apart.std(0) / len(SEEDS) ** 0.5))
    print(f"{'mean':44s}", *(f"{gain:+8.0f}" for gain in np.mean(gains, axis=0)))
    print(f"{'worst':44s}", *(f"{gain:+8.0f}" for gain in np.max(gains, axis=0)))


if __name__ == "__main__":
    main()
