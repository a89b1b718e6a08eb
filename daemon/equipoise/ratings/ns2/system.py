"""NS2, the default of NS2 pools: logistic regression on who played when, for which side and in which role.

Formulas, deviations from the source and decisions: docs/ratings/ns2.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate

from equipoise.core.model import (
    NS2_SIDES,
    TF2_SIDES,
    Hive,
    PlayerId,
    PlayerSummary,
    Role,
    SkillEstimate,
    Skills,
    is_bot,
)
from equipoise.errors import RatingError
from equipoise.ratings.ns2.arrays import NS2Arrays, NS2Constants, Player, Workspace
from equipoise.ratings.ns2.environment import UNKNOWN, Environment, no_rounds
from equipoise.ratings.ns2.formulas import (
    POINTS,
    begin,
    forecast,
    intercept,
    is_large,
    predict_match,
    rate_match,
    start_newcomers,
)
from equipoise.ratings.ns2.time_weights import fill_time_weights, median_length
from equipoise.ratings.parameters import Params, count_of, number_of, ranged
from equipoise.ratings.parts.match_arrays import MatchArrays, one_match
from equipoise.ratings.parts.player_table import PlayerTable, refuse_bots
from equipoise.ratings.system import (
    ANYWHERE,
    Change,
    Match,
    Parts,
    Past,
    Rated,
    SkillContext,
    State,
    WinProbabilities,
    log_odds,
)

LIMIT = 50_000.0
"""Points: largest absolute skill that `seed` accepts."""

MOST_INTRODUCED = 10_000
"""Players of whom the game has said something and who are in no round yet; then all are forgotten, and said again."""

SEEDS = {"rating": "skill", "offset": "offset", "commander": "commander"}
"""The names that `seed` accepts, and the fields they set (in log-odds)."""

SIDES = (NS2_SIDES, TF2_SIDES)


@dataclass(frozen=True, slots=True)
class NS2Params(Params):
    """Parameters of NS2; symbols are the source's, which prints no values."""

    shape: float = ranged(6.0, 1.001, 1000)
    """k of the Gamma prior of s and χ."""
    scale: float = ranged(0.5, 0.001, 1000)
    """θ of the Gamma prior, log-odds: k·θ is its mean, (k - 1)·θ its mode and what a newcomer has."""
    constant_rate: float = ranged(0.2, 0, 1000)
    """c, log-odds per unit of gradient: the constant part of the learning rate."""
    adagrad_rate: float = ranged(0.6, 0, 1000)
    """a, log-odds: the Adagrad part of the learning rate is a/√(g + ε)."""
    adagrad_floor: float = ranged(0.1, 1e-9, 1000)
    """ε, squared gradients: the learning rate of a player's first round is about c + a/√ε."""
    offset_deviation: float = ranged(0.375, 0.001, 1000)
    """Log-odds: prior standard deviation of o; read by the whole-history fit only."""
    commander_field_share: float = ranged(0.0, 0, 1)
    """Weight of field skill in a commander's term; new pools have 0.25, the community's balancers use 0.5."""
    commander_shape: float = ranged(6.0, 1.001, 1000)
    """k of the Gamma prior of χ, whose mode is that of s; the higher, the less commanders are taken to differ."""
    plus_side: str = "marines"
    """The side on which skill is s + o; on any other it is s - o."""
    prior_rounds: float = ranged(20.0, 0.001, 100_000)
    """Weight in rounds with which F's win rates are smoothed towards those of a wider set of rounds."""
    large_above: int = ranged(16, 0, 1000)
    """A match with more players, on both sides together, is a large one for F."""
    bots: bool = True
    """Whether bots' time counts in the sums of a round, with a newcomer's skill."""
    usual_seconds: float = ranged(1200.0, 1, 100_000)
    """r in seconds before the length of any round is known."""
    median_rounds: int = ranged(101, 1, 10_000)
    """Rounds over which r is the median length."""
    hive_rounds: float = ranged(0.0, 0, 100_000)
    """n: a player begins n/(n + `shadow_rounds`) of the way from a newcomer's skill to the game's own of them."""
    shadow_rounds: int = ranged(50, 0, 100_000)
    """Rounds before a rating is shown."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated round before a player is flagged."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        Params.__post_init__(self)
        if not isinstance(self.plus_side, str) or not self.plus_side:
            raise RatingError(f"plus_side: {self.plus_side!r} is not a side's name")

    @property
    def newcomer(self) -> float:
        """(k - 1)·θ, log-odds: the prior's mode, and so the fit's estimate for a player without rounds."""
        return (self.shape - 1.0) * self.scale

    @property
    def commander_scale(self) -> float:
        """θ of the Gamma prior of χ, log-odds: a newcomer commands as well as they play."""
        return self.newcomer / (self.commander_shape - 1.0)

    def constants(self) -> NS2Constants:
        """The parameters as floats, without those that only live systems read."""
        return NS2Constants(
            constant=self.constant_rate,
            adagrad=self.adagrad_rate,
            epsilon=self.adagrad_floor,
            field_share=self.commander_field_share,
            chair_rate=self.commander_shape * self.commander_scale**2 / (self.shape * self.scale**2),
            prior_rounds=self.prior_rounds,
            large_above=float(self.large_above),
            usual_seconds=self.usual_seconds,
            newcomer=self.newcomer,
            hive_weight=self.hive_rounds and self.hive_rounds / (self.hive_rounds + self.shadow_rounds),
            hive_sign=-1.0 if self.plus_side == NS2_SIDES[1] else 1.0,
        )


class NS2(PlayerTable[NS2Params, Player]):
    """The NS2 system.  Skills in arguments and results are in points; states are in log-odds."""

    name = "ns2"
    parameters = NS2Params
    shares = True
    by_side = True
    commanders_apart = True

    def __init__(self, params: NS2Params) -> None:
        super().__init__(params)
        self.constants = params.constants()
        self.environment = Environment(no_rounds(params.median_rounds))
        self._introduced: dict[PlayerId, Player] = {}
        """How players are taken to begin who are not held; what a match says of them counts more."""

    def predict(self, match: Match) -> WinProbabilities:
        """Predict from the lineup; without one from the participants and their time.  A draw is half a win."""
        matches, players, facts = self._arrays(match, self.environment.number(match.map))
        records, work = [self._seen(player) for player in players], allocate(matches, facts)
        start_newcomers(0, matches, facts, records, self.constants)
        if facts.forecasts[0]:
            return _wins(forecast(0, matches, facts, records, work, self.environment.arrays, self.constants))
        weights = fill_time_weights(0, matches, facts, work, self.median_seconds, self.constants.field_share)
        return _wins(predict_match(0, matches, facts, records, work, self.environment.arrays, *weights, self.constants))

    def rate(self, match: Match) -> Rated:
        """Rate a match.  Reads all of it but squads, counts, quits, points and mode; of counts the game's own skill.

        >>> system = NS2.create()
        >>> rated = system.rate(Match(teams=(("ann",), ("bob",)), ranks=(0, 1)))
        >>> rated.prediction.wins, [round(change.after) for change in rated.changes]
        ((0.5, 0.5), [1169, 831])
        """
        scores = [match.score(team) for team in range(2)]
        # The map is entered only when nothing can be refused any more.
        matches, players, facts = self._arrays(match, UNKNOWN)
        refuse_bots(match, matches.lineup)
        facts.maps[0] = self.environment.enter(match.map)
        records, work = self.records((players,)), allocate(matches, facts)
        start_newcomers(0, matches, facts, records, self.constants)
        before = [POINTS * p.skill for p in records[: len(matches.members)]]
        prediction = _wins(rate_match(0, matches, facts, records, work, self.environment.arrays, self.constants))
        del players[len(matches.members) :], records[len(matches.members) :]  # who was in the lineup alone
        # Records of newcomers were made for this match; those without any time are let go.
        self.players |= {player: records[n] for n, player in enumerate(players) if work.time[n] > 0.0}
        teams = [0] * len(match.teams[0]) + [1] * len(match.teams[1])
        changes = (
            Change(player, team, old, POINTS * work.skill[n], p.rounds, prediction.wins[team], scores[team])
            for n, (player, team, old, p) in enumerate(zip(players, teams, before, records, strict=True))
        )
        return Rated(prediction, tuple(changes))

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """s on the field, s ± o on a side; χ for a commander, mixed with field skill by `commander_field_share`."""
        p = self._seen(player)
        toward = 0.0 if not context.side else 1.0 if context.side == self.params.plus_side else -1.0
        field = p.skill + toward * p.offset
        if context.role is Role.FIELD:
            return POINTS * field
        mix = self.constants.field_share
        return POINTS * ((1.0 - mix) * p.commander + mix * field)

    def gap(self, probability: float, size: int) -> float:
        """Log-odds are the difference of the sums over 2·size; at an even match they change 4 times the probability."""
        return probability * 4.0 * 2.0 * size * POINTS

    def difference_at(self, probability: float, match: Match) -> float:
        """The prediction solved for the sums: less F, and less the commanders' term if both sides have a commander."""
        sign, commanders = _sign(match.sides, self.params.plus_side) if match.sides else 0.0, _commanders(match)
        odds = log_odds(probability)
        if all(commanders):
            chairs = [
                self.skill(player, SkillContext(side=side, role=Role.COMMANDER)) * team
                for team, side, players in zip((1, -1), match.sides or ("", ""), commanders, strict=True)
                for player in players
            ]
            # As in the forecast: the mean over all chairs, signed by team.
            odds -= sum(chairs) / POINTS / len(chairs)
        humans = sum(not is_bot(player) for team in match.teams for player in team)
        environment, prior = self.environment.arrays, self.constants.prior_rounds
        number = self.environment.number(match.map)
        odds -= sign * intercept(number, is_large(humans, self.constants), environment, prior)
        on_field = sum(map(len, match.teams)) - sum(map(len, commanders))
        return POINTS * max(1, on_field) * odds

    def uncertainty(self, player: PlayerId) -> float:
        """Points: the standard deviation of s."""
        p = self._seen(player)
        return POINTS * math.sqrt(self._variance(p.skill, p.squares, p.fitted))

    def skills(self, player: PlayerId) -> Skills:
        """s, o, s ± o by side and χ, with standard deviations, in points.

        >>> NS2.create().skills(PlayerId("ann")).commander
        SkillEstimate(value=1000.0, deviation=489.8979485566356)
        """
        p, plus = self._seen(player), self.params.plus_side
        average, commander = (
            self._variance(p.skill, p.squares, p.fitted),
            self._variance(p.commander, p.commander_squares, p.commander_fitted, chair=True),
        )
        prior = self.params.offset_deviation**2
        offset = constant_rate_variance(prior, p.squares, p.fitted, self.constants.constant)
        plus, minus = next((pair if pair[0] == plus else pair[::-1] for pair in SIDES if plus in pair), (plus, "other"))
        return Skills(
            average=_estimate(p.skill, average),
            offset=_estimate(p.offset, offset),
            sides={
                plus: _estimate(p.skill + p.offset, average + offset),
                minus: _estimate(p.skill - p.offset, average + offset),
            },
            commander=_estimate(p.commander, commander),
        )

    def _variance(self, skill: float, squares: float, fitted: float, *, chair: bool = False) -> float:
        """Return the variance of s, or of χ, in log-odds squared."""
        c, params = self.constants, self.params
        rate = (c.chair_rate if chair else 1.0) * (c.constant + c.adagrad / math.sqrt(squares + c.epsilon))
        shape, scale = (params.commander_shape, params.commander_scale) if chair else (params.shape, params.scale)
        # Steps from a newcomer's skill are no mode of the posterior, and as unsure below as above.
        prior = gamma_variance(skill, shape, scale) if fitted > 0.0 else shape * scale**2
        return online_variance(prior, squares, fitted, rate)

    @property
    def median_seconds(self) -> float:
        """r, the median length of the last rounds, seconds."""
        return median_length(self.environment.arrays, self.constants.usual_seconds)

    def summary(self, player: PlayerId) -> PlayerSummary:
        """The average skill; visible after the shadow period."""
        p = self._seen(player)
        return self.shown(player, POINTS * p.skill, p.rounds, p.last_played)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Facts: `rating`, `offset` and `commander` in points, `rounds` rated so far."""
        values = asdict(self.held(player))
        for fact, value in skill.items():
            if fact == "rounds":
                values["rounds"] = count_of(player, fact, value)
            elif fact in SEEDS:
                values[SEEDS[fact]] = _points(player, fact, value)
            else:
                raise RatingError(f"{player}: ns2 has no {fact} to seed, only {', '.join(SEEDS)} and rounds")
        self.players[player] = Player(**values)

    def restore(self, player: PlayerId, state: State, history: Iterable[Past] = ()) -> None:
        """Hold a player again; an older state that does not say what the last fit left counts as never fitted."""
        super().restore(player, {"fitted": 0.0, "commander_fitted": 0.0, **state}, history)

    def shared(self, match: Match | None = None) -> Parts:
        """Win counts of the plus side by map and size, and the lengths of the last rounds: `Environment.parts`."""
        return self.environment.parts() if match is None else self.environment.parts_of(match.map)

    def restore_shared(self, key: str, part: object) -> None:
        """Set a part that `shared` returned; of more lengths than `median_rounds` only the last are kept."""
        self.environment.restore(key, part)

    def introduce(self, hives: Mapping[PlayerId, Hive]) -> bool:
        """Take players who are not held for what the game itself says of them. No match is rated by it."""
        if self.constants.hive_weight == 0.0:
            return False
        if len(self._introduced) > MOST_INTRODUCED:
            self._introduced.clear()
        changed = False
        for player, hive in hives.items():
            if player not in self.players:
                p = self.newcomer()
                begin(p, hive.skill, hive.offset, hive.commander, self.constants)
                changed |= self._introduced.get(player) != p
                self._introduced[player] = p
        return changed

    def _seen(self, player: PlayerId) -> Player:
        """The record of a player; of one who is not held as they are taken to begin."""
        return self.players.get(player) or self._introduced.get(player) or self.newcomer()

    def newcomer(self) -> Player:
        """A record at the mode of the Gamma prior, in both roles."""
        return Player(self.params.newcomer, self.params.newcomer)

    def _arrays(self, match: Match, number: int) -> tuple[MatchArrays, list[PlayerId], NS2Arrays]:
        """The match as a history of one, with `number` as its map; and the ids of its players, participants first."""
        if len(match.teams) != 2:
            raise RatingError(f"ns2 rates two teams, not {len(match.teams)}")
        matches, players = one_match(match)
        spans = [match.spans.get(player, ()) for player in players[: len(matches.members)]]
        flat = [span for seat in spans for span in seat]
        bots = match.bots if self.params.bots else ()
        hives = self._hives(match, players[: len(matches.members)]) if self.constants.hive_weight > 0.0 else []
        facts = NS2Arrays(
            seconds=[math.nan if match.seconds is None else match.seconds],
            sign=[_sign(match.sides, self.params.plus_side) if match.sides else 0.0],
            maps=[number],
            spans=list(accumulate(map(len, spans), initial=0)),
            span_team=[span.team for span in flat],
            span_start=[span.start for span in flat],
            span_end=[span.end for span in flat],
            span_commander=[span.role is Role.COMMANDER for span in flat],
            bots=[0, len(bots)],
            bot_team=[span.team for span in bots],
            bot_start=[span.start for span in bots],
            bot_end=[span.end for span in bots],
            bot_commander=[span.role is Role.COMMANDER for span in bots],
            # Skills at the start say that the match was seen going live, with the participants in place of a lineup.
            forecasts=[bool(match.lineup or match.skill_at_start)],
            hive_skill=[math.nan if hive is None else hive.skill for hive in hives],
            hive_offset=[0.0 if hive is None else hive.offset for hive in hives],
            hive_commander=[0.0 if hive is None else hive.commander for hive in hives],
        )
        return matches, players, facts

    def _hives(self, match: Match, players: Iterable[PlayerId]) -> list[Hive | None]:
        """The game's own skill of each player who is new here."""
        counts = [None if player in self.players else match.counts.get(player) for player in players]
        return [count.hive if count else None for count in counts]


