"""How even teams are known to be: strangers are not, whatever their mean prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from random import Random
from statistics import NormalDist, fmean
from typing import Any

import pytest
from hypothesis import settings

from equipoise.balancing import answer, outlook
from equipoise.core.asks import AskChance, AskMoves, AskSplit, CacheSplits, Purpose, ShuffleTerms
from equipoise.core.events import ChanceFound, MovesSolved, SplitsCached, SplitSolved
from equipoise.core.model import Entry, Outlook, PlayerId, Side
from equipoise.core.rules import ScrambleRules
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.synelo.system import SynElo
from equipoise.ratings.system import ANYWHERE, Covariance, SkillContext
from tests.test_balancing import KOTH, NS2, REASON

SIX = tuple(PlayerId(str(76561198000000000 + n)) for n in range(6))
OTHERS = tuple(PlayerId(str(76561198000000100 + n)) for n in range(6))
QUESTION = AskChance(1, KOTH, SIX, OTHERS, SIX[0])
KNOWING = {"glicko", "glicko2", "joint", "trueskill", "trueskill2", "trueskill_through_time", "weng_lin"}
"""Systems that know a deviation; `teamskill_*` know that of their base."""


def trueskill(sigma: float, lead: float = 0.0) -> Any:
    """Twelve players of this deviation; those of side A are better by `lead`."""
    system = create("trueskill", draw_probability=0.0)
    for players, mu in ((SIX, 25.0 + lead), (OTHERS, 25.0)):
        for player in players:
            system.seed(player, mu=mu, sigma=sigma)
    return system


def found(system: Any) -> Outlook:
    answered = answer(QUESTION, system)
    assert isinstance(answered, ChanceFound)
    return answered.outlook


def off(system: Any, a: Sequence[PlayerId], b: Sequence[PlayerId]) -> float:
    """How far from a half the chance of two sides is; NS2's is the same where a system knows no sides."""
    return abs(outlook(system, KOTH, a, b).chance - 0.5)


def is_even(outlook: Outlook) -> bool:
    return outlook.is_even(ScrambleRules().fair_band)


def test_systems_with_deviations_say_so() -> None:
    live = {name for name in SYSTEMS if create(name).live}
    knowing = {name for name in live if found(create(name)).low is not None}
    assert {name for name in knowing if not name.startswith("teamskill")} == KNOWING
    assert found(create("teamskill_k", base="trueskill")).low is not None
    assert found(create("teamskill_k", base="elo")) == Outlook(0.5, None, None, 0.0)


@pytest.mark.parametrize("name", sorted(KNOWING))
def test_strangers_are_predicted_at_a_half_and_are_not_even(name: str) -> None:
    strangers = found(create(name))
    assert strangers.chance == pytest.approx(0.5)
    assert strangers.unevenness > 0.15
    assert not is_even(strangers)


def test_well_known_players_of_equal_skill_are_even_and_a_system_without_deviations_is_believed() -> None:
    assert is_even(found(trueskill(0.5)))
    assert not is_even(found(trueskill(0.5, lead=1.0)))
    assert is_even(found(create("synelo")))


@pytest.mark.parametrize("sigma", [0.01, 0.5, 1.0, 3.0, 25 / 3, 100.0])
@pytest.mark.parametrize("lead", [0.0, 0.3, 1.5])
def test_distance_and_interval_are_those_of_players_drawn_at_random(sigma: float, lead: float) -> None:
    random, noise = Random(7), math.sqrt(12) * 25 / 6
    drawn = [NormalDist().cdf(random.gauss(6 * lead, math.sqrt(12) * sigma) / noise) for _ in range(20_000)]
    known = outlook(trueskill(sigma, lead), KOTH, SIX, OTHERS)
    assert known.unevenness == pytest.approx(fmean(abs(chance - 0.5) for chance in drawn), abs=0.02)
    assert known.low is not None
    assert known.high is not None
    if 0.5 <= sigma <= 3.0:
        assert fmean(known.low <= chance <= known.high for chance in drawn) == pytest.approx(0.8, abs=0.05)


