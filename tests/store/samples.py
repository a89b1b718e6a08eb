"""Rounds to record, and a store to record them in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from equipoise.core.effects import RecordRound
from equipoise.core.model import (
    STEAM_ID_BASE,
    Counts,
    Hive,
    LineupPlayer,
    Mode,
    Participant,
    PlayerId,
    Presence,
    Role,
    Round,
    RoundId,
    ServerId,
    Side,
    Span,
)
from equipoise.store.player_rows import Change, PlayerRow, SharedParts
from equipoise.store.round_rows import HeldVersions, RatedRound
from equipoise.store.store import Store

SERVER = ServerId("arena-1")
POOL = "main"


def player(number: int) -> PlayerId:
    return PlayerId(str(STEAM_ID_BASE + number))


def a_round(
    number: int = 1,
    *,
    a: Sequence[int] = (1, 2),
    b: Sequence[int] = (3, 4),
    winner: Side | None = Side.A,
    server: ServerId = SERVER,
    started_at: float | None = None,
    captures_a: int = 0,
    unrated: str | None = None,
) -> RecordRound:
    """A round of these players; later numbers start later unless `started_at` says otherwise."""
    seats = [LineupPlayer(player(n), Side.A) for n in a] + [LineupPlayer(player(n), Side.B) for n in b]
    seconds = {Side.A: (90.0, 0.0), Side.B: (0.0, 90.0)}
    round = Round(
        id=RoundId(f"1763622000123-{number}"),
        server=server,
        session="1763622000123-1",
        map="arena_well",
        mode=Mode.ARENA,
        started_at=1_763_622_000.5 + 100 * number if started_at is None else started_at,
        seconds=90.0,
        winner=winner,
        lineup=tuple(seats),
        presences=tuple(Presence(seat.id, seat.side, *seconds[seat.side], fought=True) for seat in seats),
        captures_a=captures_a,
    )
    rated = tuple(Participant(seat.id, seat.side, *seconds[seat.side]) for seat in seats)
    return RecordRound(round, () if unrated else rated, unrated)


def with_spans(record: RecordRound) -> RecordRound:
    """The round with spans: two players leave the field for the chair, one switches sides, others stay; with bots."""
    end = record.round.seconds
    everybody = [seat.id for seat in record.round.lineup]
    spans: dict[PlayerId, tuple[Span, ...]] = {
        seat.id: (Span(seat.side, 0.0, end, Role.FIELD),) for seat in record.round.lineup
    }
    for one, chair in ((everybody[0], 12.25), (everybody[-1], 0.0)):
        side = spans[one][0].side
        spans[one] = Span(side, 0.0, chair), Span(side, chair, end, Role.COMMANDER)
    switcher, side = everybody[1], spans[everybody[1]][0].side
    spans[switcher] = Span(side, 0.0, end / 1.7), Span(side.other, end / 1.7, end - 0.1)
    presences = tuple(replace(each, spans=spans[each.id]) for each in record.round.presences)
    rated = tuple(replace(each, spans=spans[each.id]) for each in record.participants)
    bots = Span(Side.A, 1.5, end), Span(Side.B, 0.0, end / 3, Role.COMMANDER)
    return replace(record, round=replace(record.round, presences=presences, bots=bots), participants=rated)


def with_counts(record: RecordRound) -> RecordRound:
    """The round with what all but the last player did, and with the first two as a squad."""
    everybody = [seat.id for seat in record.round.lineup]
    counts = {
        id: Counts(
            *(3 * n, n, n // 2, 4 * n + 1),
            classes={"soldier": 40.5 + n, "medic": 12.25},
            hive=Hive(900.0 + 100 * n, -25.5 * n, 1200.0) if n % 2 else None,
        )
        for n, id in enumerate(everybody[:-1])
    }
    presences = tuple(replace(each, counts=counts.get(each.id)) for each in record.round.presences)
    rated = tuple(replace(each, counts=counts.get(each.id)) for each in record.participants)
    played = replace(record.round, presences=presences, squads=(tuple(everybody[:2]),))
    return replace(record, round=played, participants=rated)


@dataclass
class Submitted:
    """A round as a pool submits it: winners gain 10 points, losers lose them, from 1000 for a player without a row."""

    record: RecordRound
    memory: bytes | None = None
    at: float = 1.0
    versions: Mapping[PlayerId, int] | None = None
    """None: memory holds no player."""
    asked: list[PlayerRow] = field(default_factory=list)
    """What the store handed over, filled in when it rates."""
    shared: SharedParts | None = None
    undone: int = 0

    def held(self) -> HeldVersions:
        if self.versions is None:
            return HeldVersions({each.id: 0 for each in self.record.participants})
        return HeldVersions(self.versions)

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        self.asked += rows
        self.shared = shared
        known = {row.id: row for row in rows}
        changes = tuple(_change(self.record, each, known.get(each.id)) for each in self.record.participants)
        prediction = 0.625 if changes else None
        return RatedRound(self.record.round.id, prediction, changes, unrated=self.record.unrated)

    def undo(self) -> None:
        self.undone += 1


class Faulty(Submitted):
    """A round that our own code fails to rate."""

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        super().rate(rows, shared)
        raise ZeroDivisionError("a fault of ours")


def _change(record: RecordRound, each: Participant, row: PlayerRow | None, points: float = 10.0) -> Change:
    score = record.round.score(each.side)
    before, rounds = (row.rating, row.rounds) if row else (1000.0, 0)
    after = before + points * (2 * score - 1)
    prediction = 0.625 if each.side is Side.A else 0.375
    state: dict[str, object] = {"rating": after, "rounds": rounds + 1, "last_played": None}
    return Change(each.id, each.side, before, after, prediction, score, rounds + 1, rounds >= 1, state)


async def submit(store: Store, *group: Submitted) -> Sequence[RatedRound | Exception]:
    """Store a group of rounds."""
    return await store.record(POOL, group, 500)


async def record(store: Store, record: RecordRound, *, memory: bytes | None = None, at: float = 1.0) -> RatedRound:
    """Record one round with no player in memory."""
    (outcome,) = await submit(store, Submitted(record, memory, at))
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def sql(path: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a statement that another connection to a store carries out; what it changes is committed."""
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(statement, values).fetchall()


@asynccontextmanager
async def opened(path: Path, kind: type[Store] = Store, **waits: float) -> AsyncIterator[Store]:
    store = kind(path, **waits)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def until(condition: Callable[[], bool]) -> None:
    """Let others work until this holds; at most some minutes, which processes that give way take on a busy machine."""
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    assert condition(), "it did not happen"
