"""Joins, gaps in the middle of a round, and locks: end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.answerer import BASECOMMANDS
from tests.sourcemod.rig import compile_text, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

pytestmark = pytest.mark.slow

UNLOCKED = "[lock]\nminutes = 0\n"


def live(new_evening: NewEvening, players: int, map_name: str = "koth_harvest_final", settings: str = "") -> Evening:
    """A running round after waiting's scramble."""
    evening = new_evening(map_name, settings)
    for number in range(players):
        evening.seat(f"P{number}")
    evening.freeze()
    evening.live()
    return evening


def leave(evening: Evening, *players: Player) -> None:
    for player in players:
        evening.game.leave(player)
    evening.game.settle()


def test_at_equal_numbers_a_joiner_evens_the_skill(new_evening: NewEvening) -> None:
    evening = live(new_evening, 4)
    strong, weak = evening.game.teams.members(BLU)[0], evening.game.teams.members(RED)[0]
    evening.rate(**{strong.name: 1700, weak.name: 1200})

    joiner = evening.seat("Zoe", "blue")

    assert joiner.team == RED
    assert any("closest in skill" in line for line in joiner.chat)


@pytest.mark.parametrize("missing", [2, 3, 4])
def test_a_gap_is_closed_within_ten_seconds_without_a_death_on_the_score(new_evening: NewEvening, missing: int) -> None:
    evening = live(new_evening, 10)
    leave(evening, *evening.game.teams.members(RED)[:missing])
    assert evening.sizes() == [5 - missing, 5]

    evening.wait(10.5)

    assert evening.sizes() == [5 - missing + missing // 2, 5 - missing // 2]
    assert all(player.suicides == player.deaths == 0 for player in evening.game.humans())


def test_who_is_moved_closes_half_the_gap_in_skill(new_evening: NewEvening) -> None:
    evening = live(new_evening, 6)
    red, blu = evening.game.teams.members(RED), evening.game.teams.members(BLU)
    evening.rate(**dict(zip((player.name for player in blu), (1500, 1200, 900), strict=True)))

    leave(evening, *red[:2])
    evening.wait(10.5)

    # 3600 against 1000: 2600 more, 1300 would even it; 1200 is closest.
    (move,) = evening.decisions("move")
    assert evening.named(move["detail"]["players"]) == [blu[1].name]


def test_a_player_is_moved_as_they_die(new_evening: NewEvening) -> None:
    evening = live(new_evening, 6)
    leave(evening, *evening.game.teams.members(RED)[:2])
    (move,) = evening.decisions("move")
    (name,) = evening.named(move["detail"]["players"])
    moved = next(player for player in evening.game.humans() if player.name == name)

    play.kill(evening.game, evening.game.teams.members(RED)[0], moved)
    evening.wait(1.0)

    assert moved.team == RED
    assert (moved.deaths, moved.suicides) == (1, 0)


def test_a_reconnect_does_not_dodge_a_lock(new_evening: NewEvening) -> None:
    evening = live(new_evening, 6)
    player = evening.game.teams.members(RED)[0]

    again = evening.game.reconnect(player)
    evening.game.settle()
    evening.game.join(again, "blue")
    evening.game.settle()

    assert again.team == RED


def test_locks_follow_the_group_when_the_game_switches_the_sides(new_evening: NewEvening) -> None:
    evening = live(new_evening, 6, "pl_upward", settings="[triggers]\npayload = {}\n[lock]\nminutes = 60\n")
    red = evening.side(RED)
    play.capture(evening.game, BLU, 0, evening.game.teams.members(BLU)[0])
    evening.win(BLU)
    evening.freeze()
    assert evening.side(BLU) == red

    evening.live()
    player = evening.game.teams.members(BLU)[0]
    evening.game.join(player, "red")
    evening.game.settle()

    assert player.team == BLU
    assert any("stay there for" in line for line in player.chat)


def test_the_engine_never_balances_on_its_own(new_evening: NewEvening) -> None:
    evening = live(new_evening, 8, settings="[autobalance]\nenabled = false\n")
    leave(evening, *evening.game.teams.members(RED)[:3])

    evening.wait(40)

    assert evening.sizes() == [1, 4]
    evening.win(BLU, Reason.POINTS_CAPTURED)


def test_an_admin_who_turns_on_the_games_own_balancing_does_not_get_it_while_we_balance(
    new_evening: NewEvening, tmp_path: Path
) -> None:
    evening = live(new_evening, 8)
    game = evening.game
    game.load(compile_text(BASECOMMANDS, tmp_path, "basecommands", tmp_path))
    admin = game.teams.members(BLU)[0]
    admin.flags = 1 << 14
    for name in ("mp_autoteambalance", "mp_scrambleteams_auto", "sv_vote_issue_scramble_teams_allowed"):
        game.command(admin, f"sm_cvar {name} 1")
        assert game.sm.convars[name].number == 0
    leave(evening, *game.teams.members(RED)[:2])

    evening.wait(90)

    assert not game.events("teamplay_teambalanced_player")
    assert evening.sizes() == [3, 3]
    assert len(evening.decisions("move")) == 1
    evening.win(BLU)
    evening.freeze()
    evening.live()
    evening.win(BLU)
    evening.freeze()
    moved = [one for one in evening.decisions("scramble") if one["detail"]["players"]]
    assert len(game.events("teamplay_alert")) == len(moved), "each is one of ours"
    game.command(admin, "sm_eq_off")
    evening.wait(1.0)
    assert game.sm.convars["mp_autoteambalance"].number == 1


def test_a_bind_that_asks_for_the_other_side_all_the_time_costs_one_request_in_two_seconds(
    new_evening: NewEvening,
) -> None:
    evening = live(new_evening, 6, settings=UNLOCKED)
    player = evening.game.teams.members(RED)[0]
    before, since = len(evening.game.sm.http.sent), evening.game.now

    for _ in range(100):
        evening.game.join(player, "blue")
        evening.wait(0.05)

    asked = [
        event
        for request in evening.game.sm.http.sent[before:]
        for event in json.loads(request.body)["events"]
        if event["kind"] == "side_wanted"
    ]
    assert 2 <= len(asked) <= (evening.game.now - since) / 2 + 1
    assert (player.team, player.deaths) == (RED, 0)
