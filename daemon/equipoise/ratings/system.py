"""The interface of a rating system: the matches that it rates, and its answers.

The daemon holds only some players in memory. It restores the players that a match `needs`, rates the match, and stores
the `state` of every player that changed. Nothing here reads a clock: time comes in with the match or as `now`.

Replays and fits of whole histories are functions of the package (`equipoise.ratings.replay`, `fit`), because they need
numpy.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeAlias, TypeVar

from equipoise.core.model import Counts, Hive, PlayerId, PlayerSummary, Role, Skills, is_bot
from equipoise.errors import RatingError
from equipoise.ratings.parameters import FARTHEST, MOST, build_params, check_number, is_number, number_of, refuse_twice

State: TypeAlias = Mapping[str, object]
"""Everything a system keeps about one player except history rows, as values that JSON can hold."""

Parts: TypeAlias = Mapping[str, object]
"""State that belongs to no single player, by key, as values that JSON can hold; None for a key without state."""

Past: TypeAlias = tuple[float, float, float]
"""One row of a player's history: `after`, `expected` and `score` of a `Change`."""

Covariance: TypeAlias = Sequence[Sequence[float]]
"""A symmetric matrix, row by row."""

# Its negative is the largest one: comparing with both refuses NaN and infinity, too.
LEAST = -sys.float_info.max
"""The smallest finite number."""

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Span:
    """An unbroken stretch of one player's match, in seconds since it went live."""

    team: int
    start: float
    end: float
    role: Role = Role.FIELD


@dataclass(frozen=True, slots=True)
class Match:
    """One match; in the daemon, a round. Facts about players are keyed by id; a missing key means the default.

    Raises `RatingError` for fewer than two teams; for a player named twice; for ranks, a lineup, points or sides whose
    length is not the number of teams; for numbers that are not finite or beyond `FARTHEST` (times) or `MOST`; and for
    spans that overlap or end before they begin.

    >>> won = Match(teams=((PlayerId("ann"),), (PlayerId("bob"),)), ranks=(0, 1))
    >>> won.score(0), won.score(1)
    (1.0, 0.0)
    """

    teams: tuple[tuple[PlayerId, ...], ...]
    """The participants; each is listed once, on the side they are rated for."""
    ranks: tuple[int, ...] = ()
    """Place of each team; lower is better, equal is a draw. Empty: the match is not over and can only be predicted."""
    lineup: tuple[tuple[PlayerId, ...], ...] = ()
    """The players on each side when the match went live, including bots; predictions use these. Empty: the teams."""
    skill_at_start: Mapping[PlayerId, float] = field(default_factory=dict)
    """`System.skill` when the match went live; for a missing player, their present skill."""
    started_at: float | None = None
    """Seconds since the epoch: when the match went live."""
    seconds: float | None = None
    """Length of the match."""
    fraction_played: Mapping[PlayerId, float] = field(default_factory=dict)
    """Fraction of the match played, 0 to 1; 1 for a missing player."""
    spans: Mapping[PlayerId, tuple[Span, ...]] = field(default_factory=dict)
    """When, for which team and in which role a player played, including time on the other team.

    A player without spans, or with an empty tuple, played their `fraction_played` of the match.
    """
    bots: tuple[Span, ...] = ()
    """The time of bots, all in one; empty where it is not known."""
    squads: tuple[tuple[PlayerId, ...], ...] = ()
    """Players who joined together; a player is in one squad at most."""
    counts: Mapping[PlayerId, Counts] = field(default_factory=dict)
    """Counts of players' deeds in the whole match."""
    quits: frozenset[PlayerId] = frozenset()
    """Players who left before the end."""
    points: tuple[float, ...] = ()
    """Goals or points of each team; empty if the game has none or they are unknown."""
    map: str = ""
    mode: str = ""
    sides: tuple[str, ...] = ()
    """The name of each team's side, such as marines and aliens or home and away. Empty if sides do not differ."""
    weight: float = 1.0
    """How much the match counts; an ordinary match has weight 1."""

    def __post_init__(self) -> None:
        if len(self.teams) < 2:
            raise RatingError("a match needs at least two teams")
        columns = ("ranks", self.ranks), ("lineup", self.lineup), ("points", self.points), ("sides", self.sides)
        for name, values in columns:
            if values and len(values) != len(self.teams):
                raise RatingError(f"{name}: {len(values)} given for {len(self.teams)} teams")
        for sides in (self.teams, self.lineup):
            refuse_twice(sides, "named twice in one match")
        # Teams and lineup may name the same player: who was there, and who took part.
        refuse_twice(self.squads, "named twice in its squads")
        self._check_numbers()
        for player, spans in self.spans.items():
            _check_spans(player, spans, len(self.teams))
        for span in self.bots:  # each for itself: bots play at the same time
            _check_spans(PlayerId("bots"), (span,), len(self.teams))

    def _check_numbers(self) -> None:
        check_number("weight", self.weight, 0.0, MOST)
        if self.started_at is not None:
            check_number("started_at", self.started_at, -FARTHEST, FARTHEST)
        if self.seconds is not None:
            check_number("seconds", self.seconds, 0.0, FARTHEST)
        for points in self.points:
            check_number("points", points, -MOST, MOST)
        for player, fraction_played in self.fraction_played.items():
            number_of(player, "fraction_played", fraction_played, 0.0, 1.0)
        for player, skill in self.skill_at_start.items():
            number_of(player, "skill_at_start", skill, -MOST, MOST)
        for player, counts in self.counts.items():
            for name in ("kills", "deaths", "assists", "points"):
                number_of(player, name, getattr(counts, name), 0.0, MOST)
            for name, seconds in counts.classes.items():
                number_of(player, name, seconds, 0.0, FARTHEST)
            if (hive := counts.hive) is not None:
                number_of(player, "hive.skill", hive.skill, 0.0, MOST)
                number_of(player, "hive.offset", hive.offset, -MOST, MOST)
                number_of(player, "hive.commander", hive.commander, 0.0, MOST)

    def without_skills(self) -> Match:
        """Return the match without `skill_at_start`; what was checked is not checked again."""
        twin = copy(self)
        object.__setattr__(twin, "skill_at_start", {})
        return twin

    @property
    def predicted_lineup(self) -> tuple[tuple[PlayerId, ...], ...]:
        """The players that a prediction is about: the lineup, or the teams if no lineup is known."""
        return self.lineup or self.teams

    def score(self, team: int) -> float:
        """1 for first place, divided equally among teams that share it, else 0. For two teams: 1, 0.5 or 0."""
        if not self.ranks:
            raise RatingError("the match has no ranks: it is not over")
        # A place that is shared by n teams is worth 1/n to each, so the scores of a match add up to 1.
        best = min(self.ranks)
        return 1.0 / self.ranks.count(best) if self.ranks[team] == best else 0.0


