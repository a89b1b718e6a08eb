"""The mod on a fake server: what the daemon hears of rounds and of the people in them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.chaos.power import Change, Disk
from tests.ns2mod.scripted import Scene, Start


def spans(event: dict[str, Any]) -> dict[str, list[tuple[str, str, float, float]]]:
    """By player: side, role and rounded seconds."""
    return {
        line["id"]: [
            (span["side"], span.get("role", "field"), round(span["from"]), round(span["to"])) for span in line["spans"]
        ]
        for line in event["players"]
    }


def counts(event: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """By player: kills, deaths, assists and points."""
    names = ("kills", "deaths", "assists", "points")
    return {line["id"]: tuple(line["counts"][name] for name in names) for line in event["players"]}


@pytest.mark.parametrize("reset", [True, False])
def test_a_round_tells_what_its_players_did_in_it_whatever_the_game_does_to_its_scores(
    scene: Start, reset: bool
) -> None:
    one = scene(switches={"scores_reset": reset})
    marines, aliens = one.people()
    marines[1].scores(kills=4, assists=2, points=9)  # in the warm-up nothing counts
    one.commanded(marines, aliens)
    one.game.start_round()
    one.game.run(5)
    marines[1].scores(kills=2, points=5)
    marines[2].scores(assists=1, points=1)
    aliens[1].dies()
    one.game.run(8)
    aliens[1].respawns()
    aliens[1].becomes("Gorge")
    marines[1].scores(kills=1, points=2)
    aliens[1].dies()
    one.game.run(3)
    marines[2].disconnects()
    one.game.run(3)
    marines[2].reconnects()
    one.game.run(1)
    marines[2].moves()
    one.game.join(marines[2], 1, force=True)
    one.game.run(2)
    marines[2].scores(kills=1, points=3)
    late = one.game.connect(301, "late")
    late.moves()
    one.game.join(late, 2, force=True)
    one.game.run(2)
    late.scores(kills=1, points=1)
    one.game.end_game(1)
    one.game.run(12)
    found = counts(one.daemon.last("round_ended"))
    assert found["102"] == (3, 0, 0, 7)
    assert found["103"] == (1, 0, 1, 4)
    assert found["202"] == (0, 2, 0, 0)
    assert found["301"] == (1, 0, 0, 1)
    assert found["101"] == found["201"] == (0, 0, 0, 0)

    for side, team in ((marines, 1), (aliens, 2)):
        for client in side:
            one.game.join(client, team, force=True)
    one.commanded(marines, aliens)
    one.game.start_round()
    one.game.run(5)
    marines[1].scores(kills=1, points=2)
    one.game.end_game(2)
    one.game.run(2)
    found = counts(one.daemon.last("round_ended"))
    assert (found["102"], found["202"]) == ((1, 0, 0, 2), (0, 0, 0, 0))
    ended = one.daemon.events("round_ended")
    assert [event["winner"] for event in ended] == ["marines", "aliens"]
    assert len({event["round"] for event in ended}) == 2


def test_every_way_in_and_out_of_a_side_and_a_chair_is_in_the_spans(scene: Start) -> None:
    one = scene()
    marines, aliens = one.round(4, 4)
    started = one.game.clock - 0.5
    game = one.game
    game.run(9.5)
    late = game.connect(301, "Late")
    game.join(late, 2, force=True)
    marines[0].leaves_chair()
    game.run(10)
    marines[1].commands()
    game.join(marines[2], 2, force=True)
    aliens[1].disconnects()
    game.join(aliens[0], 3, force=True)  # as Shine's afkkick does (extensions/afkkick/server.lua)
    game.run(10)
    aliens[1].reconnects()
    game.run(10)
    game.join(aliens[1], 2, force=True)
    game.join(marines[1], 0)
    game.run(10)
    aliens[3].disconnects()
    game.run(10)
    length = round(game.clock - started)
    assert length == 60
    game.end_game(1)
    game.run(2)
    event = one.daemon.last("round_ended")
    assert spans(event) == {
        "101": [("marines", "commander", 0, 10), ("marines", "field", 10, 60)],
        "102": [("marines", "field", 0, 20), ("marines", "commander", 20, 40)],
        "103": [("marines", "field", 0, 20), ("aliens", "field", 20, 60)],
        "104": [("marines", "field", 0, 60)],
        "201": [("aliens", "commander", 0, 20)],
        "202": [("aliens", "field", 0, 20), ("aliens", "field", 40, 60)],
        "203": [("aliens", "field", 0, 60)],
        "204": [("aliens", "field", 0, 50)],
        "301": [("aliens", "field", 10, 60)],
    }
    assert {line["id"] for line in event["players"] if line.get("left")} == {"204"}
    assert {line["id"] for line in event["players"] if line["side"] == "aliens"} == {
        "103",
        *map(str, range(201, 205)),
        "301",
    }
    assert (event["winner"], event.get("partial", False), round(event["seconds"])) == ("marines", False, 60)
    assert len(event["lineup"]) == 8


def test_a_pause_stops_the_rounds_clock_and_not_the_networks(scene: Start) -> None:
    one = scene(nsl=True)
    one.round()
    one.game.run(10)
    one.game.pause()
    heard = len(one.daemon.batches)
    one.game.run(60)
    assert len(one.daemon.batches) > heard + 30
    one.game.unpause()
    one.game.run(10)
    one.game.end_game(1)
    one.game.run(2)
    event = one.daemon.last("round_ended")
    assert round(event["seconds"]) == 20
    assert spans(event)["102"] == [("marines", "field", 0, 20)]


@pytest.mark.parametrize("console", ["sv_changemap", "engine"])
def test_a_round_that_a_map_change_cuts_off_is_reported_by_the_next_map(scene: Start, console: str) -> None:
    one = scene()
    one.round()
    one.game.run(30)
    one.game.http.drop = True
    if console == "engine":
        one.game.change_map("ns2_tram")
    else:
        one.game.execute('MapCycle_ChangeMap("ns2_tram")')
        one.game.run(1)
    one.game.http.drop = False
    one.game.run(8)
    event = one.daemon.last("round_ended")
    assert event["partial"]
    assert event["map"] == "ns2_veil"
    assert event["seconds"] >= 20
    assert one.daemon.last("hello")["map"] == "ns2_tram"


def test_a_client_whose_id_steam_has_not_given_yet_is_asked_again(scene: Start) -> None:
    one = scene()
    client = one.game.connect(301, "Late", unknown_for=5)
    one.game.join(client, 1, force=True)
    one.game.run(3)
    assert all(line["id"] != "301" for line in one.daemon.last("roster")["players"])
    one.game.run(4)
    assert {"id": "301", "side": "marines"}.items() <= next(
        line for line in one.daemon.last("roster")["players"] if line["id"] == "301"
    ).items()


def test_who_stands_in_the_ready_room_waits_only_after_a_sign_of_life_and_until_away(scene: Start) -> None:
    one = scene()
    client = one.game.connect(301, "Loading")

    def waiting() -> bool:
        one.game.run(3)
        return bool(next(line for line in one.daemon.last("roster")["players"] if line["id"] == "301").get("waiting"))

    assert not waiting()
    client.moves()
    assert waiting()
    one.game.run(60)
    assert not waiting()
    client.moves()
    assert waiting()


def test_a_player_whom_nsl_keeps_on_a_bot_while_they_reconnect_has_one_id_and_no_time_twice(scene: Start) -> None:
    one = scene(nsl=True)
    _, aliens = one.round()
    one.game.run(9.5)
    keeper = aliens[1].parks()
    one.game.run(10)
    aliens[1].unparks(keeper)
    one.game.run(10)
    one.game.end_game(1)
    one.game.run(2)
    event = one.daemon.last("round_ended")
    assert spans(event)["202"] == [("aliens", "field", 0, 10), ("aliens", "field", 20, 30)]
    assert {line["id"] for line in event["players"]} == {"101", "102", "103", "201", "202", "203", "bot:1"}
    assert spans(event)["bot:1"] == [("aliens", "field", 10, 20)]


def test_bots_that_come_and_go_inside_a_join_are_reported_and_never_held(scene: Start) -> None:
    one = scene()
    one.game.setting("filler_bots", 6)
    ann = one.game.connect(301, "Ann")
    one.game.run(2)
    ann.joins(1)
    one.game.run(3)
    sides = one.daemon.sides()
    assert sides.pop("301") == "marines"
    assert sorted(sides.values()) == ["aliens"] * 3 + ["marines"] * 2
    ann.joins(0)
    one.game.run(3)
    assert one.daemon.sides() == {"301": "none"}
    assert all(event["id"] == "301" for event in one.daemon.events("side_wanted"))


def test_slow_frames_start_no_round_twice_and_lose_no_time(scene: Start) -> None:
    one = scene()
    sides = one.people()
    one.commanded(*sides)
    one.game.run(20, dt=0.5)
    one.game.end_game(2)
    one.game.run(3, dt=0.5)
    kinds = [event["kind"] for batch in one.daemon.batches for event in batch["events"]]
    assert [kind for kind in kinds if kind.startswith("round_")] == ["round_started", "round_live", "round_ended"]
    event = one.daemon.last("round_ended")
    assert {span["to"] for line in event["players"] for span in line["spans"]} == {event["seconds"]}


def test_a_player_is_reported_by_the_name_that_their_client_sends_after_it_has_loaded(scene: Start) -> None:
    one = scene()
    client = one.game.connect(301, "NSPlayer")
    one.game.run(3)
    assert [event.get("name") for event in one.daemon.events("player_joined")] == [None]
    client.renames("Ann")
    one.game.run(3)
    one.game.join(client, 1, force=True)
    one.game.run(3)
    assert [event.get("name") for event in one.daemon.events("player_joined")] == [None, "Ann"]


def test_who_connects_while_the_daemon_is_dead_has_a_name_when_it_is_back(scene: Start) -> None:
    one = scene()
    one.game.run(2)
    one.game.http.failure = ("Couldn't connect to server", 7)
    one.game.run(12)
    one.game.connect(301, "Ann")
    one.game.run(5)
    one.game.http.failure = None
    one.game.run(12)
    assert [event["name"] for event in one.daemon.events("player_joined")] == ["Ann"]


def test_who_has_a_spectators_slot_waits_for_no_side_until_they_give_it_back(scene: Start) -> None:
    one = scene()
    client = one.game.connect(301, "Ann")
    client.takes_slot(watching=True)
    client.moves()
    one.game.run(3)
    assert not one.daemon.last("roster")["players"][0].get("waiting")
    client.takes_slot(watching=False)
    one.game.run(3)
    assert one.daemon.last("roster")["players"][0]["waiting"]


def test_cheats_start_a_round_without_commanders_and_it_says_so(scene: Start) -> None:
    one = scene()
    one.people()
    one.game.console("sv_cheats 1")
    one.game.start_round(3)
    one.game.console("sv_cheats 0")
    one.game.run(61)
    one.game.end_game(1)
    one.game.run(1)
    assert one.daemon.last("round_ended")["cheats"] is True
    assert one.game.states[-5:] == ["PreGame", "NotStarted", "Countdown", "Started", "Team1Won"]


def test_the_games_own_skill_of_a_player_is_told_once_steam_has_answered_and_stays_what_it_was(scene: Start) -> None:
    one = scene()
    marines, aliens = one.people(1, 1)
    assert not any("hive" in line for line in one.daemon.last("roster")["players"])
    fields = one.game.rig["Fields"](marines[0].handle)
    fields["skill"], fields["skill_offset"], fields["commander_skill"] = 1771, -214.4, 1931
    one.game.run(2)
    told = {line["id"]: line.get("hive") for line in one.daemon.last("roster")["players"]}
    known = {"skill": 1771, "offset": -214, "commander": 1931}
    assert told == {"101": known, "201": None}
    one.commanded(marines, aliens)
    one.game.start_round()
    one.game.run(90)
    fields["skill"] = 1800  # as the game has it after a round that it ranks
    one.game.end_game(1)
    one.game.run(10)
    (ended,) = one.daemon.events("round_ended")
    assert {line["id"]: line["counts"].get("hive") for line in ended["players"]} == told
    assert one.daemon.last("roster")["players"][0]["hive"] == known


def on_disk(written: list[tuple[str, bytes | None]]) -> list[Change]:
    """The game's writes, none of which is ever synced."""
    changes, ends = [], dict[str, int]()
    for name, data in written:
        if data is None:
            changes.append(Change("truncate", name))
        else:
            changes.append(Change("write", name, data, ends[name]))
        ends[name] = 0 if data is None else ends[name] + len(data)
    return changes


