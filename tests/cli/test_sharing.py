"""`pool share`, `join`, `leave` and `upgrade` as operators type them, on two machines and a real PostgreSQL."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from threading import Event, Thread
from urllib.error import URLError

import pytest

import equipoise
from tests.chaos.daemon import free_port
from tests.cli.house import EQUIPOISE, House, post, refused, run, serving
from tests.daemons import Running
from tests.postgres import PASSWORD, Postgres
from tests.postgres import postgres as postgres
from tests.shared.machines import house as sharing
from tests.wire.samples import BLU, HELLO, RED, ROUND, posted

pytestmark = pytest.mark.world
PATIENCE = 30.0
_numbers = count(1)


def made(folder: Path, name: str) -> House:
    """A machine of this name, set up, with a game server of its own."""
    folder.mkdir()
    house = House.made(folder, "--server", name)
    house.edit("port = 0", f"port = {free_port()}")
    house.edit("[pool.main]", f'[shared]\nmachine = "{name}"\n\n[pool.main]')
    (house.folder / "secrets" / "database").write_text(f"{PASSWORD}\n")
    return house


@pytest.fixture
def one(tmp_path: Path) -> House:
    return made(tmp_path / "one", "one")


@pytest.fixture
def two(tmp_path: Path) -> House:
    return made(tmp_path / "two", "two")


def pool(house: House, word: str, *options: str) -> subprocess.CompletedProcess[str]:
    return run("pool", word, "--config", house.config, *options)


def asked(house: House, *words: str) -> dict[str, object]:
    done = run(*words, "--json", "--config", house.config)
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def record_of(house: House, player: str) -> tuple[object, object]:
    """The rating and rounds of a player, as a machine shows them."""
    shown = asked(house, "player", "show", player)["player"]
    assert isinstance(shown, dict)
    return shown["rating"], shown["rounds"]


def play(house: House, address: str, name: str, *, status: str = "stored") -> str:
    """Play a round on a machine's game server, and send it until it is stored; returns its id."""
    number = next(_numbers)
    event = ROUND | {"round": f"{number}-1", "started_at": 1763622000 + 100 * number}
    ends_at = time.monotonic() + PATIENCE
    while True:
        try:
            batch = posted(HELLO, event, server=name, boot=1763622000123 + next(_numbers), seq=1)
            answer = post(address, house.secret, batch)
        except (URLError, ConnectionError):
            answer = {}
        if answer.get("rounds") == {event["round"]: status}:
            return str(event["round"])
        assert time.monotonic() < ends_at, answer
        time.sleep(0.05)


@contextmanager
def playing(house: House, name: str) -> Iterator[list[str]]:
    """A game server that plays all the time, whatever its daemon does; yields the rounds that are stored."""
    address, rounds, ends = house.config.read_text().partition("port = ")[2].split()[0], list[str](), Event()

    def go_on() -> None:
        while not ends.is_set():
            rounds.append(play(house, f"127.0.0.1:{address}", name))

    thread = Thread(target=go_on)
    thread.start()
    try:
        yield rounds
    finally:
        ends.set()
        thread.join(2 * PATIENCE)
        assert not thread.is_alive()


def end(process: Running) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(60)


def until(true: object, what: object) -> None:
    ends_at = time.monotonic() + PATIENCE
    assert callable(true)
    while not true():
        assert time.monotonic() < ends_at, what
        time.sleep(0.1)


def stored(house: House) -> list[str]:
    """The rounds in a machine's store, in their order."""
    with closing(sqlite3.connect(house.state / "equipoise.db")) as store:
        return [row[0] for row in store.execute("SELECT id FROM rounds ORDER BY number")]


def follows(house: House) -> bool:
    """Whether a machine's store has noted that it follows a log: what is in the database may still be unknown here."""
    with closing(sqlite3.connect(house.state / "equipoise.db")) as store:
        return store.execute("SELECT count(*) FROM followed").fetchone() == (1,)


