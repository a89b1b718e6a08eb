"""`joint` 12v12 among 500 active: replay, a live round, and what a split and a daemon's start ask of it.

Then what a live round costs with what each did, and how much memory is held, with more dense: all of 512, 1,000, 2,400.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from bench.balance import scored
from bench.measuring import status_of, timed
from bench.store import a_round
from equipoise.balancing import match_of
from equipoise.core.model import STEAM_ID_BASE, PlayerId
from equipoise.ratings import replay
from equipoise.ratings.history import History
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.system import Match

PLAYERS, SIZE = 500, 12
WARM_UP, MATCHES, ROUNDS = 2000, 5000, 200
RUNS = 5


def main() -> None:
    system = Joint.create()
    replay(system, history(WARM_UP, seed=1))
    big = history(MATCHES, seed=2)
    bulk = MATCHES / timed(lambda: replay(system, big), RUNS)
    apart = Joint.create(correlations=False)
    independent = MATCHES / timed(lambda: replay(apart, big), RUNS)
    one, people = Match((big.players[:SIZE], big.players[SIZE : 2 * SIZE]), (0, 1)), big.players[: 2 * SIZE]
    data = system.snapshot()
    print(f"{SIZE}v{SIZE}, {PLAYERS} active players, median of {RUNS} runs")
    print(f"  replay from arrays, end to end    {bulk:8,.0f} matches/s   (target 2,000)")
    print(f"  the same without correlations     {independent:8,.0f} matches/s")
    print(f"  live rate()                       {each(lambda: system.rate(one)):8.2f} ms a round   (target 2)")
    print(f"  predict()                         {each(lambda: system.predict(one)):8.2f} ms")
    print(f"  covariance() of {2 * SIZE}                {each(lambda: system.covariance(people)):8.2f} ms")
    print(f"  snapshot(), {len(data) / 1e6:.2f} MB             {each(system.snapshot):8.2f} ms")
    print(f"  restore_snapshot()                {each(lambda: system.restore_snapshot(data)):8.2f} ms")
    for active in (512, 1_000, 2_400):
        dense(active)


def dense(active: int) -> None:
    """Rounds with what each did, of so many players, all of them dense."""
    before, luck = status_of("self", "VmRSS"), random.Random(24)
    people = [PlayerId(str(STEAM_ID_BASE + number)) for number in range(1, active + 1)]
    crowds = [people[first : first + 2 * SIZE] for first in range(0, active, 2 * SIZE) if active - first >= 2 * SIZE]
    system = Joint.create(active=active)
    rounds = [match_of(scored(a_round(n, luck, crowd), luck)) for n, crowd in enumerate([*crowds, *[people] * 100])]
    matches = [match for match in rounds if match is not None]
    for match in matches[:-50]:
        system.rate(match)
    took = 1000.0 * timed(lambda: [system.rate(match) for match in matches[-50:]], 1) / 50
    held, size = status_of("self", "VmRSS") - before, len(system.snapshot()) / 1e6
    print(f"  {active:5,} dense, with own scores: {took:5.2f} ms a round, {held:.0f} MB, a snapshot of {size:.1f} MB")


def each(work: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    return 1000.0 * timed(lambda: [work() for _ in range(ROUNDS)], RUNS) / ROUNDS


def history(matches: int, seed: int) -> History:
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 2, matches)
    return History(
        players=tuple(PlayerId(str(76561198000000000 + number)) for number in range(PLAYERS)),
        matches=2 * np.arange(matches + 1),
        teams=SIZE * np.arange(2 * matches + 1),
        members=np.concatenate([rng.permutation(PLAYERS)[: 2 * SIZE] for _ in range(matches)]).astype(np.int32),
        ranks=np.stack([ranks, 1 - ranks], axis=1).astype(np.int32).ravel(),
        started_at=60.0 * np.arange(matches),
    )
