"""Systems that hold a Gaussian belief about each player and update it by the order of teams (`teams`).

TrueSkill and its offspring differ in how a belief widens between matches, and in what they make of a history.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.parts import gaussian_formulas as kernel
from equipoise.ratings.parts.players import PlayerTable, ShownParams, refuse_bots
from equipoise.ratings.parts.team_order import Teams, expect, learn, margin_of, quality
from equipoise.ratings.parts.truncated_gaussian import pdf
from equipoise.ratings.system import ANYWHERE, Change, Match, Rated, SkillContext, WinProbabilities
from equipoise.ratings.validation import NEVER, count_of, number_of

LIMIT = 1e6
"""No mean or deviation is set beyond this."""


class GaussianParams(ShownParams, Protocol):
    """Parameters that the kernel has constants of."""

    def constants(self) -> kernel.Constants:
        """As the formulas read them."""


P = TypeVar("P", bound=GaussianParams)


class GaussianSystem(PlayerTable[P, kernel.GaussianSkill]):
    """Skill is the mean, uncertainty the deviation σ; a card shows the mean less k deviations.

    Read: teams, ranks, doors, standing, share, started_at; all else is ignored.
    """

    def __init__(self, params: P) -> None:
        super().__init__(params)
        self.constants = params.constants()

    def predict(self, match: Match) -> WinProbabilities:
        """Of everybody at the doors, each expected to stay to the end; bots are as newcomers."""
        at = _time(match)
        teams = Teams.of(len(match.teams))
        for team, side in enumerate(match.predicted_lineup):
            for player in side:
                held = self.held(player)
                teams.mean[team] += match.skill_at_start.get(player, held.mu)
                spread = held.variance + kernel.drift(held, at, self.constants)
                teams.variance[team] += spread + self.constants.noise
            teams.size[team] = float(len(side))
        draw = expect(teams, len(match.teams), self.constants.unit)
        return WinProbabilities(tuple(teams.wins), draw)

    def rate(self, match: Match) -> Rated:
        """Every participant's belief by what the order says of his team, in closed form for two teams."""
        scores = [match.score(team) for team in range(len(match.teams))]
        refuse_bots(match)
        prediction, at = self.predict(match), _time(match)
        teams = self.performances(match)
        learn(teams, match.ranks, 0, len(match.teams), self.constants.unit)
        changes = []
        for team, side in enumerate(match.teams):
            expected = prediction.expected(team)
            for player in side:
                held = self.players.setdefault(player, self.held(player))
                before, fraction_played = kernel.shown(held, self.constants), match.fraction_played.get(player, 1.0)
                kernel.update(held, teams.slope[team], teams.curvature[team], fraction_played, at, self.constants)
                after = kernel.shown(held, self.constants)
                changes.append(Change(player, team, before, after, held.rounds, expected, scores[team]))
        return Rated(prediction, tuple(changes))

    def performances(self, match: Match) -> Teams:
        """The teams as they played, before anything is learnt: each player's performance times his share."""
        teams = Teams.of(len(match.teams))
        for team, player, fraction_played in _shares(match):
            held = self.held(player)
            spread = held.variance + kernel.drift(held, _time(match), self.constants)
            teams.mean[team] += fraction_played * held.mu
            teams.variance[team] += fraction_played * fraction_played * (spread + self.constants.noise)
            teams.size[team] += 1.0
        return teams

    def quality(self, match: Match) -> float:
        """How even a match of these teams and shares would be, 0 to 1 (`teams.quality`).

        As the source has it, of the beliefs as they stand, without what they widen by until the match.
        """
        teams, noise = Teams.of(len(match.teams)), [0.0] * len(match.teams)
        for team, player, fraction_played in _shares(match):
            held = self.held(player)
            teams.mean[team] += fraction_played * held.mu
            teams.variance[team] += fraction_played * fraction_played * (held.variance + self.constants.noise)
            noise[team] += fraction_played * fraction_played * self.constants.noise
        if 0.0 in noise:
            raise RatingError("quality: nobody plays in one of the teams")
        return quality(teams, noise)

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The mean; bots and strangers have a newcomer's."""
        return self.held(player).mu

    def gap(self, probability: float, size: int) -> float:
        """Along the slope at an even match of settled players: there c² = 2·size·β², and that slope is φ(ε/c)/c."""
        c = math.sqrt(2.0 * size * self.constants.noise)
        return probability * c / pdf(margin_of(2.0 * size, self.constants.unit) / c)

    def uncertainty(self, player: PlayerId) -> float:
        """σ, as after his last match."""
        return math.sqrt(self.held(player).variance)

    def summary(self, player: PlayerId) -> PlayerSummary:
        """Visible after the shadow rounds."""
        held = self.held(player)
        return self.shown(player, kernel.shown(held, self.constants), held.rounds, held.last_played)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Facts: `mu`, `sigma` and the `rating` as it is shown, in units of skill; `rounds` rated so far.

        A `rating` moves mu and leaves sigma as it is.
        """
        for fact in skill:
            if fact not in ("mu", "sigma", "rating", "rounds"):
                raise RatingError(f"{player}: {self.name} has no {fact} to seed, only mu, sigma, rating and rounds")
        held = replace(self.held(player))
        if "mu" in skill:
            held.mu = number_of(player, "mu", skill["mu"], -LIMIT, LIMIT)
        if "sigma" in skill:
            held.variance = number_of(player, "sigma", skill["sigma"], 0.0, LIMIT) ** 2
        if "rating" in skill:
            wanted = number_of(player, "rating", skill["rating"], -LIMIT, LIMIT)
            held.mu += wanted - kernel.shown(held, self.constants)
        held.rounds = count_of(player, "rounds", skill.get("rounds", held.rounds))
        self.players[player] = held

    def newcomer(self) -> kernel.GaussianSkill:
        """What a player is on first sight."""
        return kernel.GaussianSkill(self.constants.mean, self.constants.variance)


def _shares(match: Match) -> Iterator[tuple[int, PlayerId, float]]:
    for team, side in enumerate(match.teams):
        for player in side:
            yield team, player, match.fraction_played.get(player, 1.0)


def _time(match: Match) -> float:
    return NEVER if match.started_at is None else match.started_at
