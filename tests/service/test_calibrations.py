"""What is said of chances is calibrated by a pool's own results, as an event of its sequence."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.balancing import outlook
from equipoise.core.effects import RecordRound
from equipoise.core.model import Context, Mode, Side
from equipoise.errors import StoreError
from equipoise.ratings import create
from equipoise.ratings.calibration import NONE, Calibrated, Calibration
from equipoise.service.held import calibration_at
from equipoise.service.pool import Pool
from equipoise.service.refits import OFTEN, Calibrations
from equipoise.store.past import VoidStrike
from equipoise.store.recalculation import CalibrationFit, CalibrationFound
from equipoise.store.store import Store
from tests.hosts import GivenClock
from tests.opened_pool import caught_up, opened, played
from tests.store.samples import SERVER, a_round, player, sql

pytestmark = pytest.mark.also_shared

HERE = Context(Mode.ARENA, "arena_well")
FOUND = CalibrationFound(400, 1.5, {"blu": -0.25, "red": 0.25}, {"arena_well": -0.125}, 0.02, 0.004, 0.02, 0.004, True)
"""By a fit that this file makes up."""


def one(number: int) -> RecordRound:
    """A round of three against three among eight, whom their number makes better."""
    chance = random.Random(number)
    six = chance.sample(range(8), 6)
    odds = 0.7 * (sum(six[:3]) - sum(six[3:]))
    winner = Side.A if chance.random() < 1 / (1 + math.exp(-odds)) else Side.B
    return a_round(number, a=six[:3], b=six[3:], winner=winner)


async def play(pool: Pool, count: int, first: int = 1) -> None:
    await played(pool, (one(number) for number in range(first, first + count)))


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[CalibrationFit]:
    """Fits are made up; what was asked of them."""
    asked: list[CalibrationFit] = []

    async def fit(_: Store, __: str, wanted: CalibrationFit) -> CalibrationFound:
        asked.append(wanted)
        return FOUND

    monkeypatch.setattr(Store, "calibration", fit)
    return asked


def rows(folder: Path, columns: str = "prediction, balance_prediction, said, unevenness") -> list[tuple[Any, ...]]:
    return sql(folder / "s.db", f"SELECT {columns} FROM rounds ORDER BY number")


def said_of(calibration: Calibration, predicted: Sequence[float]) -> list[float]:
    """By the formula of docs/parameters.md, written anew: RED is A, and BLU comes first in the alphabet."""
    worth = calibration.sides["red"] - calibration.sides["blu"] - calibration.maps["arena_well"]
    odds = [calibration.temperature * math.log(p / (1 - p)) + worth for p in predicted]
    return [1 / (1 + math.exp(-each)) for each in odds]


@pytest.mark.also_shared(False)  # it has hundreds of rounds
@pytest.mark.slow
async def test_a_pool_whose_favourites_win_more_often_than_predicted_says_so_from_then_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        clock = GivenClock(1_800_000_000.0)
        job = Calibrations({"main": pool}, clock)
        await play(pool, 299)
        assert await job.calibrate(pool, "ann") is None
        await play(pool, 101, first=300)
        tried = await job.calibrate(pool, "ann", dry_run=True)
        assert tried.better
        assert (await job.status(pool)).present == NONE
        await job.run()
        status = await job.status(pool)
        found = status.present
        assert found.temperature > 1.3
        assert (found.temperature, found.sides, found.maps) == (tried.temperature, tried.sides, tried.maps)
        (line,) = await pool.store.audits(1)
        assert (line.who, line.action, line.target, line.before) == ("job", "calibration", "pool main", "none")
        assert line.after.startswith(f"temperature {found.temperature:.3g}, sides blu ")
        sides = [player(n) for n in (0, 1, 2)], [player(n) for n in (5, 6, 7)]
        said, raw = (outlook(system, HERE, *sides) for system in (pool.balancing, pool.system))
        assert [said.chance] == pytest.approx(said_of(found, [raw.chance]), abs=1e-12)
        assert said.teams == pytest.approx(found.said(raw.chance), abs=1e-12), "without side and map"

        await play(pool, 200, first=401)
        stored = rows(tmp_path)
        assert [said for _, _, said, _ in stored[:400]] == [None] * 400
        assert [said for _, _, said, _ in stored[400:]] == pytest.approx(
            said_of(found, [row[0] for row in stored[400:]])
        )
        losses = [[surprise(row[column], one(400 + n)) for n, row in enumerate(stored[400:], 1)] for column in (2, 0)]
        assert sum(losses[0]) < sum(losses[1])
        (last,) = await pool.store.rounds(None, None, 1)
        assert (last.prediction, last.rating_prediction) == (stored[-1][2], stored[-1][0])
        assert [each.said for each in await pool.store.measured("main", 2)] == [stored[-2][2], stored[-1][2]]


def surprise(said: float, record: RecordRound) -> float:
    return -math.log(said if record.round.winner is Side.A else 1 - said)


@pytest.mark.slow
async def test_what_is_said_is_the_same_live_after_a_restart_and_in_a_replay(
    tmp_path: Path, made_up: list[CalibrationFit]
) -> None:
    async def adopt(pool: Pool) -> None:
        await Calibrations({"main": pool}, GivenClock(1_800_000_000.0)).calibrate(pool, "ann")

    def check(which: int) -> None:
        """Every round after the calibration says what its prediction is worth, the others what they predict."""
        stored = rows(tmp_path)
        assert [row[2] for row in stored[:10]] == [None] * 10
        predicted = [row[which] for row in stored[10:] if row[0] is not None]
        said = [row[2] for row in stored[10:] if row[0] is not None]
        assert said == pytest.approx(said_of(Calibration(1.5, FOUND.sides, FOUND.maps), predicted), abs=1e-12)

    async with opened(tmp_path) as pool:
        await play(pool, 10)
        await adopt(pool)
        await play(pool, 10, first=11)
    check(0)
    async with opened(tmp_path) as pool:
        assert isinstance(pool.balancing, Calibrated)
        await play(pool, 5, first=21)
        check(0)
        for number in (3, 14):
            await pool.void(VoidStrike(SERVER, a_round(number).round.id), "ann", "")
        check(0)
        before = rows(tmp_path)
        await pool.void(VoidStrike(SERVER, a_round(3).round.id, back=True), "ann", "")
        check(0)
        assert rows(tmp_path)[20:] != before[20:]
        await play(pool, 1, first=26)
        check(0)


async def test_a_balance_system_is_calibrated_and_the_one_that_is_shown_is_not(
    tmp_path: Path, made_up: list[CalibrationFit]
) -> None:
    async with opened(tmp_path, balance=create("trueskill")) as pool:
        job = Calibrations({"main": pool}, GivenClock(1_800_000_000.0))
        await play(pool, 10)
        await caught_up(pool)
        await job.calibrate(pool, "ann")
        assert made_up == [CalibrationFit(True, 0, 1.0, {}, {})]
        await play(pool, 10, first=11)
        await caught_up(pool)
        assert (await job.status(pool)).present.temperature == 1.5
        sides = [player(n) for n in (0, 3, 7)], [player(n) for n in (1, 4, 6)]
        known = outlook(pool.balancing, HERE, *sides)
        raw = outlook(pool.follower.system, HERE, *sides)  # type: ignore[union-attr]
        assert (known.low, known.high) != (raw.low, raw.high)
        assert known.low < known.chance < known.high
    stored = rows(tmp_path)
    said = said_of(Calibration(1.5, FOUND.sides, FOUND.maps), [row[1] for row in stored[10:]])
    assert [row[2] for row in stored[10:]] == pytest.approx(said, abs=1e-12)
    assert [row[2] for row in stored[:10]] == [None] * 10
    sql(tmp_path / "s.db", "UPDATE rounds SET balance_prediction = NULL, said = NULL, unevenness = NULL")
    async with opened(tmp_path, balance=create("trueskill")) as pool:  # it begins with the first round
        await caught_up(pool)
    assert rows(tmp_path) == stored
    async with opened(tmp_path, balance=create("trueskill", beta=5.0)) as pool:  # another system
        await caught_up(pool)
        assert (await Calibrations({"main": pool}, GivenClock(0.0)).status(pool)).present == NONE
    assert [row[2] for row in rows(tmp_path)] == [None] * 20


async def test_another_spread_of_skill_ends_a_calibration(tmp_path: Path, made_up: list[CalibrationFit]) -> None:
    async with opened(tmp_path, "joint") as pool:
        job = Calibrations({"main": pool}, GivenClock(1_800_000_000.0))
        await play(pool, 3)
        await job.calibrate(pool, "ann")
        edits = list(await pool.store.calibrations("main"))
        learnt = replace(edits[0], number=9, action="spread", detail={})
        assert calibration_at(edits, pool.system).temperature == 1.5
        assert calibration_at([*edits, learnt], pool.system) == NONE
        assert calibration_at([*edits, learnt], pool.system, 8).temperature == 1.5
        assert calibration_at([*edits, learnt], create("synelo")) == NONE, "it is another system's"
        assert calibration_at([learnt], create("synelo")) == NONE


async def test_a_calibration_that_has_become_worse_than_none_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [FOUND, CalibrationFound(500, 1.0, {}, {}, 0.0, 0.0, 0.01, 0.004, True)]

    async def fit(*_: object) -> CalibrationFound:
        return answers.pop(0)

    monkeypatch.setattr(Store, "calibration", fit)
    async with opened(tmp_path) as pool:
        job = Calibrations({"main": pool}, GivenClock(1_800_000_000.0))
        await play(pool, 2)
        await job.calibrate(pool, "ann")
        assert (await job.status(pool)).present.temperature == 1.5
        assert pool.balancing is not pool.system
        await job.calibrate(pool, "ann")
        assert (await job.status(pool)).adopted is None
        assert pool.balancing is pool.system, "what it predicts is said as it is"
        assert calibration_at(await pool.store.calibrations("main"), pool.system) == NONE


async def test_a_fit_during_which_another_spread_was_learnt_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fit(*_: object) -> CalibrationFound:
        sql(tmp_path / "s.db", "INSERT INTO edits VALUES (99, 'main', 1.0, 'job', 'spread', '{}', NULL)")
        return FOUND

    monkeypatch.setattr(Store, "calibration", fit)
    async with opened(tmp_path, "joint") as pool:
        await play(pool, 1)
        with pytest.raises(StoreError, match="another spread of skill was learnt meanwhile"):
            await Calibrations({"main": pool}, GivenClock()).calibrate(pool, "ann")
        assert [edit.action for edit in await pool.store.calibrations("main")] == ["spread"]


async def test_a_pool_is_calibrated_once_a_week_and_one_that_cannot_be_stops_no_other(
    tmp_path: Path, made_up: list[CalibrationFit], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as pool:
        clock = GivenClock(1_800_000_000.0)
        job = Calibrations({"main": pool}, clock)
        await play(pool, 1)
        await job.run()
        await job.run()
        assert len(made_up) == 1
        clock.now += OFTEN - 1
        await Calibrations({"main": pool}, clock).run()  # a start does not forget when it was adopted
        assert len(made_up) == 1
        clock.now += 1
        await job.run()
        assert len(made_up) == 2
        assert made_up[1].temperature == 1.5

        async def dies(*_: object) -> None:
            raise StoreError("the process has died")

        monkeypatch.setattr(Store, "calibration", dies)
        clock.now += OFTEN
        with pytest.raises(StoreError, match="the process has died"):
            await job.run()
        assert (await job.status(pool)).present.temperature == 1.5
