"""A pool in closed loop."""

from __future__ import annotations

import math
from random import Random
from typing import Any, ClassVar

import pytest

from equipoise.core.model import STEAM_ID_BASE, Mode, PlayerId, Side
from equipoise.core.rules import Rules, Triggers
from equipoise.errors import RatingError
from equipoise.lab.models import Model
from equipoise.lab.simulation.closed_loop import ClosedLoop
from equipoise.lab.simulation.game_server import Map
from equipoise.lab.simulation.measures import Teams
from equipoise.lab.simulation.outcome_model import MAP_NAMES, OutcomeModel
from equipoise.lab.simulation.population import Kind, Person, Population, Scenario, Visits
from equipoise.lab.simulation.run import simulate
from equipoise.ratings.synelo.system import SynElo, SynEloParams
from equipoise.ratings.system import Match, Rated, System

SYNELO = Model("synelo", {"k_max": 12})
MODES = [mode for mode in Mode if mode is not Mode.NS2]


def people(*skills: float) -> list[Person]:
    return [Person(PlayerId(f"p{number}"), skill) for number, skill in enumerate(skills)]


def full(mode: Mode, count: int, model: Model = SYNELO) -> ClosedLoop:
    """A server on a new map, with so many players."""
    map = Map(MAP_NAMES[0], mode)
    loop = ClosedLoop(map, model.make(), Rules())
    loop.change_map(map)
    for number in range(count):
        loop.join(PlayerId(f"p{number}"))
    return loop


def play(loop: ClosedLoop, winner: Side | None = Side.A) -> None:
    assert loop.start_round()
    loop.pass_time(100)
    loop.end_round(winner, {Side.A: 1, Side.B: 1})


# The population.


@pytest.mark.slow
def test_the_same_people_come_and_go_whatever_the_teams() -> None:
    scenario = Scenario(rounds=80)
    one, other = simulate(scenario, SYNELO), simulate(scenario, Model("synelo", {"k_factor_max": 1000.0}))
    assert one.bench is not None
    assert other.bench is not None
    assert one.bench.share == other.bench.share
    assert one != other


def test_smurfs_come_at_half_time_and_are_better_than_all() -> None:
    population = Population(Scenario(rounds=10, smurfs=2), Random(1))
    for number in range(1, 5):
        population.pass_round(number, set())
    assert all(person.kind is Kind.REGULAR for person in population.people)
    population.pass_round(5, set())
    smurfs = [person for person in population.people if person.kind is Kind.SMURF]
    assert len(smurfs) == 2
    assert min(smurf.skill for smurf in smurfs) > max(p.skill for p in population.people if p.kind is not Kind.SMURF)


def test_turnover_keeps_the_number_of_people_and_replaces_none_who_plays() -> None:
    population = Population(Scenario(turnover=1.0, people=10), Random(1))
    here = {population.people[0].id}
    for number in range(1, 40):
        population.pass_round(number, here)
    assert len(population.people) == 10
    assert population.people[0].id in here
    assert len({person.id for person in population.people}) == 10


def test_skill_drifts_by_the_given_deviation_in_a_hundred_rounds() -> None:
    population = Population(Scenario(people=2000, drift=0.1, turnover=0.0), Random(1))
    before = [person.skill for person in population.people]
    for number in range(1, 101):
        population.pass_round(number, set())
    changes = [person.skill - old for person, old in zip(population.people, before, strict=True)]
    assert math.sqrt(sum(change**2 for change in changes) / 2000) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(("slots", "people", "parties"), [(24, 60, 4), (8, 20, 3), (5, 30, 8), (24, 25, 7)])
