"""TeamSkill (DeLong et al., PAKDD 2011): rates the groups of players in a team with another system.

Its formulas, and what its sources leave open, are in docs/ratings/teamskill.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import comb
from typing import Any, ClassVar, Generic, TypeVar

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.elo.system import Elo
from equipoise.ratings.parameters import Params, ranged, typed
from equipoise.ratings.parts.player_table import PlayerTable
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.system import (
    ANYWHERE,
    Change,
    Match,
    Parts,
    Past,
    Rated,
    SkillContext,
    State,
    System,
    WinProbabilities,
)
from equipoise.ratings.teamskill import formulas as kernel
from equipoise.ratings.teamskill.group_index import AND, MOST_GROUPS, NO_GROUP, Units
from equipoise.ratings.teamskill.groups import BASES, choices_in_team, coefficient, groups_of, in_groups, listed

LARGEST = 12
"""Upper limit of the parameters `k` and `largest`."""


@dataclass(frozen=True, slots=True)
class BaseParams(Params):
    """Parameters that choose the system which rates groups."""

    base: str = "trueskill"
    """The base system: `elo`, `glicko` or `trueskill`."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the base system that differ from its defaults."""

    def __post_init__(self) -> None:
        """Raise `RatingError` for values out of range and for settings that the base refuses."""
        Params.__post_init__(self)
        if self.base not in BASES:
            raise RatingError(f"base: {self.base!r} is none of {', '.join(sorted(BASES))}")
        try:
            object.__setattr__(self, "settings", typed(BASES[self.base].kind.parameters, self.settings))
        except RatingError as error:
            raise RatingError(f"settings.{error}") from None


@dataclass(frozen=True, slots=True)
class TeamSkillKParams(BaseParams):
    """Groups of one size, which all count, however seldom they have played together."""

    k: int = ranged(2, 1, LARGEST)
    """Players in a group; fewer if the smallest team has fewer."""
    reliable: ClassVar[int] = 0
    """Every group counts."""

    @property
    def largest(self) -> int:
        """The largest size of groups."""
        return self.k


@dataclass(frozen=True, slots=True)
class TeamSkillAllKParams(BaseParams):
    """Groups of all sizes up to one, of which those count that have often played together."""

    largest: int = ranged(3, 1, LARGEST)
    """Players in a group, at most."""
    reliable: int = ranged(3, 1, 100_000)
    """A group of two or more counts after this many matches together."""


P = TypeVar("P", TeamSkillKParams, TeamSkillAllKParams)


