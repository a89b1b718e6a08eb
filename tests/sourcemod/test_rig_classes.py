"""The rig's players choose classes as `HandleCommand_JoinClass` (tf_player.cpp) lets them."""

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, CLASSES, MEDIC, RED, SPECTATOR, State
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.scenarios import running

SOLDIER = CLASSES.index("soldier")


def test_a_class_is_announced_once_and_chosen_at_most_twice_a_second(game: Game) -> None:
    player, *_ = running(game, "red", "blue")
    game.command(player, "joinclass pyro")
    game.command(player, "joinclass scout")
    game.advance(0.6)
    game.command(player, "joinclass pyro")
    game.advance(0.6)
    game.command(player, "joinclass heavy")
    chosen = [fields["class"] for _, name, fields in game.history if name == "player_changeclass"]
    assert (chosen, player.desired_class, player.current_class) == ([7], 7, 3)


def test_choosing_the_class_one_plays_again_spawns_nobody_even_in_the_spawn_room(game: Game) -> None:
    player, *_ = running(game, "red", "blue")
    game.command(player, "joinclass pyro")
    player.patient()
    player.in_spawn_room = True
    game.history.clear()
    game.command(player, "joinclass soldier")
    assert (game.events(), player.desired_class) == (["player_changeclass"], SOLDIER)


def test_a_spectator_chooses_no_class_outside_arena(game: Game) -> None:
    running(game, "red", "blue")
    player = game.connect("Ann")
    game.join(player, "spectate", "scout")
    assert player.desired_class == 0


def spawned_by_class(game: Game, player: Player) -> bool:
    game.history.clear()
    player.patient()
    game.command(player, "joinclass medic")
    return "player_spawn" in game.events()


@pytest.mark.parametrize(
    ("where", "spawns"),
    [("first life", True), ("spawn room", True), ("field", False), ("freshly dead", False), ("past their wave", True)],
)
def test_when_a_new_class_spawns_at_once_in_a_running_round(game: Game, where: str, *, spawns: bool) -> None:
    player, *_ = running(game, "red", "blue")
    if where == "first life":
        player = game.connect("new")
        game.join(player, "red")
    player.in_spawn_room = where == "spawn room"
    if where in ("freshly dead", "past their wave"):
        play.kill(game, None, player)
        game.command(player, "menuopen")
        game.advance(40 if where == "past their wave" else 1)
    assert spawned_by_class(game, player) == spawns


@pytest.mark.parametrize(("side", "spawns"), [("red", True), ("blue", False)])
def test_in_the_bonus_time_dead_winners_return_with_another_class_and_losers_do_not(
    game: Game, side: str, *, spawns: bool
) -> None:
    player, *_ = running(game, side, "red", "blue")
    play.kill(game, None, player)
    game.rounds.win(RED, 1)
    game.advance(14)
    assert not player.alive
    assert spawned_by_class(game, player) == spawns


def test_a_loser_who_was_promised_a_spawn_does_not_return_in_the_bonus_time(game: Game) -> None:
    running(game, "red", "red", "blue")
    undecided = game.connect("undecided")
    game.join(undecided, "blue")
    # The wave passes over who has no class, and promises the spawn.
    game.advance(12)
    assert undecided.instant_spawn
    game.rounds.win(RED, 1)
    for _ in range(2):
        assert not spawned_by_class(game, undecided)


def test_arenas_queue_takes_those_who_go_to_watch_at_its_tail_and_those_who_are_sent_at_its_head(game: Game) -> None:
    red, blu, *_ = running(game, "red", "blue", "red", "blue", map_name="arena_well")
    game.sm.convars["tf_arena_use_queue"].set("1")
    waiting = game.connect("waiting")
    game.join(waiting, "spectate", "scout")
    game.teams.change(red, SPECTATOR)
    game.teams.force_change(blu, SPECTATOR)
    assert game.arena.queue == [blu, waiting, red]


def test_arena_with_the_queue_lines_up_who_picks_a_class(game: Game) -> None:
    game.start_map("arena_well")
    first, second = game.connect("first"), game.connect("second")
    game.join(first, "red")
    assert (first.team, first.panels, game.arena.queue) == (SPECTATOR, ["class_blue"], [])
    game.command(first, "joinclass scout")
    game.join(second, "spectatearena")
    assert (game.arena.queue, second.ready) == ([first], False)


@pytest.mark.parametrize("queue", ["1", "0"])
def test_where_arena_forces_classes_its_queue_makes_players_ready_without_one(game: Game, queue: str) -> None:
    # CTFPlayer::IsReadyToPlay, ForceRespawn.
    game.sm.configs.arena |= {"tf_arena_use_queue": queue, "tf_arena_force_class": "1"}
    game.start_map("arena_well")
    player = game.connect("Ann")
    game.teams.change(player, RED)
    assert player.ready is (queue == "1")
    game.teams.force_respawn(player)
    assert player.desired_class > 0


def test_a_coach_chooses_no_class(game: Game) -> None:
    coach, _ = running(game, "red", "blue")
    coach.coaching = coach.in_spawn_room = True
    assert not spawned_by_class(game, coach)
    assert coach.desired_class == SOLDIER


def test_in_arenas_freeze_a_first_class_and_another_class_spawn_at_once(game: Game) -> None:
    changes, *_ = running(game, "red", "red", "blue", map_name="arena_well")
    play.wipe_out(game, BLU)
    game.until(lambda: game.rounds.state == State.PREROUND)
    new = game.connect("new")
    game.join(new, "blue")
    assert not new.alive
    assert spawned_by_class(game, new)
    assert spawned_by_class(game, changes)
    assert (new.alive, changes.current_class) == (True, MEDIC)


def test_in_arenas_round_the_dead_choose_for_the_next_and_the_living_nothing(game: Game) -> None:
    living, dead, *_ = running(game, "red", "red", "blue", map_name="arena_well")
    play.kill(game, None, dead)
    for player in (living, dead):
        assert not spawned_by_class(game, player)
    assert (living.desired_class, dead.desired_class) == (SOLDIER, MEDIC)


def test_defenders_change_class_at_once_between_waves_and_not_in_a_wave(game: Game) -> None:
    game.start_map("mvm_coaltown")
    defender = game.add("Ann", "red")
    game.until(lambda: game.rounds.state == State.BETWEEN_ROUNDS)
    assert defender.alive
    assert spawned_by_class(game, defender)
    game.mvm.start_wave()
    game.advance(1)
    game.command(defender, "joinclass pyro")
    assert defender.desired_class == MEDIC
