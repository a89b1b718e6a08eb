"""A pool's past as a replay beside the daemon reads it: from the store's file, by a connection that only reads.

It reads the store as of one moment, whatever the daemon writes meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import msgspec

from equipoise.core.model import Mode, PlayerId
from equipoise.errors import ScriptError, StoreError
from equipoise.store.rated import Fingerprint, PlayerRow, Snapshot
from equipoise.store.sequence import Edit, EditStrike, Event, LearntSpread, NumberedRound, RoundStrike, Strike, Undone
from equipoise.store.sqlite import players, replays, retention, sequence, snapshots
from equipoise.store.sqlite.connection import store_errors
from equipoise.store.upkeep import PredictedRound

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
    """What stands in its place from now on; None: nothing."""
    players: tuple[PlayerId, ...]
    """Whose ratings it changed, or will."""
    undone: Undone | None = None


class Past:
    """One pool's past. Its numbers are those of the sequence."""

    def __init__(self, db: sqlite3.Connection, pool: str) -> None:
        self._db = db
        self._pool = pool
        self.pruned = retention.pruned_rounds(db, pool)
        """Rated rounds that were deleted."""
        self.last = sequence.last_number(db, pool)

    def fingerprint(self) -> Fingerprint:
        """What made the ratings. StoreError: the pool has none."""
        found = players.fingerprint(self._db, self._pool)
        if found is None:
            raise StoreError(f"pool {self._pool}: it has no ratings yet")
        return found

    def struck(self, strike: Strike) -> Struck:
        """Find the event. ScriptError: there is none, or it cannot be struck."""
        match strike:
            case RoundStrike():
                return self._struck_round(strike)
            case EditStrike():
                return self._struck_edit(strike.player)

    def events(self, after: int) -> Iterator[Event]:
        """Rated rounds and edits after a number, in order."""
        return replays.events(self._db, self._pool, after)

    def rounds(self) -> Iterator[NumberedRound]:
        """All rated rounds, in order."""
        return replays.rated(self._db, self._pool)

    def edits(self) -> Iterator[Edit]:
        """All edits, in order."""
        return sequence.edits(self._db, self._pool)

    def snapshot(self, most: int) -> Snapshot | None:
        """The newest of the pool's own system, of those after at most event `most`."""
        return snapshots.newest(self._db, self._pool, "system", most)

    def learnt_spread(self) -> LearntSpread | None:
        """The spread of skill that was adopted last."""
        return sequence.learnt_spread(self._db, self._pool)

    def calibrations(self) -> list[Edit]:
        """The edits that change what is said of predictions, or end it."""
        return sequence.calibrations(self._db, self._pool)

    def predictions(self, most: int, after: int, *, followed: bool) -> list[PredictedRound]:
        """The last rated rounds after event `after`, oldest first; those of the system that makes the teams, which
        `followed` says is another one."""
        column = "balance_prediction" if followed else "prediction"
        found = self._db.execute(
            f"SELECT mode, map, {column}, winner FROM rounds WHERE pool = ? AND number > ? "
            f"AND prediction IS NOT NULL AND {column} IS NOT NULL ORDER BY number DESC LIMIT ?",
            (self._pool, after, most),
        ).fetchall()
        score = {"a": 1.0, None: 0.5, "b": 0.0}
        return [PredictedRound(Mode(mode), map, said, score[winner]) for mode, map, said, winner in reversed(found)]

    def refitted(self, after: int) -> bool:
        """Whether a refit came after a number: it made every rating, unless they were made by another system since."""
        found = self._db.execute(
            "SELECT 1 FROM edits WHERE pool = ? AND number > ? AND action = 'refit' "
            "AND EXISTS (SELECT 1 FROM edited WHERE edit = number) LIMIT 1",
            (self._pool, after),
        )
        return found.fetchone() is not None

    def lost(self, number: int) -> int:
        """Edits without a state since a round or an edit."""
        found = self._db.execute(
            "SELECT started_at FROM rounds WHERE number = :number UNION SELECT at FROM edits WHERE number = :number",
            {"number": number},
        ).fetchone()
        return sequence.lost(self._db, self._pool, found[0])

    def everybody(self) -> set[PlayerId]:
        """All players with a row."""
        return {PlayerId(id) for (id,) in self._db.execute("SELECT id FROM players WHERE pool = ?", (self._pool,))}

    def now(self, player: PlayerId, window: int = 0) -> PlayerRow | None:
        """A player's row."""
        return next(iter(players.load(self._db, self._pool, {player: 0}, window)), None)

    def as_of(self, player: PlayerId, number: int, window: int) -> PlayerRow | None:
        """A player as they were before an event; None: a newcomer.

        StoreError: rounds of theirs that it takes to know that were deleted.
        """
        here = {"pool": self._pool, "player": player, "number": number, "window": window}
        round = self._db.execute(_ROUND_AFTER, here).fetchone()
        edit = self._db.execute(_EDIT_AFTER, here).fetchone()
        if round is None and edit is None:
            return self.now(player, window)
        if self.pruned and edit is not None and (round is None or edit[0] < round[0]):
            row = _row(player, *edit[1:]) if edit[1] is not None else None  # whatever was deleted before it
        else:
            row = self._row_before(player, here)
            if self.pruned and round is not None and round[1] != (row.rounds if row else 0) + 1:
                raise self._deleted(player)
        if row is None:
            return None
        history = tuple(self._db.execute(_WINDOW, here).fetchall()[::-1]) if window else ()
        windowed = row.state.get("windowed", 0)
        if self.pruned and isinstance(windowed, int) and len(history) < min(windowed, window):
            raise self._deleted(player)
        return replace(row, history=history)

    def _row_before(self, player: PlayerId, here: dict[str, object]) -> PlayerRow | None:
        """From the last round or edit before, whichever came later."""
        edit = self._db.execute(_EDIT_BEFORE, here).fetchone() or (0, 0.0, 0, 0, None, "{}")
        round = self._db.execute(_ROUND_BEFORE, here).fetchone() or (0, 0.0, 0, 0, "{}")
        if not edit[0] and not round[0]:
            return None
        if edit[0] > round[0]:
            return _row(player, *edit[1:])
        (last,) = self._db.execute(_PLAYED, {**here, "since": edit[0]}).fetchone()
        _, rating, rounds, visible, state = round
        return _row(player, rating, rounds, visible, last if edit[4] is None else max(last, edit[4]), state)

    def _deleted(self, player: PlayerId) -> StoreError:
        return StoreError(
            f"{player}: older rounds were deleted (retention.rounds_days), without them it cannot be done"
        )

    def _struck_round(self, strike: RoundStrike) -> Struck:
        name = f"round {strike.round} of {strike.server}"
        found = self._db.execute(
            "SELECT number, pool, prediction, unrated, voided, pruned FROM rounds WHERE server = ? AND id = ?",
            (strike.server, strike.round),
        ).fetchone()
        if found is None or found[1] != self._pool:
            raise ScriptError("not_found", f"{name} is not stored", status=404)
        number, _, prediction, unrated, voided, pruned = found
        if pruned:
            raise _refused(f"{name} is too old: rows of its players were deleted (retention.rounds_days)")
        if prediction is None and voided is None:
            raise _refused(f"{name} is not rated: {unrated or 'nobody played it long enough'}")
        if (voided is not None) != strike.back:
            raise _refused(f"{name} is {'not void' if strike.back else 'void already'}")
        if strike.back:
            event = replays.voided(self._db, number)
            return Struck(number, True, event, tuple(each.id for each in event.record.participants))
        rows = self._db.execute("SELECT player FROM participants WHERE round = ? ORDER BY place", (number,))
        return Struck(number, False, None, tuple(PlayerId(player) for (player,) in rows))

    def _struck_edit(self, player: PlayerId) -> Struck:
        last = sequence.last_edit(self._db, self._pool, player)
        if last is None:
            raise ScriptError("not_found", f"{player}: there is no edit to take back", status=404)
        number, back = last
        edit = next(sequence.edits(self._db, self._pool, number - 1))
        own = next(each for each in sequence.touched(self._db, number, struck=back) if each.id == player)
        rest = tuple(each for each in edit.touched if each.id != player)
        before = None if own.before is None else own.before.rating
        undone = Undone(edit.action, edit.at, edit.who, before, own.after.rating)
        touched = (*rest, own) if back else rest
        return Struck(number, back, replace(edit, touched=touched), (player,), undone)


def _row(player: PlayerId, rating: float, rounds: int, visible: int, played: float | None, state: str) -> PlayerRow:
    plain = msgspec.json.decode(state, type=dict[str, object])
    return PlayerRow(player, 0, rating, rounds, bool(visible), played, plain, ())


def _refused(message: str) -> ScriptError:
    return ScriptError("refused", message, status=409)


@contextmanager
def opened(path: Path, pool: str) -> Iterator[Past]:
    """A pool's past as of now."""
    with store_errors():
        db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None)
        try:
            db.execute("BEGIN")
            yield Past(db, pool)
        finally:
            db.close()
