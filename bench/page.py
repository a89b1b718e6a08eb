"""What the page costs: memory, start, slow pages, eight walls of 100 servers beside the games, and the first paint.

`python -m bench.page --rounds 1000000` fills a larger store for the pages; `--store DIRECTORY` uses a copy of one that
`bench.filled_store` made. malloc is as the systemd unit has it. Eight walls are a process of their own that reads the
stream and fetches changed panels again as `live.js` does. Phases without and with walls come in turns, because the
machine's speed changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import zlib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import aiohttp
import numpy as np
from numpy.typing import NDArray

from bench.balance import MALLOC
from bench.filled_store import Past, fill, player
from bench.measuring import status_of
from bench.scripts import Script, hello, percentiles, roster, round_ended
from bench.servers import SERVERS, more_servers, own
from bench.soak.watch import cpu_seconds
from tests.daemons import RealDaemon

STARTS, READS = 3, 30
PLAYERS, ROUNDS, LONG = 100_000, 100_000, 10_000
FIRST_PAGES = ("/", "/servers/test-1", "/players", "/rounds")
WALLS, TURNS, SECONDS = 8, 4, 17.0
BEATS, ENDED_EVERY, ROSTER_EVERY = 32, 4, 9
"""Posts a second of all servers; one of so many is a round end, or a roster in which two have gone or come.

