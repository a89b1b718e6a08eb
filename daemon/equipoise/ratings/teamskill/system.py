"""TeamSkill (DeLong et al., PAKDD 2011): teams as good as the groups in them, rated by another system.

Its formulas, and what its sources leave open, are in docs/ratings/teamskill.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import comb
from typing import Any, Generic, TypeVar

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.elo.system import Elo
from equipoise.ratings.parts.players import PlayerTable
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.system import (
    ANYWHERE,
    Match,
    Params,
    Parts,
    Past,
    Rated,
    SkillContext,
    State,
    System,
    WinProbabilities,
    ranged,
)
from equipoise.ratings.teamskill.group_index import MOST_GROUPS
from equipoise.ratings.teamskill.groups import (
    AND,
    BASES,
    coefficient,
    groups_of,
    in_groups,
    parts_of,
)

LARGEST = 12
"""Players in a group, at most."""


@dataclass(frozen=True, slots=True)
class BaseParams(Params):
    """What rates the groups."""

    base: str = "trueskill"
    """`elo`, `glicko` or `trueskill`."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Its own parameters; those that differ from its defaults."""

    def __post_init__(self) -> None:
        """Refuse values out of range, and what the base refuses."""
        Params.__post_init__(self)
        if self.base not in BASES:
            raise RatingError(f"base: {self.base!r} is none of {', '.join(sorted(BASES))}")
        try:
            BASES[self.base].kind.create(**self.settings)
        except RatingError as error:
            raise RatingError(f"settings.{error}") from None


@dataclass(frozen=True, slots=True)
class TeamSkillKParams(BaseParams):
    """Parameters of TeamSkill-k."""

    k: int = ranged(2, 1, LARGEST)
    """Players in a group; fewer where a team has fewer."""


@dataclass(frozen=True, slots=True)
class TeamSkillAllKParams(BaseParams):
    """Parameters of TeamSkill-AllK."""

    largest: int = ranged(3, 1, LARGEST)
    """Players in a group, at most."""
    reliable: int = ranged(3, 1, 100_000)
    """Matches together from which a group of two or more counts."""


P = TypeVar("P", bound=BaseParams)


class TeamSkill(System[P], Generic[P]):
    """One base system for each size of group; that of size 1 holds the players, and what a pool shows of them.

    Skill and uncertainty are the base's, of a player alone: what a group adds belongs to no single player.
    """

    def __init__(self, params: P) -> None:
        self.params = params
        self.learners: dict[int, PlayerTable[Any, Any]] = {1: self._learner()}
        """By size of group."""

    @abstractmethod
    def sizes(self, match: Match) -> tuple[int, ...]:
        """Of the groups that learn from the match; always with 1."""

    @abstractmethod
    def strength(self, side: tuple[PlayerId, ...]) -> float:
        """TeamSkill of a team, on the scale of a sum of players."""

    def rate(self, match: Match) -> Rated:
        """By the base system of every size; changes are those of players.  The base decides which facts are read."""
        match.score(0)
        prediction, sizes = self.predict(match), self.sizes(match)
        rated = self.learners[1].rate(match)  # refuses what any other would refuse
        for size in sizes[1:]:
            self.learner(size).rate(in_groups(match, size))
        changes = (change._replace(expected=prediction.expected(change.team)) for change in rated.changes)
        return Rated(prediction, tuple(changes))

    def learner(self, size: int) -> PlayerTable[Any, Any]:
        """What rates groups of a size."""
        if size not in self.learners:
            self.learners[size] = BASES[self.params.base].for_groups(self.learners[1], size)
        return self.learners[size]

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """As the base has it."""
        return self.learners[1].skill(player, context)

    def gap(self, probability: float, size: int) -> float:
        """As the base has it."""
        return self.learners[1].gap(probability, size)

    def uncertainty(self, player: PlayerId) -> float:
        """As the base has it."""
        return self.learners[1].uncertainty(player)

    @property
    def stale_after(self) -> float:
        """As the base has it."""
        return self.learners[1].stale_after

    def summary(self, player: PlayerId) -> PlayerSummary:
        """As the base has it."""
        return self.learners[1].summary(player)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """As the base has it."""
        self.learners[1].seed(player, **skill)

    def state(self, player: PlayerId) -> State:
        """The base's."""
        return self.learners[1].state(player)

    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """The base's."""
        self.learners[1].restore(player, state, history)

    def forget(self, player: PlayerId) -> None:
        """Hold the player no longer; their groups stay."""
        self.learners[1].forget(player)

    def __contains__(self, player: PlayerId) -> bool:
        return player in self.learners[1]

    def shared(self, match: Match | None = None) -> Parts:
        """By its id, the base's state of each group of two and more; None of one that has yet to play."""
        if match is not None:
            learning = ((group, self.learner(size)) for size in self.sizes(match)[1:] for group in _all(match, size))
            return {group: dict(learner.state(group)) if group in learner else None for group, learner in learning}
        larger = [learner for size, learner in self.learners.items() if size > 1]
        return {group: dict(learner.state(group)) for learner in larger for group in learner.players}

    def restore_shared(self, key: str, part: object) -> None:
        """One group as it was."""
        group, size = PlayerId(key), key.count(AND) + 1
        if not 2 <= size <= LARGEST:
            raise RatingError(f"{self.name}: not a group of 2 to {LARGEST}: {key!r}")
        if part is None:
            self.learner(size).forget(group)
        elif isinstance(part, Mapping):
            self.learner(size).restore(group, part)
        else:
            raise RatingError(f"{self.name}: not a state of {key!r}: {part!r}")

    def _learner(self) -> PlayerTable[Any, Any]:
        return BASES[self.params.base].kind.create(**self.params.settings)


class TeamSkillK(TeamSkill[TeamSkillKParams]):
    """Groups of one size: a team is K/k times the mean skill of all it has."""

    name = "teamskill_k"
    parameters = TeamSkillKParams

    def sizes(self, match: Match) -> tuple[int, ...]:
        """1 and, where it is another, k or as many as the smallest team has."""
        return tuple(sorted({1, self.size(match)}))

    def size(self, match: Match) -> int:
        """Of the groups that the match is predicted by."""
        return max(1, min(self.params.k, *map(len, (*match.teams, *match.predicted_lineup))))

    def predict(self, match: Match) -> WinProbabilities:
        """By the learner of that size, whose teams are the means of their groups."""
        size = self.size(match)
        return self.learner(size).predict(in_groups(match, size))

    def strength(self, side: tuple[PlayerId, ...]) -> float:
        """(k-1)!(K-k)!/(K-1)! times the sum of its groups."""
        size = min(self.params.k, len(side))
        total = sum(self.learner(size).skill(group) for group in groups_of(side, size))
        return coefficient(len(side), size) * size * total


class TeamSkillAllK(TeamSkill[TeamSkillAllKParams]):
    """Groups of all sizes: a team is K/Σm times the sum of the mean skills of those of each size m that count."""

    def sizes(self, match: Match) -> tuple[int, ...]:
        """All that every team has groups of, and not too many."""
        largest = min(self.params.largest, *map(len, match.teams))
        biggest = max(map(len, (*match.teams, *match.predicted_lineup)))
        return (1, *(size for size in range(2, largest + 1) if comb(biggest, size) <= MOST_GROUPS))

    @abstractmethod
    def counting(self, side: tuple[PlayerId, ...]) -> Mapping[int, tuple[PlayerId, ...]]:
        """The groups of a team that count, by size; none of a size that has none."""

    def predict(self, match: Match) -> WinProbabilities:
        """As the base predicts teams of equal players, that are as good and as well known as the groups that count."""
        base, judge, count = BASES[self.params.base], self.learners[1], len(match.teams)
        if base.two_teams and count != 2:
            raise RatingError(f"{judge.name} rates two teams, not {count}")
        sides = Teams.of(count)
        for team, side in enumerate(match.predicted_lineup):
            sides.mean[team], sides.variance[team] = self._average(side, match.skill_at_start)
            sides.size[team] = float(len(side))
        lead = judge.lead(match.sides) if isinstance(judge, Elo) else 0.0
        draw = base.expect(count, lead, sides, judge.constants)  # type: ignore[attr-defined]
        return WinProbabilities(tuple(sides.wins), draw)

    def strength(self, side: tuple[PlayerId, ...]) -> float:
        """K/Σm times the sum over m of the mean skill of its groups of m."""
        return len(side) * self._average(side, {})[0]

    def _average(self, side: tuple[PlayerId, ...], skill_at_start: Mapping[PlayerId, float]) -> tuple[float, float]:
        """Per member of a team: mean and variance; each size m weighs m times."""
        mean = variance = weight = 0.0
        for size, groups in self.counting(side).items():
            learner, each = self.learner(size), size / len(groups)
            known = skill_at_start if size == 1 else {}
            weight += size
            mean += each * sum(known.get(group, learner.skill(group)) for group in groups)
            variance += each * sum(learner.uncertainty(group) ** 2 for group in groups)
        if not weight:
            stranger = PlayerId("")
            return self.skill(stranger), self.uncertainty(stranger) ** 2
        return mean / weight, variance / weight

    def _known(self, side: tuple[PlayerId, ...], size: int) -> tuple[PlayerId, ...]:
        if not 0 < comb(len(side), size) <= MOST_GROUPS:
            return ()
        learner = self.learner(size)
        return tuple(group for group in groups_of(side, size) if learner.summary(group).rounds >= self.params.reliable)


class TeamSkillAllKEV(TeamSkillAllK):
    """Every player counts, and every larger group that is reliable."""

    name = "teamskill_allk_ev"
    parameters = TeamSkillAllKParams

    def counting(self, side: tuple[PlayerId, ...]) -> Mapping[int, tuple[PlayerId, ...]]:
        """All players; all reliable groups."""
        found = {size: self._known(side, size) for size in range(2, self.params.largest + 1)}
        return {size: groups for size, groups in {1: groups_of(side, 1), **found}.items() if groups}


class TeamSkillAllKLS(TeamSkillAllK):
    """Only the largest subsets count: reliable groups in no larger one that is, and players in none."""

    name = "teamskill_allk_ls"
    parameters = TeamSkillAllKParams

    def counting(self, side: tuple[PlayerId, ...]) -> Mapping[int, tuple[PlayerId, ...]]:
        """From the largest size down, without what is part of a group that counts."""
        found: dict[int, tuple[PlayerId, ...]] = {}
        covered: set[PlayerId] = set()
        for size in range(min(self.params.largest, len(side)), 0, -1):
            known = self._known(side, size) if size > 1 else groups_of(side, 1)
            kept = tuple(group for group in known if group not in covered)
            if kept:
                found[size] = kept
            covered = {part for group in {*covered, *kept} for part in parts_of(group)} if size > 1 else set()
        return found


def _all(match: Match, size: int) -> Iterator[PlayerId]:
    """The groups that learn from it; none where they are too many, which is refused."""
    for side in match.teams:
        if comb(len(side), size) <= MOST_GROUPS:
            yield from groups_of(side, size)
