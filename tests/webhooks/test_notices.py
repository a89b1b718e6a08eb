"""What is told of a real host, pool, store, scheduler and RCON connection, by a clock that the test sets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import pytest

from equipoise.config import Event
from equipoise.core import events as e
from equipoise.core.model import Mode, Side
from equipoise.errors import PeerError, ScriptError
from equipoise.game.peers import PeerServers
from equipoise.service.copies import Backups
from equipoise.service.host import Host
from equipoise.service.jobs import Every, Scheduler, schedule_notices
from equipoise.service.metrics import Metrics
from equipoise.service.notices import Notice, Notices
from tests.chaos.daemon import free_port
from tests.game.rcon_servers import source_server
from tests.game.test_peers import rcon
from tests.hosts import SERVER, Rig, player, roster
from tests.opened_pool import Sharing
from tests.store.failing import locked

FOUR = roster([1, 2], [3, 4])
EVERY_EVENT: set[str] = set(get_args(Event))


@dataclass
class House(Rig):
    """A rig with all that notices look at."""

    peers: PeerServers = field(default_factory=lambda: PeerServers({}))

    async def __aenter__(self) -> House:
        await super().__aenter__()
        self.scheduler = Scheduler(Metrics())
        self.hosts = {SERVER: self.host}
        self.pools = {"main": self.pool}
        self.notices = Notices(self.hosts, self.pools, self.store, self.scheduler, self.peers, self.clock, list)
        assert await self.notices.look() == [], "a start has nothing to tell"
        return self

    async def later(self, seconds: float = 10.0) -> list[str]:
        """What the next look tells."""
        return [notice.text for notice in await self.look(seconds)]

    async def look(self, seconds: float = 10.0) -> list[Notice]:
        self.clock.now += seconds
        notices = await self.notices.look()
        assert {notice.event for notice in notices} <= EVERY_EVENT
        return notices


@asynccontextmanager
async def house(folder: Path, **keys: object) -> AsyncIterator[House]:
    async with House(folder, **keys) as entered:  # type: ignore[arg-type]
        yield entered


async def test_a_script_that_falls_silent_and_comes_back_is_told_once_each(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        assert await rig.later(600) == [], "one that never called is being set up"
        await rig.hello(FOUR)
        assert await rig.later(89) == []
        (notice,) = await rig.look(6)
        assert (notice.event, notice.state, notice.server) == ("lost", "fault", SERVER)
        assert notice.text == "arena-1: its script has been silent for 95 s"
        assert await rig.later(1000) == []
        await rig.post()
        (notice,) = await rig.look(1)
        assert (notice.event, notice.state, notice.text) == (
            "lost",
            "over",
            "arena-1: its script is back, after 18 min",
        )
        assert await rig.later() == []


async def test_a_script_that_does_not_come_after_a_restart_of_the_daemon_is_told(tmp_path: Path) -> None:
    async with house(tmp_path / "one") as rig:
        await rig.hello(FOUR)
        await rig.host.close()
        host = Host(SERVER, rig.pool, rig.store, rig.rules, rig.clock)
        await host.start()
        rig.hosts[SERVER] = host
        assert await rig.later(60) == []
        assert await rig.later(60) == ["arena-1: its script has not called since the daemon started 2 min ago"]
        rig.host = host


async def test_a_server_that_is_removed_while_a_fault_stands_is_forgotten_silently(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        await rig.hello(FOUR)
        assert len(await rig.later(100)) == 1
        del rig.hosts[SERVER]
        assert await rig.later() == []
        rig.hosts[SERVER] = rig.host
        assert len(await rig.later()) == 1


async def test_new_teams_are_told_as_why_tells_them_and_nobody_is_named(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        await rig.hello(roster([1, 2, 3, 4], [5, 6]), Mode.KOTH, e.Phase.RUNNING)
        await rig.later()
        await rig.host.command(("scramble", "now"), "token:ann")
        (decision,) = [line for line in await rig.store.decisions(None, 50) if line.kind == "scramble"]
        assert decision.detail
        (notice,) = await rig.look()
        assert (notice.event, notice.state, notice.server, notice.at) == ("scramble", "news", SERVER, decision.at)
        before, after = (f"{100 * decision.detail[key]:.0f} %" for key in ("before", "after"))
        assert notice.text.startswith(f"arena-1: scramble: ordered by an admin, RED {before} → {after}")
        assert notice.text.endswith(f", {len(decision.detail['players'])} change place")
        assert not any(player(number) in notice.text for number in range(9))
        assert await rig.later() == []
        for number in range(1200):
            rig.host._journal.note("place", "a joiner")
            rig.host._journal.note("alone", f"the script made new teams, {number}")
        rig.host._journal.flush()
        assert await rig.later() == [f"arena-1: alone: the script made new teams, {number}" for number in range(1200)]


async def test_what_happened_before_the_start_is_not_told(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        rig.host._journal.note("scramble", "long ago")
        rig.host._journal.flush()
        again = Notices({SERVER: rig.host}, {}, rig.store, Scheduler(Metrics()), PeerServers({}), rig.clock, list)
        assert await again.look() == []
        assert await again.look() == []


async def test_refused_batches_are_told_without_what_may_be_a_players(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        await rig.hello(FOUR)
        refusal = ScriptError("schema", "unknown player Alice", path=f"$.names.{player(1)}")
        refusal.kinds = ("round_live",)
        rig.host.refuse(refusal)
        rig.host.refuse(refusal)
        (notice,) = await rig.look()
        assert (notice.event, notice.state) == ("refused", "fault")
        assert notice.text == "arena-1: batches of its script are refused (schema); `equipoise doctor` says what to do"
        rig.host.refused.taken(("round_live",), None)
        assert await rig.later() == ["arena-1: batches of its script are not refused any more, after 10 s"]


async def test_a_refused_rcon_login_is_told_until_it_is_mended(tmp_path: Path) -> None:
    async with source_server() as (_, port):
        peers = PeerServers({SERVER: rcon(port, "wrong")})
        async with house(tmp_path, peers=peers) as rig:
            with pytest.raises(PeerError):
                await peers.execute(SERVER, "status")
            (notice,) = await rig.look()
            assert (notice.event, notice.text) == ("rcon", "arena-1: the game server refused the RCON password")
            peers.set({SERVER: rcon(port)})
            await peers.execute(SERVER, "status")
            assert await rig.later() == ["arena-1: RCON is not refused any more, after 10 s"]
        peers.close()


@pytest.mark.slow
async def test_a_locked_store_and_the_rounds_that_wait_for_it_are_told_when_it_lasts(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        await rig.hello(FOUR)
        with locked(rig.store.path):
            assert (await rig.play("r1", FOUR, Side.A)).rounds == {"r1": "kept"}
            assert await rig.later() == [], "most trouble ends by itself"
            await rig.post()
            notices = await rig.look(61)
        assert [(notice.event, notice.state) for notice in notices] == [("store", "fault"), ("waiting", "fault")]
        assert notices[0].text.startswith("the store is locked: ")
        assert notices[1].text == "rounds of pool main that wait for the store: 1"
        await rig.post()
        await rig.pool.drain()
        assert await rig.later() == [
            "the store takes rounds again, after 71 s",
            "no round of pool main waits for the store any more, after 71 s",
        ]


async def test_what_is_about_a_machine_of_a_shared_pool_begins_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://equipoise@127.0.0.1:{free_port()}/away"
    monkeypatch.setattr(Sharing, "database_of", staticmethod(lambda _: url))
    async with house(tmp_path / "machine-1") as rig:
        await rig.hello(FOUR)
        assert (await rig.play("r1", FOUR, Side.A)).rounds == {"r1": "kept"}
        assert await rig.later() == []
        await rig.post()
        assert await rig.later(61) == ["machine-1: rounds of pool main that wait for the log: 1"]


async def test_a_backup_that_fails_is_told_and_that_one_was_made_again(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        place = tmp_path / "backups"
        place.write_text("a file is in the way")
        rig.scheduler.add("backup", Every(0.05), Backups(rig.store, place / "in", rig.clock, 3).run)
        rig.scheduler.start()
        async with asyncio.timeout(60):
            while not (texts := await rig.later()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            assert texts == ["the nightly backup failed; `equipoise status` says why"]
            place.unlink()
            place.mkdir()
            while not (texts := await rig.later()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await rig.scheduler.close()
        assert texts[0].startswith("a backup was made, after ")


async def test_a_day_is_summed_up_by_server(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        (notice,) = await rig.notices.summary()
        assert (notice.event, notice.state, notice.server) == ("summary", "news", None)
        assert notice.text == "no round was rated in the last 24 hours"
        await rig.hello(FOUR)
        for number in range(3):
            await rig.play(f"r{number}", FOUR, Side.A)
        rig.host._journal.note("scramble", "3 wins in a row")
        rig.host._journal.flush()
        (notice,) = await rig.notices.summary()
        rounds = await rig.store.rounds_on_maps("main", 0.0, 10)
        mean = sum(max(row.prediction, 1 - row.prediction) for row in rounds) / 3
        assert notice.server == SERVER
        assert notice.text.startswith("arena-1: in 24 hours 3 rounds were rated, new teams: ")
        assert notice.text.endswith(f"; the favourite had {100 * mean:.0f} % on average")
        rig.clock.now += 90_000
        assert [notice.server for notice in await rig.notices.summary()] == [None]


async def test_the_status_is_a_line_for_each_server(tmp_path: Path) -> None:
    async with house(tmp_path) as rig:
        assert rig.notices.status() == ["arena-1: its script has not called"]
        await rig.hello(roster([1, 2], [3, 4], [5]), Mode.KOTH)
        (line,) = rig.notices.status({"arena-1"})
        assert line.startswith("arena-1: arena_lumberyard, 2 RED, 2 BLU, 1 wait, ")
        assert rig.notices.status({"other"}) == []
        rig.clock.now += 300
        assert rig.notices.status() == ["arena-1: silent for 5 min"]


async def test_looks_are_jobs_only_while_there_is_a_webhook(tmp_path: Path) -> None:
    async def run() -> None: ...

    scheduler = Scheduler(Metrics())
    for wanted in (True, True, False, False, True):
        schedule_notices(scheduler, wanted, run, run)
        names = [job.name for job in scheduler.status()]
        assert names == (["notices", "daily summary"] if wanted else [])
    scheduler.start()
    _, summary = scheduler.status()
    assert summary.next_run
    assert summary.next_run % 60 == 0, "a start sums up no day: the first comes at its time"
    await scheduler.close()
