"""/healthz, the status and the metrics of a store in trouble."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from equipoise import web
from tests.pools import fill, some_rounds
from tests.store.damage import wreck
from tests.web.daemon import Daemon, running
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import HELLO


def healthz(daemon: Daemon) -> tuple[int, bool, str, int]:
    """What monitoring sees without credentials: status, `ok`, the store's state, rounds that wait."""
    answer = daemon.request("GET", "/healthz")
    assert str(daemon.state).encode() not in answer.raw
    assert b".db" not in answer.raw
    return answer.status, answer.body["ok"], answer.body["store"]["state"], answer.body["waiting_rounds"]


def measured(daemon: Daemon, name: str) -> float:
    lines = daemon.call("GET", "/metrics").raw.decode().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name} "))
    return float(line.split()[1])


@contextmanager
def damaged(tmp_path: Path, name: str) -> Iterator[Daemon]:
    asyncio.run(fill(tmp_path / "state", list(some_rounds(20)), shadow_rounds=2))
    wreck(tmp_path / "state" / "equipoise.db", name)
    with running(tmp_path) as daemon:
        yield daemon


@pytest.mark.parametrize("name", ["rounds_rated", "rounds"])
def test_damage_that_a_round_meets_is_503_with_what_to_do(tmp_path: Path, name: str) -> None:
    """The start itself reads the rounds, for figures that it can do without."""
    with damaged(tmp_path, name) as daemon:
        assert daemon.post(batch(1, HELLO, ROSTER, ended(1))).body["rounds"] == {"1-1": "kept"}
        assert healthz(daemon) == (503, False, "damaged", 1)
        error = daemon.request("GET", "/healthz").body["error"]
        assert error["code"] == "store"
        assert "stop the daemon, restore a backup" in error["message"]
        status = daemon.call("GET", "/v1/admin/servers").body
        assert (status["store"]["state"], status["waiting_rounds"]) == ("damaged", 1)
        assert "restore a backup" in status["store"]["advice"]
        assert measured(daemon, "equipoise_store_damaged") == 1
        assert measured(daemon, "equipoise_store_failures_total") >= 1
        player = daemon.call("PUT", "/v1/admin/players/76561197960265729", {"rating": 1500, "new": True})
        assert (player.status, player.code) == (503, "unavailable")


@pytest.mark.parametrize("name", ["audit", "decisions_by_time"])
def test_damage_that_no_round_meets_is_found_after_the_start(tmp_path: Path, name: str) -> None:
    with damaged(tmp_path, name) as daemon:
        end = time.monotonic() + 60
        while healthz(daemon) != (503, False, "damaged", 0):
            assert time.monotonic() < end, healthz(daemon)
            time.sleep(0.01)


def test_a_lock_is_no_alarm_unless_it_lasts_and_ends_with_the_next_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as daemon:
        daemon.post(batch(1, HELLO, ROSTER))
        assert healthz(daemon) == (200, True, "ok", 0)
        with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            daemon.post(batch(2, ended(1)))
            assert healthz(daemon) == (200, True, "locked", 1)
            since = daemon.request("GET", "/healthz").body["store"]["since"]
            assert abs(time.time() - since) < 60
            monkeypatch.setattr(web.administration, "LASTING_SECONDS", 0.0)
            assert healthz(daemon) == (503, False, "locked", 1)
            assert measured(daemon, "equipoise_store_damaged") == 0
            assert measured(daemon, "equipoise_store_trouble_seconds") > 0
            other.execute("ROLLBACK")
        assert daemon.post(batch(3, ended(1))).body["rounds"] == {"1-1": "stored"}
        assert healthz(daemon) == (200, True, "ok", 0)
        assert measured(daemon, "equipoise_store_trouble_seconds") == 0
