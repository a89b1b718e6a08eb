"""Game servers are added, removed and given another secret, with a daemon that serves meanwhile and without one."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import pytest

from equipoise.install.game_folders import PLUGIN, plugin_version
from tests.cli.conftest import house as house
from tests.cli.house import EQUIPOISE, House, ask, post, run, serving
from tests.install.game_server import everything, game_server
from tests.wire.samples import HELLO, posted

pytestmark = pytest.mark.slow


@pytest.fixture
def address(house: House) -> Iterator[str]:
    with serving(house) as (_, found):
        yield found


def written(house: House) -> dict[str, tuple[int, bytes | None]]:
    """All files of the configuration, without those of the daemon."""
    return {name: what for name, what in everything(house.folder).items() if not name.startswith(("state", "daemon"))}


def refused(result: subprocess.CompletedProcess[str], code: int) -> str:
    """The one line of a command that refused."""
    assert (result.returncode, result.stdout) == (code, ""), result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("equipoise: ")
    return line


def test_a_server_is_added_while_the_daemon_serves(house: House, address: str, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    done = ask(house, address, "server", "add", "dustbowl", "--tf", str(tf))
    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "[server.dustbowl] added",
        "SourceMod 1.12.0.7195 is there.",
        "REST in Pawn 1.3.2 is there.",
        "  sm plugins load equipoise",
    ):
        assert line in done.stdout
    cfg = (tf / "cfg/sourcemod/equipoise.cfg").read_text()
    settings = dict(re.findall(r'^(equipoise_\w+) "(.*)"$', cfg, re.MULTILINE))
    assert settings["equipoise_url"] == f"http://{address}"
    answer = post(address, settings["equipoise_secret"], posted(HELLO, seq=1, server=settings["equipoise_server"]))
    assert answer["ok"]
    assert "dustbowl" in ask(house, address, "server", "list").stdout
    assert (house.folder / "servers.d" / "dustbowl.toml").stat().st_mode & 0o777 == 0o644


def test_a_server_is_removed_and_its_secret_is_refused_from_then_on(house: House, address: str) -> None:
    post(address, house.secret, posted(HELLO, seq=1))
    done = ask(house, address, "server", "remove", "arena-1", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    with pytest.raises(HTTPError, match="401"):
        post(address, house.secret, posted(HELLO, seq=2))
    assert not list((house.folder / "servers.d").iterdir())
    assert "there is no server arena-1; there is: none" in refused(
        ask(house, address, "server", "remove", "arena-1", "--yes"), 2
    )


def test_another_secret_holds_at_once_and_is_the_only_line_of_any_file_that_changes(
    house: House, address: str, tmp_path: Path
) -> None:
    file, cfg = house.folder / "servers.d" / "arena-1.toml", game_server(tmp_path) / "cfg/sourcemod/equipoise.cfg"
    file.write_text(file.read_text() + "\n# mine\n[server.arena-1.triggers]\narena = { streak = 5 }\n")
    before = re.sub('secret_sha256 = ".*"', "", file.read_text())
    cfg.write_text('equipoise_words "top=best"\nequipoise_secret "old"\n')
    done = ask(house, address, "server", "secret", "arena-1", "--rotate", "--tf", str(cfg.parents[2]))
    assert done.returncode == 0, done.stderr
    words, secret = cfg.read_text().splitlines()
    assert words == 'equipoise_words "top=best"'
    assert post(address, secret.split('"')[1], posted(HELLO, seq=1))["ok"]
    assert secret.split('"')[1] not in done.stdout
    assert re.sub('secret_sha256 = ".*"', "", file.read_text()) == before
    shown = json.loads(ask(house, address, "server", "secret", "arena-1", "--rotate", "--json").stdout)["secret"]
    assert post(address, shown, posted(HELLO, seq=2))["ok"]
    for old in (house.secret, secret.split('"')[1]):
        with pytest.raises(HTTPError, match="401"):
            post(address, old, posted(HELLO, seq=3))


def test_what_the_daemon_refuses_leaves_everything_as_it_was(house: House, address: str, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    before = written(house), everything(tf)
    line = refused(ask(house, address, "server", "add", "dustbowl", "--tf", str(tf), "--pool", "mian"), 1)
    assert "there is no [pool.mian]" in line
    assert "refused" not in ask(house, address, "status").stdout
    house.edit("k_max = 12", "k_mox = 12")
    for words in (
        ("add", "dustbowl", "--tf", str(tf)),
        ("remove", "arena-1", "--yes"),
        ("secret", "arena-1", "--rotate"),
    ):
        assert "k_mox" in refused(ask(house, address, "server", *words), 1)
    house.edit("k_mox = 12", "k_max = 12")
    assert (written(house), everything(tf)) == before


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("arena-1", "there is a server arena-1 already"),
        ("Arena-1", "there is a server arena-1: Arena-1 differs only in capitals"),
        ("../x", "a server's name is up to 64 of A-Z a-z 0-9 _ -, not '../x'"),
        ("x" * 65, "a server's name is up to 64"),
        ("é", "a server's name is up to 64"),
        ("", "a server's name is up to 64"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(house: House, name: str, why: str) -> None:
    before = written(house)
    assert why in refused(run("server", "add", name, "--config", house.config), 2)
    assert written(house) == before


def test_a_pool_that_is_none_is_named(house: House) -> None:
    before = written(house)
    said = refused(run("server", "add", "dustbowl", "--pool", 'main" #', "-c", str(house.config)), 2)
    assert said.endswith('there is no [pool.main" #]')
    assert written(house) == before


def test_a_folder_of_another_server_is_refused(house: House, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    options = ("--tf", tf, "--config", house.config, "--url", "http://127.0.0.1:1")
    assert run("server", "add", "one", *options).returncode == 0
    before = written(house), everything(tf)
    for words in (("add", "two"), ("secret", "arena-1", "--rotate")):
        line = refused(run("server", *words, *options), 2)
        assert "this folder belongs to the server one" in line
    assert (written(house), everything(tf)) == before


def test_without_a_daemon_the_files_are_checked_and_read_at_the_next_start(house: House) -> None:
    done = run("server", "add", "two", "--config", house.config, "--json")
    answer = json.loads(done.stdout)
    assert (answer["running"], answer["server"]) == (False, "two")
    silent = run("server", "remove", "arena-1", "--config", house.config)
    assert (silent.returncode, "nobody answered: say --yes. Nothing was changed" in silent.stderr) == (1, True)
    removed = run("server", "remove", "arena-1", "--yes", "--config", house.config)
    assert "No daemon is running: it reads this at its next start." in removed.stdout
    before = written(house)
    line = refused(run("server", "add", "three", "--pool", "mian", "--config", house.config), 2)
    assert "servers.d/three.toml: $.server.three.pool: there is no [pool.mian]" in line
    assert written(house) == before
    with serving(house) as (_, address):
        assert post(address, answer["secret"], posted(HELLO, seq=1, server="two"))["ok"]


OWN = f"""
# Of a friend;
# [server.arena-1] is ours.
[server.own]  # since 2024
secret_sha256 = "{"ab" * 32}"
poll_seconds = 7
[server.own.vote]
fraction = 0.7

