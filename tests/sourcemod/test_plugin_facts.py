"""What the plugin tells the daemon of a match, mode by mode."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.core.events import RoundEnded
from equipoise.wire import decode_batch
from tests.sourcemod.answerer import Daemon, Json, begin, ended, frozen, go_live, ids, in_freeze, install, settle, win
from tests.sourcemod.rig import Game, Plugin, facts, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State


def test_a_batch_says_who_sends_it_and_a_new_map_is_introduced_with_its_own_session(
    game: Game, daemon: Daemon, plugin: Plugin, koth: Plugin
) -> None:
    (batch,), (headers,) = daemon.batches, daemon.headers
    assert (batch["v"], batch["server"], batch["seq"], batch["dropped"]) == (1, "test-1", 1, 0)
    assert batch["boot"] // 1_000_000 == pytest.approx(game.epoch + 100, abs=5)
    assert headers["Authorization"] == "Bearer hunter2"
    assert headers["Content-Type"] == "application/json"
    assert headers["path"] == "/v1/events"
    game.start_map("cp_gorge")
    settle(game)
    first, second = daemon.events("hello")
    assert (first["map"], second["map"]) == ("koth_harvest_final", "cp_gorge")
    assert (first["plugin"], first["game"], first["slots"]) == (plugin.info["version"], "tf2", 24)
    assert first["session"] != second["session"]
    assert (first["late"], first["phase"]) == (False, "idle")


@pytest.mark.parametrize(
    ("map_name", "expected"),
    [
        ("arena_well", {"game_type": 4}),
        ("cp_gorge", {"game_type": 2, "attack_defend": True}),
        ("cp_dustbowl", {"game_type": 2, "attack_defend": True}),
        ("pl_upward", {"game_type": 3}),
        ("koth_harvest_final", {"game_type": 2, "koth": True}),
        ("cp_badlands", {"game_type": 2}),
        ("ctf_2fort", {"game_type": 1}),
        ("plr_hightower", {"game_type": 3, "multiple_trains": True}),
        ("sd_doomsday", {"game_type": 0}),
    ],
)
def test_a_map_is_described_by_facts(game: Game, daemon: Daemon, plugin: Plugin, map_name: str, expected: Json) -> None:
    game.start_map(map_name)
    settle(game)
    nothing = {"game_type": 0, "koth": False, "multiple_trains": False, "attack_defend": False}
    assert daemon.events("hello")[0]["facts"] == nothing | expected


def test_a_round_is_reported_whole_and_in_order(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, blu = begin(game, "koth_harvest_final", 4, 2)
    play.hurt(game, red[0], blu[0])
    play.heal(game, blu[1], blu[0])
    play.hurt(game, None, red[1])  # by a fall
    play.heal(game, red[2], red[2])  # no fighting
    game.advance(30)  # the hill is locked for the first 25
    play.capture(game, RED, 0, red[0])
    win(game)
    order = ["waiting_ended", "round_started", "round_live", "round_ended"]
    assert [kind for kind in daemon.kinds() if kind in order] == order
    game_round = ended(daemon)
    assert game_round["round"] == daemon.events("round_live")[0]["round"]
    assert game_round["winner"] == "red"
    assert game_round["captures"] == {"red": 1, "blu": 0}
    assert game_round["seconds"] == pytest.approx(30, abs=0.2)
    assert not game_round["partial"]
    assert not game_round["waiting"]
    assert [seat["id"] for seat in game_round["lineup"] if seat["side"] == "red"] == ids(red)
    lines = {line["id"]: line for line in game_round["players"]}
    assert {player for player, line in lines.items() if line["fought"]} == {*ids(red[:2]), *ids(blu)}
    assert lines[ids(red)[2]]["seconds"] == {"red": pytest.approx(30, abs=0.2), "blu": 0}
    assert lines[ids(red)[2]]["side"] == "red"
    assert not lines[ids(red)[2]]["left"]
    assert game_round["map"] == "koth_harvest_final"
    assert game_round["facts"]["koth"]
    assert game_round["started_at"] == pytest.approx(game.epoch + game.now - 30, abs=2)


def test_a_round_goes_live_when_setup_ends_and_damage_before_counts_for_nothing(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = frozen(game, "cp_gorge", 1, 1)
    game.until(lambda: game.rounds.live)
    play.hurt(game, red[0], blu[0])
    settle(game)
    assert not daemon.events("round_live")
    go_live(game)
    assert len(daemon.events("round_live")) == 1
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    assert not any(line["fought"] for line in ended(daemon)["players"])


def test_a_stage_is_no_round_and_captures_add_up(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    _, blu = begin(game, "cp_dustbowl", 1, 1)
    play.capture(game, BLU, 0, blu[0])
    play.capture(game, BLU, 1, blu[0])
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    play.next_round(game)
    play.go_live(game)
    play.capture(game, BLU, 2, blu[0])
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    assert ended(daemon)["captures"] == {"red": 0, "blu": 3}
    assert len(daemon.events("round_live")) == 1
    assert len(daemon.events("round_started")) == 1


def test_a_point_without_a_name_is_counted_by_the_engine(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "cp_gorge", 1, 1)
    game.rounds.caps[BLU] = 1
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    assert ended(daemon)["captures"] == {"red": 0, "blu": 1}


def test_flags_are_captures(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    _, blu = begin(game, "ctf_2fort", 1, 1)
    for _ in range(3):
        play.capture_flag(game, blu[0])
    game.advance(1.1)  # the limit is looked at once a second
    settle(game)
    assert ended(daemon)["captures"] == {"red": 0, "blu": 3}
    assert ended(daemon)["winner"] == "blu"


def test_a_stalemate_has_no_winner(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "cp_badlands", 1, 1)
    game.rounds.stalemate()
    settle(game)
    assert ended(daemon)["winner"] == "none"


def test_a_map_stays_attack_and_defend_when_a_round_begins_with_points_that_were_captured(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """`mp_restartround` resets no points; only a full reset shows whose they are at the start."""
    begin(game, "cp_custom", 2, 2, facts.Mode(2, owners=(RED, RED), length=300))
    assert daemon.events("hello")[0]["facts"]["attack_defend"]
    play.capture(game, BLU, 0)
    game.rcon("mp_restartround 1")
    game.until(lambda: game.rounds.state is State.PREROUND)
    assert not game.rounds.full_reset
    assert game.objective is not None
    assert game.objective.props["m_iOwner"][:2] == [BLU, RED]
    play.go_live(game)
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    assert daemon.events("round_ended")[-1]["facts"]["attack_defend"]


def test_a_wait_that_ends_right_after_a_late_load_is_told(game: Game, daemon: Daemon, equipoise_smx: Path) -> None:
    game.start_map("koth_harvest_final")
    game.add("Ann", "red")
    game.add("Bob", "blue")
    game.until(lambda: game.rounds.waiting)
    game.advance(game.number("mp_waitingforplayers_time") - 0.3)
    install(game, daemon, equipoise_smx)
    game.until(lambda: not game.rounds.waiting, within=3)
    settle(game)
    assert daemon.kinds().index("hello") < daemon.kinds().index("waiting_ended")
    assert daemon.kinds().count("waiting_ended") == 1


def test_a_tournament_is_left_alone_from_its_ready_up_to_its_end(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.rcon("mp_tournament 1")
    game.rcon("mp_winlimit 1")
    game.start_map("cp_badlands")
    people = [game.add(f"P{n}", "red" if n < 3 else "blue") for n in range(4)]
    game.until(lambda: game.rounds.live)
    for player in (people[0], people[3]):
        game.command(player, "tournament_readystate 1")
    assert game.rounds.waiting
    game.until(lambda: game.rounds.live and not game.rounds.waiting)
    play.kill(game, people[0], people[3])
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.until(lambda: game.rounds.live and game.rounds.waiting)
    settle(game)
    assert set(daemon.kinds()) == {"hello"}
    assert {hello["inactive_reason"] for hello in daemon.events("hello")} == {"tournament"}
    assert [player.team for player in people] == [RED, RED, RED, BLU]
    assert game.sm.convars["mp_autoteambalance"].value == "1"


def test_a_tournament_that_begins_and_ends_on_a_map_costs_the_round_that_ran_and_no_other(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    begin(game, "cp_badlands", 2, 2)
    game.rcon("mp_tournament 1")
    game.advance(1.1)
    settle(game)
    assert daemon.events("hello")[-1]["inactive_reason"] == "tournament"
    assert game.sm.convars["mp_scrambleteams_auto"].value == "1"
    game.rcon("mp_tournament_restart")
    game.advance(5)
    game.rcon("mp_tournament 0")
    game.advance(1.1)
    settle(game)
    assert (daemon.events("hello")[-1]["inactive_reason"], daemon.events("hello")[-1]["waiting"]) == ("", True)
    assert game.sm.convars["mp_scrambleteams_auto"].value == "0"
    game.rcon("mp_restartgame 1")
    game.until(lambda: not game.rounds.waiting)
    play.go_live(game)
    win(game, BLU)
    (round_,) = daemon.events("round_ended")
    assert (round_["winner"], round_["partial"], len(round_["lineup"])) == ("blu", False, 4)


def test_a_late_load_goes_on_with_what_it_finds(game: Game, daemon: Daemon, equipoise_smx: Path) -> None:
    game.start_map("koth_harvest_final")
    people = [game.add(f"P{n}", "blue" if n % 2 else "red") for n in range(4)]
    red, blu = people[::2], people[1::2]
    play.go_live(game)
    install(game, daemon, equipoise_smx)
    settle(game)
    hello = daemon.events("hello")[0]
    assert hello["late"]
    assert hello["phase"] == "running"
    assert not hello["waiting"]
    assert game.sm.convars["mp_autoteambalance"].value == "0"
    (roster,) = daemon.events("roster")
    assert {line["id"]: line["side"] for line in roster["players"]} == {
        **dict.fromkeys(ids(red), "red"),
        **dict.fromkeys(ids(blu), "blu"),
    }
    win(game)
    assert ended(daemon)["partial"]
    play.next_round(game)
    play.go_live(game)
    win(game)
    assert not daemon.events("round_ended")[1]["partial"]


Prepare = Callable[[Game], None]


@pytest.mark.parametrize(
    ("prepare", "phase", "waiting"),
    [
        (lambda game: game.advance(1), "idle", True),
        (in_freeze, "freeze", False),
        (lambda game: (in_freeze(game), game.until(lambda: game.rounds.live)), "freeze", False),
        (lambda game: (play.go_live(game), game.rounds.win(RED, Reason.DEFENDED)), "over", False),
    ],
    ids=["waiting", "freeze", "setup", "over"],
)
def test_a_late_load_reads_phase_and_waiting(
    game: Game, daemon: Daemon, equipoise_smx: Path, prepare: Prepare, phase: str, waiting: bool
) -> None:
    game.start_map("cp_gorge")
    game.add("Ann", "red")
    game.add("Bob", "blue")
    game.advance(1)
    prepare(game)
    install(game, daemon, equipoise_smx)
    settle(game)
    hello = daemon.events("hello")[0]
    assert (hello["phase"], hello["waiting"]) == (phase, waiting)


@pytest.mark.parametrize("set_back", [0.0, 1.0], ids=["right", "set back to the same moment each time"])
def test_no_two_starts_have_the_same_boot(game: Game, daemon: Daemon, equipoise_smx: Path, set_back: float) -> None:
    """Rounds are named by it: with a boot that was used before, the daemon would take new rounds for stored ones."""
    game.start_map("koth_harvest_final")
    began = game.now
    for number in range(10):
        game.now = began + 10 * number  # one that is back at once goes on with its start
        plugin = install(game, daemon, equipoise_smx)
        settle(game)
        game.unload(plugin)
        game.epoch -= set_back
    assert len({batch["boot"] for batch in daemon.batches}) == 10


@pytest.mark.parametrize("year", [1970, 2039, 2105])
def test_rounds_are_reported_whatever_year_the_clock_shows(
    new_game: Callable[..., Game], daemon: Daemon, equipoise_smx: Path, year: int
) -> None:
    """SourceMod's time is a 32-bit number, which is negative from 2038 on if it is read with a sign."""
    game = new_game()
    game.epoch = (year - 1970) * 365.25 * 86400.0
    install(game, daemon, equipoise_smx)
    begin(game, "koth_harvest_final", 1, 1)
    win(game)
    batch = decode_batch(json.dumps(daemon.batches[-1]).encode())
    (game_round,) = [event.round for event in batch.events if isinstance(event, RoundEnded)]
    assert game_round.started_at == pytest.approx(game.epoch + game.now, abs=100)
    assert batch.boot // 1_000_000 == pytest.approx(game.epoch, abs=200)
