"""A history that is made in parts is the one that is made at once."""

from __future__ import annotations

import itertools
from dataclasses import fields

import numpy as np
import pytest

from equipoise.core.model import PlayerId, Role
from equipoise.ratings.history import History, Spans, joined
from equipoise.ratings.system import Counts, Match, Span

ANN, BOB, CAT, BOT = map(PlayerId, ("ann", "bob", "cat", "bot:1"))

MATCHES = [
    Match(((ANN,), (BOB,)), ranks=(0, 1)),
    Match(((CAT,), (BOB,)), ranks=(0, 0), lineup=((CAT, BOT), (BOB, ANN)), map="arena", sides=("red", "blu")),
    Match(((ANN, CAT), (BOB,)), ranks=(1, 0), fraction_played={CAT: 0.5}, quits=frozenset({CAT}), seconds=90.0),
    Match(((BOB,), (CAT,)), ranks=(0, 1), map="well", mode="koth", weight=0.5, skill_at_start={BOB: 1.0}),
    Match(((CAT,), (ANN,)), ranks=(0, 1), map="arena", sides=("blu", "red"), points=(3.0, 1.0), started_at=5.0),
    Match(((ANN, BOB), (CAT,)), ranks=(0, 1), squads=((ANN, BOB),), counts={ANN: Counts(3, 1, 4, 9, {"spy": 8.0})}),
    Match(((CAT,), (ANN,)), ranks=(0, 1), spans={CAT: (Span(0, 0, 9), Span(1, 9, 10, Role.COMMANDER))}, seconds=10.0),
    Match(((CAT,), (ANN,)), ranks=(0, 1), counts={CAT: Counts(1, 2, 0, 1, {"medic": 5.0, "spy": 2.0}), ANN: Counts()}),
    Match(((BOB,), (CAT, ANN)), ranks=(1, 0), spans={CAT: (Span(1, 3, 9.5),), ANN: (Span(1, 0, 4),)}),
    Match(((BOB,), (CAT,)), ranks=(1, 0), bots=(Span(1, 0, 9), Span(0, 3, 9, Role.COMMANDER), Span(1, 9, 10))),
    Match(((ANN,), (CAT,)), ranks=(0, 1), bots=(Span(0, 2, 4),)),
]


def names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 3), (1, 2, 3, 4, 5), (6, 7), (8, 10)])
def test_parts_that_know_different_things_are_joined(cuts: tuple[int, ...]) -> None:
    edges = [0, *cuts, len(MATCHES)]
    parts = [History.of(MATCHES[low:high]) for low, high in itertools.pairwise(edges)]
    whole, found = History.of(MATCHES), joined(parts)
    times = ("spans", "bots")
    pairs = [(name, getattr(whole, name), getattr(found, name)) for name in names(History) if name not in times]
    for kind in times:
        one, other = getattr(whole, kind), getattr(found, kind)
        pairs += [(f"{kind}.{name}", getattr(one, name), getattr(other, name)) for name in names(Spans)]
    for name, one, other in pairs:
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(other, one, err_msg=name)
            assert other.dtype == one.dtype, name
        else:
            assert other == one, name
