"""The configuration in force while the daemon runs: read again, compared, and exchanged at one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from equipoise.config import Config, load
from equipoise.config.differences import Changes, compare, without_restart
from equipoise.config.sources import settle
from equipoise.core.model import ServerId
from equipoise.errors import ConfigError
from equipoise.fleet import Fleet
from equipoise.game.port import Peer
from equipoise.service.reloads import Reloaded
from equipoise.web import Caller, Callers, Services
from equipoise.wire import GAMES

Follower = Callable[[Config], None]


class Configured:
    """The configuration in force, and the services that it makes of the fleet and of `fixed`.

    `port`: the one that the daemon listens on, where the configuration leaves it open.
    """

    def __init__(self, config: Config, environ: Mapping[str, str], fleet: Fleet, fixed: Services, port: int) -> None:
        self.config = config
        self._environ = environ
        self._fleet = fleet
        self._port = port
        self._passed: Mapping[str, str] = {}
        """RCON passwords that a command of root read: systemd's copies of them are those of the start."""
        self._followers: list[Follower] = []
        self.services = self._serving(fixed)

    def follow(self, follower: Follower) -> None:
        """Call this with each configuration that is in force from then on; it must not fail, nor wait."""
        self._followers.append(follower)

    async def reload(self, dry: bool, passwords: Mapping[str, str] | None) -> Reloaded:
        """Read the files, and unless it is only to try, put them in force except what needs a restart.

        `passwords`: of RCON by file, where the caller could read them. EquipoiseError: everything is as it was.
        """
        secrets = self._passed if passwords is None else passwords
        new, changes = await asyncio.to_thread(_read, self.config, self._environ, secrets)
        if dry:
            await self._fleet.check(new)
            return Reloaded(changes.live, changes.restart)
        in_force = without_restart(self.config, new)
        await self._fleet.change(in_force, lambda: self._put_in_force(in_force))
        self._passed = secrets
        return Reloaded(changes.live, changes.restart, await self.services.game_servers.attempt())

    def _put_in_force(self, config: Config) -> None:
        self.config = config
        self.services = self._serving(self.services)
        for follower in self._followers:
            follower(config)

    def _serving(self, services: Services) -> Services:
        """Return the services with what the configuration decides of them."""
        config, fleet = self.config, self._fleet
        return replace(
            services,
            hosts=dict(fleet.hosts),
            games={name: GAMES[server.game] for name, server in config.servers.items()},
            pools=dict(fleet.pools),
            callers=_callers(config),
            proxies=config.proxies,
            names=_names(config, self._port),
        )


def peers_of(config: Config) -> dict[ServerId, Peer]:
    """Return the game servers that have an address in the configuration, with how they are reached."""
    return {
        name: Peer(
            rcon=server.rcon.address if server.rcon else None,
            password=server.rcon.password if server.rcon else "",
            user=server.rcon.user if server.rcon else "",
            query=server.query,
        )
        for name, server in config.servers.items()
        if server.rcon or server.query
    }


def _callers(config: Config) -> Callers:
    """Return every script and every token, by the digest of its secret."""
    scripts = {server.digest: Caller("script", server.name) for server in config.servers.values()}
    tokens = {token.digest: Caller(token.role, token.name) for token in config.tokens.values()}
    return Callers(scripts | tokens)


def _names(config: Config, port: int) -> frozenset[str]:
    """Return the values of the Host header that are served beside loopback names: its address, and configured names."""
    host = f"[{config.web.host}]" if ":" in config.web.host else config.web.host
    more = (address for name in config.web.hosts for address in (name, f"{name}:{port}"))
    return frozenset(address.lower() for address in (f"{host}:{port}", *more))


def _read(old: Config, environ: Mapping[str, str], passed: Mapping[str, str]) -> tuple[Config, Changes]:
    """Read the files again, and what they change; for 100 servers that is too long for the event loop."""
    settle(old.path)
    new = load(old.path, environ, started=True, passed=passed)
    if old.tokens and not new.tokens:
        # Most often a file that was cut off, and no command could have it read again.
        raise ConfigError("no [token.NAME] is left; is the file being written?", file=old.path)
    return new, compare(old, new)
