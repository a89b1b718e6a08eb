"""The documents declare each of their command lines, and the walk runs what is declared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.walk import blocks, scenario
from tests.walk.__main__ import FIRST, FURTHER, MACHINE, UPGRADE


def test_every_block_of_command_lines_is_declared() -> None:
    assert {block.place.partition(":")[0] for name in blocks.DOCUMENTS for block in blocks.blocks(name)} >= {
        "README.md",
        "docs/operations.md",
    }


def test_the_walk_has_a_place_for_every_step_that_a_document_declares() -> None:
    walked = set(re.findall(r'walk\.type\(\w+, "([\w-]+)"\)', Path(scenario.__file__).read_text()))
    assert walked == set(blocks.steps())


def test_three_commands_make_the_first_server_one_each_further_two_a_further_machine_and_one_an_upgrade() -> None:
    steps, all_named = blocks.steps(), (FIRST, FURTHER, MACHINE, UPGRADE)
    counts = [sum(len(b.commands()) for step in named for b in steps[step]) for named in all_named]
    assert counts == [3, 1, 2, 1]


@pytest.mark.parametrize(
    ("before", "wrong"),
    [
        ("", "must declare it"),
        ("<!-- walk: add, perhaps -->\n", "no declaration"),
        ("<!-- not walked: no -->\n", "no declaration"),
        ("<!-- walk: add -->\n\n", "must declare it"),
    ],
)
def test_a_block_without_a_declaration_is_named(
    before: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "ROOT", tmp_path)
    (tmp_path / "x.md").write_text(f"# Title\n\n{before}```sh\nls\n```\n")
    with pytest.raises(ValueError, match=wrong) as raised:
        list(blocks.blocks("x.md"))
    assert str(raised.value).startswith("x.md:")


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a\nb # why\n# c", ["a", "b # why"]),
        ("a && b", ["a", "b"]),
        ("a \\\n  --b", ["a --b"]),
        ("a <<'END'\nx\ny\nEND\nb", ["a <<'END'", "b"]),
    ],
)
def test_commands_are_counted_as_a_person_types_them(text: str, commands: list[str]) -> None:
    assert blocks.Block("x.md:1", text).commands() == commands


def test_outcomes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "ROOT", tmp_path)
    (tmp_path / "x.md").write_text(
        '1. Do\n\n   <!-- walk: a-b, exit 2, says "x", says "y z" -->\n   ```sh\n   ls\n   ```\n'
    )
    (block,) = blocks.blocks("x.md")
    assert (block.step, block.code, block.says, block.text) == ("a-b", 2, ("x", "y z"), "ls")
