"""The pictures of docs/architecture.md are drawn from the code: `python -m docs.pictures` draws them again."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.pictures import layers, readme, round_trip

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def test_the_picture_of_the_layers_shows_the_import_table() -> None:
    assert (FOLDER / "layers.svg").read_text() == layers.draw()


def test_the_picture_of_a_round_is_the_one_that_its_script_draws() -> None:
    assert (FOLDER / "round.svg").read_text() == round_trip.draw()


@pytest.mark.slow  # a whole evening is played
def test_the_picture_of_the_demo_shows_the_teams_of_the_committed_one(tmp_path: Path) -> None:
    # Words, not bytes: another version of rich draws other lines around them.
    readme.demo(tmp_path / "demo.svg")
    drawn, committed = (words(path) for path in (tmp_path / "demo.svg", FOLDER.parent / "demo.svg"))
    assert {"RED", "BLU"} <= committed
    assert drawn == committed


def words(path: Path) -> set[str]:
    return {word for text in ElementTree.parse(path).getroot().itertext() for word in text.split()}
