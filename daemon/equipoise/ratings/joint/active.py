"""Who is in the dense Gaussian of `joint`, and who is parked: the state, by player and by place."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from equipoise.core.model import PlayerId, is_bot
from equipoise.ratings.joint.formulas import (
    FLOOR,
    FREE,
    HEAD,
    HEAD_COUNT,
    NEWCOMERS,
    NOWHERE,
    STRANGER,
    Dense,
    People,
    Roll,
    State,
    park,
)
from equipoise.ratings.joint.own import OwnScores
from equipoise.ratings.parameters import FARTHEST, NEVER

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats
    from equipoise.ratings.joint.formulas import Ints
    from equipoise.ratings.joint.params import JointParams

SMALLEST = 64
"""Length of new arrays of players, and rows of a new Gaussian."""

Arrays = TypeVar("Arrays", Roll, People)


class Place(NamedTuple):
    """The key of a side's worth: the pair of sides, in alphabetical order, on a map or on all of them."""

    sides: tuple[str, str]
    map: str = ""


class Active:
    """The state of the filter, with the names of its players and places."""

    def __init__(self, params: JointParams) -> None:
        self.params = params
        """Those of the system, with the spread of skill that a pool's rounds have shown in place of the first one."""
        self.constants = params.constants()
        self.numbers: dict[PlayerId, int] = {}
        self.places: dict[Place, int] = {}
        self.free: list[int] = []
        """Numbers of players who were forgotten."""
        self.state = State(
            dense=new_dense(params.head_count, params.head_count_spread**2, (params.newcomers * params.spread) ** 2),
            players=_roll(SMALLEST, params.spread**2),
            places=_roll(SMALLEST, 0.0),
            people=_people(SMALLEST, params.spread**2, self.constants.newcomer),
            time=np.full(1, NEVER),
            events=np.zeros(1, np.int64),
        )
        self.own = OwnScores(params.spread)

    def copy(self) -> Active:
        """The same, of which a change leaves this one as it is."""
        twin = copy.copy(self)
        twin.numbers, twin.places, twin.free = dict(self.numbers), dict(self.places), list(self.free)
        twin.state, twin.own = _copied(self.state), copy.deepcopy(self.own)
        return twin

    def number(self, player: PlayerId) -> int:
        """The player's number, `STRANGER` for one who is not held."""
        return self.numbers.get(player, STRANGER)

    def admit(self, players: Iterable[PlayerId]) -> None:
        """Number the players who have no number, as newcomers."""
        for player in players:
            if player not in self.numbers:
                # Without free numbers those in use are 0 to n - 1, so n is the next.
                self.numbers[player] = self.free.pop() if self.free else len(self.numbers)
        if self._used() > len(self.state.people.rounds):
            self._widen(self._used())

    def find_place(self, place: Place) -> int:
        """The place's number; `NOWHERE` if no match was played there."""
        return self.places.get(place, NOWHERE)

    def admit_place(self, place: Place) -> int:
        """The place's number, a new one if it has none."""
        if place in self.places:
            return self.places[place]
        number = self.places[place] = len(self.places)
        roll = self.state.places
        if number >= len(roll.row):
            roll = _longer(roll, _roll(2 * len(roll.row), 0.0))
            self.state = self.state._replace(places=roll)
        roll.variance[number] = self.spread_of(place) ** 2
        return number

    def spread_of(self, place: Place) -> float:
        """Standard deviation of a place's worth before any match."""
        return self.params.map_spread if place.map else self.params.side_spread

    def make_room(self, more: int) -> None:
        """Have room for this many more rows."""
        dense = grown(self.state.dense, more)
        if dense is not self.state.dense:
            self.state = self.state._replace(dense=dense)

    def mean(self, player: PlayerId) -> float:
        """The mean of one player's skill, as `moments` has it: it is asked for often, one player at a time."""
        number, state = self.numbers.get(player), self.state
        worth: float = state.dense.mean.item(NEWCOMERS)
        if number is None:
            return self._newcomer(player) * worth
        if (row := state.players.row.item(number)) != NOWHERE:
            return state.dense.mean.item(row)
        return state.players.mean.item(number) + state.people.newcomer.item(number) * worth

    def variance(self, player: PlayerId) -> float:
        """The variance of one player's skill, as `moments` has it at the latest time that is known."""
        prior, number, state = self.params.spread**2, self.numbers.get(player), self.state
        worth: float = state.dense.cov.item(NEWCOMERS, NEWCOMERS)
        if number is None:
            return prior + self._newcomer(player) ** 2 * worth
        if (row := state.players.row.item(number)) != NOWHERE:
            variance: float = state.dense.cov.item(row, row)
        else:
            variance = state.players.variance.item(number) + state.people.newcomer.item(number) ** 2 * worth
        last: float = state.people.last_played.item(number)
        if last <= NEVER:
            return variance
        away = max(0.0, state.time.item(0) - max(last, -FARTHEST)) * self.constants.drift2_second
        return variance + min(max(prior - variance, 0.0), away)

    def moments(self, players: Sequence[PlayerId]) -> tuple[Floats, Floats]:
        """Mean and covariance of the players' skills at the latest time that is known; log-odds."""
        state = self.state
        mean, numbers, rows, newcomer = self._located(players)
        variance = np.where(numbers == STRANGER, self.params.spread**2, state.players.variance[numbers])
        cov = np.diag(variance) + np.outer(newcomer, newcomer) * state.dense.cov[NEWCOMERS, NEWCOMERS]
        rated, dense = np.flatnonzero(numbers != STRANGER), np.flatnonzero(rows != NOWHERE)
        # Three kinds of pairs: two who are dense have their entry; two who are not share the newcomers' worth alone,
        # set above; of one of each the newcomers' worth correlates with the row, added below.
        cov[np.ix_(dense, dense)] = state.dense.cov[np.ix_(rows[dense], rows[dense])]
        cross = np.outer(newcomer, state.dense.cov[NEWCOMERS, rows[dense]])
        cov[:, dense] += cross
        cov[dense, :] += cross.T
        cov[rated, rated] += self._away(numbers[rated], cov[rated, rated])
        return mean, cov

    def _located(self, players: Sequence[PlayerId]) -> tuple[Floats, Ints, Ints, Floats]:
        """Return the players' means, numbers, rows, and what the worth of newcomers counts in them beside their row."""
        state = self.state
        numbers = np.array([self.number(player) for player in players], np.int64)
        strange = numbers == STRANGER
        # A stranger's number reads somebody's line, which is not used.
        rows = np.where(strange, NOWHERE, state.players.row[numbers])
        newcomer = np.where(rows == NOWHERE, state.people.newcomer[numbers], 0.0)  # a row has it already
        for index in np.flatnonzero(strange):
            newcomer[index] = self._newcomer(players[int(index)])
        mean = np.where(strange, 0.0, state.players.mean[numbers]) + newcomer * state.dense.mean[NEWCOMERS]
        return np.where(rows == NOWHERE, mean, state.dense.mean[rows]), numbers, rows, newcomer

    def forget(self, player: PlayerId) -> None:
        """Drop a player."""
        number = self.numbers.pop(player, NOWHERE)
        if number == NOWHERE:
            return
        state, variance = self.state, self.params.spread**2
        # Frees the row; what the others learnt from rounds with this player stays in theirs.
        park(number, state.players, state.dense)
        for arrays, blank in (
            (state.players, _roll(1, variance)),
            (state.people, _people(1, variance, self.constants.newcomer)),
        ):
            for array, value in zip(arrays, blank, strict=True):
                array[number] = value[0]
        self.own.forget(number)
        self.free.append(number)

    def enter_values(
        self,
        number: int,
        mean: float | None = None,
        variance: float | None = None,
        rounds: int | None = None,
        last_played: float | None = None,
    ) -> None:
        """Set what is given of a player from outside; a variance ends the correlations of their skill.

        Who is known from elsewhere is no newcomer.
        """
        state = self.state
        people, row = state.people, state.players.row[number]
        # `last_played` alone says nothing of how good they are.
        if not (mean is None and variance is None and rounds is None):
            people.newcomer[number] = 0.0
        if variance is not None:
            if row != NOWHERE:
                self.separate(row, max(variance, FLOOR))
            state.players.variance[number] = people.shown_variance[number] = max(variance, FLOOR)
        if mean is not None:
            (state.players.mean if row == NOWHERE else state.dense.mean)[number if row == NOWHERE else row] = mean
            people.shown[number] = mean
        if rounds is not None:
            people.rounds[number] = rounds
        if last_played is not None:
            people.last_played[number] = last_played

    def separate(self, row: int, variance: float) -> None:
        """Give a coordinate this variance, independent of all others."""
        cov = self.state.dense.cov
        cov[row, :] = cov[:, row] = 0.0
        cov[row, row] = variance

    def _away(self, numbers: Ints, variance: Floats) -> Floats:
        """Return the gain of players' variances since they last played."""
        last, per_second = self.state.people.last_played[numbers], self.constants.drift2_second
        # Without a known time there is none to have passed.
        seconds = np.where(last > NEVER, self.state.time[0] - np.maximum(last, -FARTHEST), 0.0)
        gain: Floats = np.clip(self.params.spread**2 - variance, 0.0, np.maximum(seconds, 0.0) * per_second)
        return gain

    def _newcomer(self, player: PlayerId) -> float:
        """The part of the worth of newcomers in the skill of a player who is not held."""
        return 0.0 if is_bot(player) else self.constants.newcomer

    def _used(self) -> int:
        return len(self.numbers) + len(self.free)

    def _widen(self, least: int) -> None:
        state, variance = self.state, self.params.spread**2
        length = max(2 * len(state.people.rounds), least)
        self.state = state._replace(
            players=_longer(state.players, _roll(length, variance)),
            people=_longer(state.people, _people(length, variance, self.constants.newcomer)),
        )


