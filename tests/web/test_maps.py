"""Maps of a pool by what was played on them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from equipoise.core.model import Mode, ServerId, Side
from equipoise.store.listings import MapResult
from equipoise.web.evenness import new_teams_by_round
from tests.web.daemon import Daemon
from tests.wire.samples import HELLO, RED, ROUND, posted

MAPS = "/v1/admin/pools/main/maps"


def play(daemon: Daemon, *rounds: tuple[str, str]) -> None:
    """Rounds by map and winner, a hundred seconds apart."""
    for number, (name, winner) in enumerate(rounds, start=1):
        played = {"map": name, "winner": winner, "started_at": 1_763_622_000 + 100 * number}
        result = {**ROUND, "round": f"1-{number}", **played}
        assert daemon.post(posted(HELLO, result, seq=number)).body["rounds"] == {f"1-{number}": "stored"}


def test_a_map_says_how_its_rounds_ended_beside_what_was_expected(daemon: Daemon) -> None:
    play(daemon, ("arena_well", "red"), ("arena_byre", "red"), ("arena_byre", "blu"), ("arena_byre", "none"))
    body = daemon.call("GET", MAPS, who="guest").body
    assert [(row["map"], row["rounds"]) for row in body["maps"]] == [("arena_byre", 3), ("arena_well", 1)]
    byre = body["maps"][0]
    assert (byre["wins_a"], byre["wins_b"], byre["stalemates"]) == (1, 1, 1)
    assert (byre["mode"], byre["sides"], byre["last_played"]) == ("arena", ["red", "blu"], 1_763_622_400)
    assert byre["seconds"] == ROUND["seconds"]
    told = daemon.call("GET", "/v1/admin/rounds").body["rounds"]
    chances = [row["win_probability"] for row in told if row["map"] == "arena_byre"]
    assert byre["expected_a"] == pytest.approx(sum(chances) / 3)
    assert byre["even"] == pytest.approx(sum(0.4 <= chance <= 0.6 for chance in chances) / 3)
    shown = daemon.call("GET", f"{MAPS}/arena_byre", who="guest").body
    assert shown["map"] == byre
    (server,) = shown["servers"]
    assert (server["server"], server["rounds"]) == ("arena-1", 3)


def test_only_the_last_rounds_count_as_many_or_as_old_as_is_asked(daemon: Daemon) -> None:
    play(daemon, ("arena_well", "red"), ("arena_byre", "red"), ("arena_byre", "blu"))
    for query in ("rounds=2", "since=1763622200"):
        body = daemon.call("GET", f"{MAPS}?{query}").body
        assert (body["rounds"], [row["map"] for row in body["maps"]]) == (2, ["arena_byre"])
        refused = daemon.call("GET", f"{MAPS}/arena_well?{query}")
        assert (refused.status, refused.code) == (404, "not_found")
    assert daemon.call("GET", f"{MAPS}?rounds=0").status == 422


def test_a_map_of_the_workshop_has_a_slash_in_its_name(daemon: Daemon) -> None:
    play(daemon, ("workshop/koth_bagel.ugc454139147", "red"))
    assert daemon.call("GET", f"{MAPS}/workshop%2Fkoth_bagel.ugc454139147").body["map"]["rounds"] == 1


def test_maps_and_players_with_braces_in_their_names_are_found(daemon: Daemon) -> None:
    name = "cp_{x}%7B/{}"
    play(daemon, (name, "red"))
    for path in (f"{MAPS}/{quote(name, safe='')}", f"/maps/main/{quote(name, safe='')}"):
        assert (path, daemon.call("GET", path).status) == (path, 200)
    assert daemon.call("GET", f"{MAPS}/{quote(name, safe='')}").body["map"]["map"] == name
    daemon.post(posted({"kind": "player_joined", "id": RED, "name": "{TAG} Bob}"}, seq=2))
    assert daemon.call("GET", f"/v1/admin/players/{quote('{TAG} Bob}')}").body["player"]["id"] == RED
    # Neither is a stroke that parts two names a part of one.
    assert daemon.call("GET", f"{MAPS}/{{x}}/more").code == "not_found"


def test_without_rounds_there_are_no_maps(daemon: Daemon) -> None:
    assert daemon.call("GET", MAPS).body == {"ok": True, "pool": "main", "rounds": 0, "maps": []}


def test_new_teams_count_for_the_round_of_the_server_that_ends_next() -> None:
    def ended(number: int, server: str, at: float) -> MapResult:
        return MapResult(number, ServerId(server), "koth_harvest", Mode.KOTH, at - 60, 60.0, Side.A, 0.5, "1", 12)

    rounds = [ended(3, "one", 300.0), ended(2, "two", 250.0), ended(1, "one", 100.0)]
    splits = [(ServerId("one"), at) for at in (99.0, 101.0, 299.0, 301.0)] + [(ServerId("two"), 101.0)]
    assert new_teams_by_round(rounds, splits) == {1: 1, 3: 2, 2: 1}
