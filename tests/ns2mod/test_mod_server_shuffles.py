"""The mod on a fake server: splits that the daemon orders, moves at death, and the splits it left for its silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ns2mod.rig import Client
from tests.ns2mod.scripted import SHINES, Start, assign, steam

RED, BLU = [101, 202, 203], [201, 102, 103]


def teams(*sides: list[Client]) -> dict[int, int | None]:
    return {client.account_id: client.team for side in sides for client in side if client.connected}


def at_start(*orders: dict[str, Any]) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    """These orders answer a round's start."""
    return lambda event: list(orders) if event["kind"] == "round_started" else []


@SHINES
def test_a_split_for_the_start_is_applied_at_the_countdown(scene: Start, shine: str) -> None:
    one = scene(shine=shine)
    sides = one.people()
    one.daemon.answers = at_start(assign("o1", RED, BLU, "freeze"))
    one.commanded(*sides)
    one.game.run(2)
    assert teams(*sides) == {101: 1, 102: 1, 103: 1, 201: 2, 202: 2, 203: 2}
    one.game.start_round()
    assert teams(*sides) == {101: 1, 102: 2, 103: 2, 201: 2, 202: 1, 203: 1}
    one.game.run(1)
    assert one.daemon.outcome("o1") == "done"
    assert sides[0][0].commands_now
    assert sides[1][0].commands_now


def test_a_player_who_took_the_chair_since_the_split_stays_on_their_side(scene: Start) -> None:
    one = scene()
    sides = one.people()
    one.daemon.answers = at_start(assign("o1", [101, 201, 203], [102, 103, 202], "freeze"))
    one.commanded(*sides)
    one.game.start_round()
    one.game.run(1)
    assert teams(*sides)[201] == 2
    assert sides[1][0].commands_now
    assert one.daemon.outcome("o1") == "sizes"


def test_an_answer_that_a_repeated_batch_brings_belongs_to_the_start_in_the_batch(scene: Start) -> None:
    one = scene()
    sides = one.people()
    one.daemon.answers = at_start(assign("o1", RED, BLU, "freeze"))
    one.game.http.lose_answers = True
    one.commanded(*sides)
    one.game.run(1)
    sides[0][0].leaves_chair()
    one.game.run(4.2)
    one.game.http.lose_answers = False
    one.daemon.answers = None
    sides[0][0].commands()
    one.game.start_round()
    one.game.run(2)
    assert len(one.daemon.events("round_started")) > 1
    assert one.daemon.outcome("o1") == "aborted"
    assert teams(*sides)[102] == 1


@SHINES
def test_a_shuffle_at_once_in_a_round_moves_then_starts_the_round_again(scene: Start, shine: str) -> None:
    one = scene(shine=shine)
    sides = one.round()
    one.game.run(30)
    resets = one.game.resets
    one.daemon.orders = [assign("o0", [101, 102, 103], [201, 202, 203], "now")]
    one.game.run(2)
    assert (one.daemon.outcome("o0"), one.game.resets) == ("done", resets), "where nobody moves nothing is reset"
    one.daemon.orders = [assign("o1", RED, BLU, "now")]
    one.game.run(2)
    assert one.game.resets == resets + 1
    assert teams(*sides) == {101: 1, 102: 2, 103: 2, 201: 2, 202: 1, 203: 1}
    assert one.daemon.last("round_ended")["partial"]
    assert one.daemon.outcome("o1") == "done"
    assert sides[0][0].commands_now


REASON = "ordered by an admin"


@pytest.mark.parametrize("moment", ["now", "freeze"])
def test_the_daemon_says_the_reason_of_a_shuffle_to_all_and_the_mod_tells_it_to_no_player_again(
    scene: Start, moment: str
) -> None:
    one = scene()
    marines, _ = one.people()
    order = assign("o1", RED, BLU, moment)
    one.daemon.answers = lambda event: (
        [{"kind": "say", "text": order["reason"]}] if event["kind"] == "order_done" else []
    )
    one.game.start_without_pregame()
    one.daemon.orders = [order]
    one.game.run(3)
    assert one.daemon.outcome("o1") == "done"
    assert marines[1].team == 2
    assert one.game.state == "Countdown"
    assert [marine.chat.count(REASON) for marine in marines[:2]] == [1, 1]


@pytest.mark.parametrize("answer", ["false", "true, 1"])
def test_a_mod_that_forbids_or_redirects_a_move_ends_the_split_and_the_sides_stay_nearly_even(
    scene: Start, answer: str
) -> None:
    one = scene(shine="outside")
    sides = one.people()
    one.game.execute(
        f"""Shine.Hook.Add("JoinTeam", "other", function(_, player)
            if player:GetName() == "M3" then return {answer} end
        end)"""
    )
    one.daemon.orders = [assign("o1", [101, 202, 203], [201, 102, 103], "now")]
    one.game.run(3)
    assert one.daemon.outcome("o1") == "refused"
    after = list(teams(*sides).values())
    assert abs(after.count(1) - after.count(2)) <= 1
    assert len(one.daemon.events("order_failed")) == 1