def test_friends_come_and_go_together(slots: int, people: int, parties: int) -> None:
    population = Population(Scenario(slots=slots, people=people, parties=parties), Random(1))
    friends = [{person.id for person in population.people if person.party == number} for number in range(parties)]
    assert [len(party) for party in friends] == [3] * parties
    moves, here = [population.opening()], set[PlayerId]()
    for _ in range(300):
        here |= {person.id for person in moves[-1]}
        assert len(here) <= slots
        before, within = population.leaving(here)
        moves += [before, within, population.coming(here)]
        here -= {person.id for person in (*before, *within)}
    moved = [{person.id for person in move} for move in moves]
    assert all(not move & party or party <= move for move in moved for party in friends)
    assert sum(party <= move for move in moved for party in friends) > 5


def test_people_without_friends_come_and_go_by_the_documented_draws() -> None:
    """Drawn by hand: one sample, one shuffle, one throw for each free slot, one for each who is there."""
    scenario, dice = Scenario(people=30, slots=12), Random(7)
    population = Population(scenario, Random(7))
    everybody = [person.id for person in population.people]
    assert [dice.gauss(0, scenario.spread) for _ in everybody] == [person.skill for person in population.people]
    here = dice.sample(everybody, 9)
    assert [person.id for person in population.opening()] == here
    for _ in range(50):
        tired = [one for one in everybody if one in here and dice.random() < 1 / 30]
        before, within = population.leaving(set(here))
        assert [person.id for person in (*before, *within)] == tired
        assert len(before) == len(tired) // 2
        away = [one for one in everybody if one not in here]
        dice.shuffle(away)
        came = away[: sum(dice.random() < 0.2 for _ in range(12 - len(here)))]
        assert [person.id for person in population.coming(set(here))] == came
        here = [one for one in here if one not in tired] + came


@pytest.mark.parametrize("parties", [0, 90])
def test_a_person_stays_for_thirty_rounds_in_the_mean(parties: int) -> None:
    population = Population(Scenario(slots=64, people=300, parties=parties), Random(1))
    everybody = {person.id for person in population.people}
    left = [sum(map(len, population.leaving(everybody))) for _ in range(300)]
    assert 300 * 300 / sum(left) == pytest.approx(30, rel=0.1)


class Watched(Model):
    """SynElo, and who took part in every match."""

    matches: ClassVar[list[set[PlayerId]]] = []
    counted: ClassVar[list[int]] = []
    """Of how many players each match had counts."""

    def make(self) -> System[Any]:
        return Watching(SynEloParams())


class Watching(SynElo):
    def rate(self, match: Match) -> Rated:
        Watched.matches.append({player for team in match.teams for player in team})
        Watched.counted.append(len(match.counts))
        return super().rate(match)


@pytest.mark.slow
def test_a_party_is_in_the_lineup_as_a_whole_or_not_at_all() -> None:
    Watched.matches.clear()
    simulate(Scenario(rounds=150, mode=Mode.KOTH, slots=16, people=30, parties=3), Watched("synelo"))
    parties = [{PlayerId(str(STEAM_ID_BASE + 3 * party + one)) for one in (1, 2, 3)} for party in range(3)]
    pairs = [(party, match) for match in Watched.matches for party in parties]
    assert all(party <= match or not party & match for party, match in pairs)
    assert 20 < sum(party <= match for party, match in pairs) < len(pairs)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"rounds": 0}, "rounds: 0 is not from 1"),
        ({"stalemates": 1.5}, "stalemates: 1.5 is not from 0 to 1"),
        ({"spread": math.nan}, "spread: nan is not from 0 to 10"),
        ({"people": 10, "parties": 4}, "people: 10 are too few"),
    ],
)
def test_a_scenario_that_cannot_be_played_is_refused(wrong: dict[str, float], reason: str) -> None:
    with pytest.raises(RatingError, match=reason):
        Scenario(**wrong)  # type: ignore[arg-type]


# Who wins.


