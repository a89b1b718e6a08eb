"""Rounds with joiners, leavers, switchers and commanders, and an independent NS2 that is the printed formulas."""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cache

from equipoise.core.model import PlayerId, Role
from equipoise.ratings.ns2.system import NS2, NS2Params
from equipoise.ratings.system import Match, Span, ranks_of
from tests.ratings.samples import people

SIDES = ("marines", "aliens")


SOURCE: dict[str, object] = {"commander_field_share": 0.0, "commander_shape": 6.0}
"""As the source prints it: a commander's skill is χ alone, and has the prior of s."""


def ns2(**params: object) -> NS2:
    """A system without players or rounds, by the source where no parameter says otherwise."""
    return NS2.create(**SOURCE | params)


def whole(a: int, b: int, outcome: float = 1.0, **facts: object) -> Match:
    """Marines against aliens, all on the field from the start to the end after 1200 s."""
    everybody = people(a + b)
    given = {"seconds": 1200.0, "sides": SIDES, **facts}
    return Match(teams=(tuple(everybody[:a]), tuple(everybody[a:])), ranks=ranks_of(outcome), **given)


def busy_matches(seed: int, count: int, players: int) -> Iterator[Match]:
    """Rounds of servers: one in ten drawn, half with bots; some without length, spans, map, sides, time or players."""
    rng, rng_of_bots = random.Random(seed), random.Random(seed + 1000)
    everybody = people(players)
    for _ in range(count):
        size, other = rng.randrange(1, 7), rng.randrange(1, 7)
        chosen = rng.sample(everybody, size + other)
        # One in twenty lasts until nothing that is played counts any more.
        seconds = rng.uniform(30_000.0, 60_000.0) if rng.random() < 0.05 else rng.uniform(100.0, 2400.0)
        teams = tuple(chosen[:size]), tuple(chosen[size:])
        how = rng.choices((_spans, _no_time, None), (17, 1, 2))[0]
        known = {
            p: spans for p in chosen if how and (spans := how(rng, int(p in teams[1]), p in chosen[::size], seconds))
        }
        yield Match(
            teams=teams,
            ranks=ranks_of(rng.choices((1.0, 0.5, 0.0), (5, 1, 4))[0]),
            spans=known,
            bots=_bots(rng_of_bots, seconds),
            fraction_played={chosen[0]: rng.random()},
            seconds=None if rng.random() < 0.2 else seconds,
            sides=rng.choice([SIDES, SIDES[::-1], ()]),
            map=rng.choice(["ns2_summit", "ns2_veil", "ns2_tram", ""]),
            weight=rng.choice([1.0, 1.0, 0.5]),
            started_at=None if rng.random() < 0.2 else 1e9 + rng.uniform(0, 100),
        )


def _spans(rng: random.Random, team: int, commands: bool, seconds: float) -> tuple[Span, ...]:
    kind, role = rng.random(), Role.COMMANDER if commands else Role.FIELD
    if kind < 0.2:
        return ()
    if kind < 0.3:
        return _no_time(rng, team, commands, seconds)
    middle = rng.choice([rng.uniform(0.2, 1.2) * seconds, float(rng.randrange(1, 2000))])
    if kind < 0.5:  # A commander's chair is left in the moment it is taken, or taken after the end.
        chair = middle if rng.random() < 0.5 else max(middle, 1.2 * seconds)
        return Span(team, 0.0, middle), Span(team, chair, chair + 60.0 * (chair > seconds), role)
    first = Span(team, rng.choice([0.0, -5.0, 0.1 * middle]), middle, role)
    return first, Span(1 - team if rng.random() < 0.3 else team, middle, middle + 1.1 * seconds)


