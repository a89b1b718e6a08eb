"""What `equipoise status` says of the daemon's jobs."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.service import jobs
from tests.cli.house import run
from tests.web.daemon import SECRETS, Daemon, running
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import HELLO

pytestmark = pytest.mark.slow


def status(daemon: Daemon, *options: str) -> str:
    url = f"http://{daemon.host}:{daemon.port}"
    answer = run("status", "--url", url, "--token", SECRETS["owner"], *options)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_job_that_failed_is_named_with_the_reason_and_all_are_in_the_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "SNAPSHOT_SECONDS", 0.05)
    with running(tmp_path) as daemon:
        with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as other:
            other.execute("DROP TABLE qualities")
        daemon.post(batch(1, HELLO, ROSTER, ended(1)))
        until = time.monotonic() + 60
        while "failed" not in (text := status(daemon)):
            assert time.monotonic() < until, text
        assert "The job quality failed at " in text
        assert ": store: no such table: qualities. Next run: " in text
        found = {each["name"]: each for each in json.loads(status(daemon, "--json"))["jobs"]}
    assert set(found) == {
        "ring retry",
        "retention",
        "quality",
        "refit",
        "spread",
        "calibration",
        "backup",
        "game server query",
    }
    assert {name for name, each in found.items() if each["last_error"] is not None} == {"quality"}
    assert all(each["next_run"] is not None for each in found.values())
