"""Damaged files: of a ring all rounds that can be read are applied; a damaged store is replaced by a good copy."""

from __future__ import annotations

import sqlite3
import struct
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from shutil import copyfile

from tests.chaos import stored
from tests.chaos.book import Key
from tests.chaos.daemon import Ended
from tests.chaos.faults.disks import locked
from tests.chaos.faults.trial import Fault, Trial

HEADER = struct.Struct("<4sII")
MAGIC = b"\xffEQ1"


def frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each readable frame of a ring's file begins and ends (docs/store.md)."""
    start = 0
    while (start := data.find(MAGIC, start)) >= 0:
        _, length, checksum = HEADER.unpack_from(data.ljust(start + HEADER.size, b"\0"), start)
        end = start + HEADER.size + length
        if end <= len(data) and zlib.crc32(data[start + HEADER.size : end]) == checksum:
            yield start, end
            start = end
        else:
            start += 1


def ring(trial: Trial) -> int:
    """The end is missing, or bytes in the middle are wrong: all rounds of whole frames are applied without scripts."""
    arena, path = trial.arena, trial.arena.state / "main.ring"
    main = [script for script in arena.scripts if script.server != "alone"]
    for _ in range(trial.scale):
        with locked(arena.store):
            arena.play(2, main)
            arena.daemon.kill()
        aside = len(list(arena.state.glob("main.ring.damaged-*")))
        whole = path.read_bytes()
        places = list(frames(whole))
        kind = trial.rng.choice(("cut", "flip", "flip", "insert"))
        path.write_bytes(damaged := damage(trial, whole, places, kind))
        intact = named(arena.book.rounds, damaged, list(frames(damaged)))
        arena.book.void((named(arena.book.rounds, whole, places) - intact) - stored.keys(arena.store))
        arena.daemon.start()
        end = time.monotonic() + 40.0
        while (missing := intact - stored.keys(arena.store)) and time.monotonic() < end:
            time.sleep(0.05)
        for key in missing:
            arena.book.complain(f"{key} stood in a whole frame of a ring ({kind}), and was not applied after the start")
        arena.play(1, main)
        if kind != "cut" and len(list(arena.state.glob("main.ring.damaged-*"))) == aside:
            arena.book.complain(f"the damaged ring ({kind}) was not set aside")
    return trial.scale


def damage(trial: Trial, whole: bytes, places: Sequence[tuple[int, int]], kind: str) -> bytes:
    """The bytes with one thing wrong, which is not in the last frame: damage there may look like an unfinished one."""
    start, end = trial.rng.choice(places[:-1])
    if kind == "cut":
        return whole[: trial.rng.randrange(places[-1][0] + 1, len(whole))]
    place = trial.rng.randrange(start, end)
    if kind == "insert":
        return whole[:place] + trial.rng.randbytes(trial.rng.randrange(1, 40)) + whole[place:]
    return whole[:place] + bytes([whole[place] ^ trial.rng.randrange(1, 256)]) + whole[place + 1 :]


def named(known: Mapping[Key, object], data: bytes, places: Sequence[tuple[int, int]]) -> set[Key]:
    """The rounds whose server and id stand in these frames."""
    payloads = [data[start:end] for start, end in places]
    return {
        (server, name)
        for server, name in known
        if any(f'"{name}"'.encode() in each and f'"{server}"'.encode() in each for each in payloads)
    }


def store(trial: Trial) -> int:
    """A page is damaged that every round needs; no round is called stored until the good copy is back."""
    arena = trial.arena
    for _ in range(trial.scale):
        arena.play(4)
        for script in arena.scripts:
            script.deliver(time.monotonic() + 60.0)
        arena.daemon.stop()
        copy = trial.folder / "good.db"
        copyfile(arena.store, copy)
        spoil(arena.store)
        before = set(arena.book.stored)
        try:
            arena.daemon.start()
            arena.play(3)
            arena.daemon.kill()
            trial.note = "it starts, and keeps rounds"
        except Ended:
            trial.note = "it refuses to start"
            arena.play(3)
        for key in arena.book.stored - before:
            arena.book.complain(f"{key} was called stored by a damaged store")
        for suffix in ("-wal", "-shm"):
            Path(f"{arena.store}{suffix}").unlink(missing_ok=True)
        copyfile(copy, arena.store)
        arena.daemon.start()
    return trial.scale


def spoil(path: Path) -> None:
    """Overwrite the root page of the index by which a round is looked up before it is stored."""
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'rounds' AND sql IS NULL"
        ).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


FAULTS = (Fault("damaged ring", ring), Fault("damaged store", store))
