"""SynElo, the default of TF2 pools: Elo on sums of ratings, a K for each player.

Its formulas F1 to F5, and what their source leaves open, are in docs/ratings.md.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.parameters import Params, count_of, known_time, number_of, one_of, ranged
from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays
from equipoise.ratings.parts.points import PointsSystem
from equipoise.ratings.synelo import formulas as kernel
from equipoise.ratings.synelo.formulas import SynEloPlayer
from equipoise.ratings.system import Match, Past, State, log_odds

LIMIT = 50_000.0
"""Points: the largest rating; keeps sums of squares over the largest window below 2⁵³, where floats are exact."""


@dataclass(frozen=True, slots=True)
class SynEloParams(Params):
    """Parameters of SynElo; symbols and defaults are those of the source's table."""

    initial: float = ranged(1000.0, 0, LIMIT)
    """R_0, points: a new player's rating, and a bot's."""
    floor: float = ranged(100.0, 0, LIMIT)
    """R_min, points: the lowest rating."""
    shadow_rounds: int = ranged(50, 0, 100_000)
    """T_shadow: rounds before a rating is shown."""
    shadow_cap: float = ranged(2200.0, 0, LIMIT)
    """R_Tshadow, points: the most a rating can be after the last shadow round.

    At the defaults it never binds: 50 rounds with C = 1 and a surprise of 1 lead from 1000 to 1997.
    """
    stale_days: float = ranged(30.0, 0, 100_000)
    """T_stale: days without a rated round before a player is flagged."""
    k_max: int = ranged(12, 1, 1000)
    """k_max, players: the largest team size, or its median over the servers of a pool. Sets Θ."""
    theta: float | None = ranged(None, 1, 1_000_000)
    """Θ, points: the logistic's scale; None derives it from `k_max` (F1)."""
    k_factor_min: float = ranged(2.0, 0, 10_000)
    """K_min, points (F5)."""
    k_factor_max: float = ranged(72.0, 0.001, 10_000)
    """K_max, points (F5)."""
    window: int = ranged(500, 2, 1000)
    """W, rounds that the convergence score looks back."""
    velocity_weight: float = ranged(0.25, 0, 1000)
    """w_vel, weight of the velocity in C (F3)."""
    excess_weight: float = ranged(0.25, 0, 1000)
    """w_wre, weight of the excess of wins in C (F3)."""
    volatility_weight: float = ranged(0.5, 0, 1000)
    """w_vol, weight of the volatility in C (F3)."""
    compression: float = ranged(400.0, 1, 1_000_000)
    """σ, points: width of the Gaussian that shrinks K away from R_0 (F4)."""
    rounding: Literal["bankers", "none"] = one_of("bankers", "none")
    """New ratings are rounded half to even to whole points, or kept as they are."""
    late: Literal["full", "share"] = one_of("full", "share")
    """Who played a part of a round moves as all others (the source), or K counts for that part of it."""

    def __post_init__(self) -> None:
        """Refuse values out of range or at odds with each other."""
        Params.__post_init__(self)
        if self.k_factor_min > self.k_factor_max:
            raise RatingError("k_factor_min: above k_factor_max")
        for name in ("initial", "shadow_cap"):
            if getattr(self, name) < self.floor:
                raise RatingError(f"{name}: below floor")
        for name in ("initial", "floor", "shadow_cap"):
            if self.rounding == "bankers" and getattr(self, name) % 1:
                raise RatingError(f"{name}: {getattr(self, name)!r} is not whole, as rounding = 'bankers' needs it")

    @property
    def scale(self) -> float:
        """Θ in points: `theta`, else 400·⌊median{1..k_max}⌋ (F1)."""
        # The median of 1 to n is (n + 1)/2; the source rounds it down.
        return 400.0 * ((self.k_max + 1) // 2) if self.theta is None else self.theta

    def constants(self) -> kernel.SynEloConstants:
        """SynElo's parameters for the formulas: theta and the window's width are worked out."""
        return kernel.SynEloConstants(
            initial=self.initial,
            floor=self.floor,
            shadow_cap=self.shadow_cap,
            shadow_rounds=self.shadow_rounds,
            theta=self.scale,
            width=self.window,
            k_min=self.k_factor_min,
            k_max=self.k_factor_max,
            velocity=self.velocity_weight,
            excess=self.excess_weight,
            volatility=self.volatility_weight,
            compression=self.compression,
            whole=self.rounding == "bankers",
            by_share=self.late == "share",
        )


class SynElo(PointsSystem[SynEloParams, SynEloPlayer]):
    """Skill is the rating in points; uncertainty is the convergence score C, 0 settled to 1 moving."""

    name = "synelo"
    parameters = SynEloParams
    seeds: ClassVar[Iterable[str]] = ("rating", "rounds")

    def __init__(self, params: SynEloParams) -> None:
        super().__init__(params)
        self.constants = params.constants()

    @property
    def window(self) -> int:
        """W: `restore` needs a player's last W history rows."""
        return self.params.window

    def chance(self, match: Match, lineup: Lineup, records: list[SynEloPlayer]) -> float:
        """The expected score of the first team: F1 on the sums of the lineups."""
        return kernel.expected_score(0, lineup, records, self.constants)

    def learn(
        self,
        match: Match,
        arrays: MatchArrays,
        records: list[SynEloPlayer],
        wins: list[float],
        after: list[float],
    ) -> None:
        """Apply F2 to each participant."""
        width = self.constants.width
        # A live window grows with its rounds; the kernel expects a place for the next one.
        for record in records[: len(after)]:
            # Participants alone: who was only in the lineup is not moved.
            if record.count == len(record.ring) < width:
                record.ring.append(0.0)
                record.errors.append(0)
        kernel.rate_match(0, arrays, kernel.Players(records), wins, after, self.constants)

    def gap(self, probability: float, size: int) -> float:
        """4·Θ·probability: the logistic's slope at an even match is 1/(4·Θ)."""
        return 4.0 * self.constants.theta * probability

    def difference_at(self, probability: float, match: Match) -> float:
        """The inverse of F1, whatever the match."""
        return self.constants.theta * log_odds(probability)

    def uncertainty(self, player: PlayerId) -> float:
        """C, the convergence score (F3)."""
        return kernel.convergence(self.held(player), self.constants)

    def seeded(self, player: PlayerId, held: SynEloPlayer, skill: Mapping[str, float]) -> SynEloPlayer:
        """The record with these fields set; its window stays."""
        if "rating" in skill:
            number_of(player, "rating", self._rating(player, skill["rating"]), self.constants.floor, LIMIT)
        return super().seeded(player, held, skill)

    def state(self, player: PlayerId) -> State:
        """Rating, rounds, last_played (epoch seconds or null), windowed (history rows in the window)."""
        record = self.held(player)
        return {
            "rating": record.rating,
            "rounds": record.rounds,
            "last_played": known_time(record.last_played),
            "windowed": record.count,
        }

    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """Hold a player by `state` and the last `windowed` history rows; older rows, before a reset, are ignored."""
        if set(state) != {"rating", "rounds", "last_played", "windowed"}:
            raise RatingError(f"{player}: not a synelo state: {sorted(state)}")
        record = SynEloPlayer(self._rating(player, state["rating"]), count_of(player, "rounds", state["rounds"]))
        if state["last_played"] is not None:
            record.last_played = number_of(player, "last_played", state["last_played"])
        rows = list(history)
        # A pool whose window was shortened has more rows stored than it reads.
        count = min(count_of(player, "windowed", state["windowed"]), self.window)
        self._fill(player, record, rows[max(0, len(rows) - count) :])
        self.players[player] = record

    def copy(self, player: PlayerId) -> object:
        """Return the record with its window, which no state has."""
        record = self.players.get(player)
        return record and replace(record, ring=record.ring[:], errors=record.errors[:])

    def put(self, player: PlayerId, copy: SynEloPlayer | None) -> None:
        """Make the player's record what `copy` returned; None: they were not held."""
        if copy is None:
            self.forget(player)
        else:
            self.players[player] = copy

    def newcomer(self) -> SynEloPlayer:
        """A record at the initial rating with an empty window."""
        return SynEloPlayer(self.constants.initial)

    def _fill(self, player: PlayerId, held: SynEloPlayer, rows: Sequence[Past]) -> None:
        """Make the window of a player without one."""
        initial = self.constants.initial
        held.ring = array("d", [self._rating(player, after) - initial for after, _, _ in rows])
        held.errors = array("q", [_error(player, chance, score) for _, chance, score in rows])
        held.count, held.excess = len(rows), sum(held.errors)
        kernel.resum(held, held.ring, 0)

    def _rating(self, player: PlayerId, value: object) -> float:
        rating = number_of(player, "rating", value)
        if self.constants.whole and rating % 1:
            raise RatingError(f"{player}: rating {rating!r} is not whole, as rounding = 'bankers' needs it")
        return rating


def _error(player: PlayerId, expected: float, score: float) -> int:
    for name, value in (("expected", expected), ("score", score)):
        if not 0.0 <= number_of(player, name, value) <= 1.0:
            raise RatingError(f"{player}: {name} {value!r} is not from 0 to 1")
    return kernel.fixed(score) - kernel.fixed(expected)