def allocate(matches: MatchArrays, facts: NS2Arrays) -> Workspace:
    """Allocate working lists for one match."""
    return Workspace(*([0.0] * max(len(matches.members), len(facts.span_team)) for _ in Workspace._fields))


def _estimate(value: float, variance: float) -> SkillEstimate:
    return SkillEstimate(POINTS * value, POINTS * math.sqrt(variance))


def _sign(sides: Sequence[str], plus_side: str) -> float:
    """R: 1 if the first side is the plus side, -1 if the second is, 0 if neither or both."""
    return float((sides[0] == plus_side) - (sides[1] == plus_side))


def _commanders(match: Match) -> list[list[PlayerId]]:
    """The players of each team who are in the chair when the match goes live."""
    return [
        [
            player
            for player in team
            if any(span.role is Role.COMMANDER and span.start <= 0 < span.end for span in match.spans.get(player, ()))
        ]
        for team in match.teams
    ]


def _wins(first: float) -> WinProbabilities:
    return WinProbabilities((first, 1.0 - first))


def _points(player: PlayerId, name: str, value: object) -> float:
    points = number_of(player, name, value)
    if abs(points) > LIMIT:
        raise RatingError(f"{player}: {name} {points:g} is not from {-LIMIT:g} to {LIMIT:g}")
    return points / POINTS


