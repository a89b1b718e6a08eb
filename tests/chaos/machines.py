"""`make chaos ARGS=machines`: three daemons of one shared pool on a real PostgreSQL, killed, cut and restarted.

Scripts send rounds until they are stored, and move from one daemon to another; admins edit meanwhile. At the end all is
let to settle, and the three stores are compared with what was answered, and with each other. Unlike the rest of the
driver this imports what configures a daemon, and asyncpg.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from threading import Event, Thread

from bench.servers import more_servers
from equipoise.install.configuration import with_database
from tests.chaos.book import Book, Key
from tests.chaos.calls import Answer, Request, ask, bearer
from tests.chaos.daemon import free_port
from tests.chaos.games import PLAYERS
from tests.chaos.report import FEW
from tests.chaos.script import Script
from tests.daemons import RealDaemon
from tests.postgres import PASSWORD, Between, Postgres, cluster
from tests.shared.machines import rows_of

MACHINES, SERVERS = 3, 9
MOST_WAITING = 8
"""With so many rounds that are not stored yet, a script plays no other."""
SETTLE_SECONDS = 180.0
EDIT_PAUSE = 1.5
FIRST_RATING = 1000
SILENCE = (0.3, 8.0)
"""Seconds that something is away or silent: shorter and longer than the daemons wait for an answer, which is 5 s."""
STOP_SECONDS = 10.0
"""After which systemd kills a daemon that was told to stop (`TimeoutStopSec`)."""
CHECKED = ("lost", "twice", "order", "differ", "ratings", "memory", "edits", "answers")
ROUNDS = "SELECT server, id FROM rounds"
APPEND, COMMIT = b"\0\0\0\5round", b"COMMIT\0"
"""Bytes of a request that appends a round, where nobody came between with its commit, and of a commit by itself."""
SAID = re.compile(r"Traceback|damaged|restored database|went back|does not follow", re.IGNORECASE)
"""Words that no fault of these makes a daemon write into its log."""


@dataclass
class Machine:
    """A daemon, and the network between it and the database."""

    name: str
    daemon: RealDaemon
    network: Between
    wrong: list[str] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.daemon.folder / "state" / "equipoise.db"

    def kill(self) -> None:
        self.daemon.kill()
        self.look()

    def look(self) -> None:
        """Note what its log says of which nothing should be said, before the next start empties it."""
        text = (self.daemon.folder / "daemon.log").read_text(errors="replace")
        with (self.daemon.folder / "daemons.log").open("a") as file:
            file.write(text)
        self.wrong += [f"{self.name}: {line}" for line in text.splitlines() if SAID.search(line)]

    def number(self) -> int:
        """The last event in its store."""
        with closing(sqlite3.connect(self.store, timeout=30)) as store:
            row = store.execute("SELECT number FROM followed").fetchone()
            return int(row[0]) if row else -1

    def ring_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.store.parent.glob("*.ring"))


@dataclass
class Edits:
    """What admins changed by requests that were answered, and what may have changed by those that were not."""

    book: Book
    machines: Sequence[Machine]
    rng: Random
    sets: dict[tuple[str, int], bool] = field(default_factory=dict)
    """By player and rating, which are given once: whether it was answered that they have it."""
    voided: list[Key] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def run(self, ends: Event) -> None:
        while not ends.wait(self.rng.uniform(0, 2 * EDIT_PAUSE)):
            self.edit()

    def edit(self) -> None:
        rng, player = self.rng, self.rng.choice(PLAYERS)
        kind = rng.choices(("set", "undo", "void", "void back"), (4, 2, 2, 1))[0]
        daemon = rng.choice(self.machines).daemon
        if kind == "set":
            rating = FIRST_RATING + len(self.sets)
            self.sets[player, rating] = False
            answer = self._ask(daemon, "PUT", f"players/{player}", f'{{"rating": {rating}, "new": true}}')
            self.sets[player, rating] = answer is not None and answer.ok
        elif kind == "undo" and self.sets:
            player, _ = rng.choice([*self.sets][-10:])
            answer = self._ask(daemon, "POST", f"players/{player}/undo", "{}")
        elif kind == "void back" and self.voided:
            server, name = self.voided.pop()
            answer = self._ask(daemon, "POST", f"rounds/{server}/{name}/void", '{"undo": true}')
        elif played := [key for key in [*self.book.rounds][-80:] if key in self.book.stored]:
            server, name = rng.choice(played)
            answer = self._ask(daemon, "POST", f"rounds/{server}/{name}/void", "{}")
            if answer is not None and answer.ok:
                self.voided.append((server, name))
        else:
            return
        done = answer is not None and answer.ok
        self.counts["done" if done else "refused or not answered"] += 1

    def _ask(self, daemon: RealDaemon, method: str, path: str, body: str) -> Answer | None:
        request = Request(method, f"/v1/admin/{path}", bearer(daemon.token), body.encode())
        answer = ask(daemon.port, request, 30.0)
        if answer is not None and answer.fault:
            self.book.complain(f"{method} {path}: {answer.fault}")
        return answer


@dataclass
class Trial:
    """Everything that can be broken."""

    server: Postgres
    machines: list[Machine]
    call: Callable[[Callable[[], None]], object]
    """Run something where the networks run."""
    lost: Counter[bytes] = field(default_factory=Counter)
    """Answers that were lost on purpose, by what was asked."""

    def restart(self, one: Machine, seconds: float) -> None:
        one.kill()
        time.sleep(seconds)
        one.daemon.start()

    def end_gently(self, one: Machine, seconds: float) -> None:
        told_at = time.monotonic()
        code = one.daemon.stop()
        if (took := time.monotonic() - told_at) > STOP_SECONDS:
            one.wrong.append(f"{one.name}: it ended {took:.0f} s after it was told to")
        one.look()
        if code:
            one.wrong.append(f"{one.name}: exit code {code}")
        time.sleep(seconds)
        one.daemon.start()

    def stand_still(self, one: Machine, seconds: float) -> None:
        pid = one.daemon.pid
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)

    def silence(self, one: Machine, seconds: float, *, to_server: bool, to_client: bool) -> None:
        one.network.to_server, one.network.to_client = to_server, to_client
        time.sleep(seconds)
        self.call(one.network.heal)

    def end_in_silence(self, one: Machine, seconds: float) -> None:
        one.network.to_server = one.network.to_client = False
        time.sleep(seconds / 4)
        self.end_gently(one, 0.0)
        self.call(one.network.heal)

    def slow(self, one: Machine, seconds: float) -> None:
        one.network.seconds = 0.15
        time.sleep(seconds)
        one.network.seconds = 0.0

    def lose(self, one: Machine, words: bytes) -> None:
        """Lose the answer to the next request with these words, if one comes soon."""
        one.network.lose_answer_to = words
        ends_at = time.monotonic() + 3.0
        while one.network.lose_answer_to and time.monotonic() < ends_at:
            time.sleep(0.002)
        self.lost[words] += one.network.lose_answer_to is None
        one.network.lose_answer_to = None

    def lose_lock(self, one: Machine) -> None:
        """Lose the answer to a lock; a connection says its words once, so it is a new one."""
        self.call(one.network.heal)
        self.lose(one, b"FOR UPDATE")

    def kill_at_commit(self, one: Machine, seconds: float) -> None:
        """Between the commit in the log and the one in the store."""
        self.lose(one, APPEND)
        self.restart(one, seconds)

    def postgres(self, how: signal.Signals, seconds: float) -> None:
        self.server.stop(how)
        time.sleep(seconds)
        self.server.start()

    def postgres_at_commit(self, one: Machine, how: signal.Signals, seconds: float) -> None:
        self.lose(one, APPEND)
        self.postgres(how, seconds)


Fault = Callable[[Trial, Machine, float], None]
OF_MACHINE: dict[str, Fault] = {
    "daemon killed": lambda trial, one, seconds: trial.restart(one, seconds / 4),
    "daemon stopped": lambda trial, one, seconds: trial.end_gently(one, seconds / 4),
    "daemon killed at its commit": lambda trial, one, seconds: trial.kill_at_commit(one, seconds / 4),
    "daemon stopped in silence": lambda trial, one, seconds: trial.end_in_silence(one, seconds),
    "daemon stands still": lambda trial, one, seconds: trial.stand_still(one, seconds),
    "connections cut": lambda trial, one, seconds: trial.silence(one, 0, to_server=True, to_client=True),
    "network silent": lambda trial, one, seconds: trial.silence(one, seconds, to_server=False, to_client=False),
    "network silent to the database": lambda trial, one, s: trial.silence(one, s, to_server=False, to_client=True),
    "network silent to the daemon": lambda trial, one, s: trial.silence(one, s, to_server=True, to_client=False),
    "network slow": lambda trial, one, seconds: trial.slow(one, seconds),
    "answer to a commit lost": lambda trial, one, seconds: trial.lose(one, COMMIT),
    "answer to an append lost": lambda trial, one, seconds: trial.lose(one, APPEND),
    "answer to a lock lost": lambda trial, one, seconds: trial.lose_lock(one),
}
OF_POSTGRES: dict[str, Fault] = {
    "database stopped": lambda trial, one, seconds: trial.postgres(signal.SIGINT, seconds / 2),
    "database killed": lambda trial, one, seconds: trial.postgres(signal.SIGKILL, seconds / 2),
    "database killed at a commit": lambda trial, one, s: trial.postgres_at_commit(one, signal.SIGKILL, s / 2),
}


def break_things(trial: Trial, rng: Random, until: float, tried: Counter[str], watch: Callable[[str], None]) -> None:
    """One to three faults at once, with calm between; at most one of the database, and of each machine."""
    with ThreadPoolExecutor(MACHINES + 1) as threads:
        while time.monotonic() < until:
            count, with_postgres = rng.choice((1, 1, 2, 3)), rng.random() < 0.2
            chosen = [(rng.choice([*OF_MACHINE]), one) for one in rng.sample(trial.machines, count - with_postgres)]
            plan = [(name, OF_MACHINE[name], one, rng.uniform(*SILENCE)) for name, one in chosen]
            if with_postgres:
                name, one = rng.choice([*OF_POSTGRES]), rng.choice(trial.machines)
                plan.append((name, OF_POSTGRES[name], one, rng.uniform(*SILENCE)))
            calm = rng.uniform(0.2, 4.0)
            names = [name for name, *_ in plan]
            watch(" + ".join(names))
            tried.update(names)
            for ended in [threads.submit(fault, trial, one, seconds) for _, fault, one, seconds in plan]:
                ended.result()
            time.sleep(calm)


def play(script: Script, machines: Sequence[Machine], rng: Random, ends: Event, moves: Counter[str]) -> None:
    """Play rounds and send them until they are stored; move to another daemon now and then, or when one is silent."""
    silent = 0
    while not ends.is_set():
        for _ in range(min(rng.choice((1, 1, 2, 4)), MOST_WAITING - len(script.waiting))):
            script.end_round()
        count = len(script.waiting)
        silent = 0 if script.send() is not None else silent + 1
        if silent >= rng.randint(2, 6) or rng.random() < 0.02:
            script.move(rng.choice(machines).daemon.port)
            if restarted := rng.random() < 0.5:
                script.restart()
            moves["restarted" if restarted else "as they were"] += 1
            silent = 0
        # While nothing is stored, nobody is to be kept busy by the same rounds again and again.
        ends.wait(rng.uniform(0, 0.1) if len(script.waiting) < count else rng.uniform(0.1, 0.8))


@contextmanager
def networks(port: int) -> Iterator[tuple[list[Between], Callable[[Callable[[], None]], object]]]:
    """The machines' ways to the database, in a thread, and what runs something there."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    ways = [Between(port) for _ in range(MACHINES)]

    async def end(way: Between) -> None:
        await way.__aexit__(None, None, None)

    try:
        for way in ways:
            asyncio.run_coroutine_threadsafe(way.__aenter__(), loop).result()
        yield ways, loop.call_soon_threadsafe
    finally:
        for way in ways:
            asyncio.run_coroutine_threadsafe(end(way), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def configured(folder: Path, name: str, url: str, *, joint: bool) -> RealDaemon:
    """A daemon of the shared pool that knows all servers."""
    daemon = RealDaemon(folder, settings=f'[shared]\nmachine = "{name}"', forked=True)
    more_servers(daemon, SERVERS)
    (folder / "secrets" / "database").write_text(PASSWORD + "\n")
    text = with_database(daemon.config.read_text(), "main", url, "secrets/database")
    assert text is not None
    if not joint:
        text = text.replace('balance = "joint"', 'balance = "synelo"')
    # The kernel gives the port to no connection while the daemon is down.
    daemon.config.write_text(text.replace("port = 0", f"port = {free_port()}"))
    return daemon


def settle(machines: Sequence[Machine], scripts: Sequence[Script], last: Callable[[], int]) -> list[str]:
    """Send until all is stored, and wait until all stores have all events; what is left of that."""
    ends_at = time.monotonic() + SETTLE_SECONDS
    with ThreadPoolExecutor(SERVERS) as threads:
        delivered = list(threads.map(lambda script: script.deliver(ends_at), scripts))
    left = [f"{script.server}: {len(script.waiting)} rounds" for script in scripts if script.waiting]
    left += [] if all(delivered) or left else ["a script stopped at a wrong answer"]
    while True:
        numbers, rings = {one.name: one.number() for one in machines}, [one.ring_bytes() for one in machines]
        if {*numbers.values()} == {last()} and not any(rings):
            return left
        if time.monotonic() > ends_at:
            return [*left, f"log at {last()}, stores at {numbers}, bytes in rings {rings}"]
        time.sleep(0.2)


def check(
    book: Book, edits: Edits, machines: Sequence[Machine], log: Sequence[tuple[str, str]]
) -> dict[str, list[str]]:
    """What is wrong in the log and the stores, by kind."""
    wrong: dict[str, list[str]] = {name: [] for name in CHECKED}
    check_rounds("the log", book, log, wrong)
    for one in machines:
        with closing(sqlite3.connect(one.store)) as store:
            check_rounds(one.name, book, store.execute(f"{ROUNDS} ORDER BY number").fetchall(), wrong)
            check_store(one.name, edits, store, wrong)
    stores = [rows_of(one.store) for one in machines]
    sessions = [dict(row[:2] for row in tables.pop("sessions")) for tables in stores]  # at its end each writes its own
    wrong["memory"] += memories_apart(sessions, {name for _, name in book.kept})
    for one, other in zip(machines[1:], stores[1:], strict=True):
        for table, rows in stores[0].items():
            here, there = Counter(map(repr, rows)), Counter(map(repr, other[table]))
            only = [f"not there: {row}" for row in here - there] + [f"only there: {row}" for row in there - here]
            wrong["differ"] += [f"{table} of {one.name} beside {machines[0].name}, {row:.300}" for row in only]
            if not only and rows != other[table]:
                wrong["order"].append(f"{table} of {one.name} beside {machines[0].name}")
    wrong["answers"] += [*book.wrong, *(line for one in machines for line in one.wrong)]
    return wrong


def check_rounds(where: str, book: Book, keys: Sequence[Key], wrong: dict[str, list[str]]) -> None:
    """Every round that was sent is there once, and those of a server are in the order in which they were played."""
    places = {key: place for place, key in enumerate(book.rounds)}
    counts, last = Counter(keys), dict.fromkeys((server for server, _ in keys), -1)
    wrong["lost"] += [f"{where}: {key}" for key in book.rounds if key not in counts]
    wrong["twice"] += [f"{where}: {key}, {count} times" for key, count in counts.items() if count > 1]
    wrong["twice"] += [f"{where}: {key} was never sent" for key in counts if key not in places]
    for key in keys:
        if (place := places.get(key, 0)) < last[key[0]]:
            wrong["order"].append(f"{where}: {key} is behind a round that was played later")
        last[key[0]] = max(last[key[0]], place)


def check_store(where: str, edits: Edits, store: sqlite3.Connection, wrong: dict[str, list[str]]) -> None:
    """The store makes sense by itself, has events in the log's order, and edits that were answered once."""
    wrong["differ"] += [f"{where}: {row}" for row in store.execute("PRAGMA foreign_key_check")]
    wrong["differ"] += [f"{where}: {row}" for row in store.execute("PRAGMA integrity_check") if row != ("ok",)]
    wrong["ratings"] += [f"{where}: {case}" for case in ratings_apart(store)]
    numbers = [row[0] for row in store.execute("SELECT number FROM logged ORDER BY local")]
    if numbers != sorted({*numbers}):
        wrong["order"].append(f"{where}: events are not in the log's order")
    query = "SELECT player, CAST(after_rating AS INTEGER) FROM edited JOIN edits ON number = edit WHERE action = 'set'"
    counts = Counter(store.execute(query).fetchall())
    for key, answered in edits.sets.items():
        if not answered <= counts[key] <= 1:
            wrong["edits"].append(f"{where}: {key} is there {counts[key]} times, answered: {answered}")


def ratings_apart(store: sqlite3.Connection) -> Iterator[str]:
    """Players whose rating does not go on in a round, or today, from where their last round or edit has left it."""
    rows = store.execute(
        "SELECT round, player, before, after FROM participants UNION ALL "
        "SELECT edit, player, NULL, after_rating FROM edited JOIN edits ON edits.number = edit "
        "WHERE action = 'set' AND NOT struck ORDER BY 1"
    )
    ratings: dict[str, float] = {}
    for number, player, before, after in rows:
        if before is not None and ratings.get(player, before) != before:
            yield f"{player} begins {number} with {before}, and had {ratings[player]}"
        ratings[player] = after
    for player, rating in store.execute("SELECT id, rating FROM players"):
        if ratings.get(player, rating) != rating:
            yield f"{player} has {rating}, and had {ratings[player]}"


def memories_apart(sessions: Sequence[dict[str, bytes]], kept: Collection[str]) -> Iterator[str]:
    """Servers that would not go on everywhere with the rounds that they have played since their last start.

    A round may be missing before one that was only kept at first: who kept that one was cut off from the log, and did
    not know what the server had played on another machine just before.
    """
    for server in sorted({*chain(*sessions)}):
        memories = [json.loads(each[server])["memory"] if server in each else None for each in sessions]
        counted: dict[str, set[tuple[str, ...]]] = {}
        for memory in filter(None, memories):
            counted.setdefault(memory["session"], set()).add(tuple(memory["counted"]))
        for session, rounds in counted.items():
            played = sorted(set().union(*rounds), key=_number)
            for each in rounds:
                known = {name: place for place, name in enumerate(played) if name in each}
                for name in played[min(known.values(), default=0) :]:
                    behind = next((later for later in known if _number(later) > _number(name)), None)
                    if name not in known and behind not in kept:
                        yield f"{server}, session {session}: {name} is not counted everywhere"


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def run(folder: Path, seed: int, seconds: float, watch: Callable[[str], None]) -> tuple[str, list[str]]:
    """Break three daemons and their database for a while; the table, and the first cases of what is wrong."""
    rng, book, tried, moves, ends = Random(seed), Book(), Counter[str](), Counter[str](), Event()
    with ExitStack() as stack:
        server = stack.enter_context(cluster())
        ways, call = stack.enter_context(networks(server.port))
        database, machines = server.database(), list[Machine]()
        for place, way in enumerate(ways):
            name = f"machine-{place}"
            # Every third run: it is two thirds of a round's processor, and the log is what is broken here.
            joint = seed % 3 == 0
            daemon = configured(folder / name, name, server.url(database, port=way.port), joint=joint)
            machines.append(Machine(name, daemon, way))
            stack.callback(daemon.kill)
            daemon.start()
        watch("three daemons have started")

        def events() -> int:
            return int(server.sql("SELECT last FROM equipoise.pools", database)[0][0])

        scripts = [
            Script(f"bench-{number}", f"secret-{number}", rng.choice(machines).daemon.port, book, Random(rng.random()))
            for number in range(SERVERS)
        ]
        edits = Edits(book, machines, Random(rng.random()))
        threads = [
            Thread(target=edits.run, args=(ends,)),
            *(Thread(target=play, args=(each, machines, Random(rng.random()), ends, moves)) for each in scripts),
        ]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        trial = Trial(server, machines, call)
        try:
            break_things(trial, rng, began + seconds, tried, watch)
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        played = time.monotonic() - began
        watch("all is let to settle")
        waiting = settle(machines, scripts, events)
        settled = time.monotonic() - began - played
        count = events()
        log = server.sql("SELECT server, round FROM equipoise.events WHERE kind = 'round' ORDER BY number", database)
        for one in machines:
            if code := one.daemon.stop():
                one.wrong.append(f"{one.name}: exit code {code}")
            one.look()
        watch("stores are compared")
        wrong = {"waiting": waiting, **check(book, edits, machines, [(row[0], row[1]) for row in log])}
    lines = [f"{name:34}{tried[name]:5}" for name in (*OF_MACHINE, *OF_POSTGRES)]
    lines += [
        "",
        f"{count} events in {played:.0f} s, settled in {settled:.0f} s: {len(book.rounds)} rounds, "
        f"{len(book.kept)} of them kept at first; scripts moved {moves.total()} times",
        f"edits: {', '.join(f'{each} {number}' for each, number in sorted(edits.counts.items()))}",
        f"answers lost: {', '.join(f'to {words!r} {number}' for words, number in trial.lost.items())}",
        "",
        *(f"{kind:10}{len(cases):5}" for kind, cases in wrong.items()),
    ]
    return "\n".join(lines), [f"{kind}: {case}" for kind, cases in wrong.items() for case in cases[:FEW]]
