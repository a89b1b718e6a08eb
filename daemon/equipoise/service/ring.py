"""Rounds that the store has not taken yet, oldest first; they survive kill -9, and carry rounds over into a backup.

A round is kept once it is synced to the ring's file, and only then held in memory too. The file is append-only while
rounds wait, and is truncated when the last of them was applied, so that applying a round costs no write here. Up to 8
rounds are held in memory, the slots; what comes after them waits in the file alone, so that a store that is away for a
night costs disk and not memory. After a crash between applying a round and the truncation, the round is applied again:
the store recognises its id.

A frame of the file is `MAGIC`, the payload's length and its CRC-32 (both 32 bits, little endian), and the payload:
one `UnstoredRound` as JSON. `MAGIC` begins with a byte that UTF-8 never uses, so a reader finds the next frame behind
damage. An unfinished frame at the end is a write that was cut short, of a round that was never answered for.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import mmap
import os
import stat
import struct
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import NamedTuple, TypeAlias

import msgspec

from equipoise.core.effects import RecordRound
from equipoise.core.model import RoundId, ServerId
from equipoise.errors import SpillError
from equipoise.files import open_private, replace_private, sync
from equipoise.store.connection import reading, store_errors
from equipoise.store.past import stored_rounds

SLOTS = 8

RESERVE = 512 * 1024
"""Bytes allocated beside the file and freed when the disk is full, as the disk that stops the store is the ring's."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

MAGIC = b"\xffEQ1"
_HEADER = struct.Struct("<4sII")

Key: TypeAlias = tuple[ServerId, RoundId]

log = logging.getLogger(__name__)


class UnstoredRound(msgspec.Struct, frozen=True):
    """A finished round that is not in the store yet."""

    record: RecordRound
    memory: bytes | None
    """The server's session memory after the round."""
    at: float
    """When the round first came in, in seconds since the epoch."""

    @property
    def key(self) -> Key:
        """Identifies the round everywhere: ids are unique per server only."""
        return self.record.round.server, self.record.round.id


class Frame(NamedTuple):
    """A readable stretch of the file, from byte `start` up to `end`."""

    start: int
    end: int
    entry: UnstoredRound


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(UnstoredRound)


def framed(entry: UnstoredRound) -> bytes:
    """The bytes of an entry's frame."""
    payload = _encoder.encode(entry)
    return _HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


def frames(data: bytes | mmap.mmap, start: int = 0) -> Iterator[Frame]:
    """Every readable frame from byte `start` on, in order; damage is skipped."""
    start = data.find(MAGIC, start)
    # `find` gives -1 where no frame begins any more.
    while start >= 0:
        frame = _frame_at(data, start)
        if frame:
            yield frame
        start = data.find(MAGIC, frame.end if frame else start + 1)


def _frame_at(data: bytes | mmap.mmap, start: int) -> Frame | None:
    payload_start = start + _HEADER.size
    if payload_start > len(data):
        return None
    _, length, checksum = _HEADER.unpack(data[start:payload_start])
    payload = data[payload_start : payload_start + length]
    if len(payload) != length or zlib.crc32(payload) != checksum:
        return None
    try:
        return Frame(start, payload_start + length, _decoder.decode(payload))
    except msgspec.DecodeError:  # written by another version
        return None


def rename(path: Path, player: str, stand_in: str) -> None:
    """Put another id of the same length in a player's place, in the file of a ring that nobody has open."""
    old, new = player.encode(), stand_in.encode()
    data, pieces, end = path.read_bytes(), [], 0
    for frame in frames(data):
        memory = frame.entry.memory
        entry = _decoder.decode(_encoder.encode(frame.entry).replace(old, new))
        entry = msgspec.structs.replace(entry, memory=memory and memory.replace(old, new))
        pieces += [data[end : frame.start].replace(old, new), framed(entry)]
        end = frame.end
    replace_private(path, b"".join((*pieces, data[end:].replace(old, new))))


