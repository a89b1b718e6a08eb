"""Arena's people: classes and kept choices, lineups, and empty sides."""

from collections.abc import Callable
from typing import Any

from tests.sourcemod.answerer import Daemon, Sides, crowd, go_live, ids, in_freeze, install, poll, settle
from tests.sourcemod.arena import assign, joiner, newest, next_freeze, spawns
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, State


def last_moment_of_the_freeze(game: Game) -> None:
    """Go on until the round goes live in the next frame."""
    in_freeze(game)
    ends = float(game.rules.props["m_flStateTransitionTime"])  # type: ignore[arg-type]
    game.until(lambda: game.map_time > ends - 1.5 * game.tick, within=20)


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
    go_live(game)
    assert [p.team for p in late] == [SPECTATOR] * 20
    assert not any(p.alive for p in late)
    (event,) = daemon.events("round_live")
    assert [line["id"] for line in event["players"] if line["side"] != "none"] == ids([*red, *blu])
    assert all(newest(daemon, p) == {"side": "none", "waiting": True, "ready": True} for p in late)


# Lineups and walk-outs.


def test_the_lineup_is_who_is_alive_when_the_round_goes_live(game: Game, daemon: Daemon, arena: Sides) -> None:
    red, blu = arena
    last_moment_of_the_freeze(game)  # earlier the game would respawn them
    play.kill(game, None, red[1])
    go_live(game)
    live = {line["id"]: line.get("alive", True) for line in daemon.events("round_live")[0]["players"]}
    assert [player for player, alive in live.items() if not alive] == ids(red[1:])
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
    poll(game)
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
    go_live(game)
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


# A plugin that is loaded late.


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
    assert all(started[player]["waiting"] and started[player].get("ready", True) for player in ids(queued))
    play.go_live(game)
    play.wipe_out(game, RED)
    settle(game)
    assert not daemon.events("round_ended")[1]["partial"]
