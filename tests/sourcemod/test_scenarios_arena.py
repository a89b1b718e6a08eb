"""Scenarios 14 to 17 and 20: arena, with the queue off and on, as the game's source has it."""

from __future__ import annotations

import pytest

from tests.sourcemod.rig import Game, Player, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, State
from tests.sourcemod.scenarios import Script, fields, names, people, seen, since, watch, when

FRAME = 0.02


@pytest.fixture
def arena(game: Game, script: Script) -> Game:
    """An arena map without the queue, and a listener."""
    watch(script)
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    game.start_map("arena_well")
    return game


def test_scenario_14_two_players_start_a_round_that_never_waits(arena: Game) -> None:
    arena.add("Ann", "red")
    arena.join(arena.connect("Bob"), "blue")
    arena.until(lambda: arena.rounds.live)

    assert seen(arena) == [
        "waiting starts S2 W0 U0",
        "teamplay_round_start S3 W0 U0",
        "arena_round_start S7 W0 U0",
    ]
    assert when(arena, "arena_round_start") - when(arena, "teamplay_round_start") == pytest.approx(10, abs=FRAME)
    # The side without a living player is dead, although its only player never had a class.
    arena.frame()
    won = fields(arena, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["was_sudden_death"]) == (RED, 2, True)
    assert fields(arena, "arena_win_panel")["blue_score"] == 0
    arena.advance(16)
    assert "waiting ends" not in names(arena)
    assert arena.rounds.state is State.PREROUND


def test_scenario_14_a_side_that_dies_loses_and_the_loser_is_shown_with_nothing(arena: Game) -> None:
    people(arena, 2)
    play.go_live(arena)
    arena.teams.scores[BLU] = 2
    seen(arena)
    play.wipe_out(arena, BLU)

    assert seen(arena) == ["arena_win_panel S5 W0 U0", "teamplay_round_win S5 W0 U0"]
    panel = fields(arena, "arena_win_panel")
    assert (panel["red_score"], panel["red_score_prev"], panel["blue_score"]) == (1, 0, 0)
    assert arena.teams.scores[BLU] == 2
    arena.until(lambda: arena.rounds.state is State.PREROUND)
    assert when(arena, "teamplay_round_start") - when(arena, "teamplay_round_win") == pytest.approx(15, abs=FRAME)


def test_scenario_15_without_the_queue_sides_and_scores_persist(arena: Game) -> None:
    people(arena, 4)
    sides = [player.team for player in arena.in_game()]
    scores = []
    for _ in range(3):
        play.go_live(arena)
        play.wipe_out(arena, BLU)
        scores.append(arena.teams.scores[RED])
        play.next_round(arena)

    assert scores == [1, 2, 3]
    assert [player.team for player in arena.in_game()] == sides
    assert names(arena).count("waiting starts") == 1


def test_scenario_16_a_side_that_walks_out_in_the_freeze_loses_when_it_ends(arena: Game) -> None:
    people(arena, 4)
    arena.until(lambda: arena.rounds.state is State.PREROUND)
    for player in arena.teams.members(RED):
        arena.leave(player)
    seen(arena)
    arena.advance(9.5)
    assert seen(arena) == []
    arena.advance(1)

    assert names(arena) == ["arena_round_start", "arena_win_panel", "teamplay_round_win"]
    won = fields(arena, "teamplay_round_win")
    assert (won["team"], won["winreason"]) == (BLU, 2)
    assert when(arena, "teamplay_round_win") - when(arena, "arena_round_start") <= FRAME


def test_scenario_17_a_round_starts_in_the_wrong_state_when_a_side_is_empty(arena: Game) -> None:
    people(arena, 4)
    play.go_live(arena)
    play.wipe_out(arena, RED)
    for player in arena.teams.members(RED):
        arena.leave(player)
    seen(arena)
    mark = len(arena.history)
    arena.advance(20)

    assert seen(arena) == ["teamplay_round_start S1 W0 U0"]
    assert "player_spawn" not in since(arena, mark)
    arena.advance(60)
    assert seen(arena) == []
    arena.add("late", "red")
    arena.advance(0.1)
    assert seen(arena) == ["waiting starts S2 W0 U0", "teamplay_round_start S3 W0 U0"]


