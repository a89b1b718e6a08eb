"""The laboratory's commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main
from equipoise.cli.options import Stopped
from equipoise.cli.output import json_text
from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.lab.models import Model, forecast, leaderboard
from equipoise.lab.reading import read_history
from equipoise.ratings import create, fit, replay
from tests.lab import sets


def run(*arguments: str | Path) -> Result:
    # As wide as it needs to be: a runner of tests may say how wide its own terminal is.
    return CliRunner(env={"COLUMNS": ""}).invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def league(tmp_path: Path) -> tuple[str, ...]:
    return "--matches", str(sets.league(tmp_path, 400)), "--teams"


def test_backtest_prints_measures_with_their_errors(league: tuple[str, ...]) -> None:
    done = run("lab", "backtest", *league, "--model", "synelo", "--set", "k_max=1", "--correct", "burn-in")
    assert done.exit_code == 0, done.output
    assert "320 matches after a burn-in of 80" in done.output
    assert re.search(r"^synelo:k_max=1 +0\.\d{4} ± 0\.\d{4}", done.output, re.MULTILINE)
    assert "side home" in done.output


def test_backtest_against_another_system_shows_the_difference(league: tuple[str, ...]) -> None:
    done = run("lab", "backtest", *league, "--model", "synelo", "--against", "synelo:k_max=1", "--json")
    one, other = json.loads(done.stdout)
    gap = other["quality"]["log_loss"]["value"] - one["quality"]["log_loss"]["value"]
    assert other["difference"]["log_loss"]["value"] == pytest.approx(gap)
    assert other["difference"]["log_loss"]["error"] > 0


def test_backtest_shows_calibration_by_group_of_players_in_text_json_plot_and_page(
    league: tuple[str, ...], tmp_path: Path
) -> None:
    plot, page = tmp_path / "out.svg", tmp_path / "out.html"
    asked = "lab", "backtest", *league, "--model", "elo", "--plot", plot, "--html", page
    text = run(*asked)
    assert text.exit_code == 0, text.output
    assert re.search(r"^last outcome +lost +\d+ +\d+ +[\d.]+ % +[\d.]+ % +[+-][\d.]+ % ± ", text.output, re.MULTILINE)
    for drawn in (plot.read_text(), page.read_text()):
        assert "matches before: 10 to 49" in drawn
    assert '<td class="text">last outcome</td><td class="text">won</td>' in page.read_text()
    groups = json.loads(run(*asked, "--json").stdout)["groups"]
    assert {(each["by"], each["name"]) for each in groups} >= {("last", "won"), ("experience", "50 to 199")}
    first, second = json.loads(run(*asked, "--against", "glicko", "--json").stdout)
    assert (first["groups"], "groups" in second) == (groups, False)


def test_compare_puts_the_best_first_and_writes_plot_and_report(league: tuple[str, ...], tmp_path: Path) -> None:
    plot, report = tmp_path / "out.svg", tmp_path / "out.html"
    done = run(
        "lab", "compare", "synelo:k_max=24", "synelo:k_max=1", *league, "--json", "--plot", plot, "--html", report
    )
    losses = [one["quality"]["log_loss"]["value"] for one in json.loads(done.stdout)]
    assert losses == sorted(losses)
    ElementTree.parse(plot)
    assert "synelo:k_max=24" in report.read_text()


def test_the_command_that_tune_prints_is_the_backtest_of_what_it_found(league: tuple[str, ...]) -> None:
    found = json.loads(
        run("lab", "tune", *league, "--model", "synelo", "--set", "k_max=1", "--trials", "30", "--json").stdout
    )
    again = json.loads(run(*shlex.split(found["command"])[1:], "--json").stdout)
    assert [each["model"] for each in again] == [found["model"], found["start"]]
    assert found["command"].endswith("--burn-in 0.2 --live")
    assert found["log_loss_after"] <= found["log_loss_before"]


@pytest.mark.slow
def test_tune_says_in_one_line_whether_to_take_what_it_found(league: tuple[str, ...]) -> None:
    sluggish = ("--model", "synelo", *shlex.split("--set k_max=1 --set k_factor_min=1 --set k_factor_max=2"))
    asked = ("lab", "tune", *league, *sluggish, "--burn-in", "0.9", "--only", "k_factor_max")
    lines = run(*asked, "--trials", "200").stdout.splitlines()
    assert re.fullmatch(r"gains 0\.\d{4} ± 0\.\d{4} on 216 matches it did not see: take it( \(.*\))?", lines[0])
    assert (lines[1], lines[2].split()[:3]) == ("", ["equipoise", "lab", "backtest"])
    found = json.loads(run(*asked, "--correct", "none", "--seconds", "0.001", "--json").stdout)
    assert (found["take"], found["finished"], found["unseen"]) == (False, False, 216)
    assert "--live" not in found["command"]
    assert "--correct" not in found["command"]


def test_what_is_corrected_stands_beside_what_the_system_says_by_itself(league: tuple[str, ...]) -> None:
    bare, corrected = (run("lab", "compare", "elo", "synelo", *league, *how) for how in ((), ("--correct", "running")))
    assert "uncorrected" not in bare.output
    figure = r"\d\.\d{4} ± \d\.\d{4}"
    for name in ("elo", "synelo"):
        own = re.search(rf"^{name} +({figure}) ", bare.output, re.MULTILINE)
        assert own is not None, bare.output
        assert re.search(rf"^{name} +{figure} +{own[1]} ", corrected.output, re.MULTILINE), corrected.output


def test_replay_shows_the_leaderboard(league: tuple[str, ...]) -> None:
    places = json.loads(run("lab", "replay", *league, "--model", "synelo", "--top", "3", "--json").stdout)
    assert [one["place"] for one in places] == [1, 2, 3]
    assert places[0]["rating"] >= places[1]["rating"] >= places[2]["rating"]
    assert all(one["visible"] for one in places)


def test_replay_shows_intervals_for_a_system_that_knows_deviations_and_none_for_others(league: tuple[str, ...]) -> None:
    asked = ("lab", "replay", *league, "--top", "3", "--model")
    known, unknown = (json.loads(run(*asked, name, "--json").stdout) for name in ("glicko", "synelo"))
    assert all(one["interval"]["low"] < one["rating"] < one["interval"]["high"] for one in known)
    assert [one["interval"] for one in unknown] == [None] * 3
    assert "skill, 80 %" in run(*asked, "glicko").output
    assert "skill, 80 %" not in run(*asked, "synelo").output


def test_replay_hides_shadow_ratings_unless_all_are_asked_for(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    asked = ("lab", "replay", "--matches", matches, "--participants", people, "--model", "synelo", "--json")
    assert json.loads(run(*asked).stdout) == []
    assert len(json.loads(run(*asked, "--all").stdout)) == 4


@pytest.mark.slow
def test_simulate_shows_balance_and_quality(tmp_path: Path) -> None:
    plot, report = tmp_path / "out.svg", tmp_path / "out.html"
    asked = (
        "lab",
        "simulate",
        "synelo",
        "--rounds",
        "30",
        "--slots",
        "8",
        "--people",
        "12",
        "--plot",
        plot,
        "--html",
        report,
    )
    done = run(*asked)
    assert "order found, Spearman's ρ" in done.output
    ElementTree.parse(plot)
    assert "<svg" in report.read_text()
    assert "rounds between scrambles" in done.output
    (pool,) = json.loads(run(*asked, "--json").stdout)["pools"]
    assert pool["rated"] == 30
    assert pool["between"]["rounds"] >= pool["equalised"]["rounds"] > 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--model", "nix"), "equipoise: nix: no such rating system"),
        (("--model", "synelo", "--set", "k_max=0"), "equipoise: synelo: k_max: 0 is not a whole number from 1 to 1000"),
        (("--model", "synelo", "--set", "k_max"), "equipoise: 'k_max' is not key=value"),
        (("--model", "synelo", "--burn-in", "0.0001"), "equipoise: a burn-in of 0.0001 of 400 matches"),
    ],
)
def test_a_wrong_argument_is_refused_with_one_line(
    arguments: tuple[str, ...], line: str, league: tuple[str, ...]
) -> None:
    done = run("lab", "backtest", *league, *arguments)
    assert done.exit_code == 2
    assert done.output.startswith(line)
    assert done.output.count("\n") == 1


IN_FOURTH = ("m4,1,ann,,,,", "m4,2,bob,,,,")
NO_RESULT = "is not 1, 0.5 or 0, nor win, draw or loss, nor a team that plays"


def test_a_bad_row_is_one_line_with_its_place(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path, (*sets.MATCHES, "m4,0,,A,B,3,,,,"), (*sets.PARTICIPANTS, *IN_FOURTH))
    done = run("lab", "backtest", "--matches", matches, "--participants", people, "--model", "synelo")
    assert (done.exit_code, done.output) == (2, f"equipoise: {matches}:5: outcome '3' {NO_RESULT}\n")


def test_check_says_how_files_are_read_and_what_is_wrong_in_them(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path, people=(*sets.PARTICIPANTS[:-1], "m3,2,dan,,-1,,"))
    done = run("lab", "check", matches, people)
    assert done.exit_code == 1
    lines = [" ".join(line.split()) for line in done.output.splitlines()]
    assert "set_matches.csv 3 rows, commas" in lines
    assert "from 2024-05-01 to 2024-05-03" in lines
    assert "set_participants.csv:10 kills '-1' is not a number from 0 to 1,000,000 joint, trueskill2" in lines
    told = json.loads(run("lab", "check", matches, people, "--json").stdout)
    assert (told["matches"], told["players"], told["faults"]["count"]) == (3, 4, 1)
    assert told["files"][0]["columns"]["time"] == "time"
    assert run("lab", "check", matches).exit_code == 0
    assert run("lab", "backtest", "--matches", matches, "--participants", people, "--model", "elo").exit_code == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("out.png", "--plot out.png: the name must end in .svg"),
        ("none/out.svg", "none/out.svg: No such file or directory"),
    ],
)
def test_an_output_file_that_cannot_be_written_is_refused_before_the_work(name: str, reason: str) -> None:
    done = run("lab", "compare", "nix", "--matches", "not-there.csv", "--teams", "--plot", name)
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert done.output.startswith(f"equipoise: {reason}")


@pytest.mark.parametrize("name", ["out.svg", "out.html"])
def test_a_full_disk_behind_a_picture_or_a_page_is_named(name: str, league: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / name).symlink_to("/dev/full")
    option = "--plot" if name.endswith("svg") else "--html"
    done = run("lab", "backtest", *league, "--model", "elo", option, tmp_path / name)
    assert (done.exit_code, done.output) == (2, f"equipoise: {tmp_path / name}: No space left on device\n")


def test_the_command_that_tune_prints_can_be_pasted_whatever_the_files_are_called(tmp_path: Path) -> None:
    folder = tmp_path / "my server's rounds"
    folder.mkdir()
    matches = sets.league(folder, 100)
    found = json.loads(
        run("lab", "tune", "--matches", matches, "--teams", "--model", "elo", "--trials", "3", "--json").stdout
    )
    assert run(*shlex.split(found["command"])[1:]).exit_code == 0


def test_names_from_a_file_do_not_write_on_the_terminal(tmp_path: Path) -> None:
    matches = tmp_path / "m.csv"
    rows = [f"m{number},,,\x1b[2Jann,{'b' * 300},1,,,1,map=\x1b[5mdust\x07" for number in range(20)]
    matches.write_text("\n".join((sets.HEAD, *rows)))
    for asked in (("lab", "replay", "--all"), ("lab", "backtest", "--correct", "burn-in")):
        output = run(*asked, "--matches", matches, "--teams", "--model", "elo").output
        assert not any(character in output for character in "\x1b\x07")
        assert max(map(len, output.splitlines())) < 130


@pytest.mark.slow
def test_simulate_makes_teams_by_another_system_from_own_scores_on_evenings() -> None:
    people = ("--rounds", "40", "--slots", "8", "--people", "12", "--attendance", "evenings", "--stay", "20")
    words = ("lab", "simulate", "synelo", *people, "--scores", "0.3", "--score-offset", "1", "--balance", "elo:k=24")
    text = " ".join(run(*words).output.split())
    assert "elo:k=24 made the teams and the predictions; order and ranks are of the system shown." in text
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["balance"] == {"name": "elo", "settings": {"k": 24}}
    assert {key: found["scenario"][key] for key in ("attendance", "stay", "scores", "score_offset")} == {
        "attendance": "evenings",
        "stay": 20,
        "scores": 0.3,
        "score_offset": 1,
    }
    (pool,) = found["pools"]
    assert [(one["after"], one["to"]) for one in pool["periods"]] == [(0, 40)]
    assert pool["again"]["chance"] > 0.3


@pytest.mark.parametrize("systems", [("elo", "fifa_men"), ("elo", "--balance", "fifa_men")], ids=" ".join)
def test_a_system_that_no_pool_can_use_is_refused_before_another_one_is_simulated(systems: tuple[str, ...]) -> None:
    done = run("lab", "simulate", *systems, "--rounds", "1000000")
    assert (done.exit_code, done.output) == (2, "equipoise: fifa_men: for histories only, not for a pool\n")


@pytest.mark.slow
def test_a_report_says_what_was_simulated_or_compared(league: tuple[str, ...], tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    assert (
        run("lab", "simulate", "elo", "--rounds", "20", "--people", "17", "--seed", "905", "--html", report).exit_code
        == 0
    )
    text = report.read_text()
    assert "17" in text
    assert "905" in text
    assert run("lab", "compare", "elo", *league, "--correct", "running", "--html", report).exit_code == 0
    assert "league.csv: 400 matches of 12 players, " in report.read_text()
    assert "--correct running" in report.read_text()


def test_players_or_teams_must_be_chosen(tmp_path: Path) -> None:
    matches, people = sets.write(tmp_path)
    for chosen in ((), ("--teams", "--participants", str(people))):
        done = run("lab", "replay", "--matches", matches, *chosen, "--model", "synelo")
        assert done.exit_code == 2
        assert "give --participants, or --teams" in done.output


def test_a_system_that_refuses_the_history_does_not_lose_the_others(league: tuple[str, ...]) -> None:
    done = run("lab", "compare", "world_football_elo", "elo", "synelo", *league)
    assert done.exit_code == 2
    assert re.search(r"^elo +0\.\d{4} ±", done.output, re.MULTILINE)
    assert re.search(r"^synelo +0\.\d{4} ±", done.output, re.MULTILINE)
    assert "world_football_elo needs the goals" in done.output
    assert "Traceback" not in done.output
    alone = run("lab", "compare", "world_football_elo", *league)
    assert alone.exit_code == 2
    assert "needs the goals" in alone.output
    assert "log loss" not in alone.output, "no table of nothing"


# The whole history at once.


@pytest.mark.slow
@pytest.mark.parametrize("system", ["ns2", "trueskill2", "trueskill_through_time"])
def test_a_fit_shows_how_it_ended_and_the_skills_that_it_found(league: tuple[str, ...], system: str) -> None:
    done = run("lab", "replay", *league, "--model", system, "--fit", "--all", "--json")
    output = json.loads(done.stdout)
    assert done.exit_code == 0
    assert output["convergence"]["converged"]
    fitted = create(system)
    ended = fit(fitted, read_history(Path(league[1]), None))
    assert output["convergence"]["iterations"] == ended.iterations
    assert [one["rating"] for one in output["standings"]] == sorted(
        (fitted.summary(PlayerId(f"T{number}")).rating for number in range(12)), reverse=True
    )
    shown = run("lab", "replay", *league, "--model", system, "--fit").output
    assert re.search(rf"^iterations +{ended.iterations}$", shown, re.MULTILINE)
    assert re.search(r"^converged +yes$", shown, re.MULTILINE)


def test_a_system_without_a_fit_is_refused_with_those_that_have_one(league: tuple[str, ...]) -> None:
    done = run("lab", "replay", *league, "--model", "elo", "--fit")
    names = "ns2, trueskill2, trueskill_through_time"
    assert (done.exit_code, done.output) == (2, f"equipoise: elo has no whole-history fit; these have one: {names}\n")


@pytest.mark.slow
def test_a_fit_that_did_not_converge_says_so_and_fails(league: tuple[str, ...]) -> None:
    asked = ("lab", "replay", *league, "--model", "trueskill_through_time", "--set", "sweeps=1", "--fit")
    done = run(*asked)
    assert done.exit_code == 1
    assert re.search(r"^converged +NO$", done.stdout, re.MULTILINE)
    assert done.stderr.endswith("equipoise: the fit did not converge in 1 iterations: these ratings are not settled\n")
    done = run(*asked, "--json")
    assert (done.exit_code, json.loads(done.stdout)["convergence"]["converged"]) == (1, False)


# Numbers that are not finite.


def test_a_leaderboard_refuses_a_rating_that_is_not_finite(league: tuple[str, ...]) -> None:
    system, history = create("elo"), read_history(Path(league[1]), None)
    replay(system, history)
    for name in ("T3", "T5"):
        system.seed(PlayerId(name), rating=1000.0)
    held = system.players[PlayerId("T3")]  # type: ignore[attr-defined]
    held.rating = float("nan")
    with pytest.raises(RatingError, match=r"^elo rates T3 nan ± .*: its parameters go too far$"):
        leaderboard(system, history, hidden=True)


@pytest.mark.parametrize("value", [float("nan"), [1.0, {"a": float("-inf")}]])
def test_a_number_that_json_cannot_write_ends_a_command_with_one_line(
    value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Stopped) as ended:
        json_text(value)
    ended.value.show()
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == "equipoise: a number is infinite or not a number, which JSON cannot write\n"


# Messages.


@pytest.mark.parametrize(("system", "rounds"), [("synelo", 50), ("fifa_women", 5), ("elo", 20), ("trueskill", 0)])
def test_a_leaderboard_says_how_many_it_does_not_show(system: str, rounds: int, tmp_path: Path) -> None:
    rows = [f"m{number},{86400.0 * number},,T{number % 3},T3,1,2,1,,map=a" for number in range(9)]
    path = tmp_path / "m.csv"
    path.write_text("\n".join((sets.HEAD, *rows)))
    board = leaderboard(forecast(Model(system), history := read_history(path, None)).system, history)
    assert len(board.places) + board.hidden == 4
    assert board.shadow_rounds == (rounds if board.hidden else 0)
    output = run("lab", "replay", "--matches", path, "--teams", "--model", system).output
    note = f"{board.hidden} players in their first {rounds} rounds are not shown: --all"
    assert (note in output) == (rounds > 0)
    assert "not shown" not in run("lab", "replay", "--matches", path, "--teams", "--model", system, "--all").output


def test_a_match_that_a_system_refuses_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    rows = ['"m0",0,,"A\nfar",B,1,2,1,,', "m1,1,,A,B,1,2,1,,", "m2,2,,A,B,0,-3,1,,"]
    path.write_text("\n".join((sets.HEAD, *rows)))
    reason = f"{path}:5: goals: -3.0 is not a count up to 999"
    for asked in (
        ("lab", "replay", "--model", "fifa_men"),
        ("lab", "backtest", "--model", "world_football_elo", "--burn-in", "0.5"),
    ):
        done = run(*asked, "--matches", path, "--teams")
        assert (done.exit_code, done.output) == (2, f"equipoise: {reason}\n")
    done = run("lab", "compare", "fifa_men", "--matches", path, "--teams", "--burn-in", "0.5")
    assert (done.exit_code, done.output) == (2, f"equipoise: fifa_men: {reason}\n")


def test_a_wrong_parameter_is_refused_with_its_system_and_the_likely_name(league: tuple[str, ...]) -> None:
    for asked in (
        ("lab", "compare", "elo", "synelo:k_mx=6"),
        ("lab", "backtest", "--model", "elo", "--against", "synelo:k_mx=6"),
    ):
        done = run(*asked, *league)
        assert done.exit_code == 2
        assert done.output.startswith("equipoise: synelo: k_mx: no such parameter; did you mean k_max? There are ")
    done = run("lab", "tune", *league, "--model", "elo", "--only", "nue")
    assert done.output.startswith("equipoise: nue: not a number that elo can be tuned by; ")


# Ctrl-C.


def interrupted(*arguments: str) -> subprocess.Popen[str]:
    """A command that is interrupted once it tunes."""
    lines = (
        "import os, signal, sys",
        "from equipoise.lab import tune",
        "measured, left = tune._Search._measured, [12]",
        "def counted(self, model):",
        "    left[0] -= 1",
        "    if not left[0]: os.kill(os.getpid(), signal.SIGINT)",
        "    return measured(self, model)",
        "tune._Search._measured = counted",
        "from equipoise.cli import main",
        "main(sys.argv[1:])",
    )
    command = [sys.executable, "-c", "\n".join(lines), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = re.findall(r"^ +(equipoise lab .+)$", DOCS.joinpath("lab.md").read_text(), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in TUTORIAL if "south_america" in line])
def test_each_command_of_the_tutorial_does_what_it_says(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(DOCS / "south_america.csv.gz", tmp_path)
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(line)[1:])
    assert done.exit_code == 0, done.output
    if "lab tune" in line:
        assert "matches it did not see: take it" in done.stdout
        assert run(*shlex.split(done.stdout.splitlines()[-1])[1:]).exit_code == 0
    if "--html" in line:
        assert "predicts best</h2>" in Path("report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_interrupted_search_prints_the_best_settings_so_far(league: tuple[str, ...], form: tuple[str, ...]) -> None:
    with interrupted("lab", "tune", *league, "--model", "elo", *form) as running:
        output, errors = running.communicate(timeout=300)
    assert running.returncode == 130
    assert errors.endswith("equipoise: interrupted: these are the best settings so far\n")
    if form:
        found = json.loads(output)
        assert (found["finished"], found["trials"]) == (False, 11)
        command = found["command"]
    else:
        assert output.startswith("was ended before it met matches it did not see: do not take it\n")
        command = output.splitlines()[-1]
    assert run(*shlex.split(command)[1:]).exit_code == 0


def test_a_csv_is_refused_with_what_to_install_where_pyarrow_is_missing(tmp_path: Path) -> None:
    matches, _ = sets.write(tmp_path)
    code = "import sys; sys.modules['pyarrow'] = None\nfrom equipoise.cli import main\nmain(sys.argv[1:])"
    for command in (["check", matches], ["replay", "--matches", matches, "--teams", "--model", "elo"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "lab", *command], capture_output=True, text=True, check=False
        )
        assert done.stderr == (
            "equipoise: CSV files need the package pyarrow, which is missing: pipx inject equipoise pyarrow\n"
        )
