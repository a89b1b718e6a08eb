"""Edits, undone edits and void rounds: memory, store and a replay from the first round on say the same, to the bit."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from equipoise import ratings
from equipoise.core.model import RoundId, Side
from equipoise.errors import ScriptError
from equipoise.replaying.revision import answer
from equipoise.service.pool import Pool
from equipoise.service.replayed import Replayed
from equipoise.store.port import Audit
from equipoise.store.sequence import Revised, RoundStrike
from equipoise.store.sqlite import SqliteStore
from equipoise.store.sqlite.replaying import Question, revised
from tests.opened_pool import opened, summary_of
from tests.store.disk import fast_directory
from tests.store.samples import SERVER, a_round, player

PLAYERS = range(1, 8)
SYSTEMS: dict[str, dict[str, Any]] = {
    "synelo": {"window": 4, "shadow_rounds": 2},
    "elo": {},
    "glicko": {},
    "glicko2": {},
    "ns2": {},
    "teamskill_k": {"base": "glicko"},
    "trueskill": {},
    "trueskill2": {},
}
ENTRY = Audit(9.0, "console", "recompute", "pool main", "as it was", "as it is")
TABLES = (
    "SELECT id, rating, rounds, visible, last_played, state FROM players ORDER BY id",
    "SELECT * FROM participants ORDER BY round, place",
    "SELECT number, id, prediction, voided, skill_at_start FROM rounds ORDER BY number",
    "SELECT key, part FROM shared ORDER BY key",
    "SELECT edited.* FROM edited JOIN edits ON number = edit "
    "WHERE action IN ('set', 'reset') AND NOT struck ORDER BY edit",
)

Step = tuple[str, Any]


class InThisProcess(SqliteStore):
    """Replays here: a process for each would take most of the time."""

    async def replayed(self, question: Question) -> Revised:
        return revised(await asyncio.to_thread(answer, question, lambda: None))


def numbers(directory: Path) -> list[list[tuple[object, ...]]]:
    """Every number that a rating system made."""
    with closing(sqlite3.connect(directory / "s.db")) as database:
        return [database.execute(query).fetchall() for query in TABLES]


async def taken(pool: Pool, number: int, step: Step) -> None:
    """One step of an evening; what cannot be done then is refused."""
    kind, what = step
    try:
        match kind:
            case "round":
                sides, winner, late = what
                record = a_round(number, a=sides[:2], b=sides[2:4], winner=winner)
                skills = {player(each): 1000.0 + 10.0 * late for each in sides[:3]}
                record = replace(record, skill_at_start=skills) if late else record
                assert (await pool.record(record, None)).status == "stored"
            case "set":
                await pool.edit(player(what[0]), float(what[1]), "console")
            case "reset":
                await pool.edit(player(what), None, "console")
            case "undo":
                await pool.undo(player(what), "console")
            case "void" | "put back":
                strike = RoundStrike(SERVER, RoundId(f"1763622000123-{what}"), kind == "put back")
                await pool.void(strike, "console", "")
    except ScriptError as error:
        assert error.status in (404, 409)  # noqa: PT017  # what was drawn may not be there


ROUNDS = st.tuples(
    st.just("round"),
    st.tuples(st.permutations(PLAYERS), st.sampled_from([Side.A, Side.B, None]), st.sampled_from([0, 0, 0, 1, 2])),
)
SOMEBODY = st.sampled_from(PLAYERS)
STEPS = st.lists(
    st.one_of(
        ROUNDS,
        ROUNDS,
        ROUNDS,
        st.tuples(st.just("set"), st.tuples(SOMEBODY, st.integers(800, 1500))),
        st.tuples(st.just("reset"), SOMEBODY),
        st.tuples(st.just("undo"), SOMEBODY),
        st.tuples(st.just("void"), st.integers(0, 12)),
        st.tuples(st.just("put back"), st.integers(0, 12)),
    ),
    max_size=14,
)


@pytest.mark.parametrize("system", SYSTEMS)
@given(steps=STEPS)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_memory_and_store_and_a_replay_from_the_first_round_say_the_same(system: str, steps: list[Step]) -> None:
    async def evening(directory: Path) -> None:
        params = SYSTEMS[system]
        async with opened(directory, system, kind=InThisProcess, **params) as pool:
            for number, step in enumerate(steps):
                await taken(pool, number, step)
            after = numbers(directory)
            fingerprint = await pool.store.fingerprint("main")
            assert fingerprint is not None
            await pool.summaries([player(number) for number in PLAYERS])
            replayed = Replayed(ratings.create(system, **params), fingerprint)
            await pool.store.recompute("main", replayed, ENTRY)
            assert numbers(directory) == after
            everybody = [player(number) for number in PLAYERS]
            alone = [summary_of(replayed.system, each) for each in everybody]
            assert list(await pool.summaries(everybody)) == alone
            assert pool.system.shared() == replayed.system.shared()

    with fast_directory() as directory:
        asyncio.run(evening(directory))
