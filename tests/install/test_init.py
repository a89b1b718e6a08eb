"""`equipoise init`: a configuration, game servers, and the plugin in their folders."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.cli.house import EQUIPOISE, one_line, run
from tests.install.game_server import everything, game_server

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def nobodys_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep completion out of the home of the person who runs the tests."""
    monkeypatch.setenv("HOME", "/nonexistent")


def servers(folder: Path) -> dict[str, dict[str, str]]:
    """The game servers by name, as their files say."""
    found = {}
    for path in (folder / "servers.d").iterdir():
        (table,) = tomllib.loads(path.read_text())["server"].items()
        assert table[0] == path.stem
        found[table[0]] = table[1]
    return found


def test_every_server_is_written_and_its_secret_shown_with_its_name(tmp_path: Path) -> None:
    done = run("init", tmp_path, "--server", "a", "--server", "b", "--server", "c")
    assert (done.returncode, done.stderr) == (0, "")
    shown = dict(re.findall(r"^  (\w) {2}([\w-]{43})$", done.stdout, re.MULTILINE))
    assert list(shown) == ["a", "b", "c"]
    assert servers(tmp_path).keys() == {"a", "b", "c"}
    assert len({server["secret_sha256"] for server in servers(tmp_path).values()}) == 3
    checked = run("check-config", "--config", tmp_path / "config.toml")
    assert checked.stdout.endswith("valid. Servers: 3, pools: 1.\n")


def test_a_new_pool_of_tf2_makes_its_teams_by_joint_and_one_of_ns2_by_its_own_system(tmp_path: Path) -> None:
    for game, wanted in (("tf2", ("synelo", "joint")), ("ns2", ("ns2", None))):
        folder = tmp_path / game
        assert run("init", folder, "--game", game).returncode == 0
        pool = tomllib.loads((folder / "config.toml").read_text())["pool"]["main"]
        assert (pool["system"], pool.get("balance")) == wanted


def test_options_name_the_server_that_they_are_for(tmp_path: Path) -> None:
    one, two = game_server(tmp_path / "a=1"), game_server(tmp_path / "two")
    folder = tmp_path / "new"
    done = run("init", folder, "--server", "a", "--server", "b", "--tf", f"b={two}", "--tf", f"a={one}")
    assert done.returncode == 0, done.stderr
    assert 'equipoise_server "a"' in (one / "cfg/sourcemod/equipoise.cfg").read_text()
    assert 'equipoise_server "b"' in (two / "cfg/sourcemod/equipoise.cfg").read_text()
    assert not re.search(r"^  \w {2}[\w-]{43}$", done.stdout, re.MULTILINE)
    assert done.stdout.count("sm plugins load equipoise") == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--server", "a", "--server", "b", "--tf", "/srv/tf"), "which server? Write --tf a=/srv/tf"),
        (("--server", "a", "--server", "A"), "there is a server a: A differs only in capitals"),
        (("--server", "a", "--server", "a"), "there is a server a already"),
        (("--rcon", "example.org:27015", "--rcon-password-file", "/dev/null"), "the RCON password of arena-1 is empty"),
        (("--rcon", "127.0.0.1:27015"), "needs its password: --rcon-password-file"),
        (("--tf", "/nonexistent"), "no gameinfo.txt"),
        (("--server", "../x"), "not '../x'"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    assert why in one_line(run("init", tmp_path / "new", *options))
    assert not (tmp_path / "new").exists()


def test_an_address_of_rcon_is_literal(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    for address in ("example.org:27015", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", ":27015"):
        line = one_line(run("init", tmp_path / "new", "--rcon", address, "--rcon-password-file", tmp_path / "password"))
        assert f"HOST:PORT, the host an IP address or localhost, not '{address}'" in line
    assert not (tmp_path / "new").exists()


def test_a_password_of_rcon_is_a_file_that_only_the_owner_reads(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    options = ("--rcon", "127.0.0.1:27015", "--rcon-password-file", tmp_path / "password")
    assert run("init", tmp_path / "new", *options).returncode == 0
    server = servers(tmp_path / "new")["arena-1"]
    assert server["rcon"] == "127.0.0.1:27015"
    kept = tmp_path / "new" / server["rcon_password_file"]
    assert (kept, kept.stat().st_mode & 0o777) == (tmp_path / "new/secrets/arena-1.rcon", 0o600)
    assert kept.read_text() == "s3cret\n"
    assert not [name for name, (_, data) in everything(tmp_path / "new").items() if b"s3cret" in (data or b"")][1:]


def test_a_server_that_is_refused_leaves_the_others_folders_as_they_were(tmp_path: Path) -> None:
    good, bad = game_server(tmp_path / "good"), tmp_path / "bad"
    before = everything(tmp_path)
    options = ("--server", "a", "--server", "b", "--tf", f"a={good}", "--tf", f"b={bad}")
    assert "no gameinfo.txt" in one_line(run("init", tmp_path / "new", *options))
    assert everything(tmp_path) == before


def test_a_disk_that_is_full_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """A limit on the size of files stands for it: the plugin can be written, the cfg after it cannot."""
    tf = game_server(tmp_path)
    (tf / "cfg/sourcemod/equipoise.cfg").write_bytes(b"// mine\n" * 50_000)
    before = everything(tmp_path)
    limited = ["bash", "-c", 'ulimit -f 200; exec "$@"', "-", EQUIPOISE, "init", tmp_path / "new", "--tf", tf]
    line = one_line(subprocess.run(limited, capture_output=True, text=True, timeout=60))
    assert line == f"equipoise: {tf}/cfg/sourcemod/equipoise.cfg: File too large"
    assert everything(tmp_path) == before


def test_on_a_terminal_it_asks_until_the_answers_are_good(tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    dialogue = {
        "Names of your game servers": "a b A",
        "A differs only in capitals": "a b",
        "Folder tf/ of a": str(tf.parent),
        f"is it {tf}?": str(tf),
        "RCON of a,": "example.org",
        "not 'example.org'": "127.0.0.1:27015",
        "RCON password of a": "s3cret",
        "Folder tf/ of b": "",
        "RCON of b,": "",
    }
    ours, theirs = pty.openpty()
    command = ["timeout", "60", EQUIPOISE, "init", tmp_path / "new"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    said = ""
    with open(ours, "rb+", buffering=0) as terminal:
        for question, answer in dialogue.items():
            # A hidden answer is taken only after its question: the terminal forgets what was typed before.
            while question not in said or not said.rstrip("\r\n").endswith(": "):
                said += terminal.read(4096).decode()
            terminal.write(f"{answer}\n".encode())
            said = ""
        assert process.wait(60) == 0
    found = servers(tmp_path / "new")
    assert (found["a"]["rcon"], found["b"].get("rcon")) == ("127.0.0.1:27015", None)
    assert (tmp_path / "new/secrets/a.rcon").read_text() == "s3cret\n"
    assert 'equipoise_server "a"' in (tf / "cfg/sourcemod/equipoise.cfg").read_text()


def test_a_question_that_is_left_ends_with_130_and_nothing_is_written(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [EQUIPOISE, "init", tmp_path / "new"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    asked = b""
    with open(ours, "rb+", buffering=0) as terminal:
        while b"[arena-1]: " not in asked:
            asked += terminal.read(4096)
        terminal.write(b"\x04")  # Ctrl-D, which click takes as Ctrl-C
        assert process.wait(30) == 130
    assert not (tmp_path / "new").exists()
