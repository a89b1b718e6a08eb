"""A pool's past read back takes as long per round however long it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.store import past
from tests.store.samples import Submitted, a_round, opened, submit

PIECE = 100


def _steps(path: Path) -> int:
    """Steps of SQLite, in hundreds, to read all rounds."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    with closing(sqlite3.connect(path)) as database:
        database.set_progress_handler(count, 100)
        assert sum(1 for _ in past.rated(database, "main")) == int(path.stem)
    return counted


@pytest.mark.slow
async def test_reading_four_times_as_many_rounds_takes_four_times_as_many_steps(tmp_path: Path) -> None:
    for total in (PIECE, 4 * PIECE):
        async with opened(tmp_path / f"{total}.db") as store:
            for first in range(0, total, PIECE):
                await submit(store, *(Submitted(a_round(number)) for number in range(first, first + PIECE)))
    few, many = (_steps(tmp_path / f"{total}.db") for total in (PIECE, 4 * PIECE))
    assert many < 5 * few
