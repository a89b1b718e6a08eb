"""Rounds of every mode as the game plays them: overtime, stalemates, stages, restarts, switches, the end of a map."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED, SIDES, Reason, State
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

pytestmark = pytest.mark.slow

AFTER_WAITING = "Waiting For Players is over"
SHUT_OUT = "the losing side captured nothing"


def on(new_evening: NewEvening, map: str, players: int = 6) -> Evening:
    """A map on which waiting is over and its scramble was made: round 1 is live, and all have fought."""
    evening = new_evening(map)
    for number in range(players):
        evening.seat(f"P{number}")
    evening.freeze()
    evening.live()
    play.fight(evening.game)
    return evening


def member(evening: Evening, side: int) -> Player:
    return evening.game.teams.members(side)[0]


def timer_runs_out(evening: Evening) -> None:
    """The round's timer has a second left; it runs out."""
    timer = evening.game.clocks.active
    assert timer is not None
    timer.set_time(1)
    evening.wait(1.5)


def reasons(evening: Evening) -> list[str]:
    return [one["reason"] for one in evening.decisions("scramble")]


def rounds(evening: Evening) -> set[int]:
    return {evening.rounds(player) for player in evening.game.humans()}


def next_live(evening: Evening) -> None:
    evening.freeze()
    evening.live()
    play.fight(evening.game)


def test_koth_in_overtime_is_won_when_the_point_is_let_go(new_evening: NewEvening) -> None:
    evening = on(new_evening, "koth_harvest_final")
    game = evening.game
    play.capture(game, RED, 0)
    game.clocks.hill[RED].set_time(2)
    game.points.start_capture(0, BLU, [member(evening, BLU)])
    evening.wait(5)
    assert game.rules.props["m_bInOvertime"]
    assert evening.status()["phase"] == "running"
    game.points.stop_capture(0)
    evening.wait(1)
    assert evening.status()["phase"] == "over"
    assert rounds(evening) == {1}
    evening.freeze()
    assert reasons(evening) == [AFTER_WAITING, SHUT_OUT]


def test_five_points_end_undecided_by_their_timer(new_evening: NewEvening) -> None:
    evening = on(new_evening, "cp_badlands")
    timer_runs_out(evening)
    assert evening.game.rounds.winner == 0
    assert rounds(evening) == {1}
    evening.freeze()
    assert reasons(evening) == [AFTER_WAITING]


def test_sudden_death_is_the_same_round_and_is_won_by_the_last_alive(new_evening: NewEvening) -> None:
    evening = on(new_evening, "cp_badlands")
    evening.game.sm.convars["mp_stalemate_enable"].set("1")
    timer_runs_out(evening)
    assert evening.game.rounds.state is State.STALEMATE
    assert evening.status()["phase"] == "running"
    play.wipe_out(evening.game, BLU)
    evening.game.settle()
    assert evening.game.rounds.state is State.TEAM_WIN
    assert rounds(evening) == {1}
    assert evening.status()["round"] == 1


@pytest.mark.parametrize(("map", "stages"), [("cp_dustbowl", 3), ("pl_goldrush", 2)])
def test_a_staged_map_is_one_round_from_its_first_stage_to_its_last(
    new_evening: NewEvening, map: str, stages: int
) -> None:
    evening = on(new_evening, map)
    game = evening.game
    attackers = evening.side(BLU)
    for stage in range(stages):
        assert evening.side(BLU) == attackers
        for point in game.mode.stages[stage]:
            play.capture(game, BLU, point)
        game.settle()
        if stage < stages - 1:
            assert evening.status()["phase"] == "running"
            next_live(evening)
    assert evening.status()["phase"] == "over"
    assert rounds(evening) == {1}
    assert evening.status()["pending"] is None  # the losers of a defence have nothing to capture
    evening.freeze()
    assert evening.side(RED) == attackers  # the sides are switched
    assert reasons(evening) == [AFTER_WAITING]


def test_a_restart_between_stages_begins_a_round_of_its_own(new_evening: NewEvening) -> None:
    evening = on(new_evening, "cp_dustbowl")
    game = evening.game
    for point in game.mode.stages[0]:
        play.capture(game, BLU, point)
    game.sm.convars["mp_restartgame"].set("1")
    restarts = len(game.events("teamplay_restart_round"))
    game.until(lambda: len(game.events("teamplay_restart_round")) > restarts, within=60)
    next_live(evening)
    timer_runs_out(evening)
    assert game.rounds.winner == RED
    assert rounds(evening) == {1}
    assert evening.status()["round"] == 1
    assert evening.status()["pending"] == SHUT_OUT  # what was captured before the restart is void


