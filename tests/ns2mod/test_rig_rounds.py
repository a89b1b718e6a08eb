"""Rounds: starts, ends and resets (ns2_game.md 2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import probed, seen, two_commanders
from tests.ns2mod.rig import Game

START = ["PreGame", "NotStarted", "Countdown", "Started"]


@pytest.mark.parametrize("rules_first", [True, False])
@pytest.mark.parametrize("pregame", [3.0, 5.0])
def test_scenario_6_both_commanders_start_a_round_through_pregame_reset_and_countdown(
    rules_first: bool, pregame: float
) -> None:
    game = Game(switches={"rules_before_hooks": rules_first, "pregame_seconds": pregame}).boot()
    marines, _ = two_commanders(game)
    begun, entity = game.clock, marines[1].entity
    game.until(lambda: game.state == "Countdown")
    assert marines[1].frozen
    assert marines[1].entity != entity
    assert marines[0].commands_now
    game.start_round()
    assert game.states[1:] == START
    assert game.clock - begun == pytest.approx(pregame + 6, abs=0.1)
    assert not marines[1].frozen
    assert game.errors == []


@pytest.mark.parametrize(("bots", "seconds"), [(1, 3), (2, 20)])
def test_situation_9_with_two_bots_a_server_for_rookies_waits_20_seconds(bots: int, seconds: float) -> None:
    game = Game()
    game.settings["rookie_only"] = True
    game.boot()
    for _ in range(bots):
        game.add_bot()
    two_commanders(game)
    begun = game.clock
    game.until(lambda: game.state == "Countdown")
    assert game.clock - begun == pytest.approx(seconds, abs=0.1)


def test_situation_1_cheats_start_a_round_without_commanders_in_a_second_and_nothing_ends_it() -> None:
    game = Game().boot()
    begun = game.clock
    game.console("sv_cheats 1")
    game.start_round()
    assert game.states[1:] == START
    assert game.clock - begun == pytest.approx(1, abs=0.2)
    game.run(5)
    assert game.state == "Started"  # with both sides empty
    game.console("sv_cheats 0")
    game.run(2)
    assert game.state == "Draw"


@pytest.mark.parametrize("first", [True, False])
def test_scenario_6_the_reset_inside_the_start_lets_commanders_out_and_in(tmp_path: Path, first: bool) -> None:
    game = probed(tmp_path, switches={"reset_state_first": first})
    two_commanders(game, 1)
    seen(game)
    game.start_round()
    leave = ["logout", "logout"]
    enter = ["login M0 false", "login returns true", "login A0 false", "login returns true"]
    state = ["S NotStarted"]
    order = [*state, *leave] if first else [*leave, *state]
    assert seen(game, "S", "R", "login", "logout") == [
        *["S PreGame", "R", *order, *enter, "R done"],
        *["S Countdown", "S Started"],
    ]


def test_scenario_7_a_commander_who_leaves_in_pregame_aborts_the_start() -> None:
    game = Game().boot()
    marines, _ = two_commanders(game)
    game.frame()
    marines[0].leaves_chair()
    game.run(15)
    assert game.states == ["WarmUp", "PreGame", "NotStarted", "WarmUp"]


def test_scenario_8_a_commander_who_leaves_at_countdown_does_not_stop_it() -> None:
    game = Game().boot()
    marines, _ = two_commanders(game)
    game.until(lambda: game.state == "Countdown")
    marines[0].leaves_chair()
    game.start_round()
    assert game.states[1:] == START
    assert not marines[0].commands_now


def test_scenario_9_a_start_without_pregame_resets_and_counts_down() -> None:
    game = Game().boot()
    marines, _ = two_commanders(game)
    game.start_without_pregame()
    game.start_round()
    assert game.states == ["WarmUp", "NotStarted", "Countdown", "Started"]
    assert marines[0].commands_now


def test_scenario_16_a_win_is_seen_around_the_state_and_sends_all_to_the_ready_room(tmp_path: Path) -> None:
    game = probed(tmp_path)
    two_commanders(game, 1)
    game.start_round()
    seen(game)
    game.end_game(2)
    assert seen(game, "E", "S") == ["E 2 in Started", "S Team2Won", "E done Team2Won"]
    game.run(7.9)
    assert seen(game) == []
    game.run(0.3)
    assert seen(game, "J", "R", "S", "logout")[:4] == ["logout", "logout", "J M0 0 nil", "J returns true M0 0"]
    assert game.states[-3:] == ["Team2Won", "NotStarted", "WarmUp"]
    assert game.ends == [2]
    assert game.ranked == 1


def test_scenario_17_a_draw_arms_no_map_change_and_is_not_ranked() -> None:
    game = Game()
    game.settings["map_minutes"] = 0
    game.boot()
    two_commanders(game)
    game.start_round()
    game.end_game()
    game.run(60)
    assert game.states[5] == "Draw"
    assert game.map == "ns2_veil"
    assert game.ranked == 0


@pytest.mark.parametrize("calls", [True, False])
def test_scenario_17_whether_two_lost_sides_pass_endgame_is_a_switch(tmp_path: Path, calls: bool) -> None:
    game = probed(tmp_path, switches={"draw_calls_endgame": calls})
    two_commanders(game)
    game.start_round()
    seen(game)
    game.loses(1)
    game.loses(2)
    game.run(1)
    assert seen(game, "E", "S") == (["E nil in Started", "S Draw", "E done Draw"] if calls else ["S Draw"])
    assert game.ends == [0]


def test_scenario_16_old_builds_name_the_loser_in_the_state() -> None:
    game = Game(switches={"won_states_swapped": True}).boot()
    two_commanders(game)
    game.start_round()
    game.end_game(1)
    assert (game.state, game.ends) == ("Team2Won", [1])


def test_scenario_18_a_concede_ends_the_round_after_its_window() -> None:
    game = Game().boot()
    two_commanders(game)
    game.start_round()
    game.concedes(1)
    game.run(0.7)
    assert game.state == "Started"
    game.run(0.2)
    assert game.ends == [2]


def test_scenario_19_unbalanced_sides_end_the_round_after_a_warning() -> None:
    game = Game().boot()
    marines, aliens = two_commanders(game, 4)
    game.start_round()
    aliens += [game.connect(300 + number) for number in range(4)]
    assert all(game.join(each, 2) for each in aliens[4:])
    game.run(301)
    assert game.state == "Started"
    game.run(31)
    assert game.ends == [2]
    assert len(marines) == 4


def test_scenario_20_a_side_that_empties_loses_and_two_are_a_draw() -> None:
    game = Game().boot()
    marines, aliens = two_commanders(game, 1)
    game.start_round()
    marines[0].joins(0)
    game.run(0.5)
    assert game.ends == []
    aliens[0].disconnects()
    game.run(0.5)
    assert game.ends == [0]
    game = Game().boot()
    _, aliens = two_commanders(game, 1)
    game.start_round()
    aliens[0].disconnects()
    game.run(1)
    assert game.ends == [1]


def test_a_mod_can_keep_a_round_from_ending_until_the_next_reset() -> None:
    game = Game().boot()
    two_commanders(game)
    game.start_round()
    game.execute("GetGamerules().preventGameEnd = true")
    game.loses(1)
    game.run(5)
    assert game.ends == []
    game.reset()
    game.start_round()
    game.loses(1)
    game.run(1)
    assert game.ends == [2]


def test_scenario_21_a_reset_in_a_round_ends_it_without_endgame_and_a_new_one_starts(tmp_path: Path) -> None:
    game = probed(tmp_path)
    marines, aliens = two_commanders(game)
    game.start_round()
    entities = {each.entity for each in marines + aliens}
    game.console("sv_reset")
    assert seen(game, "E") == []
    assert game.state == "NotStarted"
    assert entities.isdisjoint({each.entity for each in marines + aliens})
    assert marines[0].commands_now
    game.start_round()
    assert game.states[5:] == ["NotStarted", *START]
    assert [each.team for each in marines + aliens] == [1, 1, 1, 2, 2, 2]


def test_scenario_32_a_won_map_that_ran_long_enough_changes_after_thirty_seconds() -> None:
    game = Game()
    game.settings["map_minutes"] = 0.1
    game.boot()
    two_commanders(game)
    game.start_round()
    game.end_game(1)
    game.run(29)
    assert game.map == "ns2_veil"
    game.run(1.5)
    assert game.map == "ns2_tram"


def test_scenario_35_a_slow_frame_starts_a_round_once() -> None:
    game = Game().boot()
    two_commanders(game)
    for _ in range(60):
        game.frame(0.5)
    assert game.states[1:] == START


def test_scenario_40_an_old_server_loads_its_map_again_between_rounds() -> None:
    game = Game().boot()
    game.run(36010, dt=10)
    assert game.clock < 100
    assert game.map == "ns2_veil"


@pytest.mark.parametrize("counts", [False, True])
def test_bots_end_the_warm_up_only_where_they_count(counts: bool) -> None:
    game = Game(switches={"warmup_counts_bots": counts}).boot(frames=0)
    for number in range(12):
        game.add_bot(1 + number % 2)
    game.run(1)
    assert game.state == ("NotStarted" if counts else "WarmUp")
