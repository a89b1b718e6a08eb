"""What the engine defines: teams, round states, win reasons, events with their fields, game modes by map."""

from dataclasses import dataclass
from enum import IntEnum

UNASSIGNED, SPECTATOR, RED, BLU = range(4)
SIDES = (RED, BLU)
ALIVE, DYING, DEAD = range(3)
CLASSES = ("", "scout", "sniper", "soldier", "demoman", "medic", "heavyweapons", "pyro", "spy", "engineer")
MEDIC, ENGINEER = 5, 9
UBERCHARGED, GHOST, KART = 5, 77, 82


Value = int | float | str | bool
"""A field of an event."""


def opponent(side: int) -> int:
    """The other side."""
    return RED + BLU - side


class State(IntEnum):
    """`gamerules_roundstate_t`."""

    INIT = 0
    PREGAME = 1
    STARTGAME = 2
    PREROUND = 3
    RUNNING = 4
    TEAM_WIN = 5
    RESTART = 6
    STALEMATE = 7
    GAME_OVER = 8
    BETWEEN_ROUNDS = 10


class Reason(IntEnum):
    """Why a round ended (`teamplayroundbased_gamerules.h`)."""

    POINTS_CAPTURED = 1
    OPPONENTS_DEAD = 2
    FLAG_CAPTURE_LIMIT = 3
    DEFENDED = 4
    STALEMATE = 5
    TIME_LIMIT = 6
    WIN_LIMIT = 7
    WIN_DIFFERENCE = 8
    REACTORS_CAPTURED = 9
    CORES_COLLECTED = 10
    REACTOR_RETURNED = 11
    PLAYER_DESTRUCTION_POINTS = 12
    SCORED = 13


_PANEL_SCORES = "winning_team winreason cappers blue_score red_score blue_score_prev red_score_prev"
_PANEL_PLAYERS = " ".join(f"player_{n} player_{n}_points" for n in range(1, 7))
_ARENA_PLAYERS = " ".join(
    f"player_{n} player_{n}_damage player_{n}_healing player_{n}_lifetime player_{n}_kills" for n in range(1, 7)
)
_FIELDS = {
    "teamplay_round_win": "team winreason full_round round_time was_sudden_death flagcaplimit losing_team_num_caps",
    "teamplay_round_start": "full_reset",
    "teamplay_round_active": "",
    "teamplay_round_stalemate": "reason",
    "teamplay_restart_round": "",
    "teamplay_ready_restart": "",
    "tournament_stateupdate": "userid namechange readystate newname oldname",
    "teamplay_setup_finished": "",
    "teamplay_game_over": "reason",
    "tf_game_over": "reason",
    "teamplay_round_restart_seconds": "seconds",
    "teamplay_round_selected": "round",
    "teamplay_pre_round_time_left": "time",
    "teamplay_timer_time_added": "timer seconds_added",
    "teamplay_update_timer": "",
    "teamplay_map_time_remaining": "seconds",
    "teamplay_win_panel": f"panel_style {_PANEL_SCORES} flagcaplimit round_complete rounds_remaining game_over"
    f" killstreak_player_1 killstreak_player_1_count {_PANEL_PLAYERS}",
    "arena_win_panel": f"panel_style {_PANEL_SCORES} {_ARENA_PLAYERS}",
    "pve_win_panel": "panel_style winning_team winreason",
    "arena_round_start": "",
    "arena_match_maxstreak": "team streak",
    "teamplay_point_captured": "cp cpname team cappers priority",
    "teamplay_point_startcapture": "cp cpname team capteam cappers captime priority",
    "teamplay_capture_blocked": "cp cpname blocker priority victim",
    "teamplay_capture_broken": "cp cpname time_remaining",
    "teamplay_point_locked": "cp cpname team",
    "teamplay_point_unlocked": "cp cpname team",
    "controlpoint_starttouch": "player area",
    "controlpoint_endtouch": "player area",
    "teamplay_flag_event": "player carrier eventtype home team priority",
    "ctf_flag_captured": "capping_team capping_team_score capper priority",
    "payload_pushed": "pusher distance",
    "overtime_nag": "",
    "player_turned_to_ghost": "userid",
    "mvm_begin_wave": "wave_index max_waves advanced",
    "mvm_wave_complete": "advanced",
    "mvm_wave_failed": "",
    "scorestats_accumulated_update": "",
    "scorestats_accumulated_reset": "",
    "stats_resetround": "",
    "recalculate_holidays": "",
    "teamplay_teambalanced_player": "player team",
    "teamplay_alert": "alert_type",
    "player_hurt": "userid health priority damageamount attacker custom showdisguisedcrit crit minicrit allseecrit"
    " bonuseffect weaponid",
    "player_healed": "priority patient healer amount",
    "player_death": "userid victim_entindex attacker assister weapon weapon_logclassname weaponid damagebits customkill"
    " inflictor_entindex priority playerpenetratecount assister_fallback silent_kill death_flags stun_flags crit_type"
    " rocket_jump kill_streak_total kill_streak_wep kill_streak_assist kill_streak_victim duck_streak_total"
    " duck_streak_assist duck_streak_victim ducks_streaked",
    "player_domination": "dominator dominated dominations",
    "remove_nemesis_relationships": "player",
    "player_initial_spawn": "index",
    "player_spawn": "userid team class",
    "player_team": "userid team oldteam disconnect autoteam silent name",
    "player_changeclass": "userid class",
    "player_changename": "userid oldname newname",
    "player_connect": "name index userid networkid address bot",
    "player_connect_client": "name index userid networkid bot",
    "player_activate": "userid",
    "player_disconnect": "userid reason name networkid bot",
    "player_say": "userid text priority",
    "player_builtobject": "userid object index",
    "player_chargedeployed": "userid targetid",
    "object_removed": "userid objecttype index",
    "object_detonated": "userid objecttype index",
    "player_score_changed": "player delta",
    "object_destroyed": "userid assister attacker weapon weapon_logclassname weaponid priority objecttype index"
    " was_building team",
    "post_inventory_application": "userid",
    "server_cvar": "cvarname cvarvalue",
    "vote_started": "issue param1 team initiator",
    # Defined in the resource file, but no server code fires them.
    "teamplay_waiting_begins": "",
    "teamplay_waiting_ends": "",
    "teamplay_waiting_abouttoend": "",
    "teamplay_overtime_begin": "",
    "teamplay_overtime_end": "",
    "teamplay_team_score": "team score",
    "teamplay_suddendeath_begin": "",
    "teamplay_suddendeath_end": "",
}
EVENTS = {name: frozenset(fields.split()) for name, fields in _FIELDS.items()}
"""Every event that may be hooked, with its fields."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A map's facts for the game. `game_type`: what `CTFGameRules::Activate` (tf_gamerules.cpp) makes of its entities.

    `owners` are the control points' owners at the start of a full round, `stages` the points of each mini-round;
    `setup` and `length` are the seconds of its timer; with `carries_time` (its key `reset_time` is 0) what is left of
    one stage is the time of the next. `unlock`: seconds until the hill, or arena's point, may be captured (the keys
    unlock_point and CapEnableDelay of their logic). `switch_sides`: its winning entity says so. `timed_stalemate`:
    the map told the rules that its rounds may end at `mp_timelimit` (input SetStalemateOnTimelimit of tf_gamerules).
    """

    game_type: int
    owners: tuple[int, ...] = ()
    setup: int = 0
    length: int = 0
    koth: bool = False
    trains: bool = False
    flags: bool = False
    switch_sides: bool = False
    stages: tuple[tuple[int, ...], ...] = ()
    timed_stalemate: bool = False
    carries_time: bool = False
    unlock: int = 0
    special_delivery: bool = False
    training: bool = False
    powerup: bool = False
    medieval: bool = False
    hybrid: bool = False
    holiday: int = 0

    @property
    def arena(self) -> bool:
        """Arena: one life, no respawns."""
        return self.game_type == 4

    @property
    def mvm(self) -> bool:
        """Mann vs Machine."""
        return self.game_type == 5

    @property
    def passtime(self) -> bool:
        """Passtime: scores are counted like flag captures."""
        return self.game_type == 7

    @property
    def mini_rounds(self) -> bool:
        """Whether a full round is played in stages."""
        return bool(self.stages)

    @property
    def attack_defend(self) -> bool:
        """BLU attacks against the clock and RED defends."""
        return self.switch_sides


