"""The ring of rounds that the daemon has not stored yet."""

import json
from typing import Any

import pytest

from tests.sourcemod.answerer import (
    Daemon,
    begin,
    complaints,
    crowd,
    go_live,
    in_freeze,
    play_round,
    rounds_of,
    rounds_of_all,
    seconds_of_play,
)
from tests.sourcemod.rig import Game, Plugin
from tests.sourcemod.rig.game.facts import RED, Reason


@pytest.mark.parametrize("reloads", [0, 1], ids=["", "also after a reload"])
def test_rounds_wait_in_the_ring_until_they_are_stored_and_a_ninth_drops_the_oldest_and_says_so(
    game: Game, daemon: Daemon, koth: Plugin, reloads: int
) -> None:
    crowd(game, 1, 1)
    game.sm.http.offline = True
    for _ in range(10):
        play_round(game)
    for _ in range(reloads):
        koth = game.reload(koth)
        play_round(game)
        game.reload(koth)
    game.start_map("cp_gorge")
    game.sm.http.offline = False
    daemon.forget()
    seconds_of_play(game, 12)
    batches = [batch for batch in daemon.batches if rounds_of(batch)]
    assert [batch["dropped"] for batch in batches] == [2 + reloads, 0]
    assert [len(rounds_of(batch)) for batch in batches] == [4, 4]
    assert [game_round.split("-")[1] for game_round in rounds_of_all(daemon)] == [
        str(number) for number in range(3 + reloads, 11 + reloads)
    ]
    assert {event["map"] for event in daemon.events("round_ended")} == {"koth_harvest_final"}
    assert not any(event["partial"] for event in daemon.events("round_ended"))
    assert {batch["boot"] for batch in daemon.batches} == {int(rounds_of_all(daemon)[0].split("-")[0])}
    assert daemon.batches[-1]["dropped"] == 0
    seconds_of_play(game, 6)
    kept = json.loads((game.sm.root / "data" / "equipoise-test-1.json").read_text())
    assert kept["rounds"] == []


def test_what_happened_after_rounds_that_wait_for_the_next_batch_waits_with_them_and_so_does_the_roster(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """The game swaps the sides of this map after each round."""
    begin(game, "cp_gorge", 1, 1)
    game.sm.http.offline = True
    for _ in range(6):
        game.rounds.win(RED, Reason.DEFENDED)
        in_freeze(game)
        go_live(game)
    daemon.forget()
    game.sm.http.offline = False
    seconds_of_play(game, 8)
    first, second = ([event["kind"] for event in batch["events"]] for batch in daemon.batches[:2])
    assert first == ["hello", *["round_ended", "sides_switched"] * 3, "round_ended"]
    assert second == ["sides_switched", *["round_ended", "sides_switched"] * 2, "roster"]


def test_a_kept_round_is_asked_about_after_the_next_one_and_before_it(game: Game, daemon: Daemon, koth: Plugin) -> None:
    crowd(game, 1, 1)
    daemon.fate = "kept"
    play_round(game)
    seconds_of_play(game, 11)
    assert [rounds_of(batch) for batch in daemon.batches if rounds_of(batch)] == [rounds_of_all(daemon)]
    first = rounds_of_all(daemon)
    daemon.forget()
    daemon.fate = "stored"
    play_round(game)
    assert rounds_of_all(daemon)[:1] == first
    assert len(rounds_of_all(daemon)) == 2
    daemon.forget()
    play_round(game)
    assert len(rounds_of_all(daemon)) == 1


@pytest.mark.parametrize(
    ("refusals", "sent", "said"),
    [
        ([(422, "schema", "$.events[0].winner")], 1, "$.events[0].winner"),
        ([(500, "internal")], 1, "because of internal"),
        ([(503, "store"), (503, "busy")], 3, ""),
    ],
    ids=["it is wrong", "the daemon breaks", "the daemon cannot keep it"],
)
def test_a_refused_round_goes_again_where_that_may_help_and_never_blocks_the_ring(
    game: Game, daemon: Daemon, plugin: Plugin, refusals: list[tuple[Any, ...]], sent: int, said: str
) -> None:
    begin(game, "koth_harvest_final", 1, 1)
    daemon.forget()
    daemon.raw += [daemon.refuse(*each) for each in refusals]
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    seconds_of_play(game, 12)
    assert len(rounds_of_all(daemon)) == sent
    assert len({*rounds_of_all(daemon)}) == 1
    assert said in " ".join(complaints(game))
    daemon.forget()
    play_round(game)
    assert len(rounds_of_all(daemon)) == 1


def test_a_stale_batch_gives_only_its_rounds(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "koth_harvest_final", 1, 1)
    (live,) = daemon.events("round_live")
    daemon.forget()

    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    answer = {"ok": False, "error": {"code": "stale", "message": ""}, "rounds": {live["round"]: "stored"}}
    daemon.raw.append((200, json.dumps(answer).encode()))
    seconds_of_play(game, 40)
    assert len(rounds_of_all(daemon)) == 1
    assert "stale" in complaints(game)[0]
    assert "hello" in [event["kind"] for event in daemon.batches[1]["events"]]