So eight rounds end in a second, where a hundred servers end one in two: more than 500 of each kind of phase.
"""
REST, WHOLE = 1.0, 50
"""As in `live.js`: seconds between two requests of a wall, and changed servers from which it asks for all."""
ASKED = 200
"""Requests of the public pages a second."""
VIEWER = "a viewer's token of the bench"


def main(words: Sequence[str] = ()) -> None:
    parser = ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of the large store (default: %(default)s)")
    parser.add_argument("--store", type=Path, help="state directory of a large store that is there already")
    parser.add_argument("--walls", metavar="PORT:TOKEN", help="only be the walls, until stopped")
    parser.add_argument("--public", metavar="PORT", type=int, help="only ask for public pages, until stopped")
    options = parser.parse_args(words)
    if options.walls:
        port, _, token = options.walls.partition(":")
        asyncio.run(Walls(int(port), token).watch())
        return
    if options.public:
        asyncio.run(ask_publicly(options.public))
        return
    os.environ.update(MALLOC)
    with TemporaryDirectory() as made:
        nobody_looking(Path(made))
        pages(Path(made), options.store, options.rounds)
        walls(Path(made))


# Memory and the start


def nobody_looking(made: Path) -> None:
    """Resident memory with and without the page, in turns, and after the first pages."""
    sizes: dict[bool, list[float]] = {True: [], False: []}
    seen, ready = [], []
    for number in range(STARTS):
        for page in sizes:
            daemon = _daemon(made / f"idle-{number}-{page}", page=page)
            with _started(daemon) as start:
                script = Script(daemon.port, daemon.server, daemon.secret)
                script.introduce()
                for each in range(20):
                    script.post(round_ended(each))
                time.sleep(1.0)  # what is written behind the replies
                sizes[page].append(status_of(daemon.pid, "VmRSS"))
                if page:
                    ready.append(start)
                    for path in FIRST_PAGES:
                        get(daemon, path)
                    seen.append(status_of(daemon.pid, "VmRSS"))
    on, off, after = median(sizes[True]), median(sizes[False]), median(seen)
    beside = f"{on:.1f} MB, {off:.1f} MB with page = false"
    print(f"nobody looks, after 20 rounds   {beside}: {on - off:+.1f} MB   target +5 MB")
    print(f"after the first {len(FIRST_PAGES)} pages   {after:.1f} MB: {after - on:+.1f} MB")
    _ready_line("small store", ready)


def _daemon(folder: Path, *, page: bool = True, balance: str = "joint") -> RealDaemon:
    daemon = RealDaemon(folder)
    (folder / "secrets" / "viewer.sha256").write_text(hashlib.sha256(VIEWER.encode()).hexdigest() + "\n")
    text = daemon.config.read_text().replace("[web]\n", f"[web]\npage = {str(page).lower()}\n")
    if balance != "joint":
        text = re.sub(r"(?m)^balance = .*$", f'balance = "{balance}"\nstale_days = 1000', text)
    daemon.config.write_text(f'{text}\n[token.viewer]\nsecret_file = "secrets/viewer.sha256"\nrole = "viewer"\n')
    return daemon


@contextmanager
def _started(daemon: RealDaemon) -> Iterator[tuple[float, float]]:
    """Run a daemon; yields the seconds until it was ready, and those of the processor."""
    began = time.perf_counter()
    daemon.start()
    try:
        yield time.perf_counter() - began, cpu_seconds(daemon.pid)
    finally:
        daemon.kill()


def get(daemon: RealDaemon, path: str, token: str | None = None) -> tuple[bytes, float]:
    """A page over a new connection, and the milliseconds until it was read."""
    with closing(http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)) as connection:
        return _get(connection, path, token or daemon.token)


def _get(connection: http.client.HTTPConnection, path: str, token: str) -> tuple[bytes, float]:
    headers = {"Accept": "text/html", "Authorization": f"Bearer {token}"}
    began = time.perf_counter()
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    assert response.status == 200, (path, response.status, body[:500])
    return body, 1e3 * (time.perf_counter() - began)


# Slow pages


def pages(made: Path, given: Path | None, rounds: int) -> None:
    """The pages whose stores are large."""
    print("pages   target 50 ms")
    long = made / "long" / "state"
    _fill(long, Past(players=48, rounds=2 * LONG))
    with _ready(made / "long", "a player of 10,000 rounds") as daemon:
        assert _most_rounds(long) >= LONG * 0.9
        _measure(daemon, f"/players/{player(0)}")
    large = made / "large" / "state"
    if given is not None:
        large.parent.mkdir()
        shutil.copytree(given, large, ignore=shutil.ignore_patterns("backups", "*.lock"))
    else:
        past = Past(players=PLAYERS, rounds=rounds, size=6, earlier=60)
        _fill(large, past)
    with closing(sqlite3.connect(large / "equipoise.db")) as db:
        players, rounds = (db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("players", "rounds"))
    with _ready(made / "large", f"{players:,} players, {rounds:,} rounds") as daemon:
        _measure(daemon, "/players")
        _measure(daemon, "/rounds")
        _measure(daemon, f"/players/{player(0)}")


def _fill(folder: Path, past: Past) -> None:
    folder.mkdir(parents=True)
    asyncio.run(fill(folder / "equipoise.db", past))


def _most_rounds(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "equipoise.db")) as db:
        (number,) = db.execute("SELECT max(rounds) FROM players").fetchone()
    return int(number)


@contextmanager
def _ready(folder: Path, name: str) -> Iterator[RealDaemon]:
    """A daemon on a store that is there; `joint` would read all of its rounds first, which is not what is measured."""
    (state := folder / "state").rename(aside := folder.with_name(f"{folder.name}-state"))
    daemon = _daemon(folder, balance="synelo")
    aside.rename(state)
    starts = []
    for _ in range(STARTS):
        with _started(daemon) as start:
            starts.append(start)
    with _started(daemon) as start:
        _ready_line(name, [*starts, start])
        used = -1.0
        while (now := cpu_seconds(daemon.pid)) - used > 0.05:  # a large file is checked after the start
            used = now
            time.sleep(1.0)
        yield daemon


def _ready_line(name: str, starts: Sequence[tuple[float, float]]) -> None:
    seconds, busy = zip(*starts, strict=True)
    spread = f"{min(seconds):.2f} to {max(seconds):.2f}, processor {median(busy):.2f} s"
    print(f"ready, {name}   {median(seconds):.2f} s ({spread})   target 1 s", flush=True)


def _measure(daemon: RealDaemon, path: str) -> None:
    for who, token in (("admin", daemon.token), ("viewer", VIEWER)):
        with closing(http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)) as connection:
            body, first = _get(connection, path, token)
            before, used = _served(daemon), cpu_seconds(daemon.pid)
            times = [_get(connection, path, token)[1] for _ in range(READS)]
            after, used = _served(daemon), cpu_seconds(daemon.pid) - used
        inside = 1e3 * (after[0] - before[0]) / (after[1] - before[1])
        shown = re.sub(r"\d{17}", "ID", path)
        print(
            f"{shown:12} {who:6} first {first:5.1f} ms, then median {median(times):5.1f}, most {max(times):5.1f}, "
            f"daemon {inside:5.1f}, processor {1e3 * used / READS:4.1f} ms ({len(body) / 1e3:.0f} kB); target 50",
            flush=True,
        )


def _served(daemon: RealDaemon) -> tuple[float, float]:
    """Seconds and number of all pages so far, by the daemon's own measure."""
    with closing(http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)) as connection:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {daemon.token}"})
        text = connection.getresponse().read().decode()
    pattern = r'equipoise_request_seconds_{}\{{route="GET /(?:|players|rounds|players/\{{id\}})"\}} (\S+)'
    seconds, number = (sum(map(float, re.findall(pattern.format(kind), text))) for kind in ("sum", "count"))
    return seconds, number