[ server . "own" . triggers ]
arena = {{ streak = 4 }}
"""
AFTER = f"""
# Below it.
[server.another]
secret_sha256 = "{"cd" * 32}"
"""


def test_a_server_in_the_file_that_is_written_by_hand_is_changed_once_it_is_moved(house: House) -> None:
    by_hand = house.config.read_text()
    house.config.write_text(by_hand + OWN + AFTER)
    before = written(house)
    for words in (("remove", "own"), ("secret", "own", "--rotate")):
        line = refused(run("server", *words, "--config", house.config), 1)
        assert f"own stands in {house.config}: `equipoise server move own` gives it a file that commands change" in line
    assert written(house) == before
    with serving(house) as (_, address):
        done = ask(house, address, "server", "move", "own")
        assert (done.returncode, done.stdout) == (0, f"own stands in {house.folder}/servers.d/own.toml now.\n")
        assert house.config.read_text() == by_hand + AFTER
        assert (house.folder / "servers.d" / "own.toml").read_text() == OWN.lstrip("\n")
        assert house.config.stat().st_mode & 0o777 == before["config.toml"][0] & 0o777
        assert ask(house, address, "reload").stdout == "Nothing has changed.\n"
        assert ask(house, address, "server", "secret", "own", "--rotate").returncode == 0
        assert "has a file of its own already" in refused(ask(house, address, "server", "move", "own"), 1)


@pytest.mark.parametrize(
    "table",
    [
        f'[server]\nown = {{ secret_sha256 = "{"ab" * 32}" }}\n',
        f'[server]\nown.secret_sha256 = "{"ab" * 32}"\n',
        f"""[server.own]\nsecret_sha256 = "{"ab" * 32}"\nwords = [\n['a'],\n]\n""",
    ],
)
def test_a_server_that_is_no_section_of_its_own_is_not_moved(house: House, table: str) -> None:
    house.config.write_text(f"{house.config.read_text()}\n{table}")
    before = written(house)
    line = refused(run("server", "move", "own", "--config", house.config), 2)
    assert f"[server.own] is not a section of its own: move it by hand to {house.folder}/servers.d/own.toml" in line
    assert written(house) == before


def test_a_port_that_is_chosen_at_each_start_is_no_address_for_a_plugin(house: House, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    line = refused(run("server", "add", "two", "--tf", tf, "--config", house.config), 2)
    assert "http://127.0.0.1:0 is not an address for a game server; choose a web.port, or use --url" in line


def test_the_plugin_is_updated_and_its_cfg_stays(house: House, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    options = ("--tf", tf, "--config", house.config, "--url", "http://127.0.0.1:1")
    assert run("server", "add", "two", *options).returncode == 0
    kept = everything(tf)
    plugin, german = tf / PLUGIN, tf / "addons/sourcemod/translations/de/equipoise.phrases.txt"
    whole = plugin.read_bytes()
    plugin.write_bytes(b"damaged")
    german.unlink()
    done = run("server", "update", "two", *options)
    assert done.returncode == 0, done.stderr
    assert "in place of one of an unknown version" in done.stdout
    assert "  sm plugins reload equipoise" in done.stdout
    assert plugin_version(plugin.read_bytes()) == plugin_version(whole)
    plugin.write_bytes(whole)
    assert everything(tf) == kept
    for name, why in (("arena-1", "belongs to the server two"), ("three", "there is no server three")):
        assert why in refused(run("server", "update", name, *options), 2)
    (tf / "cfg/sourcemod/equipoise.cfg").unlink()
    assert "it names no server" in refused(run("server", "update", "two", *options), 2)


@contextmanager
def waiting(house: House, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A command that has written its files, and waits for a daemon that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [EQUIPOISE, *words, "--config", house.config, "--url", url]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(4096).startswith(b"POST /v1/admin/reload ")
            yield process


def test_an_interrupted_command_leaves_everything_as_it_was(house: House, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    before = written(house), everything(tf)
    with waiting(house, "server", "add", "two", "--tf", tf) as process:
        assert (house.folder / "servers.d" / "two.toml").is_file()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in said
    assert (written(house), everything(tf)) == before


def test_commands_take_turns_so_that_no_secret_is_shown_that_another_takes_back(house: House) -> None:
    with waiting(house, "server", "add", "two") as first:
        command = [EQUIPOISE, "server", "secret", "two", "--rotate", "--config", house.config]
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(5)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
    shown, said = second.communicate(timeout=60)
    assert (second.returncode, shown) == (2, "")
    assert "there is no server two" in said


def test_a_pipe_in_a_game_folder_is_not_waited_for(house: House, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    os.mkfifo(tf / "cfg/sourcemod/equipoise.cfg")
    said = refused(run("server", "add", "dustbowl", "--tf", tf, "-c", house.config, "--url", "http://[::1]:1"), 2)
    assert said.endswith("equipoise.cfg: not a regular file")


def test_a_killed_command_leaves_whole_files_and_can_be_finished(house: House, tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    with waiting(house, "server", "add", "two", "--tf", tf) as process:
        process.kill()
        process.communicate(timeout=60)
    secret = re.findall(r'^equipoise_secret "(.*)"$', (tf / "cfg/sourcemod/equipoise.cfg").read_text(), re.MULTILINE)[0]
    with serving(house) as (_, address):
        assert post(address, secret, posted(HELLO, seq=1, server="two"))["ok"]
        done = ask(house, address, "server", "secret", "two", "--rotate", "--tf", str(tf))
        assert done.returncode == 0, done.stderr
