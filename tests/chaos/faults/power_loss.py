"""A power loss: a daemon is recorded, and others start with what a disk may have kept of its files; ../power.py."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos import stored
from tests.chaos.book import Book
from tests.chaos.calls import Request, ask, bearer
from tests.chaos.daemon import TRACER, Daemon, Ended, secret_of
from tests.chaos.faults.disks import locked
from tests.chaos.faults.points import tracing_missing
from tests.chaos.faults.trial import Fault, Trial
from tests.chaos.formulas import Parameters
from tests.chaos.games import PLAYERS
from tests.chaos.power import RECORDER, Change, Loss, images, losses, read
from tests.chaos.script import Script

POOLS = {"main": Parameters()}
SERVER = "arena-1"


class Recorded(Daemon):
    """A daemon that is recorded where others are traced."""

    def _run(self, command: Sequence[str]) -> Any:
        if list(command[: len(TRACER)]) == list(TRACER):
            command = [*RECORDER, *command[len(TRACER) :]]
        return super()._run(command)


def recorded(folder: Path, rng: Random, rounds: int = 70) -> list[Change]:
    """What a daemon with a new store did to its files."""
    daemon = made(Recorded, folder, folder / "state")
    return played(daemon, rng, rounds, lambda: locked(daemon.state / "equipoise.db"))


def made(kind: type[Daemon], folder: Path, state: Path, lines: str = "") -> Daemon:
    """A daemon with these lines in its pool; a shared one has its database's password in a file."""
    state.mkdir(parents=True, exist_ok=True)
    daemon = kind(folder, state, POOLS, {SERVER: "main"})
    daemon.config.write_text(daemon.config.read_text().replace("[pool.main]\n", f"[pool.main]\n{lines}"))
    return daemon


def played(
    daemon: Daemon, rng: Random, rounds: int, held_up: Callable[[], AbstractContextManager[None]]
) -> list[Change]:
    """So many rounds: stored, kept and applied, with edits between, and an end as systemd wants it."""
    script = Script(SERVER, secret_of(SERVER), daemon.port, Book(), rng)
    daemon.start(trace=True)
    try:
        for number in range(rounds):
            script.play()
            if number % 20 == 10:
                with held_up():
                    script.play()
                    script.play()
            if number % 10 == 5:
                path = f"/v1/admin/players/{rng.choice(PLAYERS)}"
                body = json.dumps({"rating": 1000 + number}).encode()
                answer = ask(daemon.port, Request("PUT", path, bearer(secret_of("owner")), body), 60.0)
                assert answer is not None, "an edit was not answered"
        script.deliver(time.monotonic() + 60.0)
        daemon.stop()
    finally:
        daemon.kill()
    return read(daemon.folder / "points.record")


def missing(store: Path, loss: Loss) -> list[str]:
    """What was answered and is not in a store, and what is wrong with the file."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        (whole,) = database.execute("PRAGMA integrity_check").fetchone()
        (edits,) = database.execute("SELECT count(*) FROM edits").fetchone()
        there = set(database.execute("SELECT server, id FROM rounds"))
        query = "SELECT count(*) FROM participants WHERE player = id"
        query = f"SELECT id FROM players WHERE wins + draws + losses <> ({query})"
        doubled = database.execute(query).fetchall()
    wrong = [f"{server}: {name} was answered, and is not there" for server, name in sorted(loss.owed - there)]
    wrong += [f"{loss.edits} edits were answered, {edits} are there"] if edits < loss.edits else []
    wrong += [f"{player} has other rounds than those that are there" for (player,) in doubled]
    return wrong + ([f"the store is damaged: {whole}"] if whole != "ok" else [])


def power_lost(trial: Trial) -> int:
    """Start a daemon on the images of a record; how many."""
    changes = recorded(trial.folder / "recorded", trial.rng)
    return opened(trial, changes, lambda image, _: made(Daemon, trial.folder, image))


def power_lost_shared(trial: Trial) -> int:
    """The same with a shared pool, whose database has what was committed until then: no round waits for the store."""
    from tests.postgres import PASSWORD, Postgres, cluster

    def lines(server: Postgres, database: str) -> str:
        return f'database = "{server.url(database)}"\ndatabase_password_file = "database"\n'

    @contextmanager
    def away(server: Postgres) -> Iterator[None]:
        server.stop()
        yield
        server.start()

    with cluster() as server:
        folder, whole = trial.folder / "recorded", server.database()
        for place in (folder, trial.folder):
            place.mkdir(exist_ok=True)
            (place / "database").write_text(f"{PASSWORD}\n")
            (place / "database").chmod(0o600)
        daemon = made(Recorded, folder, folder / "state", lines(server, whole))
        changes = played(daemon, trial.rng, 70, lambda: away(server))

        def opening(image: Path, loss: Loss) -> Daemon:
            database = f"moment{loss.at}_{trial.rng.randrange(10**9)}"
            server.sql(f"CREATE DATABASE {database} TEMPLATE {whole}")
            # Of an event its time is from right before its commit.
            until = changes[loss.at - 1].when
            server.sql(
                "DELETE FROM equipoise.events WHERE number IN "
                f"(SELECT number FROM equipoise.events WHERE at > {until!r}); "
                "UPDATE equipoise.pools SET (last, digest) = (SELECT number, digest FROM equipoise.events "
                "WHERE piece = 0 ORDER BY number DESC LIMIT 1); SELECT 1",
                database,
            )
            return made(Daemon, trial.folder, image, lines(server, database))

        # Before the first round is stored, the pool may not be in the database.
        begun = next(at for at, change in enumerate(changes, 1) if b':"stored"' in change.data)
        return opened(trial, changes, opening, begun)


def opened(trial: Trial, changes: Sequence[Change], opening: Callable[[Path, Loss], Daemon], since: int = 0) -> int:
    """Start a daemon on what a disk may have kept at moments of a record; how many."""
    moments = losses(changes, SERVER, trial.rng, 10 if trial.scale == 1 else 60, since)
    for image, loss in images(changes, moments, trial.folder, trial.rng):
        daemon = opening(image, loss)
        try:
            daemon.start()
            end = time.monotonic() + 20.0
            while time.monotonic() < end and loss.owed - stored.keys(image / "equipoise.db"):
                time.sleep(0.1)
            cases = missing(image / "equipoise.db", loss)
        except Ended as error:
            cases = [f"{error}"]
        finally:
            daemon.kill()
        trial.verdict.lost += [f"power lost after {loss.at} changes: {case}" for case in cases]
        trial.rounds += len(loss.owed)
    trial.settled = True
    trial.note = f"{len(moments)} moments of {len(changes)} changes"
    return len(moments)


def database_missing() -> str | None:
    if find_spec("asyncpg") is None:
        return "asyncpg"
    return None if any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) else "PostgreSQL"


FAULTS = (
    Fault("power loss", power_lost, tracing_missing, own=True),
    Fault("power loss, shared pool", power_lost_shared, lambda: tracing_missing() or database_missing(), own=True),
)
