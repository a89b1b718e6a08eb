"""Rounds with joiners, leavers, switchers and commanders, and an independent NS2 that is the printed formulas."""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from equipoise.core.model import PlayerId
from equipoise.ratings.base import Match, Role, Span, ranks_of
from equipoise.ratings.ns2 import NS2, NS2Params
from tests.ratings.samples import people

SIDES = ("marines", "aliens")


def ns2(**params: object) -> NS2:
    """A system without players or rounds."""
    return NS2.create(**params)


def whole(a: int, b: int, outcome: float = 1.0, **facts: object) -> Match:
    """Marines against aliens, everybody on the field from the doors to the end after 1200 s."""
    everybody = people(a + b)
    given = {"seconds": 1200.0, "sides": SIDES, **facts}
    return Match(teams=(tuple(everybody[:a]), tuple(everybody[a:])), ranks=ranks_of(outcome), **given)


def busy_matches(seed: int, count: int, players: int) -> Iterator[Match]:
    """Rounds as servers make them; one in ten drawn, some without lengths, spans, maps, sides or times."""
    rng = random.Random(seed)
    everybody = people(players)
    for _ in range(count):
        size, other = rng.randrange(1, 7), rng.randrange(1, 7)
        chosen = rng.sample(everybody, size + other)
        seconds = rng.uniform(100.0, 2400.0)
        teams = tuple(chosen[:size]), tuple(chosen[size:])
        known = {} if rng.random() < 0.1 else {p: spans for p in chosen if (spans := _spans(rng, teams, p, seconds))}
        yield Match(
            teams=teams,
            ranks=ranks_of(rng.choices((1.0, 0.5, 0.0), (5, 1, 4))[0]),
            spans=known,
            share={chosen[0]: rng.random()},
            seconds=None if rng.random() < 0.2 else seconds,
            sides=rng.choice([SIDES, SIDES[::-1], ()]),
            map=rng.choice(["ns2_summit", "ns2_veil", "ns2_tram", ""]),
            weight=rng.choice([1.0, 1.0, 0.5]),
            started_at=None if rng.random() < 0.2 else 1e9 + rng.uniform(0, 100),
        )


def _spans(
    rng: random.Random, teams: tuple[tuple[PlayerId, ...], ...], player: PlayerId, seconds: float
) -> tuple[Span, ...]:
    if rng.random() < 0.2:
        return ()
    team = int(player in teams[1])
    role = Role.COMMANDER if player == teams[team][0] else Role.FIELD
    middle = rng.uniform(0.2, 1.2) * seconds
    first = Span(team, rng.choice([0.0, -5.0, 0.1 * seconds]), middle, role)
    return first, Span(1 - team if rng.random() < 0.3 else team, middle, 1.3 * seconds)


@dataclass
class Naive:
    """The formulas, match by match, over dictionaries."""

    params: NS2Params
    skill: dict[PlayerId, float] = field(default_factory=dict)
    offset: defaultdict[PlayerId, float] = field(default_factory=lambda: defaultdict(float))
    chi: dict[PlayerId, float] = field(default_factory=dict)
    squares: defaultdict[tuple[str, PlayerId], float] = field(default_factory=lambda: defaultdict(float))
    lengths: list[float] = field(default_factory=list)
    counts: defaultdict[tuple[object, ...], list[float]] = field(
        default_factory=lambda: defaultdict(lambda: [0.0, 0.0])
    )

    def rate(self, match: Match) -> float:
        """p of the first team, before learning."""
        r = statistics.median(self.lengths[-self.params.median_rounds :] or [self.params.usual_seconds])
        length = self._length(match)
        times = {played: t for played, t in self._times(match, r, length).items() if t > 0.0}
        field_total = sum(t for (_, _, role), t in times.items() if role is Role.FIELD)
        chairs = [
            sum(t for (_, at, role), t in times.items() if role is Role.COMMANDER and at == team) for team in (0, 1)
        ]
        coefficients: defaultdict[tuple[str, PlayerId], float] = defaultdict(float)
        race = self._race(match)
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
        present = round((field_total + sum(chairs)) / (1.0 - 2.0 ** (-2.0 * length / r))) if times else 0
        keys = self._keys(match, present > self.params.large_above)
        log_odds = sum(c * self._value(name, p) for (name, p), c in coefficients.items()) + race * self._f(keys)
        p = 1.0 / (1.0 + math.exp(-log_odds))
        self._learn(coefficients, match.weight * (match.score(0) - p))
        if race and times:
            for key in keys:
                self.counts[key][0] += match.weight * (match.score(0) if race > 0 else match.score(1))
                self.counts[key][1] += match.weight
        if length < math.inf and times:
            self.lengths.append(length)
        return p

    def _length(self, match: Match) -> float:
        if match.seconds is not None:
            return match.seconds
        mine = [span.end for team in match.teams for player in team for span in match.spans.get(player, ())]
        return max(mine, default=math.inf)

    def _times(self, match: Match, r: float, length: float) -> dict[tuple[PlayerId, int, Role], float]:
        times: defaultdict[tuple[PlayerId, int, Role], float] = defaultdict(float)
        a = 2.0 ** (2.0 / r)
        for team, players in enumerate(match.teams):
            for player in players:
                for span in match.spans.get(player, ()):
                    start, end = max(0.0, span.start), min(span.end, length)
                    times[player, span.team, span.role] += max(0.0, a**-start - a**-end)
                if not match.spans.get(player):
                    times[player, team, Role.FIELD] += match.share.get(player, 1.0) * (1.0 - a**-length)
        return times

    def _race(self, match: Match) -> float:
        return {SIDES: 1.0, SIDES[::-1]: -1.0, (): 0.0}[match.sides]

    def _keys(self, match: Match, large: bool) -> list[tuple[object, ...]]:
        return [(), (match.map,), (match.map, large)] if match.map else [()]

    def _f(self, keys: list[tuple[object, ...]]) -> float:
        rate, m = 0.5, self.params.prior_rounds
        for key in keys:
            won, played = self.counts[key]
            rate = (won + m * rate) / (played + m)
        return math.log(rate / (1.0 - rate))

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
            values[player] += (params.constant_rate + adagrad) * gradient
