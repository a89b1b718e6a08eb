"""Orders are carried out without deaths or lost scores, and the result of each is reported."""

import pytest

from tests.sourcemod.answerer import (
    Daemon,
    Json,
    Sides,
    begin,
    crowd,
    frozen,
    ids,
    in_freeze,
    placing,
    poll,
    roster,
    seat,
    seconds_of_play,
    settle,
)
from tests.sourcemod.orders import VETO, WHY, assign, move, unharmed
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, GHOST, KART, RED, SPECTATOR, Reason, State


@pytest.mark.parametrize("map_name", ["arena_well", "cp_gorge", "koth_harvest_final", "ctf_2fort"])
def test_a_split_is_applied_in_the_freeze_time(game: Game, daemon: Daemon, plugin: Plugin, map_name: str) -> None:
    red, blu = frozen(game, map_name, 3, 3)
    red[0].set("m_iFrags", 7)
    before = len(game.history)
    assign(game, daemon, [red[0], blu[0], blu[1]], [red[1], red[2], blu[2]])
    assert [p.team for p in red + blu] == [RED, BLU, BLU, RED, RED, BLU]
    assert all(p.alive for p in red + blu)
    assert unharmed(*red, *blu)
    assert red[0].frags == 7
    assert daemon.results() == {"a-1": ""}
    assert "3 wins in a row" in red[1].chat[-1]
    assert not any("wins in a row" in line for line in red[0].chat)
    silenced = [fields["silenced"] for _, name, fields in game.history[before:] if name == "player_team"]
    assert silenced == [True] * len(silenced)
    assert silenced


