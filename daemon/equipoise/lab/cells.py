"""Kernels that read the bytes of CSV: fields of lines, distinct texts, plain numbers and ISO times.

Compiled, they read 100 MB a second; what they do not understand they leave to Python's `csv` (see `columns`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from equipoise.ratings.history import Floats, Numbers, Offsets

TAB, NEWLINE, RETURN, SPACE, QUOTE = b'\t\n\r "'
MINUS, POINT, ZERO, NINE, COLON, LETTER_T, LETTER_Z = b"-.09:TZ"
ODD = 1e15
"""A figure that is no plain decimal is `-ODD` less the number of its text."""
LIMIT = 131_072
"""Bytes of a field: `csv` refuses longer ones as well."""
DIGITS = 15
"""Most digits of a decimal that is read here: they are exact in a float, and so is their quotient by a power of ten."""
STAMP = 1e8
"""A time with a point below this is left to Python: 2019.0 are seconds where 2019 may be a year."""


class Known(NamedTuple):
    """The distinct texts of a column, one after the other, in a table that is found by hash."""

    slots: Numbers
    """Shape (a power of two,): number of the text in this place, -1 where there is none."""
    ends: Offsets
    """Shape (more than texts,): where each text begins in `letters`; the next one begins where it ends."""
    letters: Any


def split(piece: Any, separator: int, fields: Numbers, lines: Numbers, wrong: Numbers) -> tuple[int, int, int]:
    """Find the fields of whole lines; return the numbers of rows, of lines, and of lines of another width.

    `fields`, shape (lines, width, 2): begin and end of each field; `lines`: of each row the number of its line, from 0.
    `wrong`, shape (lines, 2): line and width. A line of empty fields is no row. -1 rows: there are quotes for `csv`.
    """
    row, line, wrongs, place, width = 0, 0, 0, 0, fields.shape[1]
    while place < len(piece):
        column, filled = 0, False
        while True:
            begin = _after_blanks(piece, place, separator)
            quoted = begin < len(piece) and piece[begin] == QUOTE
            end = _closing(piece, begin + 1) if quoted else _stop(piece, begin, separator)
            place = _after_blanks(piece, end + 1, separator) if quoted else end
            if end < 0 or end - begin > LIMIT or not _ends_field(piece, place, separator):
                return -1, line, wrongs
            begin = min(_after_blanks(piece, begin + quoted, separator), end)
            end = _before_blanks(piece, begin, end, separator)
            filled = filled or begin < end
            if column < width:
                fields[row, column, 0], fields[row, column, 1] = begin, end
            column += 1
            if place >= len(piece) or piece[place] == NEWLINE:
                break
            place += 1
        place += 1
        if column == width and filled:
            lines[row] = line
            row += 1
        elif filled:
            wrong[wrongs, 0], wrong[wrongs, 1] = line, column
            wrongs += 1
        line += 1
    return row, line, wrongs


def _after_blanks(piece: Any, place: int, separator: int) -> int:
    while place < len(piece) and _blank(piece[place], separator):
        place += 1
    return place


def _before_blanks(piece: Any, begin: int, end: int, separator: int) -> int:
    while end > begin and _blank(piece[end - 1], separator):
        end -= 1
    return end


def _blank(code: int, separator: int) -> bool:
    return code in (SPACE, RETURN) or (code == TAB and separator != TAB)


def _stop(piece: Any, place: int, separator: int) -> int:
    while place < len(piece) and piece[place] != separator and piece[place] != NEWLINE:
        place += 1
    return place


def _closing(piece: Any, place: int) -> int:
    """The next quote; -1 if the line ends before it."""
    while place < len(piece) and piece[place] != QUOTE:
        if piece[place] == NEWLINE:
            return -1
        place += 1
    return place if place < len(piece) else -1


def _ends_field(piece: Any, place: int, separator: int) -> bool:
    return place >= len(piece) or piece[place] == separator or piece[place] == NEWLINE


def number_texts(piece: Any, fields: Numbers, column: int, known: Known, count: int, numbers: Numbers) -> int:
    """Write the number of each row's text; return how many texts are known now. `known` has room for them."""
    last = -1
    for row in range(len(numbers)):
        begin, end = fields[row, column, 0], fields[row, column, 1]
        # Rows of one match stand together as a rule.
        if last < 0 or not _same(piece, begin, end, known, last):
            last = _number(piece, begin, end, known, count)
            count = max(count, last + 1)
        numbers[row] = last
    return count


def _number(piece: Any, begin: int, end: int, known: Known, count: int) -> int:
    """The number of a text, which is `count` where it is new."""
    slot = _hash(piece, begin, end) & (len(known.slots) - 1)
    while known.slots[slot] >= 0:
        if _same(piece, begin, end, known, known.slots[slot]):
            return int(known.slots[slot])
        slot = (slot + 1) & (len(known.slots) - 1)
    known.slots[slot] = count
    start = known.ends[count]
    for step in range(end - begin):
        known.letters[start + step] = piece[begin + step]
    known.ends[count + 1] = start + end - begin
    return count


