"""The pictures of docs/architecture.md are drawn from the code: `python -m docs.pictures` draws them again."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.pictures import layers, readme, round_trip
from equipoise.demo.run import GameName

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def test_the_picture_of_the_layers_shows_the_import_table() -> None:
    assert (FOLDER / "layers.svg").read_text() == layers.draw()


def test_the_picture_of_a_round_is_the_one_that_its_script_draws() -> None:
    assert (FOLDER / "round.svg").read_text() == round_trip.draw()


@pytest.mark.slow  # a whole evening is played
@pytest.mark.parametrize(
    ("game", "name", "sides"), [("tf2", "demo.svg", {"RED", "BLU"}), ("ns2", "demo-ns2.svg", {"Marines", "Aliens"})]
)
def test_the_picture_of_a_demo_shows_the_teams_of_the_committed_one(
    tmp_path: Path, game: GameName, name: str, sides: set[str]
) -> None:
    # Words, not bytes: another version of rich draws other lines around them.
    readme.demo(tmp_path / name, game)
    drawn, committed = (words(path) for path in (tmp_path / name, FOLDER.parent / name))
    assert sides <= committed
    assert drawn == committed


def words(path: Path) -> set[str]:
    return {word for text in ElementTree.parse(path).getroot().itertext() for word in text.split()}
