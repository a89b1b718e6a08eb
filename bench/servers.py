"""100 servers of one pool whose rounds end at once: rounds a second, syncs a round, on a disk of 9.5 ms a sync.

A slow disk is simulated and its syncs are counted by strace, which holds back every `fsync` and `fdatasync` of the
daemon. Without strace the disk is the one that is there, and nothing is counted.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier
from typing import Any

from bench.scripts import Script, percentiles, roster, round_ended
from tests import daemons

SERVERS, ROUNDS = 100, 5
SYNC_SECONDS = 0.0095
TARGET = "at least 50 rounds a second, at most 1.2 syncs a round"


def main() -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        trace = folder / "syncs"
        with running(folder / "daemon", strace(trace)) as scripts:
            began, times = time.time(), play(scripts)
            took = time.time() - began
            time.sleep(1.0)  # what is written behind the replies counts too
            syncs = count(trace, began)
        stored = rounds_stored(folder / "daemon" / "state" / "equipoise.db")
    assert stored == SERVERS * ROUNDS, stored
    counted = "strace is not installed" if syncs is None else f"{syncs / stored:.2f} syncs a round"
    disk = "this disk" if syncs is None else f"{SYNC_SECONDS * 1e3:g} ms a sync"
    print(f"{SERVERS} servers of one pool, {stored} rounds, {disk}: {stored / took:.0f} rounds a second, {counted}")
    print(f"a round's end until it is stored   {percentiles(times)}   target {TARGET}")


def strace(trace: Path) -> tuple[str, ...]:
    """The command that delays and logs syncs; it runs beside the daemon, which keeps its pid."""
    if shutil.which("strace") is None:
        return ()
    inject = f"inject=fsync,fdatasync:delay_exit={SYNC_SECONDS * 1e6:.0f}"
    return (
        "strace",
        "-D",
        "-f",
        "--seccomp-bpf",
        "-ttt",
        "-e",
        "trace=fsync,fdatasync",
        "-e",
        inject,
        "-o",
        str(trace),
    )


def count(trace: Path, since: float) -> int | None:
    """Number of syncs in the trace since a time; None without strace."""
    if not trace.exists():
        return None
    times = re.findall(r"^\d+ +([\d.]+) f(?:data)?sync\(", trace.read_text(), re.MULTILINE)
    return sum(float(at) >= since for at in times)


@contextmanager
def running(folder: Path, under: Sequence[str]) -> Iterator[list[Script]]:
    """A daemon that runs `under` a command, and a script of each of its servers that has said hello."""
    daemon = daemons.RealDaemon(folder)
    more_servers(daemon)
    plain = daemons.EQUIPOISE
    daemons.EQUIPOISE = (*under, *plain)
    try:
        daemon.start()
    finally:
        daemons.EQUIPOISE = plain
    try:
        scripts = [Script(daemon.port, f"bench-{number}", f"secret-{number}") for number in range(SERVERS)]
        for script in scripts:
            script.introduce()
        yield scripts
    finally:
        daemon.kill()


def more_servers(daemon: daemons.RealDaemon, count: int = SERVERS) -> None:
    """Add servers `bench-<number>` with secrets `secret-<number>` to the configuration."""
    tables = []
    for number in range(count):
        digest = hashlib.sha256(f"secret-{number}".encode()).hexdigest()
        (daemon.folder / "secrets" / f"bench-{number}.sha256").write_text(digest + "\n")
        tables.append(f'[server.bench-{number}]\nsecret_file = "secrets/bench-{number}.sha256"\n')
    daemon.config.write_text(daemon.config.read_text() + "\n" + "\n".join(tables))


def rated_by(daemon: daemons.RealDaemon, system: str, balance: str) -> None:
    """Exchange the pool's settings for these two, and for defaults."""
    pool = f'[pool.main]\nsystem = "{system}"\nbalance = "{balance}"\n'
    text = re.sub(r"\[pool\.main\].*?(?=\n\[)", pool, daemon.config.read_text(), flags=re.DOTALL)
    daemon.config.write_text(text)


def play(scripts: Sequence[Script]) -> list[float]:
    """Every server ends its rounds, each as soon as the one before is stored; milliseconds of each."""
    at_once = Barrier(len(scripts))

    def one(number: int) -> list[float]:
        at_once.wait()
        return [ended(scripts[number], number, place) for place in range(ROUNDS)]

    with ThreadPoolExecutor(len(scripts)) as threads:
        return [each for times in threads.map(one, range(len(scripts))) for each in times]


def ended(script: Script, server: int, place: int) -> float:
    """Milliseconds until a round's end is answered `stored`, with the pauses that a script makes in between.

    Before that, a new player joins, whose name is noted, and the round goes live.
    """
    number = SERVERS * place + server
    event = own(round_ended(number), server)
    players = own(roster(), server)
    players[0]["name"] = f"player {number}"
    post(script, {"kind": "round_live", "round": event["round"], "players": players})
    began = time.perf_counter()
    while post(script, event)["rounds"].get(event["round"]) != "stored":
        pass
    return 1e3 * (time.perf_counter() - began)


def post(script: Script, event: object) -> dict[str, Any]:
    while True:
        try:
            return script.post(event)[0]
        except (AssertionError, http.client.HTTPException):  # busy with it
            time.sleep(0.2)


def own(event: Any, server: int) -> Any:
    """An event or a roster with the server's own players."""
    return json.loads(json.dumps(event).replace("7656119800000", f"76561198{server:05}"))


def rounds_stored(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        (number,) = database.execute("SELECT count(*) FROM rounds").fetchone()
    return int(number)


if __name__ == "__main__":
    main()
