"""The ring: what it took is there after anything but the loss of the disk."""

from __future__ import annotations

import json
import logging
import os
import struct
import typing
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.effects import RecordRound
from equipoise.core.model import LineupPlayer, Participant, PlayerId, Presence, Round, Side
from equipoise.errors import SpillError
from equipoise.service.ring import MAGIC, RESERVE, SLOTS, Ring, UnstoredRound, framed, frames
from tests.store.disk import fast_directory, filled, no_file_above, small_disk, without_root
from tests.store.samples import a_round, with_counts


def waiting(number: int) -> UnstoredRound:
    return UnstoredRound(a_round(number), f"memory {number}".encode(), float(number))


@contextmanager
def opened(path: Path) -> Iterator[Ring]:
    ring = Ring(path)
    ring.open()
    try:
        yield ring
    finally:
        ring.close()


def drained(ring: Ring) -> list[UnstoredRound]:
    found = []
    while ring.depth:
        slots = ring.slots()
        assert 0 < len(slots) <= SLOTS
        for entry in slots:
            found.append(entry)
            ring.pop()
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "main.ring"


# In and out.


def test_what_was_pushed_comes_out_oldest_first_also_from_a_ring_opened_anew(path: Path) -> None:
    pushed = [waiting(3), waiting(1), UnstoredRound(with_counts(a_round(2)), None, 2.0), *map(waiting, range(9, 60))]
    with opened(path) as ring:
        for entry in pushed:
            ring.push(entry)
        assert (ring.depth, ring.overflowed) == (len(pushed), len(pushed) - SLOTS)
        assert len(pushed) > 3 * SLOTS
    with opened(path) as ring:
        assert ring.depth == len(pushed)
        assert drained(ring) == pushed
        assert ring.depth == 0


def test_order_holds_when_rounds_come_and_go(path: Path) -> None:
    with opened(path) as ring:
        for number in range(SLOTS + 2):
            ring.push(waiting(number))
        first = ring.slots()[0]
        ring.pop()
        ring.push(waiting(90))
        rest = drained(ring)
        ring.push(waiting(91))

        assert [first, *rest] == [waiting(n) for n in (*range(SLOTS + 2), 90)]
        assert drained(ring) == [waiting(91)]


def test_a_round_pushed_again_waits_once_and_the_file_is_empty_when_nothing_waits(path: Path) -> None:
    with opened(path) as ring:
        for _ in range(2):
            ring.push(waiting(1))
        assert waiting(1).key in ring
        assert path.stat().st_size > 0
        assert drained(ring) == [waiting(1)]
        assert waiting(1).key not in ring
        assert path.stat().st_size == 0


@pytest.mark.parametrize("numbers", [[1, 1], [1, 1, 2], [1, 2, 1], [*range(SLOTS), 0, 1, SLOTS, 2]])
def test_a_round_that_stands_in_the_file_twice_comes_out_once(path: Path, numbers: list[int]) -> None:
    path.write_bytes(b"".join(framed(waiting(number)) for number in numbers))
    with opened(path) as ring:
        once = sorted(set(numbers), key=numbers.index)
        assert ring.depth == len(once)
        assert drained(ring) == [waiting(number) for number in once]
        assert (ring.depth, path.stat().st_size) == (0, 0)


def test_a_file_that_was_cut_while_open_is_a_spill_error(path: Path) -> None:
    with opened(path) as ring:
        for number in range(SLOTS + 1):
            ring.push(waiting(number))
        path.write_bytes(b"")
        for _ in range(SLOTS):
            ring.pop()
        with pytest.raises(SpillError, match="cannot be read"):
            ring.slots()


def test_one_process_at_a_time(path: Path) -> None:
    with opened(path), pytest.raises(SpillError, match="another process"):
        Ring(path).open()


# Damage.


