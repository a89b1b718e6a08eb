"""Arena's people: classes and kept choices, lineups, empty sides, the bench; and classes that the game gives."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.sourcemod.answerer import (
    Daemon,
    Json,
    Sides,
    begin,
    crowd,
    frozen,
    go_live,
    ids,
    in_freeze,
    install,
    placing,
    poll,
    roster,
    seat,
    seconds_of_play,
    settle,
)
from tests.sourcemod.orders import assign
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, State


@pytest.fixture
def arena(game: Game, daemon: Daemon, plugin: Plugin) -> Sides:
    """Two against two, nobody in a hurry: the freeze of round 1 has begun."""
    return frozen(game, "arena_well", 2, 2)


@pytest.fixture
def fight(game: Game, daemon: Daemon, plugin: Plugin) -> Sides:
    """Two against two in arena's running round."""
    sides = begin(game, "arena_well", 2, 2)
    daemon.forget()
    return sides


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


def joiner(game: Game, name: str = "New") -> Player:
    """Somebody connects and asks for a side."""
    player = game.connect(name)
    settle(game)
    game.join(player, "red")
    settle(game)
    return player


def ends_in(game: Game, seconds: float) -> None:
    """Go on until so long before the game's state changes."""
    ends = float(game.rules.props["m_flStateTransitionTime"])  # type: ignore[arg-type]
    game.until(lambda: game.map_time > ends - seconds, within=30)


def last_moment_of_the_freeze(game: Game) -> None:
    """Go on until the round goes live in the next frame."""
    in_freeze(game)
    ends_in(game, 1.5 * game.tick)


# Classes.


