"""A player over time, and the others in their rounds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from equipoise.web.rounds import drawn
from tests.web.daemon import CONFIG, Daemon, running
from tests.web.test_admin import SIX
from tests.wire.samples import HELLO, finished, posted

ME = SIX[0]


def play(daemon: Daemon, count: int, seed: int = 1, first: float = 1_763_622_000.0) -> None:
    """Rounds of three against three, the sides and the winner by chance; two of the six play alternately."""
    random = Random(seed)
    for number in range(1, count + 1):
        ids = random.sample(SIX, 6 if number % 2 else 4)
        game = {"winner": random.choice(["red", "blu", "none"]), "started_at": first + 100 * number}
        result = finished(ids, **game, round=f"1-{number}")
        assert daemon.post(posted(HELLO, result, seq=number)).body["rounds"] == {f"1-{number}": "stored"}


def history(daemon: Daemon) -> list[dict[str, Any]]:
    return list(reversed(daemon.call("GET", f"/v1/admin/players/{ME}/rounds?limit=500").body["rounds"]))


def test_a_curve_has_the_rating_after_each_round_and_each_edit(daemon: Daemon) -> None:
    play(daemon, 9)
    daemon.call("PUT", f"/v1/admin/players/{ME}", {"rating": 1234})
    daemon.call("PUT", f"/v1/admin/players/{ME}", {"rating": 4321})
    daemon.call("POST", f"/v1/admin/players/{ME}/undo", {})
    curve = daemon.call("GET", f"/v1/admin/players/{ME}/curve", who="guest").body
    rounds = history(daemon)
    assert curve["rounds"] == len(rounds)
    told = [(point["at"], point["rating"]) for point in curve["points"] if point["edit"] is None]
    assert told == [(one["round"]["started_at"], one["played"]["after"]) for one in rounds]
    assert [(point["edit"], point["rating"]) for point in curve["points"][-2:]] == [("set", 1234), ("undo", 1234)]


@pytest.mark.parametrize("system", ["glicko2", "joint"])
def test_a_curve_ends_with_the_interval_that_the_player_has(tmp_path: Path, system: str) -> None:
    text = CONFIG.replace("balance", f'system = "{system}"\nbalance').replace("synelo", system)
    with running(tmp_path, text) as daemon:
        play(daemon, 9)
        *_, last = daemon.call("GET", f"/v1/admin/players/{ME}/curve").body["points"]
        player = daemon.call("GET", f"/v1/admin/players/{ME}").body["player"]
        assert last["low"] < last["rating"] == player["rating"] < last["high"]
        # Glicko-2 grows less sure with the time since then.
        assert player["interval"]["low"] <= last["low"] + 1e-6
        assert last["high"] <= player["interval"]["high"] + 1e-6


@pytest.mark.parametrize("count", [0, 1, 3, 499, 500, 10_000])
def test_of_a_long_curve_the_ends_and_the_extremes_of_each_stretch_stay(count: int) -> None:
    random = Random(count)
    values = [random.gauss(1000, 50) for _ in range(count)]
    places = drawn(values, 250)
    assert places == sorted(set(places))
    assert len(places) <= min(count, 502)
    kept = [values[place] for place in places]
    if count:
        assert (kept[0], kept[-1], max(kept), min(kept)) == (values[0], values[-1], max(values), min(values))


def test_mates_are_those_with_and_against_whom_a_player_played(daemon: Daemon) -> None:
    play(daemon, 12)
    counts: Counter[tuple[str, bool]] = Counter()
    scores: Counter[tuple[str, bool]] = Counter()
    for one in history(daemon)[-8:]:
        lineup = daemon.call("GET", f"/v1/admin/rounds/arena-1/{one['round']['round']}").body["lineup"]
        for side, ids in zip("ab", lineup, strict=True):
            for other in set(ids) - {ME}:
                counts[other, side == one["played"]["side"]] += 1
                scores[other, side == one["played"]["side"]] += one["played"]["score"]
    mates = daemon.call("GET", f"/v1/admin/players/{ME}/mates?rounds=8", who="guest").body
    for word, beside in (("beside", True), ("against", False)):
        assert {(one["id"], one["rounds"], one["score"]) for one in mates[word]} == {
            (other, count, scores[other, beside]) for (other, side), count in counts.items() if side is beside
        }
        rounds = [one["rounds"] for one in mates[word]]
        assert rounds == sorted(rounds, reverse=True)
    few = daemon.call("GET", f"/v1/admin/players/{ME}/mates?rounds=8&limit=2").body
    assert few["beside"] == mates["beside"][:2]