class TeamSkill(System[P], Generic[P]):
    """One base system for each size of group; that of size 1 holds the players.

    A player's skill, uncertainty, summary and state are those of size 1: what a group adds belongs to no single player.
    """

    rule: ClassVar[int]
    """Which groups make the prediction: `formulas.K`, `EV` or `LS`."""
    shares = True

    def __init__(self, params: P) -> None:
        self.params = params
        self.learners: dict[int, PlayerTable[Any, Any]] = {1: self._learner()}
        """The base systems, by size of group."""
        self.compares_means = self.learners[1].compares_means

    @abstractmethod
    def sizes(self, match: Match) -> tuple[int, ...]:
        """Sizes of the groups that learn from a match; always includes 1."""

    @abstractmethod
    def strength(self, side: tuple[PlayerId, ...]) -> float:
        """TS of a team, on the scale of a sum of players' skills."""

    def rate(self, match: Match) -> Rated:
        """Rate with the base system of every size, which decides what facts are read; changes are those of players."""
        match.score(0)
        # Before any learner moves: the prediction is by all of them.
        prediction, sizes = self.predict(match), self.sizes(match)
        result = self.learners[1].rate(match)  # first, because it refuses every match that another size would refuse
        for size in sizes[1:]:
            self.learner(size).rate(in_groups(match, size, self.params.largest))
        chances = [prediction.expected(team) for team in range(len(match.teams))]
        changes = (Change(*change[:5], chances[change.team], change.score) for change in result.changes)
        return Rated(prediction, tuple(changes))

    def learner(self, size: int) -> PlayerTable[Any, Any]:
        """The base system for groups of a size, made if it is new."""
        if size not in self.learners:
            self.learners[size] = BASES[self.params.base].for_groups(self.learners[1], size)
        return self.learners[size]

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The base's skill of the player alone."""
        return self.learners[1].skill(player, context)

    def gap(self, probability: float, size: int) -> float:
        """Linear, as in the base: `size` players a side, without what groups add."""
        return self.learners[1].gap(probability, size)

    def uncertainty(self, player: PlayerId) -> float:
        """The base's uncertainty of the player alone, in its unit."""
        return self.learners[1].uncertainty(player)

    def deviation(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float | None:
        """The base's deviation of the player alone; None if it has none."""
        return self.learners[1].deviation(player, context)

    @property
    def stale_after(self) -> float:
        """The base's `stale_days` in seconds."""
        return self.learners[1].stale_after

    def summary(self, player: PlayerId) -> PlayerSummary:
        """The base's summary of the player alone."""
        return self.learners[1].summary(player)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Seed the player in the base, with the values that the base knows; groups stay as they are."""
        self.learners[1].seed(player, **skill)

    def state(self, player: PlayerId) -> State:
        """The base's state of the player alone; groups are in `shared`."""
        return self.learners[1].state(player)

    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """Hold the player again in the base."""
        self.learners[1].restore(player, state, history)

    def forget(self, player: PlayerId) -> None:
        """Drop the player from memory; their groups stay."""
        self.learners[1].forget(player)

    def __contains__(self, player: PlayerId) -> bool:
        return player in self.learners[1]

    def shared(self, match: Match | None = None) -> Parts:
        """The base's state of each group of two or more, by the group's id; None for a group that has not played."""
        if match is not None:
            learners = (
                (group, self.learner(size)) for size in self.sizes(match)[1:] for group in self._all(match, size)
            )
            return {group: dict(learner.state(group)) if group in learner else None for group, learner in learners}
        larger = [learner for size, learner in self.learners.items() if size > 1]
        return {group: dict(learner.state(group)) for learner in larger for group in learner.players}

    def restore_shared(self, key: str, part: object) -> None:
        """Restore the state of one group; None removes it."""
        group, size = PlayerId(key), key.count(AND) + 1
        if not 2 <= size <= LARGEST:
            raise RatingError(f"{self.name}: not a group of 2 to {LARGEST}: {key!r}")
        if part is None:
            self.learner(size).forget(group)
        elif isinstance(part, Mapping):
            self.learner(size).restore(group, part)
        else:
            raise RatingError(f"{self.name}: not a state of {key!r}: {part!r}")

    def _all(self, match: Match, size: int) -> Iterator[PlayerId]:
        """The groups of a size in a match; none if a team has too many, because such a match is refused."""
        for side in match.teams:
            if comb(len(side), size) <= MOST_GROUPS:
                yield from groups_of(side, size, self.params.largest)

    def _learner(self) -> PlayerTable[Any, Any]:
        return BASES[self.params.base].kind.create(**self.params.settings)


class TeamSkillK(TeamSkill[TeamSkillKParams]):
    """TeamSkill-k: groups of one size; a team is K/k times the mean skill of all its groups."""

    name = "teamskill_k"
    parameters = TeamSkillKParams
    rule = kernel.K

    def sizes(self, match: Match) -> tuple[int, ...]:
        """1, and the size that makes the prediction if it is larger."""
        return tuple(sorted({1, self.size(match)}))

    def size(self, match: Match) -> int:
        """Size of the groups that predict a match: k, or the size of the smallest team if that is less."""
        return max(1, min(self.params.k, *map(len, (*match.teams, *match.predicted_lineup))))

    def predict(self, match: Match) -> WinProbabilities:
        """Predict with the learner of that size, in which a team is the mean of its groups."""
        size = self.size(match)
        return self.learner(size).predict(in_groups(match, size, self.params.largest))

    def strength(self, side: tuple[PlayerId, ...]) -> float:
        """(k-1)!(K-k)!/(K-1)! times the sum of the skills of its groups."""
        size = min(self.params.k, len(side))
        total = sum(self.learner(size).skill(group) for group in groups_of(side, size, self.params.largest))
        return coefficient(len(side), size) * size * total


class TeamSkillAllK(TeamSkill[TeamSkillAllKParams]):
    """TeamSkill-AllK: a team is K/Σm times the sum, over sizes m, of the mean skill of the groups that count."""

    def sizes(self, match: Match) -> tuple[int, ...]:
        """Sizes up to `largest` of which every team has groups, but not more than `MOST_GROUPS`."""
        largest = min(self.params.largest, *map(len, match.teams))
        # `in_groups` refuses a match for its largest side, so such a size is left out here.
        biggest = max(map(len, (*match.teams, *match.predicted_lineup)))
        return (1, *(size for size in range(2, largest + 1) if comb(biggest, size) <= MOST_GROUPS))

    def predict(self, match: Match) -> WinProbabilities:
        """The base's prediction for teams of equal players with the mean and variance of the groups that count."""
        judge, count = self.learners[1], len(match.teams)
        if BASES[self.params.base].two_teams and count != 2:
            raise RatingError(f"{judge.name} rates two teams, not {count}")
        sides = Teams.to_predict(count)
        for team, side in enumerate(match.predicted_lineup):
            sides.mean[team], sides.variance[team] = self._average(side, match.skill_at_start)
            sides.size[team] = float(len(side))
        lead = judge.lead(match.sides) if isinstance(judge, Elo) else 0.0
        draw = kernel.expect_teams(count, lead, sides, judge.constants)  # type: ignore[attr-defined]
        return WinProbabilities(tuple(sides.wins), draw)

    def strength(self, side: tuple[PlayerId, ...]) -> float:
        """K/Σm times the sum, over sizes m, of the mean skill of the groups of m that count."""
        return len(side) * self._average(side, {})[0]

    def _average(self, side: tuple[PlayerId, ...], skill_at_start: Mapping[PlayerId, float]) -> tuple[float, float]:
        """`formulas.average` of the groups that are held."""
        starts, names, _ = listed(side, self.params.largest)
        records: list[Any] = []
        numbers: list[list[int]] = [[]]
        for size in range(1, self.params.largest + 1):
            first = len(records)
            records += map(self.learner(size).players.get, names[size])
            # The kernel reads records by number: here the numbers of this one team's groups, with gaps for those that
            # never played.
            numbers.append([NO_GROUP if records[n] is None else n for n in range(first, len(records))])
        facts = [[], [skill_at_start.get(player, math.nan) for player in names[1]] if skill_at_start else []]
        choices = choices_in_team(len(side), self.params.largest)
        cover = [[False] * max(choices.rows[len(side)]) for _ in range(2)]
        rule = kernel.Rule(self.rule, self.params.reliable, choices, cover)
        units, c = Units(starts, numbers, facts), self.learners[1].constants  # type: ignore[attr-defined]
        return kernel.average(units, 0, self.params.largest, bool(skill_at_start), rule, records, c)


class TeamSkillAllKEV(TeamSkillAllK):
    """TeamSkill-AllK-EV: every player counts, and every reliable group of two or more."""

    name = "teamskill_allk_ev"
    parameters = TeamSkillAllKParams
    rule = kernel.EV


class TeamSkillAllKLS(TeamSkillAllK):
    """TeamSkill-AllK-LS: a group counts if reliable and in no larger one that is; a player, if they are in none."""

    name = "teamskill_allk_ls"
    parameters = TeamSkillAllKParams
    rule = kernel.LS
