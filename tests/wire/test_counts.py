"""What players did in a round, and who played together: what cannot be costs no round."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.core import events
from equipoise.core.model import Counts, PlayerId, Round
from equipoise.errors import ScriptError
from equipoise.wire import decode_batch
from equipoise.wire.batches import MOST_COUNTED
from tests.wire.samples import BLU, BOT, RED, ROUND, body

DONE = {"kills": 7, "deaths": 4, "assists": 2, "points": 15, "suicides": 3, "classes": {"soldier": 20.5, "medic": 9.5}}


def ended(counts: object, **fields: Any) -> Round:
    """A round of 61.5 s, whose second player was on a side for 30 s and did this."""
    players = [ROUND["players"][0], {**ROUND["players"][1], "counts": counts}]
    (ending,) = decode_batch(body({**ROUND, "players": players, **fields})).events
    assert isinstance(ending, events.RoundEnded)
    return ending.round


def test_counts_say_what_a_player_did_and_how_long_they_played_which_class() -> None:
    nobody, counted = (presence.counts for presence in ended(DONE).presences)
    assert nobody is None
    assert counted == Counts(7, 4, 2, 15, {"soldier": 20.5, "medic": 9.5}, 3)
    assert ended({}).presences[1].counts == Counts()


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
    game_round = ended({**DONE, **impossible})
    assert game_round.presences[1].counts is None
    assert game_round.presences[1].seconds_b == 30


def test_a_class_that_this_version_does_not_know_is_ignored_as_any_field() -> None:
    game_round = ended({**DONE, "classes": {"civilian": 10, "spy": 20}})
    assert game_round.presences[1].counts == Counts(7, 4, 2, 15, {"spy": 20.0}, 3)


def test_squads_are_of_those_who_played() -> None:
    stranger = "76561197960287999"
    assert ended(None, squads=[[RED, stranger, BLU], [BOT]]).squads == ((PlayerId(RED), PlayerId(BLU)),)
    assert ended(None, squads=[[RED, stranger], [BLU, BOT]]).squads == ()


def test_a_player_is_in_one_squad() -> None:
    with pytest.raises(ScriptError) as refused:
        ended(None, squads=[[RED, BLU], [BLU]])
    assert (refused.value.code, refused.value.path) == ("twice", "$.events[0].squads[1][0]")
