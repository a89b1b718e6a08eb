"""`equipoise pool fit-spread` and `pool estimate`, beside a daemon and without one."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from pathlib import Path

import pytest

from equipoise.core.model import Side
from equipoise.ratings import create
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from tests.cli.house import ALONE, House, run, serving
from tests.hosts import GivenClock
from tests.lab import sets
from tests.store.samples import a_round, opened

pytestmark = pytest.mark.slow

JOINT = "\n[pool.main.balance_params]\nspread = 0.05\n"


@pytest.fixture
def league(tmp_path: Path) -> tuple[str | Path, ...]:
    """Teams as single players, whose strengths have a standard deviation of 1 log-odds."""
    return "--matches", sets.league(tmp_path, 600, teams=30, home=0.0), "--teams"


def filled(house: House, rounds: int, spread: float = 0.8) -> None:
    """Rounds of three against three among twelve people of this spread, in the store."""
    rng = random.Random(4)
    skill = [rng.gauss(0.0, spread) for _ in range(12)]

    async def fill() -> None:
        house.state.mkdir(mode=0o700)
        async with opened(house.state / "equipoise.db") as store:
            pool = Pool("main", create("synelo"), store, Ring(house.state / "main.ring"), GivenClock())
            await pool.open()
            for number in range(rounds):
                six = rng.sample(range(12), 6)
                odds = sum(skill[one] for one in six[:3]) - sum(skill[one] for one in six[3:])
                winner = Side.A if rng.random() < 1 / (1 + math.exp(-odds)) else Side.B
                await pool.record(a_round(number + 1, a=six[:3], b=six[3:], winner=winner), None)
            await pool.close()

    asyncio.run(fill())


def test_a_spread_that_the_rounds_exclude_is_proposed_with_the_line_to_write(house: House) -> None:
    filled(house, 300)
    house.edit(ALONE, '\nbalance = "joint"\n')
    house.config.write_text(house.config.read_text() + JOINT)
    alone = run("pool", "fit-spread", "--config", house.config)
    assert alone.returncode == 0, alone.stderr
    first, second, third, *rest = alone.stdout.splitlines()
    found = re.fullmatch(r"spread +(\S+) ± (\S+) fits 300 rounds best, (\S+) to (\S+)", first)
    assert found
    spread, error, low, high = map(float, found.groups())
    assert low < 0.8 < high
    assert second.split() == ["0.05", "is", "the", "configured", "value"]
    assert third.startswith("log likelihood  -")
    assert rest[:3] == ["", "[pool.main.balance_params]", f"spread = {spread:g}"]
    assert rest[-2:] == [
        "Without this line the daemon learns it by itself, once a week at most: see `equipoise pool quality`.",
        "With it the teams begin there when the daemon starts again; ratings do not depend on it.",
    ]
    with serving(house):
        beside = json.loads(run("pool", "fit-spread", "main", "--json", "--config", house.config).stdout)
    assert (beside["pool"], beside["rounds"], beside["spread"], beside["missing"]) == ("main", 300, 0.05, 0)
    assert beside["fit"]["spread"] == pytest.approx(spread, rel=0.01)
    assert beside["fit"]["error"] == pytest.approx(error, rel=0.1)
    assert beside["fit"]["known"]


def test_a_spread_that_the_rounds_allow_is_not_proposed(house: House) -> None:
    filled(house, 150)
    found = json.loads(run("pool", "fit-spread", "--json", "--config", house.config).stdout)["fit"]
    house.edit(ALONE, '\nbalance = "joint"\n')
    house.config.write_text(house.config.read_text() + JOINT.replace("0.05", f"{found['spread']:.3g}"))
    again = run("pool", "fit-spread", "--config", house.config)
    assert again.returncode == 1
    assert re.search(r"not proposed: less than two standard errors apart; they are practically equal$", again.stderr)
    assert "[pool.main" not in again.stdout


def test_too_few_rounds_are_said_to_be(house: House) -> None:
    filled(house, 3)
    for command, missing in (("fit-spread", 97), ("estimate", 497)):
        few = run("pool", command, "--config", house.config)
        said = f"equipoise: 3 rounds: too few, {missing} more are needed\n"
        assert (few.returncode, few.stderr.endswith(said), few.stdout) == (1, True, "")
    few = run("pool", "fit-spread", "--json", "--config", house.config)
    assert json.loads(few.stdout) == {"pool": "main", "rounds": 3, "missing": 97, "spread": 0.25, "fit": None}
    found = json.loads(run("pool", "estimate", "--json", "--config", house.config).stdout)
    assert (found["rounds"], found["missing"], found["estimated"]) == (3, 497, None)


def test_a_pool_and_files_exclude_each_other_and_a_pool_that_is_not_there_is_named(
    house: House, league: tuple[str | Path, ...]
) -> None:
    for command in ("fit-spread", "estimate"):
        both = run("pool", command, "main", *league)
        assert (both.returncode, "give --matches, or a pool" in both.stderr) == (2, True)
        lonely = run("pool", command, "--teams")
        assert (lonely.returncode, "--participants and --teams are for --matches" in lonely.stderr) == (2, True)
        wrong = run("pool", command, "duel", "--config", house.config)
        assert (wrong.returncode, wrong.stderr) == (
            2,
            f"equipoise: {house.config}: there is no [pool.duel]; there are main\n",
        )
        fresh = run("pool", command, "--config", house.config)
        assert (fresh.returncode, "there is no store" in fresh.stderr) == (2, True)


def test_files_are_fitted_like_a_pool(league: tuple[str | Path, ...]) -> None:
    spread = run("pool", "fit-spread", *league)
    assert spread.returncode == 0, spread.stderr
    found = re.search(r"^--set spread=(\S+)$", spread.stdout, re.MULTILINE)
    assert found
    assert float(found[1]) == pytest.approx(1.0, abs=0.35)


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
