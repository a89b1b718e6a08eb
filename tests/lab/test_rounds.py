"""Histories from the daemon's own rounds."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main
from equipoise.core.model import Side
from equipoise.lab.backtest import history_of
from equipoise.ratings import create
from equipoise.ratings.history import scores
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from tests.hosts import GivenClock
from tests.store.samples import a_round, opened, player

WINNERS = (Side.A, None, Side.B, Side.A)
ROUNDS = [a_round(number, winner=winner) for number, winner in enumerate(WINNERS, 1)]


def run(*arguments: str | Path) -> Result:
    return CliRunner(env={"HOME": "/nonexistent"}).invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration, and a store in which its pool has some rounds."""
    assert run("init", tmp_path).exit_code == 0
    path = tmp_path / "config.toml"
    path.write_text(path.read_text() + f'\n[store]\ndirectory = "{tmp_path}"\n')

    async def fill() -> None:
        async with opened(tmp_path / "equipoise.db") as store:
            pool = Pool("main", create("synelo"), store, Ring(tmp_path / "main.ring"), GivenClock())
            await pool.open()
            for each in ROUNDS:
                await pool.record(each, None)
            await pool.close()

    asyncio.run(fill())
    return path


def test_side_a_is_the_first_team() -> None:
    history, predicted = history_of((each, place / 10) for place, each in enumerate(ROUNDS))
    assert history is not None
    assert scores(history).tolist() == [1.0, 0.5, 0.0, 1.0]
    assert predicted == [0.0, 0.1, 0.2, 0.3]
    assert history.players == tuple(player(number) for number in (1, 2, 3, 4))
    assert history.maps == ("arena_well",)
    assert history.sides == ("red", "blu")


def test_what_was_stored_is_compared_as_if_it_were_a_system(config: Path) -> None:
    """The pool's own system predicts again what it predicted when the rounds were played."""
    asked = ("lab", "compare", "stored", "synelo", "--pool", "main", "--config", config, "--burn-in", "0.3")
    measured = {one["model"]["name"]: one["quality"] for one in json.loads(run(*asked, "--json").stdout)}
    assert measured["stored"]["rounds"] == 3
    assert measured["stored"]["log_loss"] == pytest.approx(measured["synelo"]["log_loss"])
    assert "stored" in run(*asked, "--html", config.with_name("all.html")).stdout
    files = ("--matches", config, "--teams")
    assert run("lab", "compare", "stored", *files).exit_code == 2


def test_rounds_that_are_not_rated_are_left_out(config: Path) -> None:
    history, _ = history_of((each, 0.5) for each in (a_round(9, unrated="partial"), *ROUNDS))
    assert history is not None
    assert len(history) == 4
    assert history_of([(a_round(9, unrated="partial"), 0.5)]) == (None, [])
    config.write_text(config.read_text() + '\n[pool.empty]\nsystem = "elo"\n')
    done = run("lab", "replay", "--pool", "empty", "--config", config, "--model", "elo")
    assert (done.exit_code, done.output.splitlines()[-1]) == (2, "equipoise: no rated rounds")


def test_a_pool_is_replayed_from_the_store(config: Path) -> None:
    asked = ("lab", "replay", "--pool", "main", "--config", config, "--model", "synelo", "--all", "--json")
    done = run(*asked)
    assert done.stderr == f"equipoise: the store is {config.parent / 'equipoise.db'}\n"
    places = json.loads(done.stdout)
    assert {one["player"] for one in places[:2]} == {player(1), player(2)}
    assert all(one["rounds"] == 4 for one in places)


@pytest.mark.slow
def test_a_pool_or_a_store_that_is_not_there_is_one_line(config: Path) -> None:
    done = run("lab", "replay", "--pool", "nix", "--config", config, "--model", "synelo")
    assert (done.exit_code, done.output) == (2, f"equipoise: {config}: there is no [pool.nix]; there are main\n")
    (config.parent / "equipoise.db").unlink()
    done = run("lab", "replay", "--pool", "main", "--config", config, "--model", "synelo")
    assert done.exit_code == 2
    assert done.output.endswith("equipoise.db: No such file or directory: there is no store\n")


def beside_a_daemon(config: Path, *, steps: int | None = None) -> Result:
    """A replay while another connection holds the store, by default with our version of its tables."""

    async def meanwhile() -> Result:
        asked = "lab", "replay", "--pool", "main", "--config", config, "--model", "synelo", "--all", "--json"
        async with opened(config.parent / "equipoise.db"):
            if steps is not None:
                with closing(sqlite3.connect(config.parent / "equipoise.db", isolation_level=None)) as db:
                    db.execute(f"PRAGMA user_version = {steps}")
            return await asyncio.to_thread(run, *asked)

    return asyncio.run(meanwhile())


def test_a_store_that_a_daemon_has_open_is_read_beside_it(config: Path) -> None:
    done = beside_a_daemon(config)
    assert done.exit_code == 0, done.output
    alone = run("lab", "replay", "--pool", "main", "--config", config, "--model", "synelo", "--all", "--json")
    assert (done.stdout, done.stderr) == (alone.stdout, alone.stderr)


def test_a_daemon_of_another_version_is_not_read_beside(config: Path) -> None:
    done = beside_a_daemon(config, steps=3)
    assert done.exit_code == 2
    assert done.output.endswith("the daemon that has it open is of another version: restart it\n")


def test_files_and_pool_exclude_each_other(config: Path) -> None:
    for chosen in ((), ("--pool", "main", "--teams"), ("--pool", "main", "--matches", "m.csv")):
        done = run("lab", "replay", *chosen, "--config", config, "--model", "synelo")
        assert done.exit_code == 2
        assert "give --matches, or --pool" in done.output
