"""Everything that prints: chat, hints, centre text, consoles, the server's log."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, InGame, Text, native
from ..machine import NativeError
from .strings import raw, unraw

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

CHAT_BYTES = 253
CONSOLE_SOURCE = 0
PLUGIN, HANDLED = 2, 3


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
    """As much of a chat line as fits in a user message, which may end inside a character."""
    return unraw(raw(text)[:CHAT_BYTES])


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


NON_ADMINS, NON_ADMINS_NAMES, ADMINS, ADMINS_NAMES, ROOT_NAMES = (1 << bit for bit in range(5))
GENERIC, ROOT = 1 << 1, 1 << 14


def _show_activity(call: Call, client: int, tag: str, text: Text, skipped: int | None) -> None:
    """Print to all but `skipped` what an admin did, by name or not, as `sm_show_activity` says (smn_players.cpp)."""
    shown = int(call.sm.convars["sm_show_activity"].number)
    actor = call.client(client, in_game=False) if client else None
    name = actor.name if actor else "Console"
    sign = "PLAYER" if actor and not actor.flags & (GENERIC | ROOT) else "ADMIN"
    for player in call.sm.world.in_game():
        if player.index == skipped:
            continue
        if player.flags & (GENERIC | ROOT):
            named = shown & ADMINS_NAMES or (shown & ROOT_NAMES and player.flags & ROOT)
            hears = named or shown & ADMINS
        else:
            named = shown & NON_ADMINS_NAMES
            hears = named or shown & NON_ADMINS
        if hears:
            who = name if named or player.index == client else sign
            player.chat.append(shortened(f"{tag}{who}: {text.to(player.index)}"))


@native()
def ShowActivity2(call: Call, client: int, tag: str, text: Text) -> None:
    """The actor reads it in the chat, without a name."""
    if client:
        call.client(client, in_game=False).chat.append(shortened(f"{tag}{text.to(client)}"))
    else:
        call.sm.print(f"{tag}{text.to(0)}")
    _show_activity(call, client, tag, text, client)


@native()
def ShowActivityEx(call: Call, client: int, tag: str, text: Text) -> None:
    """The actor reads it in the console if that is where replies go; otherwise in the chat, like the others."""
    skipped = None
    if not client:
        call.sm.print(f"{tag}{text.to(0)}")
    elif call.sm.commands.source == CONSOLE_SOURCE:
        call.client(client, in_game=False).console.append(f"{tag}{text.to(client)}")
        skipped = client
    _show_activity(call, client, tag, text, skipped)


@native()
def ShowActivity(call: Call, client: int, text: Text) -> None:
    ShowActivityEx(call, client, "[SM] ", text)


@native()
def LogMessage(call: Call, text: Text) -> None:
    call.sm.log.messages.append((call.plugin.name, text.to(0)))


@native()
def LogError(call: Call, text: Text) -> None:
    call.sm.log.errors.append((call.plugin.name, text.to(0)))


@native()
def LogAction(call: Call, client: int, target: int, text: Text) -> None:
    """A plugin that answers OnLogAction with Plugin_Handled keeps it out of the log."""
    message = text.to(0)
    if call.sm.forward("OnLogAction", call.sm.plugin_handle(call.plugin), PLUGIN, client, target, message) < HANDLED:
        call.sm.log.actions.append((client, target, message))


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
