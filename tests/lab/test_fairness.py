"""What players notice of their teams, measured by hand; and people who come and leave while a round runs."""

from __future__ import annotations

import math
from itertools import combinations
from random import Random
from statistics import fmean, pstdev
from typing import Any, ClassVar

import pytest

from equipoise.balancing import Solved, answer
from equipoise.core.asks import AskSplit, Purpose
from equipoise.core.events import SplitSolved
from equipoise.core.model import Mode, PlayerId, Side, Split
from equipoise.core.rules import Rules
from equipoise.lab.models import Model
from equipoise.lab.simulation.closed_loop import ClosedLoop
from equipoise.lab.simulation.fairness import Chances, Evening, Moved, Scrambled, fairness
from equipoise.lab.simulation.game_server import Map
from equipoise.lab.simulation.outcome_model import MAP_NAMES
from equipoise.lab.simulation.population import Churn, Kind, Person, Population, Scenario, Visits
from equipoise.lab.simulation.run import simulate
from equipoise.ratings.history import History
from equipoise.ratings.joint.params import JointParams
from equipoise.ratings.joint.spread import fit_spread
from equipoise.ratings.synelo.system import SynElo, SynEloParams
from equipoise.ratings.system import Match, Rated, System

SYNELO = Model("synelo", {"k_max": 12})


def sides(a: str, b: str) -> dict[PlayerId, Side]:
    return {PlayerId(one): side for side, players in ((Side.A, a), (Side.B, b)) for one in players}


def test_pairs_together_are_those_of_one_side_before_and_after() -> None:
    rng = Random(1)
    for _ in range(30):
        players = rng.sample("abcdefghijkl", 11)
        one = Scrambled(
            sides("".join(players[:5]), "".join(players[5:10])),
            sides("".join(rng.sample(players[2:], 4)), "".join(players[:2])),
            0.5,
        )
        pairs = [
            one.after[first] is one.after[second]
            for first, second in combinations(one.before, 2)
            if one.before[first] is one.before[second] and {first, second} <= one.after.keys()
        ]
        assert one.together == (pytest.approx(fmean(pairs)) if pairs else None)


def test_a_scramble_that_only_changes_the_bench_moved_nobody() -> None:
    assert not Scrambled(sides("abc", "def"), sides("abg", "def"), 0.5).moved
    assert Scrambled(sides("abc", "def"), sides("abd", "efc"), 0.5).moved


def test_due_scrambles_are_counted_with_what_players_read_of_them() -> None:
    scrambles = [
        Scrambled(sides("abc", "def"), sides("abc", "def"), 0.68),
        Scrambled(sides("abc", "def"), sides("abd", "cef"), 0.52),
        Scrambled(sides("a", "b"), sides("acd", "bef"), 0.9),  # arena's second round: nobody stood beside anybody
    ]
    found = fairness([], scrambles, [], [], 0.0).scrambles
    assert found is not None
    assert (found.count, found.nobody, found.uneven) == (2, 0.5, 0.5)
    assert found.together == pytest.approx((1 + 2 / 6) / 2)


def test_an_evening_counts_from_ten_rounds_on_and_is_lost_with_a_third_of_them() -> None:
    evenings = [Evening(12, 4.0, 6.0), Evening(12, 4.5, 4.8), Evening(9, 0.0, 1.0), Evening(10, 9.0, 6.5)]
    found = fairness([], [], evenings, [], 0.0).evenings
    assert found is not None
    assert (found.count, found.lost) == (3, pytest.approx(1 / 3))
    assert found.spread == pytest.approx(pstdev([0.5, 0.4, 0.65]))


def test_a_coin_loses_as_many_evenings_as_coins_that_are_thrown() -> None:
    rng = Random(1)
    thrown = [sum(rng.random() < 0.5 for _ in range(15)) <= 5 for _ in range(20_000)]
    found = fairness([], [], [Evening(15, 8.0, 7.5)], [], 0.0).evenings
    assert found is not None
    assert found.coin == pytest.approx(fmean(thrown), abs=0.01)


