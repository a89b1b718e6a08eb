"""Turns on the bench, team sizes and the duel, each by itself."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core.asks import AskSplit
from equipoise.core.bench import bench_costs
from equipoise.core.memory import Benched
from equipoise.core.model import Mode
from equipoise.core.triggers import Tally
from tests.core.game import Game
from tests.core.scripts import ids, roster, the


def costs(text: str, **benched: tuple[int, int]) -> dict[str, int]:
    """Bench costs of a roster; `a=(2, 5)`: a was benched twice, last in round 5."""
    return dict(bench_costs(roster(text), {ids(name)[0]: Benched(*turns) for name, turns in benched.items()}))


def test_the_player_benched_fewest_times_costs_least() -> None:
    assert costs("ab|cd", a=(2, 3), b=(1, 4), c=(1, 4)) == {"a": 2, "b": 1, "c": 1, "d": 0}


def test_of_players_benched_equally_often_the_least_recent_costs_least() -> None:
    assert costs("ab|c", a=(1, 3), b=(1, 5), c=(1, 4)) == {"a": 0, "b": 2, "c": 1}


def test_a_first_turn_in_round_one_costs_more_than_none() -> None:
    assert costs("a|b", a=(1, 1)) == {"a": 1, "b": 0}


def test_bots_and_spectators_have_no_turn_on_the_bench() -> None:
    assert costs("a1|b|c|d") == {"a": 0, "b": 0, "c": 0}


def test_of_two_benched_once_the_least_recent_gives_way_though_the_other_would_leave_closer_sides() -> None:
    game = Game(Mode.ARENA, "a|b|c", {"a": 2600.0, "b": 2400.0, "c": 2390.0})
    # By their ratings a would give way: 2400 against 2390 is closest. By their turns it is b.
    game.session.state.memory = replace(
        game.session.memory,
        tally=Tally(completed=5),
        benched={player: Benched(1, game_round) for player, game_round in zip(ids("bac"), (1, 3, 4), strict=True)},
    )

    question = the(AskSplit, game.start())
    assert question.bench_cost == {"b": 0, "a": 1, "c": 2}
    assert game.stands() in ("a|c|b", "c|a|b")


# The duel.
