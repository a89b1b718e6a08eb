"""Events of the fake game carry the fields that the game's code sets, no more and no fewer."""

from __future__ import annotations

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game import buildings
from tests.sourcemod.rig.game.facts import BLU, EVENTS, RED, Reason
from tests.sourcemod.scenarios import live

_PANEL = "panel_style winning_team winreason cappers blue_score red_score blue_score_prev red_score_prev"
ALWAYS = {
    # teamplayroundbased_gamerules.cpp
    "teamplay_round_start": "full_reset",
    "teamplay_round_active": "",
    "teamplay_restart_round": "",
    "teamplay_round_restart_seconds": "seconds",
    "teamplay_round_stalemate": "reason",
    "teamplay_round_win": "team winreason full_round round_time was_sudden_death flagcaplimit losing_team_num_caps",
    "teamplay_game_over": "reason",
    "teamplay_map_time_remaining": "seconds",
    "teamplay_update_timer": "",
    "teamplay_alert": "alert_type",
    "teamplay_teambalanced_player": "player team",
    "scorestats_accumulated_reset": "",
    # tf_gamerules.cpp, tf_gamestats.cpp
    "tf_game_over": "reason",
    "arena_round_start": "",
    "arena_match_maxstreak": "team streak",
    "arena_win_panel": _PANEL,
    "pve_win_panel": "panel_style winning_team winreason",
    "teamplay_win_panel": f"{_PANEL} flagcaplimit round_complete killstreak_player_1 killstreak_player_1_count"
    " game_over",
    "recalculate_holidays": "",
    "scorestats_accumulated_update": "",
    "stats_resetround": "",
    "mvm_begin_wave": "wave_index max_waves advanced",
    "player_changename": "userid oldname newname",
    "player_death": "userid victim_entindex attacker assister weapon weapon_logclassname weaponid damagebits customkill"
    " inflictor_entindex priority silent_kill kill_streak_victim rocket_jump crit_type death_flags stun_flags",
    "player_domination": "dominator dominated dominations",
    # teamplay_round_timer.cpp
    "teamplay_setup_finished": "",
    "teamplay_pre_round_time_left": "time",
    "teamplay_timer_time_added": "timer seconds_added",
    "overtime_nag": "",
    # team_control_point.cpp, team_control_point_master.cpp, trigger_area_capture.cpp, team_train_watcher.cpp
    "teamplay_round_selected": "round",
    "teamplay_point_startcapture": "cp cpname team capteam captime cappers priority",
    "teamplay_point_captured": "cp cpname team cappers priority",
    "teamplay_capture_blocked": "cp cpname blocker priority victim",
    "teamplay_capture_broken": "cp cpname time_remaining",
    "teamplay_point_locked": "cp cpname team",
    "teamplay_point_unlocked": "cp cpname team",
    "controlpoint_starttouch": "player area",
    "controlpoint_endtouch": "player area",
    "payload_pushed": "pusher distance",
    # entity_capture_flag.cpp, func_capture_zone.cpp
    "teamplay_flag_event": "eventtype priority team",
    "ctf_flag_captured": "capping_team capping_team_score capper priority",
    # tf_player.cpp, player.cpp, tf_player_shared.cpp
    "player_initial_spawn": "index",
    "player_spawn": "userid team class",
    "player_team": "userid team oldteam disconnect autoteam silent name",
    "player_changeclass": "userid class",
    "post_inventory_application": "userid",
    "remove_nemesis_relationships": "player",
    "player_hurt": "userid health priority damageamount attacker",
    "player_healed": "priority patient healer amount",
    "player_score_changed": "player delta",
    "player_turned_to_ghost": "userid",
    # tf_obj.cpp, tf_weapon_medigun.cpp, client.cpp
    "player_builtobject": "userid object index",
    "object_removed": "userid objecttype index",
    "object_detonated": "userid objecttype index",
    "object_destroyed": "userid assister attacker weapon weapon_logclassname weaponid priority objecttype index"
    " was_building team",
    "player_chargedeployed": "userid",
    "player_say": "userid text priority",
}
"""What each event has whenever it comes, with the files that fire it."""
_ARENA = ("", "_damage", "_healing", "_lifetime", "_kills")
SOMETIMES = {
    "teamplay_win_panel": "rounds_remaining " + " ".join(f"player_{n} player_{n}_points" for n in range(1, 7)),
    "arena_win_panel": " ".join(f"player_{n}{what}" for n in range(1, 7) for what in _ARENA),
    "teamplay_flag_event": "player home carrier",
    "player_hurt": "custom showdisguisedcrit crit minicrit allseecrit bonuseffect weaponid",
    "player_death": "playerpenetratecount assister_fallback kill_streak_total kill_streak_wep kill_streak_assist"
    " duck_streak_total duck_streak_assist duck_streak_victim ducks_streaked",
    "player_chargedeployed": "targetid",
}


@pytest.mark.parametrize("event", ALWAYS)
def test_an_event_has_the_fields_that_the_games_code_sets(event: str) -> None:
    assert EVENTS[event] == {*ALWAYS[event].split(), *SOMETIMES.get(event, "").split()}


def play_everything(game: Game) -> None:
    """One round each of control points, flags and arena, with what players can do in them."""
    red, blu, *_ = live(game, "cp_badlands")
    play.hurt(game, red, blu)
    play.hurt(game, None, blu)
    play.heal(game, red, blu)
    buildings.build(game, red, "obj_sentrygun")
    game.points.start_capture(2, RED, [red])
    game.points.stop_capture(2)
    play.capture(game, RED, 2, red)
    play.kill(game, red, blu)
    game.teams.change(red, BLU)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    play.next_round(game)
    game.rcon("mp_restartgame 1")
    game.advance(10)
    game.leave(blu)
    runner, *_ = live(game, "ctf_2fort")
    play.pick_up_flag(game, runner)
    play.drop_flag(game, runner)
    play.pick_up_flag(game, runner)
    play.capture_flag(game, runner)
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    live(game, "arena_well")
    play.wipe_out(game, BLU)


def test_an_event_that_comes_has_all_of_its_fields(game: Game) -> None:
    play_everything(game)
    incomplete = {
        (name, field)
        for _, name, fields in game.history
        for field in ALWAYS.get(name, "").split()
        if field not in fields
    }
    assert incomplete == set()
    assert len({name for _, name, _ in game.history} & ALWAYS.keys()) > 30
