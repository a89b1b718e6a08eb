"""What a round says of its players beside their seconds: spans and commanders, counts, squads.

A round with spans that cannot have been played is refused at their path; counts that cannot be cost no round.
"""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.core import events
from equipoise.core.model import Counts, PlayerId, Presence, Role, Round, Side, Span
from equipoise.errors import ScriptError
from equipoise.wire import decode_batch
from equipoise.wire.batches import MOST_COUNTED
from tests.wire.samples import BLU, BOT, RED, ROUND, body

ALL = {"side": "marines", "from": 0, "to": 61.5}


def ended(*spans: dict[str, Any], game: str = "ns2") -> bytes:
    """A batch with a round of 61.5 s, whose second player has these spans."""
    players = [ROUND["players"][0], {"id": BLU, "side": "aliens", "seconds": {"red": 7}, "spans": list(spans)}]
    return body({"kind": "heartbeat"}, {**ROUND, "game": game, "players": players})


def refused(batch: bytes) -> tuple[str, str | None, str]:
    with pytest.raises(ScriptError) as refusal:
        decode_batch(batch)
    return refusal.value.code, refusal.value.path, str(refusal.value)


def test_spans_say_when_where_and_in_which_role_a_player_played_and_replace_their_seconds() -> None:
    chair = {"side": "aliens", "from": 20.5, "to": 61.5, "role": "commander"}
    batch = decode_batch(ended(chair, {"side": "marines", "from": 0, "to": 20.5}))

    ending = batch.events[1]
    assert isinstance(ending, events.RoundEnded)
    assert ending.round.presences[1] == Presence(
        PlayerId(BLU),
        Side.B,
        20.5,
        41.0,
        fought=False,
        spans=(Span(Side.B, 20.5, 61.5, Role.COMMANDER), Span(Side.A, 0.0, 20.5)),
    )


@pytest.mark.parametrize(
    ("spans", "code", "where", "why"),
    [
        ([{**ALL, "from": 30, "to": 20}], "spans", "[0].to", "ends before it begins, at 30 s"),
        ([{**ALL, "to": 61.6}], "spans", "[0].to", "ends at 61.6 s and the round at 61.5 s"),
        ([{**ALL, "to": 20}, {**ALL, "from": 20, "to": 900}], "spans", "[1].to", "ends at 900.0 s"),
        ([{**ALL, "to": 20}, {**ALL, "from": 19.9, "to": 30}], "spans", "[1].from", "overlaps another"),
        ([{**ALL, "from": 30}, {**ALL, "to": 30.1}], "spans", "[0].from", "ends at 30.1 s"),
        ([ALL, {"side": "aliens", "from": 10, "to": 11, "role": "commander"}], "spans", "[1].from", "overlaps"),
        ([ALL, {**ALL, "side": "none"}], "schema", "[1].side", ""),
        ([ALL, {**ALL, "side": "predators"}], "schema", "[1].side", ""),
        ([ALL, {**ALL, "role": "exo"}], "schema", "[1].role", ""),
        ([ALL, {**ALL, "from": -1}], "schema", "[1].from", ""),
        ([ALL, {"side": "marines", "from": 0}], "schema", "[1]", ""),
    ],
)
def test_spans_that_cannot_have_been_played_are_refused_at_their_path(
    spans: list[dict[str, Any]], code: str, where: str, why: str
) -> None:
    *refusal, text = refused(ended(*spans))
    assert refusal == [code, f"$.events[1].players[1].spans{where}"]
    assert why in text


@pytest.mark.parametrize("game", ["tf2", "other"])
def test_rounds_of_other_games_have_no_spans(game: str) -> None:
    assert refused(ended(ALL, game=game))[:2] == ("spans", "$.events[1].players[1].spans")


def test_spans_may_touch_have_no_length_and_come_in_any_order() -> None:
    ending = decode_batch(ended({**ALL, "from": 30}, {**ALL, "from": 30, "to": 30}, {**ALL, "to": 30})).events[1]
    assert isinstance(ending, events.RoundEnded)
    assert [(span.start, span.end) for span in ending.round.presences[1].spans] == [(30, 61.5), (30, 30), (0, 30)]


