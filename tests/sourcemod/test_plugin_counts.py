"""What the plugin tells of what players did in a round: kills, deaths, assists, points, and seconds as each class."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sourcemod.answerer import Daemon, Json, Sides, begin, go_live, ids, install, settle, win
from tests.sourcemod.orders import assign
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, CLASSES, RED, Reason
from tests.sourcemod.rig.game.scores import FIRST_OFFSET, SCORE_FIELDS, SCORE_OFFSETS

MOST_BYTES = 256 * 1024
"""That the daemon takes in one batch (docs/protocol.md, `size`)."""


def told(daemon: Daemon, *players: Player) -> list[Json]:
    """What these players did in the last round that was reported."""
    lines = {line["id"]: line["counts"] for line in daemon.events("round_ended")[-1]["players"]}
    return [lines[player] for player in ids(list(players))]


def done(counts: Json) -> tuple[int, ...]:
    return tuple(counts[name] for name in ("kills", "deaths", "assists", "points"))


def about(**seconds: float) -> Any:
    return {name: pytest.approx(value, abs=0.5) for name, value in seconds.items()}


def become(game: Game, player: Player, cls: str) -> None:
    """Change the class in the own spawn room: the player spawns at once."""
    player.in_spawn_room = True
    game.advance(1.1)  # the game takes one such command a second
    game.command(player, f"joinclass {cls}")
    player.in_spawn_room = False


def test_kills_deaths_assists_points_and_suicides_are_those_of_the_scoreboard(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    (ann, eve), (bob, cid) = live
    for _ in range(2):
        play.kill(game, ann, bob, eve)
        game.teams.force_respawn(bob)
    play.feign(game, ann, cid)
    game.command(cid, "kill")
    play.kill(game, bob, bob)  # by a rocket of their own
    game.teams.force_respawn(bob)
    play.kill(game, None, bob)  # by a fall
    game.advance(5)
    win(game)
    counts = told(daemon, ann, eve, bob, cid)
    assert [done(each) for each in counts] == [(2, 0, 0, 2), (0, 0, 2, 1), (0, 3, 0, 0), (0, 0, 0, 0)]
    assert [each["suicides"] for each in counts] == [0, 0, 1, 1]


def test_a_round_counts_from_the_moment_it_went_live(game: Game, daemon: Daemon, live: Sides) -> None:
    (ann, _), (bob, _) = live
    play.kill(game, ann, bob)
    win(game)
    play.kill(game, ann, bob)  # while the win is celebrated
    play.go_live(game)
    game.advance(1)
    play.kill(game, ann, bob)
    win(game)
    assert [done(counts) for counts in told(daemon, ann, bob)] == [(1, 0, 0, 1), (0, 1, 0, 0)]


def test_what_ends_the_round_is_in_it(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    (ann, eve), (bob,) = begin(game, "arena_well", 2, 1)
    game.advance(3)
    play.kill(game, ann, bob, eve)
    settle(game)
    game.until(lambda: game.rounds.won)
    settle(game)
    assert [done(counts) for counts in told(daemon, ann, eve, bob)] == [(1, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 0)]


@pytest.fixture(params=["the map's", "the round's"])
def _found_first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which statistics a lookup by name finds: no source says for sure which table is first."""
    if request.param == "the round's":
        for number, field in enumerate(SCORE_FIELDS, len(SCORE_FIELDS)):
            monkeypatch.setitem(SCORE_OFFSETS, field, FIRST_OFFSET + 4 * number)


