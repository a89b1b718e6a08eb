"""Administrators' commands to a game server's console."""

from __future__ import annotations

import asyncio

from equipoise.errors import PeerError, ScriptError
from equipoise.service.console import check_command, defused
from equipoise.store.notes import Audit
from equipoise.web.messages.rcon import ConsoleOutput
from equipoise.web.players import names_of
from equipoise.web.routes import Asked, refused


async def send_command(asked: Asked) -> ConsoleOutput:
    """Send a command by RCON. It is in the audit before it is sent. 409: no RCON; 502: the game server failed."""
    services = asked.services
    host = services.host(asked.path["server"])
    if services.game_servers.status(host.server).rcon.state == "off":
        raise refused("rcon", f"[server.{host.server}] has no `rcon` in the configuration")
    await host.write_down()  # names of those who have just come, too
    names = await names_of(host.pool, (entry.id for entry in host.session.state.roster.entries))
    command = check_command(asked.body.command, names.values())
    await services.store.audit(Audit(services.clock.epoch(), asked.caller.who, "rcon", host.server, "", command))
    try:
        output = await services.game_servers.execute(host.server, command)
    except PeerError as error:
        raise ScriptError("game_server", f"RCON of {host.server}: {error}", status=502) from None
    return ConsoleOutput(output=await asyncio.to_thread(defused, output))
