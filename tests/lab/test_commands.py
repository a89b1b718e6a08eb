"""The laboratory's commands."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main
from tests.lab import sets

EQUIPOISE = Path(sys.executable).with_name("equipoise")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def league(tmp_path: Path) -> tuple[str, ...]:
    return "--matches", str(sets.league(tmp_path, 400)), "--teams"


def test_backtest_prints_measures_with_their_errors(league: tuple[str, ...]) -> None:
    done = run("backtest", *league, "--model", "synelo", "--set", "k_max=1", "--correct", "burn-in")
    assert done.exit_code == 0, done.output
    assert "320 matches after a burn-in of 80" in done.output
    assert re.search(r"^synelo:k_max=1 +0\.\d{4} ± 0\.\d{4}", done.output, re.MULTILINE)
    assert "side home" in done.output


def test_backtest_against_another_system_says_the_difference(league: tuple[str, ...]) -> None:
    done = run("backtest", *league, "--model", "synelo", "--against", "synelo:k_max=1", "--json")
    one, other = json.loads(done.output)
    gap = other["quality"]["log_loss"]["value"] - one["quality"]["log_loss"]["value"]
    assert other["difference"]["log_loss"]["value"] == pytest.approx(gap)
    assert other["difference"]["log_loss"]["error"] > 0


def test_compare_puts_the_best_first_and_writes_plot_and_report(league: tuple[str, ...], tmp_path: Path) -> None:
    plot, report = tmp_path / "out.svg", tmp_path / "out.html"
    done = run("compare", "synelo:k_max=24", "synelo:k_max=1", *league, "--json", "--plot", plot, "--html", report)
    losses = [one["quality"]["log_loss"]["value"] for one in json.loads(done.output)]
    assert losses == sorted(losses)
    ElementTree.parse(plot)
    assert "synelo:k_max=24" in report.read_text()


def test_the_command_that_tune_prints_is_the_backtest_of_what_it_found(league: tuple[str, ...]) -> None:
    found = json.loads(run("tune", *league, "--model", "synelo", "--set", "k_max=1", "--trials", "30", "--json").output)
    again = run(*shlex.split(found["command"])[1:], "--json")
    assert json.loads(again.output)["model"] == found["model"]
    assert found["log_loss_after"] <= found["log_loss_before"]


def test_replay_shows_the_leaderboard(league: tuple[str, ...]) -> None:
    places = json.loads(run("replay", *league, "--model", "synelo", "--top", "3", "--json").output)
    assert [one["place"] for one in places] == [1, 2, 3]
    assert places[0]["rating"] >= places[1]["rating"] >= places[2]["rating"]
    assert all(one["visible"] for one in places)


def test_replay_keeps_shadow_ratings_to_itself_unless_asked(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    asked = ("replay", "--matches", matches, "--participants", people, "--model", "synelo", "--json")
    assert json.loads(run(*asked).output) == []
    assert len(json.loads(run(*asked, "--all").output)) == 4


def test_simulate_tells_of_balance_and_quality(tmp_path: Path) -> None:
    plot, report = tmp_path / "out.svg", tmp_path / "out.html"
    asked = ("simulate", "synelo", "--rounds", "30", "--slots", "8", "--people", "12", "--plot", plot, "--html", report)
    done = run(*asked)
    assert "order found, Spearman's ρ" in done.output
    ElementTree.parse(plot)
    assert "<svg" in report.read_text()
    (pool,) = json.loads(run(*asked, "--json").output)["pools"]
    assert pool["rated"] == 30


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--model", "nix"), "equipoise: nix: no such rating system"),
        (("--model", "synelo", "--set", "k_max=0"), "equipoise: k_max: 0 is not a whole number from 1 to 1000"),
        (("--model", "synelo", "--set", "k_max"), "equipoise: 'k_max' is not key=value"),
        (("--model", "synelo", "--burn-in", "0.0001"), "equipoise: a burn-in of 0.0001 of 400 matches"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: tuple[str, ...], line: str, league: tuple[str, ...]) -> None:
    done = run("backtest", *league, *arguments)
    assert done.exit_code == 2
    assert done.output.startswith(line)
    assert done.output.count("\n") == 1


def test_a_bad_row_is_one_line_with_its_place(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path, (*sets.MATCHES, "m4,0,,A,B,3,,,,"))
    done = run("backtest", "--matches", matches, "--participants", people, "--model", "synelo")
    assert (done.exit_code, done.output) == (2, f"equipoise: {matches}:5: outcome '3' is not 1, 0.5 or 0\n")


def test_a_directory_that_is_not_there_is_one_line(league: tuple[str, ...], tmp_path: Path) -> None:
    done = run("compare", "synelo", *league, "--plot", tmp_path / "none" / "out.svg")
    assert done.exit_code == 2
    assert "No such file or directory" in done.output


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("out.png", "--plot out.png: the name must end in .svg"),
        ("none/out.svg", "none/out.svg: No such file or directory"),
    ],
)
def test_where_nothing_can_be_written_is_said_before_the_work(name: str, reason: str) -> None:
    done = run("compare", "nix", "--matches", "not-there.csv", "--teams", "--plot", name)
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert done.output.startswith(f"equipoise: {reason}")


def test_a_full_disk_is_one_line(league: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [EQUIPOISE, "replay", *league, "--model", "elo"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (2, "equipoise: standard output: No space left on device\n")


def test_a_reader_that_goes_away_is_no_error_to_speak_of(league: tuple[str, ...]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as closed:
        done = subprocess.run(
            [EQUIPOISE, "replay", *league, "--model", "elo"], stdout=closed, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr == ""


def test_the_command_that_tune_prints_can_be_pasted_whatever_the_files_are_called(tmp_path: Path) -> None:
    folder = tmp_path / "my server's rounds"
    folder.mkdir()
    matches = sets.league(folder, 100)
    found = json.loads(run("tune", "--matches", matches, "--teams", "--model", "elo", "--trials", "3", "--json").output)
    assert run(*shlex.split(found["command"])[1:]).exit_code == 0


def test_names_from_a_file_do_not_write_on_the_terminal(tmp_path: Path) -> None:
    matches = tmp_path / "m.csv"
    rows = [f"m{number},,,\x1b[2Jann,{'b' * 300},1,,,1,map=\x1b[5mdust\x07" for number in range(20)]
    matches.write_text("\n".join((sets.HEAD, *rows)))
    for asked in (("replay", "--all"), ("backtest", "--correct", "burn-in")):
        told = run(*asked, "--matches", matches, "--teams", "--model", "elo").output
        assert not any(character in told for character in "\x1b\x07")
        assert max(map(len, told.splitlines())) < 130


def test_a_system_that_no_pool_can_use_is_refused_before_another_one_is_simulated() -> None:
    done = run("simulate", "elo", "fifa_men", "--rounds", "1000000")
    assert (done.exit_code, done.output) == (2, "equipoise: fifa_men: for histories only, not for a pool\n")


def test_a_report_says_what_was_simulated_or_compared(league: tuple[str, ...], tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    assert run("simulate", "elo", "--rounds", "20", "--people", "17", "--seed", "905", "--html", report).exit_code == 0
    text = report.read_text()
    assert "17" in text
    assert "905" in text
    assert run("compare", "elo", *league, "--correct", "running", "--html", report).exit_code == 0
    assert "league.csv: 400 matches, 12 players." in report.read_text()
    assert "--correct running" in report.read_text()


def test_players_or_teams_must_be_chosen(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    for chosen in ((), ("--teams", "--participants", str(people))):
        done = run("replay", "--matches", matches, *chosen, "--model", "synelo")
        assert done.exit_code == 2
        assert "give --participants, or --teams" in done.output


def test_a_system_that_refuses_the_history_does_not_lose_the_others(league: tuple[str, ...]) -> None:
    done = run("compare", "world_football_elo", "elo", "glicko", *league)
    assert done.exit_code == 2
    assert re.search(r"^elo +0\.\d{4} ±", done.output, re.MULTILINE)
    assert re.search(r"^glicko +0\.\d{4} ±", done.output, re.MULTILINE)
    assert "world_football_elo needs the goals" in done.output
    assert "Traceback" not in done.output


def test_where_every_system_refuses_there_is_no_table(league: tuple[str, ...]) -> None:
    done = run("compare", "world_football_elo", *league)
    assert done.exit_code == 2
    assert "needs the goals" in done.output
    assert "log loss" not in done.output
