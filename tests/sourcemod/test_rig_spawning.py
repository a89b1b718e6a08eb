"""When the rig's players spawn and are sent away: ForceRespawn, waves, class changes and idling, state by state.

Facts: tf_player.cpp, teamplayroundbased_gamerules.cpp.
"""

from itertools import pairwise

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, UBERCHARGED, State
from tests.sourcemod.scenarios import running


def test_a_class_chosen_before_the_first_round_spawns_at_once_outside_arena(game: Game) -> None:
    game.start_map("koth_harvest_final")
    player = game.add("Ann", "red")
    assert (game.rounds.state, player.alive) == (State.PREGAME, True)


def test_force_respawn_wants_a_class_and_nothing_else(game: Game) -> None:
    red, _ = running(game, "red", "blue")
    without_class, watcher = game.connect("new"), game.connect("watcher")
    game.join(without_class, "blue")
    game.join(watcher, "spectate")
    watcher.choose("scout")
    red.set_condition(UBERCHARGED, True)
    game.history.clear()
    for player in (red, without_class, watcher):
        game.teams.force_respawn(player)
    spawned = [(f["userid"], f["team"]) for _, name, f in game.history if name == "player_spawn"]
    assert spawned == [(red.userid, RED), (watcher.userid, SPECTATOR)]
    assert (watcher.alive, watcher.weapons, without_class.alive) == (True, {}, False)
    assert not red.has_condition(UBERCHARGED)


def test_a_respawn_as_another_class_takes_the_buildings_without_an_explosion(game: Game) -> None:
    engineer, _ = running(game, "red", "blue")
    engineer.choose("engineer")
    game.teams.force_respawn(engineer)
    play.build(game, engineer, "obj_dispenser")
    game.teams.force_respawn(engineer)
    assert engineer.buildings
    engineer.choose("spy")
    game.history.clear()
    game.teams.force_respawn(engineer)
    assert game.events() == ["object_removed", "post_inventory_application", "player_spawn"]


def test_without_respawn_times_the_dead_return_after_their_freeze_panel(game: Game) -> None:
    _, victim = running(game, "red", "blue")
    game.sm.convars["mp_disable_respawn_times"].set("1")
    game.advance(6)
    play.kill(game, None, victim)
    game.advance(6.3)
    assert not victim.alive
    game.advance(0.2)
    assert victim.alive


def test_who_has_no_class_to_respawn_as_returns_in_the_next_wave_once_they_have_one(game: Game) -> None:
    game.sm.convars["mp_highlander"].set("1")
    player, _ = running(game, "red", "blue")
    game.command(player, "resetclass")
    assert (player.alive, player.deaths) == (False, 1)
    player.choose("scout")
    game.advance(6.3)
    assert not player.alive
    game.advance(5.3)
    assert player.alive


def test_an_arenas_forced_class_is_another_one_at_each_spawn(game: Game) -> None:
    red, _ = running(game, "red", "blue", map_name="arena_well")
    game.sm.convars["tf_arena_force_class"].set("1")
    classes = [red.current_class]
    for _ in range(5):
        play.wipe_out(game, BLU)
        game.until(lambda: game.rounds.state == State.PREROUND)
        play.go_live(game)
        classes.append(red.current_class)
    assert all(before != after for before, after in pairwise(classes))
    game.command(red, "joinclass scout")
    assert red.desired_class == classes[-1]


# Sudden death: nobody returns, and a class is chosen within 20 s.


@pytest.mark.parametrize(("seconds", "spawns"), [(10, True), (21, False)])
@pytest.mark.parametrize("alive", [True, False])
def test_in_sudden_death_another_class_spawns_only_in_the_first_twenty_seconds(
    game: Game, seconds: float, *, alive: bool, spawns: bool
) -> None:
    _, player = running(game, "red", "blue")
    game.add("mate", "blue")
    game.sm.convars["mp_stalemate_enable"].set("1")
    game.rounds.stalemate()
    game.advance(seconds)
    if not alive:
        play.kill(game, None, player)
    game.history.clear()
    game.command(player, "joinclass medic")
    assert ("player_spawn" in game.events(), player.alive) == (spawns, alive or spawns)
    # Who is alive may not even choose when the grace is over; the dead may.
    assert (player.desired_class == 5) == (spawns or not alive)


def test_the_buildings_of_an_engineer_who_dies_in_sudden_death_explode(game: Game) -> None:
    game.start_map("koth_harvest_final")
    engineer, _, _ = game.add("E", "red", "engineer"), game.add("M", "red"), game.add("B", "blue")
    play.go_live(game)
    game.sm.convars["mp_stalemate_enable"].set("1")
    game.rounds.stalemate()
    play.build(game, engineer, "obj_sentrygun")
    game.history.clear()
    play.kill(game, None, engineer)
    assert game.events("player_death", "object_detonated", "object_removed") == ["player_death", "object_detonated"]


# CheckForIdle: who is exempt, and what happens to the others.


@pytest.mark.parametrize(
    ("convars", "what_happens"),
    [
        ({}, "watches"),
        ({"mp_idledealmethod": "2"}, "leaves"),
        ({"mp_allowspectators": "0"}, "leaves"),
        ({"mp_idledealmethod": "0"}, "stays"),
        ({"mp_idlemaxtime": "4"}, "stays"),
        ({"mp_idlemaxtime": "0"}, "leaves"),
    ],
)
def test_what_the_idle_variables_do_to_an_idle_player_in_two_hundred_seconds(
    game: Game, convars: dict[str, str], what_happens: str
) -> None:
    player, _ = running(game, "red", "blue")
    for name, value in convars.items():
        game.sm.convars[name].set(value)
    player.idle = True
    game.advance(200)
    outcome = "leaves" if not player.in_game else "watches" if player.team == SPECTATOR else "stays"
    assert outcome == what_happens


def test_bots_coaches_and_arenas_queue_may_idle(game: Game) -> None:
    coach, _ = running(game, "red", "blue")
    bot = game.add_bot("Bot", RED)
    coach.idle = bot.idle = coach.coaching = True
    game.advance(200)
    assert (coach.team, bot.team) == (RED, RED)
    waiting, _ = running(game, "red", "blue", map_name="arena_well")
    game.sm.convars["tf_arena_use_queue"].set("1")
    game.teams.change(waiting, SPECTATOR)
    waiting.idle = True
    game.advance(400)
    assert waiting.in_game


def test_between_waves_defenders_may_idle(game: Game) -> None:
    game.start_map("mvm_coaltown")
    player = game.add("Ann", "red")
    game.until(lambda: game.rounds.state == State.BETWEEN_ROUNDS)
    player.idle = True
    game.advance(200)
    assert player.team == RED


def test_a_respawn_does_not_save_those_who_never_leave_the_spawn_room(game: Game) -> None:
    player, _ = running(game, "red", "blue")
    player.idle = True
    for _ in range(18):
        game.advance(10)
        game.teams.force_respawn(player)
    game.advance(5)
    assert player.team == SPECTATOR


def test_a_maps_own_waves_last_until_the_next_round(game: Game) -> None:
    # GetRespawnWaveMaxLength, RoundRespawn: a capture changes them, and waves of 5 s or less are not scaled.
    running(game, "red", "blue", map_name="cp_badlands")
    spawning = game.teams.spawning
    game.rounds.wave_times[RED] = 4
    assert (spawning.wave_length(RED), spawning.wave_length(BLU)) == (4, 5)
    game.rounds.win(RED, 1)
    play.next_round(game)
    play.go_live(game)
    assert spawning.wave_length(RED) == 5
