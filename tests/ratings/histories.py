"""Matches with all that a system reads, large random histories, and the comparison of a replay with live rating."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings import replay
from equipoise.ratings.football.system import Kind
from equipoise.ratings.history import History
from equipoise.ratings.system import Match, System
from tests.ratings.joint.samples import joint_matches
from tests.ratings.ns2.samples import busy_matches
from tests.ratings.samples import odd_matches, people
from tests.ratings.trueskill.brute_force import many_teams
from tests.ratings.trueskill2.samples import EVERYTHING, full_matches

DAY = 86_400.0
COUNTRIES = [PlayerId(name) for name in ("NOR", "SWE", "DEN", "FIN", "ISL")]

SLACK = {"errors": 2.0**11, "excess": 2.0**20}
"""How far a field may be off; other numbers 1e-7.  These two of SynElo are in units of 2⁻⁵⁰."""


def agree(live: System[Any], bulk: System[Any], matches: list[Match], history: History | None = None) -> None:
    """Assert that rating one by one and a replay give the same numbers and state, to rounding of exp and erfc."""
    rated = [live.rate(match) for match in matches]
    replayed = replay(bulk, History.of(matches) if history is None else history)
    wins = [win for each in rated for win in each.prediction.wins]
    np.testing.assert_allclose(replayed.wins, wins, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(replayed.draws, [each.prediction.draw for each in rated], rtol=1e-9, atol=1e-9)
    after = [change.after for each in rated for change in each.changes]
    np.testing.assert_allclose(replayed.after, after, rtol=1e-9, atol=1e-6)
    for one, other in ((records(live), records(bulk)), (dict(flat(live.shared())), dict(flat(bulk.shared())))):
        assert one.keys() == other.keys()
        for place, value in one.items():
            slack = next((SLACK[word] for word in place if word in SLACK), 1e-7)
            assert other[place] == value or other[place] == pytest.approx(value, rel=1e-7, abs=slack), place


def records(system: Any) -> dict[tuple[Any, ...], Any]:
    """Every number of every record that a system holds; of TeamSkill also of groups, of `joint` the covariance."""
    if system.sequential:
        held = sorted(system.active.numbers)
        states = {player: system.state(player) for player in held}
        return dict(flat({"players": held, "covariance": system.covariance(held), "states": states}))
    tables = system.learners if hasattr(system, "learners") else {1: system}
    every = {(size, unit): asdict(record) for size, table in tables.items() for unit, record in table.players.items()}
    return dict(flat(every))


def flat(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The numbers in nested mappings and sequences, each with the keys that lead to it."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from flat(part, (*place, key))
    elif isinstance(value, list | tuple | array):
        for number, part in enumerate(value):
            yield from flat(part, (*place, number))
    else:
        yield place, value


def rich_matches(seed: int, count: int) -> Iterator[Match]:
    """Matches of servers, some with fractions played, weights, points and sides; some days have no match."""
    rng = random.Random(seed)
    for number, match in enumerate(odd_matches(seed, count, players=12)):
        known = rng.random() < 0.7
        yield replace(
            match,
            fraction_played={player: rng.random() for player in match.teams[0]} if known else {},
            weight=rng.choice((1.0, 0.5, 2.0)),
            points=(float(rng.randrange(9)), float(rng.randrange(9))) if known else (),
            sides=rng.choice(((), ("home", "away"), ("away", "home"))),
            started_at=None if match.started_at is None else 0.3 * DAY * number,
        )


def internationals(seed: int, count: int) -> Iterator[Match]:
    """Football matches of every kind, with shoot-outs and ties of two legs."""
    rng = random.Random(seed)
    for number in range(count):
        a, b = rng.sample(COUNTRIES, 2)
        goals = (float(rng.randrange(8)), float(rng.randrange(4)))
        order = rng.choice(((0, 1), (1, 0), (0, 0))) if goals[0] == goals[1] or rng.random() < 0.1 else None
        yield Match(
            teams=((a,), (b,)),
            ranks=order or ((0, 1) if goals[0] > goals[1] else (1, 0)),
            points=goals,
            mode=rng.choice([*(kind.value for kind in Kind), "Friendly", "UEFA Euro qualification", "", "Cup"]),
            sides=rng.choice(((), ("home", "away"), ("away", "home"))),
            started_at=None if rng.random() < 0.1 else number * 50 * DAY,
            # What football does not read.
            lineup=((a, PlayerId("bot:1")), (rng.choice(COUNTRIES[:1]),)) if rng.random() < 0.3 and a != "NOR" else (),
            skill_at_start={b: rng.uniform(500, 2500)} if rng.random() < 0.3 else {},
            fraction_played={a: rng.random()} if rng.random() < 0.3 else {},
            weight=rng.choice((1.0, 2.0)),
        )


def fullest(name: str) -> tuple[dict[str, Any], list[Match]]:
    """Parameters that switch a live system on as a whole, and matches with all that it reads."""
    if name == "ns2":
        return {}, list(busy_matches(7, 120, 12))
    if name == "joint":
        return {}, list(joint_matches(2, 60, 12))
    if name == "trueskill2":
        return EVERYTHING, list(full_matches(2, 40))
    if name in ("trueskill", "trueskill_through_time", "weng_lin"):
        return {}, list(many_teams(2, 40, 15))
    return {"k": 3} if name == "teamskill_k" else {}, list(odd_matches(2, 40, 12))


def random_history(count: int, size: int, players: int = 200, times: bool = False, **facts: Any) -> History:
    """A history of `count` matches of `size` a side, without draws; with `facts`, the optional arrays of `History`."""
    rng = np.random.default_rng(4)
    ranks = rng.integers(0, 2, count, dtype=np.int32)
    members = rng.random((count, players), np.float32).argpartition(2 * size, axis=1)[:, : 2 * size]
    return History(
        players=tuple(people(players)),
        matches=2 * np.arange(count + 1),
        teams=size * np.arange(2 * count + 1),
        members=members.astype(np.int32).ravel(),
        ranks=np.stack([ranks, 1 - ranks], 1).ravel(),
        started_at=600.0 * np.arange(count) if times else np.full(count, np.nan),
        **facts,
    )
