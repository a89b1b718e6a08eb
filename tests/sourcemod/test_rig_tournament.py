"""Tournament mode on the fake server: ready-up, its countdown, the match, its end, and what leaves the mode."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Player, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.scenarios import Script, names, people, seen, watch

Starts = Callable[..., list[Player]]


@pytest.fixture
def tournament(game: Game, script: Script) -> Starts:
    """A map that was started with `mp_tournament 1`, until its first round of waiting runs."""

    def start(map_name: str = "cp_badlands", **convars: str) -> list[Player]:
        watch(script)
        for name, value in {"mp_tournament": "1", **convars}.items():
            game.sm.convars[name].set(value)
        game.start_map(map_name)
        players = people(game)
        game.until(lambda: game.rounds.state in (State.RUNNING, State.STALEMATE, State.BETWEEN_ROUNDS), within=30)
        seen(game)
        return players

    return start


def ready(game: Game, player: Player, word: str = "1") -> None:
    game.command(player, f"tournament_readystate {word}")


def test_both_sides_are_ready_and_five_seconds_later_the_match_begins(game: Game, tournament: Starts) -> None:
    players = tournament()
    play.kill(game, players[0], players[1])
    ready(game, players[0])
    game.advance(30)
    assert seen(game) == []
    ready(game, players[1])
    begins = game.now
    game.until(lambda: not game.rounds.waiting)
    assert begins + 5 <= game.now <= begins + 6.1
    game.until(lambda: game.rounds.state is State.RUNNING)
    assert seen(game) == [
        "teamplay_round_restart_seconds S4 W1 U0",
        "waiting ends S4 W0 U0",  # of the match's own beginning, which respawns everybody once more
        "teamplay_restart_round S6 W0 U0",
        "waiting ends S6 W0 U0",
        "teamplay_round_start S3 W0 U0",
        "teamplay_round_active S4 W0 U0",
    ]
    assert game.teams.scores[RED] == players[0].deaths == 0
    assert game.rules.props["m_bTeamReady"] == [0, 0, 0, 0]


def test_a_side_that_is_not_ready_any_more_stops_the_countdown(game: Game, tournament: Starts) -> None:
    players = tournament()
    ready(game, players[0])
    ready(game, players[1])
    game.advance(3)
    ready(game, players[2], "0")  # another of the same side may say so
    game.advance(20)
    assert game.rounds.waiting
    assert names(game) == ["teamplay_round_restart_seconds"]
    said = [fields for _, name, fields in game.history if name == "tournament_stateupdate"]
    assert [(one["userid"], one["readystate"]) for one in said] == [(1, 1), (2, 1), (3, 0)]


def test_only_sides_are_ready_and_only_before_a_match(game: Game, tournament: Starts) -> None:
    players = tournament()
    spectator = game.connect("Spectator")
    game.join(spectator, "spectate")
    ready(game, spectator)
    ready(game, players[0])
    ready(game, players[1])
    game.until(lambda: not game.rounds.waiting)
    ready(game, players[0])
    assert game.rules.props["m_bTeamReady"] == [0, 0, 0, 0]
    assert [name for _, name, _ in game.history].count("tournament_stateupdate") == 2


def test_a_tournament_that_is_restarted_waits_from_the_middle_of_a_round_on(game: Game, tournament: Starts) -> None:
    players = tournament()
    ready(game, players[0])
    ready(game, players[1])
    game.until(lambda: game.rounds.live and not game.rounds.waiting)
    seen(game)
    game.rcon("mp_tournament_restart")
    game.advance(60)
    assert seen(game) == ["waiting starts S4 W1 U0"]
    play.kill(game, players[0], players[1])
    game.advance(9)
    assert players[1].alive  # no respawn times before a match


def test_a_limit_ends_the_match_but_neither_map_nor_round(game: Game, tournament: Starts) -> None:
    players = tournament(mp_winlimit="1")
    ready(game, players[0])
    ready(game, players[1])
    game.until(lambda: game.rounds.live and not game.rounds.waiting)
    seen(game)
    game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    game.advance(40)
    assert seen(game) == [
        "teamplay_win_panel S5 W0 U0",
        "teamplay_round_win S5 W0 U0",
        "tf_game_over S5 W0 U0",
        "waiting starts S5 W1 U0",
        "teamplay_round_active S4 W1 U0",
    ]
    assert game.teams.scores[BLU] == 1
    assert game.map == "cp_badlands"


def test_the_next_round_of_a_match_is_a_round_like_any_other(game: Game, tournament: Starts) -> None:
    players = tournament()
    ready(game, players[0])
    ready(game, players[1])
    game.until(lambda: game.rounds.live and not game.rounds.waiting)
    game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    play.next_round(game)
    assert game.rounds.state is State.PREROUND
    assert not game.rounds.waiting


def test_arena_waits_in_a_tournament_and_nobody_wins_until_both_sides_are_ready(game: Game, tournament: Starts) -> None:
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    players = tournament("arena_well")
    assert game.rules.props["m_bInWaitingForPlayers"] == 1
    play.kill(game, players[0], players[1])
    play.kill(game, players[0], players[3])
    game.advance(1)
    assert game.rounds.state is State.STALEMATE
    ready(game, players[0])
    ready(game, players[1])
    game.until(lambda: not game.rounds.waiting)
    game.until(lambda: game.rounds.state is State.STALEMATE)
    play.kill(game, players[0], players[1])
    play.kill(game, players[0], players[3])
    game.advance(0.1)
    assert game.rounds.won


def test_each_player_is_ready_where_a_server_asks_for_it(game: Game, tournament: Starts) -> None:
    players = tournament(mp_tournament_readymode="1")
    assert game.rounds.state is State.BETWEEN_ROUNDS
    assert (game.rules.props["m_bInSetup"], game.rounds.waiting) == (1, True)
    ready(game, players[0])  # is the sides' own command
    for player in players[:3]:
        game.command(player, "tournament_player_readystate 1")
    assert game.rules.props["m_bTeamReady"] == [0, 0, 1, 0]
    game.advance(30)
    assert game.rounds.state is State.BETWEEN_ROUNDS
    game.command(players[3], "tournament_player_readystate 1")
    begins = game.now
    game.until(lambda: game.rounds.state is State.PREROUND)
    assert game.now - begins == pytest.approx(10, abs=0.1)
    assert (game.rules.props["m_bInSetup"], game.rounds.waiting) == (0, False)


def test_who_leaves_while_players_are_asked_undoes_it_all(game: Game, tournament: Starts) -> None:
    players = tournament(mp_tournament_readymode="1")
    for player in players:
        game.command(player, "tournament_player_readystate 1")
    game.advance(1)
    game.leave(players[3])
    game.advance(30)
    assert game.rounds.state is State.BETWEEN_ROUNDS
    assert game.rules.props["m_bTeamReady"] == [0, 0, 0, 0]


def test_a_map_after_mann_vs_machine_is_no_tournament(game: Game) -> None:
    game.start_map("mvm_coaltown")
    people(game, 2)
    game.until(lambda: game.rounds.state is State.BETWEEN_ROUNDS)
    assert game.number("mp_tournament") == 1
    game.start_map("cp_badlands")
    assert game.number("mp_tournament") == 0


def test_a_tournament_that_is_switched_off_goes_on_waiting_until_somebody_restarts_the_game(
    game: Game, tournament: Starts
) -> None:
    tournament()
    game.rcon("mp_tournament 0")
    game.advance(60)
    assert game.rounds.waiting
    game.rcon("mp_restartgame 1")
    game.until(lambda: not game.rounds.waiting, within=3)
    assert names(game)[-2:] == ["waiting ends", "teamplay_round_start"]
