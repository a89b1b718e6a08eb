"""Arena's people: classes and kept choices, who waits and is not kicked for it, lineups, and empty sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sourcemod.answerer import Daemon, crowd, ids, in_freeze, install, seat, seconds_of_play, settle
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, State

Json = dict[str, Any]
Sides = tuple[list[Player], list[Player]]
WHY = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}


@pytest.fixture
def arena(game: Game, daemon: Daemon, plugin: Plugin) -> Sides:
    """Two against two, nobody in a hurry: the freeze of round 1 has begun."""
    game.start_map("arena_well")
    sides = crowd(game, 2, 2)
    in_freeze(game)
    return sides


def assign(game: Game, daemon: Daemon, red: list[Player], blu: list[Player], bench: list[Player]) -> None:
    """The daemon makes the teams of the freeze that runs."""
    teams = {"red": ids(red), "blu": ids(blu), "bench": ids(bench)}
    daemon.order("assign", order="a-1", reason=WHY, moment="freeze", **teams)
    game.rcon("equipoise_poll")
    settle(game)


def newest(daemon: Daemon, player: Player) -> Json:
    """What the daemon was told last of a player's side."""
    found = [event for event in daemon.events("side_changed") if event["id"] == str(player.steamid)]
    return {key: found[-1][key] for key in ("side", "waiting", "ready")}


def spawns(game: Game, player: Player) -> int:
    """How often the player has entered the world; the welcome camera's spawn on no team is none."""
    seen = [fields for _, name, fields in game.history if name == "player_spawn"]
    return len([fields for fields in seen if fields["userid"] == player.userid and fields["team"]])


def next_freeze(game: Game) -> None:
    """Go on to the next round's freeze time, and let it be reported."""
    play.next_round(game)
    settle(game)


def last_moment_of_the_freeze(game: Game) -> None:
    """Go on until the round goes live in the next frame."""
    in_freeze(game)
    ends = float(game.rules.props["m_flStateTransitionTime"])  # type: ignore[arg-type]
    game.until(lambda: game.map_time > ends - 1.5 * game.tick, within=20)


def joiner(game: Game, name: str = "New") -> Player:
    """Somebody connects and asks for a side."""
    player = game.connect(name)
    settle(game)
    game.join(player, "red")
    settle(game)
    return player


# Classes.


def test_a_joiner_in_the_freeze_sees_no_class_menu_until_it_is_over(game: Game, daemon: Daemon, arena: Sides) -> None:
    new = joiner(game)
    game.advance(3)
    assert (new.team, new.panels) == (SPECTATOR, [])
    play.go_live(game)
    game.advance(3)
    assert len(new.panels) == 1
    assert newest(daemon, new) == {"side": "none", "waiting": True, "ready": False}


