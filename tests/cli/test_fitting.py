"""`equipoise pool estimate` and `pool refit`."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.cli.house import House, ask, post, run, serving
from tests.lab import sets
from tests.pools import fill
from tests.store.samples import a_round
from tests.wire.samples import HELLO, RED, ROUND, posted

pytestmark = pytest.mark.slow


@pytest.fixture
def league(tmp_path: Path) -> tuple[str | Path, ...]:
    """Teams as single players, whose strengths have a standard deviation of 1 log-odds."""
    return "--matches", sets.league(tmp_path, 600, teams=30, home=0.0), "--teams"


def filled(house: House, rounds: int) -> None:
    """Rounds of three against three, in the store."""

    asyncio.run(fill(house.state, [a_round(number + 1, a=[0, 1, 2], b=[3, 4, 5]) for number in range(rounds)]))


def test_too_few_rounds_are_said_to_be_with_a_daemon_and_without_one(house: House) -> None:
    filled(house, 3)
    few = run("pool", "estimate", "--config", house.config)
    said = "equipoise: 3 rounds: too few, 497 more are needed\n"
    assert (few.returncode, few.stderr.endswith(said), few.stdout) == (1, True, "")
    with serving(house):
        found = json.loads(run("pool", "estimate", "main", "--json", "--config", house.config).stdout)
    assert (found["rounds"], found["missing"], found["estimated"]) == (3, 497, None)


def test_a_pool_and_files_exclude_each_other_and_a_pool_that_is_not_there_is_named(
    house: House, league: tuple[str | Path, ...]
) -> None:
    both = run("pool", "estimate", "main", *league)
    assert (both.returncode, "give --matches, or a pool" in both.stderr) == (2, True)
    lonely = run("pool", "estimate", "--teams")
    assert (lonely.returncode, "--participants and --teams are for --matches" in lonely.stderr) == (2, True)
    wrong = run("pool", "estimate", "duel", "--config", house.config)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        f"equipoise: {house.config}: there is no [pool.duel]; there are main\n",
    )
    fresh = run("pool", "estimate", "--config", house.config)
    assert (fresh.returncode, "there is no store" in fresh.stderr) == (2, True)


def test_estimates_are_lines_for_the_configuration(tmp_path: Path, house: House) -> None:
    league = "--matches", sets.league(tmp_path, 4000, teams=10, home=0.0), "--teams"
    text = run("pool", "estimate", *league, "--sweeps", "30")
    assert text.returncode == 0, text.stderr
    loss, gain, blank, *lines = text.stdout.splitlines()
    unseen = "over the last 1,200 of 4,000 rounds, which it has not seen"
    assert re.fullmatch(rf"log loss  0\.\d{{4}} → 0\.\d{{4}}, {unseen}", loss)
    assert re.fullmatch(r" {10}0\.\d{4} ± 0\.\d{4} better than the present parameters; a coin: 0\.6931", gain)
    assert blank == ""
    assert lines[:2] == ["[pool.main]", 'system = "trueskill2"']
    values = json.loads(run("pool", "estimate", *league, "--sweeps", "30", "--json").stdout)
    assert {line.split(" = ")[0]: float(line.split(" = ")[1]) for line in lines[2:]} == values["estimated"]
    assert values["log_loss"] < values["log_loss_before"]
    house.config.write_text(house.config.read_text() + "\n".join(["", *lines]).replace("[pool.main]", "[pool.second]"))
    assert run("check-config", "--config", house.config).returncode == 0


def test_a_pool_is_fitted_by_hand_and_a_dry_run_changes_nothing(house: House) -> None:
    house.edit("synelo", "ns2")
    house.edit("k_max = 12", "")
    with serving(house, forked=False) as (_, address):
        for number in range(3):
            post(address, house.secret, posted(HELLO, ROUND | {"round": f"1-{number}"}, seq=number + 1))

        def rating() -> float:
            return float(json.loads(ask(house, address, "player", "show", RED, "--json").stdout)["player"]["rating"])

        before = rating()
        tried = ask(house, address, "pool", "refit", "--dry-run")
        assert "would get new ratings, fitted to 3 rounds in" in tried.stdout, tried.stderr
        assert rating() == before
        done = ask(house, address, "pool", "refit", "main", "--json")
        (shift,) = (each for each in json.loads(done.stdout)["refit"]["result"]["shifts"] if each["id"] == RED)
        assert (rating(), before) == (shift["after"], shift["before"])
