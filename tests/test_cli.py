"""The command line as an operator uses it: real processes, their output and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from equipoise.cli import main
from tests.daemons import Forked, Running, address_of
from tests.store.damage import wreck
from tests.wire.samples import HELLO, RED, ROUND, posted

EQUIPOISE = Path(sys.executable).with_name("equipoise")
UNPRIVILEGED = Path(__file__).with_name("chaos") / "unprivileged.py"


def run(*arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command of ours, with no configuration but what is given."""
    plain = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    return subprocess.run(
        [EQUIPOISE, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=plain | {"HOME": "/nonexistent"} | environ,
    )


@dataclass(frozen=True, slots=True)
class House:
    """What `init` wrote."""

    folder: Path
    secret: str

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def edit(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))


@pytest.fixture
def house(tmp_path: Path) -> House:
    folder = tmp_path / "equipoise"
    made = run("init", folder)
    assert made.returncode == 0, made.stderr
    secret = re.search(r"^  ([\w-]{43})$", made.stdout, re.MULTILINE)
    assert secret
    found = House(folder, secret[1])
    found.edit("port = 27500", f'port = 0\n\n[store]\ndirectory = "{folder}/state"')
    return found


@contextmanager
def serving(house: House, *options: str, forked: bool = True, **environ: str) -> Iterator[tuple[Running, str]]:
    """The daemon as a process, and its address once it says that it is ready.

    `forked` saves its imports; where the test is about the process itself, it is started as an operator does.
    """
    log = house.folder / "daemon.log"
    log.unlink(missing_ok=True)
    process: Running
    if forked:
        process = Forked(log, "serve", "--config", house.config, *options)
    else:
        with log.open("wb") as file:
            command = [EQUIPOISE, "serve", "--config", house.config, *options]
            process = subprocess.Popen(command, stderr=file, env={**os.environ, **environ})
    try:
        yield process, address_of(process, log)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)


def refused(config: Path) -> str:
    """The one line of a daemon that cannot start."""
    log = config.parent / "refused.log"
    process = Forked(log, "serve", "--config", config)
    code = process.wait(60)
    said, _ = log.read_text(), log.unlink()
    assert code is not None
    return one_line(subprocess.CompletedProcess("serve", code, "", said))


