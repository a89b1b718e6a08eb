"""Asking for a side: the request is held, sent to the daemon and answered."""

import pytest

from tests.sourcemod.answerer import Daemon, Sides, crowd, obliging, placing, poll, seat, seconds_of_play, settle
from tests.sourcemod.orders import WHY, assign
from tests.sourcemod.rig import Game, Plugin
from tests.sourcemod.rig.game.facts import BLU, GHOST, KART, RED, SPECTATOR, UNASSIGNED, Reason, State


def test_a_joiner_goes_where_the_daemon_says_and_reads_why(game: Game, daemon: Daemon, live: Sides) -> None:
    daemon.answers["side_wanted"] = placing("blu")
    joiner = game.connect("New")
    game.join(joiner, "red")
    assert joiner.team == UNASSIGNED
    settle(game)
    assert joiner.team == BLU
    assert daemon.events("side_wanted")[0] | {"at": 0} == {
        "kind": "side_wanted", "at": 0, "id": str(joiner.steamid), "side": "red",
    }  # fmt: skip
    assert "that side has fewer players" in joiner.chat[-1]
    game.command(joiner, "joinclass medic")
    assert joiner.alive


@pytest.mark.parametrize(
    ("command", "sides", "team"),
    [
        ("jointeam red", ["red"], RED),
        ("jointeam BLUE", ["blu"], BLU),
        ("jointeam Auto", ["any"], RED),
        ("jointeam 3", ["red"], RED),
        ("jointeam blu", ["red"], RED),
        ('jointeam ""', ["red"], RED),
        ("autoteam", ["any"], RED),
        # These ask for nothing; menus open a choice without mp_forceautoteam.
        ("jointeam", [], UNASSIGNED),
        ("jointeam unassigned", [], UNASSIGNED),
        ("show_motd", [], UNASSIGNED),
        ("closedwelcomemenu", [], UNASSIGNED),
        ("team_ui_setup", [], UNASSIGNED),
        # Watching is left to the game.
        ("jointeam spectate", [], SPECTATOR),
        ("jointeam Spectator", [], SPECTATOR),
        ("jointeam spectatearena", [], SPECTATOR),
    ],
)
def test_a_request_is_read_as_the_game_reads_it(
    game: Game, daemon: Daemon, live: Sides, command: str, sides: list[str], team: int
) -> None:
    """`HandleCommand_JoinTeam`: words in any case, and RED for every word that it does not know."""
    daemon.answers["side_wanted"] = obliging
    joiner = game.connect("New")
    game.command(joiner, command)
    seconds_of_play(game, 3)
    assert [event["side"] for event in daemon.events("side_wanted")] == sides
    assert joiner.team == team


@pytest.mark.parametrize("command", ["show_motd", "closedwelcomemenu", "team_ui_setup"])
def test_with_mp_forceautoteam_the_daemon_places_who_opens_the_menus(
    game: Game, daemon: Daemon, live: Sides, command: str
) -> None:
    """The game's own choice would pass by every listener of `jointeam`."""
    game.sm.convars["mp_forceautoteam"].set("1")
    daemon.answers["side_wanted"] = placing("blu")
    joiner = game.connect("New")
    game.command(joiner, command)
    assert joiner.team == UNASSIGNED
    settle(game)
    assert joiner.team == BLU
    assert [event["side"] for event in daemon.events("side_wanted")] == ["any"]


@pytest.mark.parametrize("command", ["autoteam", "jointeam auto", "team_ui_setup", "show_motd"])
@pytest.mark.parametrize("answering", [True, False])
def test_who_asks_for_any_side_while_on_one_stays_and_lives(
    game: Game, daemon: Daemon, live: Sides, command: str, *, answering: bool
) -> None:
    """The game would count them where they are and send them to the smaller side, which costs a life."""
    red, _ = live
    game.sm.convars["mp_forceautoteam"].set("1")
    seat(game, "Third", "red")
    game.sm.http.offline = not answering
    seconds_of_play(game, 8)
    game.command(red[0], command)
    settle(game)
    assert (red[0].team, red[0].deaths) == (RED, 0)
    assert not daemon.events("side_wanted")[1:]


