"""A pool's rated rounds read back as its system got them, and rated anew, in SQLite."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterator
from itertools import groupby, islice
from operator import attrgetter

import msgspec

from equipoise.core.effects import RecordRound
from equipoise.core.model import LineupPlayer, Mode, Participant, PlayerId, Presence, Round, RoundId, ServerId, Side
from equipoise.store.notes import Audit
from equipoise.store.port import Replay, SeeRound
from equipoise.store.rated import RatedRound
from equipoise.store.sequence import AT_ONCE, Edit, Event, NumberedRound
from equipoise.store.sqlite import notes, players, retention, rounds, sequence, snapshots
from equipoise.store.sqlite.players import encoded
from equipoise.store.sqlite.rounds import counts_of, effect, spans_of

PAGE = 200
"""Rounds read at once: what is written meanwhile must not be written under an open cursor."""

_FACTS = """
id, server, session, map, mode, started_at, seconds, winner, lineup, captures_a, captures_b, partial, waiting,
skill_at_start, squads, bots
"""
_ROUNDS = f"""
SELECT number, prediction, {_FACTS}
FROM rounds WHERE pool = ? AND number > ? AND prediction IS NOT NULL AND NOT pruned
ORDER BY number LIMIT ?
"""
# Left to itself, SQLite goes through all rows of the pool, for each page of rounds.
_PARTICIPANTS = """
SELECT round, player, side, seconds_a, seconds_b, quit, spans, counts
FROM participants INDEXED BY participants_by_round WHERE pool = ? AND round BETWEEN ? AND ? ORDER BY round, place
"""

_lineup = msgspec.json.Decoder(tuple[LineupPlayer, ...])
_skill_at_start = msgspec.json.Decoder(dict[PlayerId, float])

_squads = msgspec.json.Decoder(tuple[tuple[PlayerId, ...], ...])

_Facts = tuple[
    *tuple[str, str, str, str, str, float, float, str | None, str, int, int, int, int],
    *tuple[str | None, str | None, str | None],
]
_Part = tuple[int, str, str, float, float, int, str | None, str | None]


def see(db: sqlite3.Connection, pool: str, see: SeeRound, after: int = 0) -> None:
    """Call `see` with every rated round after a number, in the order in which they were applied."""
    for event in rated(db, pool, after):
        see(event.record, event.prediction)


def events(db: sqlite3.Connection, pool: str, after: int = 0) -> Iterator[Event]:
    """A pool's rated rounds and edits after a number, in the order in which they were applied."""
    return heapq.merge(rated(db, pool, after), sequence.edits(db, pool, after), key=attrgetter("number"))


def page(db: sqlite3.Connection, pool: str, after: int, most: int) -> list[Event]:
    """The next `AT_ONCE` of those events, and none with a number above `most`."""
    return [event for event in islice(events(db, pool, after), AT_ONCE) if event.number <= most]


def recompute(db: sqlite3.Connection, pool: str, replay: Replay, entry: Audit) -> None:
    """Replace every number that a rating system made, with a line in the audit.

    What is left of pruned rounds goes: it was made by the old system, and cannot be made again.
    """
    retention.forget_pruned(db, pool)
    if not replay.same:
        sequence.forget_units(db, pool)
    for event in events(db, pool):
        match event:
            case NumberedRound():
                rewrite(db, pool, event.number, replay.rate(event.record), same=replay.same)
            case Edit():
                sequence.rewrite(db, pool, replay.edit(event))
    _rewrite_players(db, pool, replay)
    players.recount_crowd(db, pool)
    players.adopt_fingerprint(db, pool, replay.fingerprint, entry.at)
    players.replace_shared(db, pool, replay.shared())
    snapshots.forget(db, pool)
    last = sequence.last_number(db, pool)
    if (snapshot := replay.snapshot(last)) is not None:
        snapshots.keep(db, pool, snapshot, last)
    notes.audit(db, entry)