def test_a_pool_is_shared_while_its_server_plays_joined_and_left(one: House, two: House, postgres: Postgres) -> None:
    url = postgres.url(postgres.database())
    where = ("main", "--database", url, "--password-file", "secrets/database")
    with ExitStack() as daemons:
        process, _ = daemons.enter_context(serving(one))
        with playing(one, "one") as rounds:
            until(lambda: len(rounds) > 3, rounds)
            done = pool(one, "share", *where)
            assert (done.returncode, done.stderr) == (0, "")
            assert f"Wrote {one.config}. Restart the daemon: it takes effect then.\n" in done.stdout
            assert done.stdout.endswith(f"On each other machine: equipoise pool join main --database {url}\n")
            before = len(rounds)
            end(process)
            _, first = daemons.enter_context(serving(one))
            until(lambda: len(rounds) > before + 3, rounds)
            again = pool(one, "share", "main")
            assert "Pool main is shared: this daemon follows its log as machine one, up to event " in again.stdout
        assert stored(one) == rounds

        # The other machine has played alone.
        process, address = daemons.enter_context(serving(two))
        own = [play(two, address, "two") for _ in range(2)]
        text = two.config.read_bytes()
        refusal = pool(two, "join", *where)
        assert refusal.returncode == 2
        assert "pool main has 2 rounds here that the other machines do not know: `equipoise pool join" in refusal.stderr
        beside = pool(two, "join", *where, "--replace", "--yes")
        assert (beside.returncode, "has the store open" in beside.stderr) == (2, True), beside.stderr
        assert (two.config.read_bytes(), stored(two)) == (text, own)
        end(process)
        unsure = pool(two, "join", *where, "--replace")
        assert (unsure.returncode, two.config.read_bytes(), stored(two)) == (1, text, own), unsure.stderr
        done = pool(two, "join", *where, "--replace", "--yes")
        assert done.returncode == 0, done.stderr
        (kept,) = two.state.glob("equipoise-before-main-*.db")
        assert f"What was here of pool main is in {kept}.\n" in done.stdout
        assert kept.stat().st_mode & 0o777 == 0o600
        with closing(sqlite3.connect(kept)) as backup:
            assert [row[0] for row in backup.execute("SELECT id FROM rounds ORDER BY number")] == own

        process, address = daemons.enter_context(serving(two))
        until(lambda: stored(two) == rounds, "the other machine does not know them")
        assert "this daemon follows its log as machine two" in pool(two, "join").stdout
        rounds.append(play(two, address, "two"))
        until(lambda: stored(one) == rounds, "this machine does not know what the other one played")
        assert record_of(one, RED) == record_of(two, RED) != record_of(two, BLU)

        # What was common stays on both, and from then on each has its own.
        done = pool(two, "leave")
        assert (done.returncode, done.stderr) == (0, "")
        assert "Pool main is this machine's own again, with all that it has" in done.stdout
        assert two.config.read_bytes() == text
        again = pool(two, "leave")
        assert (again.returncode, "pool main is not shared" in again.stderr) == (2, True)
        end(process)
        _, address = daemons.enter_context(serving(two))
        assert record_of(two, RED) == record_of(one, RED)
        alone = play(two, address, "two")
        rounds.append(play(one, first, "one"))
        assert stored(one) == rounds
        assert stored(two) == [*rounds[:-1], alone]


def test_init_joins_a_pool_that_others_share_or_writes_nothing(one: House, tmp_path: Path, postgres: Postgres) -> None:
    url, secret = postgres.url(postgres.database()), tmp_path / "password"
    join = ("--server", "arena-1", "--join", url, "--join-password-file", secret)

    def refusal() -> str:
        done = run("init", tmp_path / "new" / "equipoise", *join)
        assert (done.returncode, done.stdout, "hunter2" in done.stderr) == (2, "", False)
        assert not (tmp_path / "new").exists()
        return done.stderr

    secret.write_text("hunter2\n")
    assert "password authentication failed" in refusal()
    secret.write_text(f"{PASSWORD}\n")
    assert "pool main is not in this database: first run `equipoise pool share main`" in refusal()
    assert pool(one, "share", "main", "--database", url, "--password-file", "secrets/database").returncode == 0
    with serving(one) as (_, address):
        rounds = [play(one, address, "one") for _ in range(3)]
        three = House.made(tmp_path / "new", *join)
        three.edit("[pool.main]", '[shared]\nmachine = "three"\n\n[pool.main]')
        with serving(three) as (_, elsewhere):
            until(lambda: stored(three) == rounds, "the new machine has not what the other has")
            rounds.append(play(three, elsewhere, "arena-1"))
            until(lambda: stored(one) == rounds, "this machine does not know what the new one played")


