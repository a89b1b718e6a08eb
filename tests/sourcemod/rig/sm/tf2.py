"""Team Fortress 2 and sdktools natives beyond plain entities, and what plugins ask of the engine."""

import datetime

from ..binding import Call, InGame, native
from ..machine import NativeError
from ..memory import Buffer, Ref

ENGINE_TF2 = 17
TEAM_NAMES = ("Unassigned", "Spectator", "RED", "BLU")


@native()
def TF2_RespawnPlayer(call: Call, client: InGame) -> None:
    call.sm.world.teams.force_respawn(client)


@native()
def TF2_RegeneratePlayer(call: Call, client: InGame) -> None:
    """`CTFPlayer::Regenerate`: gives the class's weapons again, as a resupply locker does."""
    client.props["m_iHealth"] = client.props["m_iMaxHealth"]
    call.sm.world.fire("post_inventory_application", userid=client.userid)


@native()
def TF2_IsPlayerInDuel(call: Call, client: InGame) -> bool:
    return client.duel


@native()
def TF2_AddCondition(call: Call, client: InGame, condition: int, duration: float, inflictor: int) -> None:
    client.set_condition(condition, True)


@native()
def TF2_RemoveCondition(call: Call, client: InGame, condition: int) -> None:
    client.set_condition(condition, False)


@native("TF2_GetResourceEntity", "GetPlayerResourceEntity")
def resource_entity(call: Call) -> int:
    return call.sm.world.entities.after(-1, "tf_player_manager")


@native()
def GetPlayerWeaponSlot(call: Call, client: InGame, slot: int) -> int:
    weapon = client.weapons.get(slot)
    return weapon.index if weapon else -1


@native()
def GetTeamCount(call: Call) -> int:
    return len(TEAM_NAMES)


def _team(team: int) -> int:
    if not 0 <= team < len(TEAM_NAMES):
        raise NativeError(f"Team index {team} is invalid")
    return team


@native()
def GetTeamName(call: Call, team: int, buffer: Buffer) -> None:
    buffer.write(TEAM_NAMES[_team(team)])


@native()
def GetTeamScore(call: Call, team: int) -> int:
    return call.sm.world.teams.scores[_team(team)]


@native()
def SetTeamScore(call: Call, team: int, score: int) -> None:
    call.sm.world.teams.scores[_team(team)] = score


@native()
def GetTeamClientCount(call: Call, team: int) -> int:
    return len(call.sm.world.teams.members(_team(team)))


@native()
def GetTeamEntity(call: Call, team: int) -> int:
    return call.sm.world.teams.entity(_team(team)).index


@native()
def GetEngineTime(call: Call) -> float:
    return call.sm.world.now


@native()
def GetGameTime(call: Call) -> float:
    return call.sm.world.map_time


@native()
def GetGameTickCount(call: Call) -> int:
    return round(call.sm.world.map_time / call.sm.world.tick)


@native("GetGameFrameTime")
def frame_time(call: Call) -> float:
    return call.sm.world.tick


@native()
def GetSysTickCount(call: Call) -> int:
    return int(call.sm.world.now * 1000) & 0x7FFFFFFF


@native()
def GetTime(call: Call, halves: Ref) -> int:
    """A cell has 32 bits and a sign, so from 2038 on the result is negative (core/logic/smn_core.cpp)."""
    now = int(call.sm.world.epoch + call.sm.world.now)
    low = (now & 0xFFFFFFFF) - (now >> 31 & 1) * 2**32
    halves.write([low, now >> 32])
    return low


@native()
def FormatTime(call: Call, buffer: Buffer, pattern: str, stamp: int) -> None:
    when = call.sm.world.epoch + call.sm.world.now if stamp == -1 else stamp
    buffer.write(datetime.datetime.fromtimestamp(when, datetime.UTC).strftime(pattern))


@native()
def GetCurrentMap(call: Call, buffer: Buffer) -> int:
    return buffer.write(call.sm.world.map)


@native()
def GetMapDisplayName(call: Call, name: str, buffer: Buffer) -> bool:
    """Without folders and the number of a workshop map (HalfLife2.cpp)."""
    return bool(buffer.write(name.rsplit("/", 1)[-1].split(".ugc", 1)[0]))


@native()
def GetNextMap(call: Call, buffer: Buffer) -> bool:
    return bool(buffer.write(call.sm.world.map))


@native()
def GetMapTimeLeft(call: Call, left: Ref) -> bool:
    limit = call.sm.convars["mp_timelimit"].number * 60
    left.value = int(limit - call.sm.world.map_time) if limit else -1
    return True


@native()
def GetMapTimeLimit(call: Call, limit: Ref) -> bool:
    limit.value = int(call.sm.convars["mp_timelimit"].number)
    return True


@native()
def GetEngineVersion(call: Call) -> int:
    return ENGINE_TF2


@native()
def GetGameFolderName(call: Call, buffer: Buffer) -> int:
    return buffer.write("tf")


@native()
def GetGameDescription(call: Call, buffer: Buffer, original: bool) -> int:
    return buffer.write("Team Fortress")


@native("IsDedicatedServer", "IsServerProcessing")
def dedicated(call: Call) -> bool:
    return True
