"""A fake Natural Selection 2 server: the clock, the people, the network and the files under the tests' control."""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .clients import Client
from .files import Files
from .machine import Machine, from_lua, to_lua
from .network import Exchange, Network
from .switches import Switches

FRAME = 1 / 30
SETTINGS: dict[str, Any] = {
    "max_players": 24,
    "max_spectators": 0,
    "whitelisted": False,
    "server_name": "A fake server",
    "filler_bots": 0,
    "force_even_teams_on_join": True,
    "auto_team_balance": False,
    "end_round_on_team_unbalance": 0.4,
    "next_map": "ns2_tram",
    "map_minutes": 30,
    "respawn_seconds": 10,
    "tournament_mode": False,
    "nsl_match": False,
    "cheats": False,
    "rookie_only": False,
}


class Game:
    """A server with mods. `boot` starts it; time passes in `frame` and `run` only."""

    def __init__(
        self,
        mods: Iterable[Path | str] = (),
        *,
        shine: str = "none",
        nsl: bool = False,
        switches: dict[str, Any] | None = None,
        strict: bool = True,
        own: tuple[str, ...] = (),
        config: Path | None = None,
        cut: dict[str, int] | None = None,
    ) -> None:
        self.mods = [Path(mod) for mod in mods]
        self.switches = Switches(**(switches or {}))
        self.settings = dict(SETTINGS)
        """ServerConfig.json, read when a map loads: change it before `boot`, or one at a time by `setting`."""
        self.http = Network(self.switches)
        self.files = Files(config or self._temporary())
        self.messages: list[str] = []
        """Lines of the server's log."""
        self.errors: list[str] = []
        """Script errors, stale entities and unknown API: empty for a good mod."""
        self.states: list[str] = []
        """Game states in the order in which SetGameState took them, since the map began."""
        self.ends: list[int] = []
        """Winners of EndGame since the map began; 0 is a draw."""
        self.ranked = 0
        self.resets = 0
        self.admins: set[int] = set()
        """Account ids that ServerAdmin.json or Shine would let run every command."""
        self.clients: list[Client] = []
        self._system = float(int(time.time()))
        self.follows_real_time = False
        """The system clock runs at least as fast as real time."""
        self._real = time.monotonic()
        self.worst_frame = 0.0
        """Processor seconds of the slowest frame so far: a busy machine does not count. Set it to 0 to begin anew."""
        self._options: dict[str, Any] = {"shine": shine, "nsl": nsl, "strict": strict, "own": own, "cut": cut}
        self._clock = 0.0
        self._next_map: str | None = None
        self._machine: Machine | None = None

    # The virtual machine.

    @property
    def machine(self) -> Machine:
        if self._machine is None:
            raise RuntimeError("the server was not booted: call boot()")
        return self._machine

    @property
    def rig(self) -> Any:
        return self.machine.rig

    @property
    def map(self) -> str:
        return str(self.rig["map"])

    def boot(self, map_name: str = "ns2_veil", frames: int = 1) -> Game:
        """Load a map into a new virtual machine and run its first frame, in which the gamerules reset."""
        self.states, self.ends, self._clock, self._next_map = [], [], 0.0, None
        host = self._host()
        self._machine = Machine(map_name, self.mods, host, self.switches, self.settings, **self._options)
        self._machine.boot(self.system)
        for _ in range(frames):
            self.frame()
        return self

    def _host(self) -> dict[str, Callable[..., Any]]:
        return {
            "message": lambda text: self.messages.append(from_lua(text)),
            "fault": lambda text: self.errors.append(from_lua(text)),
            "script_error": lambda text: self.errors.append(from_lua(text)),
            "read": self.files.read,
            "append": self.files.append,
            "truncate": self.files.truncate,
            "send": self._send,
            "limit": lambda limit: setattr(self.http, "limit", int(limit)),
            "sent": self._sent,
            "disconnected": self._disconnected,
            "next_map": lambda name: setattr(self, "_next_map", str(name)),
            "is_admin": lambda account: account in self.admins,
            "state": lambda name: self.states.append(str(name)),
            "ranked": lambda: setattr(self, "ranked", self.ranked + 1),
            "ended": lambda winner, conceded: self.ends.append(int(winner)),
            "was_reset": lambda: setattr(self, "resets", self.resets + 1),
        }

    def _send(self, number: int, url: str, method: str, form: Any) -> None:
        fields = {str(key): str(value) for key, value in form.items()} if form is not None else None
        self.http.send(Exchange(number, url, method, fields, self.system))

    def _sent(self, index: int, name: str, fields: Any) -> None:
        for client in self.clients:
            if index == 0 or (client.connected and client.index == index):
                client.receive(name, fields)

    def _disconnected(self, index: int) -> None:
        for client in [each for each in self.clients if not each.connected]:
            client.handle = None
            self.gone(client)

    def execute(self, code: str) -> Any:
        """Run a chunk of Lua in the virtual machine, as a mod could; its values come back."""
        result = self.machine.lua.execute(to_lua(code))
        return tuple(map(from_lua, result)) if isinstance(result, tuple) else from_lua(result)

    # Time.

    @property
    def clock(self) -> float:
        """What Shared.GetTime() says."""
        return float(self.execute("return Shared.GetTime()"))

    @property
    def system(self) -> float:
        """The system clock: goes with the frames; set it as you like."""
        return self._system

    @system.setter
    def system(self, seconds: float) -> None:
        self._system = seconds
        if self._machine:
            self.rig["system"] = seconds

    def frame(self, dt: float = FRAME) -> None:
        """One frame: entities, hooks, and the answers of finished requests."""
        self._tick(dt)
        arrived = self.http.arrived(self.system)
        begun = time.thread_time()
        if self.switches.replies_before_frame:
            self._deliver(arrived)
        self.rig["Frame"](dt)
        if not self.switches.replies_before_frame:
            self._deliver(arrived)
        self.worst_frame = max(self.worst_frame, time.thread_time() - begun)
        self.http.start()
        if self._next_map:
            self.change_map(self._next_map)

    def _tick(self, dt: float) -> None:
        real = time.monotonic()
        passed = max(dt, real - self._real) if self.follows_real_time else dt
        self._real = real
        self._clock += dt
        self.system += passed
        self.rig["time"] = self._clock

    def _deliver(self, exchanges: list[Exchange]) -> None:
        for exchange in exchanges:
            self.rig["Deliver"](exchange.id, *(exchange.reply or ("",)))

    def run(self, seconds: float, dt: float = FRAME) -> None:
        """Frames for that much time of the system clock."""
        end = self.system + seconds - dt / 2
        while self.system < end:
            self.frame(dt)

    def until(self, condition: Callable[[], object], limit: float = 60.0) -> None:
        """Frames until the condition holds; an error names what the server said if it does not in `limit` seconds."""
        end = self.system + limit
        while not condition():
            if self.system > end:
                raise AssertionError(f"did not hold in {limit} s; log: {self.messages[-5:]}, errors: {self.errors}")
            self.frame()

    def pause(self) -> None:
        """NSL's pause: the game's clock and the entities stand still, UpdateServer and the system clock go on."""
        self._nsl("Pause")

    def unpause(self) -> None:
        self._nsl("Unpause")

    def _nsl(self, name: str) -> None:
        if not self._options["nsl"]:
            raise RuntimeError("pauses are NSL's: Game(nsl=True)")
        self.machine.call(name)

    def change_map(self, map_name: str) -> None:
        """The virtual machine goes without an event; the same people connect to the new one."""
        people = list(self.clients)
        if self.switches.disconnect_at_map_change:
            for client in people:
                self.machine.call("Disconnect", client.handle)
        self.http.map_changes()
        self.clients = []
        self.boot(map_name, frames=0)
        for client in people:
            self.enter(client)
        self.frame()

    # People.

    def connect(self, account_id: int, name: str | None = None, **fields: Any) -> Client:
        """A person connects and stands in the ready room.

        `unknown_for` seconds their id is 0 (Steam has not answered); `skill` is the official one, with its offset
        and the skill as a commander, `tier` what the scoreboard makes of it; who is `untaught` played no tutorial.
        """
        client = Client(self, account_id, name or f"Player {account_id}")
        self.enter(client, **fields)
        return client

    def enter(
        self,
        client: Client,
        *,
        unknown_for: float = 0.0,
        skill: int = -1,
        skill_offset: int = 0,
        commander_skill: int | None = None,
        tier: int = -1,
        untaught: bool = False,
    ) -> None:
        known = {"userId": client.account_id, "virtual": False, "name": to_lua(client.name)}
        fields = {**known, "skill": skill, "skill_offset": skill_offset, "tier": tier, "untaught": untaught}
        if commander_skill is not None:
            fields["commander_skill"] = commander_skill
        if unknown_for:
            fields["known_at"] = self.system + unknown_for
        self.clients.append(client)
        client.handle = self.machine.lua.table_from(fields)
        client.handle = self.rig["Connect"](client.handle)

    def gone(self, client: Client) -> None:
        if client in self.clients:
            self.clients.remove(client)

    def add_bot(self, team: int = 0, name: str = "Bot") -> Client:
        """A bot; it goes to `team` by its own JoinTeam."""
        bot = Client(self, 0, name, self.machine.call("AddBot", name))
        if team:
            self.join(bot, team)
        return bot

    def join(self, client: Client, team: int, force: bool | None = None) -> bool:
        """JoinTeam, called as an admin's command or another mod calls it."""
        self.machine.call("JoinTeam", client.handle, team, *([] if force is None else [force]))
        return client.team == team

    def seat(self, client: Client, team: int) -> bool:
        """On a side as from before the mods listened: no mod hears of it."""
        self.machine.call("Seat", client.handle, team)
        return client.team == team

    def team(self, number: int) -> list[str]:
        """Names of a team's players, in the team's order."""
        return [from_lua(name) for name in self.machine.call("TeamNames", number).values()]

    # The round.

    @property
    def state(self) -> str:
        return str(self.execute("return kGameState[GetGamerules():GetGameState()]"))

    def start_round(self, limit: float = 30.0) -> None:
        """Frames until the round runs; both sides need a commander."""
        self.until(lambda: self.state == "Started", limit)

    def start_without_pregame(self) -> None:
        """As Shine's pregame plugin starts: reset and countdown at once."""
        self.machine.call("StartWithoutPreGame")

    def end_game(self, winner: int | None = None) -> None:
        self.machine.call("EndGame", *([] if winner is None else [winner]))

    def reset(self) -> None:
        self.machine.call("ResetGame")

    def set_state(self, name: str) -> None:
        self.machine.call("SetGameState", name)

    def concedes(self, team: int) -> None:
        """The team's votes to concede were enough."""
        self.machine.call("TeamSays", team, "conceded")

    def loses(self, team: int) -> None:
        """The team has no command structure any more."""
        self.machine.call("TeamSays", team, "destroyed")

    def console(self, text: str) -> bool:
        """A line typed into the server's console."""
        return bool(self.machine.call("Console", None, text))

    def setting(self, name: str, value: Any) -> None:
        """As `Server.SetConfigSetting`: from now on and until the map changes."""
        self.rig["settings"][name] = value

    def shine_plugin(self, name: str, *, enabled: bool = True, enforced: bool = False) -> None:
        """Shine has this plugin; `enforced` says that a shuffle of voterandom is."""
        self.machine.call("ShinePlugin", name, enabled, enforced)

    def shine_shuffle(self, wanted: dict[Client, int]) -> None:
        """Shine's shuffle puts these people on these teams, and resets a running round."""
        teams = self.machine.lua.table_from({client.index: team for client, team in wanted.items()})
        self.machine.call("ShineShuffle", teams)

    def _temporary(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="ns2-config-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder
