"""Four daemons of one shared pool on a real PostgreSQL, beside one daemon on SQLite in the same run.

100 servers at game speed and faster, round ends per second and the processor that they cost who appends and who only
follows, how soon a round is known elsewhere (with notices, and behind PgBouncer without), and memory. Phases come in
turns, because the machine's speed changes.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measuring import status_of
from bench.scripts import Script, percentiles, roster, round_ended
from bench.servers import more_servers, own, post
from bench.soak.watch import cpu_seconds
from equipoise.install.configuration import with_database
from tests.daemons import RealDaemon
from tests.postgres import PASSWORD, Postgres, cluster, pgbouncer

DAEMONS, SERVERS = 4, 100
TURNS, ROUNDS, PAUSE = 6, 60, 0.1
"""A round's end every PAUSE seconds is thirty times as often as 100 servers end rounds of five minutes."""
RUSH_SECONDS = 15.0
KNOWN = 20
"""Rounds for which it is measured how soon another machine knows them."""
TARGETS = "p99 30 ms; at least 40 rounds a second; known 0.5 s later, 1.5 s without notices; + 12 MB"


@dataclass
class Machine:
    """A daemon, and the scripts of its game servers."""

    daemon: RealDaemon
    scripts: list[Script]
    first: int
    """The number of its first server among all."""
    ended: int = 0

    def end_round(self) -> tuple[str, float]:
        """End a round on the next server; returns what became of it, and the milliseconds that it took."""
        place = self.ended % len(self.scripts)
        number = self.first + place
        self.ended += 1
        event = own(round_ended(SERVERS * self.ended + number), number)
        script = self.scripts[place]
        with suppress(OSError):  # a connection that was idle for long is closed
            script.post({"kind": "roster", "players": own(roster(), number)})
        began = time.perf_counter()
        while (status := post(script, event)["rounds"].get(event["round"])) is None:
            pass  # it was not ready within a second
        return status, 1e3 * (time.perf_counter() - began)

    def event(self) -> int:
        """The number of the last event in its store."""
        with closing(sqlite3.connect(self.daemon.folder / "state" / "equipoise.db")) as store:
            return int(store.execute("SELECT number FROM followed").fetchone()[0])


@contextmanager
def machine(folder: Path, name: str, first: int, count: int, url: str | None) -> Iterator[Machine]:
    """A daemon with so many servers, of a pool of its own or one that is shared."""
    daemon = RealDaemon(folder, settings=f'[shared]\nmachine = "{name}"')
    more_servers(daemon, count)
    if url is not None:
        (folder / "secrets" / "database").write_text(PASSWORD + "\n")
        text = with_database(daemon.config.read_text(), "main", url, "secrets/database")
        assert text is not None
        daemon.config.write_text(text)
    daemon.start()
    try:
        scripts = [Script(daemon.port, f"bench-{number}", f"secret-{number}") for number in range(count)]
        for script in scripts:
            script.introduce()
        yield Machine(daemon, scripts, first)
    finally:
        daemon.kill()


def main() -> None:
    with TemporaryDirectory() as place, cluster() as server, ExitStack() as stack:
        folder, url = Path(place), server.url(server.database())
        alone = stack.enter_context(machine(folder / "alone", "alone", 0, SERVERS, None))
        share = SERVERS // DAEMONS
        # Names of servers may repeat here: each machine's are others to the log, by the numbers in their rounds' ids.
        together = [
            stack.enter_context(machine(folder / f"machine-{n}", f"machine-{n}", n * share, share, url))
            for n in range(DAEMONS)
        ]
        until_followed(together)
        before = [status_of(one.daemon.pid, "VmRSS") for one in (alone, together[0])]
        print(
            f"memory with {SERVERS} servers alone {before[0]:.0f} MB, with {share} of a shared pool {before[1]:.0f} MB"
        )
        at_game_speed(alone, together)
        rush([alone], "alone on SQLite")
        rush(together, f"{DAEMONS} daemons of one pool")
        known(together[0], together[1:], "notices")
        behind_pgbouncer(folder, server)
    print(f"targets: {TARGETS}")


def until_followed(machines: Sequence[Machine]) -> None:
    """Wait until all have what is in the log."""
    ends_at = time.monotonic() + 60.0
    while len({one.event() for one in machines}) > 1:
        assert time.monotonic() < ends_at, [one.event() for one in machines]
        time.sleep(0.05)


def at_game_speed(alone: Machine, together: Sequence[Machine]) -> None:
    """Rounds end one after the other, with pauses."""
    times: dict[str, list[float]] = {"alone": [], "shared": []}
    kept = 0
    # Statements are prepared for the first round after a start, on both sides of the connection: once a day or less.
    first = [one.end_round()[1] for one in (alone, *together)]
    print(f"first round, alone {first[0]:.0f} ms, shared {', '.join(f'{took:.0f}' for took in first[1:])} ms")
    for _ in range(TURNS):
        for name, machines in (("alone", [alone]), ("shared", list(together))):
            for number in range(ROUNDS):
                status, took = machines[number % len(machines)].end_round()
                times[name].append(took)
                kept += status != "stored"
                time.sleep(PAUSE)
    for name, took_all in times.items():
        print(f"round end, {name:6}   {percentiles(took_all)}")
    print(f"rounds that were only kept at first: {kept} of {2 * TURNS * ROUNDS}")


def rush(machines: Sequence[Machine], what: str) -> None:
    """As many round ends as the daemons take, from two servers at once on each."""
    ends_at = time.monotonic() + RUSH_SECONDS
    cpu = [cpu_seconds(one.daemon.pid) for one in machines]

    def play(one: Machine) -> int:
        count = 0
        while time.monotonic() < ends_at:
            count += one.end_round()[0] == "stored"
        return count

    with ThreadPoolExecutor(len(machines)) as threads:
        counts = list(threads.map(play, machines))
    spent = sum(cpu_seconds(one.daemon.pid) - was for one, was in zip(machines, cpu, strict=True))
    rate = sum(counts) / RUSH_SECONDS
    print(f"{what}: {rate:.0f} rounds a second, {1e3 * spent / max(1, sum(counts)):.1f} ms of processor each in all")
    if len(machines) > 1:
        until_followed(machines)
        cpu = [cpu_seconds(one.daemon.pid) for one in machines]
        for _ in range(ROUNDS):
            machines[0].end_round()
        until_followed(machines)
        appended, *followed = [cpu_seconds(one.daemon.pid) - was for one, was in zip(machines, cpu, strict=True)]
        follower = 1e3 * sum(followed) / len(followed) / ROUNDS
        print(f"  of one round: who appends {1e3 * appended / ROUNDS:.1f} ms, who follows {follower:.1f} ms")


def known(one: Machine, others: Sequence[Machine], how: str) -> None:
    """How long after its answer a round is in the stores of the others."""
    times = []
    for _ in range(KNOWN):
        one.end_round()
        began, number = time.monotonic(), one.event()
        while any(other.event() < number for other in others):
            time.sleep(0.002)
        times.append(1e3 * (time.monotonic() - began))
        time.sleep(PAUSE)
    print(f"known elsewhere after its answer, by {how}   {percentiles(times)}")


def behind_pgbouncer(folder: Path, server: Postgres) -> None:
    """The same where nobody tells: behind a pooler."""
    with pgbouncer(server) as port, ExitStack() as stack:
        url = server.url(server.database(), port=port)
        two = [stack.enter_context(machine(folder / f"pooled-{n}", f"pooled-{n}", n, 1, url)) for n in range(2)]
        until_followed(two)
        known(two[0], two[1:], "asking every second")


if __name__ == "__main__":
    main()
