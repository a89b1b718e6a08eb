"""Console and chat commands, listeners, and who may use what.

A client's command goes through the listeners, `OnClientCommand`, the commands plugins registered, and then to the game;
a callback that returns Plugin_Handled ends its way. Chat passes `OnClientSayCommand` and may trigger a command.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..binding import Call, Callback, Text, native
from ..machine import NativeError
from ..memory import Buffer
from .admins import allowed
from .configs import command_lines
from .core import print_about
from .strings import split_command

if TYPE_CHECKING:
    from ..game.players import Player
    from ..sourcemod import SourceMod

CONSOLE, CHAT = 0, 1
HANDLED, STOP = 3, 4


class Answerer(Protocol):
    """What stands in for a plugin's function where the rig itself provides a command."""

    @property
    def plugin(self) -> object: ...
    def __call__(self, *arguments: int) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Registration:
    """A command of a plugin. `flags` are what an admin needs; `server_only` commands get no client."""

    callback: Callback | Answerer
    flags: int = 0
    help: str = ""
    server_only: bool = False
    admin: bool = False


@dataclass(slots=True)
class Invocation:
    """A command being executed."""

    line: str
    words: list[str]
    source: int = CONSOLE
    trigger: bool = False

    @property
    def tail(self) -> str:
        """Everything after the command's name."""
        return self.line.strip()[len(self.line.split(None, 1)[0]) :].strip() if self.line.strip() else ""


@dataclass(slots=True)
class Commands:
    """All commands of a server."""

    sm: "SourceMod"
    registered: dict[str, list[Registration]] = field(default_factory=lambda: defaultdict(list))
    listeners: list[tuple[str, Callback]] = field(default_factory=list)
    queue: list[str] = field(default_factory=list)
    fake: list[tuple[Any, str]] = field(default_factory=list)
    travelling: list[tuple[Any, str]] = field(default_factory=list)
    kicks: list["Player"] = field(default_factory=list)
    _stack: list[Invocation] = field(default_factory=list)
    source: int = CONSOLE

    @property
    def current(self) -> Invocation:
        """The command being executed."""
        return self._stack[-1] if self._stack else Invocation("", [])

    def forget(self, plugin: object) -> None:
        """Drop an unloaded plugin's commands and listeners."""
        for name in list(self.registered):
            self.registered[name] = [r for r in self.registered[name] if r.callback.plugin is not plugin]
        self.listeners = [(name, callback) for name, callback in self.listeners if callback.plugin is not plugin]

    def from_client(self, player: Any, line: str) -> None:
        """A client types `line` in their console."""
        with self._running(Invocation(line, split_command(line)), CONSOLE) as command:
            if not command.words:
                return
            chosen = command.words[0].lower() == "menuselect" and self.sm.menus.press(player.index, _key(command))
            if not self._intercepted(player.index, command) and not chosen:
                self._reach_game(player, command)

    def from_server(self, line: str) -> list[str]:
        """The server's console or RCON executes `line`; what is printed meanwhile."""
        before = len(self.sm.console)
        with self._running(Invocation(line, split_command(line)), CONSOLE) as command:
            if command.words and self._listen(0, command) < HANDLED and self._dispatch(0, command) < HANDLED:
                self._server_command(command)
        return self.sm.console[before:]

    def run_queue(self) -> None:
        """Execute the engine's command buffer, and what clients were made to type by `ClientCommand` and send back."""
        while self.queue:
            self.from_server(self.queue.pop(0))
        travelling, self.travelling = self.travelling, []
        for player, line in travelling:
            if player.in_game:
                self.from_client(player, line)

    def run_delayed(self) -> None:
        """The commands of `FakeClientCommandEx`, then the kicks of `KickClient` (core/HalfLife2.cpp)."""
        while self.fake:
            player, line = self.fake.pop(0)
            if player.in_game:
                self.from_client(player, line)
        while self.kicks:
            leaver = self.kicks.pop(0)
            if self.sm.world.players.get(leaver.index) is leaver:
                self.sm.world.leave(leaver, leaver.kicked or "")

    def _server_command(self, command: Invocation) -> None:
        name = command.words[0].lower()
        if name == "sm":
            print_about(self.sm, command.words[1:])
            return
        if self.sm.configs.obey([name, *command.words[1:]]):
            return
        convar = self.sm.convars.by_name.get(name)
        if convar is None and name not in self.registered:
            self.sm.world.server_command(command.words)
        elif convar is not None and len(command.words) == 1:
            self.sm.print(f'"{convar.name}" = "{convar.value}"')
        elif convar is not None:
            convar.set(command.words[1])

    def _intercepted(self, client: int, command: Invocation) -> bool:
        if self._listen(client, command) >= HANDLED:
            return True
        if self.sm.forward("OnClientCommand", client, len(command.words) - 1) >= HANDLED:
            return True
        return self._dispatch(client, command) >= HANDLED

    def _listen(self, client: int, command: Invocation) -> int:
        """Listeners to any command first, then those to this one (ConsoleDetours::InternalDispatch)."""
        name, result = command.words[0].lower(), 0
        for wanted in ("", name):
            for callback in [callback for listened, callback in self.listeners if listened == wanted]:
                result = max(result, callback(client, name, len(command.words) - 1) or 0)
                if result >= STOP:
                    break
            if result >= HANDLED:
                break
        return result

    def _dispatch(self, client: int, command: Invocation) -> int:
        name, count, result = command.words[0].lower(), len(command.words) - 1, 0
        for registration in list(self.registered.get(name, ())):
            if registration.server_only:
                reply = registration.callback(count) if not client else 0
            elif registration.admin and not allowed(self.sm, client, name, registration.flags):
                self.sm.chat.reply(client, f"[SM] {self.sm.core_phrase('No Access', client)}")
                reply = HANDLED
            else:
                self.sm.target = client
                reply = registration.callback(client, count)
            result = max(result, reply or 0)
            if result >= STOP:
                break
        return result

    def _reach_game(self, player: Any, command: Invocation) -> None:
        name = command.words[0].lower()
        if name in ("say", "say_team"):
            self._say(player, name, " ".join(command.words[1:]))
        else:
            self.sm.world.client_command(player, command.words)

    def _say(self, player: Any, name: str, text: str) -> None:
        """Chat (ChatTriggers.cpp): a silent trigger passes no forward, and blocked chat still triggers its command."""
        triggered = self._triggered(text) if text[:1] in ("!", "/") else ""
        self.current.trigger = bool(triggered)
        silent = bool(triggered) and text[0] == "/"
        result = STOP if silent else self.sm.forward("OnClientSayCommand", player.index, name, text)
        if result < HANDLED:
            self.sm.world.chat(player, text)
        if triggered:
            self._trigger(player, triggered)
        if result < STOP:
            self.sm.forward("OnClientSayCommand_Post", player.index, name, text)

    def _triggered(self, text: str) -> str:
        """The command line that a trigger stands for, or nothing: `word` itself, or `sm_word`."""
        word = (split_command(text[1:]) or [""])[0].lower()
        if word in self.registered:
            return text[1:]
        return f"sm_{text[1:]}" if f"sm_{word}" in self.registered else ""

    def _trigger(self, player: Any, line: str) -> None:
        """The command goes the way of one typed in the console; its replies go to the chat."""
        with self._running(Invocation(line, split_command(line), CHAT, trigger=True), CHAT) as command:
            if not self._intercepted(player.index, command):
                self._reach_game(player, command)

    @contextmanager
    def replying(self, source: int) -> Iterator[None]:
        """Meanwhile replies go to the chat or to the console."""
        before, self.source = self.source, source
        try:
            yield
        finally:
            self.source = before

    @contextmanager
    def _running(self, command: Invocation, source: int) -> Iterator[Invocation]:
        self._stack.append(command)
        try:
            with self.replying(source):
                yield command
        finally:
            self._stack.pop()


