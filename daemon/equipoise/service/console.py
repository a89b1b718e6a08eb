"""Commands that administrators send to a game server's console, and the output that they see.

A console takes `;` and a line's end for the end of a command, and quotes for those of an argument; nothing quotes what
is between. So whatever could begin a second command is refused, and names of players, who choose them, with it: they
may contain anything, and the game looks for players by a part of a name. `#userid` and SteamIDs name them for certain.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from equipoise.errors import ScriptError

LONGEST_COMMAND = 400
"""Bytes. The engine cuts a command at 512."""
SPEECH = frozenset({"say", "sm_say", "sm_csay", "sm_hsay", "sm_msay", "sm_tsay"})
"""Commands whose arguments are a text for players: a name in it names nobody."""
SECRETS = frozenset({"rcon_password", "sv_password", "tv_password"})
"""Variables that would stand in the audit, or on the screen."""


def check_command(command: str, names: Iterable[str]) -> str:
    """The command as it is sent. ScriptError (422): it is refused; `names` are those of players who are there."""
    command = command.strip()
    words = command.split()
    if not words:
        raise _refusal("there is no command")
    if len(command.encode(errors="replace")) > LONGEST_COMMAND:
        raise _refusal(f"a command has at most {LONGEST_COMMAND} bytes")
    for character in command:
        if character in ";\"'" or not character.isprintable():
            raise _refusal(f"a command must not contain {character!r}: one command, without quotes")
    if secret := next((word for word in words if word.lower() in SECRETS), None):
        raise _refusal(f"{secret} would stand in the audit: set it in the game server's own configuration")
    if words[0].lower() not in SPEECH:
        _check_names(" ".join(words[1:]), names)
    return command


def _check_names(arguments: str, names: Iterable[str]) -> None:
    padded = f" {arguments.lower()} "
    for name in names:
        if (plain := " ".join(name.lower().split())) and f" {plain} " in padded:
            raise _refusal(f"{name!r} is the name of a player: name them by #userid or SteamID (`status` shows both)")


def _refusal(message: str) -> ScriptError:
    return ScriptError("command", message, path="$.command")


def defused(output: str) -> str:
    """Output without characters that would do something to a terminal; each is shown as its number.

    >>> print(defused("plain\\n\\x1b[2Jred\\u202e"))
    plain
    \\x1b[2Jred\\u202e
    """
    return "".join(_shown(character) for character in output.replace("\r\n", "\n"))


def _shown(character: str) -> str:
    harmless = character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character if harmless else character.encode("unicode_escape").decode()
