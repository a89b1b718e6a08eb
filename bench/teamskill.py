"""TeamSkill over TrueSkill, 5v5 and 12v12: replay from arrays, match after match, and a round of a live pool."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.measuring import timed
from bench.store import a_round, opened, percentile
from bench.store import timed as timed_round
from equipoise.core.model import PlayerId
from equipoise.ratings import create, replay
from equipoise.ratings.history import History
from equipoise.ratings.system import Match

GROUPS = 20_000_000
"""About so many pairs or triples are rated in a replay."""
LIVE_ROUNDS, RUNS = 200, 3
PEOPLE, FILL, MEASURED = 200, 1500, 300


def main() -> None:
    replays()
    with TemporaryDirectory() as directory:
        rounds = asyncio.run(pool_rounds(Path(directory)))
    print(f"  teamskill_k 12v12 in a pool of {PEOPLE} whose pairs are known, rated and recorded on disk, ms a round")
    print(f"    p50 {percentile(rounds, 50):.2f}, p99 {percentile(rounds, 99):.2f}   (target: a few)")


def replays() -> None:
    print(f"over TrueSkill, median of {RUNS} runs          replay, matches/s    one by one, matches/s")
    for name, params, size, players in (
        ("teamskill_k", {"k": 2}, 5, 200),
        ("teamskill_k", {"k": 2}, 12, 200),
        ("teamskill_k", {"k": 2}, 12, 2000),
        ("teamskill_allk_ls", {"largest": 3}, 5, 200),
        ("teamskill_allk_ls", {"largest": 3}, 12, 200),
        ("teamskill_allk_ev", {"largest": 3}, 12, 200),
    ):
        each = size * (size - 1) if "k" in params else size * (size - 1) * (size + 1) // 3
        count = GROUPS // each
        whole = history(count, size, players)
        bulk = count / timed(lambda name=name, params=params, whole=whole: replay(create(name, **params), whole), RUNS)
        live = LIVE_ROUNDS / timed(lambda name=name, params=params, whole=whole: one_by_one(name, params, whole), RUNS)
        print(f"  {name:<18} {size:>2}v{size:<2}, {players:>5,} players {bulk:18,.0f} {live:24,.0f}")


def history(count: int, size: int, players: int) -> History:
    rng = np.random.default_rng(6)
    rows = max(1, 10_000_000 // players)
    drawn = (rng.random((min(rows, count - done), players)).argpartition(2 * size) for done in range(0, count, rows))
    return History(
        players=tuple(PlayerId(str(76561198000000000 + number)) for number in range(players)),
        matches=2 * np.arange(count + 1),
        teams=size * np.arange(2 * count + 1),
        members=np.concatenate([each[:, : 2 * size].astype(np.int32) for each in drawn]).ravel(),
        ranks=np.tile(np.array([0, 1], np.int32), count),
        started_at=np.arange(count, dtype=np.float64),
    )


def one_by_one(name: str, params: dict[str, int], whole: History) -> None:
    system, size = create(name, **params), int(whole.teams[1])
    for row in whole.members[: LIVE_ROUNDS * 2 * size].reshape(-1, 2 * size).tolist():
        chosen = [whole.players[number] for number in row]
        system.rate(Match((tuple(chosen[:size]), tuple(chosen[size:])), (0, 1)))


async def pool_rounds(directory: Path) -> list[float]:
    """Milliseconds of each of `MEASURED` rounds, after `FILL` others in which nearly every pair has played."""
    luck, people = random.Random(7), [PlayerId(str(76561198000000000 + number)) for number in range(PEOPLE)]
    async with opened(directory, "teamskill_k") as pool:
        for number in range(FILL):
            await pool.record(a_round(number, luck, people), None)
        return [await timed_round(pool, a_round(FILL + number, luck, people)) for number in range(MEASURED)]
