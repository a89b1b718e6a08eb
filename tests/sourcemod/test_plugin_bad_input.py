"""What a game server should never do, and does: the plugin loses nothing, counts nothing twice, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.answerer import (
    Daemon,
    begin,
    crowd,
    frozen,
    go_live,
    ids,
    in_freeze,
    install,
    poll,
    roster,
    rounds_of_all,
    seat,
    seconds_of_play,
    settle,
    win,
)
from tests.sourcemod.orders import WHY, assign, move
from tests.sourcemod.rig import Game, Plugin, facts, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, Reason, State

Script = Callable[..., Plugin]


def a_whole_round(game: Game, daemon: Daemon) -> None:
    """One more round is played, and reported once, whole."""
    before = len(daemon.events("round_ended"))
    in_freeze(game)
    go_live(game)
    win(game)
    seconds_of_play(game, 6)
    (ended,) = daemon.events("round_ended")[before:]
    assert not ended["partial"]
    assert {line["side"] for line in ended["lineup"]} == {"red", "blu"}


def test_events_without_their_fields_count_for_nobody(
    game: Game, daemon: Daemon, plugin: Plugin, script: Script
) -> None:
    script(
        """
        public void OnPluginStart() { RegServerCmd("empty", Empty); }
        Action Empty(int args)
        {
            static const char names[][] = { "player_team", "player_hurt", "player_healed", "player_death",
                "player_spawn", "player_changeclass", "teamplay_point_captured", "teamplay_flag_event" };
            for (int i = 0; i < sizeof(names); i++)
            {
                CreateEvent(names[i], true).Fire();
            }
            return Plugin_Handled;
        }
        """
    )
    begin(game, "koth_harvest_final", 1, 1)
    game.rcon("empty")
    win(game)
    (ended,) = daemon.events("round_ended")
    assert ended["captures"] == {"red": 0, "blu": 0}
    assert not any(line["fought"] for line in ended["players"])


def test_players_and_teams_that_are_not_here_count_for_nothing(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, _ = begin(game, "ctf_2fort", 1, 1)
    for stranger in (-1, 0, 24, 99, 9999, 2**31 - 1):
        game.fire("player_hurt", userid=stranger, attacker=stranger)
        game.fire("player_healed", patient=stranger, healer=stranger)
        game.fire("teamplay_flag_event", player=stranger, eventtype=2, team=3)
        game.fire("player_team", userid=stranger, team=3, oldteam=2)
    for point, team in enumerate((-5, -1, 0, 1, 4, 99, 2**31 - 1)):
        game.fire("teamplay_point_captured", cp=point, team=team)  # one point is captured once in a tick
        game.fire("player_team", userid=red[0].userid, team=team, oldteam=RED)
    game.rounds.win(RED, Reason.FLAG_CAPTURE_LIMIT)
    settle(game)
    (ended,) = daemon.events("round_ended")
    assert ended["captures"] == {"red": 0, "blu": 0}
    assert not any(line["fought"] for line in ended["players"])
    assert [line["side"] for line in ended["players"] if line["id"] == ids(red)[0]] == ["red"]


def test_a_round_is_won_once_however_often_it_is_said(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "koth_harvest_final", 1, 1)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    for team in (BLU, RED):
        game.fire("teamplay_round_win", team=team, winreason=1, full_round=True, losing_team_num_caps=3)
    game.advance(3)
    settle(game)
    assert [ended["winner"] for ended in daemon.events("round_ended")] == ["red"]
    a_whole_round(game, daemon)


def test_a_place_on_the_server_that_is_taken_again_in_the_same_frame_is_another_player(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = frozen(game, "arena_well", 2, 2)
    first = game.connect("First")
    game.join(first, "red")
    game.command(first, "joinclass scout")
    slot, left = first.index, ids([first])[0]
    game.leave(first)
    second = game.connect("Second")
    assert second.index == slot
    daemon.order("place", id=left, side="red", reason=WHY)
    assign(game, daemon, [*red, first], blu)
    settle(game)
    assert daemon.results() == {"a-1": "left"}
    assert (second.team, second.desired_class) == (0, 0)
    lines = roster(game, daemon)
    line = lines[str(second.steamid)]
    assert (line["side"], line["ready"], line.get("waiting", False)) == ("none", False, False)
    assert left not in lines


def test_orders_for_players_who_left_are_answered_and_harm_no_one(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, blu = begin(game, "koth_harvest_final", 2, 2)
    gone = ids(red[:1])[0]
    game.leave(red[0])
    daemon.order("lock", id=gone, side="red", seconds=10.0)
    daemon.order("tell", id=gone, lines=[WHY])
    daemon.order("place", id=gone, side="blu", reason=WHY)
    daemon.order("unlock", ids=[gone])
    daemon.once["players"] = [{"id": gone, "rating": 1500.0, "rounds": 3, "visible": True}]
    move(game, daemon, red[0], "blu", deadline=1.0)
    seconds_of_play(game, 2)
    assert daemon.results() == {"m-1": "left"}
    assert [p.team for p in (red[1], *blu)] == [RED, BLU, BLU]


@pytest.mark.parametrize("mode", [facts.Mode(2, owners=(RED, 0, BLU)), facts.Mode(0)], ids=["points", "nothing"])
def test_a_map_with_the_longest_name_and_no_timer_is_played_and_has_no_known_end(
    game: Game, daemon: Daemon, plugin: Plugin, mode: facts.Mode
) -> None:
    name = "koth_" + "x" * 123
    game.start_map(name, mode)
    crowd(game, 2, 2)
    a_whole_round(game, daemon)
    assert {said["map"] for kind in ("hello", "round_ended") for said in daemon.events(kind)} == {name}
    go_live(game)
    roster(game, daemon)
    assert "ends_in" not in daemon.events("roster")[-1]


@pytest.mark.parametrize(
    ("prop", "moment"),
    [
        ("m_bInWaitingForPlayers", State.PREROUND),
        ("m_bInWaitingForPlayers", State.RUNNING),
        ("m_nGameType", State.PREROUND),
        ("m_nRoundsPlayed", State.PREROUND),
    ],
)
def test_an_error_in_a_callback_leaves_a_sound_state(
    game: Game, daemon: Daemon, plugin: Plugin, prop: str, moment: State
) -> None:
    """A property that cannot be read for a second and a half ends whatever callback reads it."""
    begin(game, "koth_harvest_final", 2, 2)
    win(game, BLU)
    held = game.rules.props.pop(prop)
    game.until(lambda: game.rounds.state is moment, within=30)
    game.advance(0.1)
    game.rules.props[prop] = held
    assert game.sm.log.take_faults()
    game.advance(1.5)
    settle(game)
    game.until(lambda: game.rounds.state is State.RUNNING, within=10)
    game.advance(1.5)
    settle(game)
    win(game)
    seconds_of_play(game, 6)
    assert [ended["winner"] for ended in daemon.events("round_ended")] == ["blu", "red"]
    assert len(set(rounds_of_all(daemon))) == 2
    a_whole_round(game, daemon)


def test_an_error_while_a_batch_is_made_loses_and_doubles_nothing(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    _, blu = begin(game, "koth_harvest_final", 3, 1)
    sentry = play.build(game, seat(game, "Engie", "red", "engineer"), "obj_sentrygun")
    settle(game)
    daemon.forget()
    held = sentry.props.pop("m_hBuilder")
    game.say(blu[0], "!rank")
    daemon.once["want"] = ["roster", "hello"]
    poll(game)
    assert game.sm.log.take_faults()
    sentry.props["m_hBuilder"] = held
    seconds_of_play(game, 12)
    assert len(daemon.events("command")) == 1
    assert len(daemon.events("hello")) == len(daemon.events("roster")) == 1
    assert daemon.events("roster")[0]["players"]


def test_an_error_in_the_middle_of_a_move_silences_nothing_later(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, _ = begin(game, "koth_harvest_final", 3, 1)
    held = red[0].props.pop("m_hItem")
    move(game, daemon, red[0], "blu", deadline=0.5)
    seconds_of_play(game, 1)
    game.sm.log.take_faults()
    red[0].props["m_hItem"] = held
    before = len(game.history)
    game.teams.change(red[0], 1)
    (event,) = [fields for _, name, fields in game.history[before:] if name == "player_team"]
    assert not event["silenced"]
    assert red[0].team == 1


# Events that other plugins block, fire again with other fields, or make up.

AGAIN = """
bool g_Again;

