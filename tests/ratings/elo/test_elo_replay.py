"""The bulk replays of Elo, football and both Glickos give the numbers and the state of rating one by one."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create, replay
from equipoise.ratings.football.system import Kind
from equipoise.ratings.history import History, Replayed
from equipoise.ratings.system import Match
from tests.ratings.samples import duel, odd_matches, people, random_matches

DAY = 86_400.0
COUNTRIES = [PlayerId(name) for name in ("NOR", "SWE", "DEN", "FIN", "ISL")]

SERVERS: list[tuple[str, dict[str, object]]] = [
    ("elo", {}),
    ("elo", {"form": "gaussian", "beta": 90.0, "newcomer": 1.5}),
    ("elo", {"margin_power": 0.7, "win_factor": 1.2, "side_advantage": 55.0}),
    ("elo", {"margin_scale": 1.5, "loss_factor": 0.8}),
    ("glicko", {}),
    ("glicko", {"periods": "match", "c": 10.0}),
    ("glicko2", {}),
    ("glicko2", {"periods": "match", "tau": 1.0}),
]
FOOTBALL = ["world_football_elo", "fifa_men", "fifa_women"]


def rich_matches(seed: int, count: int) -> Iterator[Match]:
    """As servers make them; some have fractions played, weights, points and sides, and some days have no match."""
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


def duels(seed: int, count: int) -> list[Match]:
    return list(random_matches(seed, count, players=9, size=1))


def internationals(seed: int, count: int) -> Iterator[Match]:
    """Every kind of match, shoot-outs and ties of two legs among them."""
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


def agree(live: Any, bulk: Any, matches: list[Match], replayed: Replayed) -> None:
    """Libraries may differ in the last bit of exp; what Glicko-2 solves for, by a little more."""
    rated = [live.rate(match) for match in matches]
    wins = [win for each in rated for win in each.prediction.wins]
    after = [change.after for each in rated for change in each.changes]
    np.testing.assert_allclose(replayed.wins, wins, rtol=0, atol=1e-9)
    np.testing.assert_allclose(replayed.after, after, rtol=0, atol=1e-6)
    assert not replayed.draws.any()
    assert live.players.keys() == bulk.players.keys()
    for player, held in live.players.items():
        fields, others = asdict(held), asdict(bulk.players[player])
        assert fields.pop("friendlies", None) == others.pop("friendlies", None)
        assert fields == pytest.approx(others, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "params"), SERVERS, ids=[f"{name}{params}" for name, params in SERVERS])
@pytest.mark.parametrize("teams", [True, False], ids=["teams", "duels"])
def test_a_replay_gives_the_numbers_and_the_state_of_rating_one_by_one(name, params, teams):
    matches = list(rich_matches(5, 150)) if teams else duels(5, 150)
    live, bulk = create(name, **params), create(name, **params)
    for system in (live, bulk):
        for match in matches[:30]:
            system.rate(match)
    agree(live, bulk, matches[30:], replay(bulk, History.of(matches[30:])))


@pytest.mark.parametrize("params", [{}, {"periods": "match"}, {"period_days": 30.0}], ids=["days", "matches", "months"])
@pytest.mark.parametrize("name", ["glicko", "glicko2"])
def test_thousands_of_duels_are_replayed_as_rated_whatever_their_times(name, params):
    rng = random.Random(8)
    matches = [
        replace(match, started_at=None if rng.random() < 0.02 else 0.1 * DAY * (number + rng.randrange(40)))
        for number, match in enumerate(random_matches(9, 3000, players=40, size=1))
    ]
    live, bulk = create(name, **params), create(name, **params)
    agree(live, bulk, matches, replay(bulk, History.of(matches)))


@pytest.mark.parametrize("name", FOOTBALL)
def test_football_is_replayed_as_rated(name):
    matches = list(internationals(6, 300))
    live, bulk = create(name), create(name)
    for system in (live, bulk):
        for match in matches[:40]:
            system.rate(match)
    agree(live, bulk, matches[40:], replay(bulk, History.of(matches[40:])))


def wild_matches(seed: int, count: int, size: int) -> list[Match]:
    """As far as a match may go: nothing and next to nothing, and the most there is."""
    rng = random.Random(seed)
    return [
        replace(
            match,
            weight=rng.choice((0.0, 5e-324, 1e-200, 1e-50, 1.0, 1e9)),
            fraction_played={match.teams[0][0]: rng.choice((0.0, 5e-324, 1e-300, 1.0))} if rng.random() < 0.3 else {},
            skill_at_start={match.teams[1][0]: rng.choice((-1e9, 1e9))} if rng.random() < 0.2 else {},
            points=rng.choice(((), (1e9, -1e9), (0.0, 1e-300), (3.0, 1.0))),
            started_at=rng.choice((None, -1e12, 1e12, 60.0)),
        )
        for match in random_matches(seed, count, players=8, size=size)
    ]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("elo", {"margin_power": 10.0, "k": 1e6, "win_factor": 100.0, "newcomer": 100.0}),
        ("elo", {"margin_scale": 1e-300, "scale": 0.001, "base": 1000.0}),
        ("elo", {"form": "gaussian", "beta": 0.001}),
        ("glicko", {"rd": 1e4, "c": 1e4, "period_days": 1e-6}),
        ("glicko", {"rd": 1.0, "c": 0.0, "periods": "match"}),
        ("glicko2", {}),
        ("glicko2", {"tau": 10.0, "volatility": 10.0, "rd": 1e4, "periods": "match", "period_days": 1e-6}),
        ("glicko2", {"tau": 0.01, "volatility": 1e-6}),
    ],
)
def test_no_rating_leaves_its_limits_and_every_state_can_be_restored(name, params, size):
    matches = [match for seed in range(8) for match in wild_matches(seed, 40, size)]
    live, bulk, other = (create(name, **params) for _ in range(3))
    for system in (live, bulk):
        system.seed(people(8)[0], rating=1e6)
        system.seed(people(8)[1], rating=-1e6)
    replayed = replay(bulk, History.of(matches))
    rated = [live.rate(match) for match in matches]
    after = [change.after for each in rated for change in each.changes]
    assert max(map(abs, after)) <= 1e6
    np.testing.assert_allclose(replayed.after, after, rtol=1e-7, atol=1e-3)
    np.testing.assert_allclose(replayed.wins, [win for each in rated for win in each.prediction.wins], atol=1e-6)
    for player in people(8):
        other.restore(player, json.loads(json.dumps(live.state(player), allow_nan=False)))
        assert other.held(player) == live.held(player)


@pytest.mark.parametrize("name", ["elo", "glicko", "glicko2"])
def test_duels_are_duels_also_when_their_facts_are_known(name):
    matches = [replace(match, weight=2.0, fraction_played={match.teams[0][0]: 0.5}) for match in duels(7, 100)]
    live, bulk = create(name), create(name)
    agree(live, bulk, matches, replay(bulk, History.of(matches)))


@pytest.mark.parametrize("name", ["elo", "glicko", "glicko2"])
def test_a_hundred_thousand_random_matches_leave_everything_finite(name):
    rng = np.random.default_rng(4)
    count, players = 100_000, 200
    first = rng.integers(0, players, count)
    ranks = rng.integers(0, 2, count)
    history = History(
        players=tuple(people(players)),
        matches=2 * np.arange(count + 1),
        teams=np.arange(2 * count + 1),
        members=np.stack([first, (first + rng.integers(1, players, count)) % players], 1).astype(np.int32).ravel(),
        ranks=np.stack([ranks, 1 - ranks], 1).astype(np.int32).ravel(),
        started_at=600.0 * np.arange(count),
    )
    system = create(name)
    replayed = replay(system, history)
    assert np.isfinite(replayed.after).all()
    assert ((replayed.wins > 0) & (replayed.wins < 1)).all()
    assert all(0 < system.uncertainty(player) <= 360 for player in history.players)


@pytest.mark.parametrize("name", ["elo", "glicko2", *FOOTBALL])
def test_an_empty_history_is_replayed_in_no_time(name):
    assert len(replay(create(name), History.of([])).after) == 0


@pytest.mark.parametrize(
    ("name", "match", "reason"),
    [
        *(
            (name, Match(teams=tuple((player,) for player in people(3)), ranks=(0, 1, 2)), "two teams")
            for name in ("elo", "glicko2", "synelo", "fifa_men")
        ),
        ("fifa_men", duel("ann", "bob"), "needs the goals"),
        ("fifa_women", replace(duel("ann", "bob"), points=(1.5, 0.0)), "goals: 1.5 of match 1"),
        ("world_football_elo", next(random_matches(1, 1, 4, 2)), "one player a side"),
    ],
)
def test_a_history_that_cannot_be_read_is_refused_and_changes_nothing(name, match, reason):
    system = create(name)
    with pytest.raises(RatingError, match=reason):
        replay(system, History.of([match]))
    assert not system.players
