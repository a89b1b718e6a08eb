"""A daemon, the scripts of its servers, and the book of what they were answered: where faults are tried."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from shutil import copyfile
from threading import Event

from tests.chaos import stored
from tests.chaos.audit import Audit, Verdict
from tests.chaos.book import Book
from tests.chaos.calls import Request, ask, bearer
from tests.chaos.daemon import Daemon, Ended, secret_of
from tests.chaos.formulas import Parameters
from tests.chaos.script import Script

POOLS = {
    # Small numbers, so that windows roll over, and shadow periods end at their cap, within a few dozen rounds.
    "main": Parameters(k_max=6, window=16, shadow_rounds=12, shadow_cap=1100),
    "plain": Parameters(),
    "junk": Parameters(),
}
SERVERS = {"arena-1": "main", "arena-2": "main", "arena-3": "main", "alone": "plain", "junk": "junk"}
"""Each with its pool; `junk` is for requests that are meant to be refused, and its pool is not looked at."""

SETTLE_SECONDS = 120.0
"""The daemon tries waiting rounds again every 30 seconds."""


class Arena:
    """One store from its first round on; `close` stops the daemon and compares everything once more."""

    def __init__(self, folder: Path, rng: Random, state: Path | None = None) -> None:
        self.folder, self.state, self.rng = folder, state or folder / "state", rng
        folder.mkdir(parents=True, exist_ok=True)
        self.state.mkdir(exist_ok=True)
        self.book = Book()
        self.checked = {name: parameters for name, parameters in POOLS.items() if name != "junk"}
        self.daemon = Daemon(folder, self.state, POOLS, SERVERS)
        self.scripts = [
            Script(server, secret_of(server), self.daemon.port, self.book, Random(rng.random()))
            for server in SERVERS
            if server != "junk"
        ]
        self._audit = Audit(self.book, self.checked)
        self._traced = 0

    @property
    def store(self) -> Path:
        return self.state / "equipoise.db"

    @property
    def rounds(self) -> int:
        """Rounds found stored so far."""
        return self._audit.rounds

    @contextmanager
    def playing(self, scripts: Sequence[Script] | None = None, port: int | None = None) -> Iterator[None]:
        """Meanwhile every script plays round after round, through another port if one is given."""
        over = Event()

        def one(script: Script) -> None:
            pause = Random(script.server)
            while not over.is_set():
                script.play()
                over.wait(pause.uniform(0.005, 0.03))

        playing = self.scripts if scripts is None else scripts
        try:
            for script in playing:
                script.port = port or script.port
            with ThreadPoolExecutor(len(playing)) as threads:
                futures = [threads.submit(one, script) for script in playing]
                try:
                    yield
                finally:
                    over.set()
        finally:
            for script in playing:
                script.port = self.daemon.port
        for future in futures:
            future.result()

    def play(self, rounds: int, scripts: Sequence[Script] | None = None) -> None:
        """Every script plays so many rounds, one script after the other, or fewer when nothing answers."""
        for _ in range(rounds):
            for script in self.scripts if scripts is None else scripts:
                script.play()

    def settle(self) -> Verdict:
        """The faults are over: scripts send until all is stored; what is wrong then."""
        verdict, end = Verdict(), time.monotonic() + SETTLE_SECONDS
        try:
            self.daemon.expect()
            for script in self.scripts:
                script.end_round()
            with ThreadPoolExecutor(len(self.scripts)) as threads:
                done = list(threads.map(lambda script: script.deliver(end), self.scripts))
            self._wait_for_kept(end)
            for script in (each for each, all_stored in zip(self.scripts, done, strict=True) if not all_stored):
                verdict.lost += [
                    f"{script.server}: {each['round']}: never answered `stored`" for each in script.waiting
                ]
            self.daemon.expect()
            with stored.reading(self.store) as database:
                verdict.add(self._audit.check(database))
            self._compare_with_memory(verdict)
        except Ended as error:
            verdict.answers.append(f"the daemon: {error}")
        verdict.answers += self.book.wrong + self._new_tracebacks()
        verdict.early += self.daemon.early()
        verdict.late += self.daemon.late
        self.book.wrong, self.daemon.late = [], []
        return verdict

    def close(self) -> Verdict:
        """Stop the daemon, and compare a copy of the whole store from its first round on."""
        verdict = Verdict()
        if not self.daemon.running:
            return verdict
        if (code := self.daemon.stop()) != 0:
            verdict.answers.append(f"the daemon: exit {code} after SIGTERM: {self.daemon.last_words()}")
        copy = self.folder / "copy.db"
        for suffix in ("", "-wal"):
            if (there := Path(f"{self.store}{suffix}")).exists():
                copyfile(there, f"{copy}{suffix}")
        with stored.reading(copy) as database:
            verdict.add(Audit(self.book, self.checked).check(database))
        return verdict

    def forget_checks(self) -> None:
        """The store is another file now: the next check begins with its first round."""
        self._audit = Audit(self.book, self.checked)

    def _wait_for_kept(self, end: float) -> None:
        """Rounds that were answered `kept`, and that their scripts gave up, come without being sent again."""
        while time.monotonic() < end:
            self.daemon.expect()
            health = ask(self.daemon.port, Request("GET", "/healthz", {}), 60.0)
            # In this order: what leaves the ring between the two is stored.
            if not self.book.owed() - stored.keys(self.store) or (health and health.json.get("waiting_rounds") == 0):
                return
            time.sleep(0.2)

    def _compare_with_memory(self, verdict: Verdict) -> None:
        """A few players as the daemon shows them, which is from its memory."""
        with stored.reading(self.store) as database:
            players = [row for row in stored.players(database) if row["pool"] in self.checked]
        for row in self.rng.sample(players, min(5, len(players))):
            path = f"/v1/admin/players/{row['id']}?pool={row['pool']}"
            answer = ask(self.daemon.port, Request("GET", path, bearer(secret_of("owner"))), 60.0)
            seen = answer.json.get("player") if answer else None
            if seen is None or any(seen[name] != row[name] for name in ("rating", "rounds", "last_played")):
                verdict.differ.append(f"player {row['id']} of {row['pool']}: shown {seen}, stored {row}")

    def _new_tracebacks(self) -> list[str]:
        known, self._traced = self._traced, self.daemon.tracebacks()
        return [f"{self._traced - known} tracebacks in {self.daemon.log}"] if self._traced > known else []