def _hash(letters: Any, begin: int, end: int) -> int:
    # FNV-1a with 32 bits, whose upper bits are mixed into the lower ones, which choose the slot.
    code = 2166136261
    for place in range(begin, end):
        code = ((code ^ letters[place]) * 16777619) & 0xFFFFFFFF
    return code ^ (code >> 15)


def _same(piece: Any, begin: int, end: int, known: Known, number: int) -> bool:
    start = known.ends[number]
    if known.ends[number + 1] - start != end - begin:
        return False
    for step in range(end - begin):  # noqa: SIM110  numba compiles no generators
        if known.letters[start + step] != piece[begin + step]:
            return False
    return True


def fill_slots(known: Known, count: int) -> None:
    """Enter all texts into empty slots."""
    for number in range(count):
        slot = _hash(known.letters, known.ends[number], known.ends[number + 1]) & (len(known.slots) - 1)
        while known.slots[slot] >= 0:
            slot = (slot + 1) & (len(known.slots) - 1)
        known.slots[slot] = number


def read_figures(
    piece: Any, fields: Numbers, column: int, times: bool, known: Known, count: int, figures: Floats
) -> int:
    """Write each row's figure: NaN where it is empty, `-ODD` less a number in `known` where it is no plain one."""
    for row in range(len(figures)):
        begin, end = fields[row, column, 0], fields[row, column, 1]
        figure = figure_of(piece, begin, end, times)
        if figure == -ODD:
            number = _number(piece, begin, end, known, count)
            count = max(count, number + 1)
            figure -= number
        figures[row] = figure
    return count


def figure_of(piece: Any, begin: int, end: int, times: bool) -> float:
    """A number, or a time as ISO has it, in seconds; NaN for no text, -ODD for other text."""
    figure = _decimal(piece, begin, end, times)
    return _instant(piece, begin, end) if times and figure == -ODD else figure


def _decimal(piece: Any, begin: int, end: int, times: bool) -> float:
    """Digits, with or without a sign in front and a point; -ODD for other text."""
    if begin == end:
        return math.nan
    negative = piece[begin] == MINUS
    whole, digits, decimals = 0, 0, -1
    for place in range(begin + negative, end):
        if ZERO <= piece[place] <= NINE:
            whole = 10 * whole + int(piece[place]) - ZERO
            digits += 1
            decimals += decimals >= 0
        elif piece[place] == POINT and decimals < 0:
            decimals = 0
        else:
            return -ODD
        if digits > DIGITS:
            return -ODD
    figure = float(whole) / 10.0 ** max(decimals, 0)
    if digits == 0 or (times and decimals >= 0 and figure < STAMP):
        return -ODD
    return -figure if negative else figure


def _instant(piece: Any, begin: int, end: int) -> float:
    """Seconds since 1970 of 2024-05-01, 2024-05-01T20:30 or 2024-05-01 20:30:15, with Z or nothing; else -ODD."""
    length = end - begin
    if length in (17, 20) and piece[end - 1] == LETTER_Z:
        length -= 1
    if length not in (10, 16, 19) or piece[begin + 4] != MINUS or piece[begin + 7] != MINUS:
        return -ODD
    year, month = _digits(piece, begin, 4), _digits(piece, begin + 5, 2)
    day, hour, minute, second = _digits(piece, begin + 8, 2), 0, 0, 0
    if length > 10:
        if piece[begin + 10] not in (SPACE, LETTER_T) or piece[begin + 13] != COLON:
            return -ODD
        hour, minute = _digits(piece, begin + 11, 2), _digits(piece, begin + 14, 2)
    if length > 16:
        second = _digits(piece, begin + 17, 2) if piece[begin + 16] == COLON else -1
    # Years as Python's dates have them.
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= _length(year, month)):
        return -ODD
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59):
        return -ODD
    return 86400.0 * _days(year, month, day) + 3600.0 * hour + 60.0 * minute + second


def _length(year: int, month: int) -> int:
    """Days of a month."""
    return _days(year + month // 12, month % 12 + 1, 1) - _days(year, month, 1)


def _digits(piece: Any, begin: int, count: int) -> int:
    """The whole number of these digits; -1 for other letters."""
    whole = 0
    for place in range(begin, begin + count):
        if not ZERO <= piece[place] <= NINE:
            return -1
        whole = 10 * whole + int(piece[place]) - ZERO
    return whole


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar."""
    # A year that begins in March has its leap day at its end.
    months = (month + 9) % 12
    years = year - (month <= 2)
    leaps = years // 4 - years // 100 + years // 400
    return 365 * years + leaps + (153 * months + 2) // 5 + day - 1 - 719_468
