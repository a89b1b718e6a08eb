"""What all commands have in common: examples, `--json`, help on a narrow terminal, an answer without a daemon."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from equipoise.cli import OLD_NAMES, main
from tests.cli.house import EQUIPOISE

PRINT_NO_DATA = {
    *("serve", "init", "check-config", "pool export", "player export", "upgrade", "uninstall"),
    *("pool share", "pool join", "pool leave"),
}
SAMPLES = {
    "id": "76561197960287930",
    "text": "bob",
    "rating": "1500",
    "name": "arena-1",
    "server": "arena-1",
    "named": "ann vs bob",
}
"""For each argument that a command needs, by its name in the code."""


Named = tuple[tuple[str, ...], click.Command]


def leaves(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[Named]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from leaves(inner, (*path, name))


COMMANDS = {" ".join(path): command for path, command in leaves()}
READ_FILES = {"doctor", "server add", "server move", "server remove", "server secret", "server update"}
"""They look at the configuration before they ask the daemon, or do without it."""
REMOTE = sorted(name for name, command in COMMANDS.items() if "url" in {each.name for each in command.params})
EXAMPLE_FILES = ("main.jsonl", "skills.csv", "hlstatsx.sql", "players.csv", "ids.csv")


def help_of(name: str, columns: int = 80) -> str:
    shown = CliRunner().invoke(main, [*name.split(), "--help"], env={"COLUMNS": str(columns)})
    assert shown.exit_code == 0, shown.output
    return shown.output


MOST_NAMES = 20
"""At the top."""


def test_the_first_help_has_three_blocks_and_names_everything_below_them() -> None:
    blocks = re.findall(r"^(\w[\w ]*):\n((?:  .*\n)+)", help_of(""), re.MULTILINE)
    assert [head for head, _ in blocks] == ["Options", "Every day", "Setup", "Laboratory"]
    text = "".join(lines for _, lines in blocks[1:])
    assert len(re.findall(r"^  \w", text, re.MULTILINE)) <= MOST_NAMES
    assert {word for name in COMMANDS for word in name.split()} <= set(re.findall(r"[\w-]+", text))


@pytest.mark.parametrize("name", sorted({name.rpartition(" ")[0] for name in COMMANDS}))
def test_help_on_a_group_fits_80_columns_and_cuts_no_sentence(name: str) -> None:
    text = help_of(name)
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("\n")[2]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("scrable", "'server scramble'"),
        ("statu", "'status'"),
        ("shw", "'player show' or 'round show' or 'map show' or 'pool season show'"),
        ("round shw", "'round show'"),
        ("pool top", "'player top'"),
        ("bactest", "'lab backtest'"),
        ("server shufle", "'server scramble'"),
    ],
)
def test_a_wrong_name_is_answered_with_what_was_meant(words: str, meant: str) -> None:
    ended = CliRunner().invoke(main, words.split())
    said = f"Error: No such command '{words.split()[-1]}'. Did you mean {meant}?\n"
    assert (ended.exit_code, ended.stdout, ended.stderr.endswith(said)) == (2, "", True), ended.stderr


def test_a_name_that_is_like_no_other_is_only_refused() -> None:
    ended = CliRunner().invoke(main, ["xyzzy"])
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (2, "Error: No such command 'xyzzy'.")


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_an_old_name_runs_the_new_command_and_says_so_on_standard_error(old: str, new: str) -> None:
    ended = CliRunner().invoke(main, [*old.split(), "--help"], env={"COLUMNS": "80"})
    assert ended.stdout == help_of(new)
    assert ended.stderr == f"`equipoise {old}` is now `equipoise {new}`.\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_examples_that_its_own_parser_takes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in EXAMPLE_FILES:
        Path(file).touch()
    lines = re.findall(r"^ +(.*\bequipoise .*)$", help_of(name).partition("Example")[2], re.MULTILINE)
    assert lines
    for line in lines:
        assert len(line) + len("    ") <= 80
        words = shlex.split(re.split(r"[>|)] *(?!equipoise)", line.rpartition("equipoise ")[2])[0])
        called = next(other for other in COMMANDS if words[: len(other.split())] == other.split())
        assert COMMANDS[called] is COMMANDS[name]
        COMMANDS[name].make_context(name, words[len(called.split()) :])


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - PRINT_NO_DATA))
def test_every_command_that_prints_data_prints_it_as_json_too(name: str) -> None:
    assert "--json" in {option for each in COMMANDS[name].params for option in each.opts}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_fits_a_terminal_of_40_columns(name: str) -> None:
    # Click does not break the names of options, nor our examples, which are to be copied. The laboratory has options so
    # long that the texts beside them need more.
    lines = help_of(name, 40).partition("Example")[0].splitlines()
    most = 40 if name in REMOTE else 50
    assert [line for line in lines if len(line) > most and len(line.split()) > 2] == []


@pytest.mark.parametrize("name", sorted(set(REMOTE) - READ_FILES))
def test_without_a_daemon_every_command_says_so_in_one_line_and_ends_with_3(name: str) -> None:
    needed = [
        word
        for each in COMMANDS[name].params
        if isinstance(each, click.Argument) and each.required
        for word in SAMPLES.get(each.name or "", "x").split()
    ]
    yes = ["--yes"] if "yes" in {each.name for each in COMMANDS[name].params} else []  # nobody is here to be asked
    options = [*yes, "--url", "http://127.0.0.1:1", "--token", "x"]
    ended = CliRunner().invoke(main, [*name.split(), *needed, *options], input="y\n")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert re.fullmatch(r"equipoise: no daemon answers at http://127\.0\.0\.1:1: .*\n", ended.stderr)


def test_lists_are_csv_too_and_not_json_at_the_same_time() -> None:
    lists = {name for name, command in COMMANDS.items() if "as_csv" in {each.name for each in command.params}}
    assert lists >= {
        "status", "player top", "player find", "player history", "round list", "why", "audit",
    }  # fmt: skip
    for name in lists:
        assert "--wide" in {option for each in COMMANDS[name].params for option in each.opts}
        words = [*name.split(), *(["x"] if name in ("player find", "player history", "pool season show") else [])]
        ended = CliRunner().invoke(main, [*words, "--json", "--csv", "--url", "http://127.0.0.1:1", "--token", "x"])
        assert (ended.exit_code, "--json and --csv exclude each other" in ended.stderr) == (2, True)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("127.0.0.1:27500", "--url 127.0.0.1:27500: http:// is missing; write http://127.0.0.1:27500"),
        ("ftp://here", "--url ftp://here: expected an address like http://127.0.0.1:27500"),
        ("http://127.0.0.1:99999", "--url http://127.0.0.1:99999: Port out of range 0-65535"),
    ],
)
def test_an_address_that_is_none_is_named_with_what_to_write(url: str, said: str) -> None:
    ended = CliRunner().invoke(main, ["status", "--url", url, "--token", "x"])
    assert (ended.exit_code, ended.stderr) == (2, f"equipoise: {said}\n")


def test_wrong_input_of_solve_is_said_as_other_errors_are() -> None:
    ended = CliRunner().invoke(main, ["lab", "solve"], input="{")
    assert (ended.exit_code, ended.stderr) == (2, "equipoise: the input is not JSON: Input data was truncated\n")


def test_a_pool_is_named_by_an_argument_or_by_an_option(tmp_path: Path) -> None:
    for command in ("quality", "fit-theta", "refit"):
        for words in ([command, "x"], [command, "--pool", "x"]):
            ended = CliRunner().invoke(main, ["pool", *words, "--url", "http://127.0.0.1:1", "--token", "x"])
            assert ended.exit_code == 3
    both = CliRunner().invoke(main, ["pool", "recompute", "x", "--pool", "y", "--config", str(tmp_path / "c.toml")])
    assert (both.exit_code, "name one pool: x or y" in both.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["--version", "player --help", "lab --help"])
def test_a_full_disk_behind_standard_output_is_one_line(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([EQUIPOISE, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "equipoise: standard output: No space left on device\n")


@pytest.mark.slow
def test_a_standard_output_that_is_closed_is_no_traceback() -> None:
    done = subprocess.run(["bash", "-c", f"'{EQUIPOISE}' --version >&-"], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
