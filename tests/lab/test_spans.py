"""Spans from CSV: who was when on which side in which role."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from equipoise.core.model import Counts, Hive, PlayerId, Role
from equipoise.lab.reading import read_history
from equipoise.ratings import create, replay
from equipoise.ratings.history import History
from equipoise.ratings.system import Match, Span, ranks_of
from tests.lab import sets
from tests.lab.test_reading import refused

ROLES = {"": Role.FIELD, ":field": Role.FIELD, ":commander": Role.COMMANDER}


def people(extra: str) -> tuple[str, ...]:
    """The set's participants, one of them with another `extra`."""
    return (*sets.PARTICIPANTS[:2], f"m1,2,cid,,,,{extra}", *sets.PARTICIPANTS[3:])


def random_rounds(count: int, seed: int) -> tuple[tuple[str, ...], tuple[str, ...], list[Match]]:
    """Rounds as rows of both files, participants in disorder, and as matches."""
    rng, rounds, rows, matches = Random(seed), list[str](), list[str](), list[Match]()
    for number in range(count):
        names = [PlayerId(f"p{n}") for n in rng.sample(range(14), 6)]
        seconds = rng.randint(300, 1500)
        outcome = rng.choice((1.0, 0.5, 0.0))
        rounds.append(f"m{number},{1e9 + 2000 * number},,,,{outcome},,,,seconds={seconds};side1=marines;side2=aliens")
        spans = {}
        for place, name in enumerate(names):
            texts, played = random_spans(rng, seconds, 1 + place // 3)
            extra = ";".join(rng.sample(["squad=x", *([f"spans={'|'.join(texts)}"] if texts else [])], 1 + bool(texts)))
            rows.append(f"m{number},{1 + place // 3},{name},,,,{extra}")
            spans |= {name: played} if played else {}
        teams = tuple(names[:3]), tuple(names[3:])
        match = Match(teams, ranks_of(outcome), started_at=1e9 + 2000 * number, seconds=seconds, spans=spans)
        matches.append(replace(match, sides=("marines", "aliens")))
    rng.shuffle(rows)
    return tuple(rounds), tuple(rows), matches


def random_spans(rng: Random, seconds: int, team: int) -> tuple[list[str], tuple[Span, ...]]:
    """None to three in any order; some end behind the end of the match, some touch."""
    edges = sorted(rng.choice((rng.randint(0, seconds + 60), round(rng.uniform(0, seconds), 3))) for _ in range(4))
    stretches = rng.choice(([], [(0, 3)], [(0, 1), (1, 2)], [(0, 1), (2, 3)], [(0, 1), (1, 2), (2, 3)]))
    texts, spans = list[str](), list[Span]()
    for first, last in rng.sample(stretches, len(stretches)):
        side, role = rng.choice((team, team, 1, 2)), rng.choice(tuple(ROLES))
        texts.append(f"{side}:{edges[first]}-{edges[last]}{role}")
        spans.append(Span(side - 1, edges[first], edges[last], ROLES[role]))
    return texts, tuple(spans)


def test_a_span_is_a_team_two_times_and_a_role_which_is_the_field_by_default(tmp_path: Path) -> None:
    extra = "squad=x;spans=2:0-300|1:300-610.5:commander|2:700-700:field"
    spans = read_history(*sets.write(tmp_path, people=people(extra))).spans
    assert spans is not None
    assert spans.starts.tolist() == [0, 0, 0, 3, 3, 3, 3, 3, 3, 3]
    assert spans.team.tolist() == [1, 0, 1]
    assert spans.start.tolist() == [0, 300, 700]
    assert spans.end.tolist() == [300, 610.5, 700]
    assert spans.commander.tolist() == [False, True, False]


def test_files_and_matches_say_the_same_of_who_played_when(tmp_path: Path) -> None:
    rounds, rows, matches = random_rounds(60, seed=3)
    read, made = read_history(*sets.write(tmp_path, rounds, rows)), History.of(matches)
    assert read.spans is not None
    assert made.spans is not None

    def spans_by_player(history: History) -> list[list[tuple[object, ...]]]:
        """For each match, all players with their spans."""
        assert history.spans is not None
        each = [getattr(history.spans, name).tolist() for name in ("team", "start", "end", "commander")]
        stretches = list(zip(*each, strict=True))
        starts, begins = history.spans.starts.tolist(), history.teams[::2].tolist()
        names = [history.players[number] for number in history.members]
        folk = [(name, stretches[a:b]) for name, (a, b) in zip(names, pairwise(starts), strict=True)]
        return [sorted(folk[a:b]) for a, b in pairwise(begins)]

    assert spans_by_player(read) == spans_by_player(made)


@pytest.mark.slow
def test_a_replay_of_files_begins_newcomers_with_what_the_game_says_of_them_as_rating_does(tmp_path: Path) -> None:
    rounds, rows, matches = random_rounds(40, seed=11)
    hives = {PlayerId(f"p{n}"): Hive(900.0 + 100 * n, 20.0 * n - 100, 1900.0 - 90 * n) for n in range(14) if n % 4}
    files = sets.write(tmp_path, rounds, rows)
    head, *lines = files[1].read_text().splitlines()
    texts = {name: f"{hive.skill},{hive.offset},{hive.commander}" for name, hive in hives.items()}
    # Of two of them a part alone is known, which counts for nothing.
    texts |= {PlayerId("p4"): "1200,,", PlayerId("p8"): ",10,1300"}
    more = [f"{line},{texts.get(PlayerId(line.split(',')[2]), ',,')}" for line in lines]
    files[1].write_text("\n".join((f"{head},hive_skill,hive_offset,hive_commander", *more)) + "\n")

    history = read_history(*files)
    system, live, blind = (create("ns2", hive_rounds=weight) for weight in (20.0, 20.0, 0.0))
    replay(system, history)
    replay(blind, history)
    for match in matches:
        here = [player for team in match.teams for player in team]
        live.rate(replace(match, counts={player: Counts(hive=hives[player]) for player in here if player in hives}))
    for player in history.players:
        for name, value in live.state(player).items():
            assert system.state(player)[name] == pytest.approx(value, abs=1e-9), name
    assert any(system.skill(player) != blind.skill(player) for player in hives)


WRITTEN = "which is not team:from-to or team:from-to:role (1 or 2, field or commander)"
TURNED = "which is not from a second to a later one up to 10,000,000"
BAD_SPANS = {
    "a third team": ("3:0-300", f"has '3:0-300', {WRITTEN}"),
    "no team": ("0-300", f"has '0-300', {WRITTEN}"),
    "a role nobody has": ("1:0-300:captain", f"has '1:0-300:captain', {WRITTEN}"),
    "a time before the start": ("1:-5-300", f"has '1:-5-300', {WRITTEN}"),
    "a time that is none": ("1:0-nan", f"has '1:0-nan', {WRITTEN}"),
    "digits of another script": ("1:0-٣", f"has '1:0-٣', {WRITTEN}"),
    "nothing between": ("1:0-300||1:400-500", f"has '', {WRITTEN}"),
    "nothing behind": ("1:0-300|", f"has '', {WRITTEN}"),
    "an end before its beginning": ("1:0-5|2:300-200", f"has '2:300-200', {TURNED}"),
    "an end without end": ("1:0-" + "9" * 400, TURNED),
    "two places at once": ("1:0-300|2:299.5-400", "has '2:299.5-400', which begins before another stretch ends"),
    "two places at once, in disorder": ("1:90-300|2:0-91", "has '1:90-300', which begins before another stretch ends"),
}


def test_bad_spans_are_refused_with_file_and_line(tmp_path: Path) -> None:
    for name, (text, reason) in BAD_SPANS.items():
        rows = (*people(f"spans={text}")[:3], "m2,1,cid,,,,spans=1:0-9", *sets.PARTICIPANTS[4:])
        files = sets.write(tmp_path, people=rows)
        said = refused(files)
        assert said.startswith(f"{files[1]}:4: spans '{text[:20]}"), (name, said)
        assert said.endswith(reason), (name, said)
