"""`equipoise doctor`: every fault that it finds, made and mended, and what it says of the machine."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from rcon_server.rcon_connection import RCONConnection

import equipoise
from equipoise.cli.doctor import of_files, of_store
from equipoise.cli.starting import keep_as_before
from equipoise.config import load
from equipoise.service.diagnosis import of_disk
from tests.cli.house import ALONE, EQUIPOISE, UNPRIVILEGED, House, post, run, serving
from tests.daemons import RealDaemon
from tests.game.query_server import CHALLENGE, SIMPLE, Answer, info, query_server, right
from tests.game.rcon_servers import PASSWORD, SourceServer, free_port, source_server, wait_for
from tests.game.test_inspection import console
from tests.store.disk import NOBODY, small_disk
from tests.wire.samples import BLU, HELLO, RED, ROUND, posted

pytestmark = pytest.mark.slow

VERSION = equipoise.__version__
NAME = "arena-1"
ROSTER = {"kind": "roster", "players": [{"id": RED, "side": "red"}, {"id": BLU, "side": "blu"}]}
PLUGINS = f'[SM] Listing 2 plugins:\n  01 "Equipoise" ({VERSION}) by Equipoise\n'
GSCRAMBLE = '  02 "[TF2] gScramble" (4.0.03) by Goerge\n'


def of_another_game(request: bytes) -> list[bytes]:
    """What a server of Counter-Strike: Source answers."""
    if request[-4:] != CHALLENGE:
        return right(request)
    ours = info().replace(b"\0tf\0Team Fortress\0\xb8\x01", b"\0cstrike\0Counter-Strike: Source\0\xf0\0")
    return [SIMPLE + ours.partition(b"\xb1")[0] + b"\0"]


class GameServer:
    """A simulated game server's console and its answers to A2S, in a thread."""

    def __init__(self) -> None:
        self.plugins = PLUGINS
        self.banned = False
        self.rcon_port = self.query_port = 0
        self._rcon: SourceServer
        self._query: Any
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()

    def do(self, change: Callable[[], None]) -> None:
        """In the thread, between two answers."""
        done = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (change(), done.set()))
        assert done.wait(60)

    def answer_a2s(self, answer: Answer) -> None:
        self.do(lambda: setattr(self._query, "answer", answer))

    def list_plugins(self, plugins: str = PLUGINS) -> None:
        self.plugins = plugins

    def ban(self, banned: bool) -> None:
        """Hang up at the login, as srcds does with an address that it has banned; connections that are open end."""
        self.banned = banned
        self.do(lambda: self._rcon.set_password(PASSWORD))

    @contextmanager
    def running(self) -> Iterator[GameServer]:
        ready = threading.Event()

        async def serve() -> None:
            answers = lambda command: console(self.plugins, {})(command)  # noqa: E731
            async with source_server(answers) as (rcon, rcon_port), query_server() as (query, query_port):
                self._rcon, self._query, self.rcon_port, self.query_port = rcon, query, rcon_port, query_port
                welcome = rcon.check_password
                rcon.check_password = lambda word: self._hung_up(rcon) or welcome(word)
                ready.set()
                await self._stop.wait()

        def work() -> None:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(serve())

        thread = threading.Thread(target=work)
        thread.start()
        assert ready.wait(60)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join()

    def _hung_up(self, rcon: SourceServer) -> bool:
        if self.banned:
            for connection in rcon.connections:
                assert isinstance(connection, RCONConnection)
                connection._transport.abort()
        return False


def findings(config: Path, *options: str, before: Sequence[str | Path] = ()) -> list[dict[str, Any]]:
    """What doctor says, notes too; its exit code goes with it."""
    words = ("doctor", "--json", "--config", config, *options)
    done = run(*words)
    if before:
        done = subprocess.run([*before, EQUIPOISE, *words], capture_output=True, text=True, timeout=60)
    answer: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    assert done.returncode == any(each["bad"] for each in answer), done.stderr
    assert all(each["advice"] for each in answer)
    return answer