def test_chances_follow_hidden_skill_sides_and_friends() -> None:
    outcomes = OutcomeModel(Scenario(side_advantage=0.3, bond=0.2), Random(1))
    a, b = people(0.5, 0.1), people(0.2)
    assert outcomes.win_probability(a, b, MAP_NAMES[0]) == pytest.approx(1 / (1 + math.exp(-(0.6 - 0.2 + 0.3))))
    a[0].party = a[1].party = 7
    assert outcomes.win_probability(a, b, MAP_NAMES[0]) == pytest.approx(
        1 / (1 + math.exp(-(0.6 - 0.2 + 0.3 + 2 * 0.2)))
    )


def test_results_are_drawn_with_those_chances() -> None:
    outcomes = OutcomeModel(Scenario(stalemates=0.1), Random(1))
    everybody = {person.id: person for person in people(0.8, -0.2)}
    shares = [{PlayerId("p0"): 1.0}, {PlayerId("p1"): 0.5}]
    won = [outcomes.winner(*shares, everybody, MAP_NAMES[0], (), outcomes.luck()) for _ in range(4000)]
    expected = 1 / (1 + math.exp(-(0.8 + 0.1)))
    assert won.count(None) / 4000 == pytest.approx(0.1, abs=0.015)
    assert won.count(Side.A) / (4000 - won.count(None)) == pytest.approx(expected, abs=0.025)


def test_a_thrown_round_is_mostly_lost() -> None:
    outcomes = OutcomeModel(Scenario(stalemates=0.0), Random(1))
    everybody = {person.id: person for person in people(0.0, 0.0)}
    shares = [{PlayerId("p0"): 1.0}, {PlayerId("p1"): 1.0}]
    thrown = [PlayerId("p0")]
    won = [outcomes.winner(*shares, everybody, MAP_NAMES[0], thrown, outcomes.luck()) for _ in range(1000)]
    assert won.count(Side.A) / 1000 == pytest.approx(1 / (1 + math.exp(2.0)), abs=0.04)


# The game and the real session.


def test_a_finished_round_is_rated() -> None:
    loop = full(Mode.KOTH, 6)
    play(loop, Side.A)
    assert loop.rated is not None
    assert len(loop.rated.changes) == 6
    assert all(loop.system.summary(player).rounds == 1 for player in loop.game.clients)
    best = max(loop.game.clients, key=loop.system.skill)
    assert loop.game.clients[best].side is Side.A


def test_shares_of_a_round_add_up_to_presence() -> None:
    loop = full(Mode.KOTH, 4)
    assert loop.start_round()
    leaver = loop.game.on(Side.A)[0]
    loop.pass_time(30)
    loop.leave(leaver)
    loop.pass_time(90)
    assert loop.game.fractions_played(Side.A)[leaver] == pytest.approx(0.25)
    assert all(share == pytest.approx(1.0) for share in loop.game.fractions_played(Side.B).values())


def test_a_round_without_opponents_is_not_played() -> None:
    assert not full(Mode.KOTH, 1).start_round()


# The whole.


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_plays_and_rates_its_rounds(mode: Mode) -> None:
    summary = simulate(Scenario(rounds=40, mode=mode, slots=12, people=30), SYNELO)
    assert summary.rated >= 38
    assert summary.quality is not None
    assert len(summary.points) == 20
    assert (summary.bench is not None) == (mode is Mode.ARENA)


@pytest.mark.slow
def test_people_who_left_for_good_count_among_their_kind() -> None:
    """Twelve people at any time, each round one of them is replaced."""
    scenario = Scenario(rounds=200, turnover=1.0, people=12, slots=8, throwers=1)
    regular, thrower = simulate(scenario, SYNELO).groups
    assert regular.people > 30
    assert thrower.people == 1
    assert 0.4 < regular.rated < 0.6


@pytest.mark.slow
def test_overconfidence_is_given_over_time_and_for_the_second_half() -> None:
    summary = simulate(Scenario(rounds=200, slots=12, people=30, mode=Mode.KOTH), SYNELO)
    excess = [point.overconfidence for point in summary.points]
    assert len(excess) == 20
    late = [one.value for one in excess[10:] if one is not None]
    assert summary.overconfidence is not None
    assert min(late) <= summary.overconfidence.value <= max(late)
    assert summary.overconfidence.error == pytest.approx(0.5 / math.sqrt(100), rel=0.1)


