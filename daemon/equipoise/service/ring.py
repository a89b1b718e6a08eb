"""Rounds that the store has not taken yet: a ring of 8 slots, oldest first, that survives kill -9.

Every round stands in a file before it stands in memory. The file only grows while rounds wait and is cut to nothing
when the last was applied; whatever waits beyond the slots waits in the file alone. A crash between a round's being
applied and the cut makes it come again: the store knows it by its id.

A frame of the file is `MAGIC`, the payload's length and its CRC-32 (both 32 bits, little endian), and the payload:
one `UnstoredRound` as JSON. `MAGIC` begins with a byte that UTF-8 never uses, so that reading can go on behind damage.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import mmap
import os
import struct
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from equipoise.core.effects import RecordRound
from equipoise.core.model import RoundId, ServerId
from equipoise.errors import SpillError

SLOTS = 8

RESERVE = 512 * 1024
"""Bytes set aside beside the file and given back when the disk is full: the same full disk stopped the store."""

MAGIC = b"\xffEQ1"
_HEADER = struct.Struct("<4sII")

Key: TypeAlias = tuple[ServerId, RoundId]

log = logging.getLogger(__name__)


class UnstoredRound(msgspec.Struct, frozen=True):
    """A round that waits for the store."""

    record: RecordRound
    memory: bytes | None
    """The server's session memory after the round."""
    at: float
    """When the round first came in, seconds since the epoch."""

    @property
    def key(self) -> Key:
        """By which the round is known wherever it is met."""
        return self.record.round.server, self.record.round.id


class Frame(NamedTuple):
    """A readable stretch of the file."""

    start: int
    end: int
    entry: UnstoredRound


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(UnstoredRound)


def framed(entry: UnstoredRound) -> bytes:
    """An entry as it stands in the file."""
    payload = _encoder.encode(entry)
    return _HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


def frames(data: bytes | mmap.mmap, start: int = 0) -> Iterator[Frame]:
    """What is readable from `start` on, in order."""
    start = data.find(MAGIC, start)
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


def _is_torn(tail: bytes) -> bool:
    """A frame whose writing was cut short: it was never answered for."""
    if len(tail) < _HEADER.size:
        return MAGIC.startswith(tail[: len(MAGIC)])
    magic, length, _ = _HEADER.unpack_from(tail)
    return bool(magic == MAGIC) and _HEADER.size + int(length) > len(tail)


class Ring:
    """Call `open` first; one process at a time. Every method may wait for the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.overflowed = 0
        """Rounds that found the slots full, since the start."""
        self._reserve = path.with_name(f"{path.name}.reserve")
        self._file: int | None = None
        self._slots: deque[UnstoredRound] = deque()
        self._keys: dict[Key, None] = {}
        self._read = 0
        """Up to here the file's rounds are in the slots, or were."""
        self._end = 0
        """Up to here the file is good."""
        self._damaged = False

    @property
    def depth(self) -> int:
        """Rounds that wait, beyond the slots too."""
        return len(self._keys)

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def open(self) -> None:
        """Read what waits; damage is reported and read around. SpillError when the file cannot be used."""
        try:
            self._take_stock()
        except BlockingIOError:
            raise SpillError(f"{self.path}: another process has it open") from None
        except OSError as error:
            raise SpillError(f"{self.path}: {error.strerror}: rounds that must wait have no place") from error
        self._set_reserve()

    def close(self) -> None:
        """What waits stays in the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def push(self, entry: UnstoredRound) -> None:
        """Keep a round for good, once. After a SpillError neither the file nor memory has it."""
        if entry.key in self:
            return
        room = not self._waits_in_file and len(self._slots) < SLOTS
        frame = framed(entry)
        if _frame_at(frame, 0) is None:  # JSON has no infinity: better refused than kept and lost
            raise SpillError(f"{self.path}: round {entry.key[1]} could not be read back")
        try:
            self._append(frame)
        except OSError as error:
            raise SpillError(f"{self.path}: {error.strerror}: round {entry.key[1]} cannot be kept") from error
        self._keys[entry.key] = None
        if room:
            self._slots.append(entry)
            self._read = self._end
        else:
            self.overflowed += 1

    def slots(self) -> list[UnstoredRound]:
        """The rounds to apply next, oldest first, as many as memory holds. SpillError: the file cannot be read now."""
        if not self._slots and self._waits_in_file:
            try:
                self._refill()
            except (OSError, ValueError) as error:  # a ValueError: somebody cut the file
                raise SpillError(f"{self.path}: cannot be read: {error}") from error
        return list(self._slots)

    def pop(self) -> None:
        """The oldest round was applied."""
        self._keys.pop(self._slots.popleft().key, None)
        if not self._slots and not self._waits_in_file:
            self._clear()

    @property
    def _waits_in_file(self) -> bool:
        return self._read < self._end

    def _open_file(self) -> int:
        if self._file is None:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _sync_directory(self.path.parent)
            except OSError:
                os.close(file)
                raise
            self._file = file
        return self._file

    def _take_stock(self) -> None:
        """Read the file once from end to end, and cut or mark what cannot be read."""
        file = self._open_file()
        size = os.fstat(file).st_size
        if not size:
            return
        with mmap.mmap(file, size, access=mmap.ACCESS_READ) as data:
            for frame in frames(data):
                self._damaged |= frame.start != self._end
                self._end = frame.end
                self._keys[frame.entry.key] = None
            torn = _is_torn(data[self._end :])
        if self._end < size and torn:
            log.warning("%s: the last %d bytes were cut short and are ignored", self.path, size - self._end)
            os.ftruncate(file, self._end)
        elif self._end < size:
            self._damaged, self._end = True, size
        if self._damaged:
            log.error("%s: damaged; %d rounds could be read", self.path, self.depth)
        if self._waits_in_file:
            self._refill()

    def _refill(self) -> None:
        with mmap.mmap(self._open_file(), self._end, access=mmap.ACCESS_READ) as data:
            for frame in islice(frames(data, self._read), SLOTS):
                self._slots.append(frame.entry)
                self._read = frame.end
        if len(self._slots) < SLOTS:
            self._read = self._end
        if not self._slots:
            self._clear()

    def _append(self, frame: bytes) -> None:
        try:
            self._write(frame)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not self._reserve.exists():
                raise
            self._reserve.unlink()
            self._write(frame)
        self._end += len(frame)

    def _write(self, frame: bytes) -> None:
        file = self._open_file()
        try:
            written = 0
            while written < len(frame):
                written += os.pwrite(file, frame[written:], self._end + written)
            os.fsync(file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(file, self._end)
            raise

    def _clear(self) -> None:
        """Nothing waits: empty the file; a damaged one is set aside for whoever wants to look."""
        self._keys.clear()
        try:
            if self._damaged:
                self._set_aside()
            else:
                os.ftruncate(self._open_file(), 0)
        except OSError as error:  # its rounds come again after a restart, and are known
            log.warning("%s: %s: cannot be emptied", self.path, error.strerror)
            return
        self._read = self._end = 0
        self._set_reserve()

    def _set_aside(self) -> None:
        aside = self.path.with_name(f"{self.path.name}.damaged-{self.path.stat().st_mtime_ns}")
        self.path.replace(aside)
        self.close()
        self._damaged = False
        log.error("%s: what could be read is stored; set aside as %s", self.path, aside.name)

    def _set_reserve(self) -> None:
        if self._reserve.exists():
            return
        try:
            with self._reserve.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE)
        except OSError:  # no room: better no reserve than half of one
            self._reserve.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
