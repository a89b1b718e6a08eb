"""TrueSkill 2 (Minka, Cleven & Zaykov 2018, MSR-TR-2018-8): TrueSkill that also reads counts, quits, squads and modes.

Its formulas, and what the paper leaves open, are in docs/ratings/trueskill2.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.errors import RatingError
from equipoise.ratings.parameters import NEVER, count_of, number_of
from equipoise.ratings.parts.match_arrays import MatchArrays, one_match
from equipoise.ratings.parts.player_table import PlayerTable, bounded, checked, plain, refuse_bots
from equipoise.ratings.parts.team_order import Teams, quality
from equipoise.ratings.parts.truncated_gaussian import pdf
from equipoise.ratings.system import (
    ANYWHERE,
    Change,
    Match,
    Rated,
    SkillContext,
    State,
    WinProbabilities,
)
from equipoise.ratings.trueskill2.factor_graph import COMPLETED, LEFT, FactorGraph
from equipoise.ratings.trueskill2.formulas import PER_MINUTE, Skills, TrueSkill2Arrays, predict_match, rate_match
from equipoise.ratings.trueskill2.params import (
    BASE_VARIANCE,
    BASE_WEIGHT,
    BETA2,
    BOT,
    INITIAL,
    LIMIT,
    MARGIN,
    VARIANCE,
    TrueSkill2Params,
)

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.params import Row


@dataclass(slots=True)
class Skill:
    """A player's own part in one mode; mean in β, variance in β²."""

    mean: float
    variance: float = bounded(0.0, math.inf)
    rounds: int = 0
    """Matches played in the mode."""
    last: float = NEVER
    """Time of the last match in the mode, seconds since the epoch."""


@dataclass(slots=True)
class BaseSkill:
    """A player's base skill, mean in β and variance in β², and what is common to all modes."""

    base_mean: float
    base_variance: float = bounded(0.0, math.inf)
    base_last: float = NEVER
    rounds: int = 0
    """Matches rated in all modes."""
    start_mean: float | None = None
    """Seeded mean of an own part in a new mode; None: the mode's prior.  `start_variance` likewise."""
    start_variance: float | None = bounded(0.0, math.inf, None)


@dataclass(slots=True)
class Player(BaseSkill):
    """A player's base skill, and their own part in each mode that they played."""

    modes: dict[str, Skill] = field(default_factory=dict)

    @property
    def usual_mode(self) -> str:
        """The mode played most; the first one among equals."""
        return max(self.modes, key=lambda mode: self.modes[mode].rounds, default="")

    def learn(self, mode: str, skills: Skills, chain: int, number: int) -> None:
        """Copy the own part in a mode and the base from a kernel's arrays."""
        # A fit or a replay brings many rounds at once.
        before = self.modes[mode].rounds if mode in self.modes else 0
        own = Skill(
            mean=float(skills.mean[chain]),
            variance=float(skills.variance[chain]),
            rounds=int(skills.rounds[chain]),
            last=float(skills.last[chain]),
        )
        self.modes[mode] = own
        self.rounds += own.rounds - before
        self.base_mean, self.base_variance = float(skills.base_mean[number]), float(skills.base_variance[number])
        self.base_last = float(skills.base_last[number])


