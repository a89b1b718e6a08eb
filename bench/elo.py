"""Elo, Glicko and Glicko-2, one against one: replay from arrays end to end, the live path, and riix beside them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from bench.measuring import peer, timed
from equipoise.core.model import PlayerId
from equipoise.ratings import create, replay
from equipoise.ratings.history import History, Replayed
from equipoise.ratings.system import Match

PLAYERS, MATCHES, PEER_MATCHES, LIVE_MATCHES, PERIODS = 5_000, 2_000_000, 50_000, 20_000, 100
RUNS = 5
DAY = 86_400.0
SYSTEMS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("elo", "target 30", {}),
    ("elo", "", {"form": "gaussian"}),
    ("glicko", "target 30", {}),
    ("glicko", "", {"periods": "match"}),
    ("glicko2", "", {}),
    ("world_football_elo", "", {}),
    ("fifa_men", "", {}),
)


def main() -> None:
    big = history(MATCHES)
    print(f"1v1, {PLAYERS:,} players, {MATCHES:,} matches in {PERIODS} days, median of {RUNS} runs; M matches/s")
    for name, target, params in SYSTEMS:
        bulk = MATCHES / timed(partial(replayed, name, params, big), RUNS)
        live = f"live {timed_live(name, params) * 1e6:5.1f} µs" if create(name).live else ""
        label = " ".join((name, *map(str, params.values())))
        print(f"  {label:20} {bulk / 1e6:7.2f}   {target:10} {live}")
    for name, rate in peers(history(PEER_MATCHES)):
        print(f"  {name:20} {rate / 1e6:7.3f}")


def history(matches: int) -> History:
    rng = np.random.default_rng(1)
    first = rng.integers(0, PLAYERS, matches)
    goals = rng.integers(0, 5, 2 * matches)
    return History(
        players=tuple(PlayerId(str(76561198000000000 + number)) for number in range(PLAYERS)),
        matches=2 * np.arange(matches + 1),
        teams=np.arange(2 * matches + 1),
        members=np.stack([first, (first + rng.integers(1, PLAYERS, matches)) % PLAYERS], 1).astype(np.int32).ravel(),
        ranks=np.stack([goals[0::2] < goals[1::2], goals[0::2] > goals[1::2]], 1).astype(np.int32).ravel(),
        started_at=np.floor(np.linspace(0, PERIODS * DAY, matches, endpoint=False)),
        points=goals.astype(np.float64),
    )


def replayed(name: str, params: dict[str, object], history: History) -> Replayed:
    return replay(create(name, **params), history)


def timed_live(name: str, params: dict[str, object]) -> float:
    """CPU seconds of one `rate` in plain Python."""
    system, people = create(name, **params), [PlayerId(str(number)) for number in range(100)]
    matches = [
        Match(((people[n % 100],), (people[(n * 7 + 1 + n % 5) % 100],)), (n % 2, 1 - n % 2), started_at=60.0 * n)
        for n in range(LIVE_MATCHES)
        if n % 100 != (n * 7 + 1 + n % 5) % 100
    ]
    start = process_time()
    for match in matches:
        system.rate(match)
    return (process_time() - start) / len(matches)


def peers(small: History) -> Iterator[tuple[str, float]]:
    """riix on the same matches: each day is predicted, then learnt from, match by match."""
    if peer("riix") is None:
        return
    from riix.models.elo import Elo
    from riix.models.glicko import Glicko
    from riix.models.glicko2 import Glicko2

    pairs = small.members.reshape(-1, 2)
    outcomes = 0.5 + 0.5 * np.sign(small.ranks[1::2] - small.ranks[0::2])
    days = (small.started_at // DAY).astype(np.int64)
    edges = np.searchsorted(days, np.arange(PERIODS + 1))
    kinds: tuple[Any, ...] = (Elo, Glicko, Glicko2)
    for kind in kinds:
        start = process_time()
        system = kind(competitors=list(small.players))
        for day in range(PERIODS):
            part = slice(edges[day], edges[day + 1])
            system.predict(pairs[part], time_step=day)
            system.update(pairs[part], outcomes[part], time_step=day)
        yield f"riix {kind.__name__}", PEER_MATCHES / (process_time() - start)


if __name__ == "__main__":
    main()
