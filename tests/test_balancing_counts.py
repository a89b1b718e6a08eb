"""What players did in a round, and with whom, reaches the systems that read it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import Counts, Mode, PlayerId, Role, Round, Side, Span
from equipoise.core.participation import participants
from equipoise.ratings import create
from equipoise.ratings.system import System
from tests.core.scripts import finished, presence

ANN, BOB, CID, DAN = map(PlayerId, "abcd")
COUNTS = {
    ANN: Counts(9, 1, 3, 25, {"soldier": 100.0}),
    BOB: Counts(2, 4, 1, 6, {"medic": 60.0, "scout": 40.0}),
    CID: Counts(4, 4, 0, 8, {"spy": 100.0}),
}
"""The script knows nothing of the fourth."""


def a_round(counts: dict[PlayerId, Counts], squads: tuple[tuple[PlayerId, ...], ...] = ()) -> Round:
    seen = [
        presence(player, side, 100.0) for player, side in ((ANN, Side.A), (BOB, Side.A), (CID, Side.B), (DAN, Side.B))
    ]
    round = finished("r1", Side.A, presences=tuple(replace(each, counts=counts.get(each.id)) for each in seen))
    return replace(round, squads=squads)


def rated(system: System[Any], round: Round) -> System[Any]:
    match = match_of(RecordRound(round, participants(round)))
    assert match is not None
    system.rate(match)
    return system


def skills(system: System[Any]) -> list[float]:
    return [system.skill(player) for player in (ANN, BOB, CID, DAN)]


def test_a_match_has_the_counts_and_squads_of_its_round() -> None:
    round = a_round(COUNTS, ((ANN, BOB),))
    match = match_of(RecordRound(round, participants(round)))
    assert match is not None
    assert (match.counts, match.squads) == (COUNTS, ((ANN, BOB),))


def test_counts_move_the_skills_of_a_trueskill2_that_has_weights_for_them() -> None:
    weights = {"kill_own": 1.0, "kill_opponent": -1.0, "death_own": -1.0, "death_opponent": 1.0}
    bare, counted = (skills(rated(create("trueskill2", **weights), a_round(each))) for each in ({}, COUNTS))
    assert bare[0] == pytest.approx(bare[1])
    assert counted[0] > counted[1] + 0.1
    # Without weights, as by default, counts change nothing.
    plain, ignored = (skills(rated(create("trueskill2"), a_round(each))) for each in ({}, COUNTS))
    assert plain == ignored


def test_a_squad_explains_a_part_of_its_win_in_trueskill2() -> None:
    """Who is known to be stronger together proves less alone by winning."""
    together, apart = (
        skills(rated(create("trueskill2", squad_offset=[0.5]), a_round({}, squads))) for squads in (((ANN, BOB),), ())
    )
    assert together[0] < apart[0]
    assert together[2] > apart[2]


def test_joint_standardises_the_rates_of_a_round_by_mode_and_class() -> None:
    joint: Any = rated(create("joint"), a_round(COUNTS))
    standards = joint.active.own.modes["koth"].standards
    assert set(standards.classes) == {"", "soldier", "medic", "scout", "spy"}
    assert standards.players == 3
    off: Any = rated(create("joint", scores=False), a_round(COUNTS))
    assert off.score_map() == ()


def test_in_ns2_the_classes_are_the_roles_in_which_somebody_played() -> None:
    spans = (
        Span(Side.A, 0.0, 60.0, Role.COMMANDER),
        Span(Side.A, 60.0, 70.0, Role.FIELD),
        Span(Side.B, 80.0, 100.0, Role.FIELD),
    )
    ann = replace(presence(ANN, Side.A, 100.0), counts=Counts(3, 1, 0, 8), spans=spans)
    cid = replace(presence(CID, Side.B, 100.0), spans=(Span(Side.B, 0.0, 100.0, Role.FIELD),))
    round = finished("r1", Side.A, presences=(ann, cid), mode=Mode.NS2)
    match = match_of(RecordRound(round, participants(round)))
    assert match is not None
    played = {"commander": 60.0, "marines": 10.0, "aliens": 20.0}
    assert match.counts == {ANN: Counts(3, 1, 0, 8, played)}, "of Cid nothing is known"


def test_classes_that_the_script_counted_stay_where_spans_are_known_too() -> None:
    ann = replace(presence(ANN, Side.A, 100.0), counts=COUNTS[ANN], spans=(Span(Side.A, 0.0, 100.0, Role.FIELD),))
    round = finished("r1", Side.A, presences=(ann, presence(CID, Side.B, 100.0)))
    match = match_of(RecordRound(round, participants(round)))
    assert match is not None
    assert match.counts == {ANN: COUNTS[ANN]}
