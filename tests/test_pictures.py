"""The pictures of docs/architecture.md are drawn from the code: `python -m docs.pictures` draws them again."""

from __future__ import annotations

from pathlib import Path

from docs.pictures import layers, round_trip

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def test_the_picture_of_the_layers_shows_the_import_table() -> None:
    assert (FOLDER / "layers.svg").read_text() == layers.draw()


def test_the_picture_of_a_round_is_the_one_that_its_script_draws() -> None:
    assert (FOLDER / "round.svg").read_text() == round_trip.draw()
