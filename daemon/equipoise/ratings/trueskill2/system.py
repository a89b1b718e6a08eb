"""TrueSkill 2 (Minka, Cleven & Zaykov 2018, MSR-TR-2018-8): TrueSkill that reads more than who won.

Its formulas, and what the paper leaves open, are in docs/ratings/trueskill2.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.errors import RatingError
from equipoise.ratings.parts.players import PlayerTable, refuse_bots
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.parts.truncated_gaussian import pdf
from equipoise.ratings.system import (
    ANYWHERE,
    Change,
    Match,
    Past,
    Rated,
    SkillContext,
    State,
    WinProbabilities,
)
from equipoise.ratings.trueskill2 import formulas as kernel
from equipoise.ratings.trueskill2.factor_graph import BETA2, INITIAL, MARGIN, VARIANCE, Scene
from equipoise.ratings.trueskill2.params import BASE_VARIANCE, BASE_WEIGHT, BOT, LIMIT, TrueSkill2Params
from equipoise.ratings.trueskill2.players import (
    Player,
    Skill,
    gathered,
    laid_out,
    restored,
    stored,
)
from equipoise.ratings.validation import NEVER, count_of, number_of

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.factor_graph import Row


class TrueSkill2(PlayerTable[TrueSkill2Params, Player]):
    """Skill is the mean in a mode, uncertainty its deviation σ, both in units of β."""

    name = "trueskill2"
    parameters = TrueSkill2Params

    def __init__(self, params: TrueSkill2Params) -> None:
        super().__init__(params)
        self.rows = {mode: number for number, mode in enumerate(params.modes, start=1)}
        """Where a mode that differs has its row in `table`; all others have the first."""
        self.table = [params.row(), *(params.of_mode(mode).row() for mode in params.modes)]
        self.stuck = 0
        """Matches rated whose sites did not converge."""

    def row(self, mode: str) -> Row:
        """The parameters that hold in a mode."""
        return self.table[self.rows.get(mode, 0)]

    def predict(self, match: Match) -> WinProbabilities:
        """Of everybody at the doors, each expected to stay to the end; of the rest only squads are read."""
        numbers = _numbers(match)
        sides = Teams.of(len(match.teams))
        rounds, players = laid_out(match, numbers), self._gathered(numbers, match.mode)
        draw = kernel.predict_match(0, rounds, players, sides, self.row(match.mode))
        return WinProbabilities(tuple(sides.wins), draw)

    def rate(self, match: Match) -> Rated:
        """By the order, the counts and the quits.  Ignored: spans, points, map, sides and weight."""
        scores = [match.score(team) for team in range(len(match.teams))]
        refuse_bots(match)
        numbers = _numbers(match)
        rounds, players = laid_out(match, numbers), self._gathered(numbers, match.mode)
        sides, after = Teams.of(len(match.teams)), [0.0] * len(rounds.person)
        scene = Scene.of(len(rounds.person) + len(rounds.seat_person), len(match.teams))
        c = self.row(match.mode)
        draw, converged = kernel.rate_match(0, rounds, players, scene, sides, after, c)
        self.stuck += not converged
        prediction = WinProbabilities(tuple(sides.wins), draw)
        changes, place = [], 0
        for team, side in enumerate(match.teams):
            expected = prediction.expected(team)
            for player in side:
                before = self._mean(self.held(player), match.mode)
                held = self._take(player, match.mode, players, numbers[player])
                changes.append(Change(player, team, before, after[place], held.rounds, expected, scores[team]))
                place += 1
        return Rated(prediction, tuple(changes))

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The mean; without a mode, in the one he has played most.  Strangers have a newcomer's, bots `bot`."""
        if is_bot(player):
            return self.row(context.mode)[BOT]
        held = self.held(player)
        return self._mean(held, context.mode or held.usual_mode)

    def gap(self, probability: float, size: int) -> float:
        """Along the slope at an even match of settled players: there c² = 2·size·β², and that slope is φ(ε/c)/c.

        Beyond all measure where the margin is so wide that there is none.
        """
        c = math.sqrt(2.0 * size * self.table[0][BETA2])
        slope = pdf(self.table[0][MARGIN] / c) / c
        return probability / max(slope, sys.float_info.min)

    def uncertainty(self, player: PlayerId) -> float:
        """σ in the mode he has played most."""
        held = self.held(player)
        weight = self.row(held.usual_mode)[BASE_WEIGHT]
        return math.sqrt(self.own(held, held.usual_mode).variance + weight * weight * held.base_variance)

    def summary(self, player: PlayerId) -> PlayerSummary:
        """The mean, in the mode he has played most; visible after the shadow rounds."""
        held = self.held(player)
        last = max((own.last for own in held.modes.values()), default=NEVER)
        return self.shown(player, self.skill(player), held.rounds, last)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Facts: `rating`, the mean in every mode, β; `sigma`, of his own part in every mode, β; `rounds` rated."""
        for fact in skill:
            if fact not in ("rating", "sigma", "rounds"):
                raise RatingError(f"{player}: trueskill2 has no {fact} to seed, only rating, sigma and rounds")
        values = {fact: number_of(player, fact, value, -LIMIT, LIMIT) for fact, value in skill.items()}
        rounds = count_of(player, "rounds", skill.get("rounds", 0))
        variance = number_of(player, "sigma", skill.get("sigma", 0.0), 0.0, LIMIT) ** 2
        held = self.players.setdefault(player, self.held(player))
        if "rounds" in values:
            held.rounds = rounds
        if "rating" in values:
            held.base_mean, held.start_mean = 0.0, values["rating"]
        if "sigma" in values:
            held.start_variance = variance
        for own in held.modes.values():
            own.mean = values.get("rating", own.mean)
            own.variance = variance if "sigma" in values else own.variance

    def state(self, player: PlayerId) -> State:
        """Base and modes, each with mean, variance and when it last played (epoch seconds or null)."""
        return stored(self.held(player))

    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """From `state` alone: no row of the past is needed."""
        self.players[player] = restored(player, state)

    def newcomer(self) -> Player:
        """What a player is on first sight."""
        return Player(0.0, self.table[0][BASE_VARIANCE])

    def own(self, held: Player, mode: str) -> Skill:
        """His part in a mode, as it begins if he never played it."""
        if mode in held.modes:
            return held.modes[mode]
        row = self.row(mode)
        mean = row[INITIAL] if held.start_mean is None else held.start_mean
        return Skill(mean, row[VARIANCE] if held.start_variance is None else held.start_variance)

    def _mean(self, held: Player, mode: str) -> float:
        return self.own(held, mode).mean + self.row(mode)[BASE_WEIGHT] * held.base_mean

    def _gathered(self, numbers: Iterable[PlayerId], mode: str) -> kernel.Players:
        everybody = [self.held(player) for player in numbers]
        return gathered((held, self.own(held, mode)) for held in everybody)

    def _take(self, player: PlayerId, mode: str, players: kernel.Players, number: int) -> Player:
        held = self.players.setdefault(player, self.held(player))
        held.base_mean, held.base_variance = players.base_mean[number], players.base_variance[number]
        held.base_last = players.base_last[number]
        held.modes[mode] = Skill(
            players.mean[number], players.variance[number], players.rounds[number], players.last[number]
        )
        held.rounds += 1
        return held


def _numbers(match: Match) -> dict[PlayerId, int]:
    """Everybody in the match but bots."""
    everybody = (player for side in (*match.teams, *match.predicted_lineup) for player in side)
    humans = dict.fromkeys(player for player in everybody if not is_bot(player))
    return {player: number for number, player in enumerate(humans)}
