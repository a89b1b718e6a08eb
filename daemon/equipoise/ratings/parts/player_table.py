"""Systems that hold a record of each player: all but TeamSkill, whose base systems do.

A record is a dataclass whose fields are the state of a player: `state` returns them by name as plain data, `restore`
makes a record from them.  A field's metadata holds the range of the stored number (`bounded`), and its type says
whether the number is whole.  `NEVER` in a record is null in a state.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, field, fields, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.errors import RatingError
from equipoise.ratings.parameters import DAY, NEVER, count_of, is_count, known_time, number_of
from equipoise.ratings.parts.match_arrays import BOT, Lineup
from equipoise.ratings.system import Match, Past, State, System


class ShownParams(Protocol):
    """Parameters that say when a rating is shown and when it is stale."""

    @property
    def shadow_rounds(self) -> int:
        """Rounds before a rating is shown."""

    @property
    def stale_days(self) -> float:
        """Days without a rated round before a player is flagged."""


Bounds = tuple[float, float]
"""The least and the most that a stored number may be."""

P = TypeVar("P", bound=ShownParams)
R = TypeVar("R")


class PlayerTable(System[P], Generic[P, R]):
    """A system with one record per player.  A player is held after their first match, `seed` or `restore`."""

    bounds: ClassVar[Mapping[str, Bounds]] = {}
    """Ranges by field that replace those in the record's metadata."""

    def __init__(self, params: P) -> None:
        super().__init__(params)
        self.players: dict[PlayerId, R] = {}

    @abstractmethod
    def newcomer(self) -> R:
        """The record of a player without matches."""

    def held(self, player: PlayerId) -> R:
        """The record of a player; for a player who is not held, a newcomer's record, which is not kept."""
        return self.players.get(player) or self.newcomer()

    def records(self, sides: Iterable[Iterable[PlayerId]]) -> list[R]:
        """The held records of all players themselves; those of newcomers, which are not kept."""
        get = self.players.get
        records = [get(player) for side in sides for player in side]
        # A record is always true; only None is not. The usual case, without making anything.
        if all(records):
            return records  # type: ignore[return-value]  # none of them is None
        return [record or self.newcomer() for record in records]

    def state(self, player: PlayerId) -> State:
        """The fields of the record by name."""
        return plain(self.held(player))

    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """Hold a player with the fields in `state`; `history` is not used."""
        newcomer = self.newcomer()
        if set(state) != {column.name for column in fields(newcomer)}:  # type: ignore[arg-type]
            raise RatingError(f"{player}: not a {self.name} state: {sorted(state)}")
        self.players[player] = replace(newcomer, **self.stored(player, newcomer, state))  # type: ignore[type-var]

    def stored(self, player: PlayerId, newcomer: R, state: State) -> dict[str, Any]:
        """The fields of a state, checked; a null for `NEVER` is left out."""
        return checked(player, newcomer, state, self.bounds)

    def forget(self, player: PlayerId) -> None:
        """Remove the player's record."""
        self.players.pop(player, None)

    def __contains__(self, player: PlayerId) -> bool:
        return player in self.players

    @property
    def stale_after(self) -> float:
        """`stale_days` in seconds."""
        return self.params.stale_days * DAY

    def shown(self, player: PlayerId, rating: float, rounds: int, last_played: float) -> PlayerSummary:
        """Make a summary that is visible after the shadow period."""
        lack = max(0, self.params.shadow_rounds - rounds)
        return PlayerSummary(player, rating, rounds, lack == 0, known_time(last_played), lack)


def bounded(low: float, high: float, default: Any = MISSING) -> Any:
    """Declare a field of a record whose stored value must be from low to high."""
    return field(default=default, metadata={"bounds": (low, high)})


def plain(record: Any) -> dict[str, object]:
    """The fields of a record as JSON has them: null for `NEVER`."""
    return {column.name: known_time(getattr(record, column.name)) for column in fields(record)}


def checked(
    player: PlayerId, record: Any, values: Mapping[str, object], bounds: Mapping[str, Bounds] | None = None
) -> dict[str, Any]:
    """Check stored values of a record's fields; raises `RatingError`, naming the player and the field.

    None is allowed for a field whose default is `NEVER` or None, and is left out of the result.
    """
    return {
        column.name: _number(player, column, values[column.name], bounds or {})
        for column in fields(record)
        if column.name in values and (values[column.name] is not None or column.default not in (None, NEVER))
    }


def _number(player: PlayerId, kept: Field[Any], value: object, bounds: Mapping[str, Bounds]) -> float:
    low, high = bounds.get(kept.name) or kept.metadata.get("bounds", (-math.inf, math.inf))
    number = number_of(player, kept.name, value, low, high)
    return count_of(player, kept.name, value) if is_count(kept) else number


def refuse_bots(match: Match, lineup: Lineup) -> None:
    """Raise `RatingError` for a bot among the participants; bots may only be in a lineup, here that of the match."""
    # The common case by one look at small numbers: without a lineup the teams stand in it.
    if not match.lineup and BOT not in lineup.members:
        return
    for side in match.teams:
        for player in filter(is_bot, side):
            raise RatingError(f"{player}: bots are not rated: they may only stand in a lineup")
