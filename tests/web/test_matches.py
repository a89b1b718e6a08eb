"""What is uncertain is said to be: intervals of players and of matches, records, evenness."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.daemon import ALONE, CONFIG, Daemon, running
from tests.web.test_admin import SIX, joined
from tests.wire.samples import BLU, HELLO, KOTH, RED, ROUND, posted, seats

pytestmark = pytest.mark.slow

MATCH = "/v1/admin/pools/main/match"


@pytest.fixture
def glicko(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path, CONFIG.replace(ALONE, 'system = "glicko"')) as started:
        yield started


def played(daemon: Daemon, rounds: int) -> None:
    """RED wins each of these rounds, and BLU's player leaves early each time."""
    for number in range(1, rounds + 1):
        result = {**ROUND, "round": f"1-{number}", "started_at": int(time.time())}
        assert daemon.post(posted(HELLO, result, seq=number)).body["rounds"] == {f"1-{number}": "stored"}


def test_a_player_is_shown_with_the_interval_of_their_skill_and_with_their_record(glicko: Daemon) -> None:
    played(glicko, 3)
    top = glicko.call("GET", "/v1/admin/pools/main/top").body["players"]
    assert [each["id"] for each in top] == [RED, BLU]
    winner, loser = (
        glicko.call("GET", f"/v1/admin/players/{steam_id}", who="guest").body["player"] for steam_id in (RED, BLU)
    )
    # On the leaderboard with their place, and how far they have come.
    assert [{field: each[field] for field in winner} for each in top] == [winner, loser]
    assert winner["record"] == {"wins": 3, "draws": 0, "losses": 0, "leaves": 0}
    assert loser["record"] == {"wins": 0, "draws": 0, "losses": 3, "leaves": 3}
    assert 0 < winner["deviation"] < 350
    assert winner["interval"] == pytest.approx(
        {end: winner["skill"] + sign * 1.2816 * winner["deviation"] for end, sign in (("low", -1), ("high", 1))},
        rel=1e-4,
    )


def test_a_record_of_a_void_round_comes_back_with_it(daemon: Daemon) -> None:
    played(daemon, 2)
    seen = []
    for undo in (False, True):
        voided = daemon.call("POST", "/v1/admin/rounds/arena-1/1-2/void", {"undo": undo})
        assert voided.status == 200, voided.body
        seen.append(daemon.call("GET", f"/v1/admin/players/{BLU}").body["player"]["record"])
    assert [(each["losses"], each["leaves"]) for each in seen] == [(1, 1), (2, 2)]


def test_a_script_is_told_the_deviation_where_the_system_knows_one(glicko: Daemon, tmp_path: Path) -> None:
    (told,) = glicko.post(posted(HELLO, {"kind": "player_joined", "id": RED, "name": "Ann"}, seq=1)).body["players"]
    assert told["deviation"] == 350.0
    (tmp_path / "synelo").mkdir()
    with running(tmp_path / "synelo") as daemon:
        (told,) = daemon.post(posted(HELLO, {"kind": "player_joined", "id": RED, "name": "Ann"}, seq=1)).body["players"]
    assert "deviation" not in told


def test_two_sides_of_strangers_are_not_known_to_be_even(glicko: Daemon) -> None:
    joined(glicko, n30="Ann", n31="Bob")
    found = glicko.call("POST", MATCH, {"a": ["ann"], "b": ["[U:1:22203]"]}, who="guest").body
    assert found["a"] == [{"id": RED, "name": "Ann"}]
    assert found["win_probability"] == pytest.approx(0.5)
    assert found["low"] == pytest.approx(1 - found["high"])
    assert found["high"] > 0.8
    assert found["evenness"] == pytest.approx(1 - 2 * found["unevenness"])
    assert found["evenness"] < 0.6


