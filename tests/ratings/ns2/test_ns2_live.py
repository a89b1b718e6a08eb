"""NS2 by the whole way: rounds posted to a daemon process, stored with their spans, rated, fitted, and handed out."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.core.model import Role
from equipoise.ratings import fit
from equipoise.ratings.ns2.formulas import POINTS
from equipoise.ratings.system import Match, Span
from tests.daemons import EQUIPOISE, RealDaemon
from tests.ratings.ns2.dense import most_probable
from tests.ratings.ns2.posted import NS2Server, recovered, rounds_of
from tests.ratings.ns2.samples import ns2
from tests.ratings.ns2.simulated import World, simulated

pytestmark = pytest.mark.slow

PLAYERS, ROUNDS, SIZE = 24, 1000, 4


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[NS2Server]:
    made = NS2Server(tmp_path / "daemon", forked=getattr(request, "param", True))
    made.daemon.start()
    yield made
    made.daemon.kill()


def command(server: NS2Server, *words: str, stopped: bool = False) -> str:
    """What a command prints that goes through the daemon, or reads its store while it is stopped."""
    own = () if stopped else ("--url", f"http://127.0.0.1:{server.daemon.port}")
    done = subprocess.run(
        [*EQUIPOISE, *words, "--config", server.daemon.config, *own], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commanded(player: str) -> dict[str, Any]:
    """The time of a player who commands the marines and then fights for the aliens."""
    spans = [{**span("marines", 0, 400), "role": "commander"}, span("aliens", 400, 600)]
    return {"id": player, "side": "aliens", "spans": spans}


def span(side: str, start: float, end: float) -> dict[str, Any]:
    return {"side": side, "from": start, "to": end}


def match_of(posted: dict[str, Any]) -> Match:
    """A posted round as a match, read here a second time."""
    teams = ("marines", "aliens")
    players = [one for one in posted["players"] if not one["id"].startswith("bot:")]
    return Match(
        teams=(
            tuple(one["id"] for one in players if one["side"] == "marines"),
            tuple(one["id"] for one in players if one["side"] == "aliens"),
        ),
        ranks=(0, 1) if posted["winner"] == "marines" else (1, 0),
        spans={one["id"]: spans_of(one) for one in players},
        bots=tuple(span for one in posted["players"] if one["id"].startswith("bot:") for span in spans_of(one)),
        seconds=posted["seconds"],
        map=posted["map"],
        sides=teams,
    )


def spans_of(one: dict[str, Any]) -> tuple[Span, ...]:
    """A posted player's time."""
    return tuple(
        Span(("marines", "aliens").index(each["side"]), each["from"], each["to"], Role(each["role"]))
        for each in one["spans"]
    )


def with_bots(posted: dict[str, Any], count: int) -> dict[str, Any]:
    """The round with bots, who come one after the other and stay, on both sides in turn."""
    sides, seconds = ("marines", "aliens"), posted["seconds"]
    lines = [
        {
            "id": f"bot:{number}",
            "side": sides[number % 2],
            "spans": [{"side": sides[number % 2], "from": seconds * number / 20, "to": seconds, "role": "field"}],
        }
        for number in range(count)
    ]
    return {**posted, "players": [*posted["players"], *lines]}


def both_sides_play_it_from_start_to_end(posted: dict[str, Any]) -> bool:
    """Others are stored and not rated."""
    stayed = {one["side"] for one in posted["players"] if one["spans"][-1]["to"] >= posted["seconds"]}
    return {one["side"] for one in posted["lineup"]} == stayed == {"marines", "aliens"}


@pytest.mark.world
def test_hidden_skills_come_back_from_rounds_that_were_posted_stored_and_fitted(server: NS2Server) -> None:
    params = ns2().params
    rng = np.random.default_rng(7)
    world = World.drawn(rng, PLAYERS, params)
    history = simulated(rng, world, ROUNDS, SIZE)
    truth = {"average": world.skill * POINTS, "offset": world.offset * POINTS, "commander": world.commander * POINTS}
    rounds = [each for each in rounds_of(history) if both_sides_play_it_from_start_to_end(each)]
    replies = server.play(rounds)

    assert {each["id"] for reply in replies for each in reply["players"]} == set(history.players)
    online = recovered(server.daemon, history, truth)
    command(server, "pool", "refit")
    fitted = recovered(server.daemon, history, truth)
    for name, spread in (("average", 0.6), ("commander", 0.5)):
        assert fitted[name].error < spread * truth[name].std()
        assert fitted[name].error < online[name].error
        assert fitted[name].correlation > 0.85
    for found in (fitted, online):
        assert all(0.6 < each.in_deviations < 1.5 for each in found.values())

    # Nothing was lost on the way: a fit of the matches themselves finds the same skills.
    alone = ns2()
    assert fit(alone, [match_of(each) for each in rounds]).converged
    for player, value in zip(history.players, fitted["average"].estimates, strict=True):
        assert value == pytest.approx(alone.skill(player), abs=1e-3)
    assert fitted["commander"].estimates[0] == pytest.approx(alone.skills(history.players[0]).commander.value, abs=1e-3)

    (best, *_) = server.daemon.ask("pools/main/top")["players"]
    (same,) = server.daemon.ask(f"pools/main/players?text={best['id']}")["players"]
    assert best["skills"] == same["skills"]
    assert best["skills"]["average"]["value"] == best["rating"]

    quality = json.loads(command(server, "pool", "quality", "--json"))
    assert quality["quality"]["rounds"] == 500
    assert quality["suggested_theta"] is None
    assert server.daemon.stop() == 0
    assert "ns2" in command(server, "lab", "backtest", "--pool", "main", "--model", "ns2", stopped=True)


