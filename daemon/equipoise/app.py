"""The composition root: builds each part once, in order, and closes them in reverse."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path

import msgspec
from aiohttp import web

import equipoise
from equipoise.config import STORE, Config
from equipoise.config.sections import Public
from equipoise.config.sources import located
from equipoise.configured import Configured, peers_of
from equipoise.errors import ConfigError, PortInUse, StoreError, StoreMissing, StoreRefused
from equipoise.fleet import Fleet
from equipoise.game.peers import QUERY_SECONDS, PeerServers
from equipoise.page import Export, PageSite, PublicSite
from equipoise.service import jobs, people
from equipoise.service.copies import FOLDER, Backups, Exports
from equipoise.service.event_loop import LoopWatch, Precedence
from equipoise.service.jobs import Every, Scheduler
from equipoise.service.live import Live
from equipoise.service.log_lines import log_as, notify, watchdog_seconds
from equipoise.service.metrics import Metrics, of_game_servers, of_pools, of_servers, of_store
from equipoise.service.notices import Notices
from equipoise.service.refits import Calibrations, Refits, Spreads
from equipoise.service.reloads import Reloads
from equipoise.service.retention import Retention, RetentionDays
from equipoise.store.store import Store
from equipoise.store.transfer import exported
from equipoise.web import Connections, Logins, Refusals, Services, application, fitting
from equipoise.web.servers import one_server
from equipoise.webhooks import Webhooks
from equipoise.workers import Job
from equipoise.workers.process import Warm
from equipoise.workers.solving import SolvedSplits

START_SECONDS = 900
"""As long as systemd waits for READY=1, whatever the unit says: a large store may have to be migrated first."""
PUBLIC_CONNECTIONS = 128
"""Of the public pages, beside `web.max_connections`."""
LONG_COLLECTION = 0.02
"""Seconds."""
STOP_SECONDS, PUBLIC_STOP_SECONDS = 1.0, 0.2
"""For requests under way, and once more for those that have not ended then: scripts are answered within a second."""
PATIENCE_SECONDS = 2.0
"""Of a stop with databases that do not answer and with long reads: what goes well ends within it."""
HURRY_SECONDS = 0.1

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
    """Serve until SIGTERM or SIGINT; SIGHUP reloads. ConfigError, StoreRefused, SpillError: it cannot start.

    `new_store`: a missing store is made, although other files show that there was one.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # One that comes during the start waits for its end.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    async with AsyncExitStack() as stack:
        # Killed before its end, a migration would start again from nothing at every restart.
        notify(f"EXTEND_TIMEOUT_USEC={START_SECONDS * 1_000_000}")
        address, configuration = await _start(config, os.environ, stack, new_store=new_store)
        configuration.follow(lambda new: log_as(new.log.level, new.log.format))
        _keep_collections_short(stack)
        notify("READY=1")
        log.info("ready", extra={"address": address, "version": equipoise.__version__})
        if config.web.allow_remote:
            log.warning("web.allow_remote: other machines may call; put TLS in front", extra={"address": address})
        loop.add_signal_handler(signal.SIGHUP, configuration.services.reloads.ask)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP,))
        await stop.wait()
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
        notify("STOPPING=1")
        log.info("stopping")
    # All is written and closed. A thread that reads or looks a name up for nobody any more cannot be ended, and Python
    # would wait for it.
    end = threading.Timer(STOP_SECONDS, os._exit, (os.EX_OK,))
    end.daemon = True
    end.start()