class Place:
    """A real daemon, a game server beside it whose script the test plays, and an operator."""

    def __init__(self, folder: Path, game: GameServer) -> None:
        self.game = game
        self.daemon = RealDaemon(folder / "equipoise", NAME, forked=True)
        self.folder, self.config, self.state = self.daemon.folder, self.daemon.config, self.daemon.folder / "state"
        self.password, self.token = self.folder / "secrets" / f"{NAME}.rcon", self.folder / "owner.token"
        self.password.write_text(PASSWORD)
        keys = f'rcon = "127.0.0.1:{game.rcon_port}"\nrcon_password_file = "secrets/{NAME}.rcon"\n'
        file = self.folder / "servers.d" / f"{NAME}.toml"
        file.write_text(f'{file.read_text()}{keys}query = "127.0.0.1:{game.query_port}"\n')
        self.seq = 0

    def calls(self, *events: dict[str, Any], secret: str = "", **fields: Any) -> None:
        """A batch of the script, which may be refused."""
        self.seq += 1
        with suppress(HTTPError):
            post(f"127.0.0.1:{self.daemon.port}", secret or self.daemon.secret, posted(*events, seq=self.seq, **fields))

    def greets(self, plugin: str = VERSION) -> None:
        self.calls({**HELLO, "plugin": plugin}, ROSTER)

    def run(self, *words: str) -> str:
        done = run(*words, "--config", self.config)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start_again(self) -> None:
        self.daemon.start()


def unknown_name(place: Place) -> Iterator[None]:
    place.calls(secret="another", server="dustbowl")
    yield
    added = json.loads(place.run("server", "add", "dustbowl", "--json"))
    place.calls({**HELLO, "plugin": VERSION}, secret=added["secret"], server="dustbowl")


def clock_a_day_off(place: Place) -> Iterator[None]:
    """The round waited in the script for an hour: that it begins tomorrow is certain all the same."""
    place.calls({**ROUND, "started_at": time.time() + 86400, "at": 100.0}, at=3700.0)
    yield
    place.calls({**ROUND, "round": "1-5", "started_at": time.time() - ROUND["seconds"], "at": 3800.0}, at=3800.0)


def port_taken(place: Place) -> Iterator[None]:
    place.daemon.stop()
    server = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(place.daemon.port)]
    with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        wait_for(place.daemon.port)
        yield
        other.kill()
    place.start_again()


def rcon_password_corrected(place: Place) -> Iterator[None]:
    """Under systemd the daemon has a copy of the file, from its start."""
    place.daemon.stop()
    copies = place.folder / "credentials"
    copies.mkdir()
    (copies / f"secrets_{NAME}.rcon").write_text("old")
    place.daemon._forked = False  # a fork has the environment of its parent, which is older
    os.environ["CREDENTIALS_DIRECTORY"] = str(copies)
    try:
        place.daemon.start()
    finally:
        del os.environ["CREDENTIALS_DIRECTORY"]
    place.greets()
    yield
    said = place.run("reload")
    assert f"server.{NAME}.rcon.password: secret changed" in said
    assert f"{NAME}: RCON at 127.0.0.1:{place.game.rcon_port} answers" in said


def store_gone(place: Place) -> Iterator[None]:
    """While the daemon runs and nothing has been written since; from a backup."""
    place.run("backup")
    for file in place.state.glob("equipoise.db*"):
        file.unlink()
    yield
    place.daemon.stop()
    (backup,) = (place.state / "backups").glob("*.db")
    shutil.copy(backup, place.state / "equipoise.db")
    place.start_again()


