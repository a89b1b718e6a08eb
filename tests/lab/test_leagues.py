"""Published leagues replay from commands alone, and what people take out of a history: CSV, a chance, a curve."""

from __future__ import annotations

import csv
import gzip
import json
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main
from equipoise.lab.backtest import backtest, divided
from equipoise.lab.models import Model
from equipoise.lab.reading import read_history
from equipoise.ratings import SYSTEMS, quality
from equipoise.ratings.history import History, stretch, unpacked
from equipoise.ratings.quality import Seats
from tests.ratings.ns2.samples import busy_matches

DATA = Path(__file__).parents[1] / "data"
LAB = Path(__file__).parents[2] / "docs" / "lab.md"
NFL = (
    *("--matches", DATA / "nfl_games.csv", "--teams", "--model", "elo"),
    *("--set", "k=20", "--set", "margin_log=2.2", "--set", "side_advantage=65"),
    *("--initial", DATA / "nfl_initial.csv", "--pull", "1/3:1505"),
)
"""FiveThirtyEight's forecasts of the NFL, 2018 to 2020, and its ratings before them: github.com/fivethirtyeight/
nfl-elo-game, data/nfl_games.csv (CC BY 4.0), whose K, margin, home advantage and reversion stand in forecast.py."""

WORLD_CUP = (
    *("--matches", DATA / "world_cup_matches.csv", "--participants", DATA / "world_cup_people.csv.gz"),
    *("--model", "trueskill", "--initial", DATA / "world_cup_initial.csv.gz", "--top", "1000"),
)
"""Ratings of the squads of the World Cup of 2018 after 44 matches, begun with the players' marks in their clubs:
github.com/MarcGumowski/WorldCup2018TrueSkill (MIT), npy/TrueSkill_Rating_Start.npy and _27_06_2018_AfterGame44.npy; a
player is the team and the place in its list. The first match is left out: _15_06_2018_AfterGame2.npy has lost it."""


def run(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, [str(argument) for argument in arguments])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_forecasts_that_fivethirtyeight_published_come_out_of_one_command(tmp_path: Path) -> None:
    done = run("lab", "backtest", *NFL, "--predictions", tmp_path / "nfl.csv")
    assert done.exit_code == 0, done.output
    ours, published = rows(tmp_path / "nfl.csv"), rows(DATA / "nfl_games.csv")
    assert len(ours) == len(published) == 803
    for one, other in zip(ours, published, strict=True):
        assert (one["team1"], one["team2"], one["time"][:10]) == (other["team1"], other["team2"], other["date"])
        assert float(one["predicted"]) == pytest.approx(float(other["elo_prob1"]), abs=1e-12)
    assert [row["measured"] for row in ours].count("0") == 161
    assert ours[1]["row"].endswith("nfl_games.csv:3")


@pytest.mark.parametrize(("left_out", "near"), [("--pull", 267), ("--initial", 0), ("margin_log=2.2", 1)])
def test_each_part_of_a_published_league_is_needed(tmp_path: Path, left_out: str, near: int) -> None:
    """Without one of them forecasts are right as long as it does nothing yet."""
    at = NFL.index(left_out)
    rest = NFL[: at - 1] + NFL[at + 1 :] if "=" in left_out else NFL[:at] + NFL[at + 2 :]
    assert run("lab", "backtest", *rest, "--predictions", tmp_path / "nfl.csv").exit_code == 0
    both = zip(rows(tmp_path / "nfl.csv"), rows(DATA / "nfl_games.csv"), strict=True)
    wrong = [abs(float(one["predicted"]) - float(other["elo_prob1"])) > 1e-12 for one, other in both]
    assert not any(wrong[:near])
    assert sum(wrong) > 400


def test_the_ratings_of_a_published_trueskill_league_with_priors_come_out_of_one_command() -> None:
    """Those of 736 players, which begin with marks: to 1e-7, which `trueskill`'s Φ is good for."""
    places = {row["player"]: row for row in json.loads(run("lab", "replay", *WORLD_CUP, "--json").output)}
    with gzip.open(DATA / "world_cup_initial.csv.gz", "rt") as file:
        published = list(csv.DictReader(file))
    assert len(published) == len(places) == 736
    for row in published:
        place = places[row["player_id"]]
        assert place["uncertainty"] == pytest.approx(float(row["sigma_after"]), abs=1e-7)
        assert place["rating"] + 3 * place["uncertainty"] == pytest.approx(float(row["mu_after"]), abs=1e-7)
    moves = [abs(float(row["mu_after"]) - float(row["mu"])) for row in published]
    assert min(moves) > 1e-3, "each team has played"


