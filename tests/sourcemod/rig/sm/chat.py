"""Everything that prints: chat, hints, centre text, consoles, the server's log."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, InGame, Text, native
from ..machine import NativeError
from ..memory import cut
from .strings import raw, unraw

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

CHAT_BYTES = 253
CONSOLE_SOURCE = 0


@dataclass(slots=True)
class Log:
    """What the server's log files would hold, as (plugin, text).

    `faults` are exceptions SourceMod reported, with the plugin's stack; a test that expects one takes it away.
    """

    messages: list[tuple[str, str]] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    actions: list[tuple[int, int, str]] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str, str]] = field(default_factory=list)

    def fault(self, plugin: str, text: str, trace: str) -> None:
        """An exception ended a callback of `plugin`."""
        self.faults.append((plugin, text, trace))

    def take_faults(self) -> list[str]:
        """The texts of the exceptions so far, which are forgotten."""
        texts = [text for _, text, _ in self.faults]
        self.faults.clear()
        return texts


class Chat:
    """Delivers texts to players (their `chat`, `console`, `hints`, `center` lists) and to the server's console."""

    def __init__(self, sm: "SourceMod") -> None:
        self.sm = sm

    def reply(self, client: int, text: str) -> None:
        """Answer a command where it was typed."""
        if not client:
            self.sm.print(text)
        elif self.sm.commands.source == CONSOLE_SOURCE:
            self.sm.world.players[client].console.append(text)
        else:
            self.sm.world.players[client].chat.append(shortened(text))


def shortened(text: str) -> str:
    """As much of a chat line as fits in a user message."""
    return unraw(cut(raw(text), CHAT_BYTES))


@native()
def PrintToServer(call: Call, text: Text) -> None:
    call.sm.print(text.to(0))


@native()
def PrintToConsole(call: Call, client: int, text: Text) -> None:
    if client:
        call.client(client, in_game=True).console.append(text.to(client))
    else:
        call.sm.print(text.to(0))


@native()
def PrintToChat(call: Call, client: InGame, text: Text) -> None:
    client.chat.append(shortened(text.to(client.index)))


@native()
def PrintHintText(call: Call, client: InGame, text: Text) -> None:
    client.hints.append(text.to(client.index))


@native()
def PrintCenterText(call: Call, client: InGame, text: Text) -> None:
    client.center.append(text.to(client.index))


@native()
def ShowVGUIPanel(call: Call, client: InGame, name: str, keys: int, show: bool) -> None:
    client.panels.append(name)


@native()
def ReplyToCommand(call: Call, client: int, text: Text) -> None:
    if client:
        call.client(client, in_game=False)
    call.sm.chat.reply(client, text.to(client))


def _show_activity(call: Call, client: int, tag: str, text: Text) -> None:
    """Tell the actor, by reply, and everybody else who did what."""
    name = call.client(client, in_game=False).name if client else "Console"
    call.sm.chat.reply(client, f"{tag}{text.to(client)}")
    for player in call.sm.world.in_game():
        if player.index != client:
            player.chat.append(shortened(f"{tag}{name}: {text.to(player.index)}"))


@native("ShowActivity2", "ShowActivityEx")
def ShowActivity2(call: Call, client: int, tag: str, text: Text) -> None:
    _show_activity(call, client, tag, text)


@native()
def ShowActivity(call: Call, client: int, text: Text) -> None:
    _show_activity(call, client, "[SM] ", text)


@native()
def LogMessage(call: Call, text: Text) -> None:
    call.sm.log.messages.append((call.plugin.name, text.to(0)))


@native()
def LogError(call: Call, text: Text) -> None:
    call.sm.log.errors.append((call.plugin.name, text.to(0)))


@native()
def LogAction(call: Call, client: int, target: int, text: Text) -> None:
    call.sm.log.actions.append((client, target, text.to(0)))


@native("LogToFile", "LogToFileEx")
def LogToFile(call: Call, path: str, text: Text) -> None:
    call.sm.log.files.append((path, text.to(0)))


@native()
def LogToGame(call: Call, text: Text) -> None:
    call.sm.log.files.append(("game", text.to(0)))


@native()
def LogStackTrace(call: Call, text: Text) -> None:
    call.sm.log.errors.append((call.plugin.name, f"{text.to(0)}\n{call.plugin.machine.trace()}"))


@native()
def ThrowError(call: Call, text: Text) -> None:
    raise NativeError(text.to(0))
