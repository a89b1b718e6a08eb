"""The state of `joint` as one string of bytes: a header in JSON, arrays, and a checksum."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.joint.active import Active, Place
from equipoise.ratings.joint.formulas import FREE
from equipoise.ratings.joint.own import OwnScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equipoise.ratings.history import Floats
    from equipoise.ratings.joint.params import JointParams

MAGIC = b"EQJOINT2"
CHECKSUM = 16
"""Bytes."""


def write(active: Active, digest: str, head: bytes = b"") -> bytes:
    """All of the state, behind `head`; the same state is always written alike."""
    players, dense = len(active.numbers) + len(active.free), active.state.dense
    rows = int(dense.counts[FREE])
    header = {
        "parameters": digest,
        "spread": active.params.spread,
        "rows": rows,
        # By number, so that names alone say who has which.
        "players": sorted(active.numbers, key=active.numbers.__getitem__),
        "free": active.free,
        "places": [[*place.sides, place.map] for place in active.places],
        "own": active.own.pack(),
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    parts: list[Any] = [
        MAGIC,
        len(text).to_bytes(8, "little"),
        text,
        *_arrays(active, players),
        # The matrix is symmetric to the bit, so one triangle has all of it.
        *_triangle(dense.cov[:rows]),
    ]
    checksum = blake2b(digest_size=CHECKSUM)
    for part in parts:
        checksum.update(part)
    return b"".join((head, *parts, checksum.digest()))


def read(data: bytes, params: JointParams) -> Active:
    """The state of a snapshot; raises `RatingError` for damage, other parameters, or what another version wrote."""
    body = memoryview(data)[:-CHECKSUM]
    if not data.startswith(MAGIC) or blake2b(body, digest_size=CHECKSUM).digest() != data[-CHECKSUM:]:
        raise RatingError("joint: the snapshot is damaged or no snapshot of this version")
    try:
        return _read(body, params)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise RatingError(f"joint: the snapshot has not what this version writes: {error!r}") from error


def renamed(data: bytes, player: str, stand_in: str) -> bytes:
    """The same state with another id of the same length in a player's place; raises `RatingError` for damage."""
    head, mark, body = data.partition(MAGIC)
    body = mark + body
    if blake2b(body[:-CHECKSUM], digest_size=CHECKSUM).digest() != body[-CHECKSUM:]:
        raise RatingError("joint: the snapshot is damaged or no snapshot of this version")
    end = len(MAGIC) + 8 + int.from_bytes(body[len(MAGIC) : len(MAGIC) + 8], "little")
    body = body[:end].replace(player.encode(), stand_in.encode()) + body[end:-CHECKSUM]
    return head + body + blake2b(body, digest_size=CHECKSUM).digest()


def _read(body: memoryview, params: JointParams) -> Active:
    start = len(MAGIC) + 8
    end = start + int.from_bytes(body[len(MAGIC) : start], "little")
    header: dict[str, Any] = json.loads(bytes(body[start:end]))
    if header["parameters"] != params.digest():
        raise RatingError("joint: the snapshot was made with other parameters")
    active = Active(replace(params, spread=float(header["spread"])))
    _name(active, header)
    active.own = OwnScores.unpack(active.params.spread, header["own"], len(active.numbers) + len(active.free))
    return _filled(active, header["rows"], body[end:])


def _name(active: Active, header: dict[str, Any]) -> None:
    """Number players and places as they were."""
    gone = set(header["free"])
    numbers = (n for n in range(len(header["players"]) + len(gone)) if n not in gone)
    # Arrays of the right length, by placeholders that the next line replaces.
    active.admit(PlayerId(f"\0{n}") for n in range(len(header["players"]) + len(gone)))
    active.numbers = dict(zip(map(PlayerId, header["players"]), numbers, strict=True))
    active.free = list(header["free"])
    for a, b, on_map in header["places"]:
        active.admit_place(Place((a, b), on_map))


def _filled(active: Active, rows: int, body: memoryview) -> Active:
    active.make_room(rows)
    dense = active.state.dense
    dense.counts[FREE] = rows
    offset = 0
    for array in (*_arrays(active, len(active.numbers) + len(active.free)), *_triangle(dense.cov[:rows])):
        array[...] = np.frombuffer(body, array.dtype, array.size, offset).reshape(array.shape)
        offset += array.nbytes
    if offset != len(body):
        raise ValueError(f"{len(body)} bytes, not {offset}")
    for row in range(rows):
        dense.cov[:row, row] = dense.cov[row, :row]
    return active


def _triangle(cov: Floats) -> list[Floats]:
    """The rows of the lower triangle, with the diagonal: views."""
    return [values[: row + 1] for row, values in enumerate(cov)]


def _arrays(active: Active, players: int) -> list[NDArray[Any]]:
    """The arrays of the state but the covariance, as far as they are in use: views, in a fixed order."""
    state, places = active.state, len(active.places)
    rows = int(state.dense.counts[FREE])
    return [
        *(state.dense.mean[:rows], state.dense.kind[:rows], state.dense.owner[:rows], state.dense.counts),
        *(array[:players] for array in state.players),
        *(array[:places] for array in state.places),
        *(array[:players] for array in state.people),
        *active.own.arrays(players),
        *(state.time, state.events),
    ]