def _bots(rng: random.Random, seconds: float) -> tuple[Span, ...]:
    """Up to ten bots, who may come late, change side, command or play past the end; in half of the rounds none."""
    spans = list[Span]()
    for number in range(rng.choice([0, rng.randrange(1, 11)])):
        come, go = sorted(rng.choice([0.0, rng.uniform(-0.1, 1.2), 1.0]) * seconds for _ in "io")
        spans.append(Span(number % 2, come, go, rng.choices((Role.FIELD, Role.COMMANDER), (4, 1))[0]))
        if rng.random() < 0.2:
            spans.append(Span(1 - number % 2, go, go + rng.uniform(0.0, seconds)))
    return tuple(spans)


def _no_time(rng: random.Random, team: int, commands: bool, seconds: float) -> tuple[Span, ...]:
    """Spans of no length, or after the end; in a round of unknown length the latter count."""
    role = Role.COMMANDER if commands else Role.FIELD
    at = rng.choice([rng.uniform(0.0, seconds), float(rng.randrange(1, 100)), seconds, 1.1 * seconds])
    return (Span(team, at, at + rng.uniform(0.0, 60.0) * (at >= seconds), role),)


@dataclass(frozen=True, slots=True)
class Row:
    """What the formulas read of a match."""

    coefficients: dict[tuple[str, PlayerId], float]
    """Of s, o and x of its players in its log-odds."""
    race: float
    """Of F."""
    bots: float
    """What bots add to its log-odds."""
    large: bool
    played: frozenset[PlayerId]
    """Who had any time."""