public void OnPluginStart()
{
	HookEvent("%s", Event_Before, EventHookMode_Pre);
}

Action Event_Before(Event event, const char[] name, bool silent)
{
	if (g_Again)
	{
		return Plugin_Continue;
	}
	Event copy = CreateEvent(name, true);
	%s
	g_Again = true;
	copy.Fire();
	g_Again = false;
	return Plugin_Handled;
}
"""
"""Blocks an event and fires a copy: post hooks run for both (core/EventManager.cpp), the game's listeners for one."""


def test_a_round_start_that_another_plugin_fires_again_switches_sides_once(
    game: Game, daemon: Daemon, plugin: Plugin, script: Script
) -> None:
    script(AGAIN % ("teamplay_round_start", 'copy.SetBool("full_reset", event.GetBool("full_reset"));'))
    red, _ = begin(game, "cp_gorge", 2, 2)
    for switches in (1, 2):
        daemon.order("lock", id=ids(red)[0], side="blu" if switches == 1 else "red", seconds=900.0)
        game.rounds.win(RED, Reason.DEFENDED)
        settle(game)
        play.next_round(game)
        settle(game)
        assert len(daemon.events("sides_switched")) == switches
        go_live(game)
    starts = [kind for kind in daemon.kinds() if kind in ("round_started", "round_live")]
    assert starts == ["round_started", "round_live"] * 3


