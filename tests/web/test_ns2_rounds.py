"""Rounds as an NS2 script posts them to a real daemon: what is refused names its place, the rest is kept."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.daemon import Answer, Daemon
from tests.wire.samples import posted

MARINE, ALIEN, BOT = "1001", "1002", "bot:3"
SECONDS = 600


def stay(steam_id: str, side: str, *spans: dict[str, Any]) -> dict[str, Any]:
    return {"id": steam_id, "side": side, "spans": list(spans) or [{"side": side, "from": 0, "to": SECONDS}]}


def ended(**fields: Any) -> dict[str, Any]:
    """A round of one against one, with these fields instead."""
    return {
        "kind": "round_ended",
        "round": "1-1",
        "session": "1-1",
        "map": "ns2_veil",
        "game": "ns2",
        "started_at": 1_763_622_000,
        "seconds": SECONDS,
        "winner": "marines",
        "lineup": [{"id": MARINE, "side": "marines"}, {"id": ALIEN, "side": "aliens"}],
        "players": [stay(MARINE, "marines"), stay(ALIEN, "aliens")],
    } | fields


def post(daemon: Daemon, seq: int, *events: dict[str, Any]) -> Answer:
    return daemon.form(posted(*events, seq=seq, server="ns2-1"))


def span(side: str, begin: float, end: float) -> dict[str, Any]:
    return {"side": side, "from": begin, "to": end}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "path"),
    [
        ([ended(players=[stay(MARINE, "marines", span("marines", 0, 90), span("aliens", 80, 99))])], "spans[1].from"),
        ([ended(players=[stay(MARINE, "marines", span("marines", 0, SECONDS + 1))])], "spans[0].to"),
        ([ended(players=[stay(MARINE, "marines", span("marines", -1, 5))])], "spans[0].from"),
        ([ended(players=[stay(MARINE, "marines", span("marines", float("nan"), 5))])], "spans[0].from"),
        ([ended(players=[stay(MARINE, "marines", span("predators", 0, 5))])], "spans[0].side"),
        ([ended(winner="predators")], "winner"),
        ([{"kind": "side_wanted", "id": MARINE, "side": "predators"}], "side"),
        ([{"kind": "roster", "players": [{"id": MARINE, "side": "none", "commander": True}]}], "players[0].commander"),
        ([{"kind": "roster", "players": [stay("-5", "marines")]}], "players[0].id"),
    ],
    ids=["overlap", "after the end", "before the start", "nan", "side", "winner", "wish", "commander", "id"],
)
def test_what_cannot_have_happened_is_refused_at_its_place_and_the_rest_goes_again(
    daemon: Daemon, events: list[dict[str, Any]], path: str
) -> None:
    answer = post(daemon, 1, {"kind": "heartbeat"}, *events)
    assert answer.code in ("schema", "spans", "commander")
    assert answer.body["error"]["path"].startswith("$.events[1]")
    assert answer.body["error"]["path"].endswith(f".{path}")
    assert daemon.call("GET", "/v1/admin/rounds").body["rounds"] == []

    assert post(daemon, 1, {"kind": "heartbeat"}, ended()).body["rounds"] == {"1-1": "stored"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "unrated"),
    [
        ({"lineup": [{"id": MARINE, "side": "marines"}, {"id": BOT, "side": "aliens"}]}, "no human in the lineup"),
        (
            {
                "seconds": 59.9,
                "players": [
                    stay(MARINE, "marines", span("marines", 0, 59)),
                    stay(ALIEN, "aliens", span("aliens", 0, 59)),
                ],
            },
            "shorter than 60 s",
        ),
        ({"partial": True}, "not seen going live"),
    ],
    ids=["all bots", "short", "partial"],
)
def test_a_round_that_says_nothing_of_skill_is_stored_and_moves_no_rating(
    daemon: Daemon, fields: dict[str, Any], unrated: str
) -> None:
    assert post(daemon, 1, ended(**fields)).body["rounds"] == {"1-1": "stored"}
    (stored,) = daemon.call("GET", "/v1/admin/rounds").body["rounds"]
    assert stored["unrated"].startswith(unrated)
    assert daemon.call("GET", "/v1/admin/pools/main/quality").body["players"]["count"] == 0