@pytest.mark.parametrize("command", ["autoteam", "jointeam auto"])
def test_who_asks_for_any_side_leaves_one_that_is_larger_by_two_without_a_death_unless_they_are_in_a_duel(
    game: Game, daemon: Daemon, live: Sides, command: str
) -> None:
    red, blu = live
    game.leave(blu[0])
    game.leave(blu[1])
    settle(game)
    daemon.answers["side_wanted"] = placing("blu")
    red[0].duel = True
    game.command(red[0], command)
    settle(game)
    assert daemon.events("side_wanted") == []
    assert (red[0].team, red[0].duel) == (RED, True)
    red[0].duel = False
    seconds_of_play(game, 2)  # one jointeam in two seconds
    game.command(red[0], command)
    settle(game)
    assert (red[0].team, red[0].deaths, red[0].alive) == (BLU, 0, True)


def test_a_side_of_nine_is_full_in_highlander(game: Game, daemon: Daemon, live: Sides) -> None:
    game.sm.convars["mp_highlander"].set("1")
    for n in range(7):
        game.add_bot(f"Bot{n}", RED)
    daemon.answers["side_wanted"] = placing("red")
    joiner = game.connect("New")
    game.join(joiner, "red")
    settle(game)
    assert (joiner.team, joiner.panels[-1]) == (UNASSIGNED, "team")


@pytest.mark.parametrize("humans", ["blue", "red", "spectator"])
def test_with_mp_humans_must_join_team_the_sides_are_the_operators(
    game: Game, daemon: Daemon, live: Sides, humans: str
) -> None:
    """Humans against bots: there is nothing to even out, and the game refuses every other side."""
    game.sm.convars["mp_humans_must_join_team"].set(humans)
    assert game.sm.convars["mp_autoteambalance"].value == "1"
    assert game.rcon("sm_eq_status")[0] == "Equipoise only rates rounds on this map (mp_humans_must_join_team)."
    joiner = game.connect("New")
    game.join(joiner, "red")
    settle(game)
    assert not daemon.events("side_wanted")
    assign(game, daemon, live[1], live[0], moment="now")
    assert daemon.results() == {"a-1": "off"}


def test_no_player_is_placed_after_the_last_round_of_a_map(game: Game, daemon: Daemon, live: Sides) -> None:
    game.sm.convars["mp_maxrounds"].set("1")
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    joiner = game.connect("New")
    daemon.answers["side_wanted"] = placing("red")
    game.until(lambda: game.rounds.state is State.GAME_OVER, within=60)
    game.join(joiner, "red")
    settle(game)
    assert joiner.team == UNASSIGNED
    assert not daemon.events("side_wanted")


def test_without_an_answer_sizes_decide_after_a_second(game: Game, daemon: Daemon, live: Sides) -> None:
    red, _ = live
    seat(game, "Third", "red")
    seconds_of_play(game, 2)
    game.join(red[0], "blue")
    seconds_of_play(game, 0.9)
    assert red[0].team == RED
    game.advance(0.2)
    assert red[0].team == BLU
    game.join(red[1], "blue")
    game.advance(1.1)
    assert red[1].team == RED
    assert "4 against 1" in red[1].chat[-1]
    joiner = game.connect("New")
    game.join(joiner, "blue")
    seconds_of_play(game, 0.9)
    assert joiner.team == UNASSIGNED
    game.advance(0.2)
    assert joiner.team == RED
    assert "4 against 2" in joiner.chat[-1]
    assert len(daemon.events("side_wanted")) == 4


