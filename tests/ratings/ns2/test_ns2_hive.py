"""NS2's newcomers begin from the game's own skill of them, as far as `hive_rounds` trusts it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from equipoise.core.model import Counts, Hive, PlayerId, Role
from equipoise.errors import RatingError
from equipoise.ratings.system import Match, SkillContext, Span
from tests.ratings.histories import agree, records
from tests.ratings.ns2.samples import busy_matches, ns2, whole
from tests.ratings.samples import people

ANN, BOB, CID, DAN = people(4)
BEST = Hive(3000.0, 200.0, 2000.0)
COMMANDER = SkillContext(role=Role.COMMANDER)


def known(match: Match, hives: dict[PlayerId, Hive | None]) -> Match:
    return replace(match, counts={player: Counts(hive=hive) for player, hive in hives.items()})


def told(seed: int, count: int) -> Iterator[Match]:
    """Rounds of servers where the game knows two players of three, who are another number each time."""
    rng = random.Random(seed)
    for match in busy_matches(seed, count, players=30):
        chosen = [player for team in match.teams for player in team]
        yield known(match, {player: hive(rng) if rng.random() < 0.7 else None for player in chosen})


def hive(rng: random.Random) -> Hive:
    return Hive(rng.uniform(1, 5000), rng.uniform(-500, 500), rng.choice((0.0, rng.uniform(1, 4000))))


def test_as_many_rounds_as_the_shadow_period_make_it_half_of_the_way() -> None:
    system = ns2(hive_rounds=50.0)
    assert system.introduce({ANN: BEST})
    assert system.skill(ANN) == pytest.approx(2000.0)
    assert system.skill(ANN, SkillContext(side="marines")) == pytest.approx(2100.0)
    assert system.skill(ANN, SkillContext(side="aliens")) == pytest.approx(1900.0)
    assert system.skill(ANN, COMMANDER) == pytest.approx(1500.0)
    # Who has never commanded is taken for what they are on the field, as the game itself does.
    system.introduce({BOB: replace(BEST, commander=0.0)})
    assert system.skill(BOB, COMMANDER) == pytest.approx(2000.0)
    assert ns2(hive_rounds=50.0, plus_side="aliens").constants.hive_sign == -1.0
    change = system.rate(known(whole(1, 1), {ANN: BEST})).changes[0]
    assert (change.before, change.rounds) == (pytest.approx(2000.0), 1)
    assert change.after > 2000.0


def test_without_the_key_nothing_changes_to_the_last_bit() -> None:
    with_it, without = ns2(), ns2()
    for match in told(seed=3, count=60):
        with_it.introduce({ANN: BEST})
        assert with_it.rate(match) == without.rate(replace(match, counts={}))
    assert records(with_it) == records(without)
    assert ns2(hive_rounds=0.0, shadow_rounds=0).skill(ANN) == 1000.0


def test_who_is_held_already_stays_as_they_are() -> None:
    system = ns2(hive_rounds=50.0)
    system.seed(ANN, rating=1200.0)
    system.rate(whole(1, 1))
    before = system.skill(ANN), system.skill(BOB)
    system.introduce({ANN: BEST, BOB: BEST})
    assert (system.skill(ANN), system.skill(BOB)) == before
    (ann, bob) = system.rate(known(whole(1, 1), {ANN: BEST, BOB: BEST})).changes
    assert (ann.before, bob.before) == before
    fresh = ns2(hive_rounds=50.0)
    fresh.seed(ANN, rating=1200.0)
    assert fresh.rate(known(whole(1, 1), {ANN: BEST})).changes[0].before == 1200.0, "an admin's word counts more"


def test_a_round_is_rated_by_what_it_says_alone_so_that_a_replay_of_it_is_the_same() -> None:
    """Who was introduced by a roster, and stands in the lineup without taking part, is in no stored round."""
    told_before, never_told = ns2(hive_rounds=50.0), ns2(hive_rounds=50.0)
    told_before.introduce(dict.fromkeys((ANN, BOB, CID, DAN), BEST))
    match = known(replace(whole(1, 1), lineup=((ANN, CID), (BOB, DAN))), {ANN: BEST, BOB: Hive(500.0)})
    assert told_before.rate(match) == never_told.rate(match)
    assert records(told_before) == records(never_told)
    assert CID not in told_before
    told_before.seed(CID, commander=900.0)
    assert told_before.skill(CID) == 1000.0, "an edit is stored, and what it left open must not come from a roster"


def test_what_is_said_before_a_round_knows_the_rosters_newcomers() -> None:
    system = ns2(hive_rounds=50.0)
    match = replace(whole(1, 1), ranks=())
    assert system.predict(match).wins[0] == 0.5
    assert system.introduce({ANN: BEST})
    assert system.predict(match).wins[0] > 0.7
    assert system.predict(known(match, {ANN: Hive(1.0)})).wins[0] < 0.5, "what the round says counts more"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_replay_in_machine_code_begins_as_live_rating_does(seed: int) -> None:
    live, bulk = ns2(hive_rounds=20.0), ns2(hive_rounds=20.0)
    for system in (live, bulk):
        system.seed(ANN, rating=1500.0)
    agree(live, bulk, list(told(seed, 80)))


def test_who_did_not_play_a_second_begins_again_in_a_replay_too() -> None:
    idle = {ANN: (Span(0, 900.0, 900.0),)}
    first = known(replace(whole(2, 2), spans=idle), {ANN: BEST})
    later = known(whole(2, 2), {ANN: Hive(200.0)})
    for matches in ([first, later], [first, replace(later, counts={})]):
        agree(ns2(hive_rounds=50.0), ns2(hive_rounds=50.0), matches)


def test_a_number_that_no_game_has_is_refused_by_name() -> None:
    for wrong in (Hive(-1.0), Hive(1.0, float("nan")), Hive(1.0, 0.0, -5.0)):
        with pytest.raises(RatingError, match=r"hive\."):
            known(whole(1, 1), {ANN: wrong})
