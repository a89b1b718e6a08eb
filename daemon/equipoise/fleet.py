"""The game servers and pools that the daemon serves: opened and closed as the configuration says."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import equipoise
from equipoise import config as configuration
from equipoise import ratings
from equipoise.config import Config, Server
from equipoise.config.sources import Database, located
from equipoise.core.model import ServerId
from equipoise.errors import LogError, LogRefused
from equipoise.files import open_private
from equipoise.ratings.system import System
from equipoise.service import people
from equipoise.service.clock import Clock
from equipoise.service.held import check
from equipoise.service.host import Host
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import Server as PublishedServer
from equipoise.shared.log import SharedLog, Survey
from equipoise.store.store import Store

log = logging.getLogger(__name__)


class Fleet:
    """Call `change` to begin with, and `close` before the store is closed. One call of `change` at a time."""

    def __init__(self, store: Store, clock: Clock, nudge: Callable[[ServerId], None] = lambda _server: None) -> None:
        self.pools: dict[str, Pool] = {}
        self.hosts: dict[ServerId, Host] = {}
        self._servers: Mapping[ServerId, Server] = {}
        self.elsewhere: Sequence[PublishedServer] = ()
        """Game servers that feed the shared pools on other machines, when they were looked at last."""
        self._logs: dict[Database, SharedLog] = {}
        self._databases: Mapping[str, Database] = {}
        """Those of shared pools, by pool."""
        self._store, self._clock, self._nudge = store, clock, nudge

    async def check(self, config: Config) -> None:
        """ConfigError: the ratings of a pool that is new here were made by another system."""
        for name in config.pools.keys() - self.pools.keys():
            if config.pools[name].database is not None:  # its log may know better
                continue
            fingerprint = await self._store.fingerprint(name)
            if fingerprint is not None:
                with located(config.path):
                    check(name, fingerprint, _system(config, name))

    async def change(self, config: Config, swap: Callable[[], None]) -> None:
        """Serve what the configuration says. An error leaves everything as it was.

        What is new is opened first. Then `swap` is called, from which moment on requests must come to the hosts that
        are here then. What is gone is closed last: its sessions are written down, and its rounds are stored or wait in
        the ring's file until their pool is configured again.

        ConfigError: as from `check`. SpillError, StoreError: a ring's file or the store cannot be used now.
        """
        await self.check(config)
        try:
            await self._change(config, swap)
        finally:
            await self._leave_databases()

    async def _change(self, config: Config, swap: Callable[[], None]) -> None:
        async with AsyncExitStack() as undo:
            pools = {name: self.pools.get(name) or await self._opened(config, name, undo) for name in config.pools}
            hosts = {name: await self._host(server, pools, undo) for name, server in config.servers.items()}
            undo.pop_all()
        for name in self.hosts.keys() & hosts.keys():
            if hosts[name] is not self.hosts[name]:
                await hosts[name].succeed(self.hosts[name])
        gone_hosts = [host for name, host in self.hosts.items() if name not in hosts]
        gone_pools = [pool for name, pool in self.pools.items() if name not in pools]
        self._serve(config, pools, hosts)
        swap()
        await _close(gone_hosts, gone_pools)
        for pool in gone_pools:
            if pool.ring_depth:
                log.warning(
                    "rounds that wait stay in the ring until this pool is back: %d",
                    pool.ring_depth,
                    extra={"pool": pool.name},
                )

    async def close(self) -> None:
        """Write down what is not written yet, and let go of the rings."""
        await _close(self.hosts.values(), self.pools.values())
        for shared_log in self._logs.values():
            await shared_log.close()

    def cut(self) -> None:
        """Have nothing wait for a database any more; again and again: a log that is opened now is not cut yet."""
        for shared_log in self._logs.values():
            shared_log.cut()

    async def _opened(self, config: Config, name: str, undo: AsyncExitStack) -> Pool:
        ring, system = Ring(config.directory / f"{name}.ring"), _system(config, name)
        balance, database = await self._balance(config.pools[name]), config.pools[name].database
        if database is None:
            pool = Pool(name, system, self._store, ring, self._clock, balance=balance)
        else:
            shared_log = self._log(database, config.shared.machine)
            pool = SharedPool(name, system, self._store, ring, self._clock, shared_log, balance=balance)
            pool.forgetting = lambda forgotten: people.forget_here(forgotten, self._store, self.hosts.values())
        undo.push_async_callback(pool.close)
        with located(config.path):
            await pool.open()
        return pool

    async def publish(self) -> None:
        """Show the other machines of shared pools the game servers of this one, and look at theirs.

        LogRefused: another daemon has this one's name.
        """
        elsewhere: list[PublishedServer] = []
        refusal: LogRefused | None = None
        for database, shared_log in tuple(self._logs.items()):
            servers = [
                PublishedServer(host.pool.name, host.server, shared_log.machine, host.glance())
                for host in self.hosts.values()
                if self._databases.get(host.pool.name) == database
            ]
            try:
                await shared_log.publish({"version": equipoise.__version__}, servers)
                elsewhere += [server for server in await shared_log.servers() if server.machine != shared_log.machine]
            except LogError:
                pass  # the pools say it
            except LogRefused as error:
                refusal = error
        self.elsewhere = elsewhere
        if refusal is not None:
            raise refusal

    async def renew_bases(self) -> None:
        """Have the logs of shared pools begin with newer bases. StoreError: a database is away; the next night does."""
        for pool in list(self.pools.values()):
            await pool.renew_base()

    async def surveys(self) -> dict[str, Survey]:
        """Return what the databases of shared pools say of themselves, by pool. StoreError: one is away."""
        logs = {name: self._logs[database] for name, database in self._databases.items()}
        return {name: await shared_log.survey() for name, shared_log in logs.items()}

    def _log(self, database: Database, machine: str) -> SharedLog:
        """The log in a database; pools of one database share its connections."""
        if database not in self._logs:
            identity = _identity(self._store.path.with_name("machine.id"))
            name = machine or socket.gethostname()
            self._logs[database] = SharedLog(database.url, database.password, name, identity=identity)
        return self._logs[database]

    async def _leave_databases(self) -> None:
        """Let go of those that no pool is in: other machines do not hear of this one there any more."""
        for database in self._logs.keys() - self._databases.values():
            gone = self._logs.pop(database)
            gone.cut()  # who is asking it, as `publish` may, does not connect again
            await gone.close()

    async def _balance(self, pool: configuration.Pool) -> System[Any] | None:
        """The system that makes the teams; None: the pool's own.

        Where the file does not say, a pool of an older version goes on by what its last rounds were predicted by.
        """
        if pool.balance is None or (pool.balance_left_open and await self._store.plays_alone(pool.name)):
            return None
        return ratings.create(pool.balance, **pool.balance_params)

    async def _host(self, server: Server, pools: Mapping[str, Pool], undo: AsyncExitStack) -> Host:
        """The server's host: the present one, else a new one, which succeeds the present one if there is one.

        A session speaks of one game, and its players' skills are those of one pool: with another one it begins as
        after a restart of the daemon.
        """
        before = self._servers.get(server.name)
        if before is not None and (before.pool, before.game) == (server.pool, server.game):
            return self.hosts[server.name]
        nudge = partial(self._nudge, server.name)
        host = Host(
            server.name,
            pools[server.pool],
            self._store,
            server.rules,
            self._clock,
            nudge=nudge,
            version=equipoise.__version__,
        )
        undo.push_async_callback(host.close)
        if before is None:
            await host.start()
        return host

    def _serve(self, config: Config, pools: Mapping[str, Pool], hosts: Mapping[ServerId, Host]) -> None:
        # In place: jobs and metrics look at these mappings.
        self.pools.clear()
        self.pools.update(pools)
        self.hosts.clear()
        self.hosts.update(hosts)
        self._servers = config.servers
        self._databases = {name: pool.database for name, pool in config.pools.items() if pool.database is not None}
        for name, host in self.hosts.items():
            host.use(config.servers[name].rules)


def _identity(file: Path) -> str:
    """Return what this daemon is from start to start; where no file can be kept, it is another one each time."""
    with suppress(OSError), os.fdopen(open_private(file, os.O_RDWR), "r+") as text:
        if not (identity := text.read().strip()):
            text.write(identity := os.urandom(8).hex())
        return identity
    return os.urandom(8).hex()


def _system(config: Config, name: str) -> System[Any]:
    pool = config.pools[name]
    return ratings.create(pool.system, **pool.params)


async def _close(hosts: Iterable[Host], pools: Iterable[Pool]) -> None:
    """All of them, the hosts first, whatever goes wrong with one."""
    async with AsyncExitStack() as stack:
        for pool in pools:
            stack.push_async_callback(pool.close)
        for host in hosts:
            stack.push_async_callback(host.close)