def post(address: str, secret: str, batch: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    with urlopen(Request(f"http://{address}/v1/events", json.dumps(batch).encode(), headers), timeout=60) as answer:
        return json.load(answer)


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """What a refused start says: one line, no traceback."""
    assert result.returncode == 2, result.stderr
    lines = [line for line in result.stderr.splitlines() if not re.match(r"<[567]>", line)]
    assert len(lines) == 1
    assert lines[0].startswith("equipoise: ")
    return lines[0]


def test_every_command_explains_itself() -> None:
    overview = run("--help")
    assert overview.returncode == 0
    assert "Exit codes" in overview.stdout
    commands = re.findall(r"^  ([a-z-]+)  ", overview.stdout.split("Commands:")[1], re.MULTILINE)
    for command in ("serve", "init", "check-config", "status", "server", "player", "pool", "why"):
        assert command in commands
        assert "Usage:" in CliRunner().invoke(main, [command, "--help"]).stdout
    for group, inner in (("server", "scramble"), ("player", "set"), ("pool", "quality")):
        assert "Usage:" in CliRunner().invoke(main, [group, inner, "--help"]).stdout


def test_init_writes_a_configuration_that_is_good(house: House) -> None:
    checked = run("check-config", "--config", house.config)
    assert (checked.returncode, checked.stderr) == (0, "")
    printed = run("check-config", "--print", "--config", house.config).stdout
    assert "server.arena-1.arena.streak = 3" in printed
    for secret in (house.secret, (house.folder / "owner.token").read_text().strip()):
        assert secret not in printed


def test_init_keeps_secrets_from_others_and_in_plain_only_the_owners_token(house: House) -> None:
    plain = [path for path in house.folder.rglob("*") if path.is_file() and house.secret in path.read_text()]
    assert plain == []
    assert {path.stat().st_mode & 0o777 for path in house.folder.glob("secrets/*")} == {0o600}
    assert (house.folder / "owner.token").stat().st_mode & 0o777 == 0o600


def test_init_overwrites_nothing(house: House) -> None:
    before = {path: path.read_bytes() for path in house.folder.rglob("*") if path.is_file()}
    (house.folder / "secrets" / "owner.sha256").unlink()
    assert "exists already" in one_line(run("init", house.folder))
    after = {path: path.read_bytes() for path in house.folder.rglob("*") if path.is_file()}
    assert after == {path: text for path, text in before.items() if path.name != "owner.sha256"}


def test_init_refuses_a_name_that_is_a_path(tmp_path: Path) -> None:
    assert "--server" in one_line(run("init", tmp_path / "new", "--server", "../x"))
    assert not (tmp_path / "new").exists()


def test_an_unknown_key_is_named(house: House) -> None:
    house.config.write_text(house.config.read_text() + "\n[arena]\nstrek = 3\n")
    for line in (one_line(run(command, "--config", house.config)) for command in ("serve", "check-config")):
        assert line == f"equipoise: {house.config}: $.arena.strek: no such key; is it streak?"


def test_a_missing_secret_is_named_with_the_command_that_makes_one(house: House) -> None:
    (house.folder / "secrets" / "arena-1.sha256").unlink()
    line = refused(house.config)
    assert "$.server.arena-1.secret_file" in line
    assert "equipoise init" in line


def test_a_missing_configuration_is_named_with_the_command_that_writes_one(tmp_path: Path) -> None:
    line = refused(tmp_path / "gone.toml")
    assert "gone.toml" in line
    assert "equipoise init" in line


def test_a_port_in_use_is_named(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        house.edit("port = 0", f"port = {taken.getsockname()[1]}")
        line = refused(house.config)
    assert "$.web.port" in line
    assert not house.state.exists()


def test_a_state_directory_that_cannot_be_made_is_named(house: House) -> None:
    (house.folder / "file").write_text("")
    house.edit(f'"{house.folder}/state"', f'"{house.folder}/file/state"')
    assert "$.store.directory" in refused(house.config)


def test_a_read_only_state_directory_is_named(house: House) -> None:
    house.edit(f'"{house.folder}/state"', '"/proc/tty"')
    assert "/proc/tty" in refused(house.config)


@pytest.mark.slow
def test_a_state_directory_that_may_not_be_looked_into_is_named(house: House) -> None:
    house.state.mkdir(mode=0)
    command = [sys.executable, "-S", UNPRIVILEGED, EQUIPOISE, "serve", "--config", house.config]
    line = one_line(subprocess.run(command, capture_output=True, text=True, timeout=60))
    house.state.chmod(0o700)
    assert line.startswith(f"equipoise: {house.state}: Permission denied")


@pytest.mark.slow
def test_a_file_of_another_user_in_the_state_directory_is_named(house: House) -> None:
    with serving(house) as (process, _):
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    command = [sys.executable, "-S", UNPRIVILEGED, EQUIPOISE, "serve", "--config", house.config]
    for name in ("equipoise.db.lock", "main.ring"):
        (house.state / name).chmod(0)
        line = one_line(subprocess.run(command, capture_output=True, text=True, timeout=60))
        (house.state / name).chmod(0o600)
        assert line.startswith(f"equipoise: {house.state / name}: Permission denied: give this user write access")


def test_a_store_newer_than_the_program_is_refused(house: House) -> None:
    with serving(house) as (process, _):
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    with sqlite3.connect(house.state / "equipoise.db") as db:
        db.execute("PRAGMA user_version = 9999")
    db.close()
    assert "newer" in refused(house.config)


def test_a_second_daemon_on_the_same_store_is_refused(house: House) -> None:
    with serving(house):
        assert "process" in refused(house.config)


def test_a_new_store_is_announced_and_a_lost_one_is_not_replaced_unless_it_is_meant(house: House) -> None:
    store = house.state / "equipoise.db"
    for first in (True, False):
        with serving(house) as (process, _):
            log = (house.folder / "daemon.log").read_text()
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        assert (f"{store}: there was no store, a new one is made" in log) is first

    store.unlink()
    for _ in range(2):
        line = refused(house.config)
        assert f"{store}: No such file or directory: there is no store, but {house.state / 'main.ring'} shows" in line
        assert "restore a backup, or run `equipoise serve --new-store` once" in line
        assert not store.exists()
    store.touch()
    assert f"{store}: the file is empty" in refused(house.config)
    assert store.stat().st_size == 0

    for said in ("there was no store", "there is a store: --new-store does nothing"):
        with serving(house, "--new-store") as (process, _):
            assert f"{store}: {said}" in (house.folder / "daemon.log").read_text()
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.mark.slow
def test_no_other_user_can_read_what_the_daemon_keeps(house: House) -> None:
    before = os.umask(0)
    try:
        with serving(house, forked=False):
            modes = {each.name: each.stat().st_mode & 0o777 for each in house.state.iterdir()}
    finally:
        os.umask(before)
    assert house.state.stat().st_mode & 0o777 == 0o700
    assert modes["equipoise.db-wal"] == 0o600
    assert set(modes.values()) == {0o600}


@pytest.mark.slow
def test_a_damaged_store_that_cannot_be_started_on_is_named_with_what_to_do(house: House) -> None:
    with serving(house) as (process, _):
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    wreck(house.state / "equipoise.db", "pools")
    started = run("serve", "--config", house.config)
    *_, line = started.stderr.splitlines()
    assert started.returncode == 2
    assert line.startswith(f"equipoise: {house.state / 'equipoise.db'}: store: it is damaged (")
    assert line.endswith("restore a backup")


@pytest.mark.slow
def test_commands_beside_the_daemon_make_no_store(house: House) -> None:
    for words in (("pool", "recompute", "--yes"), ("replay", "--pool", "main", "--model", "elo")):
        line = one_line(run(*words, "--config", house.config))
        assert line == f"equipoise: {house.state / 'equipoise.db'}: No such file or directory: there is no store"
        assert not house.state.exists()


@pytest.mark.slow
def test_sigterm_stops_the_daemon_gracefully_and_a_restart_goes_on(house: House) -> None:
    with serving(house, forked=False) as (process, address):
        post(address, house.secret, posted(HELLO, ROUND, seq=1))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    with serving(house) as (_, address):
        shown = ask(house, address, "player", "show", RED, "--json")
        assert json.loads(shown.stdout)["player"]["rounds"] == 1


def test_a_round_that_was_answered_survives_kill_9(house: House) -> None:
    with serving(house) as (process, address):
        assert post(address, house.secret, posted(HELLO, ROUND, seq=1))["rounds"] == {"1-4": "stored"}
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    with serving(house) as (_, address):
        assert post(address, house.secret, posted(ROUND, seq=2))["rounds"] == {"1-4": "stored"}
        assert json.loads(ask(house, address, "player", "show", RED, "--json").stdout)["player"]["rounds"] == 1


@pytest.mark.slow
def test_serving_and_rating_loads_no_numba(house: House) -> None:
    with serving(house, forked=False) as (process, address):
        assert post(address, house.secret, posted(HELLO, ROUND, seq=1))["players"][0]["rounds"] == 1
        mapped = Path(f"/proc/{process.pid}/maps").read_text()
    assert "_sqlite3" in mapped
    assert "llvmlite" not in mapped
    assert "numba" not in mapped


@pytest.mark.slow
def test_systemd_is_notified_of_starting_ready_alive_and_stopping(house: House, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        with serving(house, forked=False, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="200000") as (
            process,
            _,
        ):
            assert systemd.recv(64) == b"EXTEND_TIMEOUT_USEC=900000000"
            states = {systemd.recv(64), systemd.recv(64)}
            assert states == {b"READY=1", b"WATCHDOG=1"}
            process.send_signal(signal.SIGTERM)
            last = systemd.recv(64)
            while last == b"WATCHDOG=1":
                last = systemd.recv(64)
            assert last == b"STOPPING=1"


def ask(house: House, address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that goes through the daemon."""
    return run(*arguments, "--config", house.config, "--url", f"http://{address}")


@pytest.fixture
def daemon(house: House) -> Iterator[str]:
    with serving(house) as (_, address):
        players = [{"id": str(int(RED) + n), "side": ("red", "blu")[n % 2]} for n in range(6)]
        roster = {"kind": "roster", "players": players}
        hello = {**HELLO, "map": "koth_nucleus", "phase": "running", "facts": {"game_type": 2, "koth": True}}
        post(address, house.secret, posted(hello, roster, {**ROUND, "map": "koth_nucleus"}, seq=1))
        yield address


def test_status_is_a_table_or_json(house: House, daemon: str) -> None:
    table = ask(house, daemon, "status").stdout.splitlines()
    assert table[0].split()[:3] == ["SERVER", "MAP", "MODE"]
    assert table[1].split()[:3] == ["arena-1", "koth_nucleus", "koth"]
    (server,) = json.loads(ask(house, daemon, "status", "--json").stdout)["servers"]
    assert server["players_a"] == 3
    assert ask(house, daemon, "server", "list").stdout.splitlines() == table


@pytest.mark.slow
def test_status_says_that_the_store_is_in_trouble_and_nothing_when_it_is_not(house: House, daemon: str) -> None:
    calm = ask(house, daemon, "status").stdout.splitlines()
    assert len(calm) == 2
    with sqlite3.connect(house.state / "equipoise.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        post(daemon, house.secret, posted({**ROUND, "round": "1-5"}, seq=2))
        *_, blank, line = ask(house, daemon, "status").stdout.splitlines()
        found = json.loads(ask(house, daemon, "status", "--json").stdout)
    other.close()
    assert blank == ""
    assert re.fullmatch(r"The store is locked since 20..-..-.. ..:.., 1 rounds wait: end the other program .*\.", line)
    assert (found["store"]["state"], found["waiting_rounds"]) == ("locked", 1)


def test_status_says_why_a_map_is_left_alone(house: House) -> None:
    with serving(house) as (_, address):
        reply = post(address, house.secret, posted({**HELLO, "map": "vsh_dust"}, seq=1))
        assert (reply["level"], reply["level_reason"], reply["want"]) == ("off", "vsh_", [])
        assert ask(house, address, "status").stdout.splitlines()[1].endswith("inactive: vsh_")
        refused = ask(house, address, "server", "scramble", "arena-1")
        assert (refused.returncode, refused.stderr) == (1, "equipoise: Equipoise leaves this map alone (vsh_).\n")


def test_status_says_which_of_two_scripts_with_one_name_is_served(house: House, daemon: str) -> None:
    post(daemon, house.secret, posted(HELLO, boot=7, seq=1))
    with pytest.raises(HTTPError, match="409"):
        post(daemon, house.secret, posted(seq=2))
    *_, last = ask(house, daemon, "status").stdout.splitlines()
    assert last.startswith("2 scripts call as arena-1: boot 7 is served, boot 1763622000123 is stale since 2")
    assert last.endswith("; is the plugin loaded on two servers?")
    (server,) = json.loads(ask(house, daemon, "status", "--json").stdout)["servers"]
    assert [script["boot"] for script in server["stale_scripts"]] == [1763622000123]


def test_status_shows_a_vote_that_players_ask_for(house: House, daemon: str) -> None:
    # There is no vote while a scramble is due, as after this round, or while the teams are even.
    ask(house, daemon, "player", "set", RED, "9000")
    assert ask(house, daemon, "server", "cancel", "arena-1").returncode == 0
    for seq, shown in ((2, "asked for a vote: 1"), (3, "vote running")):
        wish = {"kind": "command", "words": ["vote"], "by": str(int(RED) + seq)}
        post(daemon, house.secret, posted(wish, seq=seq))
        assert shown in ask(house, daemon, "status").stdout.splitlines()[1]


def test_players_are_shown_set_reset_and_ranked(house: House, daemon: str) -> None:
    assert RED in ask(house, daemon, "player", "show", RED).stdout
    assert "1500" in ask(house, daemon, "player", "set", RED, "1500").stdout
    assert json.loads(ask(house, daemon, "player", "reset", RED, "--json").stdout)["player"]["rounds"] == 0
    assert ask(house, daemon, "player", "top").stdout.startswith("PLAYER")


def test_an_order_that_the_game_still_has_to_carry_out_says_where_its_result_is_shown(
    house: House, daemon: str
) -> None:
    players = [{"id": str(int(RED) + n), "side": ("red", "blu")[n % 2]} for n in range(6)]
    post(daemon, house.secret, posted({"kind": "round_started", "players": players}, seq=2))
    ordered = ask(house, daemon, "server", "scramble", "arena-1")
    assert (ordered.returncode, ordered.stderr) == (0, "")
    assert ordered.stdout == "Ordered. `equipoise why` shows what became of it.\n"


def test_a_scramble_that_waits_is_announced_with_its_reason(house: House, daemon: str) -> None:
    lines = ask(house, daemon, "server", "scramble", "arena-1", "--when", "next").stdout.splitlines()
    assert lines == ["Teams will be balanced at the next round start:", "the losing side captured nothing"]


def test_a_scramble_can_be_tried_dry_and_then_ordered(house: House, daemon: str) -> None:
    ask(house, daemon, "player", "set", RED, "2000")
    dry = ask(house, daemon, "server", "scramble", "arena-1", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "Side A has a chance of" in dry.stdout
    assert "TO" in dry.stdout
    assert ask(house, daemon, "server", "scramble", "arena-1", "--when", "next").returncode == 0
    assert ask(house, daemon, "server", "cancel", "arena-1").returncode == 0
    again = ask(house, daemon, "server", "cancel", "arena-1")
    assert (again.returncode, again.stderr) == (1, "equipoise: No scramble is pending.\n")


def test_why_lists_decisions_and_pool_quality_its_measures(house: House, daemon: str) -> None:
    assert ask(house, daemon, "server", "off", "arena-1").returncode == 0
    assert "switch" in ask(house, daemon, "why", "arena-1").stdout
    assert "brier" in ask(house, daemon, "pool", "quality").stdout


def test_a_daemon_that_is_not_there_is_exit_code_3(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    silent = ask(house, f"127.0.0.1:{free}", "status")
    assert silent.returncode == 3
    assert "equipoise serve" in silent.stderr


def test_without_a_token_one_line_says_where_it_is_looked_for(house: House) -> None:
    (house.folder / "owner.token").unlink()
    assert "EQUIPOISE_TOKEN" in one_line(run("status", "--config", house.config))


def test_a_wrong_token_is_refused(house: House, daemon: str) -> None:
    wrong = run("status", "--url", f"http://{daemon}", "--token", "nobody's")
    assert (wrong.returncode, wrong.stderr) == (1, "equipoise: this secret is not known here\n")
