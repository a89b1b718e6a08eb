"""Whom `BalanceTeams` moves, and when it does not (teamplayroundbased_gamerules.cpp, tf_player.cpp)."""

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, ENGINEER, GHOST, RED
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.scenarios import running

OLDEST, MIDDLE, NEWEST = range(3)


@pytest.fixture
def reds(game: Game) -> list[Player]:
    """Four dead RED players, of whom one must go, a minute and a half into a round; the last but one is the newest."""
    reds = running(game, "red", "red", "red", "red", "blue", "blue")[:4]
    game.sm.convars["mp_teams_unbalance_limit"].set("0")
    game.sm.convars["mp_respawnwavetime"].set("900")
    for number, player in enumerate(reds):
        player.connected_at = game.now - (500, 400, 300, 10_000)[number]
        play.kill(game, None, player)
    game.advance(90)
    return reds


def moved(game: Game) -> list[Player]:
    """Who is on BLU now and was not."""
    return [player for player in game.teams.members(BLU) if player.name in ("player 1", "player 2", "player 3")]


def balance(game: Game, seconds: float = 2.5) -> None:
    game.sm.convars["mp_teams_unbalance_limit"].set("1")
    game.advance(seconds)


def test_the_newest_goes(game: Game, reds: list[Player]) -> None:
    balance(game)
    assert moved(game) == [reds[NEWEST]]


def test_an_engineer_counts_as_two_minutes_longer_connected(game: Game, reds: list[Player]) -> None:
    reds[NEWEST].props["m_iClass"] = ENGINEER
    balance(game)
    assert moved(game) == [reds[MIDDLE]]


@pytest.mark.parametrize("reason", ["duel", "coaching", "coached", "ghost"])
def test_who_may_not_be_moved_is_passed_over(game: Game, reds: list[Player], reason: str) -> None:
    newest = reds[NEWEST]
    newest.duel, newest.coaching = reason == "duel", reason == "coaching"
    newest.props["m_hCoach"] = reds[OLDEST].index if reason == "coached" else -1
    newest.set_condition(GHOST, reason == "ghost")
    balance(game)
    assert moved(game) == [reds[MIDDLE]]


def test_who_was_moved_five_minutes_ago_is_the_last_choice_and_put_off_for_three_seconds(
    game: Game, reds: list[Player]
) -> None:
    balance(game)
    moved_first = moved(game)[0]
    game.teams.force_change(moved_first, RED)
    for player in reds:
        player.duel = player is not moved_first
    balance(game, 2.5)
    assert not moved(game)
    balance(game, 2)
    assert moved(game) == [moved_first]


@pytest.mark.usefixtures("reds")
@pytest.mark.parametrize("convar", ["mp_autoteambalance", "mp_teams_unbalance_limit"])
def test_nobody_is_moved_when_it_is_switched_off(game: Game, convar: str) -> None:
    game.sm.convars["mp_teams_unbalance_limit"].set("1")
    game.sm.convars[convar].set("0")
    game.advance(5)
    assert not moved(game)


@pytest.mark.usefixtures("reds")
def test_nobody_is_moved_while_the_clock_shows_less_than_a_minute(game: Game) -> None:
    hill = next(player for player in game.teams.members(BLU))
    play.capture(game, BLU, 0, hill)
    game.advance(1)
    timer = game.entities.get(int(game.objective.props["m_iTimerToShowInHUD"]))  # type: ignore[union-attr,arg-type]
    assert timer is not None
    timer.props |= {"m_bTimerPaused": 0, "m_flTimerEndTime": game.map_time + 62}
    game.advance(3)
    balance(game)
    assert not moved(game)
