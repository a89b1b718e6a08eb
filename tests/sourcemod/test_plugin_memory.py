"""What outlives the plugin, and the server: the rounds that the daemon has not stored, and the round that runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.answerer import (
    Daemon,
    Json,
    Sides,
    begin,
    complaints,
    crowd,
    ids,
    in_freeze,
    install,
    obliging,
    play_round,
    poll,
    rounds_of_all,
    seconds_of_play,
    settle,
    win,
)
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State


def file_of(game: Game, server: str = "test-1") -> Path:
    """Where the plugin of this server keeps what outlives it."""
    return game.sm.root / "data" / f"equipoise-{server}.json"


def kept(game: Game) -> Json:
    """What is in the file."""
    content: Json = json.loads(file_of(game).read_text())
    return content


def back(game: Game, daemon: Daemon, smx: Path, new_game: Callable[..., Game]) -> Game:
    """The server's process was killed; it starts again, from the same folder."""
    for plugin in game.sm.plugins:
        plugin.failed = True  # a killed process calls nobody
    daemon.answers["side_wanted"] = obliging
    again = new_game(folder=game.sm.root.parent.parent)
    again.now = game.now
    install(again, daemon, smx)
    return again


def test_the_running_round_goes_on(game: Game, daemon: Daemon, plugin: Plugin, live: Sides) -> None:
    """With its id, its beginning, its lineup, who was there, and what they did."""
    (ann, leaver), (bob, _) = live
    play.kill(game, ann, bob)
    game.advance(10)
    game.leave(leaver)
    game.teams.force_respawn(bob)
    game.advance(1)
    plugin = game.reload(plugin)
    game.advance(10)
    play.kill(game, ann, bob)
    game.advance(1)
    game.reload(plugin)
    game.advance(0.3)
    win(game)
    (game_round,) = daemon.events("round_ended")
    assert (game_round["partial"], game_round["seconds"]) == (False, pytest.approx(22.5, abs=1.0))
    assert {seat["id"] for seat in game_round["lineup"]} == set(ids([*live[0], *live[1]]))
    lines = {line["id"]: line for line in game_round["players"]}
    assert lines[str(ann.steamid)]["counts"]["kills"] == 2
    assert lines[str(bob.steamid)]["counts"]["deaths"] == 2
    assert lines[str(ann.steamid)]["fought"]
    assert lines[str(leaver.steamid)]["left"]
    assert lines[str(ann.steamid)]["seconds"]["red"] == pytest.approx(game_round["seconds"], abs=0.1)


def test_a_batch_whose_answer_is_lost_by_the_reload_is_sent_again_as_it_was(
    game: Game, daemon: Daemon, plugin: Plugin, live: Sides
) -> None:
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.sm.http.held = True
    game.until(lambda: game.sm.http.flying and "round_ended" in game.sm.http.sent[-1].body, within=2)
    game.frame()
    game.reload(plugin)
    game.sm.http.held = False
    settle(game)
    first, again = [batch for batch in daemon.batches if any(e["kind"] == "round_ended" for e in batch["events"])]
    assert again == first
    assert daemon.batches[-1]["seq"] > first["seq"]
    assert {batch["boot"] for batch in daemon.batches} == {first["boot"]}


@pytest.mark.parametrize("late", [0.0, 0.05], ids=["in the win", "before the statistics are read"])
def test_a_round_that_was_just_won_is_reported_with_its_last_moment(
    game: Game, daemon: Daemon, plugin: Plugin, live: Sides, late: float
) -> None:
    (ann, _), (bob, _) = live
    game.advance(1)
    play.kill(game, ann, bob)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    if late:
        game.advance(late)
    game.reload(plugin)
    settle(game)
    (game_round,) = daemon.events("round_ended")
    assert next(line["counts"]["kills"] for line in game_round["players"] if line["id"] == str(ann.steamid)) == 1


def test_a_second_reload_at_once_loses_nothing(game: Game, daemon: Daemon, plugin: Plugin, live: Sides) -> None:
    """The plugin between the two has not read the file: its server's configuration was not executed."""
    game.reload(game.reload(plugin))
    game.advance(1)
    win(game)
    (game_round,) = daemon.events("round_ended")
    assert not game_round["partial"]


