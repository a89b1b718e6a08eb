"""TeamSkill over each base: groups that are rated as units, and teams made of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create
from equipoise.ratings.system import Match
from equipoise.ratings.teamskill.groups import coefficient, groups_of
from equipoise.ratings.teamskill.system import TeamSkillAllKEV, TeamSkillAllKLS, TeamSkillK
from tests.ratings.samples import ANN, BOB, CID, DAN, odd_matches, people, random_matches

BASES = ("elo", "glicko", "trueskill")
KINDS = ("teamskill_k", "teamskill_allk_ls", "teamskill_allk_ev")
PAIRS = Match(teams=((ANN, BOB), (CID, DAN)), ranks=(0, 1))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("kind", "one"), [("teamskill_k", "k"), *((kind, "largest") for kind in KINDS[1:])])
def test_groups_of_one_are_the_base_system(kind, one, base):
    """Also where lineups predict that are not learnt from, of other players, whose skills at the start are known."""
    system, alone = create(kind, base=base, **{one: 1}), create(base)
    matches = [*random_matches(seed=3, count=60, players=12, size=3), *odd_matches(seed=4, count=60, players=12)]
    for match in matches[: 120 if one == "k" else 60]:
        rated, expected = system.rate(match), alone.rate(match)
        assert rated.prediction.wins == pytest.approx(expected.prediction.wins, abs=0.02 if one == "largest" else 1e-9)
        assert [c.after for c in rated.changes] == pytest.approx([c.after for c in expected.changes], abs=1e-6)
    for player in people(12):
        assert system.skill(player) == pytest.approx(alone.skill(player), abs=1e-6)
        assert system.uncertainty(player) == pytest.approx(alone.uncertainty(player), abs=1e-6)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_that_wins_only_together_is_worth_more_than_its_players(kind, base):
    system, (eve, fay) = create(kind, base=base), people(2)
    for _ in range(4):
        system.rate(PAIRS)
        system.rate(Match(teams=((ANN, CID), (eve, fay)), ranks=(1, 0)))
        system.rate(Match(teams=((BOB, DAN), (eve, fay)), ranks=(1, 0)))
    assert system.strength((ANN, BOB)) > system.skill(ANN) + system.skill(BOB)
    assert system.predict(PAIRS).wins[0] > create(base).predict(PAIRS).wins[0]


def test_a_team_is_k_over_k_times_the_mean_of_its_groups():
    system, team = TeamSkillK.create(base="elo", k=2), tuple(people(5))
    for number, group in enumerate(groups_of(team, 2)):
        system.learner(2).seed(group, rating=1000.0 + 10 * number)
    pairs = [2 * (1000.0 + 10 * number) for number in range(10)]
    assert system.strength(team) == pytest.approx(5 / 2 * sum(pairs) / 10)
    assert system.strength(team) == pytest.approx(coefficient(5, 2) * sum(pairs))


def test_the_slides_example_of_largest_subsets():
    system = TeamSkillAllKLS.create(base="elo", largest=4, reliable=2)
    a, b, c, d = (PlayerId(name) for name in "abcd")
    for group, rating in {"b+c+d": 1300.0, "a+c": 1100.0, "a+d": 900.0, "a": 5000.0, "b+c": 5000.0}.items():
        system.learner(group.count("+") + 1).seed(PlayerId(group), rating=rating, rounds=2)
    system.learner(2).seed(PlayerId("a+b"), rating=5000.0, rounds=1)
    expected = 4 / (3 + 2) * (3 * 1300.0 + (2 * 1100.0 + 2 * 900.0) / 2)
    assert system.strength((a, b, c, d)) == pytest.approx(expected)


def test_a_player_in_no_reliable_group_counts_alone():
    system = TeamSkillAllKLS.create(base="elo", reliable=1)
    system.learner(2).seed(PlayerId("ann+bob"), rating=1200.0, rounds=1)
    system.seed(CID, rating=900.0)
    assert system.strength((ANN, BOB, CID)) == pytest.approx(3 / (2 + 1) * (2 * 1200.0 + 900.0))


def test_ev_counts_all_players_and_all_reliable_groups():
    system = TeamSkillAllKEV.create(base="elo", reliable=1)
    system.learner(2).seed(PlayerId("ann+bob"), rating=1200.0, rounds=1)
    system.seed(CID, rating=900.0)
    singles = (2 * system.skill(ANN) + 900.0) / 3
    assert system.strength((ANN, BOB, CID)) == pytest.approx(3 / (2 + 1) * (2 * 1200.0 + singles))


def test_a_new_group_is_as_good_as_so_many_newcomers():
    for base in BASES:
        system = TeamSkillK.create(base=base, k=3)
        assert system.strength((ANN, BOB, CID)) == pytest.approx(3 * system.skill(ANN))
        assert system.predict(Match(teams=(tuple(people(6)[:3]), tuple(people(6)[3:])))).expected(0) == pytest.approx(
            0.5
        )


def test_a_team_smaller_than_k_makes_all_groups_smaller():
    system = TeamSkillK.create(base="elo", k=3)
    system.rate(Match(teams=((ANN,), (BOB, CID, DAN)), ranks=(0, 1)))
    assert system.shared() == {}
    system.rate(PAIRS)
    assert set(system.shared()) == {"ann+bob", "cid+dan"}


def test_forgetting_a_player_leaves_their_groups():
    system = TeamSkillK.create()
    system.rate(PAIRS)
    system.forget(ANN)
    assert ANN not in system
    assert "ann+bob" in system.shared()


def test_large_teams_leave_out_sizes_that_have_too_many_groups():
    system = TeamSkillAllKLS.create(base="elo", largest=4)
    everybody = people(50)
    system.rate(Match(teams=(tuple(everybody[:25]), tuple(everybody[25:])), ranks=(0, 1)))
    assert Counter(group.count("+") + 1 for group in system.shared()) == {2: 600, 3: 4600}


def test_a_match_that_is_refused_has_no_parts_to_list():
    everybody = people(60)
    crowd = Match(teams=(tuple(everybody[:30]), tuple(everybody[30:])), ranks=(0, 1))
    assert create("teamskill_k", k=12).shared(crowd) == {}


@pytest.mark.parametrize("state", [("ann", {}), ("", {}), ("ann+bob", 3), ("ann+bob", {"rating": 1})])
def test_a_foreign_shared_part_is_refused_and_changes_nothing(state):
    system = TeamSkillK.create(base="elo")
    system.rate(PAIRS)
    before = system.shared()
    with pytest.raises(RatingError):
        system.restore_shared(*state)
    assert system.shared() == before


@pytest.mark.parametrize(("kind", "base"), list(zip(KINDS, BASES, strict=True)))
def test_the_ids_of_players_make_no_difference(kind, base):
    """Ids that look like group ids, that differ only in where a plus is, and that look like an escaped plus."""
    names = ["a", "a%2Bb", "a+b", "a+b+c", "b", "b+c", "c", "%", "%25", "+", "++"]
    called = dict(zip(sorted(people(11)), map(PlayerId, sorted(names)), strict=True))
    plain, odd = (create(kind, base=base, **({"reliable": 1} if "all" in kind else {})) for _ in range(2))
    restored = create(kind, base=base, **({"reliable": 1} if "all" in kind else {}))
    for match in odd_matches(seed=11, count=40, players=11):
        side = [tuple(called.get(player, player) for player in each) for each in (*match.teams, *match.lineup)]
        fraction_played = dict.fromkeys(match.teams[0][:1], 0.5)
        renamed = replace(
            match,
            teams=tuple(side[:2]),
            lineup=tuple(side[2:]),
            skill_at_start={called[player]: skill for player, skill in match.skill_at_start.items()},
            fraction_played={called[player]: each for player, each in fraction_played.items()},
        )
        one, other = plain.rate(replace(match, fraction_played=fraction_played)), odd.rate(renamed)
        assert other.prediction.wins == pytest.approx(one.prediction.wins, rel=1e-12)
        assert [each.after for each in other.changes] == pytest.approx([each.after for each in one.changes], rel=1e-12)
    assert len(odd.shared()) == len(plain.shared())
    for key, part in json.loads(json.dumps(odd.shared())).items():
        restored.restore_shared(key, part)
    assert restored.shared() == odd.shared()
    for player in called.values():
        restored.restore(player, odd.state(player))
    sides = Match(teams=(tuple(map(PlayerId, ("a+b", "c", "+"))), tuple(map(PlayerId, ("a", "b+c", "%")))))
    assert restored.predict(sides) == odd.predict(sides)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_players_of_small_deviation_can_be_predicted(kind):
    system = create(kind, base="glicko", settings={"rd": 1.0, "c": 0.0}, reliable=1)
    for number in range(5):
        system.rate(replace(PAIRS, ranks=(number % 2, 1 - number % 2)))
    assert system.uncertainty(ANN) < 1
    assert system.predict(PAIRS).expected(0) == pytest.approx(0.5, abs=0.01)


def test_players_far_beyond_what_can_be_seeded_are_predicted_by_their_skills_at_the_start():
    for kind in KINDS[1:]:
        for base in BASES:
            far = replace(PAIRS, skill_at_start={ANN: 1e9, CID: -1e9})
            assert create(kind, base=base).predict(far).wins[0] > 0.999