def facts(event: dict[str, Any]) -> dict[str, Any]:
    """A round, whenever it was sent."""
    return {name: value for name, value in event.items() if name != "at"}


@pytest.fixture
def rounds_of_an_evening(scene: Start) -> tuple[Scene, list[dict[str, Any]]]:
    """Two rounds that the daemon has stored, two that it kept, and a fifth that runs; all that was ever written of
    rounds, as the daemon would get it."""
    one = scene()
    marines, aliens = one.people()
    for number in range(5):
        for side, team in ((marines, 1), (aliens, 2)):
            for client in side:
                one.game.join(client, team, force=True)
        one.commanded(marines, aliens)
        one.daemon.stores = "stored" if number < 2 else "kept"
        one.game.start_round()
        one.game.run(65)
        if number < 4:
            one.game.end_game(1)
            one.game.run(12)
    saved = [data for name, data in one.game.files.written if name == "EquipoiseRound.json" and data]
    texts = [data.decode("latin-1").partition(',"data":')[2][:-1] for data in saved]
    return one, [*(facts(event) for event in one.daemon.events("round_ended")), *map(json.loads, texts)]


def sent_behind(scene: Start, one: Scene, folder: Path, files: list[tuple[str, bytes]]) -> list[dict[str, Any]]:
    """The rounds that a server with these files sends when it starts."""
    folder.mkdir()
    for name, content in files:
        (folder / name).write_bytes(content)
    one.daemon.batches.clear()
    one.daemon.stores = "stored"
    again = scene(config=folder)
    again.game.run(5)
    assert not any("Error in" in line for line in again.game.messages)
    return [facts(event) for event in one.daemon.events("round_ended")]


