"""What a game server should never do, and does: the plugin loses nothing, counts nothing twice, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sourcemod.answerer import (
    Daemon,
    crowd,
    go_live,
    ids,
    in_freeze,
    install,
    poll,
    rounds_of_all,
    seat,
    seconds_of_play,
    settle,
    win,
)
from tests.sourcemod.rig import Game, Plugin, facts, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State

Json = dict[str, Any]
Script = Callable[..., Plugin]
WHY = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}


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
    game.start_map("koth_harvest_final")
    crowd(game, 1, 1)
    go_live(game)
    game.rcon("empty")
    win(game)
    (ended,) = daemon.events("round_ended")
    assert ended["captures"] == {"red": 0, "blu": 0}
    assert not any(line["fought"] for line in ended["players"])


def test_events_that_name_nobody_who_is_here_count_for_nobody(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("ctf_2fort")
    crowd(game, 1, 1)
    go_live(game)
    for stranger in (-1, 0, 24, 99, 9999, 2**31 - 1):
        game.fire("player_hurt", userid=stranger, attacker=stranger)
        game.fire("player_healed", patient=stranger, healer=stranger + 0)
        game.fire("teamplay_flag_event", player=stranger, eventtype=2, team=3)
        game.fire("player_team", userid=stranger, team=3, oldteam=2)
    for team in (-1, 0, 1):
        game.fire("teamplay_point_captured", cp=0, team=team)
    game.rounds.win(RED, Reason.FLAG_CAPTURE_LIMIT)
    settle(game)
    assert daemon.events("round_ended")[0]["captures"] == {"red": 0, "blu": 0}


def test_a_round_is_won_once_however_often_it_is_said(game: Game, daemon: Daemon, koth: Plugin) -> None:
    crowd(game, 1, 1)
    go_live(game)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    for team in (BLU, RED):
        game.fire("teamplay_round_win", team=team, winreason=1, full_round=True, losing_team_num_caps=3)
    game.advance(3)
    settle(game)
    assert len(daemon.events("round_ended")) == 1
    assert daemon.events("round_ended")[0]["winner"] == "red"
    a_whole_round(game, daemon)


def test_a_place_on_the_server_that_is_taken_again_in_the_same_frame_is_another_player(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("arena_well")
    red, blu = crowd(game, 2, 2)
    in_freeze(game)
    first = game.connect("First")
    game.join(first, "red")
    game.command(first, "joinclass scout")
    slot, left = first.index, ids([first])[0]
    game.leave(first)
    second = game.connect("Second")
    assert second.index == slot
    daemon.order("place", id=left, side="red", reason=WHY)
    teams = {"red": [*ids(red), left], "blu": ids(blu), "bench": []}
    daemon.order("assign", order="a", reason=WHY, moment="freeze", **teams)
    poll(game)
    settle(game)
    assert daemon.results() == {"a": "left"}
    assert (second.team, second.desired_class) == (0, 0)
    daemon.once["want"] = ["roster"]
    poll(game)
    settle(game)
    (line,) = [one for one in daemon.events("roster")[-1]["players"] if one["id"] == ids([second])[0]]
    assert (line["side"], line["ready"], line.get("waiting", False)) == ("none", False, False)
    assert left not in [one["id"] for one in daemon.events("roster")[-1]["players"]]


def test_orders_for_players_who_left_are_answered_and_harm_no_one(game: Game, daemon: Daemon, koth: Plugin) -> None:
    red, blu = crowd(game, 2, 2)
    go_live(game)
    gone = ids(red[:1])[0]
    game.leave(red[0])
    daemon.order("move", order="m", reason=WHY, id=gone, side="blu", deadline=1.0)
    daemon.order("lock", id=gone, side="red", seconds=10.0)
    daemon.order("tell", id=gone, lines=[WHY])
    daemon.order("place", id=gone, side="blu", reason=WHY)
    daemon.order("unlock", ids=[gone])
    daemon.once["players"] = [{"id": gone, "rating": 1500.0, "rounds": 3, "visible": True}]
    poll(game)
    seconds_of_play(game, 2)
    assert daemon.results() == {"m": "left"}
    assert [p.team for p in (red[1], *blu)] == [RED, BLU, BLU]


def test_a_hundred_players_and_sourcetv_fit(new_game: Callable[..., Game], daemon: Daemon, equipoise_smx: Path) -> None:
    game = new_game(slots=101)
    install(game, daemon, equipoise_smx)
    game.start_map("koth_harvest_final")
    settle(game)
    game.add_source_tv()
    people = [game.connect(f"P{n}") for n in range(100)]
    settle(game)
    for n, player in enumerate(people):
        game.teams.change(player, RED if n % 2 else BLU)
        game.command(player, "joinclass soldier")
    go_live(game)
    assert people[-1].index == 101
    assert set(ids(people)) <= {line["id"] for line in daemon.events("round_live")[-1]["players"]}
    assign = {"red": ids(people[:50]), "blu": ids(people[50:]), "bench": []}
    daemon.order("assign", order="a", reason=WHY, moment="now", **assign)
    poll(game)
    settle(game)
    assert daemon.results() == {"a": ""}
    assert [p.team for p in people] == [RED] * 50 + [BLU] * 50
    win(game)
    assert len(daemon.events("round_ended")[0]["players"]) == 100
    assert all(len(batch["events"]) <= 256 for batch in daemon.batches)


def test_a_map_without_a_timer_has_no_known_end(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("cp_untimed", facts.Mode(2, owners=(RED, 0, BLU)))
    _, blu = crowd(game, 2, 2)
    go_live(game)
    for player in blu:
        game.leave(player)
    settle(game)
    assert "ends_in" not in daemon.events("roster")[-1]


def test_a_map_without_any_entity_of_its_mode_is_played(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("plain", facts.Mode(0))
    crowd(game, 1, 1)
    a_whole_round(game, daemon)


def test_the_longest_name_of_a_map_arrives_whole(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    name = "koth_" + "x" * 123
    game.start_map(name, facts.MAPS["koth_harvest_final"])
    settle(game)
    assert daemon.events("hello")[0]["map"] == name
    crowd(game, 1, 1)
    go_live(game)
    win(game)
    assert daemon.events("round_ended")[0]["map"] == name


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
    game: Game, daemon: Daemon, koth: Plugin, prop: str, moment: State
) -> None:
    """A property that cannot be read for a second and a half ends whatever callback reads it."""
    crowd(game, 2, 2)
    play.go_live(game)
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


def test_an_error_while_a_batch_is_made_loses_and_doubles_nothing(game: Game, daemon: Daemon, koth: Plugin) -> None:
    _, blu = crowd(game, 3, 1)
    go_live(game)
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


def test_an_error_in_the_middle_of_a_move_silences_nothing_later(game: Game, daemon: Daemon, koth: Plugin) -> None:
    red, _ = crowd(game, 3, 1)
    go_live(game)
    held = red[0].props.pop("m_hItem")
    daemon.order("move", order="m", reason=WHY, id=ids(red)[0], side="blu", deadline=0.5)
    poll(game)
    seconds_of_play(game, 1)
    game.sm.log.take_faults()
    red[0].props["m_hItem"] = held
    before = len(game.history)
    game.teams.change(red[0], 1)
    (event,) = [fields for _, name, fields in game.history[before:] if name == "player_team"]
    assert not event["silenced"]
    assert red[0].team == 1
