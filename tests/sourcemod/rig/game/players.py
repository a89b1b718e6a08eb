"""A client: a human, a bot or SourceTV."""

from collections.abc import Callable
from enum import IntEnum

from .entities import Entity, Prop
from .facts import ALIVE, CLASSES, DEAD, GHOST, KART, MEDIC, SIDES, SPECTATOR, UNASSIGNED

CONDITION_WORDS = ("m_nPlayerCond", "m_nPlayerCondEx", "m_nPlayerCondEx2", "m_nPlayerCondEx3", "m_nPlayerCondEx4")
MAX_HEALTH = (0, 125, 125, 200, 175, 150, 300, 175, 125, 125)
PLACES = 102
"""MAX_PLAYERS_ARRAY_SAFE (const.h)."""
FIRST_STEAMID = 76561197960265728
SCORE_FIELDS = (
    "m_iCaptures", "m_iDefenses", "m_iKills", "m_iDeaths", "m_iSuicides", "m_iDominations", "m_iRevenge",
    "m_iBuildingsBuilt", "m_iBuildingsDestroyed", "m_iHeadshots", "m_iBackstabs", "m_iHealPoints", "m_iInvulns",
    "m_iTeleports", "m_iDamageDone", "m_iCrits", "m_iResupplyPoints", "m_iKillAssists", "m_iBonusPoints", "m_iPoints",
)  # fmt: skip
"""The networked fields of either table, in order (DT_TFPlayerScoringDataExclusive, tf_player_shared.cpp)."""


class ObserverMode(IntEnum):
    """`m_iObserverMode` (shareddefs.h)."""

    NONE = 0
    DEATHCAM = 1
    FIXED = 3
    CHASE = 5


class Phase(IntEnum):
    """`m_nPlayerState` (`TF_STATE_*`, tf_shareddefs.h): what the player's own state machine is doing."""

    ACTIVE = 0
    WELCOME = 1
    OBSERVER = 2
    DYING = 3


def _props() -> dict[str, Prop]:
    # The constructor of CTFPlayer starts players dead; StateEnterWELCOME puts them before the intro camera.
    return {
        "m_iTeamNum": UNASSIGNED, "m_lifeState": DEAD, "m_iClass": 0, "m_iDesiredPlayerClass": 0, "m_iHealth": 0,
        "m_iMaxHealth": 125, "m_iFrags": 0, "m_iDeaths": 0, "m_hItem": -1, "m_hActiveWeapon": -1, "_condition_bits": 0,
        "m_bArenaSpectator": 0, "m_iObserverMode": ObserverMode.FIXED, "m_hObserverTarget": -1,
        "m_bIsCoaching": 0, "m_hMyWeapons": [-1] * 48,
        "m_bHasPasstimeBall": 0,
        "m_nPlayerState": Phase.WELCOME, "m_hStudent": -1, "m_hCoach": -1, **dict.fromkeys(CONDITION_WORDS, 0),
        **dict.fromkeys(SCORE_FIELDS, 0), "m_bPlayerDominated": [0] * PLACES, "m_bPlayerDominatingMe": [0] * PLACES,
    }  # fmt: skip