def _is_torn(tail: bytes) -> bool:
    """Whether this is a frame whose writing was cut short."""
    if len(tail) < _HEADER.size:
        return MAGIC.startswith(tail[: len(MAGIC)])
    magic, length, _ = _HEADER.unpack_from(tail)
    return bool(magic == MAGIC) and _HEADER.size + int(length) > len(tail)


class Ring:
    """Call `open` first; one process at a time. Every method may wait for the disk, and for another thread's call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.overflowed = 0
        """Rounds that came when the slots were full, since the start."""
        self._reserve = path.with_name(f"{path.name}.reserve")
        self._file: int | None = None
        self._slots: deque[UnstoredRound] = deque()
        self._keys: dict[Key, None] = {}
        self._read = 0
        """The file's rounds before this byte are in the slots, or were."""
        self._end = 0
        """Where the next frame is written."""
        self._damaged = False
        self._synced = True
        self._turn = RLock()

    @property
    def depth(self) -> int:
        """Rounds that wait, in the slots and behind them."""
        return len(self._keys)

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def open(self) -> None:
        """Read what waits; damage is logged and skipped. SpillError when the file cannot be used."""
        try:
            self._take_stock()
        except BlockingIOError:
            raise SpillError(f"{self.path}: another process has it open") from None
        except OSError as error:
            advice = "give this user write access; " if isinstance(error, PermissionError) else ""
            raise SpillError(f"{self.path}: {error.strerror}: {advice}rounds that must wait have no place") from error
        self._set_reserve()

    def close(self) -> None:
        """Let go of the file; what waits stays in it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def push(self, entry: UnstoredRound, *, synced: bool = True) -> None:
        """Keep a round: it is synced when this returns, or with `sync`. Once per round; after a SpillError it is
        nowhere.
        """
        with self._turn:
            if entry.key not in self:
                self._push(entry, synced)

    def sync(self) -> None:
        """Sync rounds that were pushed without it. SpillError: they may not survive a power loss."""
        with self._turn:
            if not self._synced:
                try:
                    os.fsync(self._open_file())
                except OSError as error:
                    raise SpillError(f"{self.path}: {error.strerror}: rounds cannot be kept") from error
                self._synced = True

    def _push(self, entry: UnstoredRound, synced: bool) -> None:
        # While older rounds wait in the file alone, a free slot is theirs.
        room = not self._waits_in_file and len(self._slots) < SLOTS
        frame = framed(entry)
        if _frame_at(frame, 0) is None:  # JSON has no infinity: to refuse it is better than to keep it and lose it
            raise SpillError(f"{self.path}: round {entry.key[1]} could not be read back")
        try:
            self._append(frame, synced)
        except OSError as error:
            raise SpillError(f"{self.path}: {error.strerror}: round {entry.key[1]} cannot be kept") from error
        self._keys[entry.key] = None
        if room:
            self._slots.append(entry)
            self._read = self._end
        else:  # it is read when those before it were applied
            self.overflowed += 1

    def full(self) -> bool:
        """Tell whether the disk has no room: what waits stays here until it has."""
        with self._turn:
            return not self._set_reserve()

    def slots(self) -> list[UnstoredRound]:
        """The rounds to apply next, oldest first, as many as memory holds. SpillError: the file cannot be read now.

        Empty while the disk is full: the store would write into the room that the reserve has left to this file.
        """
        with self._turn:
            if self._keys and self.full():
                return []
            if not self._slots and self._waits_in_file:
                try:
                    self._refill()
                except (OSError, ValueError) as error:  # ValueError: the file is shorter than it was
                    raise SpillError(f"{self.path}: cannot be read: {error}") from error
            return list(self._slots)

    def pop(self) -> None:
        """The oldest round was applied; after the last one the file is emptied."""
        with self._turn:
            del self._keys[self._slots.popleft().key]
            if not self._keys:
                self._clear()

    @property
    def _waits_in_file(self) -> bool:
        return self._read < self._end

    def _open_file(self) -> int:
        if self._file is None:
            file = open_private(self.path, os.O_RDWR)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise OSError(errno.EINVAL, "not a regular file")
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The file may have been made just now: without this its name
                # may be gone after a power loss, synced rounds and all.
                sync(self.path.parent)
            except OSError:
                os.close(file)
                raise
            self._file = file
        return self._file

    def _take_stock(self) -> None:
        """Read the file once from end to end; truncate an unfinished frame, remember other damage."""
        file = self._open_file()
        size = os.fstat(file).st_size
        if not size:
            return
        with mmap.mmap(file, size, access=mmap.ACCESS_READ) as data:
            for frame in frames(data):
                # Bytes between two frames that are no frame.
                self._damaged |= frame.start != self._end
                self._end = frame.end
                self._keys[frame.entry.key] = None
            torn = _is_torn(data[self._end :])
        if self._end < size and torn:
            log.warning("%s: the last %d bytes were cut short and are ignored", self.path, size - self._end)
            os.ftruncate(file, self._end)
        # Damage at the end: new frames go behind it, so that it can be looked at later.
        elif self._end < size:
            self._damaged, self._end = True, size
        if self._damaged:
            log.error("%s: damaged; %d rounds could be read", self.path, self.depth)
        if self._waits_in_file:
            self._refill()

    def _refill(self) -> None:
        with mmap.mmap(self._open_file(), self._end, access=mmap.ACCESS_READ) as data:
            taken: dict[Key, UnstoredRound] = {}
            for frame in frames(data, self._read):
                if len(taken) == SLOTS:
                    break
                self._read = frame.end
                if frame.entry.key in self._keys:  # else it was applied, and sent again while others waited
                    taken.setdefault(frame.entry.key, frame.entry)
            else:
                # No `break`: everything up to the end was looked at, damage behind the last frame too.
                self._read = self._end
        self._slots.extend(taken.values())
        if not self._slots:
            self._clear()

    def _append(self, frame: bytes, synced: bool) -> None:
        try:
            self._write(frame, synced)
        except OSError as error:
            if error.errno not in NO_ROOM or not self._reserve.exists():
                raise
            self._reserve.unlink()  # what it was kept for
            self._write(frame, synced)
        self._end += len(frame)

    def _write(self, frame: bytes, synced: bool) -> None:
        file = self._open_file()
        if self._is_gone(file):
            raise OSError(errno.ESTALE, "it was removed or replaced: restart the daemon")
        try:
            written = 0
            while written < len(frame):
                # At a place instead of at the file's end: what an earlier failure could not truncate is overwritten.
                written += os.pwrite(file, frame[written:], self._end + written)
            if synced:
                os.fsync(file)
            self._synced = synced
        except OSError:
            with suppress(OSError):  # half a frame would look like a write that was cut short
                os.ftruncate(file, self._end)
            raise

    def _is_gone(self, file: int) -> bool:
        """The file at the path is not the one that is open: what is written to it ends with this process."""
        try:
            return not os.path.samestat(os.fstat(file), self.path.stat())
        except FileNotFoundError:
            return True
        except OSError:  # the directory is closed to us for now
            return False

    def _clear(self) -> None:
        """Nothing waits: empty the file; a damaged one is renamed instead, so that it can be looked at."""
        # Also where the file cannot be emptied: the next frame is written behind those that were applied.
        self._keys.clear()
        try:
            if self._damaged:
                self._set_aside()
            else:
                os.ftruncate(self._open_file(), 0)
        except OSError as error:  # its rounds are applied again after a restart, and the store recognises them
            log.warning("%s: %s: cannot be emptied", self.path, error.strerror)
            return
        self._read = self._end = 0
        self._synced = True
        self._set_reserve()

    def _set_aside(self) -> None:
        aside = self.path.with_name(f"{self.path.name}.damaged-{self.path.stat().st_mtime_ns}")
        # The open file goes along with its name; the next round makes a new one.
        self.path.replace(aside)
        self.close()
        self._damaged = False
        log.error("%s: what could be read is stored; set aside as %s", self.path, aside.name)

    def _set_reserve(self) -> bool:
        """Have a reserve where that is possible; False: the disk is full.

        Any other trouble (a directory that is closed to us, a disk that only reads) is none of the rounds' that wait.
        """
        try:
            if self._reserve.exists():
                return True
            file = open_private(self._reserve, os.O_WRONLY)
            try:
                os.posix_fallocate(file, 0, RESERVE)
            finally:
                os.close(file)
        except OSError as error:
            with suppress(OSError):  # half a reserve might not hold a round
                self._reserve.unlink(missing_ok=True)
            return error.errno not in NO_ROOM
        return True


# Rounds that a backup lacks, carried over into it: the daemon of an older version finds them in the rings.
#
# An older version cannot read a store that a newer one has changed, so its own store comes back by a backup from
# before. What was played since is in the newer store alone. A ring's file is the form in which rounds have always
# waited for a store, and a daemon applies those that it finds there at its start: each once, in order, by its own
# rating system.

_LACKED = """
SELECT number FROM rounds AS played
WHERE NOT pruned AND NOT EXISTS (SELECT 1 FROM backup.rounds WHERE server = played.server AND id = played.id)
ORDER BY number
"""
_MISSING = """
SELECT count(*) FROM newer.rounds AS played
WHERE NOT pruned AND NOT EXISTS (SELECT 1 FROM main.rounds WHERE server = played.server AND id = played.id)
"""
_EDITS = """
SELECT count(*) FROM edits WHERE at > (SELECT max(at) FROM (
    SELECT max(recorded_at) AS at FROM backup.rounds UNION ALL SELECT max(at) FROM backup.edits
))
"""


@dataclass(frozen=True, slots=True)
class Since:
    """The difference between a store and a backup of it."""

    rounds: int
    edits: int
    """Changes by admins and jobs. A ring has no place for them."""


def carry(store: Path, backup: Path, folder: Path) -> Since:
    """Write what waits for each pool after the backup was restored, as `folder`/POOL.ring; StoreError: why not.

    First the rounds that the backup lacks, then those that wait already.
    """
    rings = {path.name: path.read_bytes() for path in store.parent.glob("*.ring")}
    with store_errors(), closing(reading(store)) as db:
        db.execute("ATTACH ? AS backup", (f"{backup.resolve().as_uri()}?mode=ro",))
        numbers = [number for (number,) in db.execute(_LACKED)]
        (edits,) = db.execute(_EDITS).fetchone()
        pieces: dict[str, list[bytes]] = {name: [] for name in rings}
        for pool, at, record in stored_rounds(db, numbers):
            pieces.setdefault(f"{pool}.ring", []).append(framed(UnstoredRound(record, None, at)))
    for name, parts in pieces.items():
        if parts:
            # What waits already was played later than what the store had taken.
            _write(folder / name, b"".join([*parts, rings.get(name, b"")]))
    return Since(len(numbers), edits)


def put_in_place(folder: Path, state: Path) -> None:
    """Make the files of `carry` the rings; the daemon is stopped. Again after a kill it changes nothing."""
    for path in folder.glob("*.ring"):
        path.rename(state / path.name)
    sync(state)


def missing(store: Path, newer: Path) -> int:
    """Return how many rounds of the newer store are not in the store, which an older version may have changed."""
    with store_errors(), closing(reading(store)) as db:
        db.execute("ATTACH ? AS newer", (f"{newer.resolve().as_uri()}?mode=ro",))
        return int(db.execute(_MISSING).fetchone()[0])


def _write(path: Path, content: bytes) -> None:
    with open(open_private(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