def test_a_round_keeps_its_spans_and_its_forecast_through_a_recompute_and_its_skills_are_shown(
    server: NS2Server,
) -> None:
    ids = [str(76561198000000000 + number) for number in range(4)]
    seats = [{"id": id, "side": side} for id, side in zip(ids, ("marines", "marines", "aliens", "aliens"), strict=True)]
    whole = [{"id": one["id"], "side": one["side"], "spans": [span(one["side"], 0, 600)]} for one in seats[1:]]
    played = {
        "kind": "round_ended",
        "round": "1-1",
        "session": "1",
        "map": "ns2_veil",
        "game": "ns2",
        "started_at": 1.7e9,
        "seconds": 600.0,
        "winner": "aliens",
        "lineup": seats,
        "players": [commanded(ids[0]), *whole],
    }
    (reply,) = server.play([played])
    skills = {each["id"]: each["skills"] for each in reply["players"]}
    assert skills[ids[1]].keys() == {"marines", "aliens", "commander"}
    assert skills[ids[2]]["aliens"] > 1000 > skills[ids[1]]["marines"]

    def shown() -> Any:
        return json.loads(command(server, "round", "show", server.daemon.server, "1-1", "--json"))

    before = shown()
    (switched,) = (each for each in before["players"] if each["id"] == ids[0])
    assert switched["spans"] == [
        {"side": "a", "start": 0.0, "end": 400.0, "role": "commander"},
        {"side": "b", "start": 400.0, "end": 600.0, "role": "field"},
    ]
    assert (switched["seconds_a"], switched["seconds_b"], switched["side"]) == (400.0, 200.0, "a")
    # As it went live, one marine fought two aliens: the alien that the commander became was not to be foreseen.
    assert before["round"]["rating_probability"] == pytest.approx(1 / (1 + np.exp(2.5 / 3)))
    assert "10:00, chair 6:40 " in command(server, "round", "show", server.daemon.server, "1-1")
    text = command(server, "player", "show", ids[2])
    assert [line.split()[0] for line in text.splitlines()[-5:]] == ["both", "marines", "aliens", "offset", "commander"]
    assert json.loads(command(server, "player", "show", ids[2], "--json"))["player"]["skills"]["sides"].keys() == {
        "marines",
        "aliens",
    }
    server.daemon.stop()
    command(server, "pool", "recompute", "main", "--yes", stopped=True)
    server.daemon.start()
    assert shown() == before


def at_this_time(hour: int, minute: int, second: int) -> str:
    """A time zone, as POSIX writes it, in which it is this time of day now."""
    now = time.gmtime()
    behind = ((now.tm_hour - hour) * 60 + now.tm_min - minute) * 60 + now.tm_sec - second
    minutes, seconds = divmod(abs(behind), 60)
    return f"HERE{'-' if behind < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"


@pytest.mark.world
@pytest.mark.parametrize("server", [False], indirect=True, ids=["whose time zone is its own"])
def test_at_five_in_the_morning_a_pool_has_the_most_probable_skills_of_all_its_rounds(
    server: NS2Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a dense Newton on the formulas of docs/ratings/ns2.md, which shares nothing with the daemon; among bots."""
    rng = np.random.default_rng(5)
    history = simulated(rng, World.drawn(rng, 12, ns2().params), 60, 3)
    rounds = [
        with_bots(each, number % 8)
        for number, each in enumerate(rounds_of(history))
        if both_sides_play_it_from_start_to_end(each)
    ]
    server.play(rounds[:30])
    command(server, "pool", "refit")  # so that the night's is not one that was missed
    server.play(rounds[30:])
    daemon = server.daemon
    before = states(daemon)
    daemon.stop()
    monkeypatch.setenv("TZ", at_this_time(4, 59, 50))
    daemon.start()
    assert states(daemon) == before
    until = time.monotonic() + 120
    while (refit := daemon.ask("pools/main/refit")["refit"])["ended_at"] is None:
        assert time.monotonic() < until
        time.sleep(0.2)
    assert refit["error"] is None
    (line,) = daemon.ask("audit?limit=1")["audit"]
    assert (line["who"], line["action"], line["after"]) == ("job", "refit", f"fit of {len(rounds)} rounds")
    dense = most_probable([match_of(each) for each in rounds], ns2().params)
    found = states(daemon)
    assert found != before
    for player, state in found.items():
        expected = [dense.values[name, player] for name in "sox"]
        assert [state[name] for name in ("skill", "offset", "commander")] == pytest.approx(expected, abs=1e-6)


def states(daemon: RealDaemon) -> dict[str, Any]:
    """What is stored of each player."""
    with closing(sqlite3.connect(daemon.folder / "state" / "equipoise.db")) as db:
        return {player: json.loads(state) for player, state in db.execute("SELECT id, state FROM players")}