GOLDEN: list[tuple[Scenario, str, str | None, list[float]]] = [
    (
        Scenario(rounds=100),
        *("synelo", None),
        [0.6805667173662908, 0.2108068686663438, 0.06676069581570286, 0.24819277546146143],
    ),
    (
        Scenario(rounds=60, smurfs=1, throwers=2, parties=2, slots=13, side_advantage=0.1, map_spread=0.2),
        *("synelo", None),
        [0.6084297672516088, 0.22484430119179213, 0.10518934081346423, 0.23830651941280256],
    ),
    (
        Scenario(rounds=60, mode=Mode.KOTH),
        *("synelo", None),
        [0.6471261519543845, 0.2554226045919951, 0.09357652656621729, 0.2466217233606507],
    ),
    (
        Scenario(rounds=120, attendance=Visits.EVENINGS, scores=0.35, score_offset=0.5),
        *("trueskill", "elo"),
        [0.6659247465265173, 0.18754048806118817, 0.10119386014781126, 0.24194578686180487],
    ),
    (
        Scenario(rounds=120, mode=Mode.PAYLOAD, parties=3, stay=10.0, slots=16, people=40),
        *("synelo", None),
        [0.6996790151998654, 0.183138710647723, 0.22064777327935223, 0.24326356883449227],
    ),
]
"""What is shown, what balances, and favourite, reachable, assigned and Brier score of that pool.

Since due scrambles move people, and sides are evened between rounds."""


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "shown", "balance", "expected"), GOLDEN)
def test_a_seed_gives_the_pool_that_it_always_gave(
    scenario: Scenario, shown: str, balance: str | None, expected: list[float]
) -> None:
    found = simulate(scenario, Model(shown), balance=None if balance is None else Model(balance))
    assert found.quality is not None
    seen = [found.favourite, found.reachable, found.assigned, found.quality.brier.value]
    assert seen == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_the_system_for_balance_makes_the_teams_and_the_other_is_shown() -> None:
    scenario, trueskill, elo = Scenario(rounds=80, slots=12, people=30), Model("trueskill"), Model("elo")
    alone, shown, beside = (
        simulate(scenario, trueskill),
        simulate(scenario, elo, balance=trueskill),
        simulate(scenario, trueskill, balance=trueskill),
    )
    assert (shown.assigned, shown.periods, shown.quality) == (alone.assigned, alone.periods, alone.quality)
    assert shown.found != alone.found
    assert beside == alone


def test_rounds_are_rated_by_both_systems_each_in_its_own_unit() -> None:
    loop = ClosedLoop(Map(MAP_NAMES[0], Mode.KOTH), SYNELO.make(), Rules(), balance=Model("trueskill").make())
    loop.change_map(loop.game.map)
    for number in range(6):
        loop.join(PlayerId(f"p{number}"))
    play(loop, Side.A)
    players = list(loop.game.clients)
    assert [loop.system.summary(one).rounds for one in players] == [1] * 6
    assert [loop.balancing.summary(one).rounds for one in players] == [1] * 6
    known = loop.session.state.summaries
    assert {one: known[one].on(Side.A) for one in players} == {one: loop.balancing.skill(one) for one in players}
    assert {one: known[one].rating for one in players} == {one: loop.system.summary(one).rating for one in players}


def test_counts_reach_the_systems_only_where_the_scenario_has_scores() -> None:
    Watched.counted.clear()
    simulate(Scenario(rounds=5, slots=8, people=12), Watched("synelo"))
    assert Watched.counted == [0] * 5
    simulate(Scenario(rounds=5, slots=8, people=12, scores=0.35), Watched("synelo"))
    assert all(Watched.counted[5:])


