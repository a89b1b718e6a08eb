"""The laboratory's commands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main
from tests.lab import sets


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def league(tmp_path: Path) -> tuple[str, ...]:
    return "--matches", str(sets.league(tmp_path, 400)), "--teams"


def test_backtest_prints_measures_with_their_errors(league: tuple[str, ...]) -> None:
    done = run("backtest", *league, "--model", "synelo", "--set", "k_max=1", "--correct", "burn-in")
    assert done.exit_code == 0, done.output
    assert "320 matches after a burn-in of 80" in done.output
    assert re.search(r"^synelo +0\.\d{4} ± 0\.\d{4}", done.output, re.MULTILINE)
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


def test_players_or_teams_must_be_chosen(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    for chosen in ((), ("--teams", "--participants", str(people))):
        done = run("replay", "--matches", matches, *chosen, "--model", "synelo")
        assert done.exit_code == 2
        assert "give --participants, or --teams" in done.output
