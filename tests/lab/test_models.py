"""Systems as an operator writes them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import RatingError
from equipoise.lab.models import Model, forecast, labels, settings
from equipoise.ratings import create
from equipoise.ratings.history import History, Spans, unpacked
from equipoise.ratings.system import Match
from tests.lab import sets
from tests.ratings.histories import internationals, records, rich_matches
from tests.ratings.ns2.samples import busy_matches
from tests.ratings.samples import random_matches
from tests.ratings.trueskill.brute_force import many_teams
from tests.ratings.trueskill2.samples import full_matches


def test_a_model_written_as_text_reads_back_the_same() -> None:
    model = Model.of("synelo:k_max=2,rounding=none,k_factor_max=50.5")
    assert model.settings == {"k_max": 2, "rounding": "none", "k_factor_max": 50.5}
    assert Model.of(str(model)) == model
    assert model.options() == "--model synelo --set k_max=2 --set rounding=none --set k_factor_max=50.5"


def test_values_of_settings_become_numbers_flags_or_words() -> None:
    read = settings(["a=1", "b=1.5", "c=true", "d=word", "e=-2", "f=nan", "g=x=y"])
    assert read == {"a": 1, "b": 1.5, "c": True, "d": "word", "e": -2, "f": "nan", "g": "x=y"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nix", "nix: no such rating system"),
        ("synelo:k_mx=1", r"^synelo: k_mx: no such parameter; did you mean k_max\? There are"),
        ("synelo:k_max=0", "^synelo: k_max: 0 is not a whole number from 1 to 1000"),
        ("synelo:k_max=nan", "^synelo: k_max: 'nan' is not a whole number"),
        ("synelo:k_max", "^synelo: 'k_max' is not key=value"),
    ],
)
def test_a_model_that_cannot_be_created_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(RatingError, match=reason):
        Model.of(text)


def test_systems_are_called_as_they_are_written_if_that_is_short() -> None:
    assert labels([Model("synelo"), Model("elo", {"k": 40})]) == ["synelo", "elo:k=40"]
    long = {"k": 40, "base": 10.5, "win_factor": 1.25}
    assert labels([Model("elo", long), Model("synelo")]) == ["elo", "synelo"]


def test_systems_that_would_be_called_alike_are_numbered() -> None:
    long = {"k": 40, "base": 10.5, "win_factor": 1.25}
    assert labels([Model("elo", long), Model("synelo"), Model("elo")]) == ["elo #1", "synelo", "elo #2"]


@pytest.mark.parametrize(
    "matches",
    [
        lambda: full_matches(3, 60),
        lambda: rich_matches(4, 60),
        lambda: internationals(5, 60),
        lambda: busy_matches(6, 40, 12),
        lambda: many_teams(seed=7, count=30, players=15),
    ],
)
def test_a_history_is_unpacked_into_matches_that_make_the_same_history(matches: Callable[[], Iterable[Match]]) -> None:
    history = History.of(list(matches()))
    rows = unpacked(history)
    assert rows is not None
    again = History.of(list(rows))
    for each in fields(History):
        one, other = getattr(history, each.name), getattr(again, each.name)
        if isinstance(one, Spans):
            one, other = astuple(one), astuple(other)
        np.testing.assert_equal(other, one, err_msg=each.name)


def test_a_history_with_counts_that_no_match_can_have_is_not_unpacked() -> None:
    history = History.of(list(random_matches(1, 5, players=6, size=2)))
    assert unpacked(replace(history, kills=np.ones(len(history.members)))) is None


@pytest.mark.parametrize("name", ["elo", "synelo", "trueskill2"])
def test_a_short_history_is_rated_as_the_daemon_does_to_the_last_bit(name: str) -> None:
    matches = list(full_matches(8, 80))
    live, made = create(name), forecast(Model(name), History.of(matches))
    rated = [live.rate(match) for match in matches]
    assert made.predicted.tolist() == [each.prediction.expected(0) for each in rated]
    assert made.after is not None
    assert made.after.tolist() == [change.after for each in rated for change in each.changes]
    assert records(made.system) == records(live)


COLD = """
import sys
from click.testing import CliRunner
from equipoise.cli import main
done = CliRunner().invoke(main, ["lab", "backtest", "--matches", sys.argv[1], "--teams", "--model", "elo"])
print("numba" in sys.modules, done.stderr)
"""


@pytest.mark.slow
@pytest.mark.compiles
def test_a_short_history_is_rated_without_numba_and_a_long_one_says_that_it_compiles(tmp_path: Path) -> None:
    # A cache of its own, in which nothing is compiled yet.
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    for count in (200, 11_000):
        path = sets.league(tmp_path, count)
        run = [sys.executable, "-c", COLD, str(path)]
        said.append(subprocess.run(run, env=cold, check=True, capture_output=True, text=True).stdout.strip())
    assert said[0] == "False"
    first, last = said[1].splitlines()
    compiling = "compiling to machine code, once: some 5 to 15 seconds; kept in"
    assert first.startswith(f"True equipoise: {compiling} {tmp_path / 'cache'}")
    assert re.fullmatch(r"equipoise: compiled in \d+\.\d s", last)
