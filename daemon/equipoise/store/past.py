"""A pool's past, read back as its system got it: by the store itself, and by processes beside the daemon."""

from __future__ import annotations

import heapq
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

import msgspec

from equipoise.core.effects import RecordRound
from equipoise.core.model import LineupPlayer, Mode, Participant, PlayerId, Presence, Round, RoundId, ServerId, Side
from equipoise.errors import ScriptError, StoreError
from equipoise.store import player_rows, round_rows, sequence
from equipoise.store.connection import reading, store_errors
from equipoise.store.player_rows import Fingerprint, PlayerRow
from equipoise.store.round_rows import SCORES, counts_of, spans_of
from equipoise.store.sequence import Edit, Event, LearntSpread, MatchEvent, Snapshot

SeeRound = Callable[[RecordRound, float], None]
"""Receives a stored, rated round as its system received it, and the predicted win probability of side A. Does no I/O.

Only presences of participants are stored, without the fields that only the rules read, and of bots their spans.
"""


SeeEvent = Callable[[Event], None]
"""Receives a stored, rated round as its system received it, or an edit. Does no I/O."""


AT_ONCE = 200
"""Events that are read at once: where fewer come there are no more."""


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


def see_events(db: sqlite3.Connection, pool: str, see: SeeEvent) -> None:
    """Call `see` with each of these events."""
    for event in events(db, pool):
        see(event)


def page(db: sqlite3.Connection, pool: str, after: int, most: int = sys.maxsize) -> list[Event]:
    """The next `AT_ONCE` of these events, and none with a number above `most`."""
    # Cut after the page: fewer than `AT_ONCE` tell the caller that there are no more.
    return [event for event in islice(events(db, pool, after), AT_ONCE) if event.number <= most]


def rated(db: sqlite3.Connection, pool: str, last: int = 0) -> Iterator[MatchEvent]:
    """A pool's rated rounds after a number, in the order in which they were applied."""
    while rows := db.execute(_ROUNDS, (pool, last, PAGE)).fetchall():
        first, last = rows[0][0], rows[-1][0]
        participants = db.execute(_PARTICIPANTS, (pool, first, last)).fetchall()
        parts = {number: list(group) for number, group in groupby(participants, key=lambda part: part[0])}
        for number, prediction, *facts in rows:
            yield MatchEvent(number, _record(tuple(facts), parts[number]), prediction)


def void_event(db: sqlite3.Connection, number: int) -> MatchEvent:
    """A round that was taken out of the ratings, as its system received it."""
    (prediction, *facts) = db.execute(f"SELECT prediction, {_FACTS} FROM rounds WHERE number = ?", (number,)).fetchone()
    parts = [
        (number, row.player, row.side.value, row.seconds_a, row.seconds_b, row.quit, row.spans, row.counts)
        for row in round_rows.voided_participants(db, number)
    ]
    return MatchEvent(number, _record(tuple(facts), parts), prediction or 0.5)


