"""Stored rounds rated anew are as if the new system had rated them from the first day; or nothing is changed."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId
from equipoise.errors import RatingError, ScriptError
from equipoise.ratings.system import System
from equipoise.service.held import fingerprint_of
from equipoise.service.pool import Pool
from equipoise.service.replayed import Replayed, Trial
from equipoise.service.ring import Ring
from equipoise.store.measurements import Prediction
from equipoise.store.round_rows import RatedRound
from equipoise.store.store import Store
from tests.hosts import GivenClock
from tests.pools import RECOMPUTE, fill, recomputed, some_rounds, stored
from tests.store.samples import opened, player


async def anew(store: Store, system: System[Any]) -> Replayed:
    return Replayed(system, await store.fingerprint("main"))


def without_skill_at_start(records: list[RecordRound]) -> list[RecordRound]:
    return [replace(record, skill_at_start=None) for record in records]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "params"),
    [
        ("synelo", {}),
        ("elo", {"k": 40.0}),
        ("glicko2", {}),
        ("ns2", {"plus_side": "red"}),
        ("ns2", {"plus_side": "red", "hive_rounds": 25.0}),
        ("teamskill_k", {"base": "glicko"}),
        ("trueskill", {}),
        ("trueskill2", {"quit_related": 0.5}),
    ],
)
async def test_the_store_is_as_if_the_new_system_had_rated_from_the_first_day(
    tmp_path: Path, system: str, params: dict[str, object]
) -> None:
    records = list(some_rounds(60))
    await fill(tmp_path / "old", records, "synelo", k_max=3)
    await fill(tmp_path / "new", without_skill_at_start(records), system, **params)
    async with opened(tmp_path / "old" / "equipoise.db") as store:
        await recomputed(store, ratings.create(system, **params))
        audits = await store.audits(1)

    assert stored(tmp_path / "old") == stored(tmp_path / "new")
    assert audits == [RECOMPUTE]


async def test_more_rounds_than_are_read_at_once_stay_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = without_skill_at_start(list(some_rounds(41)))
    await fill(tmp_path, records)
    before = stored(tmp_path)
    monkeypatch.setattr("equipoise.store.past.PAGE", 7)
    seen: list[RecordRound] = []
    async with opened(tmp_path / "equipoise.db") as store:
        await store.rated_rounds("main", lambda record, predicted: seen.append(record))
        await recomputed(store, ratings.create("synelo"))

    assert stored(tmp_path) == before
    facts = [replace(record.round, presences=()) for record in records if record.participants]
    assert [replace(record.round, presences=()) for record in seen] == facts
    assert [record.participants for record in seen] == [each.participants for each in records if each.participants]


async def test_the_pool_goes_on_from_the_new_ratings(tmp_path: Path) -> None:
    *records, last = without_skill_at_start(list(some_rounds(40)))
    await fill(tmp_path / "old", records, "elo")
    async with opened(tmp_path / "old" / "equipoise.db") as store:
        await recomputed(store, ratings.create("synelo", window=20))
    await fill(tmp_path / "old", [last], "synelo", window=20)
    await fill(tmp_path / "new", [*records, last], "synelo", window=20)

    assert stored(tmp_path / "old") == stored(tmp_path / "new")


async def test_another_system_gives_a_player_whose_rating_was_set_the_same_advantage(tmp_path: Path) -> None:
    await fill(tmp_path, list(some_rounds(5)))
    async with opened(tmp_path / "equipoise.db") as store:
        for name in ("main", "other"):
            pool = Pool(name, ratings.create("synelo"), store, Ring(tmp_path / f"{name}.ring"), GivenClock())
            await pool.open()
            await pool.edit(player(99), 1700.0, "owner")
            await pool.edit(player(98), 1700.0, "owner")
            await pool.edit(player(98), None, "owner")
            await pool.close()
        replayed = await recomputed(store, ratings.create("elo"))
        found = await store.players("main", [player(99), player(98)], 0)
        (there,) = (await store.players("other", [player(99)], 0)).values()

    old, new = ratings.create("synelo"), replayed.system
    newcomer = new.summary(player(97)).rating
    assert found[player(98)].rating == newcomer
    ahead = found[player(99)].rating - newcomer
    assert ahead / new.gap(0.01, 3) == pytest.approx(700 / old.gap(0.01, 3))
    assert replayed.edits == {"carried": 2, "kept": 1}
    assert there.rating == 1700


async def test_what_was_carried_over_is_carried_back(tmp_path: Path) -> None:
    await fill(tmp_path, [])
    async with opened(tmp_path / "equipoise.db") as store:
        pool = Pool("main", ratings.create("synelo"), store, Ring(tmp_path / "main.ring"), GivenClock())
        await pool.open()
        await pool.edit(player(99), 1700.0, "owner")
        await pool.close()
        await recomputed(store, ratings.create("trueskill"))
        await recomputed(store, ratings.create("synelo"))
        (row,) = (await store.players("main", [player(99)], 0)).values()

    assert row.rating == 1700


class Picky(Replayed):
    """A rating system that refuses the fifth round."""

    def rate(self, record: RecordRound) -> RatedRound:
        if record.round.id.endswith("-5"):
            bot = replace(record.participants[0], id=PlayerId("bot:1"))
            record = replace(record, participants=(bot, *record.participants))
        return super().rate(record)


async def test_a_round_that_the_new_system_refuses_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    await fill(tmp_path, list(some_rounds(20)))
    before = stored(tmp_path)
    async with opened(tmp_path / "equipoise.db") as store:
        with pytest.raises(RatingError, match=r"round \S+-5 of arena-1: bot:1: bots"):
            await recomputed(store, ratings.create("elo"), Picky)
        assert await store.audits(1) == []

    assert stored(tmp_path) == before


async def test_a_store_that_fails_at_the_last_step_has_changed_nothing(tmp_path: Path) -> None:
    await fill(tmp_path, list(some_rounds(20)))
    before = stored(tmp_path)
    with closing(sqlite3.connect(tmp_path / "equipoise.db")) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT raise(ABORT, 'database or disk is full'); END"
        )
    async with opened(tmp_path / "equipoise.db") as store:
        with pytest.raises(ScriptError, match="full"):
            await recomputed(store, ratings.create("elo"))

    assert stored(tmp_path) == before


# The difference.


@pytest.mark.slow
async def test_the_difference_is_that_of_the_predictions_round_by_round(tmp_path: Path) -> None:
    records = list(some_rounds(80))
    await fill(tmp_path / "old", records)
    await fill(tmp_path / "new", without_skill_at_start(records), "elo")
    async with opened(tmp_path / "new" / "equipoise.db") as store:
        new = await store.predictions("main", None)
    async with opened(tmp_path / "old" / "equipoise.db") as store:
        old = await store.predictions("main", None)
        trial = Trial(await anew(store, ratings.create("elo")))
        await store.events("main", trial.see)
    found = trial.comparison()

    def surprise(one: Prediction) -> float:
        return -one.score * math.log(one.predicted) - (1 - one.score) * math.log(1 - one.predicted)

    def squared(one: Prediction) -> float:
        return (one.predicted - one.score) ** 2

    for measured, loss in ((found.difference.brier, squared), (found.difference.log_loss, surprise)):
        differences = [loss(after) - loss(before) for before, after in zip(old, new, strict=True)]
        error = stdev(differences) / math.sqrt(len(old))
        assert (measured.value, measured.error) == pytest.approx((fmean(differences), error))
    decisive = [each for each in old if each.score != 0.5]
    right = [0.5 if p.predicted == 0.5 else float(round(p.predicted) == p.score) for p in decisive]
    assert found.before.accuracy.value == pytest.approx(fmean(right))
    assert found.after.quality.rounds == found.before.quality.rounds == len(old)


async def test_a_pool_without_rounds_has_no_difference(tmp_path: Path) -> None:
    await fill(tmp_path, [])
    async with opened(tmp_path / "equipoise.db") as store:
        trial = Trial(await anew(store, ratings.create("elo")))
        await store.events("main", trial.see)
        assert trial.comparison() is None
        assert trial.movers(await store.top("main", None, since=None)) == []
        await recomputed(store, ratings.create("elo"))
        fingerprint = await store.fingerprint("main")

    assert fingerprint.system == "elo"


async def test_movers_are_the_players_shown_before_and_after_who_change_most_places(tmp_path: Path) -> None:
    await fill(tmp_path, list(some_rounds(40)), shadow_rounds=0)
    async with opened(tmp_path / "equipoise.db") as store:
        board = await store.top("main", None, since=None)
    worst, *_, best = reversed(board)
    system = ratings.create("elo", shadow_rounds=1)
    order = [worst, *(row for row in board if row not in (worst, best))]
    for place, row in enumerate(order):
        system.seed(row.id, rating=2000.0 - place, rounds=1)
    found = Trial(Replayed(system, fingerprint_of(system))).movers(board)

    assert (found[0].id, found[0].place_before, found[0].place_after) == (worst.id, len(board) - 1, 1)
    assert best.id not in [mover.id for mover in found]
    assert [(mover.place_before, mover.place_after) for mover in found[1:]] == [
        (place, place + 1) for place in range(1, len(board) - 1)
    ]
    assert (found[0].rating_before, found[0].rating_after) == (worst.rating, 2000.0)
