"""Admins see players, pools, servers and logs, change what they may, and everything they change is in the audit."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from equipoise import ratings
from equipoise.core.model import PlayerId
from tests.web.daemon import CONFIG, Daemon, running
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import BLU, HELLO, KOTH, RED, ROUND

SIX = [str(76561197960287900 + n) for n in range(6)]
OUTNUMBERED = 1 / (1 + exp(1000 / 2400))
"""Of one newcomer against another and a bot, which enters sums as a newcomer."""


def audit(daemon: Daemon) -> list[dict[str, Any]]:
    lines = daemon.call("GET", "/v1/admin/audit").body["audit"]
    return [{key: value for key, value in line.items() if key not in ("at", "number")} for line in lines]


def crowd(daemon: Daemon, *sides: str) -> dict[str, Any]:
    """A running KOTH round with these sides."""
    players = [{"id": steam_id, "side": side} for steam_id, side in zip(SIX, sides, strict=False)]
    lineup = {"kind": "round_live", "round": "1-1", "players": players}
    return daemon.post(batch(1, KOTH, {"kind": "roster", "players": players}, lineup)).body


def joined(daemon: Daemon, **names: str) -> None:
    """Players with these names, by the last digits of their account, join."""
    joins = [{"kind": "player_joined", "id": f"765611979602879{n[1:]}", "name": name} for n, name in names.items()]
    daemon.post(batch(1, HELLO, ROSTER, *joins))


def test_a_player_who_only_joined_is_shown_as_a_newcomer(daemon: Daemon) -> None:
    joined(daemon, n30="Ann")
    found = daemon.call("GET", f"/v1/admin/players/{RED}", who="guest").body
    assert found == {
        "ok": True,
        "pool": "main",
        "player": {
            "id": RED,
            "name": "Ann",
            "rating": 1000.0,
            "rounds": 0,
            "visible": False,
            "stale": False,
            "last_played": None,
            "skill": 1000.0,
            "skill_by": None,
            "deviation": None,
            "interval": None,
            "record": {"wins": 0, "draws": 0, "losses": 0, "leaves": 0},
            "skills": None,
            "hidden": False,
        },
        "place": None,
        "length": None,
        "version": 0,
    }


@pytest.mark.slow
def test_a_rating_is_answered_with_all_that_a_look_at_the_player_shows(tmp_path: Path) -> None:
    """In pools of every system: what `PUT` and `DELETE` say after and before the change is what `GET` says then."""
    live = [name for name in ratings.SYSTEMS if ratings.create(name).live]
    known = {name for name in live if ratings.create(name).deviation(PlayerId(RED)) is not None}
    followed = {f"{name}-joint" for name in live if name != "joint"}
    pools = "".join(f"[pool.{name}]\nsystem = '{name}'\nbalance = '{name}'\n" for name in live)
    pools += "".join(f"[pool.{name}]\nsystem = '{name[:-6]}'\nbalance = 'joint'\n" for name in followed)
    assert {"joint", "trueskill", "glicko2"} <= known
    with running(tmp_path, CONFIG + pools) as daemon:
        for pool in (*live, *followed):
            path = f"/v1/admin/players/{RED}?pool={pool}"
            newcomer = daemon.call("PUT", path, {"rating": 200, "new": True}).body["before"]
            for method, body in (("PUT", {"rating": 210}), ("DELETE", None)):
                seen = daemon.call("GET", path).body
                before = seen["player"]
                trial = f"{path}&dry_run=true" if body is None else path
                tried = daemon.call(method, trial, body and {**body, "dry_run": True}).body
                assert daemon.call("GET", path).body == seen, "a dry run changes nothing"
                changed = daemon.call(method, path, body).body
                after = daemon.call("GET", path).body["player"]
                assert tried["player"]["rating"] == changed["player"]["rating"] == after["rating"]
                assert changed["version"] > tried["version"] == seen["version"]
                assert (changed["player"]["deviation"] is not None) == (pool in known | followed)
                if pool in live:  # the other system may know of the change a moment later
                    assert (changed["before"], changed["player"]) == (before, after)
            if pool in live:
                assert (after["skill"], after["deviation"]) == (newcomer["skill"], newcomer["deviation"])


def test_a_player_who_was_never_seen_is_not_shown_and_changed_only_where_that_is_meant(daemon: Daemon) -> None:
    for method, path, body in (
        ("GET", "", None),
        ("PUT", "", {"rating": 1500}),
        ("DELETE", "", None),
        ("POST", "/undo", {}),
    ):
        refused = daemon.call(method, f"/v1/admin/players/{RED}{path}", body)
        assert (refused.status, refused.code) == (404, "not_found")
        assert refused.body["error"]["message"] == f"{RED} was never seen here (pool main)"
    assert audit(daemon) == []


@pytest.mark.parametrize("rating", [99, 1e6, 1500.5, -1])
def test_a_rating_that_the_system_refuses_changes_nothing(untouched: Daemon, rating: float) -> None:
    answer = untouched.call("PUT", f"/v1/admin/players/{RED}", {"rating": rating, "new": True})
    assert (answer.status, answer.code) == (422, "rating")


def test_an_id_that_is_no_player_is_refused(untouched: Daemon) -> None:
    assert untouched.call("GET", "/v1/admin/players/STEAM_0:2:1").status == 422
    assert untouched.call("PUT", "/v1/admin/players/bot:7", {"rating": 1500, "new": True}).status == 422
    assert untouched.call("PUT", f"/v1/admin/players/{RED}", {"ratign": 1500}).body["error"]["path"] == "$"
    vanity = quote("https://steamcommunity.com/id/gabelogannewell/", safe="")
    answer = untouched.call("GET", f"/v1/admin/players/{vanity}")
    assert answer.status == 422
    assert "add ?xml=1 to its address" in answer.body["error"]["message"]


def test_a_player_is_found_by_every_form_of_an_id_and_by_a_name(daemon: Daemon) -> None:
    joined(daemon, n30="A/b%", n31="22203")
    profile = f"steamcommunity.com/profiles/{RED}"
    ids = ("22202", "STEAM_0:0:11101", "STEAM_1:0:11101", "[U:1:22202]", "U:1:22202")
    for text in (*ids, f"https://{profile}/", f"http://{profile}", "a/b%", " A/B% ", "a/"):
        found = daemon.call("GET", f"/v1/admin/players/{quote(text, safe='')}").body
        assert found["player"]["id"] == RED, text


def test_a_name_that_several_have_is_answered_with_their_ids_unless_it_is_the_whole_name_of_one(
    daemon: Daemon,
) -> None:
    joined(daemon, n30="Bob", n31="Bobby", n32="bobo")
    assert daemon.call("GET", "/v1/admin/players/bob").body["player"]["id"] == RED
    several = daemon.call("PUT", "/v1/admin/players/bo", {"rating": 1500})
    assert (several.status, several.code) == (409, "several")
    assert f"\n  {RED}  Bob\n" in several.body["error"]["message"]
    assert daemon.call("GET", "/v1/admin/players/rob").status == 404
    assert audit(daemon) == []


def test_a_number_that_nobody_here_has_as_an_account_is_looked_for_among_the_names(daemon: Daemon) -> None:
    joined(daemon, n30="1337")
    assert daemon.call("GET", "/v1/admin/players/1337").body["player"]["id"] == RED
    never = daemon.call("GET", "/v1/admin/players/1338")
    assert never.body["error"]["message"] == "76561197960267066 was never seen here (pool main)"


def test_rounds_are_listed_shown_and_part_of_the_history_of_their_players(daemon: Daemon) -> None:
    for number in range(1, 4):
        daemon.post(batch(number, HELLO, ROSTER, ended(number)))
    first = daemon.call("GET", "/v1/admin/rounds?limit=2").body
    rest = daemon.call("GET", f"/v1/admin/rounds?before={first['before']}").body
    assert [one["round"] for one in (*first["rounds"], *rest["rounds"])] == ["1-3", "1-2", "1-1"]
    assert rest["before"] is None
    assert first["rounds"][0]["sides"] == ["red", "blu"]
    assert len(daemon.call("GET", f"/v1/admin/rounds?player={RED}&server=arena-1").body["rounds"]) == 3
    assert daemon.call("GET", "/v1/admin/rounds?since=9000000000").body["rounds"] == []
    assert daemon.call("GET", "/v1/admin/rounds?player=gaben").status == 404

    shown = daemon.call("GET", "/v1/admin/rounds/arena-1/1-2").body
    assert {one["id"]: one["side"] for one in shown["players"]} == {RED: "a", BLU: "b"}
    assert daemon.call("GET", "/v1/admin/rounds/arena-1/gone").status == 404

    history = daemon.call("GET", f"/v1/admin/players/{RED}/rounds").body["rounds"]
    assert [one["round"]["round"] for one in history] == ["1-3", "1-2", "1-1"]
    for later, earlier in pairwise(history):
        assert later["played"]["before"] == earlier["played"]["after"]


def test_decisions_are_listed_about_one_player(daemon: Daemon) -> None:
    crowd(daemon, "red", "red", "blu", "blu")
    daemon.call("POST", "/v1/admin/servers/arena-1/scramble", {})
    found = daemon.call("GET", f"/v1/admin/decisions?player={SIX[0]}").body
    assert found["player"] == SIX[0]
    assert [(line["kind"], line["reason"]) for line in found["decisions"]] == [("scramble", "ordered by an admin")]
    assert found["sides"] == {"arena-1": ["red", "blu"]}
    last = found["decisions"][0]["number"]
    assert daemon.call("GET", f"/v1/admin/decisions?after={last}").body["decisions"] == []
    for other in (f"player={RED}", "server=ns2-1"):
        assert daemon.call("GET", f"/v1/admin/decisions?{other}").body["decisions"] == []
    assert daemon.call("GET", "/v1/admin/decisions?server=gone").status == 404


def test_the_quality_of_a_pool_is_that_of_its_rounds(daemon: Daemon) -> None:
    empty = daemon.call("GET", "/v1/admin/pools/main/quality").body
    assert (empty["quality"], empty["players"]["count"], empty["suggested_theta"]) == (None, 0, None)
    daemon.post(batch(1, HELLO, ROSTER, ended(1)))
    found = daemon.call("GET", "/v1/admin/pools/main/quality").body
    assert (found["quality"]["rounds"], found["quality"]["brier"]["value"]) == (
        1,
        pytest.approx((1 - OUTNUMBERED) ** 2),
    )
    assert (found["players"]["count"], found["players"]["shadow"], found["players"]["mean"]) == (2, 2, 1000.0)
    sizes = {"rounds": 1, "usual": 2, "k_max": 12, "suggested_k_max": None}
    assert (found["team_sizes"], found["groups"], found["balance"]) == (sizes, [], None)
    assert daemon.call("GET", "/v1/admin/pools").body["pools"] == [
        {"pool": "main", "system": "synelo", "sharing": None}
    ]


def test_the_quality_of_the_system_that_makes_the_teams_stands_beside_that_of_the_one_that_is_shown(
    daemon: Daemon,
) -> None:
    for number in range(1, 4):
        daemon.post(batch(number, HELLO, ROSTER, ended(number)))
    with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as db:
        db.execute(
            "UPDATE rounds SET balance_prediction = 0.5 + 0.2 * (id = '1-3'), unevenness = 0.04 + 0.2 * (id = '1-2') "
            "WHERE id IN ('1-2', '1-3')"
        )
    found = daemon.call("GET", "/v1/admin/pools/main/quality").body
    assert (found["quality"]["rounds"], found["balance"]["quality"]["rounds"]) == (3, 2)
    assert found["balance"]["quality"]["brier"]["value"] == pytest.approx((0.25 + 0.09) / 2)
    rounds = [daemon.call("GET", f"/v1/admin/rounds/arena-1/1-{number}").body["round"] for number in (2, 3)]
    assert [each["win_probability"] for each in rounds] == [0.5, 0.7], "as players heard it"
    briers = [(1 - each["rating_probability"]) ** 2 for each in rounds]
    # Of the first the prediction is all that is known, and that is of two against three.
    assert (found["quality"]["even"]["value"], found["balance"]["quality"]["even"]["value"]) == (1 / 3, 0.5)
    less = found["balance"]["difference"]["brier"]["value"]
    assert less == pytest.approx((0.25 + 0.09) / 2 - sum(briers) / 2)


def test_a_server_is_shown_as_its_script_reported_it(daemon: Daemon) -> None:
    crowd(daemon, "red", "red", "blu", "blu")
    server = daemon.call("GET", "/v1/admin/servers/arena-1").body["server"]
    assert (server["map"], server["mode"], server["phase"]) == ("koth_viaduct", "koth", "running")
    assert (server["players_a"], server["players_b"], server["win_probability"]) == (2, 2, 0.5)
    assert [each["server"] for each in daemon.call("GET", "/v1/admin/servers").body["servers"]] == ["arena-1", "ns2-1"]


def test_a_scramble_is_proposed_waits_until_it_is_cancelled_and_reaches_the_script_with_its_next_poll(
    daemon: Daemon,
) -> None:
    crowd(daemon, "red", "red", "blu", "blu")
    for steam_id, rating in zip(SIX, (2000, 1900, 1200, 1100), strict=False):
        daemon.call("PUT", f"/v1/admin/players/{steam_id}", {"rating": rating, "new": True})
    before = audit(daemon)
    proposal = daemon.call("POST", "/v1/admin/servers/arena-1/scramble", {"dry_run": True}).body["proposal"]
    best = {frozenset({SIX[0], SIX[3]}), frozenset({SIX[1], SIX[2]})}
    assert {frozenset(proposal["a"]), frozenset(proposal["b"])} == best
    assert proposal["before"] > 0.5 == proposal["after"]
    assert len(proposal["moves"]) == 2
    assert audit(daemon) == before
    assert daemon.post(batch(2)).body["orders"] == []

    daemon.call("POST", "/v1/admin/servers/arena-1/scramble", {"when": "next"})
    assert daemon.post(batch(3)).body["pending"] is True
    daemon.call("POST", "/v1/admin/servers/arena-1/cancel", {})
    assert daemon.post(batch(4)).body["pending"] is False
    again = daemon.call("POST", "/v1/admin/servers/arena-1/cancel", {})
    assert (again.status, again.code, again.body["error"]["message"]) == (409, "refused", "No scramble is due.")

    assert daemon.call("POST", "/v1/admin/servers/arena-1/scramble", {}).body["ok"] is True
    assert "assign" in [order["kind"] for order in daemon.post(batch(5)).body["orders"]]
    line = audit(daemon)[0]
    assert (line["who"], line["target"], line["after"]) == ("token:owner", "arena-1", "scramble now")


def test_a_round_may_come_without_a_batch_counts_once_and_says_why_it_is_not_rated(daemon: Daemon) -> None:
    sent: Any = {"server": "arena-1", "round": {key: value for key, value in ROUND.items() if key != "kind"}}
    first = daemon.call("POST", "/v1/rounds", sent, who="arena-1").body
    assert (first["status"], first["win_probability"], first["unrated"]) == ("stored", pytest.approx(OUTNUMBERED), None)
    assert [(one["id"], one["side"], one["before"]) for one in first["players"]] == [
        (RED, "a", 1000.0),
        (BLU, "b", 1000.0),
    ]
    assert audit(daemon) == []
    assert daemon.call("POST", "/v1/rounds", sent).body == first
    assert [(line["who"], line["action"], line["after"]) for line in audit(daemon)] == [("token:owner", "round", "1-4")]
    sent["round"] |= {"round": "1-5", "partial": True}
    taken = daemon.call("POST", "/v1/rounds", sent).body
    assert (taken["status"], taken["unrated"], taken["players"]) == ("stored", "not seen going live", [])


def test_a_submitted_round_of_ns2_has_spans_and_wrong_ones_are_refused_with_their_path(daemon: Daemon) -> None:
    chair = {"side": "marines", "from": 0, "to": 400, "role": "commander"}
    field = {"side": "aliens", "from": 400, "to": 600.5}
    swapped = [{"side": "aliens", "from": 0, "to": 400}, {"side": "marines", "from": 400, "to": 600.5}]
    players = [{"id": RED, "side": "marines", "spans": [chair, field]}, {"id": BLU, "side": "aliens", "spans": swapped}]
    result = {**ROUND, "game": "ns2", "winner": "aliens", "seconds": 600.5, "players": players}
    assert daemon.call("POST", "/v1/rounds", {"server": "ns2-1", "round": result}).body["status"] == "stored"
    assert daemon.call("GET", "/v1/admin/rounds/ns2-1/1-4").body["players"][0]["spans"] == [
        {"side": "a", "start": 0.0, "end": 400.0, "role": "commander"},
        {"side": "b", "start": 400.0, "end": 600.5, "role": "field"},
    ]
    for change, path in (
        ({"seconds": 600.0}, "$.round.players[0].spans[1].to"),
        ({"game": "tf2"}, "$.round.players[0].spans"),
    ):
        answer = daemon.call("POST", "/v1/rounds", {"server": "ns2-1", "round": {**result, "round": "1-5", **change}})
        assert (answer.status, answer.code, answer.body["error"]["path"]) == (422, "spans", path)
    assert daemon.call("GET", "/v1/admin/rounds/ns2-1/1-5").status == 404


def test_a_round_is_refused_for_another_server_and_for_none(daemon: Daemon) -> None:
    assert daemon.call("POST", "/v1/rounds", {"server": "ns2-1", "round": ROUND}, who="arena-1").code == "server"
    assert daemon.call("POST", "/v1/rounds", {"server": "gone", "round": ROUND}).status == 404
    twice = {**ROUND, "lineup": ROUND["lineup"] * 2}
    answer = daemon.call("POST", "/v1/rounds", {"server": "arena-1", "round": twice})
    assert answer.body["error"]["path"] == "$.round.lineup[3].id"