@pytest.mark.usefixtures("_found_first")
def test_a_round_of_stages_counts_over_all_of_them_whichever_table_a_name_finds(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    (ann,), (bob,) = begin(game, "cp_dustbowl", 1, 1)
    game.advance(1)
    play.kill(game, ann, bob)
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    play.next_round(game)
    play.go_live(game)
    for _ in range(2):
        play.kill(game, ann, bob)
        game.teams.force_respawn(bob)
    win(game)
    assert [done(counts) for counts in told(daemon, ann, bob)] == [(3, 0, 0, 4), (0, 3, 0, 0)]  # 600 damage: a point


def test_who_changes_side_or_comes_back_keeps_what_they_did(game: Game, daemon: Daemon, live: Sides) -> None:
    (ann, eve), (bob, cid) = live
    play.kill(game, ann, bob)
    game.teams.change(eve, BLU)  # a suicide, as in the game
    play.kill(game, cid, ann)
    game.advance(1.2)
    gone = game.reconnect(ann)
    game.join(gone, "red")
    settle(game)
    game.command(gone, "joinclass soldier")
    game.teams.force_respawn(bob)
    play.kill(game, gone, bob)
    game.advance(0.5)
    leaver = str(bob.steamid)
    game.leave(bob)
    win(game)
    lines = {line["id"]: line for line in daemon.events("round_ended")[-1]["players"]}
    assert done(lines[str(gone.steamid)]["counts"]) == (2, 1, 0, 2)
    assert done(lines[str(eve.steamid)]["counts"]) == (0, 0, 0, 0)
    assert lines[str(eve.steamid)]["counts"]["suicides"] == 1
    assert (lines[leaver]["left"], done(lines[leaver]["counts"])) == (True, (0, 2, 0, 0))


def test_another_plugin_that_resets_a_players_scores_takes_nothing_away(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    (ann, _), (bob, _) = live
    for _ in range(3):
        play.kill(game, ann, bob)
        game.teams.force_respawn(bob)
    game.advance(2)
    game.teams.scoreboard.reset(ann)
    play.kill(game, ann, bob)
    win(game)
    assert [done(counts) for counts in told(daemon, ann, bob)] == [(4, 0, 0, 5), (0, 4, 0, 0)]  # 600 damage: a point


def test_seconds_are_of_the_class_that_was_played_alive_or_dead_and_not_of_those_who_watch(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    (ann, eve), (bob, cid) = live
    game.advance(10)
    become(game, ann, "medic")
    game.join(eve, "spectate")
    play.kill(game, ann, bob)
    game.command(bob, "joinclass heavyweapons")  # they spawn as it
    game.advance(20)
    win(game)
    first, watcher, died, stayed = (counts["classes"] for counts in told(daemon, ann, eve, bob, cid))
    assert first == about(soldier=11.1, medic=20)
    assert watcher == about(soldier=11.1)
    assert set(died) == {"soldier", "heavy"}
    assert sum(died.values()) == pytest.approx(31.1, abs=0.5)
    assert stayed == about(soldier=31.1)
    lines = daemon.events("round_ended")[-1]["players"]
    assert all(sum(line["counts"]["classes"].values()) <= sum(line["seconds"].values()) for line in lines)


def test_a_map_that_ends_right_after_the_win_loses_no_round(game: Game, daemon: Daemon, live: Sides) -> None:
    (ann, _), (bob, _) = live
    play.kill(game, ann, bob)
    game.advance(0.2)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.start_map("cp_gorge")
    settle(game)
    (game_round,) = daemon.events("round_ended")
    lines = {line["id"]: done(line["counts"]) for line in game_round["players"]}
    assert (lines[str(ann.steamid)], lines[str(bob.steamid)]) == ((1, 0, 0, 1), (0, 1, 0, 0))
    assert not any(line["left"] for line in game_round["players"])


def test_a_late_plugin_counts_from_its_load(
    game: Game, daemon: Daemon, equipoise_smx: Path, live: Sides, plugin: Plugin
) -> None:
    (ann, _), (bob, _) = live
    play.kill(game, ann, bob)
    game.advance(1)
    game.unload(plugin)
    game.advance(5)
    install(game, daemon, equipoise_smx)
    game.advance(1)
    game.teams.force_respawn(bob)
    play.kill(game, ann, bob)
    win(game)
    assert [done(counts) for counts in told(daemon, ann, bob)] == [(1, 0, 0, 1), (0, 1, 0, 0)]


def test_a_game_without_these_statistics_has_rounds_without_counts(
    game: Game, daemon: Daemon, equipoise_smx: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(SCORE_OFFSETS, "m_RoundScoreData")
    install(game, daemon, equipoise_smx)
    begin(game, "koth_harvest_final", 1, 1)
    win(game)
    (game_round,) = daemon.events("round_ended")
    assert ["counts" in line for line in game_round["players"]] == [False, False]
    assert [text for _, text in game.sm.log.errors if "statistics are not as the plugin knows them" in text]


def test_a_hundred_players_and_sourcetv_fit_and_four_rounds_of_them_in_every_class_fit_into_a_batch(
    new_game: Callable[..., Game], daemon: Daemon, equipoise_smx: Path
) -> None:
    game = new_game(slots=101)
    install(game, daemon, equipoise_smx)
    game.start_map("koth_harvest_final")
    settle(game)
    game.add_source_tv()
    people = [game.connect(f"P{n}") for n in range(100)]
    settle(game)
    for n, player in enumerate(people):
        game.teams.change(player, RED if n % 2 else BLU)
        game.command(player, "joinclass soldier")
    go_live(game)
    assert people[-1].index == 101
    assert set(ids(people)) <= {line["id"] for line in daemon.events("round_live")[-1]["players"]}
    assign(game, daemon, people[:50], people[50:], moment="now")
    settle(game)
    assert daemon.results() == {"a-1": ""}
    assert [p.team for p in people] == [RED] * 50 + [BLU] * 50
    for cls in (*CLASSES[1:], "soldier"):
        for player in people:
            player.in_spawn_room = True
            game.command(player, f"joinclass {cls}")
        game.advance(1.1)
    for player in people:
        for field in ("m_iKills", "m_iDeaths", "m_iKillAssists"):
            game.teams.scoreboard.count(player, field, 1000)
    assert all(len(batch["events"]) <= 256 for batch in daemon.batches)
    daemon.forget()
    game.rcon("equipoise_poll")
    win(game)
    sizes = {kind: len(json.dumps(daemon.events(kind), separators=(",", ":"))) for kind in set(daemon.kinds())}
    (game_round,) = daemon.events("round_ended")
    assert [len(line["counts"]["classes"]) for line in game_round["players"]] == [9] * 100
    everything = 4 * sizes.pop("round_ended") + sum(sizes.values())
    assert everything < MOST_BYTES * 0.8