def test_a_class_that_is_chosen_in_the_freeze_is_kept_and_given_with_the_side(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    red, blu = arena
    new = joiner(game)
    game.command(new, "joinclass civilian")  # a word that is no class is the game's
    game.command(new, "joinclass")
    settle(game)
    assert newest(daemon, new) == {"side": "none", "waiting": True, "ready": False}
    game.advance(1.1)  # the game takes one such command a second
    game.command(new, "joinclass pyro")  # typed: no menu was shown
    game.advance(0.5)
    settle(game)
    assert (new.team, new.alive, new.desired_class) == (SPECTATOR, False, 0)
    assert newest(daemon, new) == {"side": "none", "waiting": True, "ready": True}
    assign(game, daemon, [new, red[0]], blu, bench=[red[1]])
    assert (new.team, new.alive, new.props["m_iClass"]) == (RED, True, 7)
    assert new.deaths == 0
    assert spawns(game, new) == 1


def test_a_spectator_neither_enters_the_world_by_picking_a_class_nor_lives_when_another_plugin_respawns_them(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    watcher, waits = game.connect("Watcher"), joiner(game, "Waits")
    game.join(watcher, "spectate", "scout")
    settle(game)
    assert not watcher.alive
    assert newest(daemon, watcher)["waiting"] is False
    waits.choose("soldier")
    game.teams.force_respawn(waits)
    assert waits.alive
    game.advance(0.1)
    assert (waits.team, waits.alive, waits.deaths) == (SPECTATOR, False, 0)


def test_who_stands_on_a_side_without_a_class_is_not_ready_and_waits_when_the_round_starts(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("arena_well")
    settle(game)
    slow, late = joiner(game, "Slow"), joiner(game, "Late")
    assert newest(daemon, late) == {"side": "red", "waiting": False, "ready": False}
    game.command(late, "joinclass sniper")
    settle(game)
    assert newest(daemon, late) == {"side": "red", "waiting": False, "ready": True}
    _, others = crowd(game, 0, 1)  # the freeze begins before their class
    in_freeze(game)
    assert [player.team for player in (slow, *others)] == [SPECTATOR, SPECTATOR]
    lines = {line["id"]: line for line in daemon.events("round_started")[-1]["players"]}
    for waits in ids([slow, *others]):
        assert (lines[waits]["side"], lines[waits]["waiting"], lines[waits]["ready"]) == ("none", True, False)
    assert "ready" not in lines[str(late.steamid)]


def test_twenty_who_come_in_the_freeze_do_not_enter_the_duel_and_see_no_class_menu_until_it_is_live(
    new_game: Callable[..., Game], daemon: Daemon, equipoise_smx: Any
) -> None:
    game = new_game(slots=32)
    install(game, daemon, equipoise_smx)
    red, blu = frozen(game, "arena_well", 1, 1)
    late = [game.connect(f"Late {n}") for n in range(20)]
    settle(game)
    for player in late:
        game.join(player, "auto")
    game.advance(1)
    *late, slow = late
    for player in late:
        game.command(player, "joinclass scout")
    game.advance(2)
    assert (slow.team, slow.panels) == (SPECTATOR, [])
    go_live(game)
    assert [p.team for p in late] == [SPECTATOR] * 19
    assert not any(p.alive for p in late)
    (event,) = daemon.events("round_live")
    assert [line["id"] for line in event["players"] if line["side"] != "none"] == ids([*red, *blu])
    assert all(newest(daemon, p) == {"side": "none", "waiting": True, "ready": True} for p in late)
    assert newest(daemon, slow) == {"side": "none", "waiting": True, "ready": False}
    game.advance(3)
    assert len(slow.panels) == 1


def test_a_class_that_was_chosen_while_waiting_is_given_once(game: Game, daemon: Daemon, fight: Sides) -> None:
    red, blu = fight
    waits = joiner(game)
    game.command(waits, "joinclass soldier")
    play.wipe_out(game, BLU)
    in_freeze(game)
    assign(game, daemon, red, [*blu, waits], bench=[])
    game.advance(1)
    assert (waits.team, waits.current_class) == (BLU, 3)
    waits.patient()
    game.command(waits, "joinclass medic")
    game.advance(0.5)
    assert waits.current_class == 5
    assign(game, daemon, [*red, waits], blu, bench=[])
    game.advance(1)
    assert (waits.team, waits.desired_class, waits.current_class) == (RED, 5, 5)


def test_in_highlander_who_is_moved_keeps_a_class_that_is_free_and_is_asked_for_one_that_is_not(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """A change of side takes the class there (CTFPlayer::ChangeTeam, ResetPlayerClass)."""
    game.server_cfg["mp_highlander"] = "1"
    game.start_map("koth_harvest_final")
    settle(game)
    scout, soldier = seat(game, "Scout", "red", "scout"), seat(game, "Soldier", "red", "soldier")
    medic, twin = seat(game, "Medic", "blue", "medic"), seat(game, "Twin", "blue", "scout")
    in_freeze(game)
    menus = len(scout.panels)
    assign(game, daemon, [soldier, medic], [scout, twin], bench=[])
    game.advance(1)
    assert [p.team for p in (scout, soldier, medic, twin)] == [BLU, RED, RED, BLU]
    assert (medic.alive, medic.current_class, medic.misplaced) == (True, 5, False)
    assert (scout.alive, scout.desired_class) == (False, 0)
    assert scout.panels[menus:] == ["class_blue"]
    game.command(scout, "joinclass pyro")
    game.advance(0.1)
    assert (scout.alive, scout.misplaced) == (True, False)


def test_arena_starts_where_the_game_chooses_the_classes(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    """With tf_arena_force_class no player may choose, and without the queue the game waits until one has."""
    game.sm.configs.arena["tf_arena_force_class"] = "1"
    game.start_map("arena_well")
    settle(game)
    people = [game.connect(f"P{n}") for n in range(4)]
    for n, player in enumerate(people):
        game.join(player, "red" if n % 2 else "blue")
    settle(game)
    seconds_of_play(game, 1)
    assert game.rounds.state is State.PREROUND
    assert all(p.alive for p in people)
    assign(game, daemon, people[:1], people[1:2], bench=people[2:])
    assert all(line.get("ready", True) for line in roster(game, daemon).values())
    assert not any(panel.startswith("class") for player in people for panel in player.panels)


# Asking for a side: parked during a round, and let in when a side is empty.


@pytest.mark.parametrize("command", ["jointeam red", "autoteam"])
def test_during_the_round_a_joiner_waits_until_they_choose_to_watch(
    game: Game, daemon: Daemon, fight: Sides, command: str
) -> None:
    new = game.connect("New")
    game.command(new, command)
    settle(game)
    assert new.team == SPECTATOR
    assert not daemon.events("side_wanted")
    assert daemon.events("side_changed")[-1] | {"at": 0} == {
        "kind": "side_changed", "at": 0, "id": str(new.steamid), "side": "none", "waiting": True, "ready": False,
    }  # fmt: skip
    game.command(new, "spectate")
    settle(game)
    assert [event["waiting"] for event in daemon.events("side_changed")] == [True, False]


def test_placed_nowhere_means_waiting(game: Game, daemon: Daemon, fight: Sides) -> None:
    play.wipe_out(game, BLU)
    daemon.answers["side_wanted"] = placing("none", "Equipoise_ReasonWaits")
    new = joiner(game)
    assert new.team == SPECTATOR
    assert daemon.events("side_changed")[-1]["waiting"]


@pytest.mark.parametrize("waits", [True, False])
def test_when_a_side_walks_out_who_waits_is_let_in_or_else_the_newcomer_crosses(
    game: Game, daemon: Daemon, fight: Sides, waits: bool
) -> None:
    red, blu = fight
    if waits:
        new = joiner(game)
        new.choose("pyro")
    for player in blu:
        game.leave(player)
    game.until(lambda: game.rounds.state is State.PREGAME)
    seconds_of_play(game, 3)
    assert [player.team for player in red] == [RED, RED if waits else BLU]
    assert red[1].suicides == 0
    if waits:
        assert new.team == BLU
        game.until(lambda: game.rounds.state is State.PREROUND)
        assert new.alive


def test_who_is_held_into_the_next_rounds_freeze_without_an_answer_waits(
    game: Game, daemon: Daemon, fight: Sides
) -> None:
    play.wipe_out(game, BLU)
    settle(game)
    ends_in(game, 1.0)
    game.sm.http.held = True
    new = game.connect("New")
    game.join(new, "red", "scout")
    assert game.rounds.state is State.TEAM_WIN
    game.advance(2.5)
    assert game.rounds.state is State.PREROUND
    assert (new.team, new.alive) == (SPECTATOR, False)
    assert "you play in the next one" in new.chat[-1]


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
    assert [one["id"] for one in daemon.events("round_ended")[0]["lineup"]] == ids([red[0], *blu])


@pytest.mark.parametrize("moment", ["freeze", "round"])
def test_a_side_that_walks_out_loses_and_stands_in_the_lineup_of_a_round_that_it_began(
    game: Game, daemon: Daemon, arena: Sides, moment: str
) -> None:
    red, blu = arena
    if moment == "round":
        go_live(game)
    for player in blu:
        game.leave(player)
    play.go_live(game)
    game.advance(0.1)
    settle(game)
    (ended,) = daemon.events("round_ended")
    began = red + blu if moment == "round" else red
    assert (ended["winner"], {one["id"] for one in ended["lineup"]}) == ("red", set(ids(began)))
    assert not ended["partial"]
    assert sum(line["left"] for line in ended["players"]) == len(began) - 2


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


def test_leaving_in_the_bonus_time_changes_nothing_before_the_next_start_and_one_in_pregame_opens_no_round(
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
    daemon.forget()
    starts = len(game.events("teamplay_round_start"))
    game.until(lambda: len(game.events("teamplay_round_start")) > starts, within=30)
    assert game.rounds.state is State.PREGAME
    settle(game)
    assert not {"round_started", "round_live"} & set(daemon.kinds())
    assert daemon.events("hello")[-1]["phase"] == "idle"
    # Then the newcomer crosses, and a round starts with both sides.
    in_freeze(game)
    assert sorted(p.team for p in red) == [RED, BLU]
    assert len(daemon.events("round_started")) == 1


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


# The bench: who waits to play is not kicked for it, is let in again, and still waits after a reload.


def test_who_sat_out_is_spawned_once_by_the_game_as_the_class_that_they_chose_last(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    red, blu = arena
    assign(game, daemon, red[:1], blu[:1], bench=[red[1], blu[1]])
    game.advance(1)
    before = spawns(game, red[1])
    game.command(blu[1], "joinclass medic")
    settle(game)
    assert not blu[1].alive
    assign(game, daemon, red, blu, bench=[])
    game.advance(1)
    assert (red[1].team, red[1].alive, red[1].props["m_iClass"]) == (RED, True, 3)
    assert (blu[1].team, blu[1].alive, blu[1].props["m_iClass"]) == (BLU, True, 5)
    assert spawns(game, red[1]) == before + 1


@pytest.mark.parametrize("limits", [{}, {"mp_idlemaxtime": "0", "mp_stalemate_timelimit": "60"}])
@pytest.mark.parametrize("waits", [True, False])
def test_only_who_waits_to_play_is_kept_from_being_kicked_for_idling(
    game: Game, daemon: Daemon, arena: Sides, waits: bool, limits: dict[str, str]
) -> None:
    """Also with the shortest limit of the game, 30 seconds. They hear nothing of what is done in their name."""
    red, blu = arena
    for convar, value in limits.items():
        game.sm.convars[convar].set(value)
    assign(game, daemon, red[:1], blu[:1], bench=[red[1], blu[1]])
    game.advance(2.5)
    if not waits:
        game.join(red[1], "spectate")
        game.join(blu[1], "spectate")
    red[1].idle = blu[1].idle = True
    shown = (list(red[1].console), list(red[1].chat), list(red[1].panels))
    play.go_live(game)
    seconds_of_play(game, 70 if limits else 250)
    assert [player in game.humans() for player in (red[1], blu[1])] == [waits, waits]
    assert not any(player.autokick_disabled for player in red + blu)
    assert not waits or (red[1].console, red[1].chat, red[1].panels) == shown


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
