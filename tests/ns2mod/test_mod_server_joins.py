"""The mod on a fake server: players who ask for a side, locks, and other mods that stand around JoinTeam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ns2mod.rig import Client
from tests.ns2mod.scripted import SHINES, Scene, Start, assign, steam


def place(side: str) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    """Puts everybody who asks on this side."""

    def answers(event: dict[str, Any]) -> list[dict[str, Any]]:
        if event["kind"] != "side_wanted":
            return []
        reason = {"phrase": "Equipoise_ReasonJoinSmaller", "args": []}
        return [{"kind": "place", "id": steam(int(event["id"])), "side": side, "reason": reason}]

    return answers


def locked(scene: Scene, account: int, side: str, seconds: float = 60) -> None:
    scene.daemon.orders = [{"kind": "lock", "id": steam(account), "side": side, "seconds": seconds}]
    scene.game.run(2)


def asking(scene: Scene, side: int) -> Client:
    """Ann, who has come and has just asked for a side."""
    client = scene.game.connect(301, "Ann")
    scene.game.run(1)
    client.joins(side)
    return client


@SHINES
def test_a_player_who_asks_for_a_side_waits_for_the_daemon_and_goes_where_it_says(scene: Start, shine: str) -> None:
    one = scene(shine=shine)
    one.people(2, 2)
    one.daemon.answers = place("aliens")
    client = asking(one, 1)
    assert client.team == 0
    one.game.run(1)
    assert client.team == 2
    assert one.daemon.events("side_wanted") == [{**one.daemon.last("side_wanted"), "id": "301", "side": "marines"}]
    assert client.chat == ["that side has fewer players"]


@pytest.mark.parametrize(("aliens", "team"), [(2, 2), (3, 1)])
def test_a_switch_without_an_answer_is_decided_after_a_second_and_makes_no_gap_of_two(
    scene: Start, aliens: int, team: int
) -> None:
    one = scene(switches={"switches_sides_directly": True})
    (first, *_), _ = one.people(3, aliens)
    first.joins(2)
    one.game.run(0.9)
    assert first.team == 1
    one.game.run(0.2)
    assert first.team == team


def test_of_two_who_wait_for_one_place_without_an_answer_the_games_own_rule_lets_one_in(scene: Start) -> None:
    one = scene()
    one.people(2, 2)
    ann, bob = one.game.connect(301, "Ann"), one.game.connect(302, "Bob")
    one.game.run(1)
    ann.joins(1)
    bob.joins(1)
    one.game.run(3)
    assert {ann.team, bob.team} == {0, 1}


@pytest.mark.parametrize("answered", [True, False])
def test_with_a_silent_daemon_and_before_its_first_answer_players_are_not_held(scene: Start, answered: bool) -> None:
    one = scene()
    if answered:
        one.people(2, 2)
    one.game.http.failure = ("Couldn't connect to server", 7)
    client = one.game.connect(301, "Ann")
    one.game.run(8 if answered else 0)
    assert client.joins(2)


@pytest.mark.parametrize("fields", [{"enabled": False}, {"level": "rate"}, {"level": "off"}])
def test_where_equipoise_is_not_to_act_players_are_not_held(scene: Start, fields: dict[str, Any]) -> None:
    one = scene()
    one.daemon.fields = fields
    one.people(2, 2)
    assert one.game.connect(301, "Ann").joins(1)


@SHINES
def test_a_locked_player_stays_and_reads_why_but_may_go_to_the_ready_room(scene: Start, shine: str) -> None:
    one = scene(shine=shine, switches={"switches_sides_directly": True})
    marines, _ = one.people(3, 3)
    locked(one, 102, "marines")
    marines[1].joins(2)
    one.game.run(3)
    assert marines[1].team == 1
    assert len([line for line in marines[1].chat if "stay there for" in line]) == 1
    assert marines[1].joins(0)


@SHINES
def test_a_lock_lets_forced_moves_bots_and_other_mods_shuffles_pass(scene: Start, shine: str) -> None:
    one = scene(shine=shine)
    marines, aliens = one.people(3, 3)
    locked(one, 102, "marines")
    locked(one, 202, "aliens")
    assert one.game.join(marines[1], 2, force=True)
    if shine != "none":
        one.game.shine_shuffle({marines[1]: 1, aliens[1]: 1})
        assert (marines[1].team, aliens[1].team) == (1, 1)
    assert one.game.add_bot(1).team == 1


def test_the_games_own_move_to_the_ready_room_after_a_round_passes(scene: Start) -> None:
    one = scene()
    marines, aliens = one.round()
    for account in (101, 102, 201, 202):
        locked(one, account, "marines" if account < 200 else "aliens")
    one.game.end_game(1)
    one.game.run(9)
    assert {client.team for client in [*marines, *aliens]} == {0}


@pytest.mark.parametrize("shine", ["outside", "inside"])
def test_a_mod_that_forbids_a_placement_is_obeyed(scene: Start, shine: str) -> None:
    one = scene(shine=shine)
    one.people(2, 2)
    one.daemon.answers = place("aliens")
    client = one.game.connect(301, "Ann")
    one.game.run(1)
    one.game.execute('Shine.Hook.Add("JoinTeam", "other", function() return false end)')
    client.joins(1)
    one.game.run(5)
    assert client.team == 0
    assert len(one.daemon.events("side_wanted")) <= 1


def test_a_late_joiner_of_a_running_round_goes_through_the_games_own_queue(scene: Start) -> None:
    one = scene()
    one.round()
    one.game.run(70)
    one.daemon.answers = place("aliens")
    client = asking(one, 1)
    one.game.run(1)
    assert client.team == 2
    assert not client.alive


def test_a_player_who_leaves_while_held_is_forgotten(scene: Start) -> None:
    one = scene()
    one.people(2, 2)
    client = asking(one, 1)
    client.disconnects()
    one.game.run(3)
    client.reconnects()
    one.game.run(3)
    assert client.team == 0


def test_a_player_who_goes_to_watch_while_held_is_not_put_on_a_side(scene: Start) -> None:
    one = scene()
    one.people(2, 2)
    one.daemon.answers = place("aliens")
    one.game.http.delay = 1
    client = one.game.connect(301, "Ann")
    one.game.run(2)
    client.joins(1)
    client.joins(3)
    one.game.run(4)
    assert client.team == 3


@SHINES
def test_a_held_player_goes_where_they_asked_when_equipoise_is_switched_off_meanwhile(scene: Start, shine: str) -> None:
    one = scene(shine=shine)
    one.people(2, 2)
    client = one.game.connect(301, "Ann")
    locked(one, 301, "aliens")
    one.daemon.answers = place("aliens")
    one.daemon.fields = {"enabled": False}
    client.joins(1)
    one.game.run(1)
    assert client.team == 1


@pytest.mark.parametrize("forced", [True, False])
def test_a_player_who_is_put_on_a_side_while_held_stays_there(scene: Start, forced: bool) -> None:
    """By another mod, or by a split that was ordered meanwhile; what they asked for is out of date."""
    one = scene()
    one.people(2, 2)
    client = asking(one, 2)
    assert client.team == 0
    if forced:
        assert one.game.join(client, 1, force=True)
    else:
        one.daemon.orders = [assign("o1", [301], [], "now")]
    one.game.run(4)
    assert client.team == 1
    assert client.chat[1:] == []