def test_a_change_of_map_right_after_a_reload_loses_no_round_and_goes_on_with_none(
    game: Game, daemon: Daemon, plugin: Plugin, live: Sides
) -> None:
    game.sm.http.offline = True
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    play.go_live(game)
    game.reload(plugin)
    game.start_map("cp_badlands")
    game.sm.http.offline = False
    daemon.forget()
    seconds_of_play(game, 12)
    assert len(rounds_of_all(daemon)) == 1
    daemon.answers["side_wanted"] = obliging
    crowd(game, 1, 1)
    play_round(game)
    (_, second) = daemon.events("round_ended")
    assert (second["map"], second["partial"]) == ("cp_badlands", False)


def test_who_is_back_on_another_map_begins_anew(
    game: Game, daemon: Daemon, plugin: Plugin, koth: Plugin, equipoise_smx: Path
) -> None:
    """Within a moment, and at a later tick than the one in which it ended."""
    before = daemon.events("hello")[-1]
    game.unload(plugin)
    game.start_map("cp_badlands")
    game.advance(2.0 - game.map_time)
    game.load(equipoise_smx)
    settle(game)
    settle(game)
    hello = daemon.events("hello")[-1]
    assert (hello["map"], hello["late"]) == ("cp_badlands", True)
    assert hello["session"].split("-")[0] != before["session"].split("-")[0]


def test_who_is_away_for_long_begins_anew_and_says_what_is_given_up(
    game: Game, daemon: Daemon, plugin: Plugin, equipoise_smx: Path, live: Sides
) -> None:
    boot = kept(game)["boot"]
    game.unload(plugin)
    game.advance(5)
    install(game, daemon, equipoise_smx)
    daemon.forget()
    game.advance(1)
    win(game)
    (game_round,) = daemon.events("round_ended")
    assert game_round["partial"]
    assert daemon.events("hello")[0]["late"]
    assert daemon.batches[0]["boot"] != boot
    assert [text for _, text in game.sm.log.messages if "given up" in text] == [
        f"Round {boot}-1 is given up: its end was not seen."
    ]


def test_a_round_that_was_begun_anew_while_the_plugin_was_away_is_not_the_same(
    game: Game, daemon: Daemon, plugin: Plugin, equipoise_smx: Path, live: Sides
) -> None:
    game.rcon("mp_restartgame_immediate 1")
    game.unload(plugin)
    game.until(lambda: game.rounds.state is State.PREROUND, within=2)
    install(game, daemon, equipoise_smx)
    settle(game)
    daemon.forget()
    play_round(game)
    (live_event,) = daemon.events("round_live")
    (game_round,) = daemon.events("round_ended")
    assert live_event["round"] == game_round["round"]
    assert game_round["round"].endswith("-2")


def test_who_leaves_while_the_plugin_is_away_has_left_the_round(
    game: Game, daemon: Daemon, plugin: Plugin, equipoise_smx: Path, live: Sides
) -> None:
    """SourceMod tells an unloaded plugin nothing: loaded again in time to go on, it has to see who is gone."""
    game.advance(5)
    game.unload(plugin)
    game.leave(live[0][1])
    game.advance(1)
    install(game, daemon, equipoise_smx)
    game.advance(20)
    win(game)
    (game_round,) = daemon.events("round_ended")
    assert not game_round["partial"]
    lines = {line["id"]: line for line in game_round["players"]}
    assert [lines[player]["left"] for player in ids([*live[0], *live[1]])] == [False, True, False, False]
    assert lines[str(live[0][1].steamid)]["seconds"]["red"] == pytest.approx(6, abs=1.5)


def test_of_a_state_that_cannot_be_read_to_its_end_nothing_holds(
    game: Game, daemon: Daemon, plugin: Plugin, equipoise_smx: Path, live: Sides
) -> None:
    """A move that was read before the damage is not carried out: the daemon has forgotten it, too."""
    (mover, _), (locked, _) = live
    daemon.order("move", order="o1", reason=None, id=str(mover.steamid), side="blu", deadline=3.0)
    daemon.order("lock", id=str(locked.steamid), side="blu", seconds=0.0)
    poll(game)
    game.unload(plugin)
    content = kept(game)
    del content["state"]["seq"]
    file_of(game).write_text(json.dumps(content))
    install(game, daemon, equipoise_smx)
    daemon.answers["side_wanted"] = obliging
    seconds_of_play(game, 6)
    assert mover.team == RED
    game.join(locked, "red")
    settle(game)
    assert locked.team == RED
    assert daemon.results() == {}
    assert game.sm.log.take_faults() != []