def test_of_a_scramble_players_read_one_line_and_the_game_announces_it_if_it_moves_anybody(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = frozen(game, "koth_harvest_final", 2, 2)
    assign(game, daemon, red, blu, purpose="scramble")
    assert daemon.results() == {"a-1": ""}
    assert "teamplay_alert" not in game.events()
    before = [len(player.chat) for player in (*red, *blu)]
    daemon.answers["order_done"] = lambda event: [{"kind": "say", "text": WHY}]
    assign(game, daemon, [red[0], blu[0]], [red[1], blu[1]], purpose="scramble")
    settle(game)
    said = [player.chat[count:] for player, count in zip((*red, *blu), before, strict=True)]
    assert all(len(lines) == 1 and "3 wins in a row" in lines[0] for lines in said)
    assert [fields["alert_type"] for _, name, fields in game.history if name == "teamplay_alert"] == [0]


@pytest.mark.parametrize("moment", ["freeze", "now"])
def test_a_scramble_inside_setup_time_gives_all_of_it_back(
    game: Game, daemon: Daemon, plugin: Plugin, moment: str
) -> None:
    """Who was moved has lost what they built in it."""
    red, blu = frozen(game, "cp_gorge", 2, 2)
    game.advance(45)
    timer = game.clocks.active
    assert timer is not None
    assert (game.clocks.in_setup, timer.remaining) == (True, pytest.approx(15, abs=1))
    assign(game, daemon, [red[0], blu[0]], [red[1], blu[1]], moment=moment, purpose="scramble")
    assert timer.remaining == pytest.approx(60, abs=1)
    game.advance(59)
    assert game.clocks.in_setup
    game.advance(2)
    assert not game.clocks.in_setup
    settle(game)
    assert len(daemon.events("round_live")) == 1


def test_a_scramble_in_the_freeze_or_after_setup_or_that_moves_nobody_leaves_the_clock_alone(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("cp_gorge")
    red, blu = crowd(game, 2, 2)
    mixed = [red[0], blu[0]], [red[1], blu[1]]
    in_freeze(game)
    timer = game.clocks.active
    assert timer is not None
    game.advance(3)
    assign(game, daemon, *mixed, purpose="scramble")
    assert timer.remaining == pytest.approx(57, abs=1)
    game.advance(20)
    assign(game, daemon, *mixed, purpose="scramble")
    assert timer.remaining == pytest.approx(37, abs=1)
    play.go_live(game)
    game.advance(10)
    left = timer.remaining
    assign(game, daemon, red, blu, moment="now", purpose="scramble")
    assert [p.team for p in red + blu] == [RED, RED, BLU, BLU]
    assert timer.remaining == pytest.approx(left, abs=1)


def test_a_round_start_is_answered_within_its_freeze_time(game: Game, daemon: Daemon, koth: Plugin) -> None:
    red, blu = crowd(game, 2, 2)

    def swap_one(event: Json) -> list[Json]:
        teams = {"red": ids([red[0], blu[0]]), "blu": ids([red[1], blu[1]]), "bench": []}
        return [{"kind": "assign", "order": "a-1", "reason": WHY, "moment": "freeze", **teams}]

    daemon.answers["round_started"] = swap_one
    in_freeze(game)
    assert game.rounds.state is State.PREROUND
    assert [p.team for p in (*red, *blu)] == [RED, BLU, RED, BLU]
    kinds = daemon.kinds()
    assert kinds.index("order_done") < len(kinds) - 1 - kinds[::-1].index("side_changed")


def test_players_who_sit_out_watch_and_wait(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, blu = frozen(game, "arena_well", 3, 2)
    assign(game, daemon, red[:2], blu, bench=[red[2]])
    assert red[2].team == SPECTATOR
    assert unharmed(*red)
    assert daemon.events("side_changed")[-1] | {"at": 0} == {
        "kind": "side_changed", "at": 0, "id": ids(red)[2], "side": "none", "waiting": True, "ready": True,
    }  # fmt: skip
    assert roster(game, daemon)[ids(red)[2]]["waiting"]
    assign(game, daemon, [red[0], red[2]], blu, bench=[red[1]])
    assert (red[2].team, red[2].alive) == (RED, True)
    assert red[1].team == SPECTATOR


def test_in_the_freeze_a_medic_who_is_moved_starts_without_a_charge_and_who_has_no_class_is_offered_one(
    game: Game, daemon: Daemon, koth: Plugin
) -> None:
    """As everybody does: CWeaponMedigun::WeaponReset (tf_weapon_medigun.cpp)."""
    red, blu = crowd(game, 2, 2)
    game.advance(1)
    game.command(red[0], "joinclass medic")
    new = game.connect("New")
    game.join(new, "red")
    in_freeze(game)
    red[0].charge = 0.75
    assign(game, daemon, [red[1], blu[0]], [red[0], blu[1], new])
    assert (red[0].team, red[0].alive, red[0].charge) == (BLU, True, 0)
    assert (new.team, new.alive) == (BLU, False)
    game.command(new, "joinclass medic")
    assert new.alive


@pytest.mark.parametrize(
    ("map_name", "when", "moment", "reason"),
    [
        ("koth_harvest_final", "freeze", "freeze", ""),
        ("koth_harvest_final", "running", "freeze", "live"),
        ("koth_harvest_final", "over", "freeze", "no_round"),
        ("koth_harvest_final", "off by an admin", "freeze", "off"),
        ("arena_well", "running", "now", "live"),  # it revives nobody
    ],
)
def test_a_split_waits_for_no_other_moment(
    game: Game, daemon: Daemon, plugin: Plugin, map_name: str, when: str, moment: str, reason: str
) -> None:
    game.start_map(map_name)
    red, blu = crowd(game, 2, 2)
    daemon.sticky["enabled"] = when != "off by an admin"
    in_freeze(game)
    if when in ("running", "over"):
        play.go_live(game)
    if when == "over":
        game.rounds.win(RED, Reason.POINTS_CAPTURED)
    assign(game, daemon, blu, red, moment=moment)
    assert daemon.results() == {"a-1": reason}
    assert red[0].team == (RED if reason else BLU)


def test_a_split_for_now_goes_through_in_the_middle_of_a_round(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, blu = begin(game, "koth_harvest_final", 2, 2)
    play.kill(game, red[0], blu[1])
    assign(game, daemon, [red[0], blu[0]], [red[1], blu[1]], moment="now")
    assert daemon.results() == {"a-1": ""}
    assert [p.team for p in (*red, *blu)] == [RED, BLU, RED, BLU]
    assert unharmed(*red, blu[0])
    assert red[0].frags == 1


def test_a_split_that_names_a_player_who_left_moves_no_player(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, blu = frozen(game, "koth_harvest_final", 2, 2)
    game.leave(red[0])
    assign(game, daemon, [red[0], blu[0]], [red[1], blu[1]])
    assert daemon.results() == {"a-1": "left"}
    assert [p.team for p in (red[1], *blu)] == [RED, BLU, BLU]
    kinds = [kind for kind in daemon.kinds() if kind in ("player_left", "order_failed")]
    assert kinds == ["player_left", "order_failed"]


def hold(game: Game, player: Player, why: str) -> None:
    """Something holds the player, or nothing any more."""
    player.duel = why == "duel"
    player.set_condition(GHOST, why == "ghost")
    player.set_condition(KART, why == "kart")
    player.props["m_bHasPasstimeBall"] = 0
    game.teams.stop_coaching(player)
    if why == "coached":
        game.teams.coach(seat(game, "Coach", "spectate"), player)
    if why == "ball":
        play.pick_up_ball(game, player)


@pytest.mark.parametrize("why", ["duel", "ghost", "kart", "coached", "ball"])
def test_who_is_held_stays_and_is_named_until_they_are_free(
    game: Game, daemon: Daemon, plugin: Plugin, why: str
) -> None:
    """The game's own functions: CTFPlayer::CanBeAutobalanced, ChangeTeam, RemoveAllItems (tf_player.cpp).

    Of players on a side; a coach is on none.
    """
    red, blu = begin(game, "pass_brickyard", 2, 2)
    move(game, daemon, red[0], "blu", deadline=3, order="waits")
    hold(game, red[0], why)
    seconds_of_play(game, 4)
    assign(game, daemon, [red[1], blu[0]], [red[0], blu[1]], moment="now")
    move(game, daemon, red[0], "blu", deadline=1)
    seconds_of_play(game, 2)
    assert [p.team for p in red + blu] == [RED, RED, BLU, BLU]  # a split without one of its players is not even
    assert daemon.results() == {"waits": "held", "a-1": "held", "m-1": "held"}
    stayed = [{"id": ids(red)[0], "held": why}]
    assert [event["stayed"] for event in daemon.events("order_failed")] == [stayed] * 3
    assert red[0].duel == (why == "duel")
    assert bool(red[0].props["m_bHasPasstimeBall"]) == (why == "ball")
    assert unharmed(*red, *blu)
    assert all(p.alive for p in red)

    daemon.forget()
    assign(game, daemon, [red[0], blu[0]], [red[1], blu[1]], moment="now")  # leaves them where they are
    assert daemon.results() == {"a-1": ""}
    assert "stayed" not in daemon.events("order_done")[0]
    assert [p.team for p in red + blu] == [RED, BLU, RED, BLU]

    hold(game, red[0], "")
    daemon.forget()
    assign(game, daemon, blu, red, moment="now")
    assert daemon.results() == {"a-1": ""}
    assert [p.team for p in red + blu] == [BLU, BLU, RED, RED]


def test_whom_another_plugin_puts_back_is_named_though_nothing_holds_them(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = begin(game, "koth_harvest_final", 2, 2)
    stubborn = red[0]
    game.sm.listen("Equipoise_OnAssign", lambda *_: stubborn.set_condition(GHOST, True) or 0)
    assign(game, daemon, [red[1], blu[0]], [red[0], blu[1]], moment="now")
    assert daemon.results() == {"a-1": ""}
    assert daemon.events("order_done")[0]["stayed"] == [{"id": ids(red)[0], "held": "ghost"}]
    assert [p.team for p in red + blu] == [RED, RED, RED, BLU]


def test_a_move_without_a_reason_is_carried_out_and_its_result_sent_until_it_is_answered(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, _ = begin(game, "koth_harvest_final", 3, 1)
    daemon.order("move", order="m-1", id=ids(red)[0], side="blu", deadline=1.0)
    poll(game)
    game.sm.http.offline = True
    game.advance(20)
    assert red[0].team == BLU
    game.sm.http.offline = False
    seconds_of_play(game, 7)
    assert daemon.results() == {"m-1": ""}


def test_another_plugin_may_forbid_a_split_a_move_a_lock_and_a_placement(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    red, blu = live
    heard: list[tuple[object, ...]] = []
    for forward in ("Equipoise_OnAssign", "Equipoise_OnMove", "Equipoise_OnLock", "Equipoise_OnPlace"):
        game.sm.listen(forward, lambda *values: heard.append(values) or VETO)
    daemon.answers["side_wanted"] = placing("blu")
    assign(game, daemon, blu, red, moment="now")
    assert heard[0][-1] == 4
    move(game, daemon, red[0], "blu", deadline=0)
    assert daemon.results() == {"a-1": "vetoed", "m-1": "vetoed"}
    assert [p.team for p in red + blu] == [RED, RED, BLU, BLU]
    joiner = game.connect("New")
    game.join(joiner, "red")
    settle(game)
    assert joiner.team == RED
    daemon.order("lock", id=ids(red)[0], side="red", seconds=180.0)
    poll(game)
    daemon.forget()
    game.join(red[0], "blue")
    settle(game)
    assert daemon.events("side_wanted")


def test_two_splits_in_one_answer_are_carried_out_one_after_the_other(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = frozen(game, "arena_well", 3, 3)
    for order, teams in (("a", (red[:1], blu[:1], red[1:] + blu[1:])), ("b", (blu, red, []))):
        sides = dict(zip(("red", "blu", "bench"), map(ids, teams), strict=True))
        daemon.order("assign", order=order, reason=WHY, moment="freeze", **sides)
    poll(game)
    game.advance(0.1)
    settle(game)
    assert daemon.results() == {"a": "", "b": ""}
    assert [p.team for p in red + blu] == [BLU] * 3 + [RED] * 3
    assert all(p.alive for p in red + blu)
    assert unharmed(*red, *blu)
