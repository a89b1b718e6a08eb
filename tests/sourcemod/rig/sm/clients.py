"""Clients as plugins see them, and what they may do to them."""

from ..binding import Call, Connected, InGame, Text, native
from ..game.players import Player
from ..memory import Buffer

ENGINE, STEAM2, STEAM3, STEAM64 = range(4)
PUBLIC_UNIVERSE = 76561197960265728


@native()
def GetMaxClients(call: Call) -> int:
    return call.sm.world.slots


@native()
def GetMaxHumanPlayers(call: Call) -> int:
    return call.sm.world.slots


@native()
def GetClientCount(call: Call, in_game_only: bool) -> int:
    return sum(player.in_game or not in_game_only for player in call.sm.world.players.values())


def _player(call: Call, index: int) -> Player | None:
    """The player in a slot or None; a native error for a slot that does not exist."""
    if 1 <= index <= call.sm.world.slots:
        return call.sm.world.players.get(index)
    call.client(index, in_game=False)
    return None


@native()
def IsClientConnected(call: Call, index: int) -> bool:
    return _player(call, index) is not None


@native()
def IsClientInGame(call: Call, index: int) -> bool:
    player = _player(call, index)
    return player is not None and player.in_game


@native()
def IsClientInKickQueue(call: Call, client: Connected) -> bool:
    return client.kicked is not None


@native()
def IsClientAuthorized(call: Call, index: int) -> bool:
    player = _player(call, index)
    return player is not None and player.authorized


@native()
def IsFakeClient(call: Call, client: Connected) -> bool:
    return client.bot


@native()
def IsClientSourceTV(call: Call, client: Connected) -> bool:
    return client.source_tv


@native()
def IsClientReplay(call: Call, client: Connected) -> bool:
    return False


@native()
def IsClientObserver(call: Call, client: InGame) -> bool:
    """`CBasePlayer::IsObserver` (player.cpp): a living spectator is none."""
    return client.props["m_iObserverMode"] != 0


@native()
def IsPlayerAlive(call: Call, client: InGame) -> bool:
    return client.alive


@native()
def GetClientName(call: Call, index: int, buffer: Buffer) -> bool:
    return bool(buffer.write(call.client(index, in_game=False).name if index else call.sm.convars["hostname"].value))


@native()
def SetClientName(call: Call, client: Connected, name: str) -> None:
    client.name = name


@native()
def GetClientIP(call: Call, client: Connected, buffer: Buffer, port: bool) -> bool:
    return bool(buffer.write("127.0.0.1:27005" if port else "127.0.0.1"))


def _identity(player: Player, kind: int) -> str:
    account = player.steamid - PUBLIC_UNIVERSE
    return {
        ENGINE: f"[U:1:{account}]",
        STEAM2: player.steam2,
        STEAM3: f"[U:1:{account}]",
        STEAM64: str(player.steamid),
    }[kind]


@native()
def GetClientAuthId(call: Call, client: Connected, kind: int, buffer: Buffer, validate: bool) -> bool:
    if client.bot:
        buffer.write("BOT" if kind != STEAM64 else "STEAM_ID_STOP_IGNORING_RETVALS")
        return kind != STEAM64
    if validate and not client.authorized:
        buffer.write("STEAM_ID_STOP_IGNORING_RETVALS")
        return False
    buffer.write(_identity(client, kind))
    return True


@native()
def GetSteamAccountID(call: Call, client: Connected, validate: bool) -> int:
    return 0 if client.bot or (validate and not client.authorized) else client.steamid - PUBLIC_UNIVERSE


@native()
def GetClientUserId(call: Call, client: Connected) -> int:
    return client.userid


@native()
def GetClientOfUserId(call: Call, userid: int) -> int:
    return next((p.index for p in call.sm.world.players.values() if p.userid == userid), 0)


@native()
def GetClientSerial(call: Call, client: Connected) -> int:
    return client.serial_number


@native()
def GetClientFromSerial(call: Call, serial: int) -> int:
    return next((p.index for p in call.sm.world.players.values() if p.serial_number == serial), 0)


@native()
def GetClientTime(call: Call, client: Connected) -> float:
    return call.sm.world.now - client.connected_at


@native()
def GetClientLatency(call: Call, client: InGame, flow: int) -> float:
    return 0.05


@native("GetClientAvgLatency")
def average_latency(call: Call, client: InGame, flow: int) -> float:
    return 0.05


@native()
def IsClientTimingOut(call: Call, client: Connected) -> bool:
    return False


@native()
def GetClientTeam(call: Call, client: InGame) -> int:
    return client.team


@native()
def GetClientHealth(call: Call, client: InGame) -> int:
    return client.health


@native()
def GetClientFrags(call: Call, client: InGame) -> int:
    return client.frags


@native()
def GetClientDeaths(call: Call, client: InGame) -> int:
    return client.deaths


@native()
def ChangeClientTeam(call: Call, client: InGame, team: int) -> None:
    call.sm.world.teams.change(client, team)


@native()
def KickClient(call: Call, index: int, text: Text) -> None:
    """The client leaves at the next frame; until then it is in the kick queue."""
    player = call.client(index, in_game=False)
    player.kicked = text.to(index)
    call.sm.commands.kicks.append(player)


@native()
def KickClientEx(call: Call, index: int, text: Text) -> None:
    call.sm.world.leave(call.client(index, in_game=False), text.to(index))


@native()
def ForcePlayerSuicide(call: Call, client: InGame) -> None:
    """`CommitSuicide(false, false)`: not by force (extensions/sdktools/vnatives.cpp)."""
    call.sm.world.teams.lives.suicide(client, forced=False)