def test_a_run_is_of_three_rounds_on_one_map_with_the_same_favourite() -> None:
    def true_runs(*rounds: tuple[int, float]) -> float:
        found = fairness([Chances(0.5, true, map=map) for map, true in rounds], [], [], [], 0.0)
        return found.beyond[1].true_runs * len(rounds)

    assert true_runs((1, 0.7), (1, 0.7), (1, 0.7), (1, 0.7), (1, 0.6)) == pytest.approx(4)
    assert true_runs((1, 0.7), (1, 0.7), (2, 0.7), (2, 0.7)) == 0
    assert true_runs((1, 0.7), (1, 0.7), (1, 0.2), (1, 0.2)) == 0
    assert true_runs((1, 0.2), (1, 0.2), (1, 0.2), (1, 0.64)) == pytest.approx(3)


def test_coverage_and_even_rounds_are_fractions_of_the_rounds_that_have_them() -> None:
    rounds = [
        Chances(0.50, 0.61, (0.4, 0.6), number=9),
        Chances(0.55, 0.59, (0.4, 0.6), number=10),
        Chances(0.56, 0.50, None, number=11),
    ]
    found = fairness(rounds, [], [], [], 0.0)
    assert (found.covered, found.even) == (0.5, 0.5)
    assert fairness(rounds[2:], [], [], [], 0.0).covered is None


def test_what_the_players_alone_say_is_counted_beside_what_was_stated() -> None:
    rounds = [Chances(stated, 0.5, number=10, teams=teams) for stated, teams in ((0.63, 0.54), (0.5, 0.39))]
    found = fairness(rounds, [], [], [], 0.0)
    assert [(one.stated, one.teams) for one in found.beyond] == [(0.5, 0.5), (0.0, 0.0), (0.0, 0.0)]
    assert (found.even, found.even_teams) == (0.5, 0.5)


def test_moves_are_counted_by_cause_and_hour_and_those_of_one_player_within_half_an_hour() -> None:
    ann, bob = PlayerId("ann"), PlayerId("bob")
    moves = [
        Moved(ann, "autobalance", 0.0),
        Moved(ann, "too_uneven", 1700.0),
        Moved(ann, "scramble", 1750.0),
        Moved(ann, "autobalance", 1900.0),
        Moved(bob, "scramble", 100.0),
    ]
    found = fairness([], [], [], moves, hours=10.0).moves
    assert found is not None
    assert found.all == pytest.approx(0.5)
    assert found.by_cause == {"autobalance": 0.2, "scramble": 0.2, "too_uneven": 0.1}
    assert found.most == 2


# In the closed loop.


def full(count: int, solve: Any = answer) -> ClosedLoop:
    map = Map(MAP_NAMES[0], Mode.KOTH)
    loop = ClosedLoop(map, SYNELO.make(), Rules(), solve)
    loop.change_map(map)
    for number in range(count):
        loop.join(PlayerId(f"p{number}"))
    return loop


def stays(ask: Any, system: System[Any]) -> Solved:
    """Every scramble leaves all where they are."""
    found = answer(ask, system)
    if isinstance(ask, AskSplit) and ask.purpose is Purpose.SCRAMBLE and isinstance(found, SplitSolved):
        there = (tuple(entry.id for entry in ask.entries if entry.side is side) for side in Side)
        return SplitSolved(ask, Split(*there), 0.0, found.before, found.after)
    return found


def swaps(ask: Any, system: System[Any]) -> Solved:
    """Every scramble has the first of each side change places."""
    found = answer(ask, system)
    if isinstance(ask, AskSplit) and ask.purpose is Purpose.SCRAMBLE and isinstance(found, SplitSolved):
        a, b = ([entry.id for entry in ask.entries if entry.side is side] for side in Side)
        return SplitSolved(ask, Split((b[0], *a[1:]), (a[0], *b[1:])), 0.0, found.before, found.after)
    return found