def _roll(length: int, variance: float) -> Roll:
    return Roll(
        mean=np.zeros(length),
        variance=np.full(length, variance, np.float64),
        row=np.full(length, NOWHERE, np.int64),
        stamp=np.zeros(length, np.int64),
    )


def _people(length: int, variance: float, newcomer: float) -> People:
    return People(
        rounds=np.zeros(length, np.int64),
        last_played=np.full(length, NEVER),
        shown=np.zeros(length),
        shown_variance=np.full(length, variance, np.float64),
        newcomer=np.full(length, newcomer, np.float64),
    )


def _longer(arrays: Arrays, blank: Arrays) -> Arrays:
    """The blank arrays with the others' values in front."""
    for old, new in zip(arrays, blank, strict=True):
        new[: len(old)] = old
    return blank


def _copied(arrays: Any) -> Any:
    """Arrays, and tuples of them."""
    return type(arrays)(*map(_copied, arrays)) if isinstance(arrays, tuple) else arrays.copy()


def new_dense(mean: float, variance: float, newcomers: float) -> Dense:
    """A Gaussian with the head count, and the worth of newcomers with mean 0 and this variance."""
    dense = _blank(SMALLEST)
    dense.kind[:2], dense.counts[FREE], dense.counts[HEAD] = HEAD, 2, 2
    dense.mean[HEAD_COUNT], dense.cov[HEAD_COUNT, HEAD_COUNT] = mean, variance
    dense.cov[NEWCOMERS, NEWCOMERS] = newcomers
    return dense


def grown(dense: Dense, more: int) -> Dense:
    """The Gaussian with room for this many more rows: itself if it has it, else a larger one."""
    size, have = int(dense.counts[FREE]), len(dense.mean)
    # Rows that were freed since are used first, so this is at times more room than is needed.
    if size + more <= have:
        return dense
    # By an eighth: a matrix of twice the rows would take four times the memory, most of it for nothing.
    larger = _blank(max(have + have // 8, size + more))
    larger.mean[:size] = dense.mean[:size]
    larger.cov[:size, :size] = dense.cov[:size, :size]
    larger.kind[:size], larger.owner[:size] = dense.kind[:size], dense.owner[:size]
    larger.counts[:] = dense.counts
    return larger


def _blank(rows: int) -> Dense:
    return Dense(
        mean=np.zeros(rows),
        cov=np.zeros((rows, rows)),
        kind=np.zeros(rows, np.int64),
        owner=np.full(rows, -1, np.int64),
        counts=np.zeros(4, np.int64),
        work=np.zeros(rows),
    )