@dataclass
class Naive:
    """The formulas, match by match, over dictionaries."""

    params: NS2Params
    skill: dict[PlayerId, float] = field(default_factory=dict)
    offset: defaultdict[PlayerId, float] = field(default_factory=lambda: defaultdict(float))
    chi: dict[PlayerId, float] = field(default_factory=dict)
    squares: defaultdict[tuple[str, PlayerId], float] = field(default_factory=lambda: defaultdict(float))
    lengths: list[float] = field(default_factory=list)
    rounds: defaultdict[PlayerId, int] = field(default_factory=lambda: defaultdict(int))
    last_played: dict[PlayerId, float] = field(default_factory=dict)
    counts: defaultdict[tuple[str, bool], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))
    """[won by marines, played] of the rounds on a map at a size and of no others."""

    def rate(self, match: Match) -> float:
        """Rate a match; returns p of the first team before it."""
        row = self.row(match)
        log_odds = sum(c * self._value(name, p) for (name, p), c in row.coefficients.items())
        log_odds += row.bots + row.race * self._f(match.map, row.large)
        p = 1.0 / (1.0 + math.exp(-log_odds))
        self._learn(row.coefficients, match.weight * (match.score(0) - p))
        self.note(match, row)
        return p

    def row(self, match: Match) -> Row:
        """What the formulas read of a match at the present median."""
        r = statistics.median(self.lengths[-self.params.median_rounds :] or [self.params.usual_seconds])
        length = min(self._length(match), 32.0 * r)
        times = {played: t for played, t in self._times(match, r, length).items() if t > 0.0}
        bots = [
            (1 - 2 * each.team, _t(*(min(max(0.0, at), length) for at in (each.start, each.end)), r))
            for each in match.bots
            if each.role is Role.FIELD and self.params.bots
        ]
        people_total = sum(t for (_, _, role), t in times.items() if role is Role.FIELD)
        field_total = people_total + sum(t for _, t in bots)
        chairs = [
            sum(t for (_, at, role), t in times.items() if role is Role.COMMANDER and at == team) for team in (0, 1)
        ]
        coefficients: defaultdict[tuple[str, PlayerId], float] = defaultdict(float)
        race = {SIDES: 1.0, SIDES[::-1]: -1.0, (): 0.0}[match.sides]
        for (player, team, role), t in times.items():
            toward = 1.0 if team == 0 else -1.0
            mix = self.params.commander_field_share
            if role is Role.FIELD:
                on_field, in_chair = t / field_total, 0.0
            elif min(chairs) > 0.0:
                on_field, in_chair = mix * t / sum(chairs), (1.0 - mix) * t / sum(chairs)
            else:
                on_field = in_chair = 0.0
            coefficients["s", player] += toward * on_field
            coefficients["o", player] += race * on_field
            coefficients["x", player] += toward * in_chair
        present = round((people_total + sum(chairs)) / (1.0 - 2.0 ** (-2.0 * length / r))) if times else 0
        newcomer = (self.params.shape - 1.0) * self.params.scale
        bots_odds = newcomer * sum(toward * t for toward, t in bots) / field_total if field_total else 0.0
        played = frozenset(player for player, _, _ in times)
        return Row(coefficients, race, bots_odds, present > self.params.large_above, played)

    def note(self, match: Match, row: Row) -> None:
        """Count a match with any time played: its result and its length."""
        if row.race and row.played:
            counted = self.counts[match.map, row.large]
            counted[0] += match.weight * (match.score(0) if row.race > 0 else match.score(1))
            counted[1] += match.weight
        if self._length(match) < math.inf and row.played:
            self.lengths.append(self._length(match))
        for player in row.played:
            self.rounds[player] += 1
            if match.started_at is not None:
                self.last_played[player] = max(self.last_played.get(player, -math.inf), match.started_at)

    def _length(self, match: Match) -> float:
        if match.seconds is not None:
            return match.seconds
        mine = [span.end for team in match.teams for player in team for span in match.spans.get(player, ())]
        return max(mine, default=math.inf)

    def _times(self, match: Match, r: float, length: float) -> dict[tuple[PlayerId, int, Role], float]:
        times: defaultdict[tuple[PlayerId, int, Role], float] = defaultdict(float)
        for team, players in enumerate(match.teams):
            for player in players:
                for span in match.spans.get(player, ()):
                    start, end = (min(max(0.0, at), length) for at in (span.start, span.end))
                    times[player, span.team, span.role] += _t(start, end, r)
                if not match.spans.get(player):
                    times[player, team, Role.FIELD] += match.fraction_played.get(player, 1.0) * _t(0.0, length, r)
        return times

    def _f(self, name: str, large: bool) -> float:
        if not name:
            return _logit(self._rate(lambda *_: True, 0.5))
        elsewhere = self._rate(lambda each, _: each != name, 0.5)
        there = self._rate(lambda each, size: each == name and size != large, elsewhere)
        return _logit(self._rate(lambda each, size: each == name and size == large, there))

    def _rate(self, counts: Callable[[str, bool], bool], towards: float) -> float:
        """Win rate of marines in the rounds that count."""
        pairs = [pair for key, pair in self.counts.items() if counts(*key)]
        m = self.params.prior_rounds
        return (sum(won for won, _ in pairs) + m * towards) / (sum(played for _, played in pairs) + m)

    def _value(self, name: str, player: PlayerId) -> float:
        newcomer = (self.params.shape - 1.0) * self.params.scale
        if name == "o":
            return self.offset[player]
        return (self.skill if name == "s" else self.chi).setdefault(player, newcomer)

    def _learn(self, coefficients: dict[tuple[str, PlayerId], float], error: float) -> None:
        params = self.params
        for (name, player), coefficient in coefficients.items():
            gradient = error * coefficient
            if name == "o":
                self.offset[player] += params.constant_rate * gradient
                continue
            self.squares[name, player] += gradient**2
            adagrad = params.adagrad_rate / math.sqrt(self.squares[name, player] + params.adagrad_floor)
            values = self.skill if name == "s" else self.chi
            # The priors' variances, k·θ², say how far a round moves χ in steps of s.
            wide = params.commander_shape * params.commander_scale**2 / (params.shape * params.scale**2)
            values[player] += (1.0 if name == "s" else wide) * (params.constant_rate + adagrad) * gradient


def _t(start: float, end: float, r: float) -> float:
    """The printed formula, with enough digits for the difference."""
    return float(_a_to_the(-start, r) - _a_to_the(-end, r))


@cache
def _a_to_the(power: float, r: float) -> Decimal:
    with localcontext(prec=60):
        return Decimal(2) ** (2 * Decimal(power) / Decimal(r))


def _logit(rate: float) -> float:
    return math.log(rate / (1.0 - rate))
