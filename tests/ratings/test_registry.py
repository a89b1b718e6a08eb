"""Every system is made by its name, and seeds, stores and restores its players."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.parts.points import PointsSystem
from equipoise.ratings.system import Match, SkillContext
from tests.ratings.histories import fullest
from tests.ratings.samples import duel, people


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_name_makes_the_system_of_that_name(name: str) -> None:
    assert create(name).name == name


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RatingError, match=r"^nix: no such rating system; there are elo, .*, synelo"):
        create("nix")


@pytest.mark.parametrize(("wrong", "meant"), [("elo2", "elo"), ("ELO", "elo"), ("true_skill", "trueskill")])
def test_a_misspelt_system_is_refused_with_the_right_name(wrong: str, meant: str) -> None:
    with pytest.raises(RatingError, match=rf"^{wrong}: no such rating system; did you mean {meant}\? There are elo, "):
        create(wrong)


def test_a_misspelt_parameter_is_refused_with_the_right_name() -> None:
    with pytest.raises(RatingError, match=r"^k_mx: no such parameter; did you mean k_max\? There are compression, "):
        create("synelo", k_mx=6)


LIVE = [name for name in SYSTEMS if create(name).live]
TWO_TEAMS = ("elo", "glicko", "glicko2", "ns2", "synelo")


def loaded(code: str) -> set[str]:
    """The modules that a new process has loaded after running the code."""
    code = f"import sys; from equipoise.ratings import create; {code}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_only_the_system_that_is_used_is_loaded() -> None:
    modules = loaded("create('synelo')")
    assert "equipoise.ratings.synelo.system" in modules
    assert "equipoise.ratings.trueskill.system" not in modules


@pytest.mark.slow
def test_rating_a_match_loads_no_numba_and_numpy_only_for_a_matrix() -> None:
    match = "from equipoise.ratings.system import Match; match = Match((('a', 'c'), ('b', 'd')), (0, 1))"
    by_player = [name for name in LIVE if not create(name).sequential]
    assert not loaded(f"{match}; [create(name).rate(match) for name in {by_player}]") & {"numpy", "numba"}
    assert "numba" not in loaded(f"{match}; [create(name).rate(match) for name in {LIVE}]")


@pytest.mark.parametrize("name", LIVE)
def test_a_rating_that_an_admin_sets_is_the_one_that_is_shown(name: str) -> None:
    system = create(name)
    player = PlayerId("76561198000000001")
    wanted = round(system.summary(player).rating + 3)

    system.seed(player, rating=wanted)

    assert system.summary(player).rating == pytest.approx(wanted)


@pytest.mark.parametrize("name", LIVE)
def test_a_live_system_goes_on_from_what_was_stored(name: str) -> None:
    """Players and `shared` parts through JSON, or a snapshot; the next rounds are rated alike."""
    params, matches = fullest(name)
    one, other = create(name, **params), create(name, **params)
    pasts: dict[PlayerId, list[tuple[float, float, float]]] = {}
    for match in matches[:-10]:
        for change in one.rate(match).changes:
            pasts.setdefault(change.player, []).append((change.after, change.expected, change.score))

    if one.sequential:
        other.restore_snapshot(one.snapshot())
    for key, part in json.loads(json.dumps(one.shared())).items():
        other.restore_shared(key, part)
    for player, past in () if one.sequential else pasts.items():
        other.restore(player, json.loads(json.dumps(one.state(player))), past[-other.window :] if other.window else ())
        assert other.summary(player) == one.summary(player)

    for match in matches[-10:]:
        assert other.rate(match) == one.rate(match)
    assert other.shared() == one.shared()


@pytest.mark.parametrize("name", [name for name in LIVE if not (create(name).sequential or create(name).window)])
def test_a_match_changes_its_players_and_its_parts_alone_and_is_undone_by_restoring_them(name: str) -> None:
    params, (*matches, last) = fullest(name)
    system, everybody = create(name, **params), people(15)
    for match in matches:
        system.rate(match)
    for match in (last, replace(last, map="a new map")):
        before, states = system.shared(), {player: system.state(player) for player in everybody}
        parts = system.shared(match)
        system.rate(match)
        after = system.shared()
        assert {key for key in after if after[key] != before.get(key)} == set(parts)
        assert all(before[key] == part for key, part in parts.items() if key in before)
        for player, state in states.items():
            system.restore(player, state)
        for key, part in parts.items():
            system.restore_shared(key, part)
        assert system.shared() == before
        assert {player: system.state(player) for player in everybody} == states


@pytest.mark.parametrize("name", LIVE)
def test_a_match_that_comes_late_does_not_set_back_when_a_player_last_played(name: str) -> None:
    system = create(name)
    for at in (2e9, 1e9, None):
        system.rate(replace(duel("ann", "bob"), started_at=at))
    assert system.summary(PlayerId("ann")).last_played == 2e9


@pytest.mark.parametrize("name", LIVE)
def test_players_are_held_from_their_first_match_until_they_are_forgotten(name: str) -> None:
    system, ann = create(name), PlayerId("ann")
    match = replace(duel("ann", "bob"), map="ns2_veil", mode="koth", started_at=1.7e9)
    newcomer = system.state(ann)

    system.predict(match), system.skill(ann), system.uncertainty(ann), system.summary(ann)
    system.trueskill_quality(match)
    assert ann not in system
    assert dict(system.shared()) == dict(create(name).shared())
    system.rate(match)
    assert ann in system
    assert system.state(ann) != newcomer
    system.forget(ann)
    assert ann not in system
    assert system.state(ann) == newcomer


@pytest.mark.parametrize("name", LIVE)
def test_what_a_system_says_of_itself_is_so(name: str) -> None:
    """Skills are asked for once where they are the same on both sides; a variance only where `rate` has not told it."""
    system, ann, told = create(name), PlayerId("ann"), []
    named = ("red", "blu") if name != "ns2" else ("marines", "aliens")
    for number in range(4):  # a new map, and one that is known; ann is better on one side
        match = Match(
            ((ann,), (PlayerId("bob"),)) if number % 2 else ((PlayerId("bob"),), (ann,)),
            (1 - number % 2, number % 2) if number < 3 else (0, 0),
            map=("koth_a", "koth_b")[number // 2],
            mode="koth",
            sides=named,
            started_at=1.7e9 + 600 * number,
            seconds=300.0,
        )
        before = system.variance(match)
        told.append((system.rate(match).variance, before if system.rates_with_variance else None))
    assert all(said == before for said, before in told), "to the last bit"
    on_sides = {system.skill(ann, SkillContext("koth", "koth_a", side)) for side in named}
    assert (len(on_sides) > 1) == system.by_side


@pytest.mark.parametrize("name", LIVE)
def test_a_match_that_cannot_be_rated_is_refused_and_changes_nothing(name: str) -> None:
    system, people = create(name), [(PlayerId(player),) for player in ("ann", "bob", "cid")]
    wrong = {"not over": Match(tuple(people[:2])), "bot:7": Match((people[0], (PlayerId("bot:7"),)), (0, 1))}
    if name in TWO_TEAMS:
        wrong["two teams"] = Match(tuple(people), (0, 1, 2))
    for reason, match in wrong.items():
        with pytest.raises(RatingError, match=reason):
            system.rate(match)
    assert not any(player in system for (player,) in people)
    assert dict(system.shared()) == dict(create(name).shared())


@pytest.mark.parametrize("name", LIVE)
def test_sides_with_a_bot_are_predicted_although_it_is_never_rated(name: str) -> None:
    system, ann, bob, cid, bot = create(name), *map(PlayerId, ("ann", "bob", "cid", "bot:7"))
    system.seed(ann, rating=system.summary(ann).rating + 5)
    sides = Match(teams=((ann, bob), (cid, bot)), ranks=(0, 1))

    assert 0.5 <= system.predict(sides).expected(0) < 1
    for match in (sides, replace(sides, lineup=((ann, bob), (cid,)))):
        with pytest.raises(RatingError, match="bot:7"):
            system.rate(match)


POINTS_SYSTEMS = [name for name in SYSTEMS if name != "synelo" and isinstance(create(name), PointsSystem)]
"""SynElo's states include a window; `test_synelo_players.py` says which are refused."""
LEAST = {"rating": -1e6, "onset_rating": -1e6, "last_played": -1e12, "surprise": -math.inf}
"""What a stored number is at least; 0 if it is not here."""
POSITIVE = ("variance", "onset_variance", "volatility", "onset_volatility")
"""What is above 0, where the system reads it: Glicko keeps Glicko-2's volatility at 0."""


@pytest.mark.parametrize("name", POINTS_SYSTEMS)
def test_a_stored_number_that_cannot_be_is_refused_by_player_and_field(name: str) -> None:
    system, player, other = create(name), PlayerId("ann"), PlayerId("bob")
    system.seed(player, rounds=3, last_played=1.7e9)
    state = json.loads(json.dumps(system.state(player)))
    system.forget(player)
    for field in state:
        beyond = math.nextafter(LEAST.get(field, 0.0), -math.inf)
        if field in POSITIVE and state[field] > 0.0:
            beyond = 0.0
        for wrong in (math.nan, math.inf, beyond, "1", True, None):
            if wrong is None and field == "last_played":
                continue
            with pytest.raises(RatingError, match=f"{player}: {field}"):
                system.restore(player, {**state, field: {other: wrong} if field == "friendlies" else wrong})
            assert player not in system
    system.restore(player, state)
    assert system.state(player) == state
