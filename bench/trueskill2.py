"""TrueSkill 2 12v12, 2,000 players: replay with counts and quits, fit, live path; the `trueskill` library beside it."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bench.measuring import peer, timed
from equipoise.core.model import PlayerId
from equipoise.ratings import replay
from equipoise.ratings.history import History
from equipoise.ratings.system import Counts, Match
from equipoise.ratings.trueskill2.fit import prepared
from equipoise.ratings.trueskill2.system import TrueSkill2

PLAYERS, SIZE, SECONDS = 2000, 12, 600.0
MATCHES, PEER_MATCHES, LIVE_ROUNDS = 10_000, 300, 20
RUNS = 3
COUNTED = {
    "kill_own": 0.15,
    "kill_opponent": -0.05,
    "kill_variance": 0.6,
    "death_own": -0.05,
    "death_opponent": 0.15,
    "death_variance": 0.6,
}
QUITTING = {"quit_margin": -1.0, "quit_related": 0.3, "quit_unrelated": 0.05}


def main() -> None:
    print(f"{SIZE}v{SIZE}, {PLAYERS:,} players, {MATCHES:,} matches, median of {RUNS} runs")
    plain = rate(TrueSkill2.create(), history(quits=0.0))
    counts = rate(TrueSkill2.create(**COUNTED), history(quits=0.0))
    quits = rate(TrueSkill2.create(**COUNTED, **QUITTING), history(quits=0.05))
    print(f"  replay from arrays, ranks only      {plain / 1e3:8.1f} k matches/s")
    print(f"  with kills and deaths               {counts / 1e3:8.1f} k matches/s   (target 20)")
    print(f"  and one player in twenty quitting   {quits / 1e3:8.1f} k matches/s")
    print(f"  fit, a sweep each way               {sweep_rate() / 1e3:8.1f} k matches/s")
    print(f"  live rate(), plain Python           {1e3 * timed(live, RUNS) / LIVE_ROUNDS:8.1f} ms a round")
    library = peer("trueskill")
    if library is not None:
        print(f"  trueskill (library), ranks only     {library_rate(library) / 1e3:8.1f} k matches/s")


def history(quits: float) -> History:
    rng = np.random.default_rng(1)
    each = 2 * SIZE
    winner = rng.integers(0, 2, MATCHES)
    played = MATCHES * each
    return History(
        players=tuple(PlayerId(str(76561198000000000 + number)) for number in range(PLAYERS)),
        matches=2 * np.arange(MATCHES + 1),
        teams=SIZE * np.arange(2 * MATCHES + 1),
        members=np.concatenate([rng.permutation(PLAYERS)[:each] for _ in range(MATCHES)]).astype(np.int32),
        ranks=np.stack([winner, 1 - winner], axis=1).astype(np.int32).ravel(),
        started_at=SECONDS * np.arange(MATCHES),
        kills=rng.poisson(4.0, played).astype(np.float64),
        deaths=rng.poisson(4.0, played).astype(np.float64),
        seconds=np.full(MATCHES, SECONDS),
        quit=rng.random(played) < quits,
    )


def rate(system: TrueSkill2, matches: History) -> float:
    """Matches per second."""
    speed = MATCHES / timed(lambda: replay(system, matches), RUNS)
    assert system.stuck == 0
    return speed


def sweep_rate() -> float:
    system = TrueSkill2.create(**COUNTED)
    sweeps, table = prepared(system, history(quits=0.0)), np.array(system.table)
    return MATCHES / timed(lambda: sweeps.back_and_forth(table, np.zeros_like(table)), RUNS)


def live() -> None:
    system = TrueSkill2.create(**COUNTED)
    everybody = tuple(PlayerId(str(number)) for number in range(2 * SIZE))
    counts = {player: Counts(5, 4) for player in everybody}
    match = Match(teams=(everybody[:SIZE], everybody[SIZE:]), ranks=(0, 1), seconds=SECONDS, counts=counts)
    for _ in range(LIVE_ROUNDS):
        system.rate(match)


def library_rate(trueskill: ModuleType) -> float:
    """Matches per second of the `trueskill` library, by ranks alone."""
    teams = [[trueskill.Rating() for _ in range(SIZE)] for _ in range(2)]

    def run() -> None:
        for _ in range(PEER_MATCHES):
            trueskill.rate(teams)

    return PEER_MATCHES / timed(run, RUNS)
