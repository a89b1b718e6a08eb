"""When skill depends on the side, splits balance what the system predicts: asks, rounds, live pools."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from equipoise.balancing import answer, match_of, summaries_on
from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit, Purpose
from equipoise.core.model import Context, Entry, Mode, PlayerId, RoundId, Side
from equipoise.core.participation import recorded
from equipoise.core.rules import Rules
from equipoise.ratings import create
from equipoise.ratings.system import Match, ranks_of
from tests.core import answerer
from tests.hosts import Rig, player, roster, round_of
from tests.test_balancing import CONTEXTS, NS2, PER_LOG_ODDS, REASON, SIDE_NAMES, logistic, somewhere, specialists

# Asks.


@pytest.mark.parametrize("seed", range(settings.default.max_examples))
def test_a_duel_by_side_is_between_the_closest_two_in_the_way_they_face_each_other(seed: int) -> None:
    random = Random(seed)
    pool = tuple(Entry(player(number), random.choice((Side.A, Side.B, None)), waiting=True) for number in range(5))
    context, system, on_a, on_b = somewhere(random, pool)
    ask = AskSplit(Purpose.DUEL, 1, REASON, context, pool, (1, 1), {}, 0.01)

    solved = answer(ask, system)
    expected = answerer.answer(ask, on_a, on_b)

    assert isinstance(solved, e.SplitSolved)
    assert isinstance(expected, e.SplitSolved)
    assert solved.difference == answerer.difference(solved.split, on_a, on_b)
    assert abs(solved.difference) == abs(answerer.difference(expected.split, on_a, on_b))


def test_commanders_who_count_apart_do_not_decide_who_crosses() -> None:
    """On the field 3500 face 1000; the strongest marine commands, and so does the strongest alien."""
    system = create("ns2", commander_field_share=0.0)
    for number, rating in {1: 5000.0, 2: 2000.0, 3: 1000.0, 4: 500.0, 5: 9000.0, 6: 1000.0}.items():
        system.seed(player(number), rating=rating)
    larger, smaller = tuple(map(player, (1, 2, 3, 4))), tuple(map(player, (5, 6)))
    ask = AskMoves(1, NS2, larger, smaller, Side.A, larger[1:], 1)
    movers = {
        chairs: answer(replace(ask, commanders=frozenset(map(player, chairs))), system) for chairs in ((1, 5), ())
    }
    assert {chairs: moved.players for chairs, moved in movers.items() if isinstance(moved, e.MovesSolved)} == {
        (1, 5): (player(3),),
        (): (player(4),),
    }


def test_a_summary_has_the_skill_in_either_chair_where_the_system_knows_one() -> None:
    one, system = player(1), create("ns2", commander_field_share=0.5)
    system.seed(one, rating=1200.0, offset=100.0, commander=1500.0)
    (summary,) = summaries_on(system, NS2, [system.summary(one)])
    assert summary.chair_skills == pytest.approx((1400.0, 1300.0))
    other = create("synelo")
    (summary,) = summaries_on(other, NS2, [other.summary(one)], shown=system)
    assert summary.chair_skills is None
    assert (summary.side_skills, summary.rated_skills) == ((1000.0, 1000.0), (1300.0, 1100.0))


def test_what_a_side_wins_more_is_predicted_but_not_made_up_for() -> None:
    pool = tuple(Entry(player(number), (Side.A, Side.B)[number % 2]) for number in range(6))
    system, _, _ = specialists(Random(1), pool, "marines")
    ask = AskSplit(Purpose.SCRAMBLE, 1, REASON, NS2, pool, (3, 3), {}, 0.0)
    without = answer(ask, system)
    for number in range(30):
        strangers = ((player(100 + 2 * number),), (player(101 + 2 * number),))
        system.rate(Match(strangers, ranks_of(1.0), map=NS2.map, sides=("marines", "aliens")))
    solved = answer(ask, system)

    assert isinstance(without, e.SplitSolved)
    assert isinstance(solved, e.SplitSolved)
    assert (solved.split, solved.difference) == (without.split, without.difference)
    assert solved.difference is not None
    won = (30 + 20 / 2) / (30 + 20)  # Smoothed once: of any other map, and of many players, nothing is known.
    race = math.log(won / (1 - won))
    assert solved.after.chance == pytest.approx(logistic(solved.difference / 6 / PER_LOG_ODDS + race))


def test_a_side_advantage_is_predicted_but_not_made_up_for() -> None:
    pool = tuple(Entry(player(number), (Side.A, Side.B)[number % 2]) for number in range(4))
    ask = AskSplit(Purpose.SCRAMBLE, 1, REASON, Context(Mode.PAYLOAD, "pl_upward"), pool, (2, 2), {}, 0.0)

    solved = answer(ask, create("elo", side_advantage=100.0, favoured_side="red"))

    assert isinstance(solved, e.SplitSolved)
    assert solved.difference == 0.0
    assert (solved.before.chance, solved.after.chance) == pytest.approx((1 / (1 + 10**-0.25),) * 2)


def test_players_who_know_a_mode_better_are_split_by_that_mode() -> None:
    """TrueSkill 2 has a skill for every mode: the two who are strong at this one are parted."""
    system = create("trueskill2", modes={"payload": {}, "ctf": {}})
    four = [player(number) for number in range(4)]
    for number in range(20):
        weak = (PlayerId(f"{number}"),)
        system.rate(Match(((four[number % 2],), weak), (0, 1), mode="payload"))
        system.rate(Match(((four[2 + number % 2],), weak), (0, 1), mode="ctf"))
        system.rate(Match((weak, (four[number % 2],)), (0, 1), mode="ctf"))
    pool = tuple(Entry(one, Side.A if number < 2 else Side.B) for number, one in enumerate(four))
    ask = AskSplit(Purpose.SCRAMBLE, 1, REASON, Context(Mode.PAYLOAD, "pl_upward"), pool, (2, 2), {}, 0.0)

    solved = answer(ask, system)

    assert isinstance(solved, e.SplitSolved)
    assert len(set(solved.split.a) & set(four[:2])) == 1
    assert solved.before is not None
    assert solved.after is not None
    assert solved.before.chance > 0.7 > solved.after.chance


# Rounds.


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.mode.value)
def test_a_finished_round_names_its_sides_as_the_game_does(context: Context) -> None:
    match = match_of(recorded(round_of("r1", roster((1, 2), (3, 4)), Side.A, context.mode), Rules(min_rated_humans=2)))

    assert match is not None
    assert match.sides == SIDE_NAMES[context.mode]
    assert match.teams[0] == (player(1), player(2))


# Live pools.


def test_a_live_ns2_pool_places_and_moves_by_side(tmp_path: Path) -> None:
    """1 and 2 are good marines, 8 a good alien; 5 is good on either side, 6 on none."""

    async def evening() -> tuple[Side | None, PlayerId]:
        async with Rig(tmp_path, system="ns2") as rig:
            for number, facts in {1: {"offset": 600.0}, 2: {"offset": 500.0}, 8: {"offset": -400.0}}.items():
                rig.pool.system.seed(player(number), **facts)
            for number, rating in {5: 1500.0, 6: 600.0}.items():
                rig.pool.system.seed(player(number), rating=rating)
            await rig.hello(roster((1, 2), (3, 4)), Mode.NS2)
            await rig.post(e.RoundLive(0.0, RoundId("r1"), roster((1, 2), (3, 4))))
            placed = await rig.post(e.SideWanted(0.0, player(8), Side.A))
            moved = await rig.post(e.RosterSeen(0.0, roster((1, 2, 5, 6), (3, 4))))
            (place,) = (one for one in placed.orders if isinstance(one, f.Place))
            (move,) = (one for one in moved.orders if isinstance(one, f.Move))
            return place.side, move.player

    side, mover = asyncio.run(evening())

    # 3100 against 2000: as a marine they add 600 to the lead, as an alien they turn it into 300 of theirs.
    assert side is Side.B
    # 5200 against 2000: crossing takes twice the average off that lead of 3200; of averages it would be 2100.
    assert mover == player(5)


def test_what_an_operator_sees_of_a_server_is_by_side(tmp_path: Path) -> None:
    async def look() -> tuple[float, float, float | None, str]:
        async with Rig(tmp_path, system="ns2") as rig:
            rig.pool.system.seed(player(1), rating=1300.0, offset=600.0)
            await rig.hello(roster((1, 2), (3, 4)), Mode.NS2)
            _, line = (await rig.host.command(("teams",), "admin")).lines
            status = rig.host.status()
            return status.sum_a, status.sum_b, status.win_probability, line.args[-1]

    sum_a, sum_b, likely, percent = asyncio.run(look())

    assert (sum_a, sum_b) == (2900.0, 2000.0)
    assert likely == pytest.approx(logistic(900 / 4 / PER_LOG_ODDS))
    assert percent == f"{100 * likely:.0f}"
