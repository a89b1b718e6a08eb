"""`joint`: one Gaussian over the skills of all active players, head count, sides and maps.

Its formulas and decisions are in docs/ratings/joint.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import wraps
from itertools import chain
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.errors import RatingError
from equipoise.ratings.joint import formulas as kernel
from equipoise.ratings.joint import snapshot
from equipoise.ratings.joint.active import Active, Place
from equipoise.ratings.joint.fixtures import head_term, lineup_sides, one_fixture, places_of, played_sides
from equipoise.ratings.joint.formulas import HEAD_COUNT, MORE_TERMS, NOWHERE, STRANGER, Answers, Fixtures, Sides, Terms
from equipoise.ratings.joint.observing import rate_observed
from equipoise.ratings.joint.outcome import expected
from equipoise.ratings.joint.params import JointParams
from equipoise.ratings.joint.score_map import ScoreMap
from equipoise.ratings.joint.scores import played_in
from equipoise.ratings.parameters import DAY, FARTHEST, NEVER, count_of, known_time, number_of
from equipoise.ratings.system import (
    ANYWHERE,
    Change,
    Covariance,
    Match,
    Past,
    Rated,
    SkillContext,
    State,
    System,
    WinProbabilities,
    log_odds,
)

T = TypeVar("T", bound=type)


def atomic(locked: T) -> T:
    """A class whose public methods take the object's `lock`; a method of it may call others."""
    for name, value in list(vars(locked).items()):
        if isinstance(value, FunctionType) and (name == "__contains__" or not name.startswith("_")):
            setattr(locked, name, _atomic(value))
    return locked


def _atomic(method: FunctionType) -> Any:
    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        with self.lock:
            return method(self, *args, **named)

    return call


LIMIT = 1e6
"""Points: a rating is never set beyond this."""
WIDEST = 20.0
"""Log-odds: a deviation is never set beyond this."""

FIELDS = ("rating", "deviation", "rounds", "last_played")