# How far an estimate is expected to be from the truth.  Squared gradients add up to the information that the rounds
# gave about a skill: each is expected to be p·(1 - p) times the squared coefficient of the skill, which is the
# curvature of the log likelihood.  So 1/(1/v + g) is the variance of the posterior, 1/v being the curvature of the
# prior, if the other players' skills were known.  That they are not matters little: docs/ratings/ns2.md has the
# errors of fits in these deviations.  A Gamma prior is no parabola: its curvature at a skill s is (k - 1)/s², so that
# after a fit a low skill is known better than a high one of as many rounds.
#
# Estimates that go round by round are worse.  Steps of a rate η follow each surprise and never settle; they leave a
# variance of η/2, of which η/2·(1 - exp(-2·η·g)) has come with the information g since the last fit.


def gamma_variance(skill: float, shape: float, scale: float) -> float:
    """v at a skill, log-odds squared; below the prior's scale what it is at that.

    >>> gamma_variance(2.5, shape=6.0, scale=0.5), gamma_variance(-1.0, shape=6.0, scale=0.5)
    (1.25, 0.05)
    """
    return max(skill, scale) ** 2 / (shape - 1.0)


def posterior_variance(prior: float, squares: float) -> float:
    """Return the variance of the most probable estimate; `prior` is the variance that the prior leaves there.

    >>> posterior_variance(0.5, squares=2.0)
    0.25
    """
    return 1.0 / (1.0 / prior + squares)


def step_noise(rate: float, since: float) -> float:
    """Return the variance that steps of a rate have added, after rounds of so much information.

    >>> step_noise(0.2, since=0.0), step_noise(0.2, since=1000.0)
    (0.0, 0.1)
    """
    return -0.5 * rate * math.expm1(-2.0 * rate * since)


def online_variance(prior: float, squares: float, fitted: float, rate: float) -> float:
    """Return the variance of a skill fitted when its squares were `fitted` and moved since by steps of a rate.

    The rate falls as Adagrad's does, so the early steps have used what the rounds said: the posterior's variance stays
    below the noise of the steps.
    """
    return posterior_variance(prior, squares) + step_noise(rate, squares - fitted)


def constant_rate_variance(prior: float, squares: float, fitted: float, rate: float) -> float:
    """Return `online_variance` for a constant rate: the prior is forgotten as fast as noise comes in."""
    forgotten = math.exp(-2.0 * rate * (squares - fitted))
    return posterior_variance(prior, fitted) * forgotten + step_noise(rate, squares - fitted)