def ranks_of(outcome: float) -> tuple[int, int]:
    """The ranks of two teams by the outcome of the first: 1, 0.5 or 0.

    >>> ranks_of(1.0), ranks_of(0.5)
    ((0, 1), (0, 0))
    """
    try:
        return {1.0: (0, 1), 0.5: (0, 0), 0.0: (1, 0)}[outcome]
    except KeyError:
        raise RatingError(f"outcome {outcome!r} is not 1, 0.5 or 0") from None


@dataclass(frozen=True, slots=True)
class SkillContext:
    """The map, mode, side and role that a skill is needed for; an empty field means unspecified."""

    mode: str = ""
    map: str = ""
    side: str = ""
    role: Role = Role.FIELD


ANYWHERE = SkillContext()


class WinProbabilities(NamedTuple):
    """The prediction for a match; `wins` and `draw` sum to 1.

    >>> WinProbabilities((0.5, 0.3), draw=0.2).expected(1)
    0.4
    """

    wins: tuple[float, ...]
    """Probability of each team to be first alone."""
    draw: float = 0.0
    """Probability that first place is shared."""

    def expected(self, team: int) -> float:
        """The expected `Match.score` of a team: its win probability plus its part of the draw."""
        return self.wins[team] + self.draw / len(self.wins)


class Change(NamedTuple):
    """Effect of one match on one participant. A named tuple, as are the other answers: they are made fast."""

    player: PlayerId
    team: int
    before: float
    """The rating in `summary` before the match; `after` is the rating after it."""
    after: float
    rounds: int
    """Rounds that the player has been rated for, including this one."""
    expected: float
    """The score that was predicted for the player's team."""
    score: float


class Rated(NamedTuple):
    """The answer to a rated match."""

    prediction: WinProbabilities
    """The prediction from the ratings before the match."""
    changes: tuple[Change, ...]
    """One per participant, in the order of `Match.teams`."""
    variance: float | None = None
    """`System.variance` before the match, of systems that rate with it."""


@dataclass(frozen=True, slots=True)
class Convergence:
    """How a whole-history fit ended."""

    iterations: int
    gradient: float
    """Remainder of a quantity that is 0 at the solution; docs/ratings says for each system which one."""
    converged: bool