def test_a_due_scramble_is_noted_whether_it_moves_anybody_or_not() -> None:
    """King of the Hill scrambles when waiting ends, and after a round in which the losers captured nothing."""
    for solve, moved in ((stays, 0), (swaps, 2)):
        loop = full(6, solve)
        assert loop.start_round()
        loop.pass_time(100)
        loop.end_round(Side.A, {Side.A: 1, Side.B: 0})
        assert loop.start_round()
        assert [one.moved for one in loop.scrambles] == [moved > 0] * 2
        assert [(one.player, one.cause) for one in loop.moves] == [
            (player, "scramble")
            for scramble in loop.scrambles
            for player, side in scramble.before.items()
            if scramble.after[player] is not side
        ]
        assert len(loop.moves) == 2 * moved
        assert all(one.chance is not None for one in loop.scrambles)
        assert loop.scrambles[-1].after == {player: loop.game.clients[player].side for player in loop.game.clients}


def test_who_is_moved_inside_a_round_is_noted_with_the_time() -> None:
    loop = full(8)
    assert loop.start_round()
    before = len(loop.moves)
    for player in loop.game.on(Side.A)[:2]:
        loop.leave(player)
    loop.pass_time(5)
    (moved,) = loop.moves[before:]
    assert (moved.cause, moved.at, loop.moved) == ("autobalance", loop.game.clock, 1)
    assert moved.player in loop.game.on(Side.A)


def test_hours_are_those_that_players_were_on_the_server() -> None:
    loop = full(6)
    seconds = loop.player_seconds
    loop.pass_time(600)
    assert loop.player_seconds - seconds == pytest.approx(3600)


# Who comes and leaves while a round runs.


def test_who_drops_out_comes_back_after_some_minutes() -> None:
    scenario = Scenario(people=1000, slots=64, churn=0.2)
    population, churn = Population(scenario, Random(1)), Churn(scenario, Random(2))
    here = [person.id for person in population.people]
    first = churn.happenings(1, 0.0, 100.0, here, [], [], [], population)
    gone = {one.player: one.at for one in first}
    assert not any(one.comes for one in first)
    assert len(gone) == pytest.approx(200, abs=40)
    assert fmean(gone.values()) == pytest.approx(50, abs=7)
    assert {person.id for group in churn.divided(population.people) for person in group} == set(here) - gone.keys()
    back = churn.happenings(2, 100.0, 1e6, [], [], [], [], population)
    assert {one.player for one in back if one.comes} == set(gone)
    assert fmean(100 + one.at - gone[one.player] for one in back) == pytest.approx(300, rel=0.2)
    assert churn.happenings(3, 2e6, 1e6, [], [], [], [], population) == []


def test_quitters_leave_rounds_that_their_side_is_losing_and_after_those_that_it_lost() -> None:
    scenario = Scenario(people=600, slots=64, quitters=500)
    population, churn = Population(scenario, Random(1)), Churn(scenario, Random(2))
    people = {person.id: person for person in population.people}
    found = churn.happenings(1, 0.0, 100.0, list(people), [], [], population.people, population)
    assert all(people[one.player].kind is Kind.QUITTER and one.at >= 50 for one in found)
    assert len(found) == pytest.approx(0.15 * 500, abs=25)
    later = churn.happenings(2, 100.0, 100.0, list(people), [], [], [], population)
    assert all(one.comes for one in later)
    lost = dict.fromkeys(people, True)
    counts = []
    for number in (3, 4, 5):
        quits = churn.after(number, 0.0, lost, people)
        counts.append(len(quits) / len([one for one in lost if people[one].kind is Kind.QUITTER]))
        lost = {player: True for player in lost if player not in quits}
    assert counts == [pytest.approx(0.1 * row, abs=0.06) for row in (1, 2, 3)]
    assert churn.after(6, 0.0, dict.fromkeys(lost, False), people) == []


