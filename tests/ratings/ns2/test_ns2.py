"""NS2 against its formulas, computed here by other means, and against the laws it must keep."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from equipoise.core.model import PlayerId, Role
from equipoise.ratings import fit, replay
from equipoise.ratings.history import History
from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match, SkillContext, Span, ranks_of
from tests.ratings.ns2.samples import SIDES, Naive, busy_matches, ns2, whole
from tests.ratings.samples import people

ANN, BOB, CID, DAN = people(4)
DUEL = whole(1, 1)


def seeded(system: NS2, **skill: float) -> NS2:
    """A system in which Ann has this skill, in points."""
    system.seed(ANN, **skill)
    return system


def chance(system: NS2, match: Match) -> float:
    return system.predict(match).wins[0]


def logit(probability: float) -> float:
    return math.log(probability / (1.0 - probability))


# The formulas.


@pytest.mark.slow
@pytest.mark.parametrize("field_share", [0.0, 0.5, 1.0])
def test_every_round_follows_the_printed_formulas_in_their_right_form(field_share):
    system = ns2(
        commander_field_share=field_share, commander_shape=12.0, median_rounds=7, large_above=6, prior_rounds=5.0
    )
    naive = Naive(system.params)
    for match in busy_matches(seed=1, count=300, players=15):
        rated = system.rate(match)
        assert rated.prediction.wins[0] == pytest.approx(naive.rate(match), abs=1e-12)
        assert sum(rated.prediction.wins) + rated.prediction.draw == 1.0
    for player, skill in naive.skill.items():
        state = system.state(player)
        assert state["skill"] == pytest.approx(skill, abs=1e-11)
        assert state["offset"] == pytest.approx(naive.offset[player], abs=1e-11)
        assert state["commander"] == pytest.approx(naive.chi[player], abs=1e-11)
        assert (state["rounds"], state["last_played"]) == (naive.rounds[player], naive.last_played.get(player))
    assert any(abs(value - system.params.newcomer) > 0.01 for value in naive.chi.values()) or field_share == 1.0


def test_half_the_median_round_counts_twice_its_other_half():
    late = replace(DUEL, teams=((ANN, CID), (BOB,)), spans={ANN: (Span(0, 0, 600),), CID: (Span(0, 600, 1200),)})
    moves = [change.after - change.before for change in ns2(adagrad_rate=0.0).rate(late).changes]
    assert moves[0] == pytest.approx(2 * moves[1])
    assert moves[1] > 0


def test_the_median_looks_back_over_the_last_rounds_and_starts_at_the_usual_length():
    system = ns2(median_rounds=3, usual_seconds=900.0)
    medians = [system.median_seconds]
    for seconds in (600.0, 1000.0, 2000.0, 100.0, 1000.0, 1000.0):
        system.rate(replace(DUEL, seconds=seconds))
        medians.append(system.median_seconds)
    assert medians == [900, 600, 800, 1000, 1000, 1000, 1000]


def test_even_sides_have_half_the_difference_of_their_means_as_log_odds():
    system = seeded(ns2(), rating=1800)
    assert logit(chance(system, whole(4, 4))) == pytest.approx((1200 - 1000) / 2 / 400)


def test_the_larger_side_is_favoured_and_by_how_much_is_normalised_over_both():
    assert logit(chance(ns2(), whole(3, 2))) == pytest.approx((3 - 2) / 5 * 1000 / 400)


def test_an_expected_win_changes_no_skill_and_an_upset_changes_every_one():
    system = seeded(ns2(), rating=50_000)
    smash, upset = whole(2, 2), whole(2, 2, outcome=0.0)
    assert [change.after - change.before for change in system.rate(smash).changes] == pytest.approx([0] * 4, abs=1e-9)
    assert all((change.after > change.before) == (change.team == 1) for change in system.rate(upset).changes)


def test_with_equal_times_and_no_offsets_it_is_logistic_elo_on_means():
    """Elo with base e, scale 2·400 and K = c·400/(2·size)."""
    system = ns2(adagrad_rate=0.0, constant_rate=0.9)
    ratings = dict.fromkeys(people(8), 1000.0)
    for number in range(200):
        outcome = (1.0, 0.0, 1.0, 0.5)[number % 4]
        names = people(8)[number % 3 :] + people(8)[: number % 3]
        a, b = names[:4], names[4:]
        gap = (sum(ratings[p] for p in a) - sum(ratings[p] for p in b)) / 4
        expected = 1.0 / (1.0 + math.exp(-gap / 800))
        system.rate(Match(teams=(tuple(a), tuple(b)), ranks=ranks_of(outcome)))
        for player in names:
            surprise = (outcome - expected) if player in a else (expected - outcome)
            ratings[player] += 0.9 * 400 / 8 * surprise
    assert {player: system.skill(player) for player in ratings} == pytest.approx(ratings)


def test_a_round_that_counts_half_moves_the_constant_part_half_as_far():
    full, half = ns2(adagrad_rate=0.0), ns2(adagrad_rate=0.0)
    whole_step = full.rate(DUEL).changes[0].after - 1000
    assert half.rate(replace(DUEL, weight=0.5)).changes[0].after - 1000 == pytest.approx(whole_step / 2)


@pytest.mark.parametrize("outcome", [1.0, 0.5, 0.0])
def test_a_draw_is_half_a_win(outcome):
    changes = ns2().rate(whole(3, 3, outcome)).changes
    assert [math.copysign(1, c.after - c.before) * (c.after != c.before) for c in changes] == pytest.approx(
        [2 * outcome - 1] * 3 + [1 - 2 * outcome] * 3
    )


# Bots.


def bots(count: int) -> tuple[Span, ...]:
    """So many on both sides in turn, from start to end."""
    return tuple(Span(number % 2, 0.0, 1200.0) for number in range(count))


@pytest.mark.parametrize(
    ("size", "count", "before", "now"),
    [(1, 0, 169, 169), (1, 10, 169, 35), (3, 0, 68, 68), (3, 12, 68, 23), (6, 12, 35, 17), (12, 0, 17, 17)],
)
def test_a_win_among_bots_pays_what_one_among_as_many_people_pays(size, count, before, now):
    """The table of docs/ratings/ns2.md: points of the first win of `size` newcomers a side, among so many bots."""
    played = replace(whole(size, size), bots=bots(count))
    gains = [ns2(bots=on).rate(played).changes[0].after - 1000 for on in (False, True)]
    assert gains == pytest.approx([before, now], abs=0.5)


def test_bots_move_people_exactly_as_newcomers_with_their_times_do_and_stay_newcomers():
    """Bots of any number and time, uneven ones too, against a match in which rated newcomers have their spans."""
    for number, match in enumerate(busy_matches(seed=9, count=60, players=12)):
        match = replace(match, bots=tuple(span for span in match.bots if span.role is Role.FIELD))
        ghosts = [PlayerId(f"ghost {each}") for each in range(len(match.bots))]
        teams = tuple(
            (*team, *(ghost for ghost, span in zip(ghosts, match.bots, strict=True) if span.team == at))
            for at, team in enumerate(match.teams)
        )
        spans = {**match.spans, **{ghost: (span,) for ghost, span in zip(ghosts, match.bots, strict=True)}}
        # Of a match of unknown length the last span of people is the end, and bots make no match a large one.
        match = replace(match, seconds=match.seconds or 900.0)
        with_bots, with_ghosts = (ns2(large_above=1000) for _ in "bg")
        for system in (with_bots, with_ghosts):
            system.seed(match.teams[0][0], rating=1500.0 + number)
        with_bots.rate(match)
        with_ghosts.rate(replace(match, teams=teams, spans=spans, bots=()))
        assert set(with_bots.players) == set(with_ghosts.players) - set(ghosts)
        for player in with_bots.players:
            assert with_bots.state(player) == pytest.approx(with_ghosts.state(player), abs=1e-12)


def test_bots_even_out_sides_of_which_one_has_more_people():
    lonely = whole(3, 1)
    filled = replace(lonely, bots=(Span(1, 0.0, 1200.0), Span(1, 0.0, 1200.0)))
    assert chance(ns2(), lonely) > 0.7
    assert chance(ns2(), filled) == pytest.approx(0.5)


def test_a_bot_in_the_chair_counts_neither_on_the_field_nor_as_a_commander():
    chair = Role.COMMANDER
    spans = {ANN: (Span(0, 0, 1200, chair),), CID: (Span(1, 0, 1200),), DAN: (Span(1, 0, 1200),)}
    match = replace(whole(2, 2), spans=spans)
    alone, beside = ns2(), ns2()
    alone.rate(match)
    beside.rate(replace(match, bots=(Span(1, 0.0, 1200.0, chair),)))
    assert {p: beside.state(p) for p in beside.players} == {p: alone.state(p) for p in alone.players}


def test_bots_make_no_round_a_large_one_and_are_no_time_played():
    system = ns2(large_above=3)
    system.rate(replace(DUEL, map="ns2_veil", bots=bots(20)))
    assert system.shared()["map:ns2_veil"] == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    idle = replace(DUEL, fraction_played={ANN: 0.0, BOB: 0.0}, bots=bots(3))
    before = system.shared()
    assert [change.rounds for change in system.rate(idle).changes] == [1, 1]
    assert system.shared() == before


def rate_all(system: NS2, matches: list[Match]) -> None:
    for match in matches:
        system.rate(match)


@pytest.mark.slow
@pytest.mark.compiles
def test_without_the_parameter_bots_count_for_nothing_in_every_way_of_rating():
    matches = list(busy_matches(seed=4, count=40, players=12))
    bare = [replace(match, bots=()) for match in matches]
    for way in (rate_all, replay, fit):
        off, without = ns2(bots=False), ns2()
        way(off, matches if way is rate_all else History.of(matches))
        way(without, bare if way is rate_all else History.of(bare))
        assert {p: off.state(p) for p in off.players} == {p: without.state(p) for p in without.players}
        assert off.shared() == without.shared()


# Sides.


@pytest.mark.slow
def test_a_newcomers_average_moves_first_and_both_alike_later():
    system = ns2()
    system.rate(DUEL)
    first = system.state(ANN)
    assert first["skill"] - 2.5 > 5 * first["offset"] > 0
    before = {**first, "squares": 1250.0}  # About what 20,000 even rounds leave.
    system.restore(ANN, before)
    system.rate(DUEL)
    after = system.state(ANN)
    assert after["skill"] - before["skill"] < 1.1 * (after["offset"] - before["offset"])


def test_winning_as_marine_and_losing_as_alien_move_the_offset_alike():
    for sides, outcome in ((SIDES, 1.0), (SIDES[::-1], 0.0)):
        system = ns2()
        system.rate(whole(1, 1, outcome, sides=sides))
        assert system.state(ANN)["offset"] > 0
        assert system.state(BOB)["offset"] > 0


def test_the_offset_is_added_for_marines_and_subtracted_for_aliens():
    system = seeded(ns2(), rating=1200, offset=150)
    skills = [system.skill(ANN, SkillContext(side=side)) for side in ("marines", "aliens", "")]
    assert skills == [1350, 1050, 1200]
    assert logit(chance(system, DUEL)) == pytest.approx((1350 - 1000) / 800)
    assert logit(chance(system, replace(DUEL, sides=SIDES[::-1]))) == pytest.approx((1050 - 1000) / 800)
    assert logit(chance(system, replace(DUEL, sides=()))) == pytest.approx((1200 - 1000) / 800)


def test_another_game_has_its_own_plus_side():
    system = seeded(ns2(plus_side="blu"), offset=100)
    assert system.skill(ANN, SkillContext(side="blu")) - system.skill(ANN, SkillContext(side="red")) == 200


def test_sides_of_other_games_have_neither_offset_nor_intercept():
    system = seeded(ns2(), offset=100)
    strange = whole(1, 1, sides=("red", "blu"))
    system.rate(strange)
    assert system.state(ANN)["offset"] == 0.25
    assert "all" not in system.shared()


def test_time_on_both_sides_counts_for_both():
    """Half of a median round as marine and the rest as alien: t is 1/2 and 1/4."""
    system = seeded(ns2(), rating=2000, offset=400)
    switcher = replace(DUEL, spans={ANN: (Span(0, 0, 600), Span(1, 600, 1200)), BOB: (Span(1, 0, 1200),)})
    expected = (0.5 * 2400 - 0.25 * 1600 - 0.75 * 1000) / (0.75 + 0.75) / 400
    assert logit(chance(system, switcher)) == pytest.approx(expected)


# Commanders.

COMMANDED = replace(
    whole(2, 2),
    spans={
        ANN: (Span(0, 0, 1200, Role.COMMANDER),),
        BOB: (Span(0, 0, 1200),),
        CID: (Span(1, 0, 1200, Role.COMMANDER),),
        DAN: (Span(1, 0, 1200),),
    },
)


def test_commanders_differ_by_their_own_skill_over_their_own_time():
    system = seeded(ns2(), rating=5000, commander=1600)
    assert logit(chance(system, COMMANDED)) == pytest.approx((1600 - 1000) / 2 / 400)


def test_commanding_is_not_playing_and_teaches_the_commanders_skill_alone():
    system = ns2()
    system.rate(COMMANDED)
    assert system.state(ANN)["skill"] == 2.5
    assert system.state(ANN)["commander"] > 2.5 > system.state(CID)["commander"]
    assert system.state(BOB)["commander"] == 2.5
    assert system.state(BOB)["skill"] > 2.5 > system.state(DAN)["skill"]


def test_a_short_turn_in_the_chair_weighs_as_much_as_its_time():
    """ANN commands for the first half of a median round, t = 1/2, CID for all of it, 3/4."""
    system = seeded(ns2(), commander=3000)
    spans = {**COMMANDED.spans, ANN: (Span(0, 0, 600, Role.COMMANDER),)}
    expected = (0.5 * 3000 - 0.75 * 1000) / (0.5 + 0.75) / 400
    assert logit(chance(system, replace(COMMANDED, spans=spans))) == pytest.approx(expected)


@pytest.mark.parametrize("gone", [(ANN,), (CID,), (ANN, CID)])
def test_a_team_without_a_commander_drops_the_term(gone):
    system = seeded(ns2(), commander=9000)
    spans = {p: (Span(s[0].team, 0, 1200, Role.FIELD if p in gone else s[0].role),) for p, s in COMMANDED.spans.items()}
    on_field = {0: 2 if ANN in gone else 1, 1: 2 if CID in gone else 1}
    expected = (on_field[0] - on_field[1]) / sum(on_field.values()) * 1000 / 400
    assert logit(chance(system, replace(COMMANDED, spans=spans))) == pytest.approx(expected)


@pytest.mark.parametrize("field_share", [0.0, 0.5, 1.0])
def test_a_commanders_skill_is_mixed_with_field_skill_by_the_field_share(field_share):
    system = seeded(ns2(commander_field_share=field_share), rating=2000, offset=100, commander=1400)
    mixed = (1 - field_share) * 1400 + field_share * 2100
    assert system.skill(ANN, SkillContext(side="marines", role=Role.COMMANDER)) == pytest.approx(mixed)
    assert logit(chance(system, COMMANDED)) == pytest.approx((mixed - 1000) / 2 / 400)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1.0, 60.0])
def test_a_very_short_turn_in_the_chair_makes_the_difference_of_all_of_the_chair(seconds):
    """The term exists or not: p jumps with the first moment of the second commander, and not later."""
    system = seeded(ns2(), commander=3000)
    turn = Span(1, 0, seconds, Role.COMMANDER), Span(1, seconds, 1200)
    weight = (1 - 2 ** (-seconds / 600)) * (seconds > 0)
    duel = (0.75 * 3000 - weight * 1000) / (0.75 + weight) / 400 if weight else 0.0
    on_field = (0.75 - (2 * 0.75 - weight)) / (3 * 0.75 - weight) * 1000 / 400
    match = replace(COMMANDED, spans={**COMMANDED.spans, CID: turn})
    assert logit(chance(system, match)) == pytest.approx(duel + on_field)


# Laws.


def test_a_shift_of_every_skill_changes_nothing_between_sides_of_equal_time():
    system, shifted = ns2(), ns2(shape=9.0)
    for _ in range(30):
        system.rate(whole(3, 3))
        shifted.rate(whole(3, 3))
    assert [shifted.skill(p) - system.skill(p) for p in people(6)] == pytest.approx([600] * 6)


def test_what_one_side_wins_the_other_loses_among_newcomers():
    assert sum(change.after - change.before for change in ns2().rate(whole(5, 5)).changes) == pytest.approx(0)


@pytest.mark.parametrize(
    "match",
    [
        whole(2, 2, seconds=0.0),
        Match(teams=((), ()), ranks=(0, 1)),
        replace(DUEL, spans={ANN: (Span(0, 1300, 1400),), BOB: (Span(1, 7, 7),)}),
        replace(DUEL, fraction_played={ANN: 0.0, BOB: 0.0}),
        replace(DUEL, seconds=40_000.0, spans={ANN: (Span(0, 38_500, 40_000),), BOB: (Span(1, 38_500, 40_000),)}),
    ],
    ids=["zero-length", "nobody", "outside", "no fraction", "after 32 median rounds"],
)
def test_a_round_without_time_played_is_even_and_changes_nothing(match):
    system = seeded(ns2(), rating=2000)
    rated = system.rate(replace(match, started_at=100.0))
    assert rated.prediction.wins == (0.5, 0.5)
    assert all((change.after, change.rounds) == (change.before, 0) for change in rated.changes)
    assert system.shared() == ns2().shared()
    assert (system.summary(ANN).rounds, system.summary(ANN).last_played) == (0, None)


def test_a_round_counts_only_for_those_who_played_in_it():
    system = ns2()
    spans = {ANN: (Span(0, 1200, 1500),), BOB: (Span(0, 60, 60), Span(0, 60, 90, Role.COMMANDER))}
    changes = system.rate(replace(whole(2, 1), spans=spans, started_at=100.0)).changes
    assert [change.rounds for change in changes] == [0, 1, 1]
    assert [system.summary(player).last_played for player in (ANN, BOB, CID)] == [None, 100.0, 100.0]


def test_no_spans_are_all_of_the_round():
    assert chance(ns2(), replace(whole(3, 2), spans={ANN: ()})) == chance(ns2(), whole(3, 2))


def test_a_team_without_players_loses_to_any_player():
    assert chance(ns2(), Match(teams=((ANN,), ()), ranks=(0, 1))) == pytest.approx(1 / (1 + math.exp(-2.5)))
