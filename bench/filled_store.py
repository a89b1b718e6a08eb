"""A store with a past, filled through the store's own writer: `python -m bench.filled_store DIRECTORY --rounds 100000`.

The rounds are real rows that a daemon with the default system (SynElo) goes on from, but no system has rated them: that
would take an hour for a million. Each player's rating walks at random, and so does who meets whom: an evening's players
play one server for a hundred rounds, as people do. That keeps the rows of a player near each other, and the filling
fast.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.core.model import (
    STEAM_ID_BASE,
    LineupPlayer,
    Mode,
    Participant,
    PlayerId,
    Presence,
    Round,
    RoundId,
    ServerId,
    Side,
)
from equipoise.service.held import fingerprint_of
from equipoise.store.notes import Decision, Name, Note
from equipoise.store.player_rows import Change, PlayerRow, SharedParts
from equipoise.store.round_rows import HeldVersions, RatedRound
from equipoise.store.store import Store

POOL = "main"
SERVERS = 100
EVENING = 100
"""Rounds that the same players play on one server, at most: fewer where not all players would come otherwise."""
PRESENT = 2
"""Players of an evening, for each place in a round."""
TOGETHER = 2_000
"""Rounds in one transaction."""
NOTES = 4_000
"""Decisions or names in one transaction: fewer than the store lets wait."""
SHADOW = 50
WINDOW = 500


def player(number: int) -> PlayerId:
    """The id of a player, by number from 0."""
    return PlayerId(str(STEAM_ID_BASE + 1 + number))


def server(number: int) -> ServerId:
    """The name of a server, by number from 0."""
    return ServerId(f"server-{number % SERVERS}")


@dataclass
class Past:
    """Contents of the store; the last round and the last decision are of `until`."""

    players: int
    rounds: int
    decisions: int = 0
    days: float = 365.0
    """How far back the first round and the first decision are."""
    size: int = 24
    """Players in a round."""
    earlier: int = 0
    """Rounds of each player before the first in the store, as after `retention.rounds_days`."""
    until: float = field(default_factory=time.time)
    seed: int = 24


@dataclass
class _Played:
    """A round as the store's `Submission`, with what it did to its players as already known."""

    record: RecordRound
    at: float
    changes: tuple[Change, ...]
    memory: bytes | None = None

    def held(self) -> HeldVersions:
        return HeldVersions({})

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        return RatedRound(self.record.round.id, 0.5, self.changes)

    def undo(self) -> None:
        pass


class _Hasty(Store):
    """Does not wait for the disk: a store that is being filled is thrown away after a power loss."""

    def _connect(self) -> None:
        super()._connect()
        for pragma in ("synchronous = OFF", "cache_size = -400000", "wal_autocheckpoint = 50000"):
            self._connection.execute(f"PRAGMA {pragma}")


async def fill(path: Path, past: Past) -> None:
    """Fill a new store: players with names, rounds, decisions."""
    store = _Hasty(path)
    await store.open()
    try:
        await store.adopt(POOL, fingerprint_of(ratings.create("synelo")), past.until - 86400 * past.days)
        played = _rounds(past)
        while group := list(islice(played, TOGETHER)):
            outcomes = await store.record(POOL, group, 0)
            assert len(outcomes) == len(group), outcomes[-1]
        notes: Iterator[Note] = chain(_names(past), _decisions(past))
        while some := list(islice(notes, NOTES)):
            store.note(some)
            await store.memory(server(0))  # a read writes them first
    finally:
        await store.close()


def _rounds(past: Past) -> Iterator[_Played]:
    luck = random.Random(past.seed)
    ratings, counts = [1000.0] * past.players, [past.earlier] * past.players
    present = min(past.players, PRESENT * past.size)
    length = max(1, min(EVENING, past.rounds * present // past.players))
    crowd: list[int] = []
    for number in range(past.rounds):
        evening, place = divmod(number, length)
        if place == 0:
            first = evening * present % past.players  # everyone comes before anyone comes again
            crowd = [(first + each) % past.players for each in range(present)]
        yield _played(past, number, server(evening), luck.sample(crowd, past.size), ratings, counts)


def _played(
    past: Past, number: int, on: ServerId, people: Sequence[int], ratings: list[float], counts: list[int]
) -> _Played:
    at = past.until - 86400 * past.days * (1 - (number + 1) / past.rounds)
    winner = (Side.A, Side.B, None)[0 if number % 7 in (0, 2, 5) else 1]
    changes, seats, presences, participants = [], [], [], []
    for place, who in enumerate(people):
        side = Side.A if place < len(people) // 2 else Side.B
        id, before, score = player(who), ratings[who], float(side is winner)
        step = (number + who) % 9 + 1
        after = max(100.0, before + (step if score else -step))
        ratings[who], counts[who] = after, counts[who] + 1
        state = {"rating": after, "rounds": counts[who], "last_played": at, "windowed": min(counts[who], WINDOW)}
        changes.append(Change(id, side, before, after, 0.5, score, counts[who], counts[who] >= SHADOW, state))
        seconds = (600.0, 0.0) if side is Side.A else (0.0, 600.0)
        seats.append(LineupPlayer(id, side))
        presences.append(Presence(id, side, *seconds, fought=True))
        participants.append(Participant(id, side, *seconds))
    round = Round(
        id=RoundId(f"1700000000000-{number}"),
        server=on,
        session="1700000000000-1",
        map="koth_harvest_final",
        mode=Mode.KOTH,
        started_at=at,
        seconds=600.0,
        winner=winner,
        lineup=tuple(seats),
        presences=tuple(presences),
    )
    return _Played(RecordRound(round, tuple(participants)), at + 600.0, tuple(changes))


def _names(past: Past) -> Iterator[Name]:
    return (Name(POOL, player(number), f"player {number}") for number in range(past.players))


def _decisions(past: Past) -> Iterator[Decision]:
    """All of the first server except one in a thousand, so that the others are quiet."""
    people = [player(number) for number in range(past.size)]
    split = {"a": people[: past.size // 2], "b": people[past.size // 2 :], "bench": []}
    for number in range(past.decisions):
        at = past.until - 86400 * past.days * (1 - (number + 1) / past.decisions)
        on = server(0 if number % 1000 else number // 1000)
        detail = {"split": split, "players": people, "before": 0.41, "after": 0.497}
        yield Decision(on, at, "scramble", "3 wins in a row", f"o{number}", detail if number % 4 == 0 else None)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a store with a past in a new state directory.")
    parser.add_argument("directory", type=Path, help="the state directory; equipoise.db must not be in it yet")
    parser.add_argument("--players", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--decisions", type=int, default=0)
    parser.add_argument("--days", type=float, default=365.0)
    parser.add_argument("--size", type=int, default=24, help="players in a round")
    options = parser.parse_args()
    path = options.directory / "equipoise.db"
    if path.exists():
        parser.error(f"{path} exists")
    options.directory.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    past = Past(options.players, options.rounds, options.decisions, options.days, options.size)
    asyncio.run(fill(path, past))
    seconds = time.perf_counter() - began
    print(f"{path}: {past.rounds:,} rounds, {path.stat().st_size / 1e6:,.0f} MB, {seconds:.0f} s")


if __name__ == "__main__":
    main()
