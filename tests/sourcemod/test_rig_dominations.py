"""Dominations of the fake game, and what changes of teams do to them."""

from __future__ import annotations

import pytest

from tests.sourcemod.rig import Game, Player, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR
from tests.sourcemod.scenarios import fields, running

# CalcDominationAndRevenge (tf_gamerules.cpp), RemoveNemesisRelationships (tf_player.cpp).


def dominate(game: Game, attacker: Player, victim: Player) -> list[object]:
    """Kills without an answer until one dominates the other; the flags of each death."""
    flags = []
    for _ in range(4):
        play.kill(game, attacker, victim)
        flags.append(fields(game, "player_death")["death_flags"])
        game.teams.force_respawn(victim)
    return flags


def dominates(attacker: Player, victim: Player) -> list[object]:
    """What the properties of both say."""
    return [attacker.props["m_bPlayerDominated"][victim.index], victim.props["m_bPlayerDominatingMe"][attacker.index]]  # type: ignore[index]


def test_the_fourth_kill_without_an_answer_dominates_and_an_answer_is_revenge(game: Game) -> None:
    attacker, victim = running(game, "red", "blue")
    assert dominate(game, attacker, victim) == [0, 0, 0, 1]
    assert dominates(attacker, victim) == [1, 1]
    assert game.events("player_domination", "player_death")[-2:] == ["player_domination", "player_death"]
    play.kill(game, victim, attacker)
    assert fields(game, "player_death")["death_flags"] == 4
    assert dominates(attacker, victim) == [0, 0]
    assert (attacker.round_stats["m_iDominations"], victim.round_stats["m_iRevenge"]) == (1, 1)


@pytest.mark.parametrize("moved", ["attacker", "victim"])
def test_a_change_of_teams_ends_dominations_both_ways(game: Game, moved: str) -> None:
    attacker, victim = running(game, "red", "blue")
    dominate(game, attacker, victim)
    mover = attacker if moved == "attacker" else victim
    game.teams.change(mover, SPECTATOR)
    assert dominates(attacker, victim) == [0, 0]
    assert fields(game, "remove_nemesis_relationships")["player"] == mover.index


def test_a_switch_of_sides_keeps_dominations_and_a_scramble_does_not(game: Game) -> None:
    # ForceChangeTeam: `full` is the switch of both sides.
    attacker, victim = running(game, "red", "blue")
    dominate(game, attacker, victim)
    game.teams.force_change(attacker, BLU, full=True)
    game.teams.force_change(victim, RED, full=True)
    assert dominates(attacker, victim) == [1, 1]
    game.teams.force_change(victim, SPECTATOR)
    assert dominates(attacker, victim) == [0, 0]


def test_in_arena_only_those_who_become_team_mates_forget(game: Game) -> None:
    attacker, victim, *_ = running(game, "red", "blue", "red", "blue", map_name="arena_well")
    dominate(game, attacker, victim)
    game.teams.change(attacker, SPECTATOR)
    assert dominates(attacker, victim) == [1, 1]
    game.teams.change(attacker, BLU)
    assert dominates(attacker, victim) == [0, 0]


def test_a_restart_of_the_scores_forgets_dominations(game: Game) -> None:
    attacker, victim = running(game, "red", "blue")
    dominate(game, attacker, victim)
    game.rcon("mp_restartgame 1")
    game.advance(3)
    assert dominates(attacker, victim) == [0, 0]


def test_where_players_fight_the_game_or_powers_nobody_dominates(game: Game) -> None:
    attacker, victim = running(game, "red", "blue", map_name="ctf_foundry")
    assert dominate(game, attacker, victim) == [0, 0, 0, 0]
