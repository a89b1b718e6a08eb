"""Commands that administrators send to a game server's console, and the output that they see.

A console takes `;` and a line's end for the end of a command, and quotes for those of an argument; nothing quotes what
is between. So whatever could begin a second command is refused.

Where a command takes a player, the game looks for them by a part of their name, and players choose their names:
`sm_kick Bob Marley` kicks any player with `Bob` in the name, and `sm_slay @all` is for everybody, not for the player
who is called so. So the name of a player who is there is refused as the target; `#userid` and SteamIDs name players for
certain. Anywhere else a name is a word like others, or a player who is called `1` or `list` would forbid it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from equipoise.errors import ScriptError

LONGEST_COMMAND = 400
"""Bytes. The engine cuts a command at 512."""
TARGETING = frozenset(
    {
        *("kick", "sm_kick", "sm_ban", "sm_banip", "sm_votekick", "sm_voteban", "sm_who"),
        *("sm_slap", "sm_slay", "sm_rename", "sm_voteburn", "sm_voteslay", "sm_play", "sm_psay"),
        *("sm_mute", "sm_gag", "sm_silence", "sm_unmute", "sm_ungag", "sm_unsilence"),
        *("sm_beacon", "sm_timebomb", "sm_burn", "sm_firebomb", "sm_freeze", "sm_freezebomb"),
        *("sm_gravity", "sm_blind", "sm_noclip", "sm_drug"),
        *("sm_eq_rating", "sm_eq_move", "sm_eq_set", "sm_eq_reset"),
        *("sv_kick", "sv_ban", "sv_eject", "sv_psay", "sv_slay", "sv_switchteam"),
        *("sh_kick", "sh_ban", "sh_eject", "sh_pm", "sh_slay", "sh_setteam", "sh_gag", "sh_ungag", "sh_rr"),
        *("sv_eq_rating", "sv_eq_move", "sv_eq_set", "sv_eq_reset"),
    }
)
"""Commands whose first argument is a player: the engine's, those of SourceMod's own plugins (plugins/*.sp), ours; in
NS2 the game's (ServerAdminCommands.lua), Shine's and ours."""
RELAYS = frozenset({"sm_rcon", "sh_rcon"})
"""Commands whose arguments are a command."""
CERTAIN = re.compile(r"#?[0-9]+|#STEAM_[0-9:_]+|#\[U:[0-9:_]+\]", re.IGNORECASE)
"""Names that are none as a target: a number, a `#userid`, a SteamID, which the game looks for first."""
SECRETS = frozenset({"rcon_password", "sv_password", "tv_password", "sh_password"})
"""Variables, and NS2's commands, that would stand in the audit, or on the screen."""


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
    _check_target([word.lower() for word in words], names)
    return command


def _check_target(words: list[str], names: Iterable[str]) -> None:
    while words and words[0] in RELAYS:
        words = words[1:]
    if not words or words[0] not in TARGETING:
        return
    for name in names:
        plain = name.lower().split()
        if plain and words[1 : 1 + len(plain)] == plain and not CERTAIN.fullmatch(name.strip()):
            certain = "#userid or SteamID (`status` shows both), in NS2 by Steam Id (sv_status)"
            raise _refusal(f"{name!r} is the name of a player: name them by {certain}")


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
