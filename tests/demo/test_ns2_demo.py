"""Whole NS2 evenings against the real daemon, started as on the command line."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main

SHORT = ("--game", "ns2", "--rounds", "8", "--speed", "0")


def run(temporary: Path, *options: str) -> Result:
    """A demo in this process, so that its temporary files can be counted; its daemon is a process in any case."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        return CliRunner(env={"COLUMNS": "100"}).invoke(main, ["demo", *options])


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a short evening prints."""
    temporary = tmp_path_factory.mktemp("short")
    done = run(temporary, *SHORT)
    assert (done.exit_code, done.stderr) == (0, "")
    assert list(temporary.iterdir()) == []
    return done.stdout


@pytest.mark.slow
def test_every_round_is_told_with_its_winner_and_the_chance_that_the_daemon_gave(said: str) -> None:
    finished = re.findall(
        r"^Round (\d): (?:(?:Marines|Aliens) win after \d+ min \(had a \d+ % chance|a draw)", said, re.M
    )
    assert finished == [str(number) for number in range(1, 9)]
    assert "a draw after" in said


@pytest.mark.slow
def test_a_shuffle_says_its_reason_both_chances_and_its_moves(said: str) -> None:
    shuffled = r"Before round \d → shuffled: Marines \d+ % → \d+ %, (\d+|nobody) moved"
    assert re.search(shuffled, said)
    assert re.search(r"\d placed from the ready room", said)


def test_the_chance_of_a_round_is_the_one_that_its_shuffle_was_chosen_for(said: str) -> None:
    """The status, which the round's chance is from, counts commanders as the shuffle does."""
    shuffle_then_round = re.findall(
        r"^Before round \d → shuffled: Marines \d+ % → (\d+) %, [^\n]*\n"
        r"Round \d+: (Marines|Aliens) win after \d+ min \(had a (\d+) %",
        said,
        re.MULTILINE,
    )
    assert shuffle_then_round
    for after, winner, had in shuffle_then_round:
        assert int(had) == pytest.approx(int(after) if winner == "Marines" else 100 - int(after), abs=1)


def test_people_come_go_and_command_in_the_middle_of_rounds(said: str) -> None:
    assert re.search(r"\w+ connects in the middle of the round and plays for the (Marines|Aliens)", said)
    assert re.search(r"\w+ leaves the (Marines|Aliens) in the middle of the round: rated for the time", said)
    assert re.search(r"\w+ leaves the chair of the (Marines|Aliens), \w+ takes it", said)
    assert re.search(r"\w+ is back, with the same rating as before, and plays for the (Marines|Aliens)", said)


def test_an_aborted_start_is_followed_by_a_secret_choice(said: str) -> None:
    assert re.search(r"\w+ leaves the chair in PreGame: the start is aborted", said)
    assert "An admin opens a secret team choice: Marines, Aliens or Random?" in said
    assert re.search(r"secret choices \d+ %", said)


def test_players_vote_and_read_what_became_of_it(said: str) -> None:
    assert re.search(r"\w+ types “!eq vote” and reads: \w+", said)
    assert "The others type “!eq vote”, one after the other" in said
    assert ("The last one reads: " in said) is ("starts again" not in said)


def test_rounds_played_without_the_daemon_are_delivered(said: str) -> None:
    assert re.search(r"The daemon is killed \(SIGKILL\) in round \d", said)
    assert "The game went on: 2 finished rounds wait in the mod's outbox of 8 slots" in said
    assert "The daemon is back: 2 of 2 rounds delivered, stored and rated" in said


def test_no_word_of_the_other_game_is_said(said: str) -> None:
    assert not re.search(r"\bRED\b|\bBLU\b|scrambl|\bbench|sm_|the plugin|Waiting For Players", said)


@pytest.mark.slow
def test_a_seed_plays_the_same_evening_again(tmp_path: Path, said: str) -> None:
    assert run(tmp_path, *SHORT).stdout == said
    assert run(tmp_path, *SHORT, "--seed", "8").stdout != said


@pytest.mark.slow
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