def test_the_chance_of_a_coming_match_is_by_all_matches_and_a_home_is_worth_something() -> None:
    done = run("lab", "replay", *NFL, "--chance", "KC", "TB", "--json")
    (even,) = json.loads(done.output)
    # They end at these ratings.
    assert even["expected"] == pytest.approx(1 / (1 + 10 ** ((1738.662 - 1705.729) / 400)), abs=1e-5)
    (home,) = json.loads(run("lab", "replay", *NFL, "--chance", "KC", "TB", "--home", "--json").output)
    assert home["expected"] > even["expected"] + 0.05
    assert "45.3 %" in run("lab", "replay", *NFL, "--chance", "KC", "TB").output


def test_the_curve_of_a_player_ends_at_their_rating_and_all_ratings_are_written(tmp_path: Path) -> None:
    curve = json.loads(run("lab", "replay", *NFL, "--curve", "TB", "--json").output)
    assert run("lab", "replay", *NFL, "--top", "1", "--csv", tmp_path / "all.csv").exit_code == 0
    board = rows(tmp_path / "all.csv")
    assert (len(board), board[0]["player"], int(board[0]["rounds"])) == (32, "TB", len(curve))
    assert float(board[0]["rating"]) == curve[-1]["rating"]
    assert (curve[-1]["match"], curve[-1]["time"][:10]) == (803, "2021-02-07")


def test_the_commands_of_the_document_run_as_they_stand_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = LAB.read_text().partition("## A published league")[2].partition("```\n")[2].partition("```")[0]
    commands = section.replace("\\\n", " ").splitlines()
    for file in (*DATA.glob("nfl_*"), *DATA.glob("world_cup_*")):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        done = run(*shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
    assert len(commands) == 3
    assert len(rows(tmp_path / "forecasts.csv")) == 803


def test_a_system_is_shown_by_the_name_that_it_is_given() -> None:
    done = run("lab", "compare", "538=elo:k=20,margin_log=2.2", "plain=elo", *NFL[:3])
    assert [line.split()[0] for line in done.output.splitlines()[2:4]] in (["538", "plain"], ["plain", "538"])
    assert "elo:k=20,margin_log=2.2" in done.output


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--chance", "KCC", "TB"), "'KCC' is not in the history; did you mean KC?"),
        (("--curve", "Nobody"), "'Nobody' is not in the history"),
        (("--pull", "3"), "--pull 3: write a part from 0 to 1"),
        (("--pull", "1/0"), "--pull 1/0: write a part"),
        (("--pull", "0.3:high"), "--pull 0.3:high: write a part"),
        (("--initial", "nothing.csv"), "nothing.csv: No such file or directory"),
        (("--csv", "all.txt"), "--csv all.txt: the name must end in .csv"),
    ],
)
def test_what_cannot_be_read_is_one_line(options: tuple[str, ...], reason: str) -> None:
    done = run("lab", "replay", *NFL[:5], *options)
    assert done.exit_code == 2
    assert reason in done.output


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("player_id,rating\nKC,1500\nKC,1600\n", "i.csv:2: KC stands there twice"),
        ("player_id,rating\nKC,high\n", "i.csv:2: rating 'high'"),
        ("player_id,colour\nKC,red\n", "i.csv:1: no column of ratings"),
        ("name,mu\nKC,25\n", "KC: elo has no mu to seed"),
    ],
)
def test_initial_ratings_that_are_wrong_are_told_with_their_line(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "i.csv").write_text(text)
    done = run("lab", "replay", *NFL[:5], "--initial", tmp_path / "i.csv")
    assert done.exit_code == 2
    assert reason in done.output


