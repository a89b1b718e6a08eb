"""Admin flags, command overrides, immunity, and the targets of commands (`@all`, `#userid`, part of a name)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..binding import Call, native
from ..memory import Buffer, Ref

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

ROOT = 1 << 14
LETTERS = "abcdefghijklmnzopqrst"
"""Flag letters in bit order: a reservation … n cheats, z root, o–t custom 1–6."""
ALIVE, DEAD, CONNECTED, NO_IMMUNITY, NO_MULTI, NO_BOTS = (1 << bit for bit in range(6))
NONE, NOT_ALIVE, NOT_DEAD, NOT_IN_GAME, IMMUNE, EMPTY_FILTER, NOT_HUMAN, AMBIGUOUS = range(0, -8, -1)
NOBODY = -1

GROUPS: dict[str, Callable[[Any], bool]] = {
    "@all": lambda player: True,
    "@humans": lambda player: not player.bot,
    "@bots": lambda player: player.bot,
    "@alive": lambda player: player.alive,
    "@dead": lambda player: not player.alive,
    "@red": lambda player: player.team == 2,
    "@blue": lambda player: player.team == 3,
    "@spec": lambda player: player.team == 1,
}


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
    """Immunity as SourceMod's default mode has it: only a higher level protects."""
    if not client or client == target:
        return True
    actor, other = sm.world.players[client], sm.world.players[target]
    if actor.flags & ROOT or not other.flags:
        return True
    return bool(actor.flags) and actor.immunity >= other.immunity


@native()
def CheckCommandAccess(call: Call, client: int, command: str, flags: int, override_only: bool) -> bool:
    return check_access(call.sm, client, command, flags, override_only=override_only)


@native()
def GetUserFlagBits(call: Call, client: int) -> int:
    return call.client(client, in_game=False).flags


@native()
def SetUserFlagBits(call: Call, client: int, flags: int) -> None:
    call.client(client, in_game=False).flags = flags


@native()
def GetUserAdmin(call: Call, client: int) -> int:
    player = call.client(client, in_game=False)
    return client if player.flags else NOBODY


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
    call.client(target, in_game=False)
    return can_target(call.sm, client, target)


@native("CanAdminTarget", "AdminId.CanTarget")
def CanAdminTarget(call: Call, admin: int, target: int) -> bool:
    return target == NOBODY or (admin != NOBODY and can_target(call.sm, admin, target))


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


def _named(call: Call, pattern: str) -> list[Any]:
    players = list(call.sm.world.players.values())
    if pattern.startswith("#"):
        key = pattern[1:]
        return [p for p in players if key in (str(p.userid), str(p.steamid), p.name)]
    return [p for p in players if pattern.lower() in p.name.lower()]


def _refusal(call: Call, player: Any, admin: int, filters: int) -> int:
    """Why a single player may not be the target, or 1."""
    checks = (
        (not filters & NO_IMMUNITY and not can_target(call.sm, admin, player.index), IMMUNE),
        (filters & NO_BOTS and player.bot, NOT_HUMAN),
        (not filters & CONNECTED and not player.in_game, NOT_IN_GAME),
        (filters & ALIVE and not player.alive, NOT_ALIVE),
        (filters & DEAD and player.alive, NOT_DEAD),
    )
    return next((reason for refused, reason in checks if refused), 1)


def _group(call: Call, pattern: str, admin: int) -> list[Any] | None:
    players = sorted(call.sm.world.players.values(), key=lambda p: p.index)
    if pattern == "@me" and admin:
        return [call.sm.world.players[admin]]
    if pattern == "@!me":
        return [p for p in players if p.index != admin]
    return [p for p in players if GROUPS[pattern](p)] if pattern in GROUPS else None


@native()
def ProcessTargetString(
    call: Call, pattern: str, admin: int, targets: Ref, size: int, filters: int, name: Buffer, translated: Ref
) -> int:
    group = _group(call, pattern, admin)
    if group is None or pattern == "@me":
        return _single(call, group or _named(call, pattern), admin, targets, filters, name, translated)
    if filters & NO_MULTI:
        return NONE
    chosen = [p.index for p in group if _refusal(call, p, admin, filters) == 1][:size]
    targets.write(chosen)
    name.write("all players" if pattern == "@all" else pattern[1:])
    translated.value = pattern == "@all"
    return len(chosen) or EMPTY_FILTER


def _single(call: Call, found: list[Any], admin: int, targets: Ref, filters: int, name: Buffer, translated: Ref) -> int:
    if len(found) != 1:
        return AMBIGUOUS if found else NONE
    refusal = _refusal(call, found[0], admin, filters)
    if refusal == 1:
        targets.write([found[0].index])
        name.write(found[0].name)
        translated.value = 0
    return refusal
