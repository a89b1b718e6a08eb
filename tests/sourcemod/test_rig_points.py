"""When points may be captured, and timers that carry their time from stage to stage."""

from __future__ import annotations

import dataclasses

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, KOTH, RED, STAGED_PAYLOAD
from tests.sourcemod.scenarios import fields, live, people, since, when


def locked(game: Game) -> list[int]:
    assert game.objective is not None
    return list(game.objective.props["m_bCPLocked"])  # type: ignore[arg-type]


def test_the_hill_is_locked_for_half_a_minute_from_the_start_of_the_freeze(game: Game) -> None:
    # CKothLogic::InputRoundActivate (tf_gamerules.cpp); CTeamControlPoint::UnlockThink (team_control_point.cpp).
    live(game, "koth_harvest_final")
    assert locked(game)[0] == 1
    with pytest.raises(AssertionError, match="locked"):
        game.points.capture(0, RED, game.teams.members(RED))
    game.until(lambda: not locked(game)[0])
    started, unlocked = when(game, "teamplay_round_start"), when(game, "teamplay_point_unlocked")
    assert unlocked - started == pytest.approx(30, abs=0.1)
    assert fields(game, "teamplay_point_unlocked") == {"cp": 0, "cpname": "point 0", "team": 0, "silenced": False}
    play.capture(game, RED, 0)
    assert game.points.owners[0] == RED


def test_no_point_is_locked_while_the_game_waits(game: Game) -> None:
    # CTeamControlPoint::InputSetLocked (team_control_point.cpp).
    game.start_map("koth_harvest_final")
    people(game)
    game.until(lambda: game.rounds.live)
    assert (game.rounds.waiting, locked(game)[0]) == (True, 0)
    assert game.events("teamplay_point_locked") == []


def test_the_hill_is_locked_again_in_every_round(game: Game) -> None:
    live(game, "koth_harvest_final")
    play.capture(game, RED, 0)
    mark = len(game.history)
    game.advance(181)
    assert game.rounds.won
    play.next_round(game)
    assert since(game, mark, "teamplay_point_locked", "teamplay_round_start") == [
        "teamplay_point_locked",
        "teamplay_round_start",
    ]


def test_a_hill_whose_logic_asks_for_no_time_is_open_at_once(game: Game) -> None:
    game.start_map("koth_open", dataclasses.replace(KOTH, unlock=0))
    people(game)
    play.go_live(game)
    game.points.capture(0, BLU, game.teams.members(BLU))
    assert game.points.owners[0] == BLU


@pytest.mark.parametrize(("override", "seconds"), [("-1", 60), ("20", 20)])
def test_arenas_point_opens_after_the_maps_delay_or_the_servers(game: Game, override: str, seconds: int) -> None:
    # CTFGameRules::SetupOnStalemateStart and TeamMayCapturePoint (tf_gamerules.cpp).
    game.sm.configs.arena |= {"tf_arena_use_queue": "0", "tf_arena_override_cap_enable_time": override}
    live(game, "arena_well")
    opens = game.rules.props["m_flCapturePointEnableTime"]
    assert opens == pytest.approx(game.map_time + seconds, abs=0.1)
    assert not game.points.may_capture(0)
    play.capture(game, BLU, 0)
    assert when(game, "teamplay_round_win") - when(game, "arena_round_start") == pytest.approx(seconds, abs=0.1)


@pytest.mark.parametrize("carries", [False, True])
def test_a_timer_without_reset_time_carries_its_time_into_the_next_stage(game: Game, *, carries: bool) -> None:
    # CTeamRoundTimer::InputRoundSpawn and RoundTimerSetupThink (teamplay_round_timer.cpp).
    game.start_map("pl_carried", dataclasses.replace(STAGED_PAYLOAD, carries_time=carries))
    people(game)
    play.go_live(game)
    game.advance(100)
    for point in (0, 1):
        play.capture(game, BLU, point)
    play.next_round(game)
    play.go_live(game)
    assert game.clocks.timers[0].remaining == pytest.approx(200 if carries else 300, abs=1)


def test_a_carried_time_ends_with_the_full_round(game: Game) -> None:
    game.start_map("pl_carried", dataclasses.replace(STAGED_PAYLOAD, carries_time=True))
    people(game)
    play.go_live(game)
    game.advance(301)
    assert fields(game, "teamplay_round_win")["team"] == RED
    play.next_round(game)
    play.go_live(game)
    assert game.clocks.timers[0].remaining == pytest.approx(300, abs=1)
