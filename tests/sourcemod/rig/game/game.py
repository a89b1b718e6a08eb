"""The fake server: a clock that tests step, clients that come and go, a map, and SourceMod on top."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from ..plugin import Plugin
from ..sm.commands import HANDLED
from ..sm.events import Event
from ..sourcemod import SourceMod
from . import connections
from .arena import Arena
from .autobalance import Autobalance
from .ballots import Ballots
from .clocks import Clocks
from .entities import Entities, Entity
from .facts import EVENTS, MAPS, SPECTATOR, UNASSIGNED, Mode, Reason, Value
from .flags import Flags
from .joining import join_class, obey
from .limits import Limits
from .mannpower import Mannpower
from .mvm import Waves
from .players import FIRST_STEAMID, Player
from .points import Points
from .restarts import Restarts
from .rounds import Rounds
from .scenery import Scenery
from .sides import Sides
from .teams import Teams
from .tournament import COMMANDS, Tournament
from .waiting import Waiting

TICK = 0.015
EPOCH = 1_763_622_000


class Game:
    """A Team Fortress 2 server in `folder`. Times are seconds: `now` since its start, `map_time` on this map.

    `history` holds every event that reached clients or plugins: (now, name, fields). `forwards_seen`: whether
    SourceMod's detour catches the game's calls for Waiting For Players, which no source can say. `hibernates`: an
    empty server stops its game (`tf_allow_server_hibernation`, on by default), but SourceMod's frames go on (1.11 and
    later, sourcemod pull request 1540). `map_cycle`: what is played after a map that is over; without it the game
    stays there.
    """

    tick = TICK
    epoch = EPOCH

    def __init__(
        self, folder: Path, *, slots: int = 24, ripext: bool = True, forwards_seen: bool = True,
        hibernates: bool = False,
    ) -> None:  # fmt: skip
        self.slots, self.forwards_seen, self.hibernates = slots, forwards_seen, hibernates
        self.now, self.map_time = 100.0, 0.0
        self.map, self.mode, self.running = "", Mode(0), False
        self.players: dict[int, Player] = {}
        self.entities = Entities(slots)
        self.rules = Entity(0, "tf_gamerules", "CTFGameRulesProxy")
        self.objective: Entity | None = None
        self.history: list[tuple[float, str, dict[str, Value]]] = []
        self.said: list[tuple[str, str]] = []
        self.server_cfg: dict[str, str] = {}
        self.command_line: dict[str, str] = {}
        """What the server was started with: `+name` and the word behind it."""
        self.map_cycle: list[str] = []
        self.outputs: list[Callable[[], object]] = []
        """What the map's entities have fired in this frame: it acts at the frame's end."""
        self._next_map: str | None = None
        self._userids = iter(range(2, 1 << 20))
        root = folder / "addons" / "sourcemod"
        root.mkdir(parents=True, exist_ok=True)
        self.sm = SourceMod(self, root, ripext=ripext)
        self._start_rules()

    # Plugins.

    def load(self, path: Path, *, translations: Path | None = None) -> Plugin:
        """Load a compiled plugin; a late load if a map is running. LoadError if SourceMod would refuse it."""
        return self.sm.load(path, translations=translations)

    def unload(self, plugin: Plugin) -> None:
        """Unload a plugin."""
        self.sm.unload(plugin)

    def reload(self, plugin: Plugin) -> Plugin:
        """Unload a plugin and load its file again, in no time."""
        return self.sm.reload(plugin)

    def close(self) -> None:
        """Shut the server down: plugins end, threads end."""
        for plugin in list(self.sm.plugins):
            self.unload(plugin)
        self.sm.http.close()

    # The clock.

    def frame(self) -> None:
        """One game frame. SourceMod comes first: its hook of the game's GameFrame is a pre hook (sourcemod.cpp)."""
        if self._next_map is not None:
            name, self._next_map = self._next_map, None
            self.start_map(name)
        self.now += TICK
        asleep = self.hibernates and all(player.bot for player in self.players.values())
        self.map_time += TICK * (not asleep)
        self.sm.frame()
        if self.running and not asleep:
            # Entities think first (gameinterface.cpp, GameFrame), the rules after them, then the map's outputs act.
            self.clocks.think()
            self.points.think()
            self.rounds.think()
            self.autobalance.think()
            self.teams.think()
            outputs, self.outputs = self.outputs, []
            for output in outputs:
                output()

    def advance(self, seconds: float) -> None:
        """Run frames for `seconds` of game time."""
        for _ in range(max(math.ceil(seconds / TICK - 1e-6), 1)):
            self.frame()

    def until(self, condition: Callable[[], object], *, within: float = 120.0) -> None:
        """Run frames until `condition` holds; an AssertionError if it does not `within` seconds of game time."""
        end = self.now + within
        while not condition():
            assert self.now < end, f"not within {within} s of game time (state {self.rounds.state.name})"
            self.frame()

    def settle(self) -> None:
        """Run frames until no request is in flight: every answer has been delivered."""
        self.frame()
        self.until(lambda: not self.sm.http.flying, within=30.0)

    # Maps.

    def start_map(self, name: str, mode: Mode | None = None) -> None:
        """Start the first map, or change to another: OnClientDisconnect for all, OnMapEnd, OnMapStart, they return.

        Two frames pass until OnConfigsExecuted; those who return are there before it.
        """
        humans = self._end_map() if self.running else []
        if self.mode.mvm:  # ~CTFGameRules
            self.sm.convars["mp_tournament"].set("0")
        self.map, self.mode, self.map_time = name, mode or MAPS[name], 0.0
        self.entities.clear()
        self._start_rules()
        self.scenery.furnish()
        self.running = True
        self.sm.configs.load_map(name, arena=self.mode.arena)
        self.sm.start_map()
        for player in humans:
            self._return(player)
        self.until(lambda: self.sm.configs.executed)

    def change_level(self) -> None:
        """`ChangeLevel`: to `nextlevel`, else to the next of the cycle, in the next frame."""
        following = [*self.map_cycle, *self.map_cycle][self._place_in_cycle() :]
        self._next_map = self.text("nextlevel") or next(iter(following), None)
        self.sm.convars["nextlevel"].set("")

    def clean_up_map(self) -> None:
        """`CleanUpMap`: all entities of the map are made anew, so references to the old ones are dead."""
        self.clocks.clean_up()
        self.flags.clean_up()
        self.scenery.rebuild()
        self.outputs.clear()

    def number(self, convar: str) -> float:
        """A variable as a number."""
        return self.sm.convars[convar].number

    def text(self, convar: str) -> str:
        """A variable as a text."""
        return self.sm.convars[convar].value

    def _start_rules(self) -> None:
        """The game rules and their parts belong to one map."""
        self.teams, self.arena, self.sides = Teams(self), Arena(self), Sides(self)
        self.waiting, self.restarts, self.limits = Waiting(self), Restarts(self), Limits(self)
        self.clocks, self.points, self.flags = Clocks(self), Points(self), Flags(self)
        self.mvm, self.scenery, self.rounds = Waves(self), Scenery(self), Rounds(self)
        self.autobalance, self.mannpower = Autobalance(self), Mannpower(self)
        self.tournament = Tournament(self)
        self.ballots = Ballots(self)

    def _place_in_cycle(self) -> int:
        return self.map_cycle.index(self.map) + 1 if self.map in self.map_cycle else 0

    def _end_map(self) -> list[Player]:
        players = list(self.players.values())
        for player in players:
            self.sm.forward("OnClientDisconnect", player.index)
            del self.players[player.index]
            self.sm.forward("OnClientDisconnect_Post", player.index)
            player.reset()
        self.sm.forward("OnMapEnd")
        self.sm.native_votes.end_map()
        self.sm.timers.end_map()
        self.running = False
        return [player for player in players if not player.bot]

    # Clients.

    def in_game(self) -> Iterator[Player]:
        """Clients that have joined, by slot."""
        players = self.players
        return iter([player for i in sorted(players) if (player := players[i]).in_game])

    def humans(self) -> list[Player]:
        """Human clients that have joined, by slot."""
        return [player for player in self.in_game() if not player.bot]

    def connect(
        self,
        name: str,
        steamid: int | None = None,
        *,
        bot: bool = False,
        authorize: bool = True,
        source_tv: bool = False,
    ) -> Player:
        """A client connects and enters the game on no team; without `authorize` Steam has not answered yet."""
        index = next(i for i in range(1, self.slots + 1) if i not in self.players)
        userid = next(self._userids)
        player = Player(index, userid, name, (steamid or FIRST_STEAMID + 1000 + userid) if not bot else 0, bot=bot)
        player.connected_at = self.now
        player.source_tv = source_tv
        player.class_comes_unasked = self._forces_classes
        connections.enter(self, player)
        if authorize:
            self.authorize(player)
        return player

    def _forces_classes(self) -> bool:
        return self.arena.uses_queue and bool(self.number("tf_arena_force_class"))

    def authorize(self, player: Player) -> None:
        """Steam vouches for a client: OnClientAuthorized, then the admin checks, unless a plugin holds these back.

        PlayerManager.cpp, CPlayer::DoPostConnectAuthorization.
        """
        player.authorized = True
        self.sm.forward("OnClientAuthorized", player.index, "BOT" if player.bot else player.steam2)
        if self.sm.forward("OnClientPreAdminCheck", player.index) >= HANDLED:
            return
        self.sm.forward("OnClientPostAdminFilter", player.index)
        self.sm.forward("OnClientPostAdminCheck", player.index)

    def add(self, name: str, team: int | str = UNASSIGNED, cls: str = "soldier", steamid: int | None = None) -> Player:
        """A human connects and joins a side the way players do: `jointeam`, then a class."""
        player = self.connect(name, steamid)
        if team:
            self.join(player, team, cls)
        return player

    def add_bot(self, name: str, team: int, cls: str = "soldier", *, by_quota: bool = False) -> Player:
        """A bot on a side, of the server's `tf_bot_quota` or added by hand; no command announces it."""
        player = self.connect(name, bot=True)
        player.quota_bot = by_quota
        self.teams.change(player, team)
        join_class(self, player, cls)
        return player

    def add_source_tv(self) -> Player:
        """SourceTV takes a slot; SourceMod knows it before its forwards (PlayerManager.cpp, OnClientPutInServer)."""
        player = self.connect("SourceTV", bot=True, source_tv=True)
        player.team = SPECTATOR
        return player

    def join(self, player: Player, team: int | str, cls: str | None = None) -> None:
        """`jointeam red|blue|spectate|auto` and `joinclass`, by somebody who has waited out the game's limits."""
        player.patient()
        word = {1: "spectate", 2: "red", 3: "blue"}.get(team, team) if isinstance(team, int) else team
        self.command(player, f"jointeam {word}")
        if cls is not None:
            self.command(player, f"joinclass {cls}")

    def leave(self, player: Player, reason: str = "Disconnect by user.") -> None:
        """A client disconnects."""
        connections.leave(self, player, reason)

    def reconnect(self, player: Player) -> Player:
        """The same person comes back: new slot perhaps, new userid, same SteamID."""
        if player.index in self.players and self.players[player.index] is player:
            self.leave(player)
        return self.connect(player.name, player.steamid)

    def _return(self, player: Player) -> None:
        connections.enter(self, player)
        self.authorize(player)

    # Commands.

    def command(self, player: Player, line: str) -> None:
        """A client types `line` in their console."""
        self.sm.commands.from_client(player, line)

    def say(self, player: Player, text: str) -> None:
        """A client says something, perhaps a chat trigger."""
        self.command(player, f'say "{text}"')

    def rcon(self, line: str) -> list[str]:
        """The server's console executes `line`; what it prints."""
        return self.sm.commands.from_server(line)

    def client_command(self, player: Player, words: list[str]) -> None:
        """What the engine does with a client's command that nobody blocked."""
        if words[0] in COMMANDS:
            self.tournament.obey(player, words[0], words[1:] == ["1"])
        obey(self, player, words)

    def server_command(self, words: list[str]) -> None:
        """What the engine does with a server command that is no variable."""
        match words:
            case ["mp_scrambleteams", *rest]:
                self.restarts.scramble(keep_rounds=rest == ["2"])
            case ["mp_switchteams", *_]:
                self.restarts.switch()
            case ["mp_tournament_restart", *_]:
                self.tournament.restart()
            case ["mp_forcewin", *rest]:
                self._force_win(rest)
            case ["mp_disable_autokick", userid]:
                self.teams.idle.disable_autokick(int(userid))
            case ["changelevel" | "map", name, *_]:
                self._next_map = name
            case [name, *_] if name not in ("exec", "say", "heartbeat"):
                self.sm.print(f'Unknown command "{name}"')

    def chat(self, player: Player, text: str) -> None:
        """Chat that everybody sees."""
        self.said.append((player.name, text))

    def _force_win(self, words: list[str]) -> None:
        # mp_forcewin (teamplayroundbased_gamerules.cpp): without a team, that of the first player.
        first = self.players.get(1)
        team = int(words[0]) if words else first.team if first else UNASSIGNED
        reason = Reason.POINTS_CAPTURED if team else Reason.STALEMATE
        self.rounds.win(team, reason, switch=False)

    # Events.

    def fire(self, name: str, /, **fields: Value) -> bool:
        """The engine fires an event; False if a plugin blocked it."""
        unknown = fields.keys() - EVENTS[name]
        assert not unknown, f"{name} has no {unknown}"
        return self.sm.events.fire(Event(name, dict(fields)))

    def event_sent(self, event: Event) -> None:
        """An event was not blocked: it goes out."""
        self.history.append((self.now, event.name, dict(event.fields) | {"silenced": event.silent}))
        self.rounds.hear(event)

    def events(self, *names: str) -> list[str]:
        """Names of past events, in order; only those named, if any are."""
        return [name for _, name, _ in self.history if not names or name in names]
