"""The targets of a command: `@all`, `#userid`, a SteamID, a name (PlayerManager.cpp ProcessCommandTarget)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..binding import Call, native
from ..memory import Buffer, Ref
from .admins import ALIVE, CONNECTED, DEAD, NO_BOTS, NO_IMMUNITY, NO_MULTI, can_target
from .clients import PUBLIC_UNIVERSE
from .strings import INTEGER

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

VALID = 1
NONE, NOT_ALIVE, NOT_DEAD, NOT_IN_GAME, IMMUNE, EMPTY_FILTER, NOT_HUMAN, AMBIGUOUS = range(0, -8, -1)

GROUPS = {
    "@all": ("all players", 0),
    "@!me": ("all players", 0),
    "@dead": ("all dead players", DEAD),
    "@alive": ("all alive players", ALIVE),
    "@bots": ("all bots", 0),
    "@humans": ("all humans", NO_BOTS),
}
"""Groups with the phrase that names each and the filter it adds."""
CONTRADICTIONS = {"@dead": (ALIVE, NOT_ALIVE), "@alive": (DEAD, NOT_DEAD), "@bots": (NO_BOTS, NOT_HUMAN)}
TEAMS = {"@red": ("Red Team", 2), "@blue": ("Blue Team", 3)}
"""What SourceMod's TF2 extension adds (extensions/tf2/extension.cpp)."""


@dataclass(frozen=True, slots=True)
class Aim:
    """The players found, or the reason why there are none. `phrase`: is `name` a phrase to translate?"""

    players: tuple[Any, ...] = ()
    reason: int = VALID
    name: str = ""
    phrase: bool = False


def refusal(sm: "SourceMod", admin: int, player: Any, filters: int) -> int:
    """Why a player may not be the target, or VALID, in the order of InternalFilterCommandTarget."""
    checks = (
        (not filters & CONNECTED and not player.in_game, NOT_IN_GAME),
        (filters & NO_BOTS and player.bot, NOT_HUMAN),
        (not filters & NO_IMMUNITY and not can_target(sm, admin, player.index), IMMUNE),
        (filters & ALIVE and not player.alive, NOT_ALIVE),
        (filters & DEAD and player.alive, NOT_DEAD),
    )
    return next((reason for refused, reason in checks if refused), VALID)


def aim(sm: "SourceMod", pattern: str, admin: int, filters: int) -> Aim:
    """Who `pattern` means to `admin` (0: the server)."""
    players = sorted(sm.world.players.values(), key=lambda p: p.index)
    if pattern.startswith("#") and (found := _identified(players, pattern[1:])) is not None:
        return _one(sm, admin, found, filters)
    if pattern == "@me" and admin:
        return _one(sm, admin, sm.world.players[admin], filters)
    if not filters & NO_MULTI and pattern in GROUPS:
        return _group(sm, pattern, admin, players, filters)
    if not filters & NO_MULTI and pattern in TEAMS:
        name, team = TEAMS[pattern]
        on_team = [p for p in players if p.in_game and p.team == team]
        return _many(sm, admin, on_team, filters, name, phrase=False)
    matching = [p for p in players if pattern.lower() in p.name.lower()]
    if len(matching) != 1:
        return Aim(reason=AMBIGUOUS if matching else NONE)
    return _one(sm, admin, matching[0], filters)


def _identified(players: list[Any], key: str) -> Any | None:
    """By userid, else by SteamID (with `_` for `:`, which consoles split at), else by whole name."""
    number = INTEGER.match(key)
    by_userid = next((p for p in players if number and p.userid == int(number[1])), None)
    if by_userid is not None:
        return by_userid
    identity = key
    if key.startswith("STEAM_"):
        identity = "STEAM_0" + key[7:].replace("_", ":")
    elif key.startswith("[U:"):
        identity = key.replace("_", ":")
    by_identity = next((p for p in players if not p.bot and identity in (p.steam2, _steam3(p))), None)
    return by_identity or next((p for p in players if p.name == key), None)


def _steam3(player: Any) -> str:
    return f"[U:1:{player.steamid - PUBLIC_UNIVERSE}]"


def _one(sm: "SourceMod", admin: int, player: Any, filters: int) -> Aim:
    reason = refusal(sm, admin, player, filters)
    return Aim((player,), reason, player.name) if reason == VALID else Aim(reason=reason)


def _group(sm: "SourceMod", pattern: str, admin: int, players: list[Any], filters: int) -> Aim:
    contradiction, reason = CONTRADICTIONS.get(pattern, (0, 0))
    if filters & contradiction:
        return Aim(reason=reason)
    name, added = GROUPS[pattern]
    wanted = [p for p in players if p.bot or pattern != "@bots"]
    if pattern == "@!me":
        wanted = [p for p in players if p.index != admin]
    return _many(sm, admin, wanted, filters | added, name, phrase=True)


def _many(sm: "SourceMod", admin: int, players: list[Any], filters: int, name: str, *, phrase: bool) -> Aim:
    found = tuple(p for p in players if refusal(sm, admin, p, filters) == VALID)
    return Aim(found, VALID if found else EMPTY_FILTER, name, phrase)


@native()
def ProcessTargetString(
    call: Call, pattern: str, admin: int, targets: Ref, size: int, filters: int, name: Buffer, translated: Ref
) -> int:
    found = aim(call.sm, pattern, admin, filters)
    targets.write([player.index for player in found.players[:size]])
    if found.name:
        name.write(found.name)
    translated.value = found.phrase
    return len(found.players[:size]) or found.reason
