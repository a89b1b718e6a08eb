"""A damaged store: rounds wait in the ring, and are applied once and in order to the backup that is restored."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sqlite_utils.migrations import Migrations

from equipoise.service.ring import SLOTS
from tests.opened_pool import opened, rated_alone, stored_rounds, summary_of
from tests.programs import installed
from tests.store.damage import restore, wreck
from tests.store.samples import a_round, player, sql, until

BEFORE, AFTER = range(3), range(3, 3 + 2 * SLOTS)
OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.mark.parametrize("rotten", ["'{\"rating'", "'[1]'", "cast(x'ff426f62' AS TEXT)"])
async def test_a_row_that_is_not_what_was_written_is_damage_although_its_page_is_whole(
    tmp_path: Path, rotten: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(0), None)
    sql(tmp_path / "s.db", f"UPDATE players SET state = {rotten}")
    async with opened(tmp_path) as pool:
        assert (await pool.record(a_round(1), None)).status == "kept"
        assert pool.store.health().state == "damaged"
        assert [one.id for one in await pool.summaries([player(1)])] == [player(1)]  # a newcomer's
    assert "the store is damaged" in caplog.text
    assert "Bob" not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("damaged", ["rounds", "rounds_rated", "participants_by_round", "players", "players_by_time"])
async def test_rounds_that_came_while_the_store_was_damaged_are_applied_to_the_backup(
    tmp_path: Path, damaged: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    path, backup = tmp_path / "s.db", tmp_path / "backup"
    async with opened(tmp_path) as pool:
        for number in BEFORE:
            assert (await pool.record(a_round(number), None)).status == "stored"
    await asyncio.to_thread(shutil.copy, path, backup)
    await asyncio.to_thread(wreck, path, damaged)
    async with opened(tmp_path) as pool:
        for number in AFTER:
            assert (await pool.record(a_round(number), None)).status == "kept"
            await pool.drain()
        assert pool.store.health().state == "damaged"
        assert pool.ring_depth == len(AFTER)
    assert len(caplog.records) == 2  # what is wrong, and that rounds wait: not a line for each

    await asyncio.to_thread(restore, backup, path)
    async with opened(tmp_path) as pool:
        assert (pool.ring_depth, pool.applied) == (0, len(AFTER))
        rated = [summary_of(pool.system, player(one)) for one in range(1, 5)]
    assert stored_rounds(tmp_path) == [a_round(number).round.id for number in (*BEFORE, *AFTER)]
    alone = rated_alone(*(a_round(number) for number in (*BEFORE, *AFTER)))
    assert rated == [summary_of(alone, player(one)) for one in range(1, 5)]


def save(directory: Path) -> None:
    """Run the commands of docs/operations.md on the damaged store of this directory."""
    installed("sqlite3")
    (commands,) = re.findall(r"```sh\n([^`]*[.]dump[^`]*)```", OPERATIONS.read_text())
    script = commands.replace("equipoise.db", "s.db")
    subprocess.run(["sh", "-e", "-c", script], cwd=directory, check=True, capture_output=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "damaged", ["rounds", "participants", "players", "crowds", "decisions", Migrations.migrations_table]
)
async def test_what_the_documented_commands_save_of_a_damaged_store_takes_every_round_that_waited(
    tmp_path: Path, damaged: str
) -> None:
    async with opened(tmp_path) as pool:
        for number in BEFORE:
            assert (await pool.record(a_round(number), None)).status == "stored"
    await asyncio.to_thread(wreck, tmp_path / "s.db", damaged)
    async with opened(tmp_path) as pool:
        pool.store.start_check()
        await until(lambda: pool.store.health().state == "damaged")
        for number in AFTER:
            assert (await pool.record(a_round(number), None)).status == "kept"

    await asyncio.to_thread(save, tmp_path)
    async with opened(tmp_path) as pool:
        assert (pool.ring_depth, pool.applied, pool.refused) == (0, len(AFTER), 0)
        assert (await pool.record(a_round(AFTER.stop), None)).status == "stored"
        assert pool.store.health().state == "ok"
        crowd = await pool.store.crowd(pool.name, since=None)
    assert sql(tmp_path / "s.db", "SELECT count(*) FROM players") == [(crowd.count,)]
