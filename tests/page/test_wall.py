"""The wall and a server's page, on a real daemon: who needs a person first, and what is said of whom."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.events import Phase
from equipoise.core.model import Mode, Outlook, RoundId, ServerId, Side
from equipoise.game.port import PeerStatus, QueryAnswer, QueryStatus, RconState, RconStatus
from equipoise.page.pictures import course
from equipoise.page.wall import Need, lamps, needs
from equipoise.service.diagnosis import SCRIPTS
from equipoise.service.status import RefusedBatch, ServerStatus, StaleScript
from equipoise.store.listings import Result
from equipoise.store.notes import Chance
from equipoise.store.store import Store
from tests.page.test_oversight import GUEST, page
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.wire.samples import HELLO, KOTH, finished, posted, seats


def roster(count: int, sides: tuple[str, str] = ("red", "blu"), first: int = 1) -> list[dict[str, Any]]:
    """So many players, in turns on the two sides."""
    return seats([str(76561197960265728 + first + each) for each in range(count)], sides)


def play(daemon: Daemon, lines: list[dict[str, Any]], who: str = "arena-1", **fields: Any) -> None:
    """These players are in a running round on a KOTH map."""
    live = {"kind": "round_live", "round": "1-1", "players": lines}
    hello = {**KOTH, "phase": "idle"}
    answer = daemon.post(posted(hello, {"kind": "roster", "players": lines}, live, seq=1, **fields), who)
    assert answer.body["ok"], answer.body


def _server(folder: Path, name: str) -> str:
    """The configuration of another server, whose secret is its name."""
    SECRETS.setdefault(name, name)
    (folder / name).write_text(hashlib.sha256(name.encode()).hexdigest())
    return f'[server.{name}]\nsecret_file = "{name}"\n'


def order(text: str) -> list[str]:
    """Servers in the order of their panels."""
    return re.findall(r'<article class="[^"]*" id="server-([^"]+)"', text)


def peer(players: int | None = None, rcon: RconState = "answers") -> PeerStatus:
    """A game server with so many players by A2S; None: it does not answer."""
    answer = None if players is None else QueryAnswer("x", "cp_well", players, 0, 24, "Team Fortress", 440)
    query = QueryStatus("silent" if answer is None else "answers", answer=answer)
    return PeerStatus(ServerId("arena-1"), RconStatus(rcon), query)


WELL = ServerStatus(
    server=ServerId("arena-1"),
    pool="main",
    lost=False,
    silent_seconds=2.0,
    served_seconds=3600.0,
    plugin="0.2",
    enabled=True,
    inactive_reason="",
    unranked="",
    level="balance",
    level_reason="",
    map="koth_harvest_final",
    mode=Mode.KOTH,
    sides=("red", "blu"),
    phase=Phase.RUNNING,
    round=3,
    streak=0,
    streak_side=None,
    pending=None,
    voices=0,
    vote_running=False,
    players_a=0,
    players_b=0,
    waiting=0,
    sum_a=0.0,
    sum_b=0.0,
    win_probability=None,
    outlook=None,
    balanced_by="joint",
    ring=0,
    dropped_rounds=0,
    clock_ahead=None,
    boot=1,
    stale_scripts=(),
    refused_batches=(),
)
REFUSED = RefusedBatch("schema", 422, "$.events[0]", "Expected `int`", ("roster",), 3, 0.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "its_peer", "expected"),
    [
        ({}, None, []),
        ({"lost": True}, peer(players=22), [Need.BAD]),
        ({"lost": True}, peer(players=0), [Need.ODD]),
        ({"lost": True}, peer(), [Need.ODD]),
        ({"lost": True, "players_a": 6}, None, [Need.BAD]),
        ({"lost": True, "silent_seconds": None, "served_seconds": 5.0}, None, [Need.EMPTY]),
        ({"refused_batches": (REFUSED,)}, None, [Need.BAD]),
        ({"stale_scripts": (StaleScript(7, 0.0),)}, None, [Need.BAD]),
        ({}, peer(players=3, rcon="refused"), [Need.ODD]),
        ({"enabled": False}, None, [Need.ODD]),
        ({"inactive_reason": "mvm"}, None, [Need.ODD]),
        ({"players_a": 6, "players_b": 6, "outlook": Outlook.alone(0.71)}, None, [Need.ODD]),
        ({"players_a": 6, "players_b": 6, "outlook": Outlook.alone(0.55)}, None, []),
        ({"players_a": 1, "players_b": 1, "outlook": Outlook.alone(0.9)}, None, []),
    ],
)
def test_a_server_needs_a_person_where_something_is_wrong_and_none_where_all_is_well(
    changes: dict[str, Any], its_peer: PeerStatus | None, expected: list[Need]
) -> None:
    assert [need for need, _ in needs(replace(WELL, **changes), its_peer, store_well=True)] == expected


def test_rounds_that_wait_are_bad_only_while_the_store_is_not_well() -> None:
    server = replace(WELL, ring=2)
    assert list(needs(server, None, store_well=True)) == []
    assert list(needs(server, None, store_well=False)) == [(Need.BAD, "2 rounds wait for the store.")]


def test_an_old_plugin_is_a_lamp_and_a_script_of_other_authors_has_no_age() -> None:
    old = replace(WELL, plugin="0.1")
    words = [next(iter(lamps(old, None, SCRIPTS[game], "0.2"))).word for game in ("tf2", "ns2", "other")]
    assert words == ["plugin 0.1 is old", "mod 0.1 is old", "script"]


def test_servers_stand_in_the_order_of_their_need_and_the_fullest_come_first(tmp_path: Path) -> None:
    names = ["empty", "full", "off", "small"]
    with running(tmp_path, CONFIG + "".join(_server(tmp_path, name) for name in names)) as daemon:
        for seq, (name, count) in enumerate((("small", 2), ("full", 12), ("empty", 0), ("off", 4)), 1):
            play(daemon, roster(count, first=100 * seq), server=name, who=name)
        daemon.call("POST", "/v1/admin/servers/off/off", {})
        text = page(daemon, "/")
        # Those two whose scripts have never called are awaited: the daemon has just begun.
        assert order(text) == ["off", "full", "small", "arena-1", "empty", "ns2-1"]
        needs_shown = [int(need) for need in re.findall(r'data-need="(-?\d+)"', text)]
        assert needs_shown == sorted(needs_shown)
        assert order(page(daemon, "/?servers=small,off,nobody")) == ["off", "small"]
        assert "<nav" not in page(daemon, "/?servers=small")
        only = daemon.call("GET", "/v1/admin/servers?servers=small,nobody").body["servers"]
        assert [server["server"] for server in only] == ["small"]


@pytest.mark.parametrize("count", [0, 2, 24, 100])
def test_a_servers_page_shows_everybody_on_their_side(daemon: Daemon, count: int) -> None:
    play(daemon, roster(count))
    found = daemon.call("GET", "/v1/admin/servers/arena-1/roster").body
    assert len(found["players"]) == count
    for who in (page(daemon, "/servers/arena-1"), page(daemon, "/servers/arena-1", GUEST)):
        tables = re.findall(r"<table>.*?</table>", who, re.DOTALL)
        assert [table.count('class="player"') for table in tables[:2]] == [count // 2, count // 2]
        assert who.count(">new</span>") == count, "nobody has left the shadow period, and that is said"
    assert (f"{count // 2} v {count // 2}" in page(daemon, "/")) is (count > 0)


def test_commanders_and_wishes_are_said_on_a_page_of_ns2(daemon: Daemon) -> None:
    lines = roster(4, ("marines", "aliens"))
    lines[0]["commander"] = lines[1]["commander"] = True
    hello = {**HELLO, "game": "ns2", "map": "ns2_tram"}
    wish = {"kind": "command", "by": lines[2]["id"], "words": ["prefer", "aliens"]}
    answer = daemon.post(
        posted(hello, {"kind": "roster", "players": lines}, wish, seq=1, server="ns2-1"),
        who="ns2-1",
    )
    assert answer.body["ok"], answer.body
    text = page(daemon, "/servers/ns2-1")
    assert text.count(">commander</span>") == 2
    assert text.count(">wants Aliens</span>") == 1
    assert "NS2" in text
    assert "Marines" in text


def test_a_server_whose_script_has_never_called_says_three_things_to_check(daemon: Daemon) -> None:
    for server, word in (("arena-1", "sm plugins info equipoise"), ("ns2-1", "sv_eq_status")):
        text = page(daemon, f"/servers/{server}")
        assert text.count("<li>") == 3
        assert word in text
        assert "Orders" not in text
    assert "No server" in page(daemon, "/servers/nowhere", status=404)


def test_orders_are_offered_to_admins_alone(daemon: Daemon) -> None:
    play(daemon, roster(4))
    assert "/servers/arena-1/scramble" in page(daemon, "/servers/arena-1")
    assert "/servers/arena-1/scramble" not in page(daemon, "/servers/arena-1", GUEST)


def test_the_course_of_a_map_has_its_rounds_and_the_page_says_what_is_due(daemon: Daemon) -> None:
    lines = roster(4)
    there = {"map": KOTH["map"], "facts": KOTH["facts"], "started_at": time.time() - 90}
    first = finished([line["id"] for line in lines], **there)
    play(daemon, lines)
    daemon.post(posted({**first, "round": "1-1"}, {**first, "round": "1-2", "winner": "blu"}, seq=2))
    found = daemon.call("GET", "/v1/admin/servers/arena-1/roster").body
    assert [result["winner"] for result in found["results"]] == ["b", "a"]
    text = page(daemon, "/servers/arena-1")
    assert re.search(r"RED</span> 1 : 1 <span[^>]*>BLU", text)
    assert found["due"]
    for path in ("/servers/arena-1", "/"):
        assert found["due"] in page(daemon, path)


@pytest.mark.parametrize("rounds", [0, 1, 16, 17, 200])
def test_a_small_course_has_the_last_rounds_and_keeps_its_size_however_long_a_map_lasts(rounds: int) -> None:
    results = [
        Result(RoundId(f"1-{each}"), 1e9 + 100.0 * each, (Side.A, Side.B, None)[each % 3]) for each in range(rounds)
    ]
    lines = [
        Chance(
            ServerId("arena-1"),
            1e9 - 50.0 + 10.0 * each,
            "1-1",
            "koth",
            each,
            0.3 + each % 5 / 10,
            0.2,
            0.8,
            12,
            12,
            cause,
        )
        for each in range(10 * rounds + 5)
        for cause in ("scramble" if each % 15 == 0 else "came",)
    ]
    now = 1e9 + 100.0 * rounds
    drawn = {
        small: str(course(lines[::-1], results[::-1], now, ("red", "blu"), small=small)) for small in (True, False)
    }
    marks = {small: sum(len(re.findall(r"M", path)) for path in WON.findall(text)) for small, text in drawn.items()}
    assert marks == {True: min(rounds, 16), False: rounds}
    assert len(drawn[True]) < 800
    won = [sum(result.winner is side for result in results) for side in Side]
    assert all(f"ounds won{colon} {won[0]} to {won[1]}" in drawn[small] for small, colon in ((True, ":"), (False, "")))


WON = re.compile(r'class="(?:won-[ab]|nobody)" d="([^"]*)"')


@pytest.mark.slow
def test_a_hundred_panels_take_few_reads_and_ten_a_tenth_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, run = 0, Store._run

    async def counting(store: Store, work: Callable[[], object]) -> object:
        nonlocal calls
        calls += 1
        return await run(store, work)

    names = [f"s-{number}" for number in range(100)]
    with running(tmp_path, CONFIG + "".join(_server(tmp_path, name) for name in names)) as daemon:
        for number, name in enumerate(names):
            play(daemon, roster(24, first=1000 * number + 1), server=name, who=name)
        assert len(order(page(daemon, "/"))) == 102
        monkeypatch.setattr(Store, "_run", counting)
        page(daemon, "/")
        # One read for ten servers, and one more for the names of whom their decisions are about.
        assert 10 <= calls <= 25
        calls = 0
        page(daemon, "/?servers=" + ",".join(names[:10]))
        assert 1 <= calls <= 3