def test_a_system_without_deviations_gives_the_chance_alone(daemon: Daemon) -> None:
    found = daemon.call("POST", MATCH, {"a": [RED], "b": [BLU], "mode": "koth", "map": "koth_viaduct"}).body
    assert (found["win_probability"], found["low"], found["high"], found["evenness"]) == (0.5, None, None, 1.0)


def test_the_name_of_before_has_its_old_meaning_and_is_called_deprecated(glicko: Daemon) -> None:
    found = glicko.call("POST", MATCH, {"a": [RED], "b": [BLU]}).body
    assert found["quality"] == found["evenness"] < 0.6
    assert found["trueskill_quality"] is None
    schemas = glicko.call("GET", "/openapi.json").body["components"]["schemas"]
    for answer in ("MatchFound", "SplitFound"):
        marked = [name for name, schema in schemas[answer]["properties"].items() if schema.get("deprecated")]
        assert marked == ["quality"]


@pytest.mark.parametrize("system", ["trueskill", "trueskill_through_time", "trueskill2"])
def test_a_trueskill_pool_answers_the_match_quality_of_its_source_too(tmp_path: Path, system: str) -> None:
    """√(2nβ² / (2nβ² + Σσ²)): newcomers with σ = 2β have 0.447, the published figure for one against one."""
    config = CONFIG.replace(ALONE, f'system = "{system}"')
    if system == "trueskill2":
        config = config.replace(f'system = "{system}"', f'system = "{system}"\ninitial_variance = 4.0')
    with running(tmp_path, config) as daemon:
        duel = daemon.call("POST", MATCH, {"a": [RED], "b": [BLU]}).body
        (split,) = daemon.call("POST", "/v1/splits", {"ids": list(SIX[:4])}).body["splits"]
        (sent,) = daemon.call("POST", "/v1/splits", {"ratings": [25, 25, 25, 25]}).body["splits"]
    assert duel["trueskill_quality"] == pytest.approx(0.447, abs=5e-4)
    assert split["trueskill_quality"] == pytest.approx(0.447, abs=5e-4)
    assert sent["trueskill_quality"] is None
    assert duel["evenness"] != pytest.approx(duel["trueskill_quality"], abs=0.05)


@pytest.mark.parametrize(
    ("body", "status", "code", "path"),
    [
        ({"a": [RED], "b": []}, 422, "schema", "$.b"),
        ({"a": [RED], "b": [BLU, RED]}, 422, "twice", "$.b"),
        ({"a": [RED, RED], "b": [BLU]}, 422, "twice", "$.a"),
        ({"a": [RED], "b": ["nobody"]}, 404, "not_found", "$.b[0]"),
        ({"a": [RED], "b": [BLU], "mode": "chess"}, 422, "schema", "$.mode"),
    ],
)
def test_wrong_sides_are_refused_with_their_place(
    untouched: Daemon, body: dict[str, Any], status: int, code: str, path: str
) -> None:
    answer = untouched.call("POST", MATCH, body)
    assert (answer.status, answer.code, answer.body["error"]["path"]) == (status, code, path)


def test_decisions_and_status_have_the_interval_of_a_chance(glicko: Daemon) -> None:
    live = {"kind": "round_live", "round": "1-1", "players": seats(SIX)}
    glicko.post(posted(KOTH, {"kind": "roster", "players": seats(SIX)}, live, seq=1))
    (status, _) = glicko.call("GET", "/v1/admin/servers").body["servers"]
    assert status["outlook"]["low"] < status["win_probability"] == status["outlook"]["chance"]
    dry = glicko.call("POST", "/v1/admin/servers/arena-1/scramble", {"dry_run": True}).body["proposal"]
    assert dry["after_outlook"]["chance"] == dry["after"] < dry["after_outlook"]["high"]
    glicko.call("POST", "/v1/admin/servers/arena-1/scramble", {})
    (line, *_) = glicko.call("GET", "/v1/admin/decisions").body["decisions"]
    assert line["kind"] == "scramble"
    assert line["detail"]["after_outlook"]["low"] < line["detail"]["after"]
