"""The sequence of a store: rounds and edits, numbered together in the order in which they were applied.

An edit is a change of ratings that is not a round. Replays go through both in this order, so that what admins changed
is kept when rounds before it are rated anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, RoundId, ServerId
from equipoise.store.rated import PlayerRow, Snapshot

AT_ONCE = 200
"""Events that are read at once: where fewer come there are no more."""

EditAction = Literal["set", "reset", "undo", "import", "refit", "void", "spread", "calibration"]


@dataclass(frozen=True, slots=True)
class Touched:
    """A player in an edit."""

    id: PlayerId
    before: PlayerRow | None
    """None: they had no row."""
    after: PlayerRow


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of ratings that is not a round, at its place in the sequence."""

    number: int
    at: float
    """Seconds since the epoch."""
    who: str
    action: EditAction
    detail: Mapping[str, object]
    """Plain data: the `rating` that was set, the `round` and `server` that were voided, the `reason`."""
    touched: tuple[Touched, ...] = ()
    """Without those for whom it was undone."""
    shared: Mapping[str, object] | None = None
    """All parts of the system's shared state after a refit."""


@dataclass(frozen=True, slots=True)
class NumberedRound:
    """A rated round at its place in the sequence."""

    number: int
    record: RecordRound
    prediction: float
    """The stored win probability of side A."""


Event = NumberedRound | Edit

RESULTS = ("undo", "void", "spread", "calibration")
"""Edits that follow from the rounds, and change no rating of their own."""


@dataclass(frozen=True, slots=True)
class BulkEdit:
    """New ratings of many players at once."""

    action: Literal["import", "refit", "spread", "calibration"]
    at: float
    """Seconds since the epoch."""
    who: str
    rows: Sequence[PlayerRow]
    """The players after it; version and history are ignored."""
    before: str
    """With `after`, the texts of the audit's line."""
    after: str
    shared: Mapping[str, object] | None = None
    """All parts of the system's shared state; None: it stays as it is."""
    detail: Mapping[str, object] = field(default_factory=dict)
    """Plain data about where the ratings come from."""
    last: int | None = None
    """The pool's last event that they take into account; None: any."""
    snapshot: Snapshot | None = None
    """Of a sequential system, with which it goes on; those from before go."""


@dataclass(frozen=True, slots=True)
class LearntSpread:
    """The spread of skill that a pool's rounds have taught `joint`: of all that it knows, from the event on."""

    number: int
    """Of the event; 0 before it is stored."""
    at: float
    """Seconds since the epoch."""
    spread: float
    """Log-odds, as all of these."""
    error: float
    """Its standard error."""
    rounds: int
    """That it was fitted to."""
    before: float
    """In use until then."""
    configured: float
    """Where it began: once the configuration says another one, what was learnt from there counts no more."""


@dataclass(frozen=True, slots=True)
class RoundStrike:
    """Take a round out of the ratings; or put it back."""

    server: ServerId
    round: RoundId
    back: bool = False


@dataclass(frozen=True, slots=True)
class EditStrike:
    """Take back a player's last edit; or, when that was taken back, apply it again."""

    player: PlayerId


Strike = RoundStrike | EditStrike


@dataclass(frozen=True, slots=True)
class Shift:
    """A player whose stored numbers change."""

    id: PlayerId
    before: float
    """The rating before it."""
    after: float
    """The rating after it."""
    rounds_before: int
    """Rated rounds before it."""
    rounds_after: int
    """Rated rounds after it."""


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
class Revised:
    """What follows a strike, replayed: what would change, or did."""

    number: int
    """Of the event that is struck, or put back."""
    back: bool
    """It is put back."""
    last: int
    """The pool's last event that was replayed."""
    rounds: int
    """Replayed rounds."""
    edits: int
    """Replayed edits."""
    lost: int
    """Ratings that admins changed before edits were stored: a replay cannot keep them."""
    refitted: bool
    """A later refit made the ratings: they stay until the next one."""
    shifts: tuple[Shift, ...]
    """The largest first."""
    undone: Undone | None = None
    """None: it is about a round."""