def stored_rounds(db: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[tuple[str, float, RecordRound]]:
    """Rounds as they could be stored anew: the pool, the time when each first came in, and what was known of it.

    One that is not rated, or was taken out of the ratings, has no participants, and says why.
    """
    for number in numbers:
        query = f"SELECT pool, recorded_at, unrated, voided, {_FACTS} FROM rounds WHERE number = ?"
        pool, at, reason, void, *facts = db.execute(query, (number,)).fetchone()
        parts = db.execute(_PARTICIPANTS, (pool, number, number)).fetchall()
        record = _record(tuple(facts), parts)
        yield pool, at, replace(record, unrated=reason if void is None else "void")


def _record(facts: _Facts, parts: list[_Part]) -> RecordRound:
    round_id, server, session, map_name, mode, started_at, seconds, winner, lineup = facts[:9]
    *captures, partial, waiting_room, skill_at_start, squads, bots = facts[9:]
    match_round = Round(
        id=RoundId(round_id),
        server=ServerId(server),
        session=session,
        map=map_name,
        mode=Mode(mode),
        started_at=started_at,
        seconds=seconds,
        winner=None if winner is None else Side(winner),
        lineup=_lineup.decode(lineup),
        presences=tuple(_presence(part) for part in parts),
        captures_a=captures[0],
        captures_b=captures[1],
        partial=bool(partial),
        waiting=bool(waiting_room),
        squads=() if squads is None else _squads.decode(squads),
        bots=spans_of(bots),
    )
    participants = tuple(
        Participant(presence.id, presence.side, presence.seconds_a, presence.seconds_b, presence.spans, presence.counts)
        for presence in match_round.presences
    )
    return RecordRound(
        match_round,
        participants,
        skill_at_start=None if skill_at_start is None else _skill_at_start.decode(skill_at_start),
    )


def _presence(part: _Part) -> Presence:
    _, player, side, seconds_a, seconds_b, has_left, spans, counts = part
    return Presence(
        id=PlayerId(player),
        side=Side(side),
        seconds_a=seconds_a,
        seconds_b=seconds_b,
        fought=True,
        left=bool(has_left),
        spans=spans_of(spans),
        counts=counts_of(counts),
    )


class VoidStrike(msgspec.Struct, frozen=True, tag=True):
    """Take a round out of the ratings; or put it back."""

    server: ServerId
    round: RoundId
    back: bool = False


class UndoStrike(msgspec.Struct, frozen=True, tag=True):
    """Take back a player's last edit; or, when that was taken back, apply it again."""

    player: PlayerId


Strike = VoidStrike | UndoStrike


@dataclass(frozen=True, slots=True)
class Undone:
    """A player's edit that is taken back, or applied again."""

    action: str
    """The kind of edit: `set`, `reset`, …."""
    at: float
    """Seconds since the epoch."""
    who: str
    """The token or player that made it."""
    before: float | None
    """The rating before it; None: they had none."""
    after: float
    """The rating after it."""


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """A stored, rated round as it was predicted by itself, for a calibration."""

    mode: Mode
    map: str
    predicted: float
    """Win probability of side A."""
    score: float
    """1, 0.5 or 0."""


# Undone edits, and the results of replays, are no events of their own: the rows of rounds and edits have them.
_ROUND_AFTER = """
SELECT round, rounds FROM participants WHERE pool = :pool AND player = :player AND round >= :number
ORDER BY round LIMIT 1
"""
_EDIT_AFTER = """
SELECT edit, before_rating, before_rounds, before_visible, before_played, before_state
FROM edited JOIN edits ON edits.number = edit
WHERE edited.pool = :pool AND player = :player AND edit >= :number AND NOT struck
    AND action IN ('set', 'reset', 'import', 'refit') ORDER BY edit LIMIT 1
"""
_ROUND_BEFORE = """
SELECT round, after, rounds, visible, state FROM participants
WHERE pool = :pool AND player = :player AND round < :number ORDER BY round DESC LIMIT 1
"""
_EDIT_BEFORE = """
SELECT edit, after_rating, after_rounds, after_visible, after_played, after_state
FROM edited JOIN edits ON edits.number = edit
WHERE edited.pool = :pool AND player = :player AND edit < :number AND NOT struck
    AND action IN ('set', 'reset', 'import', 'refit') ORDER BY edit DESC LIMIT 1
"""
_PLAYED = """
SELECT max(started_at) FROM participants JOIN rounds ON rounds.number = round
WHERE participants.pool = :pool AND player = :player AND round < :number AND round > :since
"""
_WINDOW = """
SELECT after, prediction, score FROM participants
WHERE pool = :pool AND player = :player AND round < :number ORDER BY round DESC LIMIT :window
"""


@dataclass(frozen=True, slots=True)
class Struck:
    """The event that a strike is about."""

    number: int
    back: bool
    """It is put back."""
    event: Event | None
    """The event in its place from now on; None: there is none."""
    players: tuple[PlayerId, ...]
    """Whose ratings it changed, or will."""
    undone: Undone | None = None


class Past:
    """One pool's past. Its numbers are those of the sequence."""

    def __init__(self, db: sqlite3.Connection, pool: str) -> None:
        self._db = db
        self._pool = pool
        self.pruned = round_rows.pruned_rounds(db, pool)
        """Rated rounds that were deleted."""
        self.last = sequence.last_number(db, pool)

    def fingerprint(self) -> Fingerprint:
        """Return the system that made the ratings. StoreError: the pool has none."""
        made_by = player_rows.fingerprint(self._db, self._pool)
        if made_by is None:
            raise StoreError(f"pool {self._pool}: it has no ratings yet")
        return made_by

    def struck(self, strike: Strike) -> Struck:
        """Find the event. ScriptError: there is none, or it cannot be struck."""
        match strike:
            case VoidStrike():
                return self._struck_round(strike)
            case UndoStrike():
                return self._struck_edit(strike.player)

    def events(self, after: int) -> Iterator[Event]:
        """Rated rounds and edits after a number, in order."""
        return events(self._db, self._pool, after)

    def rounds(self) -> Iterator[MatchEvent]:
        """All rated rounds, in order."""
        return rated(self._db, self._pool)

    def edits(self) -> Iterator[Edit]:
        """All edits, in order."""
        return sequence.edits(self._db, self._pool)

    def snapshot(self, most: int) -> Snapshot | None:
        """The newest of the pool's own system, of those after at most event `most`; None: there is none."""
        return sequence.newest(self._db, self._pool, "system", most)

    def learnt_spread(self) -> LearntSpread | None:
        """The spread of skill that was adopted last; None: none was."""
        return sequence.learnt_spread(self._db, self._pool)

    def calibrations(self) -> list[Edit]:
        """The edits that change what is said of predictions, or end it."""
        return sequence.calibrations(self._db, self._pool)

    def predictions(self, most: int, after: int, *, followed: bool) -> list[CalibrationSample]:
        """The last rated rounds after event `after`, oldest first; those of the system that makes the teams, which
        `followed` says is another one."""
        column = "balance_prediction" if followed else "prediction"
        rows = self._db.execute(
            f"SELECT mode, map, {column}, winner FROM rounds WHERE pool = ? AND number > ? "
            f"AND prediction IS NOT NULL AND {column} IS NOT NULL ORDER BY number DESC LIMIT ?",
            (self._pool, after, most),
        ).fetchall()
        return [
            CalibrationSample(Mode(mode), map_name, chance, SCORES[winner])
            for mode, map_name, chance, winner in reversed(rows)
        ]

    def refitted(self, after: int) -> bool:
        """Return whether a refit came after a number: it made every rating, unless another system made them since."""
        row = self._db.execute(
            "SELECT 1 FROM edits WHERE pool = ? AND number > ? AND action = 'refit' "
            "AND EXISTS (SELECT 1 FROM edited WHERE edit = number) LIMIT 1",
            (self._pool, after),
        )
        return row.fetchone() is not None

    def lost(self, number: int) -> int:
        """Edits without a state since a round or an edit."""
        row = self._db.execute(
            "SELECT started_at FROM rounds WHERE number = :number UNION SELECT at FROM edits WHERE number = :number",
            {"number": number},
        ).fetchone()
        return sequence.lost(self._db, self._pool, row[0])

    def everybody(self) -> set[PlayerId]:
        """All players with a row."""
        return {
            PlayerId(player) for (player,) in self._db.execute("SELECT id FROM players WHERE pool = ?", (self._pool,))
        }

    def now(self, player: PlayerId, window: int = 0) -> PlayerRow | None:
        """A player's row, with their last `window` rounds; None: they were never rated."""
        return next(iter(player_rows.load(self._db, self._pool, {player: 0}, window)), None)

    def as_of(self, player: PlayerId, number: int, window: int) -> PlayerRow | None:
        """A player as they were before an event; None: a newcomer.

        StoreError: rounds of theirs that it takes to know that were deleted.
        """
        values = {"pool": self._pool, "player": player, "number": number, "window": window}
        next_round = self._db.execute(_ROUND_AFTER, values).fetchone()
        next_edit = self._db.execute(_EDIT_AFTER, values).fetchone()
        if next_round is None and next_edit is None:
            return self.now(player, window)
        # An edit notes the player as they were before it, so that no older row is needed.
        if self.pruned and next_edit is not None and (next_round is None or next_edit[0] < next_round[0]):
            row = (
                player_rows.then(player, *next_edit[1:]) if next_edit[1] is not None else None
            )  # whatever was deleted before it
        else:
            row = self._row_before(player, values)
            # A gap in the player's own count of rounds: rows between the two were deleted.
            if self.pruned and next_round is not None and next_round[1] != (row.rounds if row else 0) + 1:
                raise self._deleted(player)
        if row is None:
            return None
        history = tuple(self._db.execute(_WINDOW, values).fetchall()[::-1]) if window else ()
        in_window = row.state.get("windowed", 0)
        if self.pruned and isinstance(in_window, int) and len(history) < min(in_window, window):
            raise self._deleted(player)
        return replace(row, history=history)

    def _row_before(self, player: PlayerId, values: dict[str, object]) -> PlayerRow | None:
        """From the last round or edit before, whichever came later."""
        last_edit = self._db.execute(_EDIT_BEFORE, values).fetchone() or (0, 0.0, 0, 0, None, "{}")
        last_round = self._db.execute(_ROUND_BEFORE, values).fetchone() or (0, 0.0, 0, 0, "{}")
        if not last_edit[0] and not last_round[0]:
            return None
        if last_edit[0] > last_round[0]:
            return player_rows.then(player, *last_edit[1:])
        (last,) = self._db.execute(_PLAYED, {**values, "since": last_edit[0]}).fetchone()
        _, points, rounds, visible, state = last_round
        return player_rows.then(
            player, points, rounds, visible, last if last_edit[4] is None else max(last, last_edit[4]), state
        )

    def _deleted(self, player: PlayerId) -> StoreError:
        return StoreError(
            f"{player}: older rounds were deleted (retention.rounds_days), without them it cannot be done"
        )

    def _struck_round(self, strike: VoidStrike) -> Struck:
        name = f"round {strike.round} of {strike.server}"
        row = self._db.execute(
            "SELECT number, pool, prediction, unrated, voided, pruned FROM rounds WHERE server = ? AND id = ?",
            (strike.server, strike.round),
        ).fetchone()
        if row is None or row[1] != self._pool:
            raise ScriptError("not_found", f"{name} is not stored", status=404)
        number, _, prediction, reason, void, is_pruned = row
        if is_pruned:
            raise _refused(f"{name} is too old: rows of its players were deleted (retention.rounds_days)")
        if prediction is None and void is None:
            raise _refused(f"{name} is not rated: {reason or 'nobody played it long enough'}")
        if (void is not None) != strike.back:
            raise _refused(f"{name} is {'not void' if strike.back else 'void already'}")
        if strike.back:
            event = void_event(self._db, number)
            return Struck(number, True, event, tuple(participant.id for participant in event.record.participants))
        rows = self._db.execute("SELECT player FROM participants WHERE round = ? ORDER BY place", (number,))
        return Struck(number, False, None, tuple(PlayerId(player) for (player,) in rows))

    def _struck_edit(self, player: PlayerId) -> Struck:
        last = sequence.last_edit(self._db, self._pool, player)
        if last is None:
            raise ScriptError("not_found", f"{player}: there is no edit to take back", status=404)
        number, back = last
        edit = next(sequence.edits(self._db, self._pool, number - 1))
        own = next(entry for entry in sequence.touched(self._db, number, struck=back) if entry.id == player)
        rest = tuple(entry for entry in edit.touched if entry.id != player)
        before = None if own.before is None else own.before.rating
        undone = Undone(edit.action, edit.at, edit.who, before, own.after.rating)
        entries = (*rest, own) if back else rest
        return Struck(number, back, replace(edit, touched=entries), (player,), undone)


def _refused(message: str) -> ScriptError:
    return ScriptError("refused", message, status=409)


@contextmanager
def opened(path: Path, pool: str) -> Iterator[Past]:
    """A pool's past as of now."""
    with store_errors():
        db = reading(path)
        try:
            # A read transaction: however long the replay takes, all of it sees the store as of now.
            db.execute("BEGIN")
            yield Past(db, pool)
        finally:
            db.close()