def test_a_round_start_that_another_plugin_makes_up_in_the_freeze_switches_no_sides(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    begin(game, "cp_gorge", 2, 2)
    game.rounds.win(RED, Reason.DEFENDED)
    play.next_round(game)
    game.advance(1)
    game.fire("teamplay_round_start", full_reset=True)
    go_live(game)
    assert len(daemon.events("sides_switched")) == 1
    assert len(daemon.events("round_live")) == 2


def test_a_capture_that_another_plugin_fires_again_is_one(
    game: Game, daemon: Daemon, plugin: Plugin, script: Script
) -> None:
    fields = ('copy.SetInt("cp", event.GetInt("cp"));', 'copy.SetInt("team", event.GetInt("team"));')
    script(AGAIN % ("teamplay_point_captured", " ".join(fields)))
    _, blu = begin(game, "cp_badlands", 2, 2)
    play.capture(game, BLU, 2, blu[0])
    game.advance(1)
    play.capture(game, BLU, 3, blu[0])
    win(game)
    assert daemon.events("round_ended")[0]["captures"] == {"red": 0, "blu": 2}


STOPPED = """
public void OnPluginStart()
{
	HookEvent("player_team", Event_Before, EventHookMode_Pre);
}

Action Event_Before(Event event, const char[] name, bool silent)
{
	return Plugin_Stop;
}
"""


def test_a_change_of_team_that_another_plugin_keeps_from_us_gives_the_class_that_was_chosen(
    game: Game, daemon: Daemon, equipoise_smx: Path, script: Script
) -> None:
    """Plugin_Stop ends the way to hooks that come before the event, not to those that come after it."""
    script(STOPPED, "stopper")
    install(game, daemon, equipoise_smx)
    red, blu = frozen(game, "arena_well", 2, 2)
    new = game.connect("New")
    settle(game)
    game.join(new, "red", "pyro")
    settle(game)
    assign(game, daemon, [*red, new], blu)
    assert (new.team, new.alive, new.props["m_iClass"]) == (RED, True, 7)
    game.teams.force_change(new, SPECTATOR)
    settle(game)
    last = [event for event in daemon.events("side_changed") if event["id"] == ids([new])[0]][-1]
    assert (last["side"], last["waiting"]) == ("none", False)