@pytest.fixture
def killed(
    game: Game, daemon: Daemon, plugin: Plugin, equipoise_smx: Path, live: Sides, new_game: Callable[..., Game]
) -> Callable[[], Game]:
    """A server with a round that waits and one that runs; its process is killed, and starts anew when it is called."""
    game.sm.http.offline = True
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.until(lambda: game.rounds.state is State.PREROUND, within=30)
    play.go_live(game)
    seconds_of_play(game, 6)
    return lambda: back(game, daemon, equipoise_smx, new_game)


def cut(text: str) -> str:
    return text[: len(text) * 6 // 10]


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        lambda text: "",
        lambda text: "\0" * 4096,
        lambda text: text[:512] + "\0" * 512 + text[1024:],
        lambda text: "[]",
        lambda text: text.replace('"test-1"', '"test-2"'),
        lambda text: text.replace('"round_ended"', '"round_live"'),
    ],
    ids=["cut", "empty", "zeros", "a lost sector", "a list", "of another server", "of other events"],
)
def test_a_file_that_cannot_be_read_is_set_aside_and_said_once(
    killed: Callable[[], Game], game: Game, daemon: Daemon, damage: Callable[[str], str]
) -> None:
    text = damage(file_of(game).read_text())
    file_of(game).write_text(text)
    again = killed()
    again.start_map("koth_harvest_final")
    crowd(again, 1, 1)
    play_round(again)
    again.start_map("cp_badlands")
    settle(again)
    (said,) = complaints(again)
    (aside,) = file_of(again).parent.glob("*.damaged-*")
    assert said.startswith("Rounds may be lost: ")
    assert aside.name in said
    assert aside.read_text() == text
    assert len(again.sm.log.take_faults()) == 1  # SourceMod's own line about the error
    assert not daemon.events("round_ended")[-1]["partial"]


def as_it_was(file: Path) -> None:
    """Leave the file alone."""


def of_another_version(file: Path) -> None:
    content = json.loads(file.read_text()) | {"format": 99, "running": {"round": "x-1", "lineup": {}}, "state": 7}
    file.write_text(json.dumps(content))


def between_two_steps(file: Path) -> None:
    """On a Windows whose SourceMod does not replace files, the old one is gone before the new one has its name."""
    file.rename(f"{file}.new")


def beside_a_cut_one(file: Path) -> None:
    Path(f"{file}.new").write_text(cut(file.read_text()))


@pytest.mark.parametrize("change", [as_it_was, of_another_version, between_two_steps, beside_a_cut_one])
def test_a_killed_server_has_its_rounds_and_says_which_is_given_up(
    killed: Callable[[], Game], game: Game, daemon: Daemon, change: Callable[[Path], None]
) -> None:
    boot = kept(game)["boot"]
    change(file_of(game))
    again = killed()
    daemon.forget()
    again.start_map("koth_harvest_final")
    settle(again)
    assert rounds_of_all(daemon) == [f"{boot}-1"]
    assert daemon.batches[0]["boot"] != boot
    assert complaints(again) == []
    ran = "x-1" if change is of_another_version else f"{boot}-2"
    assert [text for _, text in again.sm.log.messages if "given up" in text] == [
        f"Round {ran} is given up: its end was not seen."
    ]


def test_rounds_that_a_kill_left_come_before_all_that_happens_after_it_though_the_new_clock_says_otherwise(
    killed: Callable[[], Game], game: Game, daemon: Daemon
) -> None:
    content = kept(game)
    content["rounds"][0]["at"] += 86_400.0  # of a process that had run for a day
    file_of(game).write_text(json.dumps(content))
    again = killed()
    again.sm.http.offline = True
    begin(again, "cp_gorge", 1, 1)
    again.rounds.win(RED, Reason.DEFENDED)
    in_freeze(again)
    daemon.forget()
    again.sm.http.offline = False
    seconds_of_play(again, 8)
    assert daemon.kinds()[:4] == ["hello", "round_ended", "round_ended", "sides_switched"]


