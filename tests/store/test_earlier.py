"""Ratings and places of some time ago, beside what a walk through all rounds and edits says."""

from __future__ import annotations

import asyncio
import sqlite3
from array import array
from contextlib import closing
from pathlib import Path

import pytest

from bench.filled_store import POOL, Past, fill, player
from equipoise.core.model import PlayerId
from equipoise.store.notes import Audit
from equipoise.store.player_rows import PlayerRow
from equipoise.store.seasons import Earlier, Rule, board_at, players_at
from tests.store.samples import opened

UNTIL = 1_763_700_000.0
DAY = 86400.0
PAST = Past(players=120, rounds=1_500, days=60.0, size=8, until=UNTIL)
RULES = (Rule(50, None), Rule(50, 10 * DAY), Rule(0, 3 * DAY))


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("past") / "equipoise.db"
    asyncio.run(fill(path, PAST))
    return path


def replayed(db: sqlite3.Connection, at: float, rule: Rule) -> dict[PlayerId, Earlier]:
    """Every player by their last round before a moment."""
    then = {PlayerId(row[0]): Earlier(None, False) for row in db.execute("SELECT id FROM players")}
    rows = db.execute(
        "SELECT player, after, participants.rounds, started_at FROM participants JOIN rounds ON number = round "
        "WHERE recorded_at < ? ORDER BY round",
        (at,),
    )
    for who, rating, rounds, played in rows:
        active = rule.stale_after is None or played >= at - rule.stale_after
        then[PlayerId(who)] = Earlier(rating, rounds >= rule.shadow_rounds and active)
    return then


@pytest.mark.parametrize("days", [0.0, 0.5, 7.0, 30.0, 55.0, 59.99, 100.0])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.slow
def test_players_and_leaderboards_are_those_of_a_walk_through_all_rounds(past: Path, days: float, rule: Rule) -> None:
    at = UNTIL - days * DAY
    with closing(sqlite3.connect(past)) as db:
        db.execute("UPDATE players SET visible = rounds >= ?", (rule.shadow_rounds,))
        expected = replayed(db, at, rule)
        assert players_at(db, POOL, list(expected), at, rule) == expected
        db.commit()
    ratings = sorted(one.rating for one in expected.values() if one.listed and one.rating is not None)
    assert board_at(past, POOL, at, rule) == array("d", ratings)


async def test_an_edit_since_then_is_looked_through_unless_it_was_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "equipoise.db"
    await fill(path, Past(players=8, rounds=80, days=60.0, size=8, until=UNTIL))
    rule, at, who = Rule(50, None), UNTIL + DAY, player(3)
    async with opened(path) as store:
        (before,) = (await store.players_at(POOL, [who], at, rule)).values()

        def change(row: PlayerRow | None) -> tuple[PlayerRow, Audit]:
            new = PlayerRow(who, 0, 5000.0, row.rounds, row.visible, row.last_played, row.state, ())
            return new, Audit(UNTIL + 2 * DAY, "token:owner", "set", who, "", "")

        await store.edit(POOL, who, 0, change, {"rating": 5000.0})
        assert (await store.players_at(POOL, [who], at, rule))[who] == before
        assert (await store.players_at(POOL, [who], UNTIL + 3 * DAY, rule))[who] == Earlier(5000.0, True)
        assert board_at(path, POOL, at, rule)[-1] != 5000.0