@pytest.mark.slow
def test_the_favourite_is_expected_to_be_what_the_system_does_not_know() -> None:
    """Of strangers SynElo expects even teams; TrueSkill knows that it knows nothing."""
    scenario = Scenario(rounds=20, slots=12, people=30)
    synelo, trueskill = (simulate(scenario, Model(name)) for name in ("synelo", "trueskill"))
    assert synelo.expected_favourite is not None
    assert trueskill.expected_favourite is not None
    assert synelo.expected_favourite < 0.55 < 0.7 < trueskill.expected_favourite


@pytest.mark.slow
def test_sides_that_are_made_equal_are_even_and_the_bench_is_shared() -> None:
    summary = simulate(Scenario(rounds=200, slots=13), SYNELO)
    assert summary.equalised is not None
    assert summary.equalised.rounds > 50
    assert summary.equalised.even.value >= 0.95
    assert summary.bench is not None
    assert summary.bench.apart <= 2


@pytest.mark.slow
def test_rounds_that_are_scrambled_are_not_among_those_between_scrambles() -> None:
    every_round = Rules(triggers={"arena": Triggers(round_two=True, streak=1)})
    summary = simulate(Scenario(rounds=40, slots=9, stalemates=0.0), SYNELO, every_round)
    assert (summary.between, summary.equalised) == (None, None)


def test_each_round_notes_whether_its_teams_were_scrambled_equalised_or_kept() -> None:
    loop, teams = full(Mode.ARENA, 5), []
    for winner in (Side.A, Side.B, Side.A):
        play(loop, winner)
        teams.append(loop.teams)
    loop.leave(loop.game.bench()[0])
    play(loop)
    play(loop)
    assert [*teams, loop.teams] == [Teams.SCRAMBLED, Teams.SCRAMBLED, Teams.EQUALISED, Teams.KEPT]


@pytest.mark.world
def test_ratings_find_true_skill_and_the_real_rules_make_rounds_more_even() -> None:
    scenario = Scenario(rounds=500, people=30, spread=0.4, drift=0.0, turnover=0.0, mode=Mode.PAYLOAD)
    summary = simulate(scenario, Model("synelo", {"k_max": 3}))
    assert summary.points[-1].found > 0.75 > summary.points[0].found
    assert summary.favourite is not None
    assert summary.random is not None
    assert summary.favourite < summary.random - 0.03
    assert summary.reachable is not None
    assert summary.quality is not None
    assert summary.reachable <= summary.quality.brier.value + 0.01


@pytest.mark.world
@pytest.mark.parametrize("balance", [None, Model.of("joint")], ids=["synelo", "joint"])
def test_who_throws_rounds_wins_more_of_the_others_and_fewer_of_all(balance: Model | None) -> None:
    """However the teams are made, the easier teams that a low rating brings do not make up for what it costs."""
    scenario = Scenario(rounds=300, throwers=5, people=20, slots=12, turnover=0.0, seed=3)
    regular, thrower = simulate(scenario, SYNELO, balance=balance).groups
    assert thrower.won_honestly is not None
    assert thrower.won < 0.48 < 0.5 < regular.won < thrower.won_honestly
    assert thrower.rated < thrower.true - 0.1


@pytest.mark.world
def test_throwers_throw_a_third_of_their_rounds_and_mostly_lose_those() -> None:
    scenario = Scenario(rounds=400, throwers=8, people=30, spread=0.0, turnover=0.0, stalemates=0.0)
    regular, thrower = simulate(scenario, SYNELO).groups
    assert (regular.kind, regular.won_thrown) == (Kind.REGULAR, None)
    assert regular.won_honestly == regular.won
    assert thrower.won_thrown is not None
    assert thrower.won_honestly is not None
    assert thrower.won_thrown < thrower.won < thrower.won_honestly
    thrown = (thrower.won_honestly - thrower.won) / (thrower.won_honestly - thrower.won_thrown)
    assert thrown == pytest.approx(1 / 3, abs=0.05)
