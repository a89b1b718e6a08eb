"""Classes that the game takes away or chooses itself: Highlander, and tf_arena_force_class."""

from __future__ import annotations

from tests.sourcemod.answerer import Daemon, crowd, ids, in_freeze, poll, seat, seconds_of_play, settle
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State

WHY = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}


def scramble(game: Game, daemon: Daemon, red: list[Player], blu: list[Player]) -> None:
    """The daemon makes the teams of the freeze that runs."""
    daemon.order("assign", order="a", reason=WHY, moment="freeze", red=ids(red), blu=ids(blu), bench=[])
    poll(game)
    game.advance(1)


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
    scramble(game, daemon, [soldier, medic], [scout, twin])
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
    daemon.order("assign", order="a", reason=WHY, moment="freeze", red=ids(people[:1]), blu=ids(people[1:2]),
                 bench=ids(people[2:]))  # fmt: skip
    poll(game)
    daemon.once["want"] = ["roster"]
    poll(game)
    settle(game)
    assert all(line.get("ready", True) for line in daemon.events("roster")[-1]["players"])
    assert not any(panel.startswith("class") for player in people for panel in player.panels)


def test_a_class_that_was_chosen_while_waiting_is_given_once(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("arena_well")
    red, blu = crowd(game, 1, 1)
    in_freeze(game)
    waits = game.connect("Waits")
    settle(game)
    play.go_live(game)
    game.join(waits, "red")
    settle(game)
    game.command(waits, "joinclass soldier")
    game.rounds.win(RED, Reason.OPPONENTS_DEAD)
    in_freeze(game)
    scramble(game, daemon, red, [*blu, waits])
    assert (waits.team, waits.current_class) == (BLU, 3)
    waits.patient()
    game.command(waits, "joinclass medic")
    game.advance(0.5)
    assert waits.current_class == 5
    scramble(game, daemon, [*red, waits], blu)
    assert (waits.team, waits.desired_class, waits.current_class) == (RED, 5, 5)