def test_a_server_that_was_killed_has_all_rounds_that_are_not_stored_and_the_one_that_ran_as_partial(
    scene: Start, rounds_of_an_evening: tuple[Scene, list[dict[str, Any]]], tmp_path: Path
) -> None:
    one, known = rounds_of_an_evening
    files = [(name, one.game.files.path(name).read_bytes()) for name in one.game.files.names()]
    sent = sent_behind(scene, one, tmp_path / "killed", files)
    assert [event["round"].rpartition("-")[2] for event in sent] == ["3", "4", "5"]
    assert [event.get("partial", False) for event in sent] == [False, False, True]
    assert all(event in known for event in sent)


def test_behind_a_power_loss_the_mod_starts_and_sends_only_whole_rounds_and_each_once(
    scene: Start, rounds_of_an_evening: tuple[Scene, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """The game cannot sync: of all that was ever written each sector of 512 bytes may be there or not, and whether a
    file was emptied. What is lost was not stored, or the daemon has it."""
    one, known = rounds_of_an_evening
    changes, found = on_disk(one.game.files.written), 0
    saves = [at for at, change in enumerate(changes, 1) if change.data and change.name == "EquipoiseRound.json"]
    for seed in range(24):
        rng, disk = Random(seed), Disk()
        for change in changes[: rng.choice((rng.choice(saves), rng.randint(0, len(changes))))]:
            disk.take(change)
        sent = sent_behind(scene, one, tmp_path / f"lost-{seed}", [*disk.lost(rng)])
        assert all(event in known for event in sent), seed
        assert len({event["round"] for event in sent}) == len(sent), seed
        found += len(sent)
    assert found


def test_of_a_running_round_whose_copies_are_mixed_on_the_disk_nothing_is_sent(
    scene: Start, rounds_of_an_evening: tuple[Scene, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """It is JSON, and says of some players when they were there by the first copy, of others by the second."""
    one, _ = rounds_of_an_evening
    first, second = [data for name, data in one.game.files.written if name == "EquipoiseRound.json" and data][:2]
    assert len(first) == len(second)
    mixed = first[:512] + second[512:1024] + first[1024:]
    assert sent_behind(scene, one, tmp_path / "whole", [("EquipoiseRound.json", first)])
    assert not sent_behind(scene, one, tmp_path / "mixed", [("EquipoiseRound.json", mixed)])