def rated(db: sqlite3.Connection, pool: str, last: int = 0) -> Iterator[NumberedRound]:
    """A pool's rated rounds after a number, in the order in which they were applied."""
    while rows := db.execute(_ROUNDS, (pool, last, PAGE)).fetchall():
        first, last = rows[0][0], rows[-1][0]
        found = db.execute(_PARTICIPANTS, (pool, first, last)).fetchall()
        parts = {number: list(each) for number, each in groupby(found, key=lambda part: part[0])}
        for number, prediction, *facts in rows:
            yield NumberedRound(number, _record(tuple(facts), parts[number]), prediction)


def voided(db: sqlite3.Connection, number: int) -> NumberedRound:
    """A round that was taken out of the ratings, as its system received it."""
    (prediction, *facts) = db.execute(f"SELECT prediction, {_FACTS} FROM rounds WHERE number = ?", (number,)).fetchone()
    parts: list[_Part] = [(number, *each[:5], *each[-2:]) for each in rounds.participants(db, number)]
    return NumberedRound(number, _record(tuple(facts), parts), prediction or 0.5)


def _record(facts: _Facts, parts: list[_Part]) -> RecordRound:
    id, server, session, map, mode, started_at, seconds, winner, lineup = facts[:9]
    *captures, partial, waiting, skill_at_start, squads, bots = facts[9:]
    round = Round(
        id=RoundId(id),
        server=ServerId(server),
        session=session,
        map=map,
        mode=Mode(mode),
        started_at=started_at,
        seconds=seconds,
        winner=None if winner is None else Side(winner),
        lineup=_lineup.decode(lineup),
        presences=tuple(_presence(part) for part in parts),
        captures_a=captures[0],
        captures_b=captures[1],
        partial=bool(partial),
        waiting=bool(waiting),
        squads=() if squads is None else _squads.decode(squads),
        bots=spans_of(bots),
    )
    rated = tuple(
        Participant(each.id, each.side, each.seconds_a, each.seconds_b, each.spans, each.counts)
        for each in round.presences
    )
    return RecordRound(
        round, rated, skill_at_start=None if skill_at_start is None else _skill_at_start.decode(skill_at_start)
    )


def _presence(part: _Part) -> Presence:
    _, player, side, seconds_a, seconds_b, quit, spans, counts = part
    return Presence(
        id=PlayerId(player),
        side=Side(side),
        seconds_a=seconds_a,
        seconds_b=seconds_b,
        fought=True,
        left=bool(quit),
        spans=spans_of(spans),
        counts=counts_of(counts),
    )


def rewrite(db: sqlite3.Connection, pool: str, number: int, rated: RatedRound, *, same: bool) -> None:
    """The new numbers of a round. Skills at its start in another system's units are dropped.

    What was said of it stays as it is by the system that made the teams, if that was another one.
    """
    skills = "" if same else ", skill_at_start = NULL"
    db.execute(
        f"UPDATE rounds SET prediction = ?, said = iif(balance_prediction IS NULL, ?, said), "
        f"unevenness = iif(balance_prediction IS NULL, ?, unevenness){skills} WHERE number = ?",
        (rated.prediction, rated.said, rated.unevenness, number),
    )
    db.executemany(
        "UPDATE participants SET before = ?, after = ?, prediction = ?, rounds = ?, visible = ?, state = ? "
        "WHERE pool = ? AND player = ? AND round = ?",
        [(*effect(change), pool, change.id, number) for change in rated.changes],
    )


def _rewrite_players(db: sqlite3.Connection, pool: str, replay: Replay) -> None:
    """All players with a row, also those whose rating an admin set and who never played."""
    known = [PlayerId(id) for (id,) in db.execute("SELECT id FROM players WHERE pool = ?", (pool,))]
    rows = map(replay.player, known)
    db.executemany(
        """
        UPDATE players SET version = version + 1, rating = ?, rounds = ?, visible = ?, last_played = ?, state = ?
        WHERE pool = ? AND id = ?
        """,
        [(row.rating, row.rounds, row.visible, row.last_played, encoded(row.state), pool, row.id) for row in rows],
    )