def store_of_root(place: Place) -> Iterator[None]:
    """As a command of root leaves it that was called while the daemon was stopped."""
    place.daemon.stop()
    for path in (place.state, *place.state.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.chown(place.state / "equipoise.db", 0, 0)
    yield
    os.chown(place.state / "equipoise.db", NOBODY, NOBODY)
    place.start_again()


def between(make: Callable[[Place], object], mend: Callable[[Place], object]) -> Callable[[Place], Iterator[None]]:
    """A fault that one act makes and another one mends."""

    def fault(place: Place) -> Iterator[None]:
        make(place)
        yield
        mend(place)

    return fault


UNREADABLE = between(lambda place: place.config.chmod(0), lambda place: place.config.chmod(0o644))
FAULTS = {
    "wrong secret": (
        between(lambda place: [place.calls(secret="wrong") for _ in range(2)], Place.greets),
        NAME, "called from 127.0.0.1 2 times in the last hour with a wrong secret", "server secret",
    ),
    "unknown name": (unknown_name, "daemon", "there is no [server.dustbowl]", "equipoise server add dustbowl"),
    "a name that is not its own": (
        between(lambda place: place.calls(server="dustbowl"), Place.greets),
        "daemon", "there is no [server.dustbowl]", "correct the server's name there",
    ),
    "plugin older": (
        between(lambda place: place.greets("0.0.9"), Place.greets),
        NAME, f"its plugin is version 0.0.9, older than the daemon's {VERSION}", "install the plugin",
    ),
    "plugin newer": (
        between(lambda place: place.greets("99.1"), Place.greets),
        NAME, f"its plugin is version 99.1, newer than the daemon's {VERSION}", "update the daemon",
    ),
    "clock a day off": (clock_a_day_off, NAME, "s ahead of this one's", "timedatectl set-ntp true"),
    "daemon down": (
        between(lambda place: (place.calls(ROUND), place.daemon.stop()), Place.start_again),
        "daemon", "no daemon answers at http://127.0.0.1:", "systemctl start equipoise",
    ),
    "port taken": (port_taken, "daemon", "is taken by python", "set web.port to another one"),
    "configuration unreadable": (UNREADABLE, "daemon", "config.toml: Permission denied", "chmod a+rX"),
    "token world readable": (
        between(lambda place: place.token.chmod(0o644), lambda place: place.token.chmod(0o600)),
        "daemon", "other users can read", "chmod 600",
    ),
    "RCON password corrected": (
        rcon_password_corrected, NAME, "the game server refuses the RCON password", "equipoise reload",
    ),
    "RCON closed": (
        between(lambda place: place.game.ban(True), lambda place: place.game.ban(False)),
        NAME, "the game server hangs up at the RCON login: it may have banned us", "removeip",
    ),
    "gScramble beside": (
        between(lambda place: place.game.list_plugins(PLUGINS + GSCRAMBLE), lambda place: place.game.list_plugins()),
        NAME, "another plugin seems to balance teams: [TF2] gScramble", "plugins/disabled",
    ),
    "store gone": (store_gone, "daemon", "the store is gone", "equipoise restore "),
    "store of root": (store_of_root, "daemon", "does not own, and cannot write: ", "chown 65534:65534 "),
    "wrong game": (
        between(lambda place: place.game.answer_a2s(of_another_game), lambda place: place.game.answer_a2s(right)),
        NAME, "runs Counter-Strike: Source (Steam's app 240), not Team Fortress 2", "the right address",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fault", "about", "what", "advice"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_with_what_to_do_and_nothing_is_said_once_it_is_mended(
    fault: Callable[[Place], Iterator[None]], about: str, what: str, advice: str, tmp_path: Path
) -> None:
    with GameServer().running() as game:
        place = Place(tmp_path, game)
        place.daemon.start()
        try:
            place.greets()
            steps = fault(place)
            next(steps)
            # Root reads everything, whatever a file's mode says.
            as_operator = (sys.executable, UNPRIVILEGED) if fault is UNREADABLE else ()
            found = [each for each in findings(place.config, before=as_operator) if each["bad"]]
            assert any(each["about"] == about and what in each["what"] for each in found), found
            assert any(advice in f"{each['what']} {each['advice']}" for each in found), found
            assert next(steps, "mended") == "mended"
            assert [each for each in findings(place.config) if each["bad"]] == []
        finally:
            place.daemon.kill()


def test_a_user_whom_systemd_maps_to_the_owner_of_the_state_directory_is_no_fault(tmp_path: Path) -> None:
    as_another = ("unshare", "--user", "--map-user=62184", "--map-group=62184")
    if subprocess.run([*as_another, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user may be mapped here")
    mapped = RealDaemon(tmp_path / "house", prefix=as_another)
    mapped.start()
    try:
        found = findings(mapped.config)
        assert any("its script has not called" in each["what"] for each in found), found
        assert not any("does not own" in each["what"] for each in found), found
    finally:
        mapped.kill()


def said(house: House, *options: str) -> str:
    return "\n".join(each["what"] for each in findings(house.config, *options))


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
        (found,) = (each for each in findings(house.config, "--url", url) if each["about"] == "daemon")
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


def test_a_configuration_that_the_daemons_user_cannot_read(house: House) -> None:
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


def test_a_disk_that_is_nearly_full_and_a_directory_that_is_gone(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        (found,) = of_disk(disk)
    assert found.what.endswith(f"MB are free where the store is ({disk})")
    (found,) = of_disk(tmp_path / "gone")
    assert (found.bad, found.what) == (True, f"{tmp_path}/gone, where the store is: No such file or directory")


def test_a_cache_of_numba_that_cannot_be_written(house: House) -> None:
    on_a_free_port(house)
    with serving(house, forked=False, NUMBA_CACHE_DIR="/dev/null/numba"):
        assert "NUMBA_CACHE_DIR=/dev/null/numba cannot be written" in said(house)
