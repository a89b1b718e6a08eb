"""What the engine defines: teams, round states, win reasons, events with their fields, game modes by map."""

from dataclasses import dataclass
from enum import IntEnum

UNASSIGNED, SPECTATOR, RED, BLU = range(4)
SIDES = (RED, BLU)
ALIVE, DYING, DEAD = range(3)
CLASSES = ("", "scout", "sniper", "soldier", "demoman", "medic", "heavyweapons", "pyro", "spy", "engineer")
MEDIC = 5
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


_FIELDS = {
    "teamplay_round_win": "team winreason full_round round_time was_sudden_death flagcaplimit losing_team_num_caps",
    "teamplay_round_start": "full_reset",
    "teamplay_round_active": "",
    "teamplay_round_stalemate": "reason",
    "teamplay_restart_round": "",
    "teamplay_setup_finished": "",
    "teamplay_game_over": "reason",
    "tf_game_over": "reason",
    "teamplay_win_panel": "panel_style winning_team winreason cappers flagcaplimit blue_score red_score"
    " blue_score_prev red_score_prev round_complete",
    "arena_win_panel": "panel_style winning_team winreason cappers blue_score red_score blue_score_prev red_score_prev",
    "pve_win_panel": "panel_style winning_team winreason",
    "arena_round_start": "",
    "arena_match_maxstreak": "team streak",
    "teamplay_point_captured": "cp cpname team cappers priority",
    "teamplay_point_startcapture": "cp cpname team capteam cappers captime",
    "teamplay_capture_blocked": "cp cpname blocker victim",
    "teamplay_flag_event": "player carrier eventtype home team",
    "ctf_flag_captured": "capping_team capping_team_score capper",
    "teamplay_teambalanced_player": "player team",
    "teamplay_alert": "alert_type",
    "player_hurt": "userid attacker health damageamount custom crit minicrit weaponid",
    "player_healed": "patient healer amount",
    "player_death": "userid attacker assister victim_entindex inflictor_entindex weapon weaponid damagebits customkill"
    " death_flags silent_kill",
    "player_spawn": "userid team class",
    "player_team": "userid team oldteam disconnect autoteam silent name",
    "player_changeclass": "userid class",
    "player_changename": "userid oldname newname",
    "player_connect": "name index userid networkid address bot",
    "player_connect_client": "name index userid networkid bot",
    "player_activate": "userid",
    "player_disconnect": "userid reason name networkid bot",
    "player_say": "userid text",
    "player_builtobject": "userid object index",
    "player_chargedeployed": "userid targetid",
    "object_destroyed": "userid attacker objecttype index",
    "post_inventory_application": "userid",
    "server_cvar": "cvarname cvarvalue",
    "vote_started": "issue param1 team initiator",
    # Defined in the resource file, but no server code fires them.
    "teamplay_waiting_begins": "",
    "teamplay_waiting_ends": "",
    "teamplay_suddendeath_begin": "",
    "teamplay_suddendeath_end": "",
}
EVENTS = {name: frozenset(fields.split()) for name, fields in _FIELDS.items()}
"""Every event that may be hooked, with its fields."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A game mode's facts. `owners` are the control points' owners at the start, times are seconds."""

    game_type: int
    owners: tuple[int, ...] = ()
    setup: float = 0.0
    length: float = 0.0
    koth: bool = False
    trains: bool = False
    flags: bool = False
    switch_sides: bool = False
    mini_rounds: bool = False

    @property
    def arena(self) -> bool:
        """Arena: one life, no respawns."""
        return self.game_type == 4

    @property
    def mvm(self) -> bool:
        """Mann vs Machine."""
        return self.game_type == 5

    @property
    def attack_defend(self) -> bool:
        """BLU attacks against the clock and RED defends."""
        return self.switch_sides


ARENA = Mode(4, owners=(UNASSIGNED,))
ATTACK_DEFEND = Mode(2, owners=(RED, RED), setup=60, length=300, switch_sides=True)
STAGED_ATTACK_DEFEND = Mode(2, owners=(RED,) * 6, setup=60, length=300, switch_sides=True, mini_rounds=True)
PAYLOAD = Mode(3, owners=(RED,) * 3, setup=60, length=300, switch_sides=True)
KOTH = Mode(2, owners=(UNASSIGNED,), length=180, koth=True)
FIVE_POINTS = Mode(2, owners=(RED, RED, UNASSIGNED, BLU, BLU), length=600)
TERRITORIAL = Mode(2, owners=(RED, BLU, RED, BLU), mini_rounds=True)
CTF = Mode(1, flags=True)
PAYLOAD_RACE = Mode(3, trains=True)
SPECIAL_DELIVERY = Mode(0, flags=True)
MVM = Mode(5)

MAPS = {
    "arena_well": ARENA,
    "arena_badlands": ARENA,
    "cp_gorge": ATTACK_DEFEND,
    "cp_dustbowl": STAGED_ATTACK_DEFEND,
    "pl_upward": PAYLOAD,
    "koth_harvest_final": KOTH,
    "cp_badlands": FIVE_POINTS,
    "tc_hydro": TERRITORIAL,
    "ctf_2fort": CTF,
    "plr_hightower": PAYLOAD_RACE,
    "sd_doomsday": SPECIAL_DELIVERY,
    "mvm_coaltown": MVM,
}
"""The maps the rig knows; a test may run any other name with a mode of its own."""
