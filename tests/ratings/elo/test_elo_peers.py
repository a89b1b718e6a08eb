"""Elo and both Glickos against what other libraries made of the same matches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings import create
from equipoise.ratings.system import Match, System, ranks_of

PEERS = json.loads((Path(__file__).parents[2] / "data" / "elo_peers.json").read_text())
PLAYERS = [PlayerId(name) for name in "abcdef"]


def played(name: str, **params: object) -> System[Any]:
    system = create(name, **params)
    for day, first, second, score in PEERS["matches"]:
        teams = ((PLAYERS[first],), (PLAYERS[second],))
        system.rate(Match(teams=teams, ranks=ranks_of(score), started_at=86_400.0 * day))
    return system


def test_elo_ends_where_riix_does():
    system = played("elo", k=24.0)
    assert [system.skill(player) for player in PLAYERS] == pytest.approx(PEERS["elo"], abs=1e-9)


def test_days_of_glicko_end_where_riix_does():
    system = played("glicko", c=40.0)
    for player, (rating, rd) in zip(PLAYERS, PEERS["glicko"], strict=True):
        assert (system.skill(player), system.uncertainty(player)) == pytest.approx((rating, rd), abs=1e-6)


def test_days_of_glicko2_end_where_the_library_of_that_name_does():
    """Of volatilities it has its own: its f(x) has µ² where the paper has φ², which here shows in no rating."""
    system = played("glicko2")
    for player, (rating, rd) in zip(PLAYERS, PEERS["glicko2"], strict=True):
        assert (system.skill(player), system.uncertainty(player)) == pytest.approx((rating, rd), abs=0.01)