def test_a_cancelled_move_is_forgotten_and_one_of_an_ended_round_fails(scene: Start) -> None:
    one = scene()
    marines, _ = one.round(4, 2)
    reason = {"phrase": "Equipoise_ReasonGap", "args": ["4", "2"]}
    one.daemon.orders = [
        {"kind": "move", "order": f"o{i}", "reason": reason, "id": steam(100 + i), "side": "aliens", "deadline": 1e9}
        for i in (2, 3)
    ]
    one.game.run(2)
    one.daemon.orders = [{"kind": "cancel", "order": "o2"}]
    one.game.run(2)
    marines[1].dies()
    one.game.run(1)
    assert marines[1].team == 1
    one.game.end_game(1)
    one.game.run(2)
    assert one.daemon.outcome("o2") is None
    assert one.daemon.outcome("o3") == "no_round"


CACHE = {"ids": [steam(each) for each in (102, 103, 202, 203)], "splits": ["ABBA"]}


@pytest.mark.parametrize(
    ("due", "why"),
    [
        ({"pending": True, "reason": {"phrase": "Equipoise_ReasonVote", "args": []}}, "the players voted for it"),
        ({"due_if": ["red", "blu", "none"], "reason": None}, "teams are shuffled before every round"),
    ],
    ids=["pending", "always"],
)
def test_a_silent_daemon_at_a_start_that_needs_a_shuffle_leaves_its_last_splits(
    scene: Start, due: dict[str, object], why: str
) -> None:
    one = scene()
    one.daemon.fields = {**due, "cache": CACHE}
    sides = one.people()
    one.game.http.failure = ("Couldn't connect to server", 7)
    one.game.run(3)
    one.commanded(*sides)
    one.game.start_round()
    assert teams(*sides) == {101: 1, 102: 1, 203: 1, 201: 2, 103: 2, 202: 2}
    one.game.http.failure = None
    one.game.run(8)
    event = one.daemon.last("scrambled_alone")
    assert event["red"] == ["101", "102", "203"]
    assert event["blu"] == ["103", "201", "202"]
    assert all(
        client.chat == [f"New teams ({why}). Their win chance is not known."] for side in sides for client in side
    )


def test_the_last_splits_leave_who_is_immune_where_they_are(scene: Start) -> None:
    one = scene()
    one.daemon.fields = {"pending": True, "cache": {**CACHE, "splits": ["B-A-", "ABBA"]}}
    marines, aliens = one.people()
    one.game.admins.add(103)
    one.game.http.failure = ("Couldn't connect to server", 7)
    one.game.run(3)
    one.commanded(marines, aliens)
    one.game.start_round()
    assert teams(marines, aliens)[103] == 1
    assert sorted(teams(marines, aliens).values()) == [1, 1, 1, 2, 2, 2]
    assert teams(marines, aliens) != {101: 1, 102: 1, 103: 1, 201: 2, 202: 2, 203: 2}


def test_a_split_that_comes_after_the_cached_one_was_applied_fails(scene: Start) -> None:
    one = scene()
    one.daemon.fields = {"pending": True, "cache": CACHE}
    sides = one.people()
    one.game.http.failure = ("Couldn't connect to server", 7)
    one.game.run(3)
    one.commanded(*sides)
    one.game.until(lambda: one.game.state == "Countdown")
    one.game.run(0.2)
    one.game.http.failure = None
    one.daemon.answers = at_start(assign("o1", RED, BLU, "freeze"))
    one.game.run(6.5)
    one.game.run(3)
    assert one.daemon.outcome("o1") in {"alone", "too_late"}
    assert teams(*sides)[203] == 1


def test_while_shines_own_shuffle_is_enforced_the_mod_gives_no_orders_and_still_reports_rounds(scene: Start) -> None:
    one = scene(shine="outside")
    one.game.execute(
        """Shine.Plugins.voterandom = { Enabled = true, Config = {},
            EnforcementPolicy = { IsActive = function() return enforced end } }
        enforced = true"""
    )
    sides = one.round()
    assert one.daemon.last("hello")["inactive_reason"] == "shuffle"
    one.daemon.orders = [assign("o1", RED, BLU, "now")]
    one.game.run(2)
    assert one.daemon.outcome("o1") == "off"
    assert one.game.connect(301, "Ann").joins(1)
    one.game.end_game(1)
    one.game.run(2)
    assert one.daemon.last("round_ended")["winner"] == "marines"
    one.game.execute("enforced = false")
    one.game.run(2)
    assert one.daemon.last("hello")["inactive_reason"] == ""
    assert len(sides[0]) == 3


def test_in_tournament_mode_the_mod_stands_aside_and_reports_no_round(scene: Start) -> None:
    one = scene(own=("Equipoise", "GetTournamentModeEnabled"))
    one.game.execute("function GetTournamentModeEnabled() return true end")
    one.round()
    assert one.daemon.last("hello")["inactive_reason"] == "tournament"
    assert one.game.clients[0].chat == ["Equipoise leaves this map alone (tournament)."]
    one.game.end_game(1)
    one.game.run(2)
    assert one.daemon.events("round_live") == []
    assert one.daemon.events("round_ended") == []
