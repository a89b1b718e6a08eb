"""Any program may have its players split: by id or by rating, with what the split must respect."""

from __future__ import annotations

import http.client
import json
from itertools import combinations
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.daemon import ALONE, CONFIG, SECRETS, Daemon, running
from tests.web.made_up import MADE_UP
from tests.wire.samples import BLU, RED

pytestmark = pytest.mark.slow

RATINGS = [1830, 1210, 1450, 990, 1120, 1700, 1380, 1555]


POINTS = st.one_of(st.integers(0, 5000), st.floats(-1e9, 1e9), st.sampled_from([-1e9, 1e9, 5e-324, 0.1]))
LABELS = st.one_of(st.integers(-1, 12), st.integers(), st.sampled_from([RED, BLU, "0", "7", "07", "", "²", "9" * 5000]))
NAMES = LABELS.map(str)
QUESTIONS = st.fixed_dictionaries(
    {},
    optional={
        "ratings": st.lists(POINTS, max_size=10),
        "ids": st.lists(
            st.sampled_from([str(int(RED) + n) for n in range(9)] + ["bot:7", "5"]), max_size=9, unique=True
        ),
        "size": st.integers(0, 6),
        "keep_together": st.lists(st.lists(LABELS, max_size=4), max_size=3),
        "pinned": st.dictionaries(NAMES, st.sampled_from(["a", "b", "bench", "play"]), max_size=3),
        "bench_cost": st.dictionaries(NAMES, st.sampled_from([0, 1, 7, 1_000_000, 2**53]), max_size=3),
        "current": st.fixed_dictionaries({}, optional={side: st.lists(LABELS, max_size=4) for side in ("a", "b")}),
        "tolerance": st.sampled_from([0, 0.01, 0.5, 1, 1e-300]),
    },
)


@MADE_UP
@given(QUESTIONS)
def test_any_question_is_answered_or_refused(untouched: Daemon, asked: dict[str, Any]) -> None:
    answer = untouched.call("POST", "/v1/splits", asked)
    assert answer.status in (200, 422), answer.raw
    assert answer.body["ok"] is (answer.status == 200)


def solve(daemon: Daemon, **asked: Any) -> Any:
    answer = daemon.call("POST", "/v1/splits", asked, who="guest")
    assert answer.status == 200, answer.body
    return answer.body["splits"]


def best(size: int) -> int:
    """The least difference, by trying everything."""
    return min(
        abs(sum(RATINGS[i] for i in a) - sum(RATINGS[i] for i in b))
        for a in combinations(range(8), size)
        for b in combinations(set(range(8)) - set(a), size)
    )


def test_every_size_is_split_exactly(daemon: Daemon) -> None:
    found = solve(daemon, ratings=RATINGS)
    assert [split["k"] for split in found] == [2, 3, 4]
    for split in found:
        assert sorted(split["a"] + split["b"] + split["bench"]) == list(range(8))
        assert abs(split["difference"]) == best(split["k"])
        assert split["optimal"] is True
        assert split["gap"] == {"points": 0, "bench_cost": 0, "moves": 0}


UNEVEN: dict[str, Any] = {"ratings": [1800, 1500, 1400, 1000], "pinned": {"0": "a", "1": "a"}, "size": 2}


def test_of_ratings_the_chance_is_the_pools_without_an_interval_and_so_is_the_evenness(daemon: Daemon) -> None:
    (split,) = solve(daemon, **UNEVEN)
    assert split["difference"] == 900
    assert split["win_probability"] == pytest.approx(1 / (1 + exp(-900 / 2400)))
    assert (split["low"], split["high"]) == (None, None)
    assert split["unevenness"] == pytest.approx(split["win_probability"] - 0.5)
    assert split["evenness"] == pytest.approx(1 - 2 * split["unevenness"])


def test_a_system_that_predicts_by_players_alone_goes_by_ratings_that_are_sent(tmp_path: Path) -> None:
    with running(tmp_path, CONFIG.replace(ALONE, 'balance = "joint"')) as daemon:
        (split,) = solve(daemon, **UNEVEN)
        (far,) = solve(daemon, **(UNEVEN | {"ratings": [1e9, 1e9, 0, 0]}))
    assert split["win_probability"] == pytest.approx(1 / (1 + exp(-900 / 2400)))
    assert split["unevenness"] == pytest.approx(split["win_probability"] - 0.5)
    assert far["win_probability"] == 1.0


@pytest.mark.parametrize("preferring", [False, True])
def test_a_pool_of_correlated_errors_says_how_even_its_splits_are_known_to_be(tmp_path: Path, preferring: bool) -> None:
    ids = [str(int(RED) + n) for n in range(4)]
    with running(tmp_path, CONFIG.replace(ALONE, 'system = "joint"')) as daemon:
        for steam_id, rating in zip(ids, (2000, 1000, 1900, 1100), strict=True):
            daemon.call("PUT", f"/v1/admin/players/{steam_id}", {"rating": rating, "new": True})
        more: dict[str, Any] = {"current": {"a": ids[:2], "b": ids[2:]}, "tolerance": 0.01} if preferring else {}
        (split,) = solve(daemon, ids=ids, **more)
    assert {frozenset(split["a"]), frozenset(split["b"])} == {frozenset(ids[:2]), frozenset(ids[2:])}
    assert split["optimal"] is False
    assert split["low"] < split["win_probability"] < split["high"]
    assert split["evenness"] == pytest.approx(1 - 2 * split["unevenness"])


