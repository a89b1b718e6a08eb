"""A client: a human, a bot or SourceTV."""

from .entities import Entity, Prop
from .facts import ALIVE, CLASSES, DEAD, GHOST, KART, MEDIC, UNASSIGNED

CONDITION_WORDS = ("m_nPlayerCond", "m_nPlayerCondEx", "m_nPlayerCondEx2", "m_nPlayerCondEx3", "m_nPlayerCondEx4")
MAX_HEALTH = (0, 125, 125, 200, 175, 150, 300, 175, 125, 125)
FIRST_STEAMID = 76561197960265728


def _props() -> dict[str, Prop]:
    return {
        "m_iTeamNum": UNASSIGNED, "m_lifeState": DEAD, "m_iClass": 0, "m_iDesiredPlayerClass": 0, "m_iHealth": 0,
        "m_iMaxHealth": 125, "m_iFrags": 0, "m_iDeaths": 0, "m_hItem": -1, "m_hActiveWeapon": -1, "_condition_bits": 0,
        "m_bArenaSpectator": 0, "m_iObserverMode": 0, "m_bIsCoaching": 0, "m_hMyWeapons": [-1] * 48,
        **dict.fromkeys(CONDITION_WORDS, 0),
    }  # fmt: skip


class Player(Entity):
    """A client in a slot. `chat`, `console`, `hints`, `center`, `panels`: what he was shown."""

    def __init__(self, index: int, userid: int, name: str, steamid: int, *, bot: bool = False) -> None:
        super().__init__(index, "player", "CTFPlayer", **_props())
        self.userid, self.name, self.steamid, self.bot = userid, name, steamid, bot
        self.source_tv = False
        self.language = "en"
        self.flags = self.immunity = 0
        self.in_game = self.authorized = False
        self.connected_at = 0.0
        self.kicked: str | None = None
        self.duel = False
        self.suicides = self.score = 0
        self.spawned_as = UNASSIGNED
        self.respawn_at: float | None = None
        self.weapons: dict[int, Entity] = {}
        self.buildings: list[Entity] = []
        self.chat: list[str] = []
        self.console: list[str] = []
        self.hints: list[str] = []
        self.center: list[str] = []
        self.panels: list[str] = []

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
    def alive(self) -> bool:
        """What IsPlayerAlive says."""
        return self.props["m_lifeState"] == ALIVE

    @property
    def dead(self) -> bool:
        """What the engine's IsDead says: not quite the opposite of `alive`."""
        return self.props["m_lifeState"] == DEAD

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
        """Alive in the colours of a team he has left: somebody moved him and forgot to respawn him."""
        return self.alive and self.spawned_as != self.team

    @property
    def desired_class(self) -> int:
        """The class he will spawn as; 0: none chosen yet."""
        return self._int("m_iDesiredPlayerClass")

    @property
    def stuck(self) -> bool:
        """A Halloween ghost or kart: the engine ignores team changes."""
        return self.has_condition(GHOST) or self.has_condition(KART) or bool(self.props["m_bIsCoaching"])

    @property
    def steam2(self) -> str:
        """The old form of the SteamID."""
        account = self.steamid - FIRST_STEAMID
        return "BOT" if self.bot else f"STEAM_0:{account & 1}:{account >> 1}"

    @property
    def charge(self) -> float:
        """Übercharge of his medigun, 0–1."""
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
        """Set the class he wants."""
        self.props["m_iDesiredPlayerClass"] = CLASSES.index(name)

    def become_alive(self) -> None:
        """Spawn as the class he wants."""
        wanted = self.desired_class
        self.props |= {"m_lifeState": ALIVE, "m_iClass": wanted, "m_iHealth": MAX_HEALTH[wanted]}
        self.props["m_iMaxHealth"] = MAX_HEALTH[wanted]
        self.spawned_as, self.respawn_at = self.team, None

    def has_condition(self, condition: int) -> bool:
        """Whether he is in a TFCond."""
        word, bit = divmod(condition, 32)
        return bool(self._int(CONDITION_WORDS[word]) >> bit & 1)

    def set_condition(self, condition: int, present: bool) -> None:
        """Put him in a TFCond or take him out."""
        word, bit = divmod(condition, 32)
        bits = self._int(CONDITION_WORDS[word]) & ~(1 << bit) | present << bit
        self.props[CONDITION_WORDS[word]] = bits

    def reset(self) -> None:
        """A new map: team, class and scores are gone."""
        self.props = _props()
        self.weapons.clear()
        self.buildings.clear()
        self.spawned_as, self.respawn_at = UNASSIGNED, None
        self.suicides = self.score = 0
        self.in_game = self.authorized = False

    def _int(self, prop: str) -> int:
        value = self.props[prop]
        assert isinstance(value, int)
        return value