class Player(Entity):
    """A client in a slot. `chat`, `console`, `hints`, `center`, `panels`: what they were shown.

    `quota_bot`: a bot that `tf_bot_quota` brought. Set `idle` for somebody whose hands left the keyboard: the clocks of
    `CheckForIdle` run only for them.
    """

    def __init__(self, index: int, userid: int, name: str, steamid: int, *, bot: bool = False) -> None:
        super().__init__(index, "player", "CTFPlayer", **_props())
        self.userid, self.name, self.steamid, self.bot = userid, name, steamid, bot
        self.source_tv = self.quota_bot = False
        self.class_comes_unasked: Callable[[], bool] = lambda: False
        self.language = "en"
        self.flags = self.immunity = 0
        self.in_game = self.authorized = False
        self.connected_at = 0.0
        self.kicked: str | None = None
        self.idle = self.autokick_disabled = False
        self.chat: list[str] = []
        self.console: list[str] = []
        self.hints: list[str] = []
        self.center: list[str] = []
        self.panels: list[str] = []
        self._clear()

    def _clear(self) -> None:
        self.props = _props()
        self.duel = self.disconnecting = False
        self.suicides = 0
        self.spawned_as = UNASSIGNED
        self.instant_spawn = self.menu_open = self.in_spawn_room = False
        self.died_at: float | None = None
        self.force_switched_at: float | None = None
        self.charge_preserved = 0.0
        self.next_jointeam = self.next_joinclass = self.next_suicide = 0.0
        self.command_times: dict[str, float] = {}
        self.last_action = 0.0
        self.in_spawn_room_since: float | None = None
        self.watched: Player | None = None
        self.map_stats: dict[str, int] = {}
        self.round_stats: dict[str, int] = {}
        self.shown_scores: dict[str, dict[str, int]] = {"m_ScoreData": {}, "m_RoundScoreData": {}}
        self.shown_row: tuple[object, ...] = ()
        self.scores_changed = True
        self.weapons: dict[int, Entity] = {}
        self.buildings: list[Entity] = []

    def __repr__(self) -> str:
        return f"<{self.name} #{self.index} team {self.team}>"

    @property
    def team(self) -> int:
        """0 unassigned, 1 spectator, 2 RED, 3 BLU."""
        return self._int("m_iTeamNum")

    @team.setter
    def team(self, team: int) -> None:
        self.props["m_iTeamNum"] = team

    @property
    def phase(self) -> Phase:
        """Where the player's state machine stands."""
        return Phase(self._int("m_nPlayerState"))

    @phase.setter
    def phase(self, phase: Phase) -> None:
        self.props["m_nPlayerState"] = phase

    @property
    def alive(self) -> bool:
        """What IsPlayerAlive says."""
        return self.props["m_lifeState"] == ALIVE

    @property
    def dead(self) -> bool:
        """`CBasePlayer::IsDead` (player.cpp): exactly `m_lifeState` 2, so the dying are neither alive nor dead."""
        return self.props["m_lifeState"] == DEAD

    @property
    def ready(self) -> bool:
        """`CTFPlayer::IsReadyToPlay` (tf_player.cpp): on a side, with a class chosen or one that arena will force."""
        props = self.props  # read directly: every frame asks this of everybody
        return props["m_iTeamNum"] in SIDES and (props["m_iDesiredPlayerClass"] != 0 or self.class_comes_unasked())

    @property
    def arena_spectator(self) -> bool:
        """Whether they asked to only watch arena: `jointeam spectatearena`."""
        return self.team == SPECTATOR and bool(self.props["m_bArenaSpectator"])

    @property
    def deaths(self) -> int:
        """Deaths on the scoreboard."""
        return self._int("m_iDeaths")

    @property
    def frags(self) -> int:
        """Kills."""
        return self._int("m_iFrags")

    @property
    def health(self) -> int:
        """Health points."""
        return self._int("m_iHealth")

    @property
    def misplaced(self) -> bool:
        """Alive in the colours of a team they have left: a plugin moved them without a respawn."""
        return self.alive and self.spawned_as != self.team

    @property
    def current_class(self) -> int:
        """The class they play; 0: none yet."""
        return self._int("m_iClass")

    @property
    def desired_class(self) -> int:
        """The class they will spawn as; 0: none chosen yet."""
        return self._int("m_iDesiredPlayerClass")

    @property
    def coaching(self) -> bool:
        """Whether they coach another player."""
        return bool(self.props["m_bIsCoaching"])

    @coaching.setter
    def coaching(self, coaching: bool) -> None:
        self.props["m_bIsCoaching"] = int(coaching)

    @property
    def transformed(self) -> bool:
        """A Halloween ghost or kart, for whom `ChangeTeam` and `CommitSuicide` do nothing (tf_player.cpp)."""
        return self.has_condition(GHOST) or self.has_condition(KART)

    @property
    def steam2(self) -> str:
        """The old form of the SteamID."""
        account = self.steamid - FIRST_STEAMID
        return "BOT" if self.bot else f"STEAM_0:{account & 1}:{account >> 1}"

    @property
    def charge(self) -> float:
        """Übercharge of their medigun, 0–1."""
        medigun = self.weapons.get(1)
        return float(medigun.props["m_flChargeLevel"]) if medigun else 0.0  # type: ignore[arg-type]

    @charge.setter
    def charge(self, level: float) -> None:
        assert self.props["m_iClass"] == MEDIC, f"{self.name} is no medic"
        self.weapons[1].props["m_flChargeLevel"] = level

    @property
    def serial_number(self) -> int:
        """What GetClientSerial gives: never the same for two connections."""
        return self.userid << 8 | self.index

    def choose(self, name: str) -> None:
        """Set the class they want."""
        self.props["m_iDesiredPlayerClass"] = CLASSES.index(name)

    def come_alive(self) -> None:
        """Become the class they want, with its health."""
        wanted = self.desired_class
        self.props |= {"m_lifeState": ALIVE, "m_iClass": wanted, "m_iHealth": MAX_HEALTH[wanted]}
        self.props |= {"m_iMaxHealth": MAX_HEALTH[wanted], "m_iObserverMode": ObserverMode.NONE}
        self.spawned_as = self.team

    def has_condition(self, condition: int) -> bool:
        """Whether they are in a TFCond."""
        word, bit = divmod(condition, 32)
        return bool(self._int(CONDITION_WORDS[word]) >> bit & 1)

    def set_condition(self, condition: int, present: bool) -> None:
        """Put them in a TFCond or take them out."""
        word, bit = divmod(condition, 32)
        bits = self._int(CONDITION_WORDS[word]) & ~(1 << bit) | present << bit
        self.props[CONDITION_WORDS[word]] = bits

    def remove_conditions(self) -> None:
        """`CTFPlayerShared::RemoveAllCond`."""
        self.props |= dict.fromkeys(CONDITION_WORDS, 0)

    def may_command(self, name: str, now: float) -> bool:
        """`ShouldRunRateLimitedCommand` (basemultiplayerplayer.cpp): each command once in 0.3 s (COMMAND_MAX_RATE)."""
        last = self.command_times.get(name)
        if last is not None and now - last < 0.3:
            return False
        self.command_times[name] = now
        return True

    def patient(self) -> None:
        """Forget the limits on how often they may choose a team or a class: they have waited."""
        self.next_jointeam = self.next_joinclass = 0.0
        self.command_times.clear()

    def reset(self) -> None:
        """A new map: team, class and scores are gone."""
        self._clear()
        self.in_game = self.authorized = False

    def _int(self, prop: str) -> int:
        value = self.props[prop]
        assert isinstance(value, int)
        return value