def test_players_are_split_by_what_the_pool_knows_of_them(daemon: Daemon) -> None:
    ids = [str(int(RED) + n) for n in range(4)]
    for steam_id, rating in zip(ids, (2000, 1000, 1900, 1100), strict=True):
        daemon.call("PUT", f"/v1/admin/players/{steam_id}", {"rating": rating, "new": True})
    (split,) = solve(daemon, ids=ids)
    assert {frozenset(split["a"]), frozenset(split["b"])} == {frozenset(ids[:2]), frozenset(ids[2:])}
    assert split["difference"] == 0


def test_groups_stay_together_and_pins_hold(daemon: Daemon) -> None:
    (split,) = solve(daemon, ratings=RATINGS, size=3, keep_together=[[0, 5]], pinned={"3": "b", "6": "bench"})
    assert {0, 5} <= set(split["a"]) or {0, 5} <= set(split["b"]) or {0, 5} <= set(split["bench"])
    assert 3 in split["b"]
    assert 6 in split["bench"]


def test_within_the_tolerance_the_cheapest_bench_and_then_the_fewest_moves_win(daemon: Daemon) -> None:
    current = {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]}
    (split,) = solve(daemon, ratings=RATINGS, size=4, tolerance=0.5, current=current)
    assert (set(split["a"]), set(split["b"])) == ({0, 1, 2, 3}, {4, 5, 6, 7})
    (split,) = solve(daemon, ratings=RATINGS, size=3, tolerance=0.5, bench_cost={str(n): 1 for n in range(6)})
    assert set(split["bench"]) == {6, 7}


def crowd(players: int) -> dict[str, Any]:
    """More combinations than any time suffices for."""
    rng = Random(players)
    return {
        "ratings": [rng.gauss(1500, 400) for _ in range(players)],
        "keep_together": [[2 * n, 2 * n + 1] for n in range(30)],
        "bench_cost": {str(n): rng.randint(0, 1000) for n in range(players)},
        "current": {"a": list(range(0, players, 2)), "b": list(range(1, players, 2))},
        "tolerance": 0.5,
    }


def test_as_many_players_as_a_server_has_are_split_and_what_may_be_missing_is_said(tmp_path: Path) -> None:
    with running(tmp_path, CONFIG + "[splits]\nseconds = 60\n") as daemon:
        found = solve(daemon, **crowd(96))

    assert [split["k"] for split in found] == list(range(2, 49))
    assert all({2 * n, 2 * n + 1} & set(split["a"]) != {2 * n} for split in found for n in range(30))
    unproven = [split for split in found if not split["optimal"]]
    assert unproven
    assert all(split["gap"]["bench_cost"] or split["gap"]["moves"] or split["gap"]["points"] for split in unproven)


def test_a_caller_who_hangs_up_leaves_the_solver_to_others(tmp_path: Path) -> None:
    with running(tmp_path, CONFIG + "[splits]\nseconds = 60\n") as daemon:
        impatient = http.client.HTTPConnection(daemon.host, daemon.port)
        headers = {"Authorization": f"Bearer {SECRETS['guest']}", "Content-Type": "application/json"}
        impatient.request("POST", "/v1/splits", json.dumps(crowd(128)), headers)
        others = http.client.HTTPConnection(daemon.host, daemon.port)
        others.request("GET", "/healthz")  # by its answer the question has been read, too
        assert others.getresponse().read()
        impatient.close()
        others.close()

        assert len(solve(daemon, ratings=RATINGS)) == 3


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({}, "players"),
        ({"ids": [RED], "ratings": [1]}, "players"),
        ({"ids": [RED, RED, RED, RED]}, "twice"),
        ({"ratings": [1, 2, 3]}, "split"),
        ({"ratings": [1] * 129}, "schema"),
        *(({"ratings": RATINGS, "keep_together": groups}, "schema") for groups in ([[0] * 129], [[0]] * 129)),
        ({"ratings": RATINGS, "current": {"a": [0] * 129}}, "schema"),
        ({"ratings": RATINGS, "pinned": dict.fromkeys(map(str, range(129)), "a")}, "schema"),
        ({"ratings": RATINGS, "bench_cost": dict.fromkeys(map(str, range(129)), 1)}, "schema"),
        ({"ratings": [1e300, 1, 1, 1]}, "schema"),
        ({"ratings": RATINGS, "size": 5}, "split"),
        ({"ratings": RATINGS, "size": 0}, "schema"),
        ({"ratings": RATINGS, "keep_together": [[0, 8]]}, "stranger"),
        ({"ratings": RATINGS, "pinned": {"bob": "a"}}, "stranger"),
        *(({"ratings": RATINGS, "pinned": {label: "a"}}, "stranger") for label in ("8", "-1", "01", "²", "9" * 5000)),
        ({"ratings": RATINGS, "keep_together": [[10**400]]}, "stranger"),
        ({"ratings": RATINGS, "pinned": {"0": "c"}}, "schema"),
        ({"ratings": RATINGS, "pinned": {"0": "a", "1": "b"}, "keep_together": [[0, 1]]}, "split"),
        ({"ratings": RATINGS, "tolerance": 1.5}, "schema"),
        ({"ratings": RATINGS, "bench_cots": {}}, "schema"),
        ({"ratings": RATINGS, "pool": "side"}, "not_found"),
    ],
)
def test_what_cannot_be_split_is_refused(untouched: Daemon, asked: dict[str, Any], code: str) -> None:
    assert untouched.call("POST", "/v1/splits", asked).code == code
