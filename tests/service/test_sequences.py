"""Sequential systems, as a pool's own and as its balance system: live, they are what a replay of the store makes."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.balancing.chances import outlook_of
from equipoise.core.effects import RecordRound
from equipoise.core.events import RosterSeen
from equipoise.core.model import Counts, Side
from equipoise.errors import RatingError, ScriptError
from equipoise.ratings.system import Match, System
from equipoise.service.diagnosis import of_daemon
from equipoise.service.held import fingerprint_of
from equipoise.service.metrics import of_pools
from equipoise.service.place import begun
from equipoise.service.pool import Pool
from equipoise.service.refits import Spreads
from equipoise.service.replayed import Replayed, begin
from equipoise.service.retention import Retention, RetentionDays
from equipoise.service.ring import Ring
from equipoise.store.past import VoidStrike
from equipoise.store.player_rows import Fingerprint
from equipoise.store.recalculation import SpreadFound
from equipoise.store.sequence import PIECE, Event, Snapshot
from equipoise.store.store import Store
from tests.hosts import BOOT, GivenClock, Rig, roster
from tests.hosts import player as host_player
from tests.opened_pool import Followed, caught_up, new_pool
from tests.pools import an_import, recomputed
from tests.store.samples import SERVER, a_round, player, sql, with_spans

PEOPLE = range(1, 15)

FEW_ACTIVE = {"active": 8, "drift_days": 0.01}

"""Fewer than play: who has gone longest is parked, and comes back."""


def joint(**params: object) -> System[Any]:
    return ratings.create("joint", **FEW_ACTIVE, **params)


@asynccontextmanager
async def opened(
    directory: Path, system: System[Any], balance: System[Any] | None = None, store: Store | None = None
) -> AsyncIterator[Pool]:
    store = store or Store(directory / "s.db")
    await store.open()
    ring = Ring(directory / "main.ring")
    pool = new_pool(system, store, ring, GivenClock(1_800_000_000.0), balance=balance)
    await pool.open()
    await caught_up(pool)
    try:
        yield pool
    finally:
        await pool.close()
        await store.close()


def rounds(count: int, first: int = 0, seed: int = 1) -> list[RecordRound]:
    """3 against 3 or 3 against 2; one in ten went live before those that came earlier."""
    draw, found = random.Random(f"{seed} {first}"), []
    for number in range(first, first + count):
        sides = draw.sample(PEOPLE, 6)
        late = 1_763_000_000.0 if draw.random() < 0.1 else None
        winner = draw.choice([Side.A, Side.B, None])
        cut = 5 if draw.random() < 0.3 else 6
        found.append(a_round(number, a=sides[:3], b=sides[3:cut], winner=winner, started_at=late))
    return found


async def played(pool: Pool, records: Sequence[RecordRound]) -> None:
    for record in records:
        await pool.record(record, None)


async def replayed(pool: Pool, system: System[Any]) -> System[Any]:
    """What the whole sequence makes of a system, from its first event on."""
    like = type(system)(system.params)
    begin(like, await pool.store.learnt_spread("main"))
    anew = Replayed(like, await pool.store.fingerprint("main"))
    for event in await _events(pool):
        if hasattr(event, "record"):
            with suppress(RatingError):
                anew.rate(event.record)
        else:
            anew.edit(event)
    return anew.system


async def _events(pool: Pool) -> list[Any]:
    found: list[Any] = []
    await pool.store.events("main", found.append)
    return found


def known(system: System[Any]) -> list[float]:
    """All that is known of everybody."""
    people = [player(number) for number in PEOPLE]
    covariance = system.covariance(people)
    numbers = [number for row in covariance for number in row]
    for one in people:
        shown = system.summary(one)
        numbers += [system.skill(one), shown.rating, shown.rounds, shown.last_played or 0.0]
    return numbers


def stored_ratings(pool: Pool) -> dict[str, float]:
    return dict(sql(pool.store.path, "SELECT id, rating FROM players"))


async def assert_as_replayed(pool: Pool) -> None:
    """To the 1e-9 of a point: sums of floating-point numbers in the same order."""
    if pool.follower is not None:
        await pool.follower.caught_up()
        assert pool.follower.ready, pool.follower.failure
        assert known(pool.balancing) == pytest.approx(known(await replayed(pool, pool.balancing)), rel=1e-9, abs=1e-9)
    if pool.system.sequential:
        anew = await replayed(pool, pool.system)
        assert known(pool.system) == pytest.approx(known(anew), rel=1e-9, abs=1e-9)
        for one, rating in stored_ratings(pool).items():
            assert rating == pytest.approx(pool.system.summary(one).rating, rel=1e-9), "shown is what is stored"  # type: ignore[arg-type]


STEPS = st.lists(
    st.sampled_from(["rounds", "set", "reset", "import", "void", "put back", "undo", "spread", "restart", "kill"]),
    min_size=2,
    max_size=8,
)


@pytest.mark.slow
@pytest.mark.also_shared
@pytest.mark.parametrize("own", ["joint", "synelo"])
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS, seed=st.integers(0, 1000))
@example(steps=["spread", "rounds", "void", "spread", "put back", "kill"], seed=1)
def test_whatever_happens_to_a_pool_a_replay_makes_the_same_of_it(
    tmp_path_factory: pytest.TempPathFactory, own: str, steps: list[str], seed: int
) -> None:
    async def lived() -> None:
        life = Life(tmp_path_factory.mktemp("pool"), own, seed)
        await life.begin()
        for step in ["rounds", *steps]:
            await life.step(step)
        await assert_as_replayed(life.pool)
        await life.end()

    asyncio.run(lived())


async def learn(pool: Pool, spread: float) -> None:
    """Have a pool adopt a spread of skill, as its nightly fit does."""
    found = SpreadFound(rounds=200, present=0.25, spread=spread, error=0.01, missing=0)
    await Spreads({}, GivenClock(1_800_000_000.0)).adopt(pool, found)


class Life:
    """A pool that is opened and closed, with what was sent to it."""

    pool: Pool

    def __init__(self, folder: Path, own: str, seed: int) -> None:
        self.folder, self.own, self.seed, self.draw = folder, own, seed, random.Random(seed)
        self.sent = 0
        self.whole: list[RecordRound] = []
        self.void: list[RecordRound] = []

    async def begin(self) -> None:
        store = Store(self.folder / "s.db")
        await store.open()
        system, balance = (joint(), None) if self.own == "joint" else (ratings.create(self.own), joint())
        ring = Ring(self.folder / "main.ring")
        self.pool = new_pool(system, store, ring, GivenClock(1_800_000_000.0), balance=balance)
        await self.pool.open()

    async def end(self, *, killed: bool = False) -> None:
        if not killed:
            await self.pool.close()
        elif isinstance(self.pool, Followed):
            await self.pool.kill()
        elif self.pool.follower is not None:
            await self.pool.follower.stop()
        self.pool.ring.close()
        await self.pool.store.close()

    async def step(self, name: str) -> None:
        one = player(self.draw.choice(PEOPLE))
        match name:
            case "rounds":
                more = rounds(self.draw.choice([3, 40, 130]), self.sent, self.seed)
                self.sent += len(more)
                self.whole += more
                await played(self.pool, more)
            case "set":
                await self.pool.edit(one, float(self.draw.randrange(600, 1500)), "owner")
            case "reset":
                await self.pool.edit(one, None, "owner")
            case "import":
                given = {number: float(self.draw.randrange(600, 1500)) for number in self.draw.sample(PEOPLE, 4)}
                await self.pool.adopt(an_import(self.pool.system, given))
            case "undo":
                with suppress(ScriptError):  # nobody edited them
                    await self.pool.undo(one, "owner")
            case "void" | "put back":
                await self.strike(back=name == "put back")
            case "spread":
                await learn(self.pool, self.draw.choice([0.1, 0.4, 1.0]))
            case _:
                await self.end(killed=name == "kill")
                await self.begin()

    async def strike(self, *, back: bool) -> None:
        source, target = (self.void, self.whole) if back else (self.whole, self.void)
        if source:
            target.append(source.pop(self.draw.randrange(len(source))))
            await self.pool.void(VoidStrike(SERVER, target[-1].round.id, back=back), "owner", "")


@pytest.mark.slow
async def test_a_start_goes_on_from_the_newest_snapshot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(tmp_path, ratings.create("synelo"), joint()) as pool:
        for first in range(0, 250, 50):
            await played(pool, rounds(50, first))
            await assert_as_replayed(pool)
    numbers = [number for _, number, _ in _snapshots(tmp_path)]
    assert len(numbers) == 2
    assert 100 <= numbers[0] < 200 <= numbers[1], "the newest two"
    sql(tmp_path / "s.db", "UPDATE rounds SET winner = NULL WHERE number < 50")
    async with opened(tmp_path, ratings.create("synelo"), joint()) as pool:
        skills = known(pool.balancing)
        assert skills != known(await replayed(pool, pool.balancing)), "what is before the snapshot is not read again"
    sql(tmp_path / "s.db", "UPDATE snapshots SET data = CAST(substr(data, 1, 500) AS BLOB) WHERE number >= 200")
    with caplog.at_level(logging.WARNING):
        async with opened(tmp_path, ratings.create("synelo"), joint()) as pool:
            assert known(pool.balancing) == pytest.approx(skills, rel=1e-9)
    assert "is damaged: an older one is used" in caplog.text


def _snapshots(folder: Path) -> list[tuple[str, int, int]]:
    return sql(folder / "s.db", "SELECT purpose, number, base FROM snapshots ORDER BY number")


async def test_a_snapshot_is_read_as_it_was_written_and_a_new_one_takes_the_pages_of_the_one_that_it_replaces(
    tmp_path: Path,
) -> None:
    """Pages that are freed behind it would be written too, as empty ones."""
    store, draw, free = Store(tmp_path / "s.db"), random.Random(7), []
    await store.open()

    async def keep(number: int, size: int) -> None:
        snapshot = Snapshot("balance", number, Fingerprint("joint", {}), draw.randbytes(size))
        await store.keep_snapshot("main", snapshot, 0)
        assert await store.snapshot("main", "balance") == snapshot

    for number in range(1, 6):
        await keep(number, 10 * PIECE)
        free += sql(tmp_path / "s.db", "PRAGMA freelist_count")[0]
    assert [number for _, number, _ in _snapshots(tmp_path)] == [4, 5]
    assert free == [0] * 5
    for size in (3 * PIECE + 17, PIECE, 0, 5 * PIECE):
        await keep(5, size)
    await store.close()


class Reads(Store):
    """A store that counts how often events are read."""

    count = 0

    async def events_after(self, *given: Any) -> Sequence[Event]:
        self.count += 1
        return await super().events_after(*given)


@pytest.mark.also_shared
async def test_rounds_that_were_stored_just_now_are_read_only_if_something_lies_before_them(tmp_path: Path) -> None:
    first, unrated, *others = rounds(7)
    store = Reads(tmp_path / "s.db")
    async with opened(tmp_path, ratings.create("synelo"), joint(), store) as pool:

        async def reads(*work: Coroutine[Any, Any, Any]) -> int:
            before = store.count
            await asyncio.gather(*work)
            await pool.follower.caught_up()
            assert pool.follower.system.snapshot() == (await replayed(pool, pool.balancing)).snapshot()
            return store.count - before

        def record(one: RecordRound) -> Coroutine[Any, Any, Any]:
            return pool.record(one, None)

        assert await reads(record(first)) == 0
        assert await reads(record(replace(unrated, participants=(), unrated="short")), record(others[0])) > 0
        assert await reads(record(others[1]), record(others[2])) == 0, "two that share a commit"
        assert await reads(pool.edit(player(1), 1234.0, "owner"), record(others[3])) > 0
        assert await reads(record(others[4])) == 0
        assert await reads(pool.void(VoidStrike(SERVER, others[4].round.id), "owner", "")) > 0


PARTS = st.floats(0.0, 1.0)

COUNT = st.integers(0, 400)


@st.composite
def rated_rounds(draw: st.DrawFn) -> RecordRound:
    """A round with all that a rating system may read."""
    record = a_round(draw(st.integers(1, 9)), a=(5, 1, 4), b=(3, 2), winner=draw(st.sampled_from([*Side, None])))
    if draw(st.booleans()):
        record = with_spans(record)
    seconds = draw(st.floats(0.1, 1e5))
    counts = st.none() | st.builds(
        Counts, COUNT, COUNT, COUNT, st.integers(-9, 900), st.dictionaries(st.text(max_size=3), PARTS), COUNT
    )
    game_round = replace(
        record.round,
        seconds=seconds,
        map=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=4)),
        started_at=draw(st.floats(0.0, 1.7e9)),
        presences=tuple(replace(each, left=draw(st.booleans())) for each in record.round.presences),
        squads=draw(st.sampled_from([(), ((player(5), player(3)),)])),
    )
    people = draw(st.permutations(record.participants[: draw(st.sampled_from([2, 4, 5]))]))
    return RecordRound(
        game_round,
        tuple(replace(each, seconds_a=draw(PARTS) * seconds, counts=draw(counts)) for each in people),
        None,
        draw(st.none() | st.dictionaries(st.sampled_from([each.id for each in people]), st.floats(0.0, 1e4))),
    )


@settings(max_examples=3 * settings.default.max_examples // 2)
@given(records=st.lists(rated_rounds(), min_size=1, max_size=3, unique_by=lambda record: record.round.id))
def test_what_is_stored_of_a_round_makes_the_match_that_was_rated(records: list[RecordRound]) -> None:
    async def pairs(folder: Path) -> list[tuple[Match | None, Match | None]]:
        by_id = {record.round.id: record for record in records}
        async with opened(folder, ratings.create("elo")) as pool:
            for record in records:
                with suppress(ScriptError):  # a text that is no UTF-8
                    await pool.record(record, None)
            events = await _events(pool)
        return [(match_of(by_id[event.record.round.id]), match_of(event.record)) for event in events]

    with TemporaryDirectory() as folder:
        for live, stored in asyncio.run(pairs(Path(folder))):
            assert live == stored
            assert _typed(live) == _typed(stored), "1 is equal to 1.0, and read otherwise"


def _typed(match: Match | None) -> bytes:
    return msgspec.json.encode(match, order="deterministic")


@pytest.mark.slow
async def test_what_a_strike_makes_wrong_is_not_gone_on_from(tmp_path: Path) -> None:
    records = rounds(240)
    async with opened(tmp_path, joint()) as pool:
        await played(pool, records)
        assert len(_snapshots(tmp_path)) == 2
        for early in (records[0], records[150]):
            await pool.void(VoidStrike(SERVER, early.round.id), "owner", "cheats")
            (kept,) = [number for _, number, _ in _snapshots(tmp_path) if number > 151]
            assert kept == await pool.store.last_number("main"), "what the replay has made"
            await assert_as_replayed(pool)


@pytest.mark.slow
async def test_what_began_before_a_strike_leaves_no_snapshot_after_it(tmp_path: Path) -> None:
    records = rounds(10)
    async with opened(tmp_path, ratings.create("synelo"), joint()) as pool:
        await played(pool, records)
        recorded = await pool.store.fingerprint("main")
        place = await begun(pool.store, "main", "balance", joint(), recorded)
        await place.go_on()
        await pool.void(VoidStrike(SERVER, records[3].round.id), "owner", "")
        await place.go_on()
        assert place.number == await pool.store.last_number("main")
        await place.keep("balance")
        assert _snapshots(tmp_path) == []
        later = await begun(pool.store, "main", "balance", joint(), recorded)
        await later.go_to_end()
        await later.keep("balance")
        assert _snapshots(tmp_path) == [("balance", place.number, 0)]


@pytest.mark.parametrize("alone", [True, False])
async def test_rounds_after_a_long_silence_are_learnt_although_every_round_before_it_was_deleted(
    tmp_path: Path, alone: bool
) -> None:
    """Their numbers go on where those of the deleted ones ended: a snapshot leads on to them."""

    def systems() -> tuple[System[Any], System[Any] | None]:
        return (joint(), None) if alone else (ratings.create("elo"), joint())

    async with opened(tmp_path, *systems()) as pool:
        await played(pool, rounds(12))
        with closing(sqlite3.connect(tmp_path / "s.db")) as db, db:
            db.execute("UPDATE rounds SET recorded_at = ?", (1_800_000_000.0 - 40 * 86_400.0,))
        retention = Retention(pool.store, [pool], GivenClock(1_800_000_000.0), RetentionDays(rounds_days=30.0))
        await retention.run()
        assert retention.pruned["rounds"] == 11
        seen = sum(pool.balancing.summary(player(number)).rounds for number in PEOPLE)
        await played(pool, rounds(6, 12))
        await caught_up(pool)
        before = known(pool.balancing)
        new = sum(len(record.participants) for record in rounds(6, 12))
        assert sum(pool.balancing.summary(player(number)).rounds for number in PEOPLE) == seen + new
    async with opened(tmp_path, *systems()) as pool:
        assert known(pool.balancing) == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("then", [{"drift_days": 0}, {"drift_days": 0.0, "stale_days": 9.0}])
async def test_a_base_whose_parameters_are_written_otherwise_stays(tmp_path: Path, then: dict[str, float]) -> None:
    """What is before it was deleted: without it, nothing leads to the rounds that are left."""
    async with opened(tmp_path, joint()) as pool:
        store = pool.store
        now = {"drift_days": 0.0, "stale_days": 30.0}
        for number, params, base in ((7, {"stale_days": 30.0, **then}, True), (8, now, False), (9, now, False)):
            await store.keep_snapshot(
                "main", Snapshot("system", number, Fingerprint("joint", params), b"data", base), 9
            )
    assert _snapshots(tmp_path) == [("system", 7, 1), ("system", 8, 0), ("system", 9, 0)]


@pytest.mark.slow
async def test_rounds_are_deleted_only_behind_a_snapshot_from_which_the_rest_follows(tmp_path: Path) -> None:
    for number, (own, balance) in enumerate([(joint(), None), (ratings.create("synelo"), joint())]):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with opened(folder, own, balance) as pool:
            await played(pool, rounds(30))
            await pool.edit(player(1), 1200.0, "owner")
            await played(pool, rounds(30, 30))
            await caught_up(pool)
            whole = known(pool.balancing)
            sql(folder / "s.db", "UPDATE rounds SET recorded_at = 1000 WHERE number <= 40")
            clock = GivenClock(1_800_000_000.0)
            retention = Retention(pool.store, [pool], clock, RetentionDays(rounds_days=30))
            await retention.run()
            assert retention.pruned["rounds"] == 39
        assert [(each[1], each[2]) for each in _snapshots(folder)] == [(40, 1)]
        async with opened(folder, own, balance) as pool:
            assert known(pool.balancing) == pytest.approx(whole, rel=1e-9, abs=1e-9)
            await pool.void(VoidStrike(SERVER, rounds(30, 30)[29].round.id), "owner", "")
            await caught_up(pool)
            assert known(pool.balancing) != pytest.approx(whole, rel=1e-9)


def failing(like: System[Any]) -> System[Any]:
    """The system, which fails at the third round that it is given."""

    class Failing(type(like)):  # type: ignore[misc]
        rated = 0

        def rate(self, match: Any) -> Any:
            self.rated += 1
            if self.rated == 3:
                raise ZeroDivisionError("a fault of ours")
            return super().rate(match)

    return Failing(like.params)


@pytest.mark.also_shared
async def test_a_balance_system_that_fails_costs_no_round_and_leaves_the_teams_to_the_pools_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, ratings.create("synelo"), failing(ratings.create("trueskill"))) as pool:
        follower = pool.follower
        await played(pool, rounds(2))
        await follower.caught_up()
        assert pool.balancing is follower.system
        assert [one.skill for one in await pool.summaries([player(2)])] == [follower.system.skill(player(2))]
        await played(pool, rounds(8, 2))
        await follower.caught_up()

        assert pool.balancing is pool.system
        assert pool.applied == 10
        assert [one.skill for one in await pool.summaries([player(2)])] == [pool.system.skill(player(2))]
        assert (follower.failures, follower.failure) == (1, "ZeroDivisionError: a fault of ours")
        (said,) = [each for each in caplog.records if each.levelno == logging.ERROR]
        assert said.getMessage() == "trueskill failed, the pool's own system makes the teams"
        (finding,) = [each for each in of_daemon(pool.store.health(), [pool], [], 1e10) if "balance" in each.what]
        assert finding.bad
        assert "balance = trueskill of pool main failed, synelo makes the teams: ZeroDivisionError" in finding.what
        shown = {each.name: each.value for each in of_pools([pool]) if "balance" in each.name}
        assert shown == {"equipoise_balance_ready": False, "equipoise_balance_failures_total": 1}


@pytest.mark.also_shared
async def test_a_balance_system_that_is_behind_is_said_when_it_lasts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    class Slow(type(ratings.create("trueskill"))):  # type: ignore[misc]
        def rate(self, match: Any) -> Any:
            go_on.wait()
            return super().rate(match)

    def said() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]

    async with opened(tmp_path, ratings.create("synelo"), Slow(ratings.create("trueskill").params)) as pool:
        await pool.follower.caught_up()
        await played(pool, rounds(1))
        await pool.summaries([player(1)])
        await pool.summaries([player(1)])
        assert said() == []
        monkeypatch.setattr("equipoise.service.place.BEHIND_LONG_SECONDS", 0.1)
        await pool.summaries([player(1)])
        assert said() == ["trueskill is behind the rounds: teams are made by what it knew before"]
        go_on.set()
        await pool.follower.caught_up()
        caplog.clear()
        await pool.summaries([player(1)])
        assert said() == []


@pytest.mark.also_shared
async def test_both_predictions_of_a_round_are_stored_and_skills_at_its_start_stay_in_the_shown_units(
    tmp_path: Path,
) -> None:
    async with Rig(tmp_path, balance=ratings.create("trueskill")) as rig:
        here = roster([1, 2], [3, 4])
        await rig.hello(here)
        for number in range(4):
            await rig.play(f"{BOOT}-{number}", here, Side.A)
            await rig.post(RosterSeen(0.0, here))
        follower = rig.pool.follower
        await follower.caught_up()
        assert rig.pool.balancing is not rig.pool.system
        (one,) = await rig.pool.summaries([host_player(1)])
        assert (one.rating, one.skill) == (rig.pool.system.skill(one.id), rig.pool.balancing.skill(one.id))
        anew = Replayed(ratings.create("trueskill"), fingerprint_of(rig.pool.system))
        expected = []
        for event in await _events(rig.pool):
            match = match_of(replace(event.record, skill_at_start=None))
            seen = outlook_of(anew.system, match)
            expected.append((anew.rate(event.record).prediction, pytest.approx(seen.unevenness)))
    found = sql(
        tmp_path / "equipoise.db",
        "SELECT prediction, balance_prediction, unevenness, skill_at_start FROM rounds ORDER BY number",
    )
    assert [(balance, unevenness) for _, balance, unevenness, _ in found] == expected
    assert all(prediction != balance for prediction, balance, *_ in found[1:])
    assert all(skill > 500 for *_, skills in found[1:] for skill in json.loads(skills).values()), "trueskill's are 25"


async def test_the_unevenness_of_rounds_is_that_of_the_system_that_makes_the_teams(tmp_path: Path) -> None:
    synelo, trueskill, glicko, elo = (ratings.create(name) for name in ("synelo", "trueskill", "glicko", "elo"))
    async with opened(tmp_path, synelo) as pool:
        await played(pool, rounds(6))
    assert _unevenness(tmp_path) == [None] * 6
    async with opened(tmp_path, synelo) as pool:
        await recomputed(pool.store, ratings.create("trueskill"))
    own = _unevenness(tmp_path)
    assert None not in own
    async with opened(tmp_path, trueskill) as pool:
        await played(pool, rounds(2, 6))
    assert _unevenness(tmp_path)[:6] == own
    assert None not in _unevenness(tmp_path)
    async with opened(tmp_path, trueskill, balance=glicko):
        pass  # it sees every round
    balance = _unevenness(tmp_path)
    assert None not in balance
    assert not set(balance) & set(own)
    async with opened(tmp_path, trueskill) as pool:
        await recomputed(pool.store, ratings.create("synelo"))
    assert _unevenness(tmp_path) == balance
    async with opened(tmp_path, synelo, balance=elo):
        pass  # it knows no deviations
    assert _unevenness(tmp_path) == [None] * 8


def _unevenness(directory: Path) -> list[float | None]:
    return [found for (found,) in sql(directory / "s.db", "SELECT unevenness FROM rounds ORDER BY number")]


async def test_a_recompute_by_a_sequential_system_leaves_a_snapshot_of_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path, ratings.create("synelo")) as pool:
        await played(pool, rounds(30))
        new = await recomputed(pool.store, joint())
    assert _snapshots(tmp_path) == [("system", 30, 0)]
    async with opened(tmp_path, joint()) as pool:
        assert known(pool.system) == pytest.approx(known(new.system), rel=1e-9)
        await played(pool, rounds(3, 30))
        await assert_as_replayed(pool)