class Paired(SynElo):
    """SynElo, but that each of `SIX` is known to be as strong as one of `OTHERS`, however strong those are."""

    def covariance(self, players: Sequence[PlayerId], context: SkillContext = ANYWHERE) -> Covariance:
        spread = 600.0
        places = [(SIX if player in SIX else OTHERS).index(player) for player in players]
        return [[spread**2 * (row == column) for column in places] for row in places]


def test_players_who_are_known_to_match_each_other_are_even_against_each_other_and_not_together() -> None:
    against = outlook(Paired.create(), KOTH, SIX, OTHERS)
    together = outlook(Paired.create(), KOTH, (*SIX[:3], *OTHERS[:3]), (*SIX[3:], *OTHERS[3:]))
    assert against == Outlook(0.5, 0.5, 0.5, 0.0)
    assert together.evenness < 0.8
    assert is_even(against)
    assert not is_even(together)


def test_for_known_players_it_is_the_distance_of_the_prediction() -> None:
    system = trueskill(0.01, lead=1.0)
    known = outlook(system, KOTH, SIX, OTHERS)
    assert known.unevenness == pytest.approx(known.chance - 0.5, abs=0.01)
    assert (known.low, known.high) == pytest.approx((known.chance, known.chance), abs=0.01)


@pytest.mark.parametrize("name", ["glicko", "trueskill"])
def test_sides_of_different_sizes_are_as_far_from_even_as_they_are_predicted(name: str) -> None:
    system = create(name)
    for player in (*SIX, *OTHERS):
        system.seed(player, **({"rd": 5.0} if name == "glicko" else {"sigma": 0.05}))
    known = outlook(system, KOTH, SIX, OTHERS[:5])
    assert known.unevenness == pytest.approx(abs(known.chance - 0.5), abs=0.01)


@pytest.mark.parametrize("seed", range(settings.default.max_examples // 4))
@pytest.mark.parametrize(
    ("name", "params"), [("elo", {}), ("glicko", {}), ("glicko2", {}), ("teamskill_allk_ev", {"base": "elo"})]
)
def test_where_teams_are_means_an_odd_number_of_players_is_split_into_equal_means(
    name: str, params: dict[str, str], seed: int
) -> None:
    """In a scramble, in one that keeps friends together, in a shuffle, in the cached split, and by moves."""
    random, system = Random(seed), create(name, **params)
    players = SIX + OTHERS[:1]
    for player in players:
        system.seed(player, rating=random.gauss(1500.0, 250.0))
    ways = [(three, tuple(p for p in players if p not in three)) for three in combinations(players, 3)]
    least = min(off(system, *way) for way in ways)

    entries = tuple(Entry(player, random.choice((*Side, None))) for player in players)
    for groups in ((), (frozenset(SIX[:2]),)):
        ask = AskSplit(Purpose.SCRAMBLE, 1, REASON, KOTH, entries, (3, 4), {}, 0.0, groups=groups)
        solved = answer(ask, system)
        assert isinstance(solved, SplitSolved)
        assert off(system, solved.split.a, solved.split.b) <= (least if not groups else max(least, 0.1)) + 0.002
    terms = ShuffleTerms((0.5, 0.5), moves_count=False)
    shuffled = answer(AskSplit(Purpose.SHUFFLE, 1, REASON, NS2, entries, (3, 4), {}, 0.0, terms=terms), system)
    assert isinstance(shuffled, SplitSolved)
    assert off(system, shuffled.split.a, shuffled.split.b) <= least + 0.002
    cached = answer(CacheSplits(KOTH, entries, bench=False), system)
    assert isinstance(cached, SplitsCached)
    assert off(system, cached.splits[-1].a, cached.splits[-1].b) <= least + 0.002

    larger, smaller = players[:6], players[6:]
    moved = answer(AskMoves(1, KOTH, larger, smaller, Side.A, larger, 2), system)
    assert isinstance(moved, MovesSolved)
    crossings = [(tuple(p for p in larger if p not in two), (*smaller, *two)) for two in combinations(larger, 2)]
    after = (tuple(p for p in larger if p not in moved.players), (*smaller, *moved.players))
    assert off(system, *after) <= min(off(system, *sides) for sides in crossings) + 0.002