def test_the_last_player_of_an_arena_leaves_a_drawn_round_behind(arena: Game) -> None:
    players = people(arena, 2)
    play.go_live(arena)
    for player in players:
        arena.leave(player)
    seen(arena)
    arena.advance(17)

    assert [line for line in seen(arena) if "leaves" not in line] == [
        "arena_win_panel S5 W0 U0",
        "teamplay_round_win S5 W0 U0",
        "teamplay_round_start S1 W0 U0",
    ]
    assert fields(arena, "teamplay_round_win")["team"] == 0


def test_both_sides_dead_in_one_frame_is_a_stalemate(arena: Game) -> None:
    people(arena, 4)
    play.go_live(arena)
    for player in list(arena.in_game()):
        play.kill(arena, None, player)
    arena.frame()
    won = fields(arena, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["was_sudden_death"]) == (0, 5, False)


def test_arena_ends_by_its_round_time_without_a_winner(arena: Game) -> None:
    arena.rcon("tf_arena_round_time 30")
    people(arena, 4)
    play.go_live(arena)
    arena.advance(30.1)
    assert fields(arena, "teamplay_round_win")["winreason"] == 5


def test_a_living_spectator_does_not_keep_a_side_alive(arena: Game) -> None:
    people(arena, 2)
    watcher = arena.connect("Eve")
    arena.join(watcher, "spectate")
    arena.until(lambda: arena.rounds.state is State.PREROUND)
    watcher.choose("soldier")
    arena.teams.force_respawn(watcher)
    play.go_live(arena)
    assert (watcher.alive, watcher.team) == (True, SPECTATOR)
    play.wipe_out(arena, BLU)
    assert fields(arena, "teamplay_round_win")["team"] == RED


def queueing(game: Game, count: int) -> list[Player]:
    """Players of an arena with the queue: it puts them on sides by itself."""
    game.start_map("arena_well")
    players = [game.connect(f"player {i}") for i in range(count)]
    for player in players:
        game.join(player, "auto")
        game.command(player, "joinclass soldier")
    game.until(lambda: game.rounds.state is State.PREROUND)
    return players


def sizes(game: Game) -> list[int]:
    """Players on RED and on BLU."""
    return [len(game.teams.members(side)) for side in (RED, BLU)]


def test_scenario_20_the_queue_benches_the_losers_and_fills_both_sides(game: Game) -> None:
    queueing(game, 5)
    assert sizes(game) == [2, 2]
    streaks = 0
    for wins in (1, 2, 3):
        play.go_live(game)
        losers = game.teams.members(BLU)
        play.wipe_out(game, BLU)
        mark = len(game.history)
        play.next_round(game)
        moves = [values for _, name, values in game.history[mark:] if name == "player_team"]
        benched = [move["userid"] for move in moves if move["team"] == SPECTATOR]
        assert sizes(game) == [2, 2]
        streaks += "arena_match_maxstreak" in since(game, mark)
        if wins < 3:
            assert game.teams.scores == [0, 0, wins, 0]
            assert set(benched) == {loser.userid for loser in losers}
        else:
            assert len(benched) == 4
            assert game.teams.scores == [0, 0, 0, 0]
    assert streaks == 1
    assert fields(game, "arena_match_maxstreak") == {"team": RED, "streak": 3, "silenced": False}


def test_in_the_freeze_a_leaver_still_counts_when_the_queue_looks_for_a_gap(game: Game) -> None:
    # CTFGameRules::ClientDisconnected: Arena_ClientDisconnect runs before the parent takes them off their side.
    queueing(game, 6)
    head = game.arena.queue[0] if game.arena.queue else None
    assert head is None
    late = [game.connect(f"late {i}") for i in range(2)]
    for player in late:
        game.join(player, "auto")
        game.command(player, "joinclass soldier")
    game.leave(game.teams.members(RED)[0])
    assert sizes(game) == [2, 3]
    game.leave(game.teams.members(RED)[0])
    assert sizes(game) == [2, 3]
    assert late[0].team == RED