@atomic
class Joint(System[JointParams]):
    """Skill is the mean in points, uncertainty its standard deviation.

    Read: teams, ranks, lineup, started_at, fraction_played, spans, seconds, sides, map, weight and counts. Not read:
    skill_at_start, because it may be another system's number.
    """

    name = "joint"
    parameters = JointParams
    sequential = True
    rates_with_variance = True

    def __init__(self, params: JointParams) -> None:
        super().__init__(params)
        self.active = Active(params)
        self.lock = RLock()

    @property
    def correlated(self) -> bool:  # type: ignore[override]  # depends on a parameter
        """Whether correlations are kept."""
        return self.params.correlations

    @property
    def stale_after(self) -> float:
        """`stale_days` in seconds."""
        return self.params.stale_days * DAY

    def predict(self, match: Match) -> WinProbabilities:
        """Predict the lineups, assuming that all play to the end.  A draw counts as half a win, so `draw` is 0."""
        first = expected(*self.outlook(match))
        return WinProbabilities((first, 1.0 - first))

    def outlook(self, match: Match) -> tuple[float, float]:
        """Mean and variance of the difference between the lineups, in log-odds."""
        self._refuse_other_than_two(match)
        lineup = lineup_sides(match, self.active.number)
        mean, variance = self._foreseen(one_fixture(match, self.active, lineup, lineup, 0.5))
        return mean, variance + self._variance_of(self._strange(match))

    def _foreseen(self, fixtures: Fixtures) -> tuple[float, float]:
        """Mean and variance of the difference between the lineups, by the places that are held."""
        lineup, active = fixtures.lineup, self.active
        return kernel.foresee(0, fixtures, lineup, _terms(len(lineup.members)), active.state, active.constants)

    def _strange(self, match: Match) -> list[Place]:
        """The places of a match where none was played: they are not held; their priors are."""
        return [place for place in places_of(match)[0] if self.active.find_place(place) == NOWHERE]

    def _variance_of(self, strange: Sequence[Place]) -> float:
        return sum(self.active.spread_of(place) ** 2 for place in strange)

    def variance(self, match: Match) -> float:
        """Return the variance of the lineups' difference in log-odds: of players, head count, sides and map."""
        return self.outlook(match)[1]

    def rate(self, match: Match) -> Rated:
        """Rate a match; one change per participant."""
        self._refuse_other_than_two(match)
        score = match.score(0)
        players = [*chain.from_iterable(match.teams)]
        for player in filter(is_bot, players):
            raise RatingError(f"{player}: bots are not rated: they may only stand in a lineup")
        before = [self._shown(player) for player in players]
        lineup, strange = lineup_sides(match, self.active.number), self._strange(match)
        mean, held_variance = self._foreseen(one_fixture(match, self.active, lineup, lineup, score))
        variance = held_variance + self._variance_of(strange)
        fixtures = self._admitted(match, lineup, players, score)
        answers = Answers(np.empty(1), np.empty(1), np.empty(len(players)))
        terms = _terms(max(len(players), len(fixtures.lineup.members)))
        # Where a place is new, its prior is now one of the terms: replays add it up in this order.
        answers.wins[0] = expected(*(self._foreseen(fixtures) if strange else (mean, held_variance)))
        did = played_in(match, players) if self.params.scores else None
        # Once scores were read, each match goes that way: what was absorbed of scores drifts with the skills
        # (`OwnScores.drift`).
        if did or self.active.own.modes:
            rate_observed(self.active.own, did, 0, fixtures, terms, answers, self.active.state, self.active.constants)
        else:
            kernel.rate_match(0, fixtures, terms, answers, self.active.state, self.active.constants)
        kernel.note_rounds(0, fixtures, answers, self.active.state)
        wins = float(answers.wins[0]), 1.0 - float(answers.wins[0])
        changes, rounds = [], self.active.state.people.rounds
        for place, (player, old) in enumerate(zip(players, before, strict=True)):
            team = int(place >= len(match.teams[0]))
            count = int(rounds[self.active.number(player)])
            new, result = self._points(answers.after[place]), score if team == 0 else 1.0 - score
            changes.append(Change(player, team, old, new, count, wins[team], result))
        return Rated(WinProbabilities(wins), tuple(changes), variance)

    def _admitted(self, match: Match, lineup: Sides, players: Sequence[PlayerId], score: float) -> Fixtures:
        """The match in coefficients, with its players and places admitted and room for them."""
        self.active.admit(players)
        for place in places_of(match)[0]:
            self.active.admit_place(place)
        # A row for each participant and for two places, should all of them be new.
        self.active.make_room(len(players) + 2)
        return one_fixture(match, self.active, lineup, played_sides(match, self.active.number), score)

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The present mean in points; for bots and players who are not held, a newcomer's."""
        return self._points(self.active.mean(player))

    def skill_values(self, players: Sequence[PlayerId], context: SkillContext = ANYWHERE) -> list[float]:
        """See `System.skill_values`."""
        initial, scale, mean = self.params.initial, self.params.scale, self.active.mean
        return [initial + scale * mean(player) for player in players]

    def gap(self, probability: float, size: int) -> float:
        """4·scale·probability: the logistic's slope at an even match is a quarter."""
        return 4.0 * self.params.scale * probability

    def difference_at(self, probability: float, match: Match) -> float:
        """The difference at which a match of known skills has this chance, by head count, sides and map.

        Of the sums of `skill`: a side with one more player, or bot, is ahead by `initial` in them, and by no skill.
        """
        self._refuse_other_than_two(match)
        a, b = match.predicted_lineup
        state, (places, sign) = self.active.state, places_of(match)
        # Bots count as heads in `a` and `b`, as in a prediction.
        worth = head_term(len(a), len(b)) * float(state.dense.mean[HEAD_COUNT])
        for place in places:
            number = self.active.find_place(place)
            if number != NOWHERE:
                row = state.places.row[number]
                worth += sign * float(state.places.mean[number] if row == NOWHERE else state.dense.mean[row])
        return self.params.scale * (log_odds(probability) - worth) + self.params.initial * (len(a) - len(b))

    def uncertainty(self, player: PlayerId) -> float:
        """The present standard deviation of the skill in points."""
        return self.deviation(player)

    def deviation(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """Return `uncertainty`, or 0 for a bot, whose skill is known."""
        return 0.0 if is_bot(player) else self.params.scale * self.active.variance(player) ** 0.5

    def covariance(self, players: Sequence[PlayerId], context: SkillContext = ANYWHERE) -> Covariance:
        """The present covariance of the skills in points squared."""
        cov = self.params.scale**2 * self.active.moments(players)[1]
        bots = [number for number, player in enumerate(players) if is_bot(player)]
        cov[bots, bots] = 0.0
        rows: Covariance = cov.tolist()
        return rows

    def summary(self, player: PlayerId) -> PlayerSummary:
        """The rating after the player's own last event, the present skill; visible after the shadow period."""
        number, people = self.active.number(player), self.active.state.people
        rounds = 0 if number == STRANGER else int(people.rounds[number])
        last_played = NEVER if number == STRANGER else float(people.last_played[number])
        lack = max(0, self.params.shadow_rounds - rounds)
        return PlayerSummary(
            player,
            self._shown(player),
            rounds,
            lack == 0,
            known_time(last_played),
            lack,
            skill=self.skill(player),
        )

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Facts: `rating` and `deviation` in points, `rounds` and `last_played`.

        A rating alone moves the mean and leaves variance and correlations; a deviation ends the correlations.
        """
        for fact in skill:
            if fact not in FIELDS:
                raise RatingError(f"{player}: joint has no {fact} to seed, only {', '.join(FIELDS)}")
        state = self._checked(player, skill)
        self.active.admit((player,))
        self.active.enter_values(self.active.number(player), **state)

    def state(self, player: PlayerId) -> State:
        """Return the player after their own last event: `rating` and `deviation` in points, rounds, last_played."""
        number, people = self.active.number(player), self.active.state.people
        if number == STRANGER:
            points = self.params.scale * self.active.params.spread
            return {"rating": self._points(0.0), "deviation": points, "rounds": 0, "last_played": None}
        return {
            "rating": self._points(people.shown[number]),
            "deviation": self.params.scale * float(people.shown_variance[number]) ** 0.5,
            "rounds": int(people.rounds[number]),
            "last_played": known_time(float(people.last_played[number])),
        }

    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """Hold a player with this state, independent of all others; `history` is not used."""
        if set(state) != set(FIELDS):
            raise RatingError(f"{player}: not a joint state: {sorted(state)}")
        numbers = self._checked(player, state)
        self.active.forget(player)
        self.active.admit((player,))
        self.active.enter_values(self.active.number(player), **numbers)

    def _checked(self, player: PlayerId, given: State) -> dict[str, Any]:
        """The given values in log-odds; raises `RatingError` for a value out of range."""
        numbers: dict[str, Any] = {}
        if "rating" in given:
            rating = number_of(player, "rating", given["rating"], -LIMIT, LIMIT)
            numbers["mean"] = (rating - self.params.initial) / self.params.scale
        if "deviation" in given:
            widest = WIDEST * self.params.scale
            numbers["variance"] = (
                number_of(player, "deviation", given["deviation"], 0.0, widest) / self.params.scale
            ) ** 2
        if "rounds" in given:
            numbers["rounds"] = count_of(player, "rounds", given["rounds"])
        if given.get("last_played") is not None:
            numbers["last_played"] = number_of(player, "last_played", given["last_played"], -FARTHEST, FARTHEST)
        return numbers

    def forget(self, player: PlayerId) -> None:
        """Drop a player; what is known of the others stays."""
        self.active.forget(player)

    def __contains__(self, player: PlayerId) -> bool:
        return player in self.active.numbers

    def needs(self, match: Match) -> frozenset[PlayerId]:
        """None: all players are held."""
        return frozenset()

    @property
    def spread(self) -> float:
        """Standard deviation of a newcomer's skill, log-odds: the parameter, or what was learnt in its place."""
        return self.active.params.spread

    def begin(self, spread: float) -> None:
        """Hold nobody, and take newcomers for spread by this much, in log-odds."""
        self.active = Active(replace(self.params, spread=spread))

    def snapshot(self, head: bytes = b"") -> bytes:
        """All that is held, as bytes behind `head`."""
        return snapshot.write(self.active, self.params.digest(), head)

    def restore_snapshot(self, data: bytes) -> None:
        """Hold what a snapshot of a system with the same parameters has."""
        self.active = snapshot.read(data, self.params)

    def renamed_snapshot(self, data: bytes, player: str, stand_in: str) -> bytes:
        """A snapshot with another id of the same length in a player's place."""
        return snapshot.renamed(data, player, stand_in)

    def score_map(self) -> tuple[ScoreMap, ...]:
        """Return the weight of own scores, in each mode that has them."""
        return self.active.own.maps()

    def checkpoint(self) -> Active:
        """A copy of all that is held."""
        return self.active.copy()

    def go_back(self, checkpoint: object) -> None:
        """Hold what a checkpoint has."""
        assert isinstance(checkpoint, Active)
        self.active = checkpoint.copy()

    def _points(self, skill: float) -> float:
        return self.params.initial + self.params.scale * float(skill)

    def _shown(self, player: PlayerId) -> float:
        number = self.active.number(player)
        return self._points(0.0 if number == STRANGER else self.active.state.people.shown[number])

    def _refuse_other_than_two(self, match: Match) -> None:
        if len(match.teams) != 2:
            raise RatingError(f"{self.name} rates two teams, not {len(match.teams)}")


def _terms(players: int) -> Terms:
    return Terms(np.empty(players + MORE_TERMS, np.int64), np.empty(players + MORE_TERMS))