class System(ABC, Generic[P]):
    """A rating system and the players that it holds; `rate` adds players that it has not seen.

    The units of `skill`, `uncertainty`, `state` and `seed` are the system's own: see `docs/ratings.md`.
    """

    name: ClassVar[str]
    """The name in configuration and in error messages."""
    parameters: ClassVar[type[Any]]
    """The dataclass of its parameters."""
    live: ClassVar[bool] = True
    """Whether a pool can use the system; if False, it rates histories only."""
    shares: ClassVar[bool] = False
    """Whether it keeps state that belongs to no single player: `shared` may have parts then."""
    correlated: ClassVar[bool] = False
    """Whether what it knows of players depends on each other: `covariance` is more than a diagonal."""
    sequential: ClassVar[bool] = False
    """Whether a match changes what is known of absent players too, so that its state is a function of the whole
    sequence of matches and edits. It is stored as a `snapshot`, not by players and parts: `needs` is empty."""
    rates_with_variance: ClassVar[bool] = False
    """Whether `rate` answers with the variance before the match, so that it need not be asked for."""
    by_side: ClassVar[bool] = False
    """Whether the skill of a player depends on the side."""
    compares_means: bool = False
    """Whether a team is the mean of its players, and not their sum: one player more is no advantage."""
    commanders_apart: ClassVar[bool] = False
    """Whether a commander's skill counts against the other commander's, and not in the sum of their side."""
    params: P

    def __init__(self, params: P) -> None:
        self.params = params

    @classmethod
    def create(cls, /, **params: object) -> Self:
        """A system without players, with the named parameters and the others at their defaults."""
        return cls(build_params(cls.parameters, params))

    @property
    def window(self) -> int:
        """How many of a player's last history rows `restore` needs."""
        return 0

    @property
    def stale_after(self) -> float:
        """Seconds without a rated match after which a player is flagged as stale; the rating stays."""
        return math.inf

    def stale(self, last_played: float | None, now: float) -> bool:
        """Whether a player is stale; both times in seconds since the epoch. A player who never played is not stale."""
        return last_played is not None and now - last_played > self.stale_after

    @abstractmethod
    def predict(self, match: Match) -> WinProbabilities:
        """The prediction for a match; changes no state."""

    @abstractmethod
    def rate(self, match: Match) -> Rated:
        """Rate a match that is over. If it is refused (`RatingError`), nothing changes."""

    @abstractmethod
    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The number that the solver balances on: equally large sides are even if their sums of it are equal."""

    def skill_values(self, players: Sequence[PlayerId], context: SkillContext = ANYWHERE) -> list[float]:
        """Return the `skill` of each player; a roster is asked for several times a round."""
        return [self.skill(player, context) for player in players]

    @abstractmethod
    def gap(self, probability: float, size: int) -> float:
        """The difference of the sides' sums of skill that shifts an even match by `probability`, at `size` a side."""

    def difference_at(self, probability: float, match: Match) -> float:
        """The difference of the sides' sums of field skill at which the first of two teams wins with this probability.

        Only what does not depend on who of the field plays on which side is read from the match: how many play, the
        commanders, map and sides. Here by `gap`, a straight line from an even match. Infinite where no difference gives
        the probability.
        """
        # By the larger side, as `gap` has one size; an empty match to come counts as one against one.
        return self.gap(probability - 0.5, max(1, max(map(len, match.teams))))

    @abstractmethod
    def uncertainty(self, player: PlayerId) -> float:
        """How uncertain the skill is, 0 or more, in the system's own unit; smaller is more certain."""

    def deviation(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float | None:
        """The standard deviation of the skill, in its unit; None where the system does not know it."""
        return None

    def covariance(self, players: Sequence[PlayerId], context: SkillContext = ANYWHERE) -> Covariance | None:
        """The covariance of the players' skills, in their order and in the skill's unit squared.

        A diagonal unless the system is `correlated`; None where deviations are not known.
        """
        deviations = [self.deviation(player, context) for player in players]
        spreads = [deviation for deviation in deviations if deviation is not None]
        # One player without a deviation makes the whole unknown: a 0 in their place would claim that they are known
        # exactly.
        if len(spreads) < len(deviations):
            return None
        return [
            [deviation**2 * (row == column) for column in range(len(spreads))] for row, deviation in enumerate(spreads)
        ]

    def variance(self, match: Match) -> float | None:
        """The variance of the difference of two lineups in log-odds; None: it is that of their players' `covariance`.

        For a system that is unsure of more than its players, such as what head count, side and map are worth.
        """
        return None

    def trueskill_quality(self, match: Match) -> float | None:
        """TrueSkill's match quality, 0 to 1 (Herbrich et al. 2006, section 4); None for systems that are no TrueSkill.

        RatingError: one of the teams has no players.
        """
        return None

    def skills(self, player: PlayerId) -> Skills | None:
        """Skill by side and as a commander, with standard deviations; None where the system has one skill."""
        return None

    @abstractmethod
    def summary(self, player: PlayerId) -> PlayerSummary:
        """Return the player as the pool shows them; one who is not held is shown as a newcomer."""

    def introduce(self, hives: Mapping[PlayerId, Hive]) -> bool:
        """Take players who are not held for what the game itself says of them; tell whether that changes a skill."""
        return False

    @abstractmethod
    def seed(self, player: PlayerId, **skill: float) -> None:
        """Add the player if they are new, and set the named values; other values stay."""

    @abstractmethod
    def state(self, player: PlayerId) -> State:
        """Return the state to store of a player after a match; a newcomer's for one who is not held."""

    @abstractmethod
    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """Hold a player again, from their stored `state` and their last `window` history rows, oldest first."""

    def copy(self, player: PlayerId) -> object:
        """Return all that is held of a player, for `put`, once; None: nothing is."""
        return self.state(player) if player in self else None

    def put(self, player: PlayerId, copy: Any) -> None:
        """Hold of a player what `copy` returned."""
        if copy is None:
            self.forget(player)
        else:
            self.restore(player, copy)

    @abstractmethod
    def forget(self, player: PlayerId) -> None:
        """Drop a player from memory: they count as a newcomer until they are restored."""

    @abstractmethod
    def __contains__(self, player: PlayerId) -> bool:
        """Whether the player is held."""

    def needs(self, match: Match) -> frozenset[PlayerId]:
        """The players to restore from the store, if it has them, before the match is predicted or rated."""
        # Those of the lineup too, who may have left before they took part: the prediction reads their skill.
        players = (player for side in (*match.teams, *match.lineup) for player in side)
        return frozenset(player for player in players if not is_bot(player))

    def shared(self, match: Match | None = None) -> Parts:
        """State that belongs to no single player: the parts that a match may change, or all parts without a match."""
        return {}

    def restore_shared(self, key: str, part: object) -> None:
        """Set a part that `shared` returned; None removes it. If it is refused (`RatingError`), nothing changes."""
        raise RatingError(f"{self.name} keeps nothing but its players: {key}")

    @property
    def spread(self) -> float | None:
        """Standard deviation of newcomers' skill, in the system's own units, if a pool's rounds can teach another."""
        return None

    def begin(self, spread: float) -> None:
        """Hold nobody, and take newcomers for spread by this much, whatever the parameters say."""
        raise RatingError(f"{self.name} learns no spread of skill")

    def snapshot(self, head: bytes = b"") -> bytes:
        """All that a `sequential` system holds; `restore_snapshot` of a system with the same parameters reads it.

        It stands behind `head`, which is not read again: to put it there afterwards would copy megabytes.
        """
        raise RatingError(f"{self.name} keeps its state by players and parts")

    def checkpoint(self) -> object:
        """Return an argument for `go_back` of the same sequential system; quicker than a snapshot, and never stored."""
        return self.snapshot()

    def go_back(self, checkpoint: object) -> None:
        """Hold what was held at the checkpoint; it can be used again."""
        assert isinstance(checkpoint, bytes)
        self.restore_snapshot(checkpoint)

    def restore_snapshot(self, data: bytes) -> None:
        """Hold what a snapshot has, and nothing else. If it is refused (`RatingError`), nothing changes."""
        raise RatingError(f"{self.name} keeps its state by players and parts")

    def renamed_snapshot(self, data: bytes, player: str, stand_in: str) -> bytes:
        """A snapshot with another id of the same length in a player's place. RatingError: it is damaged."""
        raise RatingError(f"{self.name} keeps its state by players and parts")


def log_odds(probability: float) -> float:
    """The logarithm of the odds; infinite for 0 and 1.

    >>> round(log_odds(0.75), 3), log_odds(1.0)
    (1.099, inf)
    """
    if not 0.0 < probability < 1.0:
        return math.copysign(math.inf, probability - 0.5)
    return math.log(probability / (1.0 - probability))


def _check_spans(player: PlayerId, spans: tuple[Span, ...], teams: int) -> None:
    team_numbers = range(teams)
    for span in spans:
        start, end = span.start, span.end
        # A live round has dozens of spans, nearly all of plain floats: these are checked without a call.
        numbers = (type(start) is float or is_number(start)) and (type(end) is float or is_number(end))
        if not (
            numbers and LEAST <= start <= end <= -LEAST and span.team in team_numbers and isinstance(span.role, Role)
        ):
            text = f"team {span.team!r}, {span.start!r} to {span.end!r} s, {span.role!r}"
            raise RatingError(f"{player}: no stretch of a match: {text}")
    if len(spans) > 1:
        # By the end as well, so that a span without length comes before one that begins where it stands.
        in_order = sorted(spans, key=lambda span: (span.start, span.end))
        for span, next_span in pairwise(in_order):
            if next_span.start < span.end:
                raise RatingError(f"{player}: plays twice at {next_span.start!r} s: their spans overlap")
