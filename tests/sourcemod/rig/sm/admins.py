"""Admin flags, command overrides and immunity."""

from typing import TYPE_CHECKING

from ..binding import Call, native
from ..memory import Ref

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

ROOT = 1 << 14
LETTERS = "abcdefghijklmnzopqrst"
"""Flag letters in bit order: a reservation … n cheats, z root, o–t custom 1–6."""
ALIVE, DEAD, CONNECTED, NO_IMMUNITY, NO_MULTI, NO_BOTS = (1 << bit for bit in range(6))
NO_ADMIN = -1


def flag_bits(letters: str) -> int:
    """The flags that `letters` name."""
    return sum(1 << LETTERS.index(letter) for letter in letters)


def allowed(sm: "SourceMod", client: int, command: str, flags: int) -> bool:
    """Whether a client has every flag that `command` needs (by override, else `flags`), or root."""
    needed = sm.overrides.get(command.lower(), flags)
    if not client or not needed:
        return True
    player = sm.world.players[client]
    return not player.bot and (bool(player.flags & ROOT) or player.flags & needed == needed)


def check_access(sm: "SourceMod", client: int, command: str, flags: int, *, override_only: bool = False) -> bool:
    """What CheckCommandAccess says: a registered admin command's own flags count before `flags`."""
    registered = sm.commands.registered.get(command.lower())
    if registered and not override_only and registered[0].admin:
        flags = registered[0].flags
    return allowed(sm, client, command, flags)


def can_target(sm: "SourceMod", client: int, target: int) -> bool:
    """Immunity in SourceMod's default mode: a higher level protects (AdminCache::CanAdminTarget).

    A player without admin rights may target no one at all, themselves included.
    """
    if not client:
        return True
    actor, other = sm.world.players[client], sm.world.players[target]
    if not actor.flags:
        return False
    return not other.flags or actor is other or bool(actor.flags & ROOT) or actor.immunity >= other.immunity


@native()
def CheckCommandAccess(call: Call, client: int, command: str, flags: int, override_only: bool) -> bool:
    return check_access(call.sm, client, command, flags, override_only=override_only)


@native()
def GetCommandOverride(call: Call, command: str, kind: int, flags: Ref) -> bool:
    """Whether admin_overrides.cfg names the command, and its flags there."""
    name = command.lower()
    if name not in call.sm.overrides:
        return False
    flags.value = call.sm.overrides[name]
    return True


@native()
def GetUserFlagBits(call: Call, client: int) -> int:
    return call.client(client, in_game=False).flags


@native()
def SetUserFlagBits(call: Call, client: int, flags: int) -> None:
    call.client(client, in_game=False).flags = flags


@native()
def GetUserAdmin(call: Call, client: int) -> int:
    player = call.client(client, in_game=False)
    return client if player.flags else NO_ADMIN


@native("GetAdminFlag", "AdminId.HasFlag")
def GetAdminFlag(call: Call, admin: int, flag: int, mode: int) -> bool:
    return bool(call.client(admin, in_game=False).flags & (1 << flag | ROOT))


@native("GetAdminFlags", "AdminId.GetFlags")
def GetAdminFlags(call: Call, admin: int, mode: int) -> int:
    return call.client(admin, in_game=False).flags


@native("GetAdminImmunityLevel", "AdminId.ImmunityLevel.get")
def GetAdminImmunityLevel(call: Call, admin: int) -> int:
    return call.client(admin, in_game=False).immunity


@native()
def CanUserTarget(call: Call, client: int, target: int) -> bool:
    if client:
        call.client(client, in_game=False)
        call.client(target, in_game=False)
    return can_target(call.sm, client, target)


@native("CanAdminTarget", "AdminId.CanTarget")
def CanAdminTarget(call: Call, admin: int, target: int) -> bool:
    return target == NO_ADMIN or (admin != NO_ADMIN and can_target(call.sm, admin, target))


@native()
def ReadFlagString(call: Call, letters: str, used: Ref) -> int:
    known = [letter for letter in letters if letter in LETTERS]
    used.value = len(known)
    return flag_bits("".join(known))


@native()
def FindFlagByChar(call: Call, letter: int, flag: Ref) -> bool:
    if chr(letter) in LETTERS:
        flag.value = LETTERS.index(chr(letter))
    return chr(letter) in LETTERS
