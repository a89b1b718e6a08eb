"""People and bots on the fake server, as tests handle them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .machine import from_lua, to_lua

if TYPE_CHECKING:
    from .game import Game

SIDE_COMMANDS = {0: "rr", 1: "j1", 2: "j2", 3: "spectate"}


class Client:
    """A connected client. After a map change the same object stands for the same person's new client."""

    def __init__(self, game: Game, account_id: int, name: str, handle: Any = None) -> None:
        self.game = game
        self.account_id = account_id
        self.name = name
        self.handle = handle
        """The engine's client object; None while disconnected."""
        self.messages: list[tuple[str, dict[str, Any]]] = []
        """Network messages that this client got, with their fields."""

    def __repr__(self) -> str:
        return f"<{self.name} {self.account_id} on {self.team}>"

    @property
    def index(self) -> int:
        return int(self.game.rig["Fields"](self.handle)["index"])

    @property
    def connected(self) -> bool:
        return self.handle is not None and bool(self.game.rig["IsAlive"](self.handle))

    def _seen(self, field: int) -> Any:
        if not self.connected:
            return None
        seen = self.game.rig["Describe"](self.handle)
        return None if seen is None else seen[field]

    @property
    def team(self) -> int | None:
        """Number of the team, as the engine counts: 0 ready room, 1 marines, 2 aliens, 3 spectators."""
        return self._seen(0)

    @property
    def class_name(self) -> str | None:
        return self._seen(1)

    @property
    def alive(self) -> bool:
        return bool(self._seen(2))

    @property
    def entity(self) -> int | None:
        """Id of the player entity: another number after every replacement."""
        return self._seen(3)

    @property
    def resources(self) -> float | None:
        return self._seen(4)

    @property
    def frozen(self) -> bool:
        return bool(self._seen(5))

    @property
    def commands_now(self) -> bool:
        """They sit in a command structure."""
        return str(self.class_name).endswith("Commander")

    @property
    def chat(self) -> list[str]:
        """The lines of chat that this client got."""
        return [str(fields.get("message", "")) for name, fields in self.messages if name == "Chat"]

    @property
    def prints(self) -> list[str]:
        """What ServerAdminPrint wrote into this client's console, in its pieces."""
        return [str(fields["message"]) for name, fields in self.messages if name == "ServerAdminPrint"]

    def _act(self, name: str, *arguments: Any) -> Any:
        return self.game.machine.call(name, self.handle, *arguments)

    def console(self, text: str) -> bool:
        """A line typed into the client's console; False if no script listens to it."""
        return bool(self._act("Console", text))

    def joins(self, team: int) -> bool:
        """The path of the ready room, of j1 and of F4; whether they are on that team then."""
        self.console(SIDE_COMMANDS[team])
        return self.team == team

    def says(self, text: str, *, team_only: bool = False) -> None:
        self._act("Say", text, team_only)

    def renames(self, name: str) -> None:
        """The client sends a name, as it does for the first time when it has loaded."""
        self.name = name
        player = self.player
        self.game.rig["Act"]("SetName", player["SetName"], player, to_lua(name))

    def takes_slot(self, *, watching: bool) -> None:
        """A spectators' slot, or a player's again (STUB ServerClient)."""
        self.game.rig["Fields"](self.handle)["watches"] = watching

    def moves(self) -> None:
        """Any input: movement, view or button."""
        self._act("Input")

    def commands(self) -> bool:
        """Take the chair at once: the veto of the gamerules, then the login."""
        self.game.machine.call("TakeChair", self.player)
        return self.commands_now

    def uses_chair(self) -> None:
        """Press "use" on the chair: the login comes 1.5 s later."""
        self.game.machine.call("UseChair", self.player)

    def leaves_chair(self) -> None:
        self.game.machine.call("LogoutOf", self.player)

    def dies(self) -> None:
        """Killed: dead at once, a waiting spectator of the own team in the next frame."""
        self.game.machine.call("Slay", self.player)

    def scores(self, kills: int = 0, assists: int = 0, points: int = 0) -> None:
        """What the game credits this player with."""
        for _ in range(kills):
            self.game.machine.call("Credit", self.player, "AddKill")
        for _ in range(assists):
            self.game.machine.call("Credit", self.player, "AddAssistKill")
        self.game.machine.call("Credit", self.player, "AddScore", points)

    def respawns(self) -> None:
        self.game.machine.call("RespawnNow", self.player)

    def becomes(self, class_name: str) -> None:
        """Evolve, put a suit on: another entity on the same team."""
        self._act("Become", class_name)

    @property
    def player(self) -> Any:
        """The engine's entity that this client controls; None if there is none."""
        return self.game.rig["Act"]("GetControllingPlayer", self.handle["GetControllingPlayer"], self.handle)

    def disconnects(self) -> None:
        self._act("Disconnect")
        self.handle = None
        self.game.gone(self)

    def reconnects(self, **fields: Any) -> Client:
        """The same person with a new client, in the ready room."""
        self.game.enter(self, **fields)
        return self

    def parks(self) -> Any:
        """NSL keeps the entity of a lost connection on a virtual client; give what comes back to `unparks`."""
        keeper = self._act("Park")
        self.handle = None
        self.game.gone(self)
        return keeper

    def unparks(self, keeper: Any) -> None:
        """Connect again and get the kept entity back."""
        self.game.enter(self)
        self._act("Unpark", keeper)

    def receive(self, name: str, fields: Any) -> None:
        cut = {str(key): from_lua(value) for key, value in fields.items()}
        if name == "Chat" and isinstance(fields["message"], str):
            cut["message"] = from_lua(fields["message"][:120])  # string(kMaxChatLength + 1) with its end
        self.messages.append((name, cut))
