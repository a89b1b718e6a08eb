"""Systems of two teams that keep a rating in points for each player: Elo, football, Glicko and SynElo.

A live system rates a match by the kernel that replays histories: it gives the kernel the match as a history of one, and
the players' own records in place of an array of them.  A family says in `chance` and `learn` how its kernel is called.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.parameters import FARTHEST, MOST, NEVER, Params, ranged
from equipoise.ratings.parts.match_arrays import LIMIT, Lineup, MatchArrays, lineup_of, one_match
from equipoise.ratings.parts.player_table import PlayerTable, ShownParams, bounded, checked, refuse_bots
from equipoise.ratings.system import ANYWHERE, Change, Match, Rated, SkillContext, WinProbabilities


@dataclass(slots=True)
class Record:
    """The fields that every points system keeps of a player."""

    rating: float = bounded(-LIMIT, LIMIT)
    rounds: int = bounded(0, MOST, 0)
    last_played: float = bounded(-FARTHEST, FARTHEST, NEVER)
    """Seconds since the epoch; `NEVER` before the first match whose time is known."""


@dataclass(frozen=True, slots=True)
class PointsParams(Params):
    """Parameters of every points system: when a rating is shown and when it is stale."""

    shadow_rounds: int = ranged(20, 0, 100_000)
    """Rounds before a rating is shown; 20 is what an Elo rating takes to settle (LMU slides, "ELO")."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated match before a player is flagged."""


P = TypeVar("P", bound=ShownParams)
R = TypeVar("R", bound=Record)


class PointsSystem(PlayerTable[P, R]):
    """Skill is the rating in points; the fields of a record are the state of a player."""

    seeds: ClassVar[Iterable[str]] = ("rating", "rounds", "last_played")
    """The fields of a record that can be seeded."""

    @abstractmethod
    def chance(self, match: Match, lineup: Lineup, records: list[R]) -> float:
        """The expected score of the first team, by the kernel; `lineup` holds this match only."""

    @abstractmethod
    def learn(self, match: Match, arrays: MatchArrays, records: list[R], wins: list[float], after: list[float]) -> None:
        """Rate the match by the kernel: modify `records`, fill `wins` (two) and `after` (of each participant)."""

    def predict(self, match: Match) -> WinProbabilities:
        """Predict the lineups.  A draw counts as half a win, so `draw` is 0."""
        self._refuse_other_than_two(match)
        first = self.chance(match, lineup_of(match), self.records(match.lineup or match.teams))
        return WinProbabilities((first, 1.0 - first))

    def rate(self, match: Match) -> Rated:
        """Rate a match; one change per participant."""
        self._refuse_other_than_two(match)
        score = match.score(0)
        scores = score, 1.0 - score
        arrays, players = one_match(match)
        # Before anything is written: a refused match changes nothing.
        refuse_bots(match, arrays.lineup)
        records = self.records((players,))
        before = [record.rating for record in records]
        wins, after = [0.0, 0.0], [0.0] * len(arrays.members)
        self.learn(match, arrays, records, wins, after)
        changes: list[Change] = []
        first = len(match.teams[0])
        for player, record, old, new in zip(players, records, before, after, strict=False):
            # Changes come in the order of the teams, so their number says whose turn it is; players of the lineup alone
            # come last, and `after` ends before them.
            team = int(len(changes) >= first)
            self.players[player] = record
            changes.append(Change(player, team, old, new, record.rounds, wins[team], scores[team]))
        return Rated(WinProbabilities((wins[0], wins[1])), tuple(changes))

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The rating in points; for bots and players who are not held, a newcomer's."""
        return self.held(player).rating

    def summary(self, player: PlayerId) -> PlayerSummary:
        """The rating in points; visible after the shadow period."""
        record = self.held(player)
        return self.shown(player, record.rating, record.rounds, record.last_played)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Set the fields that are named in `seeds`; `last_played` in seconds since the epoch."""
        for name in skill:
            if name not in self.seeds:
                raise RatingError(f"{player}: {self.name} has no {name} to seed, only {', '.join(self.seeds)}")
        self.players[player] = self.seeded(player, self.held(player), skill)

    def seeded(self, player: PlayerId, held: R, skill: Mapping[str, float]) -> R:
        """The record with these fields set; raises `RatingError` for a value out of range."""
        return replace(held, **checked(player, held, skill, self.bounds))

    def _refuse_other_than_two(self, match: Match) -> None:
        if len(match.teams) != 2:
            raise RatingError(f"{self.name} rates two teams, not {len(match.teams)}")