def with_bots(*lines: dict[str, Any], game: str = "ns2") -> bytes:
    """A batch with a round of 61.5 s, whose players have lines for bots behind them."""
    return body({**ROUND, "game": game, "players": [*ROUND["players"], *lines]})


def test_bots_have_spans_of_their_own_which_are_kept_as_those_of_all_bots() -> None:
    chair = {"side": "aliens", "from": 1, "to": 30, "role": "commander"}
    lines = {"id": "bot:7", "side": "marines", "spans": [ALL]}, {"id": "bot:9", "side": "aliens", "spans": [chair]}
    (ending,) = decode_batch(with_bots(*lines)).events
    assert isinstance(ending, events.RoundEnded)
    assert ending.round.bots == (Span(Side.A, 0.0, 61.5), Span(Side.B, 1.0, 30.0, Role.COMMANDER))
    (without,) = decode_batch(with_bots()).events
    assert isinstance(without, events.RoundEnded)
    assert without.round.bots == ()


def test_spans_of_bots_that_cannot_have_been_played_are_refused_like_those_of_players() -> None:
    twice = {"id": "bot:7", "side": "marines", "spans": [ALL, {**ALL, "from": 60}]}
    place = f"$.events[0].players[{len(ROUND['players'])}].spans"
    assert refused(with_bots(twice))[:2] == ("spans", f"{place}[1].from")
    assert refused(with_bots(twice, game="tf2"))[:2] == ("spans", place)


@pytest.mark.parametrize("kind", ["roster", "round_started", "round_live"])
def test_a_commander_who_is_on_no_side_is_refused(kind: str) -> None:
    marine = {"id": RED, "side": "marines", "commander": True}
    event = {"kind": kind, "round": "1-4", "players": [marine, {"id": BLU, "side": "none", "commander": True}]}

    assert refused(body(event))[:2] == ("commander", "$.events[0].players[1].commander")
    assert decode_batch(body({**event, "players": [marine]}))


DONE = {"kills": 7, "deaths": 4, "assists": 2, "points": 15, "suicides": 3, "classes": {"soldier": 20.5, "medic": 9.5}}


def counted_in(counts: object, **fields: Any) -> Round:
    """A round of 61.5 s, whose second player was on a side for 30 s and did this."""
    players = [ROUND["players"][0], {**ROUND["players"][1], "counts": counts}]
    (ending,) = decode_batch(body({**ROUND, "players": players, **fields})).events
    assert isinstance(ending, events.RoundEnded)
    return ending.round


def test_counts_say_what_a_player_did_and_how_long_they_played_which_class() -> None:
    nobody, known = (presence.counts for presence in counted_in(DONE).presences)
    assert nobody is None
    assert known == Counts(7, 4, 2, 15, {"soldier": 20.5, "medic": 9.5}, 3)
    assert counted_in({}).presences[1].counts == Counts()


@pytest.mark.parametrize(
    "impossible",
    [
        {"kills": MOST_COUNTED + 1},
        {"points": 2**53},
        {"suicides": MOST_COUNTED + 1},
        {"classes": {"soldier": 31.1}},
        {"classes": {"soldier": 20, "medic": 20}},
    ],
)
def test_counts_that_cannot_be_are_not_known_and_the_round_stays(impossible: dict[str, Any]) -> None:
    game_round = counted_in({**DONE, **impossible})
    assert game_round.presences[1].counts is None
    assert game_round.presences[1].seconds_b == 30


def test_a_class_that_this_version_does_not_know_is_ignored_as_any_field() -> None:
    game_round = counted_in({**DONE, "classes": {"civilian": 10, "spy": 20}})
    assert game_round.presences[1].counts == Counts(7, 4, 2, 15, {"spy": 20.0}, 3)


def test_squads_are_of_those_who_played() -> None:
    stranger = "76561197960287999"
    assert counted_in(None, squads=[[RED, stranger, BLU], [BOT]]).squads == ((PlayerId(RED), PlayerId(BLU)),)
    assert counted_in(None, squads=[[RED, stranger], [BLU, BOT]]).squads == ()


def test_a_player_is_in_one_squad() -> None:
    assert refused(body({**ROUND, "squads": [[RED, BLU], [BLU]]}))[:2] == ("twice", "$.events[0].squads[1][0]")