def _keep_collections_short(stack: AsyncExitStack) -> None:
    """Have collections, which hold all threads, not go through what stays: what is there now, and what a long one left.

    Libraries and machine code come with the first round and the first page, hundreds of thousands of objects.
    """
    began = 0.0

    def watch(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.perf_counter()
        elif info["generation"] == 2 and time.perf_counter() - began > LONG_COLLECTION:
            gc.freeze()

    gc.collect()
    gc.freeze()
    gc.callbacks.append(watch)
    stack.callback(gc.callbacks.remove, watch)


async def start(config: Config, stack: AsyncExitStack, *, environ: Mapping[str, str] = os.environ) -> str:
    """Start everything; the stack takes it down again. Returns the address that it listens on.

    `environ` is the environment that the configuration was read in, and will be read in again.
    """
    address, _ = await _start(config, environ, stack, new_store=False)
    return address


async def _start(
    config: Config, environ: Mapping[str, str], stack: AsyncExitStack, *, new_store: bool
) -> tuple[str, Configured]:
    with located(config.path):
        listener = stack.enter_context(_listener("web", config.web.host, config.web.port))
        public = None
        if config.public.port is not None:
            public = stack.enter_context(_listener("public", config.public.host, config.public.port))
        _make_directory(config)
    clock = SystemClock()
    store = await _store(config, stack, new_store=new_store)
    await people.finish(store)
    peers = stack.enter_context(closing(PeerServers(peers_of(config))))
    fleet, end = Fleet(store, clock, peers.nudge), asyncio.Event()
    stack.callback(asyncio.create_task(_hurry(end, fleet, store)).cancel)
    await fleet.change(config, lambda: None)
    stack.push_async_callback(fleet.close)
    configuration = await _serving(config, environ, fleet, peers, store, clock, (listener, public), stack)
    stack.callback(end.set)
    store.tell(_address(listener))
    return _address(listener), configuration


async def _hurry(end: asyncio.Event, fleet: Fleet, store: Store) -> None:
    """Have nobody wait any more, at a stop that takes long, for a database elsewhere or for what is being read."""
    await end.wait()
    await asyncio.sleep(PATIENCE_SECONDS)
    while True:  # one wait may follow another
        fleet.cut()
        store.interrupt()
        await asyncio.sleep(HURRY_SECONDS)


async def _serving(
    config: Config,
    environ: Mapping[str, str],
    fleet: Fleet,
    peers: PeerServers,
    store: Store,
    clock: SystemClock,
    listeners: tuple[socket.socket, socket.socket | None],
    stack: AsyncExitStack,
) -> Configured:
    """Build all that stands on the fleet, and let requests in."""
    metrics, retention = await _measured(config, fleet, peers, store, clock)
    refusals = stack.enter_context(closing(Refusals(metrics)))
    watch = stack.enter_context(closing(LoopWatch(metrics)))
    watch.start()
    refits, backups = Refits(fleet.pools, clock), Backups(store, store.path.parent / FOLDER, clock, config.backup.keep)
    scheduler, spreads = Scheduler(metrics), Spreads(fleet.pools, clock)
    calibrations = Calibrations(fleet.pools, clock)
    await jobs.add_jobs(scheduler, fleet.pools, retention, refits, spreads, calibrations, clock)
    scheduler.add("game server query", Every(QUERY_SECONDS), peers.ask_all)
    notices = Notices(fleet.hosts, fleet.pools, store, scheduler, peers, clock, lambda: fleet.elsewhere)
    webhooks = Webhooks(notices, config.directory, clock)
    stack.push_async_callback(webhooks.close)
    worker = Warm(Job.SPLITS, SolvedSplits, config.splits.seconds)
    stack.push_async_callback(worker.close)
    precedence = Precedence()
    live = Live(
        fleet.hosts, lambda server, last: one_server(configuration.services, server, last), store, clock, precedence
    )
    for read in (live.readings, scheduler.readings, backups.readings):
        metrics.watch(read)
    reloads = Reloads(lambda dry, passwords: configuration.reload(dry, passwords), store, clock)
    services = Services(
        store=store,
        clock=clock,
        metrics=metrics,
        tried=refusals.tried,
        solving=worker,
        scheduler=scheduler,
        exports=Exports(lambda pool: exported(store.path, pool)),
        reloads=reloads,
        game_servers=peers,
        refits=refits,
        spreads=spreads,
        calibrations=calibrations,
        logins=Logins(config.directory) if config.web.page else None,
        live=live,
        precedence=precedence,
        webhooks=webhooks.statuses,
        elsewhere=lambda: fleet.elsewhere,
        surveys=fleet.surveys,
        config=config.path,
    )
    configuration = Configured(config, environ, fleet, services, listeners[0].getsockname()[1])
    _follow(configuration, fleet, retention, worker, peers, scheduler, backups, webhooks)
    configuration.follow(lambda _: live.reload(configuration.services.callers.names()))
    await _listen(configuration, refusals, listeners, scheduler, stack)
    # Also before requests are waited for: one may wait for a game server that does not answer.
    stack.callback(peers.close)
    stack.push_async_callback(live.close)
    stack.push_async_callback(refits.close)
    _begin_time(scheduler, store, stack)
    stack.push_async_callback(reloads.close)
    return configuration


async def _measured(
    config: Config, fleet: Fleet, peers: PeerServers, store: Store, clock: SystemClock
) -> tuple[Metrics, Retention]:
    """The metrics, and the retention that knows some of them."""
    metrics, retention = Metrics(), Retention(store, fleet.pools.values(), clock, _days(config))
    with suppress(StoreError):  # damage to the logs is said by /healthz: a daemon that serves keeps rounds
        await retention.look()
    metrics.watch(lambda: of_servers(fleet.hosts.values()))
    metrics.watch(lambda: of_pools(fleet.pools.values()))
    metrics.watch(lambda: of_store(store, retention))
    metrics.watch(lambda: of_game_servers(peers.statuses()))
    return metrics, retention


def _follow(
    configuration: Configured,
    fleet: Fleet,
    retention: Retention,
    worker: Warm[SolvedSplits],
    peers: PeerServers,
    scheduler: Scheduler,
    backups: Backups,
    webhooks: Webhooks,
) -> None:
    """Have the parts beside pools and hosts go by the configuration, from the present one on."""

    def schedule(config: Config) -> None:
        jobs.schedule_backups(scheduler, backups, config.backup.keep, config.backup.at)
        jobs.schedule_notices(scheduler, bool(config.webhooks), webhooks.look, webhooks.summarize)
        is_shared = any(pool.database for pool in config.pools.values())
        jobs.schedule_sharing(scheduler, is_shared, fleet.publish, fleet.renew_bases)
        webhooks.use(config.webhooks)

    schedule(configuration.config)
    configuration.follow(schedule)
    configuration.follow(lambda config: retention.use(_days(config)))
    configuration.follow(lambda config: worker.use(config.splits.seconds))
    configuration.follow(lambda config: peers.set(peers_of(config)))


def _days(config: Config) -> RetentionDays:
    return RetentionDays(**msgspec.structs.asdict(config.retention))


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listener(table: str, host: str, port: int) -> socket.socket:
    """A listening socket. It is opened first, because a second daemon must not touch the store."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        path = f"$.{table}.{'port' if error.errno in (errno.EADDRINUSE, errno.EACCES) else 'host'}"
        why = os.strerror(error.errno or 0)
        advice = _ADVICE.get(error.errno or 0, "is this one of the machine's addresses?")
        wrong = PortInUse if error.errno == errno.EADDRINUSE else ConfigError
        raise wrong(f"cannot listen on {host}:{port}: {why}; {advice}", path=path) from None


def _make_directory(config: Config) -> None:
    try:
        config.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(f"{config.directory}: {error.strerror}", path="$.store.directory") from None


async def _store(config: Config, stack: AsyncExitStack, *, new_store: bool) -> Store:
    """Open the store. A new one is made only where nothing shows that there was one: a lost store is not replaced."""
    path = config.directory / STORE
    trace = None if new_store else _trace(path)
    useless = new_store and _is_filled(path)
    store = Store(path, create=trace is None)
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
    # A store that is there without tables, and without a ring beside it, was being made when the power failed.
    patterns = ("*.ring*",) if os.path.exists(path) else ("*.ring*", f"{path.name}-wal", f"{path.name}-shm")
    # A directory that may not be looked into has none: opening the store says what is wrong with it.
    return min((file for pattern in patterns for file in path.parent.glob(pattern)), default=None)


def _is_filled(path: Path) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0


async def _listen(
    configuration: Configured,
    refusals: Refusals,
    listeners: tuple[socket.socket, socket.socket | None],
    scheduler: Scheduler,
    stack: AsyncExitStack,
) -> None:
    services, (listener, public) = configuration.services, listeners
    site = PublicSite(lambda: configuration.services)
    export = Export(site, lambda: configuration.services)
    page = PageSite(lambda: configuration.services, export.lines) if services.logins else None
    app = application(lambda: configuration.services, refusals, page)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=STOP_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    assert runner.server is not None
    connections = Connections(runner.server, _most(configuration.config), refusals, services.metrics)

    def follow(config: Config) -> None:
        connections.most = _most(config)
        connections.disown(configuration.services.callers.names())
        if logins := configuration.services.logins:
            logins.keep({token: who.role for token, who in configuration.services.callers.digests.items()})

    configuration.follow(follow)
    follow(configuration.config)
    services.metrics.watch(connections.readings)
    task = asyncio.create_task(connections.accept(listener))
    stack.callback(task.cancel)
    _follow_public(configuration, site, export, scheduler)
    if public is not None:
        await _listen_publicly(site, services.metrics, refusals, public, stack)


def _follow_public(configuration: Configured, site: PublicSite, export: Export, scheduler: Scheduler) -> None:
    before: Public | None = None

    def follow(config: Config) -> None:
        nonlocal before
        new = config.public
        if before is None or (new.title, new.index) != (before.title, before.index):
            site.use(new.title, indexed=new.index)
        if before is None or (new.export, new.at) != (before.export, before.at):
            export.folder = config.directory / Path(new.export).expanduser() if new.export else None
            jobs.schedule_export(scheduler, export.run, new.at if new.export else None, export.last())
        before = new

    configuration.follow(follow)
    follow(configuration.config)


async def _listen_publicly(
    site: PublicSite, metrics: Metrics, refusals: Refusals, listener: socket.socket, stack: AsyncExitStack
) -> None:
    """Let anybody in, by connections beside those of scripts and admins."""
    runner = web.AppRunner(site.application(), handle_signals=False, shutdown_timeout=PUBLIC_STOP_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    assert runner.server is not None
    connections = Connections(
        runner.server, PUBLIC_CONNECTIONS, refusals, metrics, f"{PUBLIC_CONNECTIONS} public connections"
    )
    task = asyncio.create_task(connections.accept(listener))
    stack.callback(task.cancel)
    log.info("the public pages are served", extra={"address": _address(listener)})


def _most(config: Config) -> int:
    """How many connections may be open."""
    public = 0 if config.public.port is None else PUBLIC_CONNECTIONS
    most = max(1, fitting(config.web.max_connections + public) - public)
    if most < config.web.max_connections:
        log.warning("fewer connections than web.max_connections: raise LimitNOFILE", extra={"count": most})
    return most


def _begin_time(scheduler: Scheduler, store: Store, stack: AsyncExitStack) -> None:
    """Begin all that happens by itself: jobs, systemd's watchdog, the check of the whole store."""
    scheduler.start()
    stack.push_async_callback(scheduler.close)
    _sign_of_life(store, stack)
    store.start_check()


def _sign_of_life(store: Store, stack: AsyncExitStack) -> None:
    """Feed systemd's watchdog from the event loop after the store's thread answered: if either hangs, it starves."""
    seconds = watchdog_seconds()
    if seconds is None:
        return

    async def beat() -> None:
        while True:
            with suppress(StoreError):  # locked or full: the ring keeps rounds, a restart would not help
                await store.ping()
            notify("WATCHDOG=1")
            await asyncio.sleep(seconds)

    task = asyncio.create_task(beat())
    stack.callback(task.cancel)