def test_what_a_kill_left_half_written_is_not_written_into(game: Game, daemon: Daemon, koth: Plugin) -> None:
    """Of two writes into one file a power loss may leave parts of each, which may be JSON, and no round that was."""
    left, same = Path(f"{file_of(game)}.new"), file_of(game).with_name("same")
    left.write_text("half a fi")
    same.hardlink_to(left)
    crowd(game, 1, 1)
    play_round(game)
    assert (left.exists(), same.read_text()) == (False, "half a fi")


def test_a_rename_that_does_not_replace_is_made_up_for(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.sm.replaces = False
    game.start_map("koth_harvest_final")
    crowd(game, 1, 1)
    game.sm.http.offline = True
    for number in (1, 2):
        play_round(game)
        assert len(kept(game)["rounds"]) == number
    assert complaints(game) == [
        "The daemon does not answer (Failed to connect to 127.0.0.1 port "
        f"{daemon.port}: Connection refused): the game goes on with the splits it gave last."
    ]


def test_a_file_that_cannot_be_written_is_said_once(game: Game, daemon: Daemon, koth: Plugin) -> None:
    crowd(game, 1, 1)
    (game.sm.root / "data").rename(game.sm.root / "elsewhere")
    for _ in range(2):
        play_round(game)
    (said,) = complaints(game)
    assert "equipoise-test-1.json cannot be written" in said
    assert len(daemon.events("round_ended")) == 2


def test_two_servers_of_one_folder_have_a_file_each(
    game: Game, daemon: Daemon, equipoise_smx: Path, live: Sides
) -> None:
    game.sm.convars["equipoise_server"].set("../eu/2 äß")
    win(game)
    assert kept(game)["server"] == "test-1"
    names = {path.name for path in (game.sm.root / "data").iterdir()}
    assert names == {"equipoise-test-1.json", "equipoise-___eu_2_____.json"}


def test_an_idle_server_does_not_write_at_every_poll(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("koth_harvest_final")
    seconds_of_play(game, 6)
    file_of(game).unlink()
    seconds_of_play(game, 20)
    assert not file_of(game).exists()


def test_the_file_has_the_running_round_before_it_is_told(game: Game, daemon: Daemon, live: Sides) -> None:
    held: list[Json] = []
    daemon.answers["side_changed"] = lambda event: held.append(kept(game)) or []  # type: ignore[func-returns-value]
    game.join(live[0][0], "spectate")
    settle(game)
    (content,) = held
    assert content["running"]["round"] == f"{content['boot']}-1"
    assert len(content["running"]["lineup"]) == len(content["running"]["rows"]) == 4


def test_players_who_asked_for_a_side_get_their_answer_after_the_reload(
    game: Game, daemon: Daemon, plugin: Plugin, live: Sides
) -> None:
    """Theirs, and a move that was ordered; a vote ends."""
    mover = live[0][0]
    why = {"phrase": "Equipoise_ReasonGap", "args": ["3", "1"]}
    daemon.order("move", order="o1", reason=why, id=str(mover.steamid), side="blu", deadline=3.0)
    daemon.order("vote", order="o2", seconds=20.0)
    daemon.order("lock", id=str(live[1][0].steamid), side="blu", seconds=0.0)
    poll(game)
    joiner = game.connect("Joiner")
    settle(game)
    game.sm.http.held = True
    game.join(joiner, "red")
    game.frame()
    game.reload(plugin)
    game.sm.http.held = False
    settle(game)
    assert daemon.results()["o2"] == "cancelled"
    game.advance(2.5)
    assert joiner.team == RED
    game.advance(1.5)
    settle(game)
    assert mover.team == BLU
    assert daemon.results()["o1"] == ""
    game.advance(2.5)
    game.join(live[1][0], "red")
    game.advance(2.5)
    assert live[1][0].team == BLU
    assert "stay there until the next scramble" in live[1][0].chat[-1]