def test_who_decides_to_watch_or_leaves_while_they_are_held_is_placed_nowhere(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    game.sm.http.held = True
    watcher, leaver = game.connect("Watcher"), game.connect("Leaver")
    for player in (watcher, leaver):
        game.join(player, "red")
    game.advance(0.5)
    game.command(watcher, "spectate")
    game.leave(leaver)
    other = game.connect("Other")
    game.advance(3)
    assert watcher.team == SPECTATOR
    assert (other.index, other.team) == (leaver.index, UNASSIGNED)


def test_an_answer_that_comes_too_late_moves_no_player(game: Game, daemon: Daemon, live: Sides) -> None:
    joiner = game.connect("New")
    game.join(joiner, "red")
    game.advance(3)
    assert joiner.team == RED
    game.command(joiner, "joinclass scout")
    daemon.order("place", id=str(joiner.steamid), side="blu", reason=WHY)
    daemon.forget()
    poll(game)
    assert joiner.team == RED
    assert joiner.suicides == 0
    (roster,) = daemon.events("roster")
    assert {"id": str(joiner.steamid), "side": "red"}.items() <= roster["players"][-1].items()


def test_bots_and_players_unknown_to_steam_are_the_engines(game: Game, daemon: Daemon, live: Sides) -> None:
    stranger = game.connect("Stranger", authorize=False)
    game.join(stranger, "red")
    bot = game.add_bot("Chell", BLU)
    settle(game)
    assert (stranger.team, bot.team) == (RED, BLU)
    assert not daemon.events("side_wanted")


def test_a_refused_switch_leaves_the_player_where_they_are_and_is_asked_for_once_in_two_seconds(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    """`CTFPlayer::ClientCommand` drops what comes within 2 s, but never sees what the plugin has handled."""
    daemon.answers["side_wanted"] = placing("red", "Equipoise_RefusedGap")
    red, _ = live
    for _ in range(33):  # a bind held down for half a second
        game.join(red[0], "blue")
        game.settle()
    assert (red[0].team, red[0].alive) == (RED, True)
    assert len(daemon.events("side_wanted")) == 1
    assert sum("4 against 2" in line for line in red[0].chat) == 1
    seconds_of_play(game, 2)
    game.join(red[0], "blue")
    settle(game)
    assert len(daemon.events("side_wanted")) == 2


def test_while_a_wish_is_held_the_next_one_is_not_sent_and_counts(game: Game, daemon: Daemon, live: Sides) -> None:
    joiner = game.connect("New")
    game.command(joiner, "autoteam")
    game.advance(0.5)
    game.join(joiner, "blue")
    game.advance(3)
    assert joiner.team == BLU
    assert len(daemon.events("side_wanted")) == 1


def test_a_second_wish_is_held_for_a_second_of_its_own(game: Game, daemon: Daemon, live: Sides) -> None:
    daemon.answers["side_wanted"] = lambda event: [{"kind": "tell", "id": event["id"], "lines": [WHY]}]
    joiner = game.connect("New")
    game.command(joiner, "autoteam")
    settle(game)
    daemon.answers.clear()
    game.advance(0.6)
    game.command(joiner, "autoteam")
    seconds_of_play(game, 0.8)  # the first would be over by now
    assert joiner.team == UNASSIGNED
    game.advance(0.3)
    assert joiner.team != UNASSIGNED


def test_a_bind_of_autoteam_is_heard_every_third_of_a_second(game: Game, daemon: Daemon, live: Sides) -> None:
    daemon.answers["side_wanted"] = lambda event: [{"kind": "tell", "id": event["id"], "lines": [WHY]}]
    joiner = game.connect("New")
    settle(game)
    for _ in range(66):
        game.command(joiner, "autoteam")
        game.frame()
    settle(game)
    assert len(daemon.events("side_wanted")) == 4


def test_spectate_has_no_limit_but_jointeam_spectate_has(game: Game, daemon: Daemon, live: Sides) -> None:
    red, blu = live
    daemon.answers["side_wanted"] = obliging
    for player in (red[0], blu[0]):
        game.join(player, "red")
    game.command(red[0], "spectate")
    game.join(blu[0], "spectate")
    settle(game)
    assert (red[0].team, blu[0].team) == (SPECTATOR, RED)


def test_who_takes_the_slot_of_a_leaver_does_not_inherit_their_limit(game: Game, daemon: Daemon, live: Sides) -> None:
    daemon.answers["side_wanted"] = obliging
    leaver = game.connect("Leaver")
    game.join(leaver, "red")
    game.leave(leaver)
    joiner = game.connect("New")
    game.join(joiner, "blue")
    settle(game)
    assert (joiner.index, joiner.team) == (leaver.index, BLU)


@pytest.mark.parametrize("why", ["ghost", "kart", "coach"])
def test_whom_the_game_lets_nowhere_asks_the_daemon_for_nothing(
    game: Game, daemon: Daemon, koth: Plugin, why: str
) -> None:
    """CTFPlayer::ChangeTeam (tf_player.cpp) does nothing for them, and the daemon would take them for placed."""
    red, _ = crowd(game, 1, 1)
    stuck = seat(game, "Coach", "spectate") if why == "coach" else red[0]
    if why == "coach":
        game.teams.coach(stuck, red[0])
    else:
        stuck.set_condition(GHOST if why == "ghost" else KART, True)
    team = stuck.team
    daemon.forget()
    game.join(stuck, "blue")
    settle(game)
    assert daemon.events("side_wanted") == []
    assert stuck.team == team
