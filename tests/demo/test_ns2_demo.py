"""Whole NS2 evenings against the real daemon, started as on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.demo.test_demo import run

pytestmark = pytest.mark.slow

SHORT = ("--game", "ns2", "--rounds", "8", "--speed", "0")


SIDE = "(Marines|Aliens)"
TOLD = {
    "a draw": r"a draw after",
    "a shuffle with its chances and moves": r"Before round \d → shuffled: Marines \d+ % → \d+ %, (\d+|nobody) moved",
    "who waited": r"\d placed from the ready room",
    "who comes": rf"\w+ connects in the middle of the round and plays for the {SIDE}",
    "who goes": rf"\w+ leaves the {SIDE} in the middle of the round: rated for the time",
    "another commander": rf"\w+ leaves the chair of the {SIDE}, \w+ takes it",
    "who is back": rf"\w+ is back, with the same rating as before, and plays for the {SIDE}",
    "an aborted start": r"\w+ leaves the chair in PreGame: the start is aborted",
    "a secret choice": r"An admin opens a secret team choice: Marines, Aliens or Random\?",
    "what became of choices": r"secret choices \d+ %",
    "a vote": r"\w+ types “!eq vote” and reads: \w+",
    "voters": r"The others type “!eq vote”, one after the other",
    "that the daemon is killed": r"The daemon is killed \(SIGKILL\) in round \d",
    "what goes on without it": r"The game went on: 2 finished rounds wait in the mod's outbox of 8 slots",
    "what it gets later": r"The daemon is back: 2 of 2 rounds delivered, stored and rated",
}


@pytest.mark.world
def test_an_evening_is_told_in_words_of_the_game_and_played_again_by_its_seed(tmp_path: Path) -> None:
    done = run(tmp_path, *SHORT)
    assert (done.exit_code, done.stderr) == (0, "")
    said = done.stdout
    assert [what for what, words in TOLD.items() if not re.search(words, said)] == []
    assert not re.search(r"\bRED\b|\bBLU\b|scrambl|\bbench|sm_|the plugin|Waiting For Players", said)
    assert ("The last one reads: " in said) is ("starts again" not in said)
    told = r"^Round (\d): (?:(?:Marines|Aliens) win after \d+ min \(had a \d+ % chance|a draw)"
    assert re.findall(told, said, re.MULTILINE) == [str(number) for number in range(1, 9)]
    shuffle_then_round = re.findall(  # the status, which the round's chance is from, counts commanders as the shuffle
        r"^Before round \d → shuffled: Marines \d+ % → (\d+) %, [^\n]*\n"
        r"Round \d+: (Marines|Aliens) win after \d+ min \(had a (\d+) %",
        said,
        re.MULTILINE,
    )
    assert shuffle_then_round
    for after, winner, had in shuffle_then_round:
        assert int(had) == pytest.approx(int(after) if winner == "Marines" else 100 - int(after), abs=1)
    assert list(tmp_path.iterdir()) == []
    page, evening = said.split("\n", 1)  # its port and its link are others each time
    assert page.startswith("The page")
    assert run(tmp_path, *SHORT).stdout.split("\n", 1)[1] == evening


def test_the_summary_as_json_compares_predictions_with_the_truth(tmp_path: Path) -> None:
    done = run(tmp_path, *SHORT, "--players", "9", "--json")

    found: dict[str, Any] = json.loads(done.stdout)
    assert found["rounds"] == 8
    assert found["stored"] == 8 + found["restarted"]
    assert found["rounds_delivered_late"] == 2
    assert found["moves_per_shuffle"] * found["shuffles"] == pytest.approx(found["moved"], abs=1e-4)
    for share in ("wishes_honoured", "choices_honoured", "prediction_error", "brier"):
        assert 0 <= found[share] <= 1
    assert 0.5 <= found["stronger_side"] <= 1
