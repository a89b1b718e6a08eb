"""Arena's bench: who waits to play is not kicked for it, is let in again, and still waits after a reload."""

from typing import Any

import pytest

from tests.sourcemod.answerer import Daemon, Sides, go_live, ids, install, seat, seconds_of_play, settle
from tests.sourcemod.arena import assign, joiner, newest, next_freeze, spawns
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR


def test_who_sat_out_is_spawned_once_and_by_the_game(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    assign(game, daemon, red, blu[:1], bench=blu[1:])
    before = spawns(game, blu[1])
    assign(game, daemon, red, blu, bench=[])
    game.advance(1)
    assert (blu[1].team, blu[1].alive) == (BLU, True)
    assert spawns(game, blu[1]) == before + 1


def test_another_class_for_who_sits_out_is_theirs_when_they_play_again(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    red, blu = arena
    assign(game, daemon, red, blu[:1], bench=blu[1:])
    game.advance(1)
    game.command(blu[1], "joinclass medic")
    settle(game)
    assert not blu[1].alive
    assign(game, daemon, red, blu, bench=[])
    assert (blu[1].team, blu[1].alive, blu[1].props["m_iClass"]) == (BLU, True, 5)


@pytest.mark.parametrize("limits", [{}, {"mp_idlemaxtime": "0", "mp_stalemate_timelimit": "60"}])
@pytest.mark.parametrize("waits", [True, False])
def test_only_who_waits_to_play_is_kept_from_being_kicked_for_idling(
    game: Game, daemon: Daemon, arena: Sides, waits: bool, limits: dict[str, str]
) -> None:
    """Also with the shortest limit of the game, 30 seconds."""
    red, blu = arena
    for convar, value in limits.items():
        game.sm.convars[convar].set(value)
    assign(game, daemon, red[:1], blu[:1], bench=[red[1], blu[1]])
    game.advance(2.5)
    if not waits:
        game.join(red[1], "spectate")
        game.join(blu[1], "spectate")
    red[1].idle = blu[1].idle = True
    play.go_live(game)
    seconds_of_play(game, 70 if limits else 250)
    assert [player in game.humans() for player in (red[1], blu[1])] == [waits, waits]
    assert not any(player.autokick_disabled for player in red + blu)
    assert not any("Unknown command" in line for line in red[1].console)


def test_the_waiting_hear_nothing_of_what_is_done_in_their_name(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    assign(game, daemon, red[:1], blu[:1], bench=[red[1], blu[1]])
    shown = (list(red[1].console), list(red[1].chat), list(red[1].panels))
    seconds_of_play(game, 70)
    assert (red[1].console, red[1].chat, red[1].panels) == shown


def test_nobody_is_left_alive_without_a_side_over_some_rounds(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    people = red + blu
    for turn in range(3):
        bench = people[turn : turn + 2]
        rest = [p for p in people if p not in bench]
        assign(game, daemon, rest[:1], rest[1:], bench=bench)
        for player in bench:
            game.command(player, "joinclass heavyweapons")
        settle(game)
        assert not any(p.alive for p in game.humans() if p.team not in (RED, BLU))
        assert all(p.alive and not p.misplaced for p in rest)
        play.go_live(game)
        play.wipe_out(game, BLU)
        next_freeze(game)
    assert all(p.suicides == 0 for p in people)


def test_who_waits_to_play_still_waits_when_the_plugin_was_away(
    game: Game, daemon: Daemon, plugin: Plugin, arena: Sides, equipoise_smx: Any
) -> None:
    """m_bArenaSpectator marks who chose only to watch, from the game's own menu."""
    red, blu = arena
    watcher, coach = seat(game, "Watcher", "red"), joiner(game, "Coach")
    coach.choose("medic")
    coach.set("m_bIsCoaching", 1)
    game.advance(2.5)
    for player in (watcher, red[1]):
        game.join(player, "spectatearena")
    game.advance(2.5)
    game.join(red[1], "red", "scout")  # another mind: the game leaves the mark
    settle(game)
    assign(game, daemon, red, blu, bench=[])
    game.advance(0.1)
    assign(game, daemon, red[:1], blu[:1], bench=[red[1], blu[1]])
    go_live(game)
    game.unload(plugin)
    game.advance(5)  # a reload at once would go on with what it knows
    daemon.forget()
    install(game, daemon, equipoise_smx)
    settle(game)
    settle(game)
    changed = {event["id"] for event in daemon.events("side_changed")}
    assert changed == set(ids([red[1], blu[1]]))
    assert all(newest(daemon, p) == {"side": "none", "waiting": True, "ready": True} for p in (red[1], blu[1]))


def test_who_waits_in_the_games_own_queue_waits_to_play_when_it_is_switched_on_again(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    red, blu = arena
    daemon.sticky["enabled"] = False
    go_live(game)
    queued = joiner(game, "Queued")  # while it is off the game owns the teams
    game.command(queued, "joinclass scout")
    assert queued.desired_class == 1
    play.wipe_out(game, BLU)
    next_freeze(game)
    benched = [p for p in (*red, *blu, queued) if p.team == SPECTATOR]
    assert benched
    daemon.forget()
    daemon.sticky["enabled"] = True
    seconds_of_play(game, 6)
    assert {event["id"] for event in daemon.events("side_changed") if event["waiting"]} == set(ids(benched))
