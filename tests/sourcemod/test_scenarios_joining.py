"""Scenarios 31 and 32, and `jointeam` and changes of team case by case, as the game's source has them."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, GHOST, KART, RED, SPECTATOR, UNASSIGNED, State
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.scenarios import Script, running

LISTENER = """
    public void OnPluginStart()
    {
        char names[][] = { "jointeam", "spectate", "autoteam", "joinclass", "closedwelcomemenu", "team_ui_setup" };
        for (int i = 0; i < sizeof(names); i++)
        {
            AddCommandListener(Listen, names[i]);
        }
    }
    Action Listen(int client, const char[] command, int args) { PrintToServer(command); return Plugin_Continue; }"""


def team_events(game: Game) -> list[tuple[object, object, object]]:
    return [
        (fields["oldteam"], fields["team"], fields["autoteam"])
        for _, name, fields in game.history
        if name == "player_team"
    ]


# 31: ClientCommand and HandleCommand_JoinTeam.


@pytest.mark.parametrize(
    ("word", "team"),
    [
        ("red", RED),
        ("BLUE", BLU),
        ("blu", RED),
        ("2", RED),
        ("any", RED),
        ("foo", RED),
        ("spectate", SPECTATOR),
        ("Spectator", SPECTATOR),
        ("spectatearena", SPECTATOR),
        ("unassigned", UNASSIGNED),
    ],
)
def test_scenario_31_the_words_of_jointeam_name_a_team_and_all_others_are_red(game: Game, word: str, team: int) -> None:
    game.start_map("koth_harvest_final")
    player = game.connect("Ann")
    game.command(player, f"jointeam {word}")
    assert player.team == team
    assert team_events(game) == ([(UNASSIGNED, team, False)] if team else [])


def test_scenario_31_a_second_jointeam_within_two_seconds_is_ignored_and_needs_no_word_to_count(game: Game) -> None:
    game.start_map("koth_harvest_final")
    player = game.connect("Ann")
    game.command(player, "jointeam")
    game.command(player, "jointeam blue")
    assert player.team == UNASSIGNED
    game.advance(1.9)
    game.command(player, "jointeam blue")
    assert player.team == UNASSIGNED
    game.advance(0.2)
    game.command(player, "jointeam blue")
    game.command(player, "spectate")
    assert player.team == SPECTATOR


def test_scenario_31_a_side_that_would_lead_by_more_than_the_limit_is_refused_with_the_team_menu(game: Game) -> None:
    running(game, "blue", "blue", "blue", "red", "red")
    player = game.connect("Ann")
    game.join(player, "blue")
    assert (player.team, player.panels) == (UNASSIGNED, ["team"])
    game.command(player, "autoteam")
    assert (player.team, player.panels) == (RED, ["team", "class_red"])
    assert team_events(game) == [(UNASSIGNED, RED, True)]


@pytest.mark.parametrize(("limit", "tournament", "joins"), [("1", "0", False), ("0", "0", True), ("1", "1", True)])
def test_scenario_31_nothing_is_refused_without_a_limit_or_in_a_tournament(
    game: Game, limit: str, tournament: str, *, joins: bool
) -> None:
    player, *_ = running(game, "red", "blue")
    game.sm.convars["mp_teams_unbalance_limit"].set(limit)
    game.sm.convars["mp_tournament"].set(tournament)
    game.join(player, "blue")
    assert (player.team == BLU) == joins


def test_scenario_31_nobody_joins_when_the_map_is_over(game: Game) -> None:
    game.sm.convars["mp_maxrounds"].set("1")
    running(game, "red", "blue")
    game.rounds.win(RED, 1)
    game.until(lambda: game.rounds.state == State.GAME_OVER)
    player = game.connect("Ann")
    game.join(player, "red", "scout")
    assert (player.team, player.desired_class) == (UNASSIGNED, 0)


def test_scenario_31_autoteam_counts_the_asker_where_they_are(game: Game) -> None:
    asker, *_ = running(game, "red", "blue", "blue")
    game.command(asker, "autoteam")
    assert (asker.team, asker.deaths) == (RED, 0)
    other = running(game, "red", "red", "blue")[0]
    game.advance(1)
    game.command(other, "autoteam")
    assert (other.team, other.deaths) == (BLU, 1)


@pytest.mark.parametrize(
    ("map_name", "teams"), [("pl_upward", {BLU}), ("cp_gorge", {BLU}), ("cp_badlands", {RED, BLU})]
)
def test_scenario_31_even_sides_give_the_attackers_and_elsewhere_either(
    game: Game, map_name: str, teams: set[int]
) -> None:
    game.start_map(map_name)
    given = set()
    for number in range(20):
        player = game.connect(f"player {number}")
        game.command(player, "autoteam")
        given.add(player.team)
        game.leave(player)
    assert given == teams


@pytest.mark.parametrize(
    ("mode", "by_quota", "team"), [("fill", True, RED), ("fill", False, BLU), ("normal", True, BLU)]
)
def test_bots_of_a_quota_that_fills_make_room_on_the_side_with_fewer_people(
    game: Game, mode: str, team: int, *, by_quota: bool
) -> None:
    # CTFPlayer::GetAutoTeam, CTFBotManager::RemoveBotFromTeamAndKick: of a bot added by hand nothing is known.
    game.sm.convars["tf_bot_quota"].set("4")
    game.sm.convars["tf_bot_quota_mode"].set(mode)
    running(game, "blue")
    dead, *bots = (game.add_bot(f"bot {number}", RED, by_quota=by_quota) for number in range(2))
    play.kill(game, None, dead)
    asker = game.connect("asker")
    game.command(asker, "autoteam")
    game.frame()
    assert asker.team == team
    assert [bot.in_game for bot in (dead, *bots)] == [team == BLU, True]


# 32: ShouldForceAutoTeam.


@pytest.mark.parametrize(("forced", "autos"), [("1", [(UNASSIGNED, RED, True)]), ("0", [])])
def test_scenario_32_a_forced_team_comes_with_the_closed_welcome_screen_and_without_a_jointeam(
    game: Game, script: Script, forced: str, autos: list[tuple[int, int, bool]]
) -> None:
    script(LISTENER)
    running(game, "blue")
    game.sm.convars["mp_forceautoteam"].set(forced)
    player = game.connect("Ann")
    game.sm.console.clear()
    game.command(player, "closedwelcomemenu")
    assert team_events(game) == autos
    assert game.sm.console == ["closedwelcomemenu"]
    assert player.panels == (["class_red"] if autos else ["team"])


def test_scenario_32_team_ui_setup_forces_a_team_on_those_who_have_one(game: Game) -> None:
    player, *_ = running(game, "red", "red", "blue")
    game.sm.convars["mp_forceautoteam"].set("1")
    game.command(player, "team_ui_setup")
    assert (player.team, player.deaths, team_events(game)) == (BLU, 1, [(RED, BLU, True)])


# HandleCommand_JoinTeam, case by case.


@pytest.mark.parametrize(
    ("human_team", "word", "team"),
    [("blue", "red", BLU), ("red", "auto", RED), ("spectator", "red", SPECTATOR), ("blue", "spectate", SPECTATOR),
     ("any", "red", RED)],
)  # fmt: skip
def test_humans_join_the_team_they_must_and_may_always_watch(game: Game, human_team: str, word: str, team: int) -> None:
    game.start_map("koth_harvest_final")
    game.sm.convars["mp_humans_must_join_team"].set(human_team)
    player = game.connect("Ann")
    game.command(player, f"jointeam {word}")
    assert (player.team, team_events(game)[0][2]) == (team, human_team in ("red", "blue") and word != "spectate")


@pytest.mark.parametrize(
    ("convar", "sides", "map_name", "watches"),
    [
        (("mp_allowspectators", "0"), ("red", "blue"), "koth_harvest_final", False),
        (("mp_allowspectators", "0"), ("red", "blue"), "arena_well", True),
        (("mp_allowspectators", "1"), ("red", "blue"), "koth_harvest_final", True),
        (("mp_spectators_restricted", "1"), ("red", "blue", "blue"), "koth_harvest_final", False),
        (("mp_spectators_restricted", "1"), ("red", "blue"), "koth_harvest_final", True),
    ],
)
def test_the_spectators_variables_keep_players_on_their_side(
    game: Game, convar: tuple[str, str], sides: tuple[str, ...], map_name: str, *, watches: bool
) -> None:
    player, *_ = running(game, *sides, map_name=map_name)
    name, value = convar
    game.sm.convars[name].set(value)
    game.command(player, "spectate")
    assert (player.team == SPECTATOR, player.deaths) == (watches, int(watches))


def test_highlander_has_one_of_each_class_and_a_change_of_side_costs_life_and_class(game: Game) -> None:
    first, _, other = running(game, "red", "blue", "blue")
    game.sm.convars["mp_highlander"].set("1")
    late = game.connect("late")
    game.join(late, "red", "soldier")
    assert (late.team, late.desired_class, late.panels[-1]) == (RED, 0, "class_red")
    game.sm.convars["mp_teams_unbalance_limit"].set("0")
    game.teams.change(other, RED)
    assert (other.deaths, other.desired_class, other.current_class) == (1, 0, 0)
    game.teams.force_change(first, BLU)
    assert (first.deaths, first.desired_class) == (1, 0)


def test_the_ninth_highlander_fills_a_side(game: Game) -> None:
    game.start_map("koth_harvest_final")
    game.sm.convars["mp_highlander"].set("1")
    game.sm.convars["mp_teams_unbalance_limit"].set("0")
    for number in range(9):
        game.join(game.connect(f"player {number}"), "red")
    tenth = game.connect("tenth")
    game.join(tenth, "red")
    assert (tenth.team, tenth.panels) == (UNASSIGNED, ["team"])


def test_players_in_hell_and_in_mannpower_cannot_join_the_other_team(game: Game) -> None:
    player, *_ = running(game, "red", "blue", map_name="ctf_foundry")
    game.join(player, "spectate")
    assert player.team == RED
    player, *_ = running(game, "red", "blue")
    game.rules.props |= {"m_bHelltowerPlayersInHell": 1, "m_halloweenScenario": 4}
    game.join(player, "spectate")
    game.teams.change(player, BLU)
    assert (player.team, team_events(game)) == (RED, [])


def test_mann_vs_machine_sends_humans_to_the_six_defenders_or_to_watch(game: Game) -> None:
    game.start_map("mvm_coaltown")
    humans = [game.connect(f"player {number}") for number in range(7)]
    for human in humans:
        game.join(human, "blue")
    assert [human.team for human in humans] == [RED] * 6 + [SPECTATOR]


# ChangeTeam and ForceChangeTeam, row by row: what each keeps of somebody who carries, builds, lives.


def change(game: Game, player: Player, team: int) -> None:
    game.teams.change(player, team)


def force(game: Game, player: Player, team: int) -> None:
    game.teams.force_change(player, team)


@pytest.mark.parametrize(
    ("move", "team", "lives", "keeps_flag", "keeps_conditions", "silent"),
    [
        (change, BLU, False, False, False, False),
        (change, SPECTATOR, False, True, False, False),
        (force, BLU, True, False, True, True),
        (force, SPECTATOR, False, False, True, True),
    ],
)
def test_what_a_change_of_team_leaves_to_the_living(
    game: Game, move: Callable[[Game, Player, int], None], team: int, *, lives: bool, keeps_flag: bool,
    keeps_conditions: bool, silent: bool,
) -> None:  # fmt: skip
    player, *_ = running(game, "red", "blue", map_name="ctf_2fort")
    play.pick_up_flag(game, player)
    player.set_condition(5, True)
    move(game, player, team)
    silenced = [fields["silent"] for _, name, fields in game.history if name == "player_team"]
    died = bool(game.events("player_death"))
    assert (player.team, player.alive, silenced, died) == (team, lives, [silent], move is change and team == BLU)
    assert (player.props["m_hItem"] != -1, player.has_condition(5)) == (keeps_flag, keeps_conditions)


@pytest.mark.parametrize(
    ("state", "changes", "is_forced"),
    [
        ("none", True, True),
        ("duel", True, False),
        ("coach", False, False),
        ("ghost", False, True),
        ("kart", False, True),
    ],
)
def test_who_is_not_moved_to_another_side(game: Game, state: str, *, changes: bool, is_forced: bool) -> None:
    for move, moves in ((change, changes), (force, is_forced)):
        player, student, *_ = running(game, "red", "blue")
        player.duel = state == "duel"
        player.coaching = state == "coach"
        player.props["m_hStudent"] = student.index if player.coaching else -1
        player.set_condition({"ghost": GHOST, "kart": KART}.get(state, 0), state in ("ghost", "kart"))
        move(game, player, BLU)
        assert (player.team == BLU, bool(team_events(game))) == (moves, moves), move.__name__


def test_a_team_that_does_not_exist_takes_no_player(game: Game) -> None:
    player, *_ = running(game, "red", "blue")
    for move in (change, force):
        move(game, player, 4)
    assert (player.team, game.history) == (RED, [])


def test_a_move_to_the_side_that_is_too_small_spawns_with_the_next_class_choice_only(game: Game) -> None:
    moved, *_ = running(game, "red", "red", "red", "blue")
    game.teams.change(moved, BLU)
    game.advance(0.1)
    assert not moved.alive
    game.advance(0.5)
    game.command(moved, "joinclass pyro")
    assert moved.alive
    play.kill(game, None, moved)
    game.advance(1)
    game.command(moved, "joinclass medic")
    assert not moved.alive


def test_a_move_from_the_spectators_to_the_side_that_is_too_small_grants_no_spawn(game: Game) -> None:
    moved, *_ = running(game, "red", "red", "red", "red", "blue")
    play.kill(game, None, moved)
    for team in (SPECTATOR, BLU):
        game.teams.change(moved, team)
    game.command(moved, "joinclass pyro")
    assert (moved.desired_class, moved.alive) == (7, False)


def test_a_move_between_sides_within_the_limit_grants_no_spawn(game: Game) -> None:
    moved, *_ = running(game, "red", "red", "blue")
    game.teams.change(moved, BLU)
    game.advance(1)
    game.command(moved, "joinclass pyro")
    assert not moved.alive
