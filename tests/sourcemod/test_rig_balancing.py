"""The game's own balancing beyond the scenarios: before a round, by candidates, and Mannpower's and hell's oddities."""

from __future__ import annotations

from tests.sourcemod.rig import Game, Player, play
from tests.sourcemod.rig.game.facts import BLU, GHOST, RED, Mode, Reason, State
from tests.sourcemod.scenarios import Script, fields, names, people, running, seen, since, watch


def uneven(game: Game, map_name: str = "koth_harvest_final") -> list[Player]:
    """Five on RED and two on BLU, in a live round; RED's players in the order they came."""
    game.sm.convars["mp_autoteambalance"].set("0")
    game.start_map(map_name)
    players = people(game, 4)
    play.go_live(game)
    for number in range(3):
        game.advance(1)
        players.append(game.connect(f"late {number}"))
        game.teams.change(players[-1], RED)
        game.command(players[-1], "joinclass soldier")
    return [player for player in players if player.team == RED]


def sizes(game: Game) -> list[int]:
    """Players on RED and on BLU."""
    return [len(game.teams.members(side)) for side in (RED, BLU)]


def test_before_a_round_the_newest_are_moved_alive(game: Game) -> None:
    reds = uneven(game)
    game.advance(60)
    game.sm.convars["mp_autoteambalance"].set("1")
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    mark = len(game.history)
    play.next_round(game)
    assert reds[-1].team == BLU
    assert sizes(game) == [4, 3]
    assert since(game, mark, "player_death", "teamplay_teambalanced_player") == [
        "player_death",
        "teamplay_teambalanced_player",
    ]


def test_a_round_that_follows_quickly_is_not_balanced(game: Game) -> None:
    uneven(game)
    game.sm.convars["mp_autoteambalance"].set("1")
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    play.next_round(game)
    assert sizes(game) == [5, 2]


def test_candidates_are_moved_when_dead_and_forced_after_a_warning(game: Game) -> None:
    reds = uneven(game)
    for player, kills in zip(reds, (9, 1, 2, 3, 4), strict=True):
        game.teams.scoreboard.count(player, "m_iKills", kills)
    game.sm.convars["mp_autoteambalance"].set("2")
    game.advance(14)
    assert sizes(game) == [5, 2]
    mark = len(game.history)
    game.advance(7)
    assert sizes(game) == [4, 3]
    moved = next(p for p in reds if p.team == BLU)
    assert moved.alive
    assert since(game, mark, "player_death", "player_spawn", "teamplay_teambalanced_player") == [
        "player_death",
        "player_spawn",
        "teamplay_teambalanced_player",
    ]


def test_without_a_single_point_there_are_no_candidates(game: Game) -> None:
    uneven(game)
    game.sm.convars["mp_autoteambalance"].set("2")
    game.advance(60)
    assert sizes(game) == [5, 2]


def test_a_mannpower_map_begins_a_round_before_anybody_is_there(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("ctf_foundry")
    assert names(game) == ["teamplay_round_start"]
    assert game.number("tf_flag_caps_per_round") == 7
    game.advance(6)
    assert names(game) == ["teamplay_round_active"]
    assert game.rounds.state is State.PREGAME
    game.start_map("koth_harvest_final")
    assert game.number("tf_flag_caps_per_round") == 3
    assert "teamplay_round_start" in names(game)


def test_in_hell_a_change_of_teams_among_ghosts_draws_the_round_at_once(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("plr_hightower_event", Mode(3, trains=True, holiday=2))
    players = people(game, 3)
    play.go_live(game)
    game.rules.props["m_bHelltowerPlayersInHell"] = 1
    for player in players[:2]:
        player.set_condition(GHOST, True)
    late = game.connect("late")
    seen(game)
    game.teams.change(late, RED)
    assert seen(game) == []
    for player in (players[2], late):
        player.set_condition(GHOST, True)
    mark = len(game.history)
    game.leave(players[0])
    assert since(game, mark)[:3] == ["player_disconnect", "teamplay_win_panel", "teamplay_round_win"]
    assert fields(game, "teamplay_round_win")["winreason"] == Reason.STALEMATE


def test_mannpower_swaps_the_best_and_the_last_player_when_a_side_falls_behind_twice_in_a_row(game: Game) -> None:
    # CTFGameRules::PowerupTeamImbalance and PowerupTeamImbalance_SwapPlayers (tf_gamerules.cpp).
    players = running(game, *["red", "blue"] * 5, map_name="ctf_foundry")
    best, last, scorer = players[2], players[3], players[1]
    for victim in (players[5], players[7]):
        play.kill(game, best, victim)
    for loser in players[1::2]:
        game.teams.scoreboard.count(loser, "m_iCaptures", 0 if loser is last else 1)
    game.history.clear()
    for wait, moved in ((0, False), (60, False), (61, True)):
        game.advance(wait)
        game.mannpower.fall_behind(BLU)
        assert [best.team, last.team] == ([BLU, RED] if moved else [RED, BLU])
    told = [fields["player"] for _, name, fields in game.history if name == "teamplay_teambalanced_player"]
    assert told == [best.index, last.index]
    assert (best.alive, last.alive, scorer.team) == (True, True, BLU)


def test_mannpower_leaves_fewer_than_ten_players_where_they_are(game: Game) -> None:
    players = running(game, *["red", "blue"] * 4, map_name="ctf_foundry")
    sides = [player.team for player in players]
    for _ in range(2):
        game.mannpower.fall_behind(BLU)
        game.advance(121)
    assert [player.team for player in players] == sides
