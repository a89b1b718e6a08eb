"""`equipoise pool quality`, and which pool it is about."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from equipoise.core.model import Side
from equipoise.ratings import create
from equipoise.ratings.system import Match
from equipoise.service.refits import Spreads
from equipoise.store.recalculation import SpreadFound
from tests.cli.house import ALONE, House, ask, post, run, serving
from tests.hosts import GivenClock
from tests.pools import fill, pool_in
from tests.ratings.joint.test_own_scores import PEOPLE, matches
from tests.service.test_calibrations import one
from tests.store.samples import a_round, player
from tests.wire.samples import HELLO, RED, finished, posted, seats

pytestmark = pytest.mark.slow

SIX = [str(int(RED) + number) for number in range(6)]


@contextmanager
def played(house: House, rounds: int, **kills: int) -> Iterator[str]:
    """A daemon with rounds of three against three, of which RED wins two of three; all kill as often as their side."""
    with serving(house) as (_, address):
        post(address, house.secret, posted(HELLO, {"kind": "roster", "players": seats(SIX)}, seq=1))
        for number in range(rounds):
            ended = finished(SIX, round=f"1-{number}", winner="blu" if number % 3 == 2 else "red")
            for each in ended["players"] if kills else ():
                each["counts"] = {"kills": kills[each["side"]], "deaths": 2, "assists": 1, "points": 5}
            post(address, house.secret, posted(ended, seq=2 + number))
        yield address


def test_a_single_pool_of_any_name_needs_no_naming(house: House) -> None:
    house.edit("[pool.main]", "[pool.arena]")
    (file,) = house.folder.glob("servers.d/*.toml")
    file.write_text(file.read_text().replace('pool = "main"', 'pool = "arena"'))
    with serving(house) as (_, address):
        assert ask(house, address, "pool", "quality").stdout.endswith("No rounds have been rated yet.\n")
        fit = ask(house, address, "pool", "fit-theta")
        assert (fit.returncode, fit.stderr) == (1, "equipoise: 0 rounds are stored; 500 more are needed\n")
        assert ask(house, address, "player", "top").returncode == 0
        assert '"pool":"arena"' in ask(house, address, "pool", "export").stdout.splitlines()[1]
        wrong = ask(house, address, "pool", "quality", "main")
        assert (wrong.returncode, "name one of the pools: arena" in wrong.stderr) == (1, True)


def test_with_several_pools_one_has_to_be_named(house: House) -> None:
    house.config.write_text(house.config.read_text() + "\n[pool.duel]\n")
    with serving(house) as (_, address):
        asked = (
            ("pool", "quality"),
            ("pool", "fit-theta"),
            ("pool", "refit"),
            ("player", "top"),
            ("player", "find", "x"),
        )
        for command in (*asked, ("pool", "evenness", RED, "vs", RED)):
            refused = ask(house, address, *command)
            said = "equipoise: there are several pools: name one by --pool: duel, main\n"
            assert (refused.returncode, refused.stderr) == (2, said)
        assert json.loads(ask(house, address, "pool", "quality", "duel", "--json").stdout)["pool"] == "duel"
    for words in (["recompute"], ["export"], ["estimate"]):
        refused = run("pool", *words, "--config", house.config)
        said = f"equipoise: {house.config}: there are several pools: name one by --pool: main, duel\n"
        assert (refused.returncode, refused.stderr) == (2, said)


def test_quality_shows_calibration_by_group_and_the_k_max_of_the_teams(house: House) -> None:
    with played(house, 60) as address:
        text = ask(house, address, "pool", "quality").stdout
        assert re.search(r"^k_max +the teams need 3; it is 12\b", text, re.MULTILINE)
        assert re.search(r"^rounds before +10 to 49 +40 +240 +", text, re.MULTILINE)
        assert re.search(r"^last outcome +won +59 +177 +[\d.]+ % +[\d.]+ % +[+-][\d.]+ % ± ", text, re.MULTILINE)
        found = json.loads(ask(house, address, "pool", "quality", "--json").stdout)
        assert (found["balance"], found["team_sizes"]["suggested_k_max"]) == (None, 3)
        lost = next(each for each in found["groups"] if each["name"] == "lost")
        assert lost["scored"] == 39.0 / 59  # RED wins after a defeat, BLU after two


def test_quality_compares_the_system_that_makes_the_teams_with_the_one_that_is_shown(house: House) -> None:
    house.edit(ALONE, '\nbalance = "joint"\n')
    with played(house, 30, red=9, blu=1) as address:
        until = time.monotonic() + 60  # its predictions are stored behind the rounds
        shown = r"^as shown +log loss 0\.\d{4}, [+-]0\.\d{4} ± 0\.\d{4} against what was said, over "
        while "average, over 30 rounds" not in (text := quality(house, address)) or not re.search(shown, text, re.M):
            assert time.monotonic() < until, text
            time.sleep(0.2)
        found = json.loads(quality(house, address, "--json"))
        made = found["balance"]["quality"]
        assert f"\nlog loss    {made['log_loss']['value']:.4f}\n" in text
        typical = found["typical"]
        assert text.startswith(
            f"A typical round: the stronger side has {100 * typical['favourite']:.0f} %. "
            f"Random teams: {100 * typical['random']:.0f} %.\n"
            f"Within 45 to 55 %: {100 * typical['even']:.0f} % of the rounds.\n"
        )
        assert "\nBy the ratings that are shown:\nBY " in text
        (scores,) = found["scores"]
        assert (scores["mode"], found["spread"]) == ("arena", None)
        used = r"are used \(" if scores["used"] else "are not used: "
        assert re.search(rf"^own scores  in arena {used}", text, re.MULTILINE)


def test_quality_says_what_own_scores_count_for_once_they_predict_results(house: House) -> None:
    asyncio.run(recorded(house, matches(300, told=1.0)[0]))
    house.edit(ALONE, '\nbalance = "joint"\nbalance_params = { spread = 0.5 }\n')
    with serving(house) as (_, address):
        until = time.monotonic() + 60
        while "own scores" not in (text := quality(house, address)):
            assert time.monotonic() < until, text
            time.sleep(0.2)
    assert re.search(r"^own scores  in arena are used \(\+\d+\.\d nats over \d+ rounds\)$", text, re.MULTILINE)
    weights = re.search(r"^ {12}kills \+(0\.\d{3}) ± (0\.\d{3}), deaths [+-]", text, re.MULTILINE)
    assert weights
    assert float(weights[1]) > 2 * float(weights[2])
    assert re.search(r"^ {12}one round's score correlates 0\.\d\d with skill, lasting offsets \d", text, re.MULTILINE)


def test_quality_says_which_spread_of_skill_the_rounds_have_taught_the_pool_and_when(house: House) -> None:
    async def taught() -> None:
        async with pool_in(house.state, balance=create("joint")) as pool:
            found = SpreadFound(rounds=1234, present=0.25, spread=0.8, error=0.1, missing=0)
            await Spreads({}, GivenClock(1_763_700_000.0)).adopt(pool, found)

    asyncio.run(recorded(house, matches(40, told=1.0)[0]))
    asyncio.run(taught())
    house.edit(ALONE, '\nbalance = "joint"\n')
    with serving(house) as (_, address):
        text, found = quality(house, address), json.loads(quality(house, address, "--json"))
        audit = ask(house, address, "audit").stdout
    said = r"^spread +0\.8 ± 0\.1, learnt on 2025-11-2\d by 1,234 rounds; it began at 0\.25$"
    assert re.search(said, text, re.MULTILINE), text
    assert (found["learnt_spread"]["spread"], found["learnt_spread"]["before"], found["spread"]) == (0.8, 0.25, None)
    assert "0.8 ± 0.1 by 1234 rounds" in audit


async def recorded(house: House, played: list[Match]) -> None:
    """These matches as rounds in the store, with what their players did."""
    async with pool_in(house.state) as pool:
        for number, match in enumerate(played, 1):
            a, b = ([PEOPLE.index(each) for each in team] for team in match.teams)
            record = a_round(number, a=a, b=b, winner=Side.A if match.score(0) else Side.B)
            counts = {player(PEOPLE.index(each)): found for each, found in match.counts.items()}
            counted = tuple(replace(each, counts=counts[each.id]) for each in record.participants)
            await pool.record(replace(record, participants=counted), None)


def quality(house: House, address: str, *options: str) -> str:
    return ask(house, address, "pool", "quality", *options).stdout


async def test_chances_are_calibrated_by_hand_once_the_results_say_what_they_are_worth(house: House) -> None:
    with serving(house) as (_, address):
        few = ask(house, address, "pool", "calibrate")
        said = "equipoise: too few rounds, or favourites lose: 300 rounds are needed\n"
        assert (few.returncode, few.stderr, few.stdout) == (1, said, "")
    await fill(house.state, [one(number) for number in range(1, 401)])
    with serving(house) as (_, address):
        tried = ask(house, address, "pool", "calibrate", "--dry-run")
        number = r"[+-]0\.\d\d"
        first = rf"calibrated  temperature (\d\.\d\d), blu {number}, red {number}, 1 map, by 400 rounds"
        shown = re.match(
            rf"{first}\n {{12}}arena_well {number}\nlog loss    -0\.\d{{4}} ± 0\.\d{{4}} against none, ", tried.stdout
        )
        assert shown, tried.stdout
        assert float(shown[1]) > 1.3
        assert tried.stdout.endswith("\n\nA dry run: nothing was changed.\n")
        assert "calibrated" not in quality(house, address)
        done = ask(house, address, "pool", "calibrate")
        assert (done.returncode, done.stdout.endswith("\n\nThis is said from now on.\n")) == (0, True)
        assert re.search(
            rf"^calibrated  temperature {shown[1]}, blu .*, on \d{{4}}-\d\d-\d\d by 400 rounds$",
            quality(house, address),
            re.M,
        )
        again = ask(house, address, "pool", "calibrate", "--json")
        found = json.loads(again.stdout)
        assert (again.returncode, found["adopted"], found["found"]["better"]) == (1, False, False)
        assert f"{found['present']['temperature']:.2f}" == shown[1]
        assert again.stderr == "equipoise: it is not better by two standard errors: what is said stays as it is\n"