def test_game_servers_of_other_machines_are_shown_and_orders_for_them_say_where_to_go(
    one: House, two: House, postgres: Postgres
) -> None:
    database = postgres.database()
    (own,) = (two.folder / "servers.d").iterdir()
    # It has a server of the other machine's name, too.
    text = re.sub("[0-9a-f]{64}", "0" * 64, own.read_text())
    own.with_name("one.toml").write_text(text.replace("[server.two]", "[server.one]"))
    where = ("main", "--database", postgres.url(database), "--password-file", "secrets/database")
    assert pool(one, "share", *where).returncode == 0

    def rows() -> list[tuple[object, ...]]:
        return postgres.sql("SELECT machine, server, status, xmin::text FROM equipoise.servers", database)

    with serving(one) as (_, address):
        play(one, address, "one")
        assert pool(two, "join", *where).returncode == 0
        with serving(two) as (_, address):
            play(two, address, "two")
            shown = "two on machine two: arena_well, 0 players"
            until(lambda: shown in run("status", "--config", one.config).stdout, run("status", "--config", one.config))
            for words in (("scramble", "two"), ("rcon", "two", "status")):
                refusal = run("server", *words, "--config", one.config)
                assert (refusal.returncode, "is on machine two: ask the daemon there" in refusal.stderr) == (1, True), (
                    refusal.stderr
                )
            said = run("doctor", "--config", one.config).stdout
            assert "game server one is configured on machine two too" in said
            heard = f"machines heard: one ({equipoise.__version__}) "
            assert f" ms away, not encrypted, it tells of rounds at once; {heard}" in said
            before = rows()
            ends_at = time.monotonic() + 7.0
            until(lambda: time.monotonic() > ends_at, "")
            assert rows() == before, "rows of servers where nothing happened are written again and again"