def test_seasons_are_told_by_the_times_that_are_known_and_refused_without_any(tmp_path: Path) -> None:
    lines = (DATA / "nfl_games.csv").read_text().splitlines()
    for name, gone in (("some", range(3, len(lines), 3)), ("none", range(1, len(lines)))):
        dated = [line[10:] if place in gone else line for place, line in enumerate(lines)]
        (tmp_path / f"{name}.csv").write_text("\n".join(dated) + "\n")
    known, some = (
        {
            row["player"]: row["rating"]
            for row in json.loads(run("lab", "replay", "--matches", file, *NFL[2:], "--json").output)
        }
        for file in (NFL[1], tmp_path / "some.csv")
    )
    assert some == known
    done = run("lab", "replay", "--matches", tmp_path / "none.csv", *NFL[2:])
    assert (done.exit_code, done.output) == (2, "equipoise: seasons are told by times, and no match has one\n")


def odd(path: Path, *matches: str) -> Path:
    """A file of matches of two teams each."""
    rows = (f"{place},{match}" for place, match in enumerate(matches))
    path.write_text("\n".join(("match_id,time,team1_name,team2_name,outcome", *rows)) + "\n")
    return path


GOALS = ("fifa_men", "fifa_women", "world_football_elo")
ODD = {
    "all drawn": (("2024-01-02,ann,bob,draw", "2024-01-03,bob,cid,draw") * 20, ""),
    "without dates": ((",ann,bob,win", ",bob,cid,loss") * 20, ""),
    "the same two": (("2024-01-02,ann,bob,win",) * 40, ""),
    "one team": (("2024-01-02,ann,ann,win",) * 40, "m.csv:2: ann on both sides"),
    "one match": (("2024-01-02,ann,bob,win",), "a burn-in of 0.2 of 1 matches leaves nothing before or after it"),
    "no match": ((), "m.csv: no rows"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_odd_leagues_have_a_result_by_every_system_or_one_line(name: str, tmp_path: Path) -> None:
    matches, reason = ODD[name]
    files = ("--matches", odd(tmp_path / "m.csv", *matches), "--teams")
    for system in SYSTEMS:
        for command in (("backtest", "--html", tmp_path / "r.html", "--predictions"), ("replay", "--all", "--csv")):
            done = run("lab", *command, tmp_path / "out.csv", "--model", system, *files)
            assert done.exception is None or isinstance(done.exception, SystemExit), (system, done.exception)
            # A single match can be rated, only not measured.
            expected = "" if "burn-in" in reason and command[0] == "replay" else reason
            if not expected and system in GOALS:
                expected = f"{system} needs the goals of"
            assert done.exit_code == (2 if expected else 0), done.output
            assert expected in done.output


def test_two_stretches_of_a_history_are_the_history() -> None:
    history = read_history(DATA / "nfl_games.csv", None)
    parts = [stretch(history, 0, 267), stretch(history, 267, 803)]
    apart = [match for part in parts for match in unpacked(part) or ()]
    assert apart == list(unpacked(history) or ())


@pytest.mark.parametrize("piece", [7, 1 << 16])
def test_groups_that_are_added_up_in_pieces_are_those_of_all_players_at_once(
    monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(quality, "PIECE", piece)
    history = History.of(list(busy_matches(seed=3, count=200, players=40)))
    done = backtest(Model("trueskill"), history, burn_in=0.3)
    seen: dict[int, tuple[int, float]] = {}
    seats = []
    for match in range(len(history)):
        teams = [
            history.members[slice(*history.teams[team : team + 2])].tolist() for team in (2 * match, 2 * match + 1)
        ]
        ranks = history.ranks[2 * match : 2 * match + 2].tolist()
        for own, players in enumerate(teams):
            score = 0.5 + 0.5 * (ranks[own] < ranks[1 - own]) - 0.5 * (ranks[own] > ranks[1 - own])
            for place, player in enumerate(players):
                count, last = seen.get(player, (0, None))
                if match >= done.burn_in:
                    chance = float(done.predicted[match - done.burn_in])
                    at = int(history.teams[2 * match + own]) + place
                    size = int(history.squad_sizes[at])
                    seats.append((match - done.burn_in, chance if own == 0 else 1.0 - chance, score, size, count, last))
                seen[player] = count + 1, score
    assert divided(done, history) == quality.groups(Seats.of(seats))
    assert len(seats) == len(history.members) - int(history.teams[2 * done.burn_in])
