"""`equipoise doctor`: what it finds on the machine, with and without a daemon."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.cli.doctor import of_files, of_store
from equipoise.cli.setup import keep_as_before
from equipoise.config import load
from equipoise.service.diagnosis import of_disk
from tests.cli.house import ALONE, House, ask, post, run, serving
from tests.game.rcon_servers import free_port, wait_for
from tests.store.disk import NOBODY, small_disk
from tests.wire.samples import HELLO, ROUND, posted

pytestmark = pytest.mark.slow


def findings(house: House, *options: str) -> list[dict[str, Any]]:
    done = run("doctor", "--json", "--config", house.config, *options)
    answer = json.loads(done.stdout)
    assert done.returncode == (1 if any(each["bad"] for each in answer["findings"]) else 0), done.stderr
    assert all(each["advice"] for each in answer["findings"])
    return list(answer["findings"])


def said(house: House, *options: str) -> str:
    return "\n".join(each["what"] for each in findings(house, *options))


def on_a_free_port(house: House) -> int:
    port = free_port()
    house.edit("port = 0", f"port = {port}")
    return port


def test_where_all_is_right_it_says_so_and_its_exit_code_is_0(house: House) -> None:
    on_a_free_port(house)
    house.edit(ALONE, '\nbalance = "joint"\n')
    with serving(house) as (_, address):
        post(address, house.secret, posted({**HELLO, "plugin": equipoise.__version__}, seq=1))
        done = run("doctor", "--config", house.config)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"equipoise {equipoise.__version__}, python ")
    assert done.stdout.endswith("\nall good\n")


def test_a_script_of_another_author_has_its_own_versions(house: House) -> None:
    on_a_free_port(house)
    with serving(house) as (_, address):
        for seq, (version, bad) in enumerate((("own-game/1", False), ("0.0.1", True)), start=1):
            post(address, house.secret, posted({**HELLO, "plugin": version}, seq=seq))
            assert (f"its plugin is version {version}, older than" in said(house)) == bad


def test_a_daemon_that_is_down_and_the_program_that_has_its_port(house: House) -> None:
    port = on_a_free_port(house)
    found = said(house)
    assert f"no daemon answers at http://127.0.0.1:{port}" in found
    assert "is taken by" not in found
    server = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        wait_for(port)
        found = said(house)
        other.kill()
    assert f"what answers at http://127.0.0.1:{port} is not a daemon" in found
    assert f"port {port} is taken by python" in found
    assert f"(pid {other.pid})" in found


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (b"SSH-2.0-x\x1b[2J\r\n", "another program listens there"),
        (b"", "Remote end closed connection without response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", "another program listens there"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "another program listens there"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x1b\x9b", "no daemon answers"),
        (b"HTTP/1.1 500 \x1b[2J\x9b\r\nContent-Length: 0\r\n\r\n", "is not a daemon, or an older one (500)"),
    ],
    ids=["no HTTP", "nothing", "cut off", "other JSON", "no text", "a status with escapes"],
)
def test_whatever_another_program_answers_is_a_finding(answer: bytes, what: str, house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        (found,) = (each for each in findings(house, "--url", url) if each["about"] == "daemon")
        thread.join()
    assert what in found["what"]
    assert found["what"].isprintable()


def test_a_wrong_configuration_and_a_refused_token(house: House) -> None:
    on_a_free_port(house)
    with serving(house):
        assert "refuses the token" in said(house, "--token", "wrong")
        house.edit("k_max = 12", "k_max = 0")
        found = said(house)
    assert "the configuration is wrong: " in found
    assert "no daemon answers" not in found


def test_a_key_of_the_version_before_is_said_with_the_line_to_write_wherever_the_file_is_read(house: House) -> None:
    on_a_free_port(house)
    house.edit("[web]", "[scramble]\nrounds = 5\n[web]")
    line = "{ rounds = 5, no_capture = true, waiting = true, chance = true }"
    what = f"{house.config}: $.scramble.rounds: the next version does not read this key"
    advice = f"write in [triggers]: attack_defend = {line}, and: payload = {line}"
    checked = run("check-config", "--config", house.config)
    assert (checked.returncode, checked.stderr) == (0, f"{what}; {advice}\n")
    with serving(house) as (_, address):
        (found,) = [each for each in findings(house) if "scramble" in each["what"]]
        assert ask(house, address, "reload").returncode == 0
    assert found == {"bad": False, "about": "daemon", "what": what, "advice": advice}
    assert (house.folder / "daemon.log").read_text().count(f"{what}; {advice}") == 2, "at the start and at the reload"


def test_a_pool_of_an_older_version_keeps_what_makes_its_teams_and_is_offered_what_new_ones_have(house: House) -> None:
    on_a_free_port(house)
    offer = "pool main: synelo makes the teams, those of new pools are made by joint"
    without = house.config.read_text().replace(ALONE, "\n")
    house.config.write_text(without)
    with serving(house):
        assert offer not in said(house), "a new pool without the line is balanced by joint"
        assert list(keep_as_before(load(house.config, {}))) == []
    house.config.write_text(without.replace("k_max = 12", f"k_max = 12{ALONE}"))
    with serving(house) as (_, address):
        assert post(address, house.secret, posted(HELLO, ROUND, seq=1))["rounds"]
    house.config.write_text(without)
    with serving(house):
        assert offer in said(house)
        (line,) = keep_as_before(load(house.config, {}))
    assert line.startswith('Wrote balance = "synelo" in [pool.main]')
    assert load(house.config, {}).pools["main"].balance is None
    assert list(keep_as_before(load(house.config, {}))) == []
    assert house.config.read_text().count("\n") == without.count("\n") + 2, "nothing else is rewritten"


def test_files_that_others_can_read_and_those_that_the_daemons_user_cannot(house: House) -> None:
    on_a_free_port(house)
    token = house.folder / "owner.token"
    token.chmod(0o644)
    assert f"other users can read {token}" in said(house)
    token.chmod(0o600)
    assert "other users can read" not in said(house)
    config = load(house.config, {})
    house.config.chmod(0o600)
    # Below a folder that is root's alone no file can be read.
    found = next(each for each in of_files(config, NOBODY) if str(house.config) in each.what)
    assert found.what.startswith(f"the daemon's user cannot read {house.config}")
    assert found.advice == f"chmod o+r {house.config}"
    assert list(of_files(config, 0)) == []


def test_a_damaged_store_and_one_that_is_too_large_to_be_checked_now(house: House) -> None:
    on_a_free_port(house)
    with serving(house):
        pass
    assert "damaged" not in said(house)
    store = house.state / "equipoise.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.executescript(
            "CREATE TABLE filler (data); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
            " INSERT INTO filler SELECT hex(randomblob(500)) FROM n; CREATE INDEX filled ON filler (data);"
        )
    (found,) = of_store(store, seconds=0)
    assert (found.bad, found.what.startswith("the store is too large")) == (False, True)
    content = bytearray(store.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 8192] = bytes(8192)
    store.write_bytes(content)
    assert f"{store} is damaged: " in said(house)


def test_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        (found,) = of_disk(disk)
    assert found.what.endswith(f"MB are free where the store is ({disk})")


def test_a_directory_of_the_store_that_is_gone(tmp_path: Path) -> None:
    (found,) = of_disk(tmp_path / "gone")
    assert (found.bad, found.what) == (True, f"{tmp_path}/gone, where the store is: No such file or directory")


def test_a_cache_of_numba_that_cannot_be_written(house: House) -> None:
    on_a_free_port(house)
    with serving(house, forked=False, NUMBA_CACHE_DIR="/dev/null/numba"):
        assert "NUMBA_CACHE_DIR=/dev/null/numba cannot be written" in said(house)