def test_a_reload_takes_a_shared_pool_in_and_out_and_the_database_and_the_doctor_know_it(
    one: House, postgres: Postgres
) -> None:
    database = postgres.database()
    table = '\n[pool.cup]\nsystem = "synelo"\ndatabase = "{}"\ndatabase_password_file = "secrets/database"\n'

    def heard() -> list[str]:
        machines = "SELECT machine FROM equipoise.machines WHERE at > now() - interval '15 seconds' ORDER BY machine"
        return [name for (name,) in postgres.sql(machines, database)]

    def sessions() -> int:
        [(count,)] = postgres.sql(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'")
        return int(count)

    with serving(one):
        one.config.write_text(one.config.read_text() + table.format(postgres.url(database)))
        assert asked(one, "reload")["changes"] == ["[pool.cup] added"]
        until(lambda: heard() == ["one"], "others do not hear of a machine whose first shared pool came by a reload")
        assert "database of pool cup" in run("doctor", "--config", one.config).stdout
        one.edit(table.format(postgres.url(database)), "")
        assert asked(one, "reload")["changes"] == ["[pool.cup] removed"]
        assert "cup" not in run("doctor", "--config", one.config).stdout
        until(lambda: sessions() == 0, "a connection to the database stays")
        assert heard() == []


def test_rounds_of_another_rating_version_wait_until_the_pool_is_upgraded(one: House, postgres: Postgres) -> None:
    database = postgres.database()
    done = pool(one, "share", "--database", postgres.url(database), "--password-file", "secrets/database")
    assert done.returncode == 0, done.stderr
    with serving(one) as (_, address):
        play(one, address, "one")
        assert pool(one, "upgrade").stdout == "Pool main is rated by version 1 already.\n"
        set_version = "UPDATE equipoise.pools SET rating_version = {}; SELECT 1"
        postgres.sql(set_version.format(0), database)
        play(one, address, "one", status="kept")
        until(
            lambda: "`equipoise pool upgrade main`" in run("doctor", "--config", one.config).stdout, "nothing is said"
        )
        done = pool(one, "upgrade", "main")
        assert "Pool main is rated by version 1 from now on, before by 0" in done.stdout, done.stderr
        until(lambda: len(stored(one)) == 2, "the round still waits")
        postgres.sql(set_version.format(2), database)
        newer = pool(one, "upgrade")
        assert newer.returncode == 1
        assert "rated by version 2 already, this Equipoise has version 1: upgrade this machine" in newer.stderr
        assert postgres.sql("SELECT rating_version FROM equipoise.pools", database) == [(2,)]


def test_what_cannot_be_shared_or_joined_is_said_and_nothing_is_written(one: House, postgres: Postgres) -> None:
    url, file = postgres.url(postgres.database()), ("--password-file", "secrets/database")
    (one.folder / "secrets" / "wrong").write_text("hunter2\n")
    text = one.config.read_bytes()
    for command, said in (
        (("share",), "which database? --database postgresql://equipoise@db/equipoise"),
        (("share", "other", "--database", url), "there is no [pool.other]; there are main"),
        (("share", "--database", "mysql://db/x"), "expected the URL of a PostgreSQL database"),
        (("share", "--database", url), "correct the role in the URL or its password"),
        (("share", "--database", url, "--password-file", "secrets/nothing"), "secrets/nothing: No such file"),
        (("share", "--database", url, "--password-file", "secrets/wrong"), "password authentication failed"),
        (("join", "--database", url, *file), "first run `equipoise pool share main` on the machine that has its"),
        (("leave",), "pool main is not shared"),
    ):
        done = pool(one, *command)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr
        assert "hunter2" not in done.stderr
        assert one.config.read_bytes() == text


def test_a_pool_of_another_system_is_not_joined_and_the_table_to_write_is_shown(
    one: House, two: House, postgres: Postgres
) -> None:
    where = ("main", "--database", postgres.url(postgres.database()), "--password-file", "secrets/database")
    assert pool(one, "share", *where).returncode == 0
    with serving(one) as (_, address):
        play(one, address, "one")
        again = pool(two, "share", *where)
        assert (again.returncode, "is in this database already, with 1 event" in again.stderr) == (2, True)
        two.edit('system = "synelo"', 'system = "glicko"')
        two.edit("k_max = 12\n", "")
        text = two.config.read_bytes()
        refusal = pool(two, "join", *where)
        assert (refusal.returncode, two.config.read_bytes()) == (2, text)
        assert '[pool.main]\n  system = "synelo"\n' in refusal.stderr


def test_the_password_may_come_from_standard_input(one: House, postgres: Postgres) -> None:
    words = ["pool", "share", "--config", one.config, "--database", postgres.url(postgres.database())]
    for password, code in (("hunter2", 2), (PASSWORD, 0)):
        command = [EQUIPOISE, *words, "--password-file", "-"]
        done = subprocess.run(command, input=f"{password}\n", capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        file = one.folder / "secrets" / "main.database"
        assert file.exists() is (code == 0)
    assert (file.read_text(), file.stat().st_mode & 0o777) == (f"{PASSWORD}\n", 0o600)
    assert 'database_password_file = "secrets/main.database"' in one.config.read_text()


def test_a_daemon_does_not_start_with_a_wrong_database_and_says_in_one_line_what_to_do(
    tmp_path: Path, postgres: Postgres
) -> None:
    def fresh(then: str) -> str:
        """Another database, to which this is done when a daemon has begun the pool's log in it."""
        database = postgres.database()
        one.config.write_text(before.replace(good, postgres.url(database)))
        with serving(one):
            until(lambda: follows(one), "no log")
        postgres.sql(f"{then}; SELECT 1", database)
        return postgres.url(database)

    good = postgres.url(postgres.database())
    one = sharing(tmp_path, "one", good)
    before, password = one.config.read_text(), one.folder / "secrets" / "database"
    upgrade, agree = "upgrade Equipoise on this machine", "write the former into [pool.main]"
    for made, secret, says in (
        (lambda: good, "hunter2", "correct the role in the URL or its password"),
        (lambda: postgres.url("postgres", host="db..invalid"), PASSWORD, "correct the host in the URL"),
        (lambda: fresh("UPDATE equipoise.pools SET format = 99"), PASSWORD, upgrade),
        (lambda: fresh("UPDATE equipoise.pools SET system = 'trueskill'"), PASSWORD, agree),
        (lambda: fresh("UPDATE equipoise.pools SET params = '{\"k_max\": 5.0}'"), PASSWORD, agree),
        (lambda: fresh("DELETE FROM equipoise.pools"), PASSWORD, "`equipoise pool leave main` goes on without it"),
    ):
        shutil.rmtree(one.state, ignore_errors=True)
        password.write_text(f"{PASSWORD}\n")
        one.config.write_text(before.replace(good, made()))
        password.write_text(f"{secret}\n")
        line = refused(one.config)
        assert says in line
        assert not re.search(f"hunter2|{PASSWORD}", line)
