"""The text of an export: a line of JSON each for the format, the pool, its parts, and the end.

The last line has the SHA-256 of all lines above it, so that half an export, or one that was changed, is noticed; in
files of format 1, without the first. No line says when the export was made: the same pool gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO
from unicodedata import category

import msgspec

from equipoise.errors import FileError
from equipoise.store import pool_file

VERSION = 5
"""The version of the format, which has spans since 2, counts, squads, records and bases since 3, seasons and hidden
players since 4, and the game's own skills since 5.

It grows when an older program could not read what a newer one writes.
"""
LONGEST = 64 * 1024 * 1024
"""Bytes of a line. A round of 100 players has 60,000; an edit may have the whole shared state of a system."""
PIECE = 64 * 1024
"""Bytes, about, that are handed on at once."""

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of letters that no stored name has: a terminal would obey them, or a reader not see them."""

SECTIONS: dict[type[pool_file.Line], int] = {
    pool_file.Head: 0,
    pool_file.Part: 1,
    pool_file.Base: 2,
    pool_file.Player: 3,
    pool_file.Name: 4,
    pool_file.Season: 5,
    pool_file.Round: 6,
    pool_file.Edit: 6,
    pool_file.Edited: 6,
    pool_file.Void: 7,
    pool_file.Entry: 8,
}
"""Lines of a higher section come after those of a lower one."""


class Format(pool_file.Line, frozen=True, tag="equipoise"):
    """The first line of a file, which says how to read the others."""

    version: int


class End(pool_file.Line, frozen=True, tag="end"):
    """The last line of an export: a file without it was cut off."""

    lines: int
    """The number of lines between the first one and this one."""
    sha256: str


_encoder = msgspec.json.Encoder()
_line: msgspec.json.Decoder[Format | pool_file.AnyLine | End] = msgspec.json.Decoder(Format | pool_file.AnyLine | End)


def written(lines: Iterable[pool_file.AnyLine]) -> Iterator[bytes]:
    """Yield an export, in pieces of whole lines; an error of the first lines comes before the first piece."""
    first = _encoder.encode(Format(version=VERSION)) + b"\n"
    piece, count, digest = bytearray(), 0, hashlib.sha256(first)
    for line in lines:
        start = len(piece)
        _encoder.encode_into(line, piece, start)
        piece += b"\n"
        count += 1
        # The first line goes with the first piece, so that nothing is written if the first lines fail.
        if len(piece) >= PIECE:
            digest.update(piece)
            yield first + piece
            first = b""
            piece.clear()
    digest.update(piece)
    yield first + piece + _encoder.encode(End(lines=count, sha256=digest.hexdigest())) + b"\n"


class Reader:
    """Reads an export once; FileError names the line that is wrong."""

    def __init__(self, file: BinaryIO) -> None:
        self.line = 0
        """The number of the line that was read last."""
        self._number = 0
        """The number of the last round or edit."""
        self._file = file
        self._digest = hashlib.sha256()
        self._read_format()
        first = self._next()
        if not isinstance(first, pool_file.Head):
            raise self._refusal("the pool's own line is missing here")
        self.head = first

    def lines(self) -> Iterator[pool_file.AnyLine]:
        """Yield every line from the pool's own on, as it was written; the end is checked before this ends."""
        counts: dict[type[pool_file.Line], int] = dict.fromkeys(SECTIONS, 0)
        line: pool_file.AnyLine | End = self.head
        while not isinstance(line, End):
            counts[type(line)] += 1
            yield line
            before, line = line, self._next()
            if not isinstance(line, End):
                self._check(before, line)
        self._check_end(line, counts)

    def _read_format(self) -> None:
        """Refuse what another program wrote, or a newer version, which may have lines that are unknown here."""
        text = self._text()
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            value = None
        if not isinstance(value, dict) or value.get("kind") != "equipoise":
            raise self._refusal("this is no export of a pool: `equipoise pool export` makes one")
        version = value.get("version")
        if isinstance(version, int) and version > VERSION:
            raise self._refusal(
                f"it was written by a newer Equipoise (format {version}, this one knows {VERSION}): upgrade Equipoise"
            )
        if version not in range(1, VERSION + 1):
            raise self._refusal(f"the format {version!r:.40} is unknown")
        # Format 1 left its first line out of the digest.
        if version != 1:
            self._digest.update(text)

    def _next(self) -> pool_file.AnyLine | End:
        text = self._text()
        try:
            line = _line.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._refusal(str(error)) from None
        if isinstance(line, Format):
            raise self._refusal("a second export begins here: give each its own file")
        if isinstance(line, End):
            if line.sha256 != self._digest.hexdigest():
                raise self._refusal("lines before this one were changed or damaged: make the export again")
        else:
            self._digest.update(text)
        return line

    def _text(self) -> bytes:
        self.line += 1
        text = self._file.readline(LONGEST)
        if not text:
            raise self._refusal("the file is empty" if self.line == 1 else "the export ends here: the rest is missing")
        if not text.endswith(b"\n"):
            long = len(text) == LONGEST
            raise self._refusal(
                "the line is too long for an export" if long else "the line is cut off: the rest is missing"
            )
        return text

    def _refusal(self, why: str) -> FileError:
        return FileError(why, line=self.line)

    def _check_end(self, end: End, counts: dict[type[pool_file.Line], int]) -> None:
        head = self.head
        once = (1, head.parts, head.bases, head.players, head.names, head.seasons)
        numbers = (*once, head.rounds, head.edits, head.edited, head.voids, head.audit)
        # In the order of `SECTIONS`, which is that of `numbers`.
        for (kind, count), number in zip(counts.items(), numbers, strict=True):
            if count != number:
                raise self._refusal(f"{number:,} lines of the kind {_kind(kind)} were announced, {count:,} came")
        if end.lines != sum(counts.values()):
            raise self._refusal(f"{end.lines:,} lines were announced, {sum(counts.values()):,} came")
        # Two exports in one file would be read as the first alone.
        if self._file.read(1):
            self.line += 1
            raise self._refusal("something follows the end of the export")

    def _check(self, before: pool_file.AnyLine, line: pool_file.AnyLine) -> None:
        """Refuse what the types do not."""
        if isinstance(line, pool_file.Head) or SECTIONS[type(line)] < SECTIONS[type(before)]:
            raise self._refusal(f"a line of the kind {_kind(type(line))} after one of the kind {_kind(type(before))}")
        if isinstance(line, pool_file.Name) and any(category(letter) in HIDDEN for letter in line.name):
            raise self._refusal("the name has characters that cannot be shown")
        if isinstance(line, pool_file.Round) and line.prediction is not None and not (line.participants or line.pruned):
            raise self._refusal("the round was rated without a participant")
        if isinstance(line, pool_file.Round | pool_file.Edit):
            if line.number <= self._number:
                raise self._refusal("rounds and edits are not in the order of their numbers")
            self._number = line.number
        if isinstance(line, pool_file.Edited) and not (
            isinstance(before, pool_file.Edit | pool_file.Edited) and line.edit == self._number
        ):
            raise self._refusal("the edit that this is a part of is not above it")


def _kind(kind: type[pool_file.Line]) -> str:
    return str(kind.__struct_config__.tag)
