"""The pictures of docs/architecture.md are drawn from the code: `python -m docs.pictures` draws them again."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.pictures import layers, readme, round_trip
from equipoise.cli.demo import GameName
from equipoise.demo.evening import NAMES, SMURF

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def test_the_picture_of_the_layers_shows_the_import_table() -> None:
    assert (FOLDER / "layers.svg").read_text() == layers.draw()


def test_the_picture_of_a_round_is_the_one_that_its_script_draws() -> None:
    assert (FOLDER / "round.svg").read_text() == round_trip.draw()


@pytest.mark.world  # a whole evening is played
@pytest.mark.parametrize(
    ("game", "name", "sides"), [("tf2", "demo.svg", {"RED", "BLU"}), ("ns2", "demo-ns2.svg", {"Marines", "Aliens"})]
)
def test_the_picture_of_a_demo_has_the_words_of_the_committed_one(
    tmp_path: Path, game: GameName, name: str, sides: set[str]
) -> None:
    readme.demo(tmp_path / name, game)
    drawn, committed = (labels(path) for path in (tmp_path / name, FOLDER.parent / name))
    assert sides | {"learning", "rated", "truth", "random", "teams"} <= committed
    assert drawn == committed


def labels(path: Path) -> set[str]:
    """The words of the boards: neither people nor figures, nor what happens below, which last digits of sums decide."""
    boards = takewhile(lambda text: "━" not in text, ElementTree.parse(path).getroot().itertext())
    return {word for text in boards for each in text.split() if (word := each.strip(":")).isalpha()} - {*NAMES, SMURF}
