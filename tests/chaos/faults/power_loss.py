"""A power loss: a daemon is recorded, and others start with what a disk may have kept of its files; ../power.py."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
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
    """A new store with so many rounds: stored, kept and applied, with edits between, and an end as systemd wants it."""
    folder.mkdir()
    (folder / "state").mkdir()
    daemon = Recorded(folder, folder / "state", POOLS, {SERVER: "main"})
    script = Script(SERVER, secret_of(SERVER), daemon.port, Book(), rng)
    daemon.start(trace=True)
    try:
        for number in range(rounds):
            script.play()
            if number % 20 == 10:
                with locked(daemon.state / "equipoise.db"):
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
    return read(folder / "points.record")


def missing(store: Path, loss: Loss) -> list[str]:
    """What was answered and is not in a store, and what is wrong with the file."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        (whole,) = database.execute("PRAGMA integrity_check").fetchone()
        (edits,) = database.execute("SELECT count(*) FROM edits").fetchone()
        there = set(database.execute("SELECT server, id FROM rounds"))
    wrong = [f"{server}: {name} was answered, and is not there" for server, name in sorted(loss.owed - there)]
    wrong += [f"{loss.edits} edits were answered, {edits} are there"] if edits < loss.edits else []
    return wrong + ([f"the store is damaged: {whole}"] if whole != "ok" else [])


def power_lost(trial: Trial) -> int:
    """Start a daemon on the images of a record; how many."""
    changes = recorded(trial.folder / "recorded", trial.rng)
    moments = losses(changes, SERVER, trial.rng, 10 if trial.scale == 1 else 60)
    for image, loss in images(changes, moments, trial.folder, trial.rng):
        daemon = Daemon(trial.folder, image, POOLS, {SERVER: "main"})
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


FAULTS = (Fault("power loss", power_lost, tracing_missing, own=True),)
