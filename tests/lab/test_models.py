"""Systems as an operator writes them."""

from __future__ import annotations

import pytest

from equipoise.errors import RatingError
from equipoise.lab.models import Model, labels, settings


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
        ("eloo", r"^eloo: no such rating system; did you mean elo\? There are"),
        ("synelo:nix=1", "^synelo: nix: no such parameter; there are"),
        ("synelo:k_mx=1", r"^synelo: k_mx: no such parameter; did you mean k_max\? There are"),
        ("synelo:k_max=0", "^synelo: k_max: 0 is not a whole number from 1 to 1000"),
        ("synelo:k_max=8.5", "^synelo: k_max: 8.5 is not a whole number"),
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
