"""`equipoise pool refit`, through a running daemon."""

from __future__ import annotations

import json

import pytest

from tests.cli.house import House, ask, post, serving
from tests.wire.samples import HELLO, RED, ROUND, posted

pytestmark = pytest.mark.slow


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


def test_a_system_without_such_a_fit_says_so(house: House) -> None:
    with serving(house) as (_, address):
        refused = ask(house, address, "pool", "refit")
        assert (refused.returncode, refused.stderr) == (1, "equipoise: pool main: synelo has no whole-history fit\n")
        missing = ask(house, address, "pool", "refit", "other")
        assert (missing.returncode, "name one of the pools: main" in missing.stderr) == (1, True)
