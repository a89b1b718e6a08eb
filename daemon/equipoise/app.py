"""The composition root: builds each part once, in order, and closes them in reverse."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path

import msgspec
from aiohttp import web

import equipoise
from equipoise import ratings
from equipoise.config import STORE, Config
from equipoise.core.model import ServerId
from equipoise.errors import ConfigError, StoreError, StoreMissing, StoreRefused
from equipoise.service import jobs, readings, systemd
from equipoise.service.backups import FOLDER, Backups
from equipoise.service.host import Host
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool
from equipoise.service.refits import Refits
from equipoise.service.retention import Retention, RetentionDays
from equipoise.service.ring import Ring
from equipoise.service.scheduler import Scheduler
from equipoise.solving.worker import Worker
from equipoise.store.port import Store
from equipoise.store.sqlite import SqliteStore
from equipoise.web import Caller, Callers, Connections, Refusals, Services, application, fitting
from equipoise.wire import GAMES

START_SECONDS = 900
"""As long as systemd waits for READY=1, whatever the unit says: a large store may have to be migrated first."""
STOP_SECONDS = 3.0
"""For requests under way, of the 5 that systemd waits for all."""

_ADVICE = {
    errno.EADDRINUSE: "is another daemon running? Stop it, or choose another port",
    errno.EACCES: "choose a port above 1023",
}

log = logging.getLogger(__name__)


class SystemClock:
    """The `Clock` of the running daemon."""

    def __init__(self) -> None:
        self._began = time.time() - time.monotonic()

    def monotonic(self) -> float:
        """Seconds that never go back; counted from the epoch, so that they mean the same after a restart."""
        return self._began + time.monotonic()

    def epoch(self) -> float:
        """Seconds since the epoch, by the system clock: it may be set back."""
        return time.time()


async def serve(config: Config, *, new_store: bool = False) -> None:
    """Serve until SIGTERM or SIGINT. ConfigError, StoreRefused, SpillError: it cannot start.

    `new_store`: a missing store is made, although other files show that there was one.
    """
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        # Killed before its end, a migration would start again from nothing at every restart.
        systemd.notify(f"EXTEND_TIMEOUT_USEC={START_SECONDS * 1_000_000}")
        address = await start(config, stack, new_store=new_store)
        systemd.notify("READY=1")
        log.info("ready", extra={"address": address, "version": equipoise.__version__})
        if config.web.allow_remote:
            log.warning("web.allow_remote: other machines may call; put TLS in front", extra={"address": address})
        await stopped.wait()
        systemd.notify("STOPPING=1")
        log.info("stopping")


async def start(config: Config, stack: AsyncExitStack, *, new_store: bool = False) -> str:
    """Start everything; the stack takes it down again. Returns the address that it listens on."""
    listener = stack.enter_context(_listener(config))
    _make_directory(config)
    clock, metrics = SystemClock(), Metrics()
    store = await _store(config, stack, new_store=new_store)
    pools = {name: await _pool(config, name, store, clock, stack) for name in config.pools}
    hosts = {name: await _host(config, name, pools, store, clock, stack) for name in config.servers}
    retention = Retention(store, pools.values(), clock, RetentionDays(**msgspec.structs.asdict(config.retention)))
    with suppress(StoreError):  # damage to the logs is said by /healthz: a daemon that serves keeps rounds
        await retention.look()
    metrics.watch(lambda: readings.of_servers(hosts.values()))
    metrics.watch(lambda: readings.of_pools(pools.values()))
    metrics.watch(lambda: readings.of_store(store, retention))
    refusals = stack.enter_context(closing(Refusals(metrics)))
    stack.callback(asyncio.create_task(metrics.measure_loop()).cancel)
    refits = Refits(pools, clock)
    scheduler = Scheduler(metrics)
    await jobs.add_jobs(scheduler, pools, retention, refits, clock)
    backups = Backups(store, store.path.parent / FOLDER, clock, config.backup.keep)
    jobs.schedule_backups(scheduler, backups, config.backup.keep, config.backup.at)
    solving = Worker(config.splits.seconds)
    stack.push_async_callback(solving.close)
    services = Services(
        hosts=hosts,
        games={name: GAMES[server.game] for name, server in config.servers.items()},
        pools=pools,
        store=store,
        clock=clock,
        callers=callers(config),
        names=names(config, listener.getsockname()[1]),
        metrics=metrics,
        refusals=refusals,
        solving=solving,
        scheduler=scheduler,
        refits=refits,
    )
    await _listen(config, services, listener, stack)
    scheduler.start()
    stack.push_async_callback(refits.close)
    stack.push_async_callback(scheduler.close)
    _sign_of_life(store, stack)
    store.start_check()
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listener(config: Config) -> socket.socket:
    """The listening socket. It is opened first, because a second daemon must not touch the store."""
    host, port = config.web.host, config.web.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        path = "$.web.port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "$.web.host"
        why = os.strerror(error.errno or 0)
        advice = _ADVICE.get(error.errno or 0, "is this one of the machine's addresses?")
        raise ConfigError(f"cannot listen on {host}:{port}: {why}; {advice}", path=path) from None


def _make_directory(config: Config) -> None:
    try:
        config.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(f"{config.directory}: {error.strerror}", path="$.store.directory") from None


async def _store(config: Config, stack: AsyncExitStack, *, new_store: bool) -> SqliteStore:
    """Open the store. A new one is made only where nothing shows that there was one: a lost store is not replaced."""
    path = config.directory / STORE
    trace = None if new_store else _trace(path)
    useless = new_store and _is_filled(path)
    store = SqliteStore(path, create=trace is None)
    try:
        await store.open()
    except StoreMissing as error:
        raise StoreRefused(
            f"{error}, but {trace} shows that there was one: restore a backup, or run `equipoise serve --new-store` "
            "once to begin without ratings"
        ) from None
    if useless:
        log.warning("%s: there is a store: --new-store does nothing, leave it out", path)
    stack.push_async_callback(store.close)
    return store


def _trace(path: Path) -> Path | None:
    """A file that only a daemon with an open store leaves behind: a ring's, or one of the store's log."""
    patterns = ("*.ring*", f"{path.name}-wal", f"{path.name}-shm")
    # A directory that may not be looked into has none: opening the store says what is wrong with it.
    return min((found for pattern in patterns for found in path.parent.glob(pattern)), default=None)


def _is_filled(path: Path) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0


async def _pool(config: Config, name: str, store: Store, clock: SystemClock, stack: AsyncExitStack) -> Pool:
    chosen = config.pools[name]
    system = ratings.create(chosen.system, **chosen.params)
    pool = Pool(name, system, store, Ring(config.directory / f"{name}.ring"), clock)
    await pool.open()
    stack.push_async_callback(pool.close)
    return pool


async def _host(
    config: Config,
    name: ServerId,
    pools: Mapping[str, Pool],
    store: Store,
    clock: SystemClock,
    stack: AsyncExitStack,
) -> Host:
    server = config.servers[name]
    host = Host(name, pools[server.pool], store, server.rules, clock)
    await host.start()
    stack.push_async_callback(host.close)
    return host


def callers(config: Config) -> Callers:
    """Every script and every token, by the digest of its secret."""
    scripts = {server.digest: Caller("script", server.name) for server in config.servers.values()}
    tokens = {token.digest: Caller(token.role, token.name) for token in config.tokens.values()}
    return Callers(scripts | tokens)


def names(config: Config, port: int) -> frozenset[str]:
    """Values of the Host header that are served: own addresses with the port, and configured names."""
    host = f"[{config.web.host}]" if ":" in config.web.host else config.web.host
    own = (f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]", host))
    more = (name for each in config.web.hosts for name in (each, f"{each}:{port}"))
    return frozenset(name.lower() for name in (*own, *more))


async def _listen(config: Config, services: Services, listener: socket.socket, stack: AsyncExitStack) -> None:
    runner = web.AppRunner(application(services), handle_signals=False, shutdown_timeout=STOP_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    assert runner.server is not None
    most = fitting(config.web.max_connections)
    if most < config.web.max_connections:
        log.warning("fewer connections than web.max_connections: raise LimitNOFILE", extra={"count": most})
    connections = Connections(runner.server, most, services.refusals, services.metrics)
    services.metrics.watch(connections.readings)
    task = asyncio.create_task(connections.accept(listener))
    stack.callback(task.cancel)


def _sign_of_life(store: Store, stack: AsyncExitStack) -> None:
    """Feed systemd's watchdog from the event loop after the store's thread answered: if either hangs, it starves."""
    seconds = systemd.watchdog_seconds()
    if seconds is None:
        return

    async def beat() -> None:
        while True:
            with suppress(StoreError):  # locked or full: the ring keeps rounds, a restart would not help
                await store.ping()
            systemd.notify("WATCHDOG=1")
            await asyncio.sleep(seconds)

    task = asyncio.create_task(beat())
    stack.callback(task.cancel)
