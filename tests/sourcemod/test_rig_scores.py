"""The scoreboard counts and shows what the game does, when it does (tf_gamestats.cpp, tf_player_resource.cpp)."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.rig.game.scores import points

Script = Callable[..., Plugin]

READER = """
    public void OnPluginStart() { RegServerCmd("look", Command_Look); HookEvent("teamplay_round_win", Event_Win); }
    int Round(int client, const char[] prop)
    {
        int table = FindSendPropInfo("CTFPlayer", "m_RoundScoreData");
        int inside = FindSendPropInfo("CTFPlayer", prop) - FindSendPropInfo("CTFPlayer", "m_ScoreData");
        return GetEntData(client, table + inside);
    }
    void Look(int client)
    {
        int manager = GetPlayerResourceEntity();
        PrintToServer("map %d kills %d damage, round %d kills %d damage, points %d, board %d/%d/%d",
            GetEntProp(client, Prop_Send, "m_iKills"), GetEntProp(client, Prop_Send, "m_iDamageDone"),
            Round(client, "m_iKills"), Round(client, "m_iDamageDone"),
            GetEntProp(manager, Prop_Send, "m_iTotalScore", _, client),
            GetEntProp(manager, Prop_Send, "m_iScore", _, client),
            GetEntProp(manager, Prop_Send, "m_iDeaths", _, client),
            GetEntProp(manager, Prop_Send, "m_iDamage", _, client));
    }
    Action Command_Look(int args) { Look(1); return Plugin_Handled; }
    void Event_Win(Event event, const char[] name, bool silent) { Look(1); }"""


@pytest.fixture
def running(game: Game, script: Script) -> tuple[Player, Player]:
    """A RED and a BLU player in a running round, and a plugin that reads the scores of the first."""
    script(READER)
    game.start_map("koth_harvest_final")
    red, blu = game.add("Ann", "red"), game.add("Bob", "blue")
    play.go_live(game)
    game.sm.console.clear()
    game.history.clear()
    return red, blu


def test_kills_and_damage_are_seen_a_tenth_of_a_second_later_and_the_rounds_damage_within_one(
    game: Game, running: tuple[Player, Player]
) -> None:
    red, blu = running
    play.hurt(game, red, blu, 150)
    play.hurt(game, blu, blu, 20)
    play.kill(game, red, blu)
    assert (red.frags, blu.deaths) == (1, 1)
    assert game.rcon("look") == ["map 0 kills 0 damage, round 0 kills 0 damage, points 0, board 0/0/0"]
    game.advance(0.15)
    assert game.rcon("look")[0].startswith("map 1 kills 180 damage, round 1 kills 180 damage, points 1, board 1/0/")
    game.advance(1)
    assert game.rcon("look")[0].endswith("board 1/0/180")
    assert [fields for _, name, fields in game.history if name == "player_score_changed"] == [
        {"player": red.index, "delta": 1, "silenced": False}
    ]


def test_an_assist_is_counted_and_announced_with_the_kill_and_half_a_point(
    game: Game, running: tuple[Player, Player]
) -> None:
    red, blu = running
    medic = game.add("Cid", "red", "medic")
    for _ in range(2):
        play.kill(game, red, blu, medic)
        game.teams.force_respawn(blu)
    assert [fields["assister"] for _, name, fields in game.history if name == "player_death"] == [medic.userid] * 2
    assert (medic.map_stats["m_iKillAssists"], medic.round_stats["m_iKillAssists"], medic.frags) == (2, 2, 0)
    assert game.teams.scoreboard.total(medic) == 1


def test_the_rounds_scores_are_there_at_the_win_and_gone_in_the_next_freeze(
    game: Game, running: tuple[Player, Player]
) -> None:
    red, blu = running
    play.kill(game, red, blu)
    game.advance(1.2)
    game.rounds.win(RED, 1)
    assert game.sm.console == ["map 1 kills 200 damage, round 1 kills 200 damage, points 1, board 1/0/200"]
    play.next_round(game)
    game.advance(1.2)
    assert game.rcon("look") == ["map 1 kills 200 damage, round 0 kills 0 damage, points 1, board 1/0/0"]


def test_a_restart_clears_the_maps_scores_and_a_change_of_team_none(game: Game, running: tuple[Player, Player]) -> None:
    red, blu = running
    play.kill(game, red, blu)
    game.teams.change(red, BLU)
    game.advance(0.2)
    assert (red.frags, red.deaths, red.suicides) == (1, 1, 1)
    assert game.rcon("look")[0].startswith("map 1 kills 200 damage, round 1")
    game.rcon("mp_restartgame 1")
    game.advance(3)
    assert game.rcon("look") == ["map 0 kills 0 damage, round 0 kills 0 damage, points 0, board 0/0/0"]
    assert (red.frags, red.deaths) == (0, 0)


def test_the_respawn_time_of_the_dead_is_the_wave_that_brings_them_back(
    game: Game, running: tuple[Player, Player]
) -> None:
    _, blu = running
    play.kill(game, None, blu)
    game.advance(0.3)
    manager = game.entities.get(game.entities.after(-1, "tf_player_manager"))
    assert manager is not None
    times = manager.props["m_flNextRespawnTime"]
    assert isinstance(times, list)
    announced = times[blu.index]
    game.until(lambda: blu.alive)
    # Each wave counts from the frame in which the last one was noticed.
    assert game.map_time == pytest.approx(announced, abs=0.1)
    game.advance(0.2)
    assert manager.props["m_flNextRespawnTime"] == [0.0] * (game.slots + 1)


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        ({"m_iKills": 2, "m_iDeaths": 9}, 2),
        ({"m_iCaptures": 2, "m_iDefenses": 3}, 7),
        ({"m_iHeadshots": 3, "m_iBackstabs": 1}, 2),
        ({"m_iKillAssists": 3, "m_iTeleports": 3, "m_iInvulns": 1, "m_iRevenge": 1}, 4),
        ({"m_iHealPoints": 1199, "m_iDamageDone": 1199}, 2),
        ({"m_iDamageAssist": 600, "m_iHealingAssist": 600, "m_iDamageBlocked": 600, "m_iBonusPoints": 19}, 4),
        ({"m_iBuildingsDestroyed": 4, "m_iBuildingsBuilt": 4}, 4),
    ],
)
def test_points_weigh_what_was_done_each_part_rounded_down(stats: dict[str, int], expected: int) -> None:
    assert points(stats) == expected


def test_a_mannpower_capture_is_worth_five_points() -> None:
    assert (points({"m_iCaptures": 2}), points({"m_iCaptures": 2}, powerup=True)) == (4, 10)
