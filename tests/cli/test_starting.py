"""`init`, and what stops a start: one line that says what to do."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.cli.options import FAILED
from tests.cli.house import EQUIPOISE, UNPRIVILEGED, House, one_line, refused, run, serving
from tests.store.disk import filled, small_disk


def test_init_keeps_secrets_from_others_and_in_plain_only_the_owners_token(house: House) -> None:
    plain = [path for path in house.folder.rglob("*") if path.is_file() and house.secret in path.read_text()]
    assert plain == []
    modes = {path.name: path.stat().st_mode & 0o777 for path in (house.folder, *house.folder.rglob("*"))}
    assert modes == {
        "equipoise": 0o755,
        "config.toml": 0o644,
        "owner.token": 0o600,
        "secrets": 0o700,
        "servers.d": 0o755,
        "arena-1.toml": 0o644,
    }


@pytest.mark.slow
def test_init_ends_with_the_commands_that_start_the_daemon_and_open_its_page(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    end = f"  equipoise serve --config {config}\n\nWhile it runs, open its page in a browser with:\n\n"
    assert run("init", tmp_path).stdout.endswith(f"{end}  equipoise page --config {config}\n\n")


@pytest.mark.slow
def test_init_overwrites_nothing(house: House) -> None:
    before = {path: path.read_bytes() for path in house.folder.rglob("*") if path.is_file()}
    (house.folder / "owner.token").unlink()
    assert "exists already" in one_line(run("init", house.folder))
    after = {path: path.read_bytes() for path in house.folder.rglob("*") if path.is_file()}
    assert after == {path: text for path, text in before.items() if path.name != "owner.token"}


@pytest.mark.slow
def test_an_unknown_key_is_named(house: House) -> None:
    house.config.write_text(house.config.read_text() + "\n[triggers]\narena = { strek = 3 }\n")
    for line in (one_line(run(command, "--config", house.config)) for command in ("serve", "check-config")):
        assert line == f"equipoise: {house.config}: $.triggers.arena.strek: no such key; is it streak?"


def test_a_missing_secret_is_named_with_its_key(house: House) -> None:
    server, secret = house.folder / "servers.d" / "arena-1.toml", house.folder / "secrets" / "arena-1.sha256"
    server.write_text('[server.arena-1]\nsecret_file = "secrets/arena-1.sha256"\n')
    expected = f"equipoise: {server}: $.server.arena-1.secret_file: {secret}: No such file or directory"
    assert refused(house.config) == expected


def test_a_missing_configuration_is_named_with_the_command_that_writes_one(tmp_path: Path) -> None:
    missing = tmp_path / "gone.toml"
    assert refused(missing).endswith(f"{missing}: No such file or directory; `equipoise init` writes one")
    assert f"there is no {missing}. Run `equipoise init`" in one_line(run("status", "--config", missing))


def test_a_port_in_use_is_named_and_may_be_free_at_the_next_start(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        house.edit("port = 0", f"port = {taken.getsockname()[1]}")
        line = refused(house.config, FAILED)
    assert "$.web.port" in line
    assert not house.state.exists()


def test_a_state_directory_that_cannot_be_made_is_named(house: House) -> None:
    (house.folder / "file").write_text("")
    house.edit(f'"{house.folder}/state"', f'"{house.folder}/file/state"')
    assert "$.store.directory" in refused(house.config)


@pytest.mark.slow
def test_a_state_directory_that_may_not_be_looked_into_is_named(house: House) -> None:
    house.state.mkdir(mode=0)
    command = [sys.executable, "-S", UNPRIVILEGED, EQUIPOISE, "serve", "--config", house.config]
    line = one_line(subprocess.run(command, capture_output=True, text=True, timeout=60))
    house.state.chmod(0o700)
    assert line.startswith(f"equipoise: {house.state}: Permission denied")


def served(house: House, *options: str) -> str:
    """The log of a daemon that is started and stopped."""
    with serving(house, *options) as (process, _):
        log = (house.folder / "daemon.log").read_text()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    return log


@pytest.mark.slow
def test_a_file_of_another_user_in_the_state_directory_is_named(house: House) -> None:
    served(house)
    command = [sys.executable, "-S", UNPRIVILEGED, EQUIPOISE, "serve", "--config", house.config]
    for name in ("equipoise.db.lock", "main.ring"):
        (house.state / name).chmod(0)
        line = one_line(subprocess.run(command, capture_output=True, text=True, timeout=60))
        (house.state / name).chmod(0o600)
        assert line.startswith(f"equipoise: {house.state / name}: Permission denied: give this user write access")


@pytest.mark.slow
def test_a_second_daemon_on_the_same_store_is_refused_until_the_first_ends(house: House) -> None:
    with serving(house):
        assert "process" in refused(house.config, FAILED)


@pytest.mark.slow
def test_a_full_disk_ends_the_start_so_that_it_is_tried_again(house: House) -> None:
    served(house)
    with small_disk(house.folder / "disk") as disk:
        for kept in house.state.iterdir():
            shutil.copy(kept, disk)
        house.edit(f"{house.folder}/state", str(disk))
        with filled(disk):
            assert str(disk) in refused(house.config, FAILED)
        with serving(house):
            pass


@pytest.mark.slow
def test_a_new_store_is_announced_and_a_lost_one_is_not_replaced_unless_it_is_meant(house: House) -> None:
    store = house.state / "equipoise.db"
    for first in (True, False):
        assert (f"{store}: there was no store, a new one is made" in served(house)) is first

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
        assert f"{store}: {said}" in served(house, "--new-store")


@pytest.mark.slow
def test_a_store_that_was_being_made_when_the_power_failed_is_made_anew(house: House) -> None:
    store = house.state / "equipoise.db"
    store.parent.mkdir(mode=0o700, exist_ok=True)
    with closing(sqlite3.connect(store)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    for end in ("wal", "shm"):
        (house.state / f"equipoise.db-{end}").touch()
    with serving(house):
        assert f"{store}: there was no store, a new one is made" in (house.folder / "daemon.log").read_text()


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
def test_commands_beside_the_daemon_make_no_store(house: House) -> None:
    for words in (("pool", "recompute", "--yes"), ("lab", "replay", "--pool", "main", "--model", "elo")):
        line = one_line(run(*words, "--config", house.config))
        assert line == f"equipoise: {house.state / 'equipoise.db'}: No such file or directory: there is no store"
        assert not house.state.exists()


WATCHED = """
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print("threads", os.environ.get("OPENBLAS_NUM_THREADS"))

sys.meta_path.insert(0, Watch())
from equipoise.cli import main
main(["serve", "--config", "missing.toml"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "used"), [(None, "1"), ("2", "2")])
def test_numpy_is_imported_by_a_daemon_with_one_thread_unless_its_environment_says_otherwise(
    tmp_path: Path, chosen: str | None, used: str
) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environ |= {"OPENBLAS_NUM_THREADS": chosen} if chosen else {}
    ended = subprocess.run([sys.executable, "-c", WATCHED], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert ended.stdout == f"threads {used}\n"
