"""The store's end of `equipoise.refitting`: a fit in a process of its own, and its result taken over."""

from __future__ import annotations

import os
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from equipoise.errors import PoolMoved, StoreError
from equipoise.store.notes import Audit
from equipoise.store.sqlite import outcome, sequence
from equipoise.store.sqlite.process import started
from equipoise.store.upkeep import CaughtUp, Fitted

COMMAND = (sys.executable, "-P", "-m", "equipoise.refitting")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""numpy would start one for each processor: the game needs them, and the unit has a limit."""
LONGEST = 1 << 24
"""Bytes of an answer."""

Run = Callable[[Callable[[sqlite3.Connection], None]], Awaitable[None]]
"""Calls something on the store's thread."""
Transaction = Callable[[sqlite3.Connection], AbstractContextManager[None]]


class Question(msgspec.Struct, frozen=True):
    """What is asked of the process: first to fit, then to catch up with what came meanwhile."""

    store: str
    pool: str
    fitted: bool = False
    outcome: str | None = None
    """The file for the new ratings; None: it is a trial."""


class Answer(msgspec.Struct, frozen=True):
    """What the process answers: one field is set."""

    fitted: Fitted | None = None
    caught_up: CaughtUp | None = None
    refusal: str | None = None


class Fitting:
    """A fit under way: the port's `Fitting`."""

    def __init__(self, store: Path, pool: str, process: Process, run: Run, transaction: Transaction) -> None:
        self._question = Question(str(store), pool)
        self._process = process
        self._run, self._transaction = run, transaction

    async def fitted(self) -> Fitted:
        """Wait until all rounds are fitted."""
        found = (await self._asked(self._question)).fitted
        assert found is not None
        return found

    async def tried(self) -> CaughtUp:
        """What would change now."""
        return await self._caught_up(None)

    async def adopt(self, entry: Audit) -> CaughtUp:
        """Rate what came meanwhile, and write the new ratings."""
        with outcome.new_file(Path(self._question.store), self._question.pool) as file:
            found = await self._caught_up(file)
            await self._run(partial(self._take_over, file=file, found=found, entry=entry))
        return found

    def _take_over(self, db: sqlite3.Connection, file: Path, found: CaughtUp, entry: Audit) -> None:
        pool = self._question.pool
        with outcome.attached(db, file), self._transaction(db):
            if sequence.last_number(db, pool) != found.last:
                raise PoolMoved(f"pool {pool}: rounds came meanwhile")
            sequence.forget_refits(db, pool)
            edit = sequence.add(db, pool, "refit", entry, {}, found.shared)
            outcome.take_over(db, pool, edit, whole=True)

    async def _caught_up(self, file: Path | None) -> CaughtUp:
        outcome = None if file is None else str(file)
        asked = msgspec.structs.replace(self._question, fitted=True, outcome=outcome)
        found = (await self._asked(asked)).caught_up
        assert found is not None
        return found

    async def _asked(self, question: Question) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(msgspec.json.encode(question) + b"\n")
            answer = msgspec.json.decode(await self._process.stdout.readline(), type=Answer)
        except (OSError, ValueError):
            raise StoreError(f"pool {question.pool}: the process that fits all rounds has died") from None
        if answer.refusal is not None:
            raise StoreError(answer.refusal)
        return answer


@asynccontextmanager
async def fitting(store: Path, pool: str, run: Run, transaction: Transaction) -> AsyncIterator[Fitting]:
    """A process that fits a pool; it ends with this."""
    purpose, env = "fits all rounds", os.environ | ONE_THREAD
    async with started(COMMAND, purpose, stdin=PIPE, stdout=PIPE, limit=LONGEST, env=env) as process:
        yield Fitting(store, pool, process, run, transaction)