# Walls


@dataclass
class Walls:
    """Eight walls of a browser."""

    port: int
    token: str
    times: list[float] = field(default_factory=list)
    read: int = 0
    panels: int = 0

    async def watch(self) -> None:
        """Be eight walls until standard input ends; then print what they did."""
        address, headers = f"http://127.0.0.1:{self.port}", {"Authorization": f"Bearer {self.token}"}
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(address, headers=headers, connector=connector) as session:
            tasks = [asyncio.create_task(self._wall(session)) for _ in range(WALLS)]
            await asyncio.to_thread(sys.stdin.read)
            ended = [task for task in tasks if task.done()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for task in ended:
                task.result()  # it has failed
        fetched = f"{len(self.times)} fetches of {self.panels} panels, {percentiles(self.times)}"
        print(f"{fetched}, {self.read / 1e6:.1f} MB of stream")

    async def _wall(self, session: aiohttp.ClientSession) -> None:
        await self._fetch(session, "/")
        changed: set[str] = set()
        there = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._stream(session, changed, there))
            group.create_task(self._refresh(session, changed, there))

    async def _stream(self, session: aiohttp.ClientSession, changed: set[str], there: asyncio.Event) -> None:
        timeout = aiohttp.ClientTimeout(total=None, sock_read=10)
        async with session.get("/live", headers={"Accept": "text/event-stream"}, timeout=timeout) as response:
            assert response.status == 200, await response.text()
            kind = ""
            async for line in response.content:
                self.read += len(line)
                if line.startswith(b"event: "):
                    kind = line[7:].strip().decode()
                elif line.startswith(b"data: ") and kind == "server":
                    changed.add(json.loads(line[6:])["server"]["server"])
                    there.set()
        raise AssertionError("the stream has ended")

    async def _refresh(self, session: aiohttp.ClientSession, changed: set[str], there: asyncio.Event) -> None:
        while await there.wait():
            names, there_again = ",".join(sorted(changed)), len(changed)
            changed.clear()
            there.clear()
            await self._fetch(session, "/" if there_again >= WHOLE else f"/?servers={names}")
            self.panels += there_again
            await asyncio.sleep(REST)

    async def _fetch(self, session: aiohttp.ClientSession, path: str) -> None:
        began = time.perf_counter()
        async with session.get(path, headers={"Accept": "text/html"}) as response:
            await response.read()
            assert response.status == 200, path
        self.times.append(1e3 * (time.perf_counter() - began))


async def ask_publicly(port: int) -> None:
    """Ask for public pages until standard input ends, each when it is due; then print how they were answered."""
    paths = ["/", "/players", "/rounds", "/maps", *(f"/servers/bench-{number}" for number in range(16))]
    times: list[float] = []
    statuses: Counter[int] = Counter()

    async def ask(path: str) -> None:
        began = time.perf_counter()
        async with session.get(path, headers={"Accept": "text/html"}) as response:
            await response.read()
            statuses[response.status] += 1
        times.append(1e3 * (time.perf_counter() - began))

    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        over = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        began, number = time.monotonic(), 0
        async with asyncio.TaskGroup() as group:
            while not over.done():
                group.create_task(ask(paths[number % len(paths)]))
                number += 1
                await asyncio.sleep(max(0.0, began + number / ASKED - time.monotonic()))
    answers = ", ".join(f"{number} with {status}" for status, number in sorted(statuses.items()))
    print(f"{number} requests, {answers}, {percentiles(times)}")


