"""What shells offer by the files that `init` writes: commands, options, and names that the running daemon knows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.cli import completion
from tests.cli.house import EQUIPOISE, House, post, run, serving
from tests.programs import installed
from tests.wire.samples import HELLO, RED, posted

pytestmark = pytest.mark.slow

FILES = {
    "bash": ".local/share/bash-completion/completions/equipoise",
    "zsh": ".local/share/zsh/site-functions/_equipoise",
    "fish": ".config/fish/completions/equipoise.fish",
}
PROGRAMS = {
    "bash": """
source ~/.local/share/bash-completion/completions/equipoise
COMP_WORDS=(equipoise {words}); COMP_CWORD={place}
_equipoise_completion equipoise
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": """
fpath+=(~/.local/share/zsh/site-functions)
autoload -U compinit && compinit -u
compadd() {{ print -rl -- ${{(P)@[-1]}} }}
_describe() {{ print -rl -- ${{(P)3}} }}
words=(equipoise {words}); CURRENT={place}+1
$_comps[equipoise]
""",
    "fish": "complete -C 'equipoise {words}'",  # it finds the file by itself
}
"""For each shell a program that prints what is offered for the last word."""


def offered(shell: str, home: Path, words: str, **environ: str) -> set[str]:
    program = PROGRAMS[shell].format(words=words.replace("''", ""), place=len(words.split(" ")))
    path = f"{EQUIPOISE.parent}:{os.environ['PATH']}"
    plain = {"PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8"}
    shown = subprocess.run([installed(shell), "-c", program], capture_output=True, text=True, env=plain | environ)
    return {line.split("\t")[0].split(":")[0] for line in shown.stdout.splitlines() if line.strip()}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a user who has run `init`."""
    folder = tmp_path_factory.mktemp("home")
    done = run("init", folder / "equipoise", HOME=str(folder))
    assert [str(folder / file) in done.stdout for file in FILES.values()] == [True] * 3, done.stderr
    return folder


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A daemon that has rated a round, and the environment in which commands find it."""
    house = House.made(tmp_path_factory.mktemp("house"))
    with serving(house) as (_, address):
        joins = [
            {"kind": "player_joined", "id": str(int(RED) + number), "name": name}
            for number, name in enumerate(("Gaben", "Gab the 2nd"))
        ]
        post(address, house.secret, posted(HELLO, *joins, seq=1))
        for number in range(2):
            asked = run(
                "player", "set", str(int(RED) + number), "1500", "--yes",
                "--config", house.config, "--url", f"http://{address}",
            )  # fmt: skip
            assert asked.returncode == 0, asked.stderr
        yield {"EQUIPOISE_CONFIG": str(house.config), "EQUIPOISE_URL": f"http://{address}"}


@pytest.mark.parametrize("shell", FILES)
def test_the_shell_completes_commands_and_options(home: Path, shell: str) -> None:
    assert offered(shell, home, "ro") == {"round"}
    assert offered(shell, home, "lab ba") == {"backtest"}
    assert offered(shell, home, "player h") == {"hide", "history"}
    assert "--since" in offered(shell, home, "round list --si")


@pytest.mark.parametrize("shell", FILES)
def test_the_shell_completes_names_that_the_daemon_knows(home: Path, daemon: dict[str, str], shell: str) -> None:
    assert offered(shell, home, "why are", **daemon) == {"arena-1"}
    assert offered(shell, home, "round list --server a", **daemon) == {"arena-1"}
    assert offered(shell, home, "pool quality --pool m", **daemon) == {"main"}
    assert offered(shell, home, "player show gabe", **daemon) == {"Gaben"}
    assert offered(shell, home, f"player show {RED[:-1]}", **daemon) == {RED, str(int(RED) + 1)}


def test_a_name_that_a_shell_would_take_apart_is_offered_as_the_id(home: Path, daemon: dict[str, str]) -> None:
    assert offered("bash", home, "player show gab", **daemon) == {"Gaben", str(int(RED) + 1)}


@pytest.mark.parametrize("shell", FILES)
def test_without_a_daemon_nothing_is_offered_and_nothing_is_said(home: Path, shell: str) -> None:
    assert offered(shell, home, "why are", EQUIPOISE_URL="http://127.0.0.1:1", EQUIPOISE_TOKEN="x") == set()


def test_an_old_name_is_not_offered_and_what_follows_it_is_completed(home: Path) -> None:
    assert offered("bash", home, "backt") == set()
    assert "--model" in offered("bash", home, "backtest --mod")


def test_files_are_written_again_found_again_and_others_stay(tmp_path: Path) -> None:
    places = {shell: tmp_path / path.relative_to("/") for shell, path in completion.SYSTEM.items()}
    places["fish"].parent.mkdir(parents=True)
    places["fish"].write_text("complete -c equipoise -a mine")
    for _ in range(2):
        assert completion.install(places, tmp_path)[1:] == [f"  {places['bash']}", f"  {places['zsh']}"]
        assert completion.installed(places) == [places["bash"], places["zsh"]]
    assert places["fish"].read_text() == "complete -c equipoise -a mine"


def test_it_can_be_installed_alone_and_without_a_home_it_says_why_not(tmp_path: Path) -> None:
    alone = run("init", "--completion", HOME=str(tmp_path), SHELL="/usr/bin/zsh")
    assert alone.returncode == 0, alone.stderr
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(FILES.values())
    assert alone.stdout.splitlines()[-1].endswith(f"fpath+=({(tmp_path / FILES['zsh']).parent})")
    nowhere = run("init", "--completion")
    assert (nowhere.returncode, "there is no home directory" in nowhere.stderr) == (2, True)


def test_the_command_of_before_prints_the_script_alone(home: Path) -> None:
    for shell, file in FILES.items():
        printed = run("completion", shell)
        assert printed.stdout == (home / file).read_text()
        assert printed.stderr == "`equipoise completion` is now `equipoise init --completion`, which installs it.\n"
