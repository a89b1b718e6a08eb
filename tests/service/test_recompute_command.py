"""`equipoise pool recompute` and `pool fit-theta` as an operator uses them, on a real store."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from equipoise import ratings
from equipoise.cli import main
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring, UnstoredRound
from tests.cli.house import EQUIPOISE, House, ask, one_line, refused, run, serving
from tests.hosts import GivenClock
from tests.pools import fill, some_rounds, stored
from tests.store.samples import opened, player, sql

pytestmark = pytest.mark.slow

ROUNDS = 60


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory whose pool has a past."""
    return _played(tmp_path_factory, ROUNDS)


@pytest.fixture(scope="module")
def long_past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with rounds enough to fit a scale."""
    return _played(tmp_path_factory, 560)


def _played(tmp_path_factory: pytest.TempPathFactory, rounds: int) -> Path:
    state = tmp_path_factory.mktemp("past") / "state"
    asyncio.run(fill(state, list(some_rounds(rounds))))
    return state


@pytest.fixture
def house(tmp_path: Path, past: Path) -> House:
    """A configured machine whose pool has a past."""
    folder = tmp_path / "equipoise"
    assert run("init", folder).returncode == 0
    found = House(folder, "")
    found.edit("port = 27500", f'port = 0\n\n[store]\ndirectory = "{folder}/state"')
    shutil.copytree(past, found.state)
    return found


def recompute(house: House, *arguments: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    """The command in this process: another one would import numpy and numba every time."""
    words = ("pool", "recompute", "--config", str(house.config), *arguments)
    done = CliRunner().invoke(main, words, input=answer)
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def test_the_difference_is_shown_and_only_a_yes_replaces_the_ratings(house: House) -> None:
    before = stored(house.state)
    shown = json.loads(recompute(house, "--system", "elo", "--json").stdout)
    assert shown["comparison"]["after"]["quality"]["rounds"] == sum(row[2] is not None for row in before["rounds"])
    assert (shown["old"]["system"], shown["new"]["system"], shown["written"]) == ("synelo", "elo", False)
    refused = recompute(house, "--system", "elo", "--set", "k=20", answer="n\n")
    assert (refused.returncode, stored(house.state)) == (1, before)
    assert "nothing was changed" in refused.stderr
    for text in ("LOG LOSS", "BRIER", "ACCURACY", "difference", "±"):
        assert text in refused.stdout

    done = recompute(house, "--system", "elo", "--set", "k=20", answer="y\n")
    assert done.returncode == 0, done.stderr
    assert stored(house.state)["pools"][0][1] == "elo"
    assert '\n[pool.main]\nsystem = "elo"\nk = 20\n' in done.stdout
    assert json.loads(recompute(house, "--system", "synelo", "--json", "--yes").stdout)["written"]
    assert stored(house.state)["pools"][0][1] == "synelo"


def test_a_pool_whose_old_rounds_were_deleted_is_recomputed_only_when_asked_to_go_on_without_them(house: House) -> None:
    async def prune() -> None:
        async with opened(house.state / "equipoise.db") as store:
            await store.prune_rounds("main", 500, 1e12, 20)

    asyncio.run(prune())
    before = stored(house.state)
    refusal = recompute(house, "--system", "elo", "--yes")
    assert refusal.returncode == 2
    assert "old rounds of pool main were deleted (retention.rounds_days)" in refusal.stderr
    assert stored(house.state) == before

    done = recompute(house, "--system", "elo", "--yes", "--without-pruned-rounds")
    assert done.returncode == 0, done.stderr
    assert "older rounds were deleted" in done.stdout
    after = stored(house.state)
    assert (len(before["rounds"]), len(after["rounds"])) == (ROUNDS, ROUNDS - 20)
    assert len(after["participants"]) == 6 * sum(unrated is None for *_, unrated in after["rounds"])


def test_edits_by_admins_stay_at_their_place_and_the_command_counts_them(house: House) -> None:
    async def edit() -> None:
        async with opened(house.state / "equipoise.db") as store:
            ring = Ring(house.state / "main.ring")
            pool = Pool("main", ratings.create("synelo"), store, ring, GivenClock(1_800_000_000.0))
            await pool.open()
            await pool.edit(player(1), 1500.0, "owner")
            await pool.edit(player(2), None, "owner")
            await pool.close()

    asyncio.run(edit())
    before = stored(house.state)
    same = recompute(house, "--yes")
    assert same.returncode == 0, same.stderr
    assert "\n2 edits by admins are kept at their place among the rounds.\n" in same.stdout
    assert stored(house.state) == before
    other = recompute(house, "--system", "elo", "--json")
    assert json.loads(other.stdout)["edits"] == {"kept": 1, "carried": 1, "dropped": 0, "lost": 0}


def test_the_daemon_starts_again_only_with_the_lines_that_were_printed_or_those_it_has(house: House) -> None:
    house.edit("k_max = 12", "k_max = 3")
    assert "k_max = 12, not with k_max = 3" in refused(house.config)
    configured = recompute(house, "--yes")
    assert configured.returncode == 0, configured.stderr
    assert "must say" not in configured.stdout
    with serving(house):
        pass
    assert recompute(house, "--system", "elo", "--yes").returncode == 0
    line = refused(house.config)
    assert "$.pool.main: the stored ratings were made with elo, not with synelo" in line
    assert "equipoise pool recompute --pool main" in line

    house.edit("synelo", "elo")
    house.edit("k_max = 3", "")
    with serving(house) as (_, address):
        top = ask(house, address, "player", "show", player(1))
        assert top.returncode == 0, top.stderr
        audit = ask(house, address, "pool", "quality")
    assert "brier" in audit.stdout
    lines = sql(house.state / "equipoise.db", "SELECT who, action, target, before, after FROM audit")
    assert [line[:3] for line in lines] == [("console", "recompute", "pool main")] * 2
    assert lines[1][3:] == ("synelo, k_max = 3", "elo")


def test_while_the_daemon_runs_it_says_to_stop_it(house: House) -> None:
    with serving(house):
        assert "stop it" in one_line(recompute(house, "--system", "elo", "--yes"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--pool", "other"), "there is no [pool.other]"),
        (("--system", "ello"), "ello: no such rating system"),
        (("--system", "fifa_men"), "cannot rate a pool"),
        (("--set", "kmax=3"), "kmax: no such parameter"),
        (("--set", "k_max"), "'k_max' is not key=value"),
    ],
)
def test_a_system_or_parameter_that_cannot_be_used_is_refused_with_one_line(
    house: House, arguments: tuple[str, ...], reason: str
) -> None:
    assert reason in one_line(recompute(house, *arguments, "--yes"))


def test_rounds_that_wait_are_stored_first_by_the_old_system(house: House) -> None:
    *_, late = some_rounds(ROUNDS + 1)
    with closing(Ring(house.state / "main.ring")) as ring:
        ring.open()
        ring.push(UnstoredRound(late, None, 1.0))
    before = len(stored(house.state)["rounds"])
    refused = recompute(house, "--system", "elo", answer="n\n")
    assert refused.returncode == 1, refused.stderr
    after = stored(house.state)
    assert (len(after["rounds"]), after["pools"][0][1]) == (before + 1, "synelo")
    assert (house.state / "main.ring").stat().st_size == 0


def is_locked(database: sqlite3.Connection) -> bool:
    try:
        database.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return True
    database.execute("ROLLBACK")
    return False


@contextmanager
def writing(house: House) -> Iterator[subprocess.Popen[str]]:
    """The command, answered with yes, once its transaction has begun."""
    command = [EQUIPOISE, "pool", "recompute", "--config", house.config, "--system", "elo", "--yes"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert any(line.startswith("Stored: ") for line in process.stdout)
        with closing(sqlite3.connect(house.state / "equipoise.db", timeout=0, isolation_level=None)) as other:
            while not is_locked(other):
                assert process.poll() is None
                os.sched_yield()
        yield process


def test_ctrl_c_while_it_writes_leaves_the_old_ratings_and_says_so(house: House) -> None:
    before = stored(house.state)
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT count(*) FROM n"
    with closing(sqlite3.connect(house.state / "equipoise.db")) as database:
        database.execute(f"CREATE TRIGGER slow BEFORE UPDATE ON rounds BEGIN {slow}; END")
    with writing(house) as process:
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=300)

    interrupted = (
        f"equipoise: the store is {house.state / 'equipoise.db'}\nequipoise: interrupted; nothing was changed\n"
    )
    assert (process.returncode, said) == (2, interrupted)
    assert "have been replaced" not in rest
    assert stored(house.state) == before


# The scale.


def test_a_scale_is_proposed_from_500_rounds_on_with_its_error(house: House, long_past: Path) -> None:
    with serving(house) as (_, address):
        few = ask(house, address, "pool", "fit-theta")
    rated = sum(row[2] is not None for row in stored(house.state)["rounds"])
    assert (few.returncode, few.stdout) == (1, "")
    assert few.stderr == f"equipoise: {rated} rounds are stored; {500 - rated} more are needed\n"

    shutil.copytree(long_past, house.state, dirs_exist_ok=True)
    with serving(house) as (_, address):
        found = json.loads(ask(house, address, "pool", "fit-theta", "--json").stdout)
        shown = ask(house, address, "pool", "fit-theta").stdout
    fit = found["fit"]
    assert (found["missing"], found["theta"]) == (0, 2400)
    assert found["rounds"] == sum(row[2] is not None for row in stored(house.state)["rounds"])
    assert fit["log_loss"] < fit["log_loss_before"]
    assert 0 < fit["error"] < fit["theta"] < 2400
    assert f"[pool.main]\ntheta = {fit['theta']:.1f}\n" in shown


def test_a_scale_that_is_hardly_another_one_is_shown_and_not_proposed(house: House, long_past: Path) -> None:
    """These rounds, learnt with a theta of 400, are fitted by one of about that."""
    shutil.copytree(long_past, house.state, dirs_exist_ok=True)
    assert recompute(house, "--set", "theta=400", "--yes").returncode == 0
    house.edit("k_max = 12", "k_max = 12\ntheta = 400")
    with serving(house) as (_, address):
        found = json.loads(ask(house, address, "pool", "fit-theta", "--json").stdout)
        shown = ask(house, address, "pool", "fit-theta")
        quality = json.loads(ask(house, address, "pool", "quality", "--json").stdout)
    fit = found["fit"]
    assert abs(fit["theta"] - 400) < 2 * fit["error"]
    assert f"theta     {fit['theta']:.0f} ± {fit['error']:.0f} fits {found['rounds']:,} rounds best\n" in shown.stdout
    assert "[pool.main]" not in shown.stdout
    reason = f"about {found['missing']:,} more rounds would tell them apart"
    assert shown.stderr == f"equipoise: not proposed: less than two standard errors apart; {reason}\n"
    assert shown.returncode == 1
    assert quality["suggested_theta"] is None


def test_a_system_without_a_scale_says_so(house: House) -> None:
    assert recompute(house, "--system", "ns2", "--yes").returncode == 0
    house.edit("synelo", "ns2")
    house.edit("k_max = 12", "")
    with serving(house) as (_, address):
        shown = ask(house, address, "pool", "fit-theta")
    assert (shown.returncode, shown.stderr) == (1, "equipoise: ns2 has no theta to fit\n")