ARENA = Mode(4, owners=(UNASSIGNED,), unlock=60)
ATTACK_DEFEND = Mode(2, owners=(RED, RED), setup=60, length=300, switch_sides=True)
STAGED_ATTACK_DEFEND = Mode(
    2, owners=(RED,) * 6, setup=60, length=300, switch_sides=True, stages=((0, 1), (2, 3), (4, 5))
)
PAYLOAD = Mode(3, owners=(RED,) * 3, setup=60, length=300, switch_sides=True)
STAGED_PAYLOAD = Mode(3, owners=(RED,) * 4, setup=60, length=300, switch_sides=True, stages=((0, 1), (2, 3)))
KOTH = Mode(2, owners=(UNASSIGNED,), length=180, koth=True, unlock=30)
FIVE_POINTS = Mode(2, owners=(RED, RED, UNASSIGNED, BLU, BLU), length=600)
TERRITORIAL = Mode(2, owners=(RED, BLU, RED, BLU), stages=((0, 1), (2, 3)))
CTF = Mode(1, flags=True, timed_stalemate=True)
PAYLOAD_RACE = Mode(3, trains=True)
SPECIAL_DELIVERY = Mode(0, flags=True, special_delivery=True)
PLAYER_DESTRUCTION = Mode(8, length=600)
PASSTIME = Mode(7, length=900)
MANNPOWER = Mode(1, flags=True, powerup=True, timed_stalemate=True)
TRAINING = Mode(2, owners=(RED, RED), switch_sides=True, training=True)
MVM = Mode(5)

MAPS = {
    "arena_well": ARENA,
    "arena_badlands": ARENA,
    "cp_gorge": ATTACK_DEFEND,
    "cp_dustbowl": STAGED_ATTACK_DEFEND,
    "pl_upward": PAYLOAD,
    "pl_goldrush": STAGED_PAYLOAD,
    "koth_harvest_final": KOTH,
    "cp_badlands": FIVE_POINTS,
    "tc_hydro": TERRITORIAL,
    "ctf_2fort": CTF,
    "ctf_foundry": MANNPOWER,
    "plr_hightower": PAYLOAD_RACE,
    "sd_doomsday": SPECIAL_DELIVERY,
    "pd_watergate": PLAYER_DESTRUCTION,
    "pass_brickyard": PASSTIME,
    "tr_dustbowl": TRAINING,
    "mvm_coaltown": MVM,
}
"""The maps the rig knows; a test may run any other name with a mode of its own."""