@dataclass
class Phase:
    """The measurements of one kind of phase, in all its turns."""

    name: str
    beats: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def line(self) -> str:
        """Return the percentiles of both kinds of answers, and the processor's part of a core."""
        cpu = f"{100 * median(self.cpu):.0f} % of a core"
        late = sorted(self.ends)[len(self.ends) * 95 // 100]
        ends = f"round end {percentiles(self.ends)}   p95 {late:.2f}, most {max(self.ends):.1f} ({len(self.ends)})"
        return f"{ends}   heartbeat {percentiles(self.beats)} ({len(self.beats)})   {cpu}"

    def beside(self, other: Phase) -> str:
        """Return by how much slower one round end in a hundred is, and between what of 100 drawings 95 lie."""
        luck = np.random.default_rng(26)

        def p99(times: Sequence[float]) -> NDArray[np.float64]:
            return np.quantile(luck.choice(times, (2_000, len(times))), 0.99, axis=1)

        low, high = np.quantile(p99(self.ends) - p99(other.ends), (0.025, 0.975))
        more = np.quantile(self.ends, 0.99) - np.quantile(other.ends, 0.99)
        return f"{more:+.1f} ms ({low:+.1f} to {high:+.1f})"


class Games:
    """100 servers of 24 players that call as often as they do, from one thread."""

    def __init__(self, daemon: RealDaemon) -> None:
        self.daemon, self.luck, self.posts = daemon, random.Random(26), 0
        self.scripts = [Script(daemon.port, f"bench-{number}", f"secret-{number}") for number in range(SERVERS)]
        for number, script in enumerate(self.scripts):
            script.post(hello(), {"kind": "roster", "players": own(roster(), number)})

    def play(self, phase: Phase, seconds: float) -> None:
        """Call on until the time is over."""
        began, used = time.monotonic(), cpu_seconds(self.daemon.pid)
        due = began
        while (due := due + 1 / BEATS) < began + seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            self.posts += 1
            # Another server each time, also among those whose rounds end.
            number = (self.posts + self.posts // SERVERS) % SERVERS
            script, players = self.scripts[number], own(roster(), number)
            if self.posts % ENDED_EVERY == 0:
                event = own(round_ended(self.posts), number)
                script.post({"kind": "round_live", "round": event["round"], "players": players})
                phase.ends.append(script.post(event)[1])
            elif self.posts % ROSTER_EVERY == 0:
                script.post({"kind": "roster", "players": self.luck.sample(players, self.luck.choice((22, 24)))})
            else:
                phase.beats.append(script.post()[1])
        phase.cpu.append((cpu_seconds(self.daemon.pid) - used) / (time.monotonic() - began))
        phase.memory.append(status_of(self.daemon.pid, "VmRSS"))


def walls(made: Path) -> None:
    """Round ends and heartbeats without and with walls, in turns; and the bytes of a first paint."""
    daemon = _daemon(made / "walls")
    more_servers(daemon)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        public = free.getsockname()[1]
    daemon.config.write_text(f"{daemon.config.read_text()}\n[public]\nport = {public}\n")
    with _started(daemon):
        games = Games(daemon)
        alone, watched, both = (Phase(name) for name in ("nobody looks", f"{WALLS} walls", f"{WALLS} walls, public"))
        games.play(Phase("first"), SECONDS)  # machine code is compiled, names are known
        for _ in range(TURNS):
            games.play(alone, SECONDS)
            with _beside(f"--walls={daemon.port}:{daemon.token}") as seen:
                games.play(watched, SECONDS)
                with _beside("--public", str(public)) as asked:
                    games.play(both, SECONDS)
        for phase in (alone, watched, both):
            print(f"{SERVERS} servers, {phase.name:15} {phase.line()}", flush=True)
        more = ", ".join(f"{phase.name} {phase.beside(alone)}" for phase in (watched, both))
        print(f"p99 of round ends beside nobody's look: {more}   target: none")
        print(f"the public pages   {asked[0]}")
        print(f"the walls   {seen[0]}")
        start, more, most = alone.memory[0], watched.memory[0], status_of(daemon.pid, "VmHWM")
        grown = f"{start:.1f} MB, {more:.1f} MB with walls: {more - start:+.1f} MB   target +20 MB"
        later = ", ".join(f"{size:.1f}" for size in watched.memory)
        print(f"resident   {grown}   turns with walls {later}, at most {most:.1f} MB")
        first_paint(daemon)


@contextmanager
def _beside(*words: str) -> Iterator[list[str]]:
    """Run another process of this file meanwhile; what it says is in the list at the end."""
    said: list[str] = []
    command = [sys.executable, "-m", "bench.page", *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(3.0)  # imports, and the first whole walls
        yield said
        out, _ = process.communicate()
        assert process.returncode == 0, command
        said.append(out.strip())
    finally:
        process.kill()


def first_paint(daemon: RealDaemon) -> None:
    """Bytes that a browser without anything kept fetches until it has shown a page."""
    for path in ("/", "/servers/bench-1"):
        body, _ = get(daemon, path)
        files = re.findall(r'(?:href|src)="(/static/[^"]+)"', body.decode())
        sizes = {file.partition("?")[0].rpartition("/")[2]: len(get(daemon, file)[0]) for file in files}
        total = len(body) + sum(sizes.values())
        parts = ", ".join(f"{name} {size / 1e3:.1f}" for name, size in {"HTML": len(body), **sizes}.items())
        packed = f"HTML packed {len(zlib.compress(body)) / 1e3:.1f}"
        print(f"first paint of {path:18} {total / 1e3:6.1f} kB ({parts}; {packed})   target 150 kB")


if __name__ == "__main__":
    main(sys.argv[1:])
