"""A replay, whose kernel is compiled, gives the numbers and the end state of rating one by one, of every system.

The live system runs the same function uncompiled, on lists.  So these tests compare what numba and the arrays make of
it, and what is special to a replay: duels, two whole teams, and arrays that hold more than one match.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import SYSTEMS, create, replay
from equipoise.ratings.history import History
from equipoise.ratings.system import Match
from tests.ratings.histories import DAY, agree, internationals, random_history, rich_matches
from tests.ratings.joint.samples import joint_matches
from tests.ratings.ns2.samples import busy_matches
from tests.ratings.samples import duel, odd_matches, people, random_matches
from tests.ratings.trueskill.brute_force import empty_teams, many_teams
from tests.ratings.trueskill2.samples import EVERYTHING, full_matches

SERVERS: list[tuple[str, dict[str, object]]] = [
    ("elo", {}),
    ("elo", {"form": "gaussian", "beta": 90.0, "newcomer": 1.5}),
    ("elo", {"margin_power": 0.7, "win_factor": 1.2, "side_advantage": 55.0}),
    ("elo", {"margin_scale": 1.5, "loss_factor": 0.8}),
    ("elo", {"margin_log": 2.2, "form": "gaussian", "side_advantage": 55.0}),
    ("glicko", {}),
    ("glicko", {"periods": "match", "c": 10.0}),
    ("glicko2", {}),
    ("glicko2", {"periods": "match", "tau": 1.0}),
]


def duels(seed: int, count: int) -> list[Match]:
    return list(random_matches(seed, count, players=9, size=1))


def half_duels() -> list[Match]:
    """Duels with a weight and a fraction played, which the kernel for duels reads too."""
    return [replace(match, weight=2.0, fraction_played={match.teams[0][0]: 0.5}) for match in duels(7, 100)]


def duels_out_of_order() -> list[Match]:
    """Thousands of duels; a player plays again within a period, after it, and at an earlier time."""
    rng = random.Random(8)
    return [
        replace(match, started_at=None if rng.random() < 0.02 else 0.1 * DAY * (number + rng.randrange(40)))
        for number, match in enumerate(random_matches(9, 3000, players=40, size=1))
    ]


def any_teams() -> list[Match]:
    return [*many_teams(seed=4, count=60, players=15), *random_matches(seed=5, count=40, players=15, size=3)]


Case = tuple[str, Mapping[str, object], Callable[[], Iterable[Match]], int]
"""Name and parameters of a system, the matches, and how many of them are rated before the replay."""

CASES: dict[str, Case] = {
    **{f"{name}-{params}": (name, params, lambda: rich_matches(5, 150), 30) for name, params in SERVERS},
    **{f"{name}-{params}-duels": (name, params, lambda: duels(5, 150), 30) for name, params in SERVERS},
    **{f"{name}-half-duels": (name, {}, half_duels, 0) for name in ("elo", "glicko", "glicko2")},
    **{
        f"{name}-{params}-out-of-order": (name, params, duels_out_of_order, 0)
        for name in ("glicko", "glicko2")
        for params in ({}, {"periods": "match"}, {"period_days": 30.0})
    },
    **{
        name: (name, {}, lambda: internationals(6, 300), 40)
        for name in ("world_football_elo", "fifa_men", "fifa_women")
    },
    **{
        f"synelo-{window}-{rounding}": (
            "synelo",
            {"window": window, "rounding": rounding, "k_max": 3, "shadow_rounds": 20, "shadow_cap": 1010.0},
            lambda window=window: odd_matches(seed=window, count=120, players=12),
            30,
        )
        for window in (500, 7, 8)
        for rounding in ("bankers", "none")
    },
    **{
        f"synelo-full-windows-{rounding}": (
            "synelo",
            {"rounding": rounding, "k_max": 2},
            lambda: random_matches(seed=1, count=1500, players=5, size=2),
            0,
        )
        for rounding in ("bankers", "none")
    },
    **{
        f"{name}-{draw}": (name, {"draw_probability": draw}, any_teams, 20)
        for name in ("trueskill", "trueskill_through_time")
        for draw in (0.15, 0.0)
    },
    **{
        f"weng_lin-{params}": ("weng_lin", params, any_teams, 20)
        for params in (
            {},
            {"model": "bradley_terry", "limit_sigma": True},
            {"model": "thurstone_mosteller"},
            {"model": "thurstone_mosteller", "neighbours": 1},
        )
    },
    **{
        f"ns2-{part}": (
            "ns2",
            {"median_rounds": 8, "large_above": 6, "commander_field_share": part},
            lambda: busy_matches(seed=1, count=250, players=15),
            50,
        )
        for part in (0.0, 0.5)
    },
    "trueskill-empty-teams": ("trueskill", {}, lambda: empty_teams(3), 0),
    "trueskill_through_time-empty-teams": ("trueskill_through_time", {}, lambda: empty_teams(3), 0),
    "ns2-bare": ("ns2", {}, lambda: [duel("ann", "bob"), duel("bob", "cid", 0.5), duel("cid", "ann", 0.0)], 0),
    **{
        f"joint-{params}": ("joint", params, lambda: joint_matches(seed=1, count=150), 40)
        for params in ({}, {"active": 6}, {"correlations": False, "drift_days": 0.1})
    },
    "joint-bare": ("joint", {}, lambda: [duel("ann", "bob"), duel("bob", "cid", 0.5), duel("cid", "ann", 0.0)], 0),
    "trueskill2": ("trueskill2", EVERYTHING, lambda: full_matches(seed=1, count=60), 20),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_replay_gives_the_numbers_and_the_state_of_rating_one_by_one(case: str) -> None:
    name, params, make, before = CASES[case]
    live, bulk, matches = create(name, **params), create(name, **params), list(make())
    for system in (live, bulk):
        system.seed(people(1)[0], rating=system.summary(people(1)[0]).rating + 1.0)
        for match in matches[:before]:
            system.rate(match)
    agree(live, bulk, matches[before:])


def test_ratings_far_from_the_initial_one_replay_to_the_last_bit() -> None:
    live, bulk = (create("synelo", window=9, k_max=2) for _ in range(2))
    for system in (live, bulk):
        for number, player in enumerate(people(5)):
            system.seed(player, rating=9_001 + 7_654 * number)
    agree(live, bulk, list(random_matches(seed=8, count=60, players=5, size=2)))


@pytest.mark.parametrize("name", ["trueskill", "trueskill_through_time", "weng_lin"])
def test_two_whole_teams_take_a_shorter_way_to_the_same_numbers(name: str) -> None:
    """Lineups in arrays of their own are summed by themselves; without them there is one sum for both."""
    matches = list(random_matches(seed=6, count=300, players=20, size=4))
    history = History.of(matches)
    for whole in (history, replace(history, lineup=None, lineup_members=None, skill_at_start=None)):
        agree(create(name), create(name), matches, whole)


def wild_matches(seed: int, count: int, size: int) -> list[Match]:
    """Matches with the least and the largest numbers that a match may have."""
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


@pytest.mark.slow
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
def test_no_rating_leaves_its_limits_and_every_state_can_be_restored(name: str, params: Any, size: int) -> None:
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
        assert asdict(other.held(player)) == asdict(live.held(player))  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("elo", 1), ("glicko", 1), ("glicko2", 1), ("synelo", 6), ("trueskill", 6)])
def test_a_hundred_thousand_random_matches_leave_everything_finite(name: str, size: int) -> None:
    for params in ({"rounding": "bankers"}, {"rounding": "none"}) if name == "synelo" else ({},):
        system, least = create(name, **params), {"synelo": 100.0}.get(name, -math.inf)
        uncertain = system.uncertainty(PlayerId("a newcomer"))
        history = random_history(100_000, size, times=size == 1)
        replayed = replay(system, history)
        assert np.isfinite(replayed.after).all()
        assert replayed.after.min() >= least
        assert ((replayed.wins > 0) & (replayed.wins < 1)).all()
        assert all(0 < system.uncertainty(player) <= 1.03 * uncertain for player in history.players)
        summaries = [system.summary(player) for player in history.players]
        assert sum(each.rounds for each in summaries) == 200_000 * size
        assert {each.last_played is None for each in summaries} == {size > 1}


@pytest.mark.compiles
@pytest.mark.parametrize("name", SYSTEMS)
def test_an_empty_history_changes_nothing(name: str) -> None:
    system = create(name)
    replayed = replay(system, History.of([]))
    assert [len(each) for each in (replayed.wins, replayed.draws, replayed.after)] == [0, 0, 0]
    assert PlayerId("ann") not in system


@pytest.mark.parametrize("name", [name for name in SYSTEMS if create(name).live])
def test_players_of_lineups_only_are_not_made(name: str) -> None:
    ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    system = create(name)
    replay(system, History.of([replace(duel("ann", "bob"), lineup=((ann, PlayerId("bot:1")), (cid,)), mode="koth")]))
    assert [player in system for player in (ann, bob, cid)] == [True, True, False]
    assert math.isfinite(system.skill(ann))


@pytest.mark.parametrize(
    ("name", "match", "reason"),
    [
        *(
            (name, Match(teams=tuple((player,) for player in people(3)), ranks=(0, 1, 2)), "two teams")
            for name in ("elo", "glicko2", "synelo", "fifa_men", "ns2", "joint")
        ),
        ("fifa_men", duel("ann", "bob"), "needs the goals"),
        ("fifa_women", replace(duel("ann", "bob"), points=(1.5, 0.0)), "goals: 1.5 of match 1"),
        ("world_football_elo", next(random_matches(1, 1, 4, 2)), "one player a side"),
    ],
)
def test_a_history_that_cannot_be_read_is_refused_and_changes_nothing(name: str, match: Match, reason: str) -> None:
    system = create(name)
    with pytest.raises(RatingError, match=reason):
        replay(system, History.of([match]))
    assert not any(player in system for player in match.teams[0])


class Watched(History):
    """A history that remembers which of its fields were read."""

    def __getattribute__(self, name: str) -> Any:
        if name in OPTIONAL:
            READ.add(name)
        return object.__getattribute__(self, name)


READ: set[str] = set()
OPTIONAL = {name for place in SYSTEMS.values() for name in place.reads} | {"quit", "squad", "spans"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "teamskill_allk_ev" and create(name).live])
def test_a_replay_reads_no_fact_that_its_system_does_not_name(name: str) -> None:
    # What is wrong with a fact in a file stops only the systems that name it. Football copies the whole history.
    history = History.of(list(busy_matches(6, 30, 12) if name == "ns2" else full_matches(8, 40)))
    watched = object.__new__(Watched)
    for each in fields(History):
        object.__setattr__(watched, each.name, getattr(history, each.name))
    READ.clear()
    replay(create(name), watched)
    assert set(SYSTEMS[name].reads) >= READ