def _key(command: Invocation) -> int:
    word = command.words[1] if len(command.words) > 1 else ""
    return int(word) if word.isdecimal() else 0


@native()
def RegConsoleCmd(call: Call, name: str, callback: Callback, text: str, flags: int) -> None:
    call.sm.commands.registered[name.lower()].append(Registration(callback, help=text))


@native()
def RegServerCmd(call: Call, name: str, callback: Callback, text: str, flags: int) -> None:
    call.sm.commands.registered[name.lower()].append(Registration(callback, help=text, server_only=True))


@native()
def RegAdminCmd(call: Call, name: str, callback: Callback, admin: int, text: str, group: str, flags: int) -> None:
    call.sm.commands.registered[name.lower()].append(Registration(callback, admin, text, admin=True))


@native()
def AddCommandListener(call: Call, callback: Callback, name: str) -> bool:
    call.sm.commands.listeners.append((name.lower(), callback))
    return True


@native()
def RemoveCommandListener(call: Call, callback: Callback, name: str) -> None:
    listeners = call.sm.commands.listeners
    if (name.lower(), callback) not in listeners:
        raise NativeError(f"No such command listener: {name}")
    listeners.remove((name.lower(), callback))


@native()
def GetCmdArgs(call: Call) -> int:
    return max(len(call.sm.commands.current.words) - 1, 0)


@native()
def GetCmdArg(call: Call, number: int, buffer: Buffer) -> int:
    words = call.sm.commands.current.words
    return buffer.write(words[number] if 0 <= number < len(words) else "")


@native()
def GetCmdArgString(call: Call, buffer: Buffer) -> int:
    return buffer.write(call.sm.commands.current.tail)


@native()
def GetCmdReplySource(call: Call) -> int:
    return call.sm.commands.source


@native()
def SetCmdReplySource(call: Call, source: int) -> int:
    before, call.sm.commands.source = call.sm.commands.source, source
    return before


@native()
def IsChatTrigger(call: Call) -> bool:
    return call.sm.commands.current.trigger


@native()
def ServerCommand(call: Call, text: Text) -> None:
    call.sm.commands.queue += command_lines(text.to(0))


@native()
def InsertServerCommand(call: Call, text: Text) -> None:
    call.sm.commands.queue[:0] = command_lines(text.to(0))


@native()
def ServerExecute(call: Call) -> None:
    call.sm.commands.run_queue()


@native()
def ServerCommandEx(call: Call, buffer: Buffer, text: Text) -> None:
    buffer.write("\n".join(call.sm.commands.from_server(text.to(0))))


@native()
def FakeClientCommand(call: Call, client: int, text: Text) -> None:
    call.sm.commands.from_client(call.client(client, in_game=True), text.to(client))


@native()
def FakeClientCommandEx(call: Call, client: int, text: Text) -> None:
    call.sm.commands.fake.append((call.client(client, in_game=True), text.to(client)))


@native()
def ClientCommand(call: Call, client: int, text: Text) -> None:
    """The line travels to the client and back. A bot has no client that would execute it."""
    player = call.client(client, in_game=True)
    if not player.bot:
        call.sm.commands.travelling.append((player, text.to(client)))


@native()
def GetCommandFlags(call: Call, name: str) -> int:
    return 0 if call.sm.commands.registered.get(name.lower()) else -1
