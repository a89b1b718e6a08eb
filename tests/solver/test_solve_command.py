"""`equipoise lab solve`: players in, teams out; bad input is one line and exit code 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from equipoise.cli.solve import solve


def run(text: str | bytes, *arguments: str) -> Result:
    return CliRunner().invoke(solve, arguments, input=text)


def players(*entries: dict[str, object]) -> str:
    return json.dumps({"players": entries})


@pytest.mark.parametrize("from_file", [False, True])
def test_json_has_one_split_per_size(tmp_path: Path, from_file: bool) -> None:
    text, file = '{"ratings": [1, 2, 3, 4, 6, 6]}', tmp_path / "pool.json"
    file.write_text(text)
    result = run("", str(file), "--json") if from_file else run(text, "--json")

    assert result.exit_code == 0
    found = json.loads(result.output)["splits"]
    assert [split["k"] for split in found] == [2, 3]
    assert set(found[0]) == {"k", "a", "b", "bench", "difference", "optimal", "gap"}
    assert sorted(found[1]["a"] + found[1]["b"]) == list(range(6))
    assert (found[1]["difference"], found[1]["optimal"]) == (0, True)


def wide() -> str:
    """Ratings of a range too wide to be counted exactly."""
    return json.dumps({"ratings": [10**9 + 7 * 10**8 * i * i + i for i in range(24)]})


def test_what_is_not_proven_says_how_far_it_may_be_off() -> None:
    (found,) = json.loads(run(wide(), "--k", "12", "--json").output)["splits"]
    text = run(wide(), "--k", "12").output.splitlines()

    assert not found["optimal"]
    assert abs(found["difference"]) <= found["gap"]["points"]
    assert text[1] == f"  not proven to be the best, which may be {found['gap']['points']:g} points closer"


def test_ctrl_c_ends_it_with_one_line() -> None:
    lines = (
        "import os, signal, sys",
        "from equipoise.solver import Budget",
        "Budget.spend = lambda self, *bits: os.kill(os.getpid(), signal.SIGINT)",
        "from equipoise.cli import main",
        "main(['lab', 'solve', '--k', '2'])",
    )
    command = [sys.executable, "-c", "\n".join(lines)]
    ended = subprocess.run(command, input='{"ratings": [1, 2, 3, 4]}', capture_output=True, text=True)

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "equipoise: interrupted\n")


def test_text_names_the_players_and_the_odds() -> None:
    pool = players(
        {"id": "ann", "rating": 1500, "group": "friends"},
        {"id": "bob", "rating": 1600, "group": "friends"},
        {"id": "cyd", "rating": 9999, "pin": "bench"},
        {"id": "dee", "rating": 1300},
        {"id": "eve", "rating": 1420},
    )

    result = run(pool, "--theta", "1000")

    assert result.output.splitlines() == [
        "2 against 2: difference -380, A has a 40.6 % chance",
        "  A      dee 1300, eve 1420",
        "  B      ann 1500, bob 1600",
        "  bench  cyd 9999",
    ]


def test_one_size_can_be_asked_for_and_ratings_are_numbered() -> None:
    result = run('{"ratings": [10, 20.5, 10, 20.5, 7]}', "--k", "2")

    assert result.output.count("against") == 1
    assert "#4 7" in result.output
    assert "A has a 50.0 % chance" in result.output


def test_roles_are_shared_evenly() -> None:
    pool = players(*({"rating": 100 * i, "role": "medic" if i < 2 else None} for i in range(6)))

    found = json.loads(run(pool, "--k", "3", "--json").output)["splits"][0]

    assert len({0, 1} & set(found["a"])) == len({0, 1} & set(found["b"])) == 1


BAD: tuple[tuple[str | bytes, str], ...] = (
    ("", "the input is not JSON"),
    ("ratings", "the input is not JSON"),
    (b"\xff\xfe{", "the input is not JSON"),
    ('{"ratings": [1, 2, 3, NaN]}', "the input is not JSON"),
    ('{"ratings": [1, 2, 3, 1e999]}', "Number out of range - at `$.ratings[3]`"),
    ('{"ratings": [1, 2, 3, "4"]}', "Expected `int | float`, got `str` - at `$.ratings[3]`"),
    ('{"ratings": [1, 2, 3, true]}', "Expected `int | float`, got `bool` - at `$.ratings[3]`"),
    ("{}", 'the input has either "ratings" or "players"'),
    ('{"ratings": [], "players": []}', 'the input has either "ratings" or "players"'),
    ('{"rating": [1, 2, 3, 4]}', "Object contains unknown field `rating`"),
    ("[1, 2, 3, 4]", "Expected `object`, got `array`"),
    ("[" * 50_000, "Expected `object`, got `array`"),
    ('{"ratings": [1, 2, 3]}', "3 players cannot play 2 against as many"),
    ('{"ratings": []}', "0 players cannot play 2 against as many"),
    (json.dumps({"ratings": list(range(129))}), "129 players are too many"),
    (players({"id": "a"}), "Object missing required field `rating` - at `$.players[0]`"),
    (players({"rating": 1, "pin": "c"}), "Invalid enum value 'c' - at `$.players[0].pin`"),
    (players(*[{"id": "a", "rating": 1}] * 4), "player a appears twice"),
    (
        players(*({"rating": 1, "group": 1, "pin": pin} for pin in ("a", "b", "a", "b"))),
        "players 0, 1, 2, 3 are kept together, but pinned apart",
    ),
)


@pytest.mark.parametrize(
    ("text", "arguments", "reason"),
    [
        *((text, [], reason) for text, reason in BAD),
        *(
            ('{"ratings": [1, 2, 3, 4]}', arguments.split(), reason)
            for arguments, reason in (
                ("--k 3", "4 players cannot play 3 against as many"),
                ("--k 0", "4 players cannot play 0 against as many"),
                ("--theta 0", "--theta is a number of points above 0"),
                ("--seconds 0", "--seconds is a number above 0"),
                ("--resolution -1", "ticks per point above 0"),
                ("/nowhere/pool.json", "/nowhere/pool.json: No such file or directory"),
            )
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_input_and_options_are_one_line_and_exit_code_two(
    text: str | bytes, arguments: list[str], reason: str
) -> None:
    result = run(text, *arguments)

    assert result.exit_code == 2
    assert reason in result.output
    assert len(result.output.splitlines()) == 1