def test_a_class_that_is_chosen_in_the_freeze_is_kept_and_given_with_the_side(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    red, blu = arena
    new = joiner(game)
    game.command(new, "joinclass pyro")  # typed: no menu was shown
    game.advance(0.5)
    settle(game)
    assert (new.team, new.alive, new.desired_class) == (SPECTATOR, False, 0)
    assert newest(daemon, new) == {"side": "none", "waiting": True, "ready": True}
    assign(game, daemon, [new, red[0]], blu, bench=[red[1]])
    assert (new.team, new.alive, new.props["m_iClass"]) == (RED, True, 7)
    assert new.deaths == 0
    assert spawns(game, new) == 1


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


def test_a_spectator_by_choice_who_picks_a_class_in_the_freeze_does_not_enter_the_world(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    watcher = game.connect("Watcher")
    game.join(watcher, "spectate", "scout")
    settle(game)
    assert not watcher.alive
    assert newest(daemon, watcher)["waiting"] is False


def test_a_spectator_whom_another_plugin_respawns_watches_again(game: Game, daemon: Daemon, arena: Sides) -> None:
    watcher = joiner(game, "Watcher")
    watcher.choose("soldier")
    game.teams.force_respawn(watcher)
    assert watcher.alive
    game.advance(0.1)
    assert (watcher.team, watcher.alive, watcher.deaths) == (SPECTATOR, False, 0)


def test_a_word_that_is_no_class_is_the_games(game: Game, daemon: Daemon, arena: Sides) -> None:
    new = joiner(game)
    game.command(new, "joinclass civilian")
    game.command(new, "joinclass")
    settle(game)
    assert newest(daemon, new)["ready"] is False


def test_who_stands_on_a_side_without_a_class_waits_when_the_round_starts(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("arena_well")
    red, _ = crowd(game, 2, 1)
    slow = game.connect("Slow")
    game.join(slow, "blue")
    settle(game)
    in_freeze(game)
    started = daemon.events("round_started")[-1]
    assert slow.team == SPECTATOR
    line = next(line for line in started["players"] if line["id"] == str(slow.steamid))
    assert (line["side"], line["waiting"], line["ready"]) == ("none", True, False)
    assert all("ready" not in line for line in started["players"] if line["id"] in ids(red))


def test_a_readiness_that_changes_alone_is_reported(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("arena_well")
    settle(game)
    slow = joiner(game, "Slow")
    assert newest(daemon, slow) == {"side": "red", "waiting": False, "ready": False}
    game.command(slow, "joinclass sniper")
    settle(game)
    assert newest(daemon, slow) == {"side": "red", "waiting": False, "ready": True}


def test_twenty_who_come_in_the_freeze_do_not_enter_the_duel(
    new_game: Callable[..., Game], daemon: Daemon, equipoise_smx: Any
) -> None:
    game = new_game(slots=32)
    install(game, daemon, equipoise_smx)
    game.start_map("arena_well")
    red, blu = crowd(game, 1, 1)
    in_freeze(game)
    late = [game.connect(f"Late {n}") for n in range(20)]
    settle(game)
    for player in late:
        game.join(player, "auto")
    game.advance(1)
    for player in late:
        game.command(player, "joinclass scout")
    play.go_live(game)
    settle(game)
    assert [p.team for p in late] == [SPECTATOR] * 20
    assert not any(p.alive for p in late)
    (event,) = daemon.events("round_live")
    assert [line["id"] for line in event["players"] if line["side"] != "none"] == ids([*red, *blu])
    assert all(newest(daemon, p) == {"side": "none", "waiting": True, "ready": True} for p in late)


# The bench.


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
    seconds_of_play(game, 250)
    assert [player in game.humans() for player in (red[1], blu[1])] == [waits, waits]
    assert not any(player.autokick_disabled for player in red + blu)
    assert not any("Unknown command" in line for line in red[1].console)


def test_the_waiting_hear_nothing_of_what_is_done_in_their_name(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    assign(game, daemon, red[:1], blu[:1], bench=[red[1], blu[1]])
    shown = (list(red[1].console), list(red[1].chat), list(red[1].panels))
    seconds_of_play(game, 70)
    assert (red[1].console, red[1].chat, red[1].panels) == shown


# Lineups and walk-outs.


def test_the_lineup_is_who_is_alive_when_the_round_goes_live(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    last_moment_of_the_freeze(game)  # earlier the game would respawn them
    play.kill(game, None, red[1])
    play.go_live(game)
    settle(game)
    live = {line["id"]: line.get("alive", True) for line in daemon.events("round_live")[0]["players"]}
    assert [id for id, alive in live.items() if not alive] == ids(red[1:])
    play.wipe_out(game, BLU)
    settle(game)
    assert [seat["id"] for seat in daemon.events("round_ended")[0]["lineup"]] == ids([red[0], *blu])


def test_a_side_that_walks_out_in_the_freeze_has_no_lineup(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    for player in blu:
        game.leave(player)
    play.go_live(game)
    game.advance(0.1)
    settle(game)
    (ended,) = daemon.events("round_ended")
    assert {seat["side"] for seat in ended["lineup"]} == {"red"}
    assert ended["winner"] == "red"
    assert [seat["id"] for seat in ended["lineup"]] == ids(red)


def test_alone_a_round_without_a_lineup_is_not_the_first(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    """A script that was never answered on a map takes the end of arena's first round as due."""
    game.start_map("arena_well")
    red, blu = crowd(game, 3, 3)
    people = red + blu
    daemon.once["cache"] = {"ids": ids(people), "splits": ["ABABAB"]}
    game.rcon("equipoise_poll")
    settle(game)
    game.sm.http.offline = True
    game.start_map("arena_badlands")
    game.advance(3)
    for pair in zip(red, blu, strict=True):
        for player, side in zip(pair, ("red", "blue"), strict=True):
            game.join(player, side)
    for player in people:
        game.command(player, "joinclass soldier")
    last_moment_of_the_freeze(game)
    for player in blu:
        game.teams.change(player, SPECTATOR)
    game.until(lambda: game.rounds.state is State.TEAM_WIN, within=20)
    for player in blu:
        game.teams.change(player, BLU)
    next_freeze(game)
    game.advance(3)
    assert [p.team for p in people] == [RED] * 3 + [BLU] * 3
    play.go_live(game)
    play.wipe_out(game, BLU)
    next_freeze(game)
    game.advance(3)
    assert [p.team for p in people] == [RED, BLU] * 3


def test_a_walk_out_in_the_round_decides_it_and_both_sides_have_a_lineup(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    _, blu = arena
    play.go_live(game)
    settle(game)
    for player in blu:
        game.leave(player)
    game.advance(0.1)
    settle(game)
    (ended,) = daemon.events("round_ended")
    assert (ended["winner"], len(ended["lineup"]), ended["partial"]) == ("red", 4, False)
    assert sum(line["left"] for line in ended["players"]) == 2


def test_leaving_in_the_bonus_time_changes_nothing_before_the_next_start(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    red, blu = arena
    play.go_live(game)
    play.wipe_out(game, BLU)
    settle(game)
    for player in blu:
        game.leave(player)
    game.advance(5)
    assert [p.team for p in red] == [RED, RED]
    starts = len(game.events("teamplay_round_start"))
    game.until(lambda: len(game.events("teamplay_round_start")) >= starts + 2, within=30)
    settle(game)
    # The phantom start, then the newcomer crosses and a round starts with both sides.
    assert sorted(p.team for p in red) == [RED, BLU]
    assert len(daemon.events("round_started")) == 2


# An empty side.


def test_without_a_round_only_who_has_a_class_is_put_on_an_empty_side(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("arena_well")
    settle(game)
    ready, slow = joiner(game, "Ready"), joiner(game, "Slow")
    game.command(ready, "joinclass soldier")
    assert game.rounds.state is State.PREGAME
    game.advance(3)
    assert [ready.team, slow.team] == [RED, RED]
    assert game.rounds.state is State.PREGAME
    game.command(slow, "joinclass soldier")
    game.advance(2)
    assert sorted([ready.team, slow.team]) == [RED, BLU]
    assert game.rounds.state is State.PREROUND


def test_in_silence_an_empty_side_is_filled_in_the_freeze(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    game.sm.http.offline = True
    game.advance(2)
    for player in blu:
        game.leave(player)
    game.advance(1.5)
    assert sorted(p.team for p in red) == [RED, BLU]
    assert all(p.alive and not p.misplaced and p.deaths == 0 for p in red)


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


# A plugin that is loaded again.


def test_who_waits_to_play_still_waits_after_a_reload(
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
    play.go_live(game)
    settle(game)
    game.unload(plugin)
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
    play.go_live(game)
    settle(game)
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


def test_a_plugin_that_is_loaded_in_the_middle_of_arenas_round_lets_it_end_and_then_plays_with_all(
    game: Game, daemon: Daemon, equipoise_smx: Any
) -> None:
    """Until then the game owns the teams, and its queue makes players watch."""
    game.start_map("arena_well")
    people = [game.add(f"P{n}", "auto") for n in range(5)]
    play.go_live(game)
    queued = [p for p in people if p.team == SPECTATOR]
    players = [p for p in people if p not in queued]
    assert queued
    play.kill(game, None, players[0])
    install(game, daemon, equipoise_smx)
    settle(game)
    assert daemon.events("hello")[0]["phase"] == "running"
    side = next(p.team for p in players if p.alive)
    play.wipe_out(game, BLU if side == RED else RED)
    settle(game)
    assert daemon.events("round_ended")[0]["partial"]
    next_freeze(game)
    assert [p.team for p in people] == [p.team for p in players] + [SPECTATOR] * len(queued)
    started = {line["id"]: line for line in daemon.events("round_started")[0]["players"]}
    assert all(started[id]["waiting"] and started[id].get("ready", True) for id in ids(queued))
    play.go_live(game)
    play.wipe_out(game, RED)
    settle(game)
    assert not daemon.events("round_ended")[1]["partial"]