class TrueSkill2(PlayerTable[TrueSkill2Params, Player]):
    """The TrueSkill 2 system.  Skill is the mean in a mode, uncertainty its deviation σ, both in units of β."""

    name = "trueskill2"
    parameters = TrueSkill2Params

    def __init__(self, params: TrueSkill2Params) -> None:
        super().__init__(params)
        self.rows = {mode: number for number, mode in enumerate(params.modes, start=1)}
        """The row of `table` for each mode with parameters of its own; other modes use row 0."""
        self.table = [params.row(), *(params.of_mode(mode).row() for mode in params.modes)]
        self.stuck = 0
        """Number of rated matches in which EP did not converge."""

    def row(self, mode: str) -> Row:
        """The parameters that apply in a mode, as a row of numbers."""
        return self.table[self.rows.get(mode, 0)]

    def predict(self, match: Match) -> WinProbabilities:
        """Predict by the skills and squads of the lineup, as if all play to the end."""
        sides, draw = self._predicted(match)
        return WinProbabilities(tuple(sides.wins), draw)

    def trueskill_quality(self, match: Match) -> float:
        """How even a match of these lineups would be, 0 to 1 (`team_order.quality`), all playing to the end.

        >>> round(TrueSkill2.create(initial_variance=4.0).trueskill_quality(Match(teams=(("ann",), ("bob",)))), 4)
        0.4472
        """
        if not all(match.predicted_lineup):
            raise RatingError("match quality: one of the teams has no players")
        sides, row = self._predicted(match)[0], self.row(match.mode)
        return quality(sides, [len(side) * row[BETA2] for side in match.predicted_lineup])

    def rate(self, match: Match) -> Rated:
        """Rate a match by its order, counts and quits.  Ignores spans, bots, points, map, sides and weight."""
        scores = [match.score(team) for team in range(len(match.teams))]
        matches, players = one_match(match)
        refuse_bots(match, matches.lineup)
        facts, skills = _facts(match, matches), self._skills(players, match.mode)
        sides, after = Teams.of(len(match.teams)), [0.0] * len(matches.members)
        graph = FactorGraph.allocate(len(matches.members) + len(matches.lineup.members), len(match.teams))
        draw, convergence = rate_match(0, matches, facts, skills, graph, sides, after, self.row(match.mode))
        self.stuck += not convergence
        prediction = WinProbabilities(tuple(sides.wins), draw)
        changes = list[Change]()
        for team, side in enumerate(match.teams):
            chance = prediction.expected(team)
            for player in side:
                record, number = self.players.setdefault(player, self.held(player)), len(changes)
                before = self._mean(record, match.mode)
                record.learn(match.mode, skills, number, number)
                changes.append(Change(player, team, before, after[number], record.rounds, chance, scores[team]))
        return Rated(prediction, tuple(changes))

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The mean in a mode, or in the one played most if none is given; a newcomer's if not held; `bot` for bots.

        >>> system = TrueSkill2.create()
        >>> change = system.rate(Match(teams=(("ann",), ("bob",)), ranks=(0, 1))).changes[0]
        >>> round(change.before, 3), round(change.after, 3), round(system.skill("bob"), 3)
        (3.0, 3.56, 2.44)
        """
        if is_bot(player):
            return self.row(context.mode)[BOT]
        record = self.held(player)
        return self._mean(record, context.mode or record.usual_mode)

    def gap(self, probability: float, size: int) -> float:
        """Linear, by the slope φ(ε/c)/c at an even match of players with known skill, where c² = 2·size·β².

        Practically infinite if the margin is so wide that the slope underflows.
        """
        c = math.sqrt(2.0 * size * self.table[0][BETA2])
        slope = pdf(self.table[0][MARGIN] / c) / c
        return probability / max(slope, sys.float_info.min)

    def uncertainty(self, player: PlayerId) -> float:
        """σ in the mode played most, β."""
        record = self.held(player)
        return self._deviation(record, record.usual_mode)

    def deviation(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """σ in a mode, or in the one played most if none is given, β; 0 for bots, whose skill is a parameter."""
        if is_bot(player):
            return 0.0
        record = self.held(player)
        return self._deviation(record, context.mode or record.usual_mode)

    def _deviation(self, held: Player, mode: str) -> float:
        weight = self.row(mode)[BASE_WEIGHT]
        return math.sqrt(self.own(held, mode).variance + weight * weight * held.base_variance)

    def summary(self, player: PlayerId) -> PlayerSummary:
        """The mean in the mode played most; visible after the shadow rounds."""
        record = self.held(player)
        last = max((own.last for own in record.modes.values()), default=NEVER)
        return self.shown(player, self.skill(player), record.rounds, last)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Facts: `rating`, the mean in every mode, β; `sigma`, of the own part in every mode, β; `rounds` rated."""
        for fact in skill:
            if fact not in ("rating", "sigma", "rounds"):
                raise RatingError(f"{player}: trueskill2 has no {fact} to seed, only rating, sigma and rounds")
        values = {fact: number_of(player, fact, value, -LIMIT, LIMIT) for fact, value in skill.items()}
        rounds = count_of(player, "rounds", skill.get("rounds", 0))
        variance = number_of(player, "sigma", skill.get("sigma", 0.0), 0.0, LIMIT) ** 2
        record = self.players.setdefault(player, self.held(player))
        if "rounds" in values:
            record.rounds = rounds
        if "rating" in values:
            # The seeded number is the whole mean in every mode, so the base may add nothing to it.
            record.base_mean, record.start_mean = 0.0, values["rating"]
        if "sigma" in values:
            record.start_variance = variance
        for own in record.modes.values():
            own.mean = values.get("rating", own.mean)
            own.variance = variance if "sigma" in values else own.variance

    def state(self, player: PlayerId) -> State:
        """Base and modes, each with mean, variance and when it last played (epoch seconds or null)."""
        record = self.held(player)
        return {**plain(record), "modes": {mode: plain(own) for mode, own in record.modes.items()}}

    def stored(self, player: PlayerId, newcomer: Player, state: State) -> dict[str, Any]:
        """The base's fields, and a `Skill` for each mode."""
        modes, names = state["modes"], {column.name for column in fields(Skill)}
        if not isinstance(modes, Mapping):
            raise RatingError(f"{player}: not a trueskill2 state: modes {modes!r}")
        own = dict[str, Skill]()
        for mode, numbers in modes.items():
            if not isinstance(numbers, Mapping) or set(numbers) != names:
                raise RatingError(f"{player}: not a trueskill2 state of mode {mode}: {numbers!r}")
            own[mode] = Skill(**checked(player, Skill(0.0, 0.0), numbers))
        return checked(player, BaseSkill(0.0, 0.0), state) | {"modes": own}

    def newcomer(self) -> Player:
        """A player with the prior of the base and no modes yet."""
        return Player(0.0, self.table[0][BASE_VARIANCE])

    def own(self, held: Player, mode: str) -> Skill:
        """A player's own part in a mode; its prior if they never played it."""
        if mode in held.modes:
            return held.modes[mode]
        row = self.row(mode)
        mean = row[INITIAL] if held.start_mean is None else held.start_mean
        return Skill(mean, row[VARIANCE] if held.start_variance is None else held.start_variance)

    def _mean(self, held: Player, mode: str) -> float:
        return self.own(held, mode).mean + self.row(mode)[BASE_WEIGHT] * held.base_mean

    def _predicted(self, match: Match) -> tuple[Teams, float]:
        """The lineups' performances with their chances, and the probability of a draw."""
        matches, players = one_match(match)
        sides, skills = Teams.to_predict(len(match.teams)), self._skills(players, match.mode)
        return sides, predict_match(0, matches, _facts(match, matches), skills, sides, self.row(match.mode))

    def _skills(self, players: Iterable[PlayerId], mode: str) -> Skills:
        """Copies of the skills as lists, in which a player's number indexes both their own part and their base."""
        people = [self.held(player) for player in players]
        own = [self.own(player, mode) for player in people]
        return Skills(
            mean=[skill.mean for skill in own],
            variance=[skill.variance for skill in own],
            rounds=[skill.rounds for skill in own],
            last=[skill.last for skill in own],
            base_mean=[player.base_mean for player in people],
            base_variance=[player.base_variance for player in people],
            base_last=[player.base_last for player in people],
        )


def _facts(match: Match, matches: MatchArrays) -> TrueSkill2Arrays:
    """The arrays that TrueSkill 2 reads besides `MatchArrays`; a player's number is also their chain."""
    players = [player for side in match.teams for player in side]
    counts = [match.counts.get(player) for player in players]
    squad = _squad_sizes(match)
    return TrueSkill2Arrays(
        row=[0],
        minutes=[math.nan if match.seconds is None else match.seconds / PER_MINUTE],
        chain=matches.members,
        lineup_chain=matches.lineup.members,
        kills=[math.nan if count is None else float(count.kills) for count in counts],
        deaths=[math.nan if count is None else float(count.deaths) for count in counts],
        ending=[LEFT if player in match.quits else COMPLETED for player in players],
        squad=[squad.get(player, 1) for player in players],
        lineup_squad=[squad.get(player, 1) for side in match.predicted_lineup for player in side],
    )


def _squad_sizes(match: Match) -> dict[PlayerId, int]:
    """Squad size of each participant in a squad, counting members in the same team."""
    sizes: dict[PlayerId, int] = {}
    for squad in match.squads:
        for side in match.teams:
            together = set(squad) & set(side)
            sizes |= dict.fromkeys(together, len(together))
    return sizes
