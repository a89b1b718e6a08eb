"""The variables that Team Fortress 2 brings along, with their defaults, flags and bounds.

Taken from the definitions in Valve's source-sdk-2013 (src/game/shared and src/game/server). A server's own cfg files
set many of them to something else. `hostname`, `sv_tags` and `sv_visiblemaxplayers` are the engine's; those that begin
with `sm_` are SourceMod's.
"""

from typing import NamedTuple

NOTIFY, REPLICATED, CHEAT, DEVELOPMENT_ONLY = 1 << 8, 1 << 13, 1 << 14, 1 << 1
FLAGS = {"n": NOTIFY, "r": REPLICATED, "c": CHEAT, "d": DEVELOPMENT_ONLY}


class EngineVar(NamedTuple):
    """A variable of the game. No bound is None."""

    name: str
    default: str
    flags: int
    low: float | None
    high: float | None


TABLE = """
mp_allowspectators 1.0 r
mp_autoteambalance 1 n 0 2
mp_bonusroundtime 15 r 5 15
mp_chattime 10 r 1 120
mp_disable_respawn_times 0 nr
mp_enableroundwaittime 1 r
mp_forceautoteam 0 nr
mp_highlander 0 nr
mp_humans_must_join_team any r
mp_idledealmethod 1 -
mp_idlemaxtime 3 -
mp_match_end_at_timelimit 0 n
mp_maxrounds 0 nr 0
mp_respawnwavetime 10.0 nr
mp_restartgame 0 -
mp_restartgame_immediate 0 -
mp_restartround 0 -
mp_scrambleteams_auto 1 n
mp_scrambleteams_auto_windifference 2 n
mp_spectators_restricted 0 -
mp_stalemate_enable 0 n
mp_stalemate_timelimit 240 r
mp_teams_unbalance_limit 1 r 0 30
mp_timelimit 0 nr
mp_tournament 0 nr
mp_tournament_prevent_team_switch_on_readyup 1 -
mp_tournament_readymode 0 nr
mp_tournament_readymode_countdown 10 nr
mp_tournament_readymode_min 2 nr
mp_tournament_readymode_team_size 0 nr
mp_tournament_stopwatch 1 nr
mp_waitingforplayers_cancel 0 -
mp_waitingforplayers_restart 0 -
mp_waitingforplayers_time 30 d
mp_windifference 0 nr 0
mp_windifference_min 0 nr 0
mp_winlimit 0 nr 0
nextlevel "" n
spec_freeze_time 4.0 rc
spec_freeze_traveltime 0.4 rc 0.01
sv_vote_allow_spectators 0 -
sv_vote_issue_autobalance_allowed 0 -
sv_vote_issue_scramble_teams_allowed 1 -
tf_arena_change_limit 1 nrcd
tf_arena_first_blood 1 nr
tf_arena_force_class 0 nrcd
tf_arena_max_streak 3 nr
tf_arena_override_team_size 0 r
tf_arena_override_cap_enable_time -1 nr
tf_arena_preround_time 10 nr 5 15
tf_arena_round_time 0 nr
tf_arena_use_queue 1 nr
tf_autobalance_dead_candidates_maxtime 15 r
tf_autobalance_force_candidates_maxtime 5 r
tf_bot_offline_practice 0 -
tf_bot_quota 0 -
tf_bot_quota_mode normal -
tf_flag_caps_per_round 3 r 0
tf_gamemode_arena 0 nrd
tf_passtime_scores_per_round 5 nr
tf_powerup_mode 0 n
tf_powerup_mode_imbalance_consecutive_min_players 10 c
tf_powerup_mode_imbalance_consecutive_time 1200 c
tf_stalematechangeclasstime 20 rd
hostname Rig -
sv_tags "" n
sv_visiblemaxplayers -1 -
sm_show_activity 13 -
sm_vote_delay 30 -
"""


def _parsed(line: str) -> EngineVar:
    name, default, flags, *bounds = line.split()
    low, high = [*map(float, bounds), None, None][:2]
    return EngineVar(name, default.strip('"'), sum(FLAGS[letter] for letter in flags.strip("-")), low, high)


ENGINE = [_parsed(line) for line in TABLE.strip().splitlines()]
