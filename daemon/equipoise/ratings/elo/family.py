"""What Elo and its children in football share: an expectation from mean ratings, and a change by the surprise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TypeVar

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.parts.points import PointsParams, PointsSystem, Record, mean
from equipoise.ratings.system import Change, Match, Rated, WinProbabilities

P = TypeVar("P", bound=PointsParams)
R = TypeVar("R", bound=Record)


class EloFamily(PointsSystem[P, R]):
    """A team is as good as the mean of its players, and each of them moves by the team's surprise."""

    favoured: str
    """The name of the side that has an advantage."""
    advantage: float
    """Points that it adds to a team's rating."""

    def __init__(self, params: P, constants: kernel.Constants, favoured: str, advantage: float) -> None:
        super().__init__(params)
        self.constants = constants
        self.favoured = favoured
        self.advantage = advantage

    @abstractmethod
    def terms(self, match: Match) -> kernel.Terms:
        """What the match is about; refuses (`RatingError`) what the system cannot read."""

    def predict(self, match: Match) -> WinProbabilities:
        """Of the means at the doors; the expectation counts a draw as half a win, so draw is 0."""
        if len(match.teams) != 2:
            raise RatingError(f"{self.name} rates two teams, not {len(match.teams)}")
        a, b = (self._strength(side, match.skill_at_start) for side in match.predicted_lineup)
        first = kernel.win_probability(a - b + self.lead(match.sides), self.constants)
        return WinProbabilities((first, 1.0 - first))

    def rate(self, match: Match) -> Rated:
        """The change of each participant."""
        self.refuse_unreadable(match)
        terms = self.terms(match)
        prediction = self.predict(match)
        self.note(match)
        changes = [
            self._change(match, terms, player, team, prediction.expected(team))
            for team, side in enumerate(match.teams)
            for player in side
        ]
        return Rated(prediction, tuple(changes))

    def note(self, match: Match) -> None:
        """Keep what a match says besides its result, before it is rated."""

    def lead(self, sides: tuple[str, ...]) -> float:
        """Points that the sides give the first team over the second."""
        if not sides:
            return 0.0
        return self.advantage * ((sides[0] == self.favoured) - (sides[1] == self.favoured))

    def gap(self, probability: float, size: int) -> float:
        """By the curve's slope at an even match; ratings are averaged, so `size` times a single player's."""
        slope = 1.0 / math.sqrt(2.0 * math.pi) if self.constants.gaussian else 0.25
        return size * self.constants.spread * probability / slope

    def uncertainty(self, player: PlayerId) -> float:
        """1/√(1 + rounds): Elo itself knows no doubt."""
        return 1.0 / math.sqrt(1.0 + self.held(player).rounds)

    def _strength(self, side: tuple[PlayerId, ...], skill_at_start: Mapping[PlayerId, float]) -> float:
        ratings = [skill_at_start[player] if player in skill_at_start else self.skill(player) for player in side]
        return mean(ratings, self.constants.initial)

    def _change(self, match: Match, terms: kernel.Terms, player: PlayerId, team: int, expected: float) -> Change:
        held = self.players.setdefault(player, self.held(player))
        before, earned, c = held.rating, match.score(team), self.constants
        k = (
            kernel.stake(terms.weight, terms.margin, c)
            * kernel.side_factor(earned, c)
            * match.fraction_played.get(player, 1.0)
        )
        surprise = (terms.other_score if team else terms.score) - expected
        at = math.nan if match.started_at is None else match.started_at
        kernel.rate(held, k, surprise, terms.protected, at, c)
        return Change(player, team, before, held.rating, held.rounds, expected, earned)