def test_attackers_and_defenders_change_sides_but_a_duellist_stays(new_evening: NewEvening) -> None:
    evening = on(new_evening, "cp_gorge")
    game = evening.game
    attackers, defenders = evening.side(BLU), evening.side(RED)
    duellist = member(evening, RED)
    duellist.duel = True
    for point in (0, 1):
        play.capture(game, BLU, point)
    evening.freeze()
    assert duellist.team == RED
    assert set(evening.side(RED)) >= set(attackers)
    assert set(evening.side(BLU)) == set(defenders) - {duellist.name}
    evening.live()
    play.fight(game)
    play.capture(game, BLU, 0)
    timer_runs_out(evening)
    assert rounds(evening) == {2}
    assert evening.status()["round"] == 2


def test_ctf_is_won_when_the_limit_is_seen_and_a_drawn_map_ends_undecided(new_evening: NewEvening) -> None:
    evening = on(new_evening, "ctf_2fort")
    game = evening.game
    play.capture_flag(game, member(evening, BLU))
    for _ in range(3):
        play.capture_flag(game, member(evening, RED))
    assert game.rounds.state is State.RUNNING  # the limit is looked at once a second
    evening.wait(1.2)
    assert game.rounds.state is State.TEAM_WIN
    assert rounds(evening) == {1}
    next_live(evening)
    game.sm.convars["mp_timelimit"].set("1")
    game.teams.scores[:] = [0, 0, 1, 1]
    game.until(lambda: game.rounds.state is State.TEAM_WIN, within=70)
    evening.wait(1)
    assert game.rounds.winner == 0
    assert rounds(evening) == {2}
    game.until(lambda: game.rounds.state is State.GAME_OVER, within=20)
    evening.wait(5)
    assert (evening.status()["round"], rounds(evening)) == (2, {2})


@pytest.mark.parametrize("map", ["sd_doomsday", "pd_watergate", "pass_brickyard", "plr_hightower", "tc_hydro"])
def test_other_modes_are_rated_and_scrambled_after_waiting_only(new_evening: NewEvening, map: str) -> None:
    evening = on(new_evening, map)
    for number in range(1, 4):
        evening.game.rounds.win(RED, Reason.POINTS_CAPTURED)
        evening.game.settle()
        evening.wait(1)
        assert rounds(evening) == {number}
        next_live(evening)
    if map != "tc_hydro":
        assert reasons(evening) == [AFTER_WAITING]


@pytest.mark.parametrize(
    ("convar", "value"),
    [
        ("mp_winlimit", "1"),
        ("mp_maxrounds", "1"),
        ("mp_windifference", "1"),
        ("mp_timelimit", "6"),  # the next round would begin in its last five minutes
        ("nextlevel", "cp_badlands"),
    ],
)
def test_the_round_that_ends_a_map_is_rated_and_the_next_map_is_another_evening(
    new_evening: NewEvening, convar: str, value: str
) -> None:
    evening = on(new_evening, "koth_harvest_final")
    game = evening.game
    game.map_cycle = ["koth_harvest_final", "cp_badlands"]
    game.sm.convars[convar].set(value)
    evening.wait(62 if convar == "mp_timelimit" else 0)
    evening.win(RED)
    evening.wait(1)
    assert rounds(evening) == {1}
    assert evening.status()["pending"]
    game.until(lambda: game.map == "cp_badlands", within=60)
    game.sm.convars[convar].set("0" if convar != "nextlevel" else "")
    evening.wait(2)
    status = evening.status()
    assert (status["map"], status["round"], status["pending"]) == ("cp_badlands", 1, None)


def test_a_round_that_a_change_of_map_cuts_off_is_not_reported(new_evening: NewEvening) -> None:
    evening = on(new_evening, "koth_harvest_final")
    game = evening.game
    game.map_cycle = ["koth_harvest_final", "cp_badlands"]
    evening.win(RED)
    next_live(evening)
    game.start_map("cp_badlands")  # an admin changes the map in the middle of a round
    evening.wait(2)
    assert evening.status()["map"] == "cp_badlands"
    assert rounds(evening) == {1}


def test_an_empty_server_waits_again_in_the_morning(new_evening: NewEvening) -> None:
    evening = on(new_evening, "koth_harvest_final")
    game = evening.game
    for player in list(game.humans()):
        game.leave(player)
    evening.wait(60)
    assert evening.status()["phase"] == "idle"
    for number in range(6):
        evening.seat(f"Q{number}")
    assert game.rounds.waiting
    evening.freeze()
    evening.live()
    assert reasons(evening) == [AFTER_WAITING] * 2
    evening.win(RED)
    assert rounds(evening) == {1}
    assert all(len(game.teams.members(side)) == 3 for side in SIDES)


def test_a_wait_that_is_cancelled_makes_teams_at_the_next_start(new_evening: NewEvening) -> None:
    evening = new_evening("koth_harvest_final")
    game = evening.game
    for number in range(6):
        evening.seat(f"P{number}")
    game.until(lambda: game.rounds.live, within=30)
    game.sm.convars["mp_waitingforplayers_cancel"].set("1")
    evening.wait(3)
    assert evening.status()["pending"] == AFTER_WAITING
    assert evening.status()["phase"] == "running"
    evening.win(RED)
    assert rounds(evening) == {1}
    evening.freeze()
    assert reasons(evening) == [AFTER_WAITING]
