"""What `joint` holds survives a snapshot, eviction and edits, and stays a covariance."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import replay
from equipoise.ratings.joint.active import grown, new_dense
from equipoise.ratings.joint.formulas import FREE, PLAYER
from equipoise.ratings.joint.observing import BLOCK, absorb
from equipoise.ratings.joint.snapshot import CHECKSUM, MAGIC
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.system import Match, ranks_of
from tests.ratings.histories import random_history
from tests.ratings.joint.samples import joint_matches
from tests.ratings.samples import people, random_matches

PARAMS = {"spread": 0.6, "drift": 0.05, "drift_days": 0.1}


def joint(**params: object) -> Joint:
    return Joint.create(**{**PARAMS, **params})


def healthy(system: Joint) -> None:
    """The covariance is symmetric and positive definite on the rows in use, and the means are finite."""
    dense = system.active.state.dense
    used = np.flatnonzero(dense.kind[: dense.counts[FREE]] != FREE)
    cov = dense.cov[np.ix_(used, used)]
    assert (cov == cov.T).all()
    assert np.isfinite(dense.mean[used]).all()
    assert np.linalg.eigvalsh(cov).min() > 0
    assert len(used) == sum(dense.counts[1:])


@pytest.mark.parametrize("params", [{}, {"active": 6}, {"active": 6, "correlations": False}], ids=str)
def test_a_snapshot_in_the_middle_goes_on_as_if_there_had_been_none(params: dict[str, object]) -> None:
    """Also where players are evicted and return, and are edited and forgotten in between."""
    one, matches, everybody = joint(**params), list(joint_matches(2, 90)), people(14)
    other = joint(**params)

    def edit(system: Joint, number: int) -> None:
        player = everybody[number % 14]
        if number % 10 == 3:
            system.seed(player, rating=900.0)
        if number % 10 == 5:
            system.restore(player, {"rating": 1200.0, "deviation": 300.0, "rounds": 7, "last_played": None})
        if number % 25 == 20:
            system.forget(player)

    for number, match in enumerate(matches):
        if number % 30 == 17:
            data = other.snapshot()
            other = joint(**params)
            other.restore_snapshot(data)
            assert other.snapshot() == data
        for system in (one, other):
            edit(system, number)
        assert one.rate(match) == other.rate(match)
    assert one.snapshot() == other.snapshot()
    assert one.covariance(everybody) == other.covariance(everybody)


def test_a_snapshot_that_is_damaged_or_of_other_parameters_is_refused_and_changes_nothing() -> None:
    system = joint()
    for match in joint_matches(3, 5):
        system.rate(match)
    data, before = system.snapshot(), system.snapshot()
    for wrong in (b"", data[:-1], data[:40], b"x" + data, data[:200] + bytes([data[200] ^ 1]) + data[201:]):
        with pytest.raises(RatingError, match="snapshot"):
            system.restore_snapshot(wrong)
    with pytest.raises(RatingError, match="other parameters"):
        joint(spread=0.61).restore_snapshot(data)
    assert system.snapshot() == before
    joint(scale=600.0, stale_days=3.0).restore_snapshot(data)


def test_a_whole_snapshot_that_another_version_wrote_is_refused_and_changes_nothing() -> None:
    """It may lack what this one reads, or have it in another shape; the daemon begins with an older one, then."""
    system = joint()
    for match in joint_matches(3, 5):
        system.rate(match)
    data = system.snapshot()
    start = len(MAGIC) + 8
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    header = json.loads(data[start:end])
    for key in header.keys() - {"parameters"}:
        for other in ({}, {key: None}, {key: [1]}, {key: {"modes": []}}):
            text = json.dumps({name: header[name] for name in header if name != key} | other).encode()
            body = MAGIC + len(text).to_bytes(8, "little") + text + data[end:-CHECKSUM]
            with pytest.raises(RatingError, match="snapshot"):
                system.restore_snapshot(body + blake2b(body, digest_size=CHECKSUM).digest())
    assert system.snapshot() == data


def test_a_player_who_was_edited_or_gave_way_is_as_they_are_known_and_no_newcomer() -> None:
    """What newcomers turn out to be worth from then on does not touch them; who was reset is a newcomer again."""
    system, (edited, parked, reset, *others) = joint(active=6, drift=0.0, drift_days=0.0), people(60)
    system.rate(Match(((parked, reset), (others[0], others[1])), (0, 1)))
    system.seed(edited, rating=1100.0)
    for number in range(40):
        strong, weak = others[2 * (number % 2) : 2 * (number % 2) + 2], others[number + 4 : number + 6]
        system.rate(Match((tuple(strong), tuple(weak)), (0, 1)))
        if number == 0:
            known = system.skill(parked), system.deviation(parked)
    system.forget(reset)
    assert (system.skill(parked), system.deviation(parked)) == known
    assert system.skill(edited) == 1100.0
    assert system.deviation(edited) == pytest.approx(0.6 * 2400.0)
    assert system.skill(reset) == system.skill(PlayerId("stranger")) < 900.0


def test_who_gives_way_keeps_mean_and_variance_and_returns_without_correlations() -> None:
    system, (ann, bob, cid, dan, *others) = joint(active=4, drift=0.0, drift_days=0.0), people(8)
    for number in range(9):
        system.rate(Match(((ann, bob), (cid, dan)), ranks_of(number % 3 > 0)))
    system.rate(Match(((ann,), (bob,)), (0, 1)))
    known = {player: (system.skill(player), system.deviation(player)) for player in (cid, dan)}
    assert system.covariance([ann, cid])[0][1] != 0
    system.rate(Match(((others[0],), (others[1],)), (0, 1)))
    assert {player: (system.skill(player), system.deviation(player)) for player in (cid, dan)} == known
    assert system.covariance([ann, cid])[0][1] == 0
    assert system.covariance([ann, bob])[0][1] != 0
    system.rate(Match(((cid,), (others[0],)), (0, 1)))
    assert cid in system
    assert system.deviation(cid) < known[cid][1]


def test_more_players_at_once_than_are_active_are_all_rated() -> None:
    system, everybody = joint(active=2), people(10)
    system.rate(Match((tuple(everybody[:5]), tuple(everybody[5:])), (0, 1)))
    system.rate(Match((tuple(everybody[:2]), tuple(everybody[5:7])), (1, 0)))
    assert system.active.state.dense.counts[PLAYER] == 10
    assert all(system.summary(player).rounds for player in everybody)


def test_a_rating_that_is_shown_is_the_one_after_the_own_last_round() -> None:
    """Rounds of others move what is known of a player, and so their skill."""
    system, (ann, bob, cid) = joint(), people(3)
    system.rate(Match(((ann, bob), (cid,)), (0, 1)))
    shown, state = system.summary(ann).rating, system.state(ann)
    system.rate(Match(((bob,), (cid,)), (1, 0)))
    assert system.summary(ann).rating == shown == state["rating"] == system.state(ann)["rating"]
    assert system.summary(ann).skill == system.skill(ann) != shown


def test_an_edit_of_the_rating_moves_one_player_and_keeps_what_is_known() -> None:
    system, (ann, bob) = joint(), people(2)
    for number in range(5):
        system.rate(Match(((ann,), (bob,)), ranks_of(number % 2)))
    other, cov = system.skill(bob), system.covariance([ann, bob])
    system.seed(ann, rating=1500.0)
    assert (system.skill(ann), system.skill(bob)) == (pytest.approx(1500.0), other)
    assert system.covariance([ann, bob]) == cov
    system.seed(ann, deviation=100.0)
    assert system.covariance([ann, bob]) == [[pytest.approx(1e4), 0.0], [0.0, cov[1][1]]]
    healthy(system)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rating", math.nan),
        ("rating", 2e6),
        ("deviation", -1.0),
        ("deviation", 1e9),
        ("rounds", 1.5),
        ("last_played", "x"),
    ],
)
def test_a_state_with_a_number_that_cannot_be_is_refused(field: str, value: object) -> None:
    system, ann = joint(), PlayerId("ann")
    with pytest.raises(RatingError, match=f"ann: {field}"):
        system.restore(ann, {**system.state(ann), field: value})
    assert ann not in system


CORNERS = st.fixed_dictionaries(
    {
        "weight": st.sampled_from([0.0, 5e-324, 1e-50, 1.0, 1e9]),
        "score": st.sampled_from([1.0, 0.5, 0.0]),
        "part": st.sampled_from([0.0, 5e-324, 0.3, 1.0]),
        "rating": st.sampled_from([None, -1e6, 1e6, 1000.0]),
        "deviation": st.sampled_from([None, 0.0, 48_000.0]),
        "at": st.sampled_from([None, -1e12, 0.0, 1e12]),
        "seed": st.integers(0, 99),
    }
)


@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(st.lists(CORNERS, min_size=1, max_size=12), st.booleans(), st.sampled_from([0.001, 0.25, 20.0]))
def test_whatever_is_rated_the_covariance_stays_one(rounds: list, correlations: bool, spread: float) -> None:
    """Weights from 0 to 10⁹, ratings and deviations at their limits, draws only, times far apart."""
    system, everybody = joint(spread=spread, correlations=correlations, active=5), people(8)
    for each in rounds:
        order = random.Random(each["seed"]).sample(everybody, 5)
        seeds = {name: each[name] for name in ("rating", "deviation") if each[name] is not None}
        system.seed(order[0], **seeds)
        match = Match(
            (tuple(order[:2]), tuple(order[2:])),
            ranks_of(each["score"]),
            weight=each["weight"],
            fraction_played={order[1]: each["part"]},
            started_at=each["at"],
            sides=("a", "b"),
        )
        assert 0.0 <= system.rate(match).prediction.wins[0] <= 1.0
        healthy(system)
    assert all(math.isfinite(system.skill(player)) and system.deviation(player) >= 0 for player in everybody)


def test_a_match_of_weight_nought_teaches_nothing() -> None:
    system, (ann, bob) = joint(drift=0.0), people(2)
    system.rate(replace(Match(((ann,), (bob,)), (0, 1)), weight=0.0))
    assert system.skill(ann) == system.skill(bob) == 1000.0
    assert system.summary(ann).rounds == 1


@pytest.mark.world
def test_a_hundred_thousand_rounds_leave_a_covariance() -> None:
    """Without drift, so that nothing but rounding keeps it from vanishing; also draws only."""
    history = random_history(100_000, 6, players=40)
    for ranks in (history.ranks, np.zeros_like(history.ranks)):
        system = joint(drift=0.0, drift_days=0.0, active=30)
        replay(system, replace(history, ranks=ranks))
        healthy(system)


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(st.integers(0, 10_000), st.booleans())
def test_what_was_absorbed_of_each_is_what_bayes_says(seed: int, correlations: bool) -> None:
    """By the precision matrix; a negative precision takes back what was absorbed before."""
    rng, system, everybody = np.random.default_rng(seed), joint(correlations=correlations), people(6)
    for match in random_matches(seed, 12, 6, 2):
        system.rate(match)
    dense = system.active.state.dense
    used = int(dense.counts[FREE])
    rows = np.array([system.active.state.players.row[system.active.number(player)] for player in everybody[:4]])
    mean, cov = dense.mean[:used].copy(), dense.cov[:used, :used].copy()
    precision, shift = rng.exponential(3.0, 4), rng.normal(0, 2, 4)
    absorb(dense, rows, precision, shift, correlated=correlations)
    inverse = np.linalg.inv(cov)
    inverse[rows, rows] += precision
    wanted = np.linalg.inv(inverse)
    moved = np.zeros(used)
    moved[rows] = shift
    np.testing.assert_allclose(dense.mean[:used], wanted @ (np.linalg.solve(cov, mean) + moved), atol=1e-9)
    np.testing.assert_allclose(dense.cov[:used, :used], wanted, atol=1e-9)
    healthy(system)
    absorb(dense, rows, -precision, -shift, correlated=correlations)
    np.testing.assert_allclose(dense.mean[:used], mean, atol=1e-9)
    np.testing.assert_allclose(dense.cov[:used, :used], cov, atol=1e-9)


@pytest.mark.parametrize("rows", [25, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_what_is_absorbed_leaves_the_covariance_symmetric_to_the_last_bit(rows: int) -> None:
    """Whatever kernel the processor has for products of matrices: a snapshot keeps one half."""
    rng = np.random.default_rng(rows)
    dense = grown(new_dense(0.0, 1.0, 1.0), rows - 1)
    dense.counts[FREE] = rows
    root = rng.normal(size=(rows, rows))
    dense.cov[:rows, :rows] = np.tril(root @ root.T) + np.tril(root @ root.T, -1).T
    before = dense.cov[:rows, :rows].copy()
    seen = rng.choice(rows, 12, replace=False)
    precision, shift = rng.exponential(3.0, 12), rng.normal(0, 2, 12)
    absorb(dense, seen, precision, shift, correlated=True)
    cov = dense.cov[:rows, :rows]
    assert (cov == cov.T).all()
    reach = before[seen]
    gain = np.linalg.solve(np.diag(1 / precision) + reach[:, seen], reach)
    np.testing.assert_allclose(cov, before - reach.T @ gain, atol=1e-9)