def test_a_tail_that_was_cut_short_is_ignored_and_reported(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = framed(waiting(1)), framed(waiting(2))
    for cut in (*range(1, 16), *range(16, len(second), 97), len(second) - 1):
        path.write_bytes(first + second[:cut])
        caplog.clear()
        with opened(path) as ring:
            ring.push(waiting(3))
        with opened(path) as ring:
            assert drained(ring) == [waiting(1), waiting(3)]
        assert [f"last {cut} bytes" in line for line in caplog.messages] == [True]


def test_damage_in_the_middle_costs_one_round_and_the_file_is_set_aside(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parts = [framed(waiting(n)) for n in (1, 2, 3)]
    for place in (*range(16), *range(16, len(parts[1]), 97)):
        hurt = bytearray(parts[1])
        hurt[place] ^= 0x55
        path.write_bytes(parts[0] + hurt + parts[2])
        before = path.read_bytes()
        with opened(path) as ring:
            assert drained(ring) == [waiting(1), waiting(3)]
            ring.push(waiting(4))
        (damaged,) = path.parent.glob("*.damaged-*")
        assert damaged.read_bytes() == before
        damaged.unlink()
        with opened(path) as ring:
            assert drained(ring) == [waiting(4)]
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


def test_a_round_of_another_version_is_set_aside_unread(path: Path) -> None:
    payload = json.loads(framed(waiting(1))[12:])
    del payload["record"]["round"]["winner"]
    stranger = framed(msgspec.convert({"record": a_round(1), "memory": None, "at": 0.0}, UnstoredRound))
    path.write_bytes(_reframed(msgspec.json.encode(payload)) + stranger)
    with opened(path) as ring:
        assert [entry.memory for entry in drained(ring)] == [None]
    assert list(path.parent.glob("*.damaged-*"))


def _reframed(payload: bytes) -> bytes:
    return struct.pack("<4sII", MAGIC, len(payload), zlib.crc32(payload)) + payload


WRITTEN = [waiting(n) for n in range(4)]
FILE = b"".join(map(framed, WRITTEN))


@given(
    place=st.integers(0, len(FILE) - 1),
    junk=st.binary(max_size=40),
    removed=st.integers(0, 40),
)
def test_any_damage_leaves_all_but_two_rounds_readable_in_order(place: int, junk: bytes, removed: int) -> None:
    read = [frame.entry for frame in frames(FILE[:place] + junk + FILE[place + removed :])]

    assert read == [entry for entry in WRITTEN if entry in read]
    assert len(read) >= len(WRITTEN) - 2


@settings(deadline=None)  # each example has a file of its own
@given(data=st.binary(max_size=300))
def test_a_file_of_any_bytes_opens(data: bytes) -> None:
    with fast_directory() as directory, opened(written_to(directory / "main.ring", data)) as ring:
        assert drained(ring) == []
        ring.push(waiting(1))
        assert drained(ring) == [waiting(1)]


def written_to(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


# Disks.


def test_a_file_that_may_not_grow_refuses_and_nothing_is_kept(path: Path) -> None:
    with opened(path) as ring:
        ring.push(waiting(1))
        size = path.stat().st_size
        with no_file_above(size + 100), pytest.raises(SpillError, match="cannot be kept"):
            ring.push(waiting(2))
        assert ring.depth == 1
        assert path.stat().st_size == size
        ring.push(waiting(3))
        assert drained(ring) == [waiting(1), waiting(3)]


@pytest.mark.slow
def test_a_full_disk_is_why_there_is_a_reserve(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, opened(disk / "main.ring") as ring:
        with filled(disk):
            pushed = list(_push_until_refused(ring))
            assert len(pushed) > SLOTS
            assert ring.depth == len(pushed)
        assert drained(ring) == pushed
        assert (disk / "main.ring.reserve").stat().st_size == RESERVE


def _push_until_refused(ring: Ring) -> Iterator[UnstoredRound]:
    number = 0
    try:
        while True:
            ring.push(waiting(number))
            yield waiting(number)
            number += 1
    except SpillError:
        return


def test_a_place_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with without_root(), pytest.raises(SpillError, match="Permission denied"):
        Ring(tmp_path / "main.ring").open()


def test_a_round_is_on_disk_when_it_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, int]] = []
    sync = os.fsync

    def watched(file: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{file}"), os.fstat(file).st_size))
        sync(file)

    with opened(path) as ring:
        monkeypatch.setattr(os, "fsync", watched)
        sizes = []
        for number in range(SLOTS + 2):
            ring.push(waiting(number))
            sizes.append(path.stat().st_size)
        # What may be stored before it has to be kept is synced when it is.
        for number in range(SLOTS + 2, SLOTS + 5):
            ring.push(waiting(number), synced=False)
        assert len(synced) == len(sizes)
        for _ in range(2):
            ring.sync()
        sizes.append(path.stat().st_size)

    assert synced == [(str(path), size) for size in sizes]


# The codec.


FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLAYERS = st.text(max_size=5).map(PlayerId)
SIDES = st.sampled_from(Side)
ROUNDS = st.builds(
    Round,
    started_at=FINITE,
    seconds=FINITE,
    lineup=st.lists(st.builds(LineupPlayer, PLAYERS, SIDES), max_size=3).map(tuple),
    presences=st.lists(st.builds(Presence, PLAYERS, SIDES, FINITE, FINITE, st.booleans()), max_size=3).map(tuple),
)
RECORDS = st.builds(
    RecordRound,
    round=ROUNDS,
    participants=st.lists(st.builds(Participant, PLAYERS, SIDES, FINITE, FINITE), max_size=3).map(tuple),
    skill_at_start=st.none() | st.dictionaries(PLAYERS, FINITE, max_size=3),
)


@pytest.mark.slow
@given(st.builds(UnstoredRound, record=RECORDS, memory=st.none() | st.binary(), at=FINITE))
def test_every_round_comes_back_as_it_went_in(entry: UnstoredRound) -> None:
    (frame,) = frames(framed(entry))

    assert frame.entry == entry


def test_a_round_that_could_not_be_read_back_is_refused(path: Path) -> None:
    endless = a_round()
    endless = replace(endless, round=replace(endless.round, seconds=float("inf")))
    with opened(path) as ring:
        with pytest.raises(SpillError, match="read back"):
            ring.push(UnstoredRound(endless, None, 1.0))
        assert ring.depth == 0


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ((), RecordRound),
        (("round",), Round),
        (("round", "lineup", 0), LineupPlayer),
        (("round", "presences", 0), Presence),
        (("participants", 0), Participant),
    ],
)
def test_the_file_has_every_field(place: tuple[str | int, ...], kind: type) -> None:
    written: typing.Any = json.loads(framed(waiting(1))[12:])["record"]
    for step in place:
        written = written[step]

    assert list(written) == [field.name for field in fields(kind)]


# A file that is not there, or not a file.


@pytest.mark.parametrize("replaced", [False, True])
def test_no_round_is_kept_in_a_file_that_is_gone(path: Path, replaced: bool) -> None:
    with opened(path) as ring:
        ring.push(waiting(1))
        path.unlink()
        if replaced:
            path.write_bytes(b"")
        with pytest.raises(SpillError, match="removed or replaced: restart the daemon"):
            ring.push(waiting(2))
        assert ring.depth == 1


def test_a_pipe_or_a_device_is_no_ring(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ring")
    (tmp_path / "device.ring").symlink_to("/dev/full")
    for name in ("pipe.ring", "device.ring"):
        with pytest.raises(SpillError, match="not a regular file"):
            Ring(tmp_path / name).open()