@pytest.mark.slow
def test_sides_that_people_leave_are_filled_by_autobalance() -> None:
    calm, busy = (
        simulate(Scenario(rounds=150, mode=Mode.KOTH, quitters=20 * quits, churn=0.05 * quits), SYNELO)
        for quits in (0, 1)
    )
    assert [group.kind for group in busy.groups][1:] == [Kind.QUITTER]
    assert calm.fairness.moves is not None
    assert busy.fairness.moves is not None
    assert busy.fairness.moves.by_cause["autobalance"] > 2 * calm.fairness.moves.by_cause["autobalance"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Mode.KOTH, Mode.ARENA])
def test_with_churn_the_same_people_come_and_go_whatever_the_teams(mode: Mode) -> None:
    scenario = Scenario(rounds=60, mode=mode, attendance=Visits.EVENINGS, evening=30, churn=0.1)
    one, other = simulate(scenario, SYNELO), simulate(scenario, Model("trueskill", {}))
    assert one.fairness.evenings is not None
    assert other.fairness.evenings is not None
    assert one.fairness.evenings.coin == pytest.approx(other.fairness.evenings.coin, rel=0.05)
    assert one.rated == other.rated
    assert one != other


class Watched(Model):
    """SynElo, and how many of each match's players were not there when it went live."""

    late: ClassVar[list[int]] = []

    def make(self) -> System[Any]:
        return Watching(SynEloParams())


class Watching(SynElo):
    def rate(self, match: Match) -> Rated:
        Watched.late.append(len({*match.teams[0], *match.teams[1]} - {*match.lineup[0], *match.lineup[1]}))
        return super().rate(match)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "rated"), [(Mode.KOTH, True), (Mode.ARENA, False)])
def test_people_who_come_inside_a_round_are_rated_where_they_may_join_it(mode: Mode, rated: bool) -> None:
    Watched.late.clear()
    simulate(Scenario(rounds=60, mode=mode, churn=0.1), Watched("synelo"))
    assert (sum(Watched.late) > 30) is rated
    assert any(Watched.late) is rated


def test_a_person_who_is_no_quitter_stays_after_a_lost_round() -> None:
    ann = Person(PlayerId("ann"), 0.0)
    churn = Churn(Scenario(churn=0.5), Random(1))
    assert all(churn.after(number, 0.0, {ann.id: True}, {ann.id: ann}) == [] for number in range(20))


@pytest.mark.world
def test_a_pool_that_learns_the_spread_of_skill_knows_better_how_sure_it_is() -> None:
    """The truth is 1, and `joint` begins with 0.25. A week passes in three to seven evenings."""
    world = Scenario(
        rounds=240, people=16, slots=12, spread=1.0, attendance=Visits.EVENINGS, evening=40, mode=Mode.KOTH, seed=5
    )
    fixed, learnt = simulate(world, Model("joint", {})), simulate(world, Model("joint", {}), learns=True)
    assert fixed.fairness.covered_late is not None
    assert learnt.fairness.covered_late is not None
    assert learnt.fairness.covered_late > fixed.fairness.covered_late + 0.15
    assert simulate(world, SYNELO, learns=True) == simulate(world, SYNELO), "it has none to learn"


@pytest.mark.world
def test_teams_that_own_scores_made_even_do_not_hide_how_far_skills_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such results alone seem to be decided by luck: a fit has to know what the teams were made by."""
    nights: list[ClosedLoop] = []
    monkeypatch.setattr(ClosedLoop, "learn", lambda self: nights.append(self))
    world = Scenario(rounds=241, people=20, slots=12, mode=Mode.KOTH, evening=240, spread=1.0, scores=0.5, seed=3)
    simulate(world, Model("joint", {"spread": 1.0}), learns=True)
    history = History.of(nights[-1]._rated)
    whole = fit_spread(JointParams(), history)
    alone = fit_spread(JointParams(scores=False), history)
    assert whole is not None
    assert abs(math.log(whole.spread)) < 3.0 * whole.error / whole.spread
    assert alone is None or alone.spread < 0.7 * whole.spread
