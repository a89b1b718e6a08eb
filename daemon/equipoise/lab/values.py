"""Texts of a history's files as people write them: numbers, results, flags, and times in the usual forms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from pyarrow import compute

from equipoise.ratings.history import Floats

NOTHING = ("na", "n/a", "nan", "null", "none", "nil", "-", "?")
"""What programs write where there is no value."""
YEARS = (-62_135_596_800.0, 253_402_300_800.0)
"""From the year 1 to 9999, in seconds since 1970."""
MILLISECONDS = 1e11
"""Times that are all beyond this, the year 5138 in seconds, are milliseconds."""
_RESULTS = {
    **dict.fromkeys(("1", "1.0", "w", "win", "won", "victory", "true", "yes", "h", "home", "team1", "1-0"), 1.0),
    **dict.fromkeys(("0.5", ".5", "½", "1/2", "d", "draw", "drawn", "drew", "t", "tie", "tied", "x", "½-½"), 0.5),
    **dict.fromkeys(
        ("0", "0.0", "l", "loss", "lose", "lost", "defeat", "false", "no", "a", "away", "team2", "0-1"), 0.0
    ),
    "1/2-1/2": 0.5,
}
_WINNERS = {"1": 1.0, "2": 0.0, "0": 0.5}
"""Where a file has 2 and neither halves nor words but draws, its numbers are those of the winners."""
_DRAWS = {text for text, result in _RESULTS.items() if result == 0.5 and not text.startswith(("0", "."))}
_GOALS = re.compile(r"(\d+)\s*[-:–]\s*(\d+)")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+")
_FLAGS = {
    **dict.fromkeys(("", "0", "0.0", "false", "no", "n", "f"), 0.0),
    **dict.fromkeys(("1", "1.0", "true", "yes", "y", "t"), 1.0),
}


def results(texts: Sequence[str]) -> list[float | None]:
    """The score of the first team that each text means; None for a text that means none by itself.

    >>> results(["Win", "L", "0,5", "3:1", "Reds"]), results(["1", "2", "0"])
    ([1.0, 0.0, 0.5, 1.0, None], [1.0, 0.0, 0.5])
    """
    plain = [text.casefold().replace(",", ".") for text in texts]
    if "2" in plain and all(text in _WINNERS or text in _DRAWS for text in plain):
        return [_WINNERS.get(text, 0.5) for text in plain]
    return [_result(text) for text in plain]


def _result(text: str) -> float | None:
    if text in _RESULTS:
        return _RESULTS[text]
    if goals := _GOALS.fullmatch(text):
        first, second = map(int, goals.groups())
        return 0.5 + 0.5 * (first > second) - 0.5 * (first < second)
    try:
        return value if (value := float(text)) in (0.0, 0.5, 1.0) else None
    except ValueError:
        return None


def flag(text: str) -> float:
    """Yes or no; empty text is no."""
    if text.casefold() not in _FLAGS:
        raise ValueError("is not 0 or 1")
    return _FLAGS[text.casefold()]


def numbers(low: float = -math.inf, high: float = math.inf, *, percent: bool = False) -> Callable[[str], float]:
    """A parser of numbers within bounds: `0.5`, `0,5`, `1e5`, with `percent` `85 %`; NaN where there is none."""

    def parse(text: str) -> float:
        plain = text.casefold().replace("\u2212", "-")
        if plain in NOTHING or not plain:
            return math.nan
        if _THOUSANDS.fullmatch(plain):
            raise ValueError("may be thousands or a decimal: write it without a comma")
        share = percent and plain.endswith("%")
        try:
            value = float(plain.rstrip("% ").replace(",", ".") if share else plain.replace(",", "."))
        except ValueError:
            value = math.nan
        value = value / 100.0 if share else value
        # Python's float() reads 1_000 as a thousand.
        if not low <= value <= high or math.isinf(value) or "_" in text:
            raise ValueError(f"is not a number{between(low, high)}")
        return value

    return parse


def between(low: float, high: float) -> str:
    """The bounds in words, if there are some."""
    return f" from {low:,.10g} to {high:,.10g}" if math.isfinite(high) else ""


_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?:\s*(?P<half>[ap])\.?m\.?)?"
_END = rf"(?:(?:t|,?\s+|,)\s*{_CLOCK}\s*(?P<zone>z|utc|gmt|[+-]\d{{2}}:?\d{{2}})?)?"
_YEAR, _MONTH = r"(?P<year>\d{4}|\d\d)", r"(?P<month>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.?"
DAY_FIRST, MONTH_FIRST = "day/month/year", "month/day/year"
_FORMS = {
    "year/month/day": rf"(?P<year>\d{{4}})[/.-](?P<month>\d{{1,2}})[/.-](?P<day>\d{{1,2}}){_END}",
    "day.month.year": rf"(?P<day>\d{{1,2}})\.\s*(?P<month>\d{{1,2}})\.\s*{_YEAR}{_END}",
    "day, month by name, year": rf"(?:[a-z]+,\s*)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ .-]*{_MONTH}[ ,-]*{_YEAR}{_END}",
    "month by name, day, year": rf"(?:[a-z]+,\s*)?{_MONTH}\s*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s*{_YEAR}{_END}",
    DAY_FIRST: rf"(?P<day>\d{{1,2}})[/-](?P<month>\d{{1,2}})[/-]{_YEAR}{_END}",
    MONTH_FIRST: rf"(?P<month>\d{{1,2}})[/-](?P<day>\d{{1,2}})[/-]{_YEAR}{_END}",
}
_CLOCKED = re.compile(_CLOCK)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ISO, DATES = "ISO 8601", "YYYYMMDD or years"
SECONDS, MILLIS = "seconds since 1970", "milliseconds since 1970"
LATE = 1e8
"""Seconds: beside times beyond this, 1973, a number that looks like a date is one, and no second of 1970."""
_NUMBER_DATE = re.compile(r"((?:19|20)\d\d)(?:(\d\d)(\d\d))?")


def plain_times(texts: pa.Array) -> tuple[Floats, list[str]] | None:
    """Seconds since 1970 of each text, and their form, where all are numbers, or all are as ISO has them."""
    blank = compute.equal(texts, "")
    if compute.all(blank).as_py():
        return np.full(len(texts), np.nan), []
    given = compute.if_else(blank, None, texts) if compute.any(blank).as_py() else texts
    if (values := _cast(given, pa.float64())) is not None:
        least, most = np.nanmin(values), np.nanmax(values)
        if least >= MILLISECONDS and most / 1000.0 < YEARS[1]:
            return values / 1000.0, [MILLIS]
        if YEARS[0] <= least and most < YEARS[1]:
            return (values, [SECONDS]) if (dates := _dates(values, texts)) is None else (dates, [DATES])
    for zone in (None, "UTC"):
        if (values := _cast(given, pa.timestamp("us", zone))) is not None:
            return values / 1e6, [ISO]
    return None


def _cast(texts: pa.Array, kind: pa.DataType) -> Floats | None:
    """The texts as figures, NaN where there is none; None unless all can be read."""
    try:
        read = compute.cast(texts, kind)
    except pa.ArrowInvalid:
        return None
    figures: Floats = (read if kind == pa.float64() else read.cast(pa.int64())).to_numpy(zero_copy_only=False)
    return figures.astype(np.float64, copy=False)


def _dates(values: Floats, texts: Sequence[object]) -> Floats | None:
    """Numbers with those that look like dates as dates; None unless all early ones do."""
    early, dated = np.flatnonzero((values > -LATE) & (values < LATE)).tolist(), values.copy()
    for number in early:
        if (date := _date(str(texts[number]))) is None:
            return None
        dated[number] = date
    return dated if early else None


def _date(text: str) -> float | None:
    """A year from 1900 to 2099, or YYYYMMDD in these, as seconds; None for other text."""
    if not (match := _NUMBER_DATE.fullmatch(text)):
        return None
    try:
        return _seconds(datetime(int(match[1]), int(match[2] or 1), int(match[3] or 1), tzinfo=UTC))
    except ValueError:
        return None


def times(texts: Sequence[str]) -> tuple[Floats, list[str], dict[int, str]]:
    """Seconds since 1970 of each text, read by itself, and their forms; the reason, by number, where it is no time."""
    forms, reasons = _forms(texts), dict[int, str]()
    read = [_time(text.casefold(), forms) for text in texts]
    for number, (form, _) in enumerate(read):
        if form is None:
            reasons[number] = "is neither an ISO date nor seconds since 1970"
            if DAY_FIRST not in forms and MONTH_FIRST not in forms and _day_or_month(texts[number]):
                reasons[number] = "may be day/month or month/day: write year-month-day"
    values = np.array([value for _, value in read])
    numbers = np.array([form == SECONDS for form, _ in read])
    used = dict.fromkeys(form for form, _ in read if form)
    if (dates := _dates(np.where(numbers, values, np.nan), texts)) is not None:
        values = np.where(numbers, dates, values)
        used = {DATES if form == SECONDS else form: None for form in used}
    return values, list(used), reasons


def clocks(texts: Sequence[str]) -> list[float] | None:
    """Seconds since midnight of 15:30 or 3:30 pm, 0 of no text; None unless all are that."""
    seconds = list[float]()
    for text in texts:
        if not (match := _CLOCKED.fullmatch(text.casefold() or "0:00")):
            return None
        seconds.append(_clock(match))
    return seconds


def _forms(texts: Sequence[str]) -> list[str]:
    """The forms to try; of day/month and month/day the one that more of the dates can be."""
    day, month = (sum(form in _day_or_month(text) for text in texts) for form in (DAY_FIRST, MONTH_FIRST))
    other = {MONTH_FIRST if day > month else DAY_FIRST} if day != month else {DAY_FIRST, MONTH_FIRST}
    return [form for form in _FORMS if form not in other]


def _day_or_month(text: str) -> list[str]:
    return [form for form in (DAY_FIRST, MONTH_FIRST) if _read(_FORMS[form], text.casefold()) is not None]


def _time(text: str, forms: Sequence[str]) -> tuple[str | None, float]:
    """The form of a text and its seconds, "" and NaN for none; None: it is no time."""
    with suppress(ValueError):
        value = numbers()(text)
        return ("" if math.isnan(value) else SECONDS if YEARS[0] <= value < YEARS[1] else None), value
    for form in forms:
        if (read := _read(_FORMS[form], text)) is not None:
            return form, read
    with suppress(ValueError, OverflowError):
        return ISO, _seconds(datetime.fromisoformat(text.upper()))
    return None, math.nan


def _read(date: str, text: str) -> float | None:
    if not (match := re.fullmatch(date, text)):
        return None
    year, month, day = match["year"], match["month"], int(match["day"])
    # 27/1/70 is 1970, 27/1/69 is 2069: as C has it.
    whole = int(year) + (0 if len(year) == 4 else 1900 if int(year) > 69 else 2000)
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3]) + 1
    try:
        midnight = _seconds(datetime(whole, number, day, tzinfo=UTC))
    except ValueError:
        return None
    return midnight + (_clock(match) if match["hour"] else 0.0) - _zone(match["zone"] or "")


def _clock(match: re.Match[str]) -> float:
    hour, half = int(match["hour"]), match["half"]
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return 3600.0 * hour + 60.0 * int(match["minute"]) + int(match["second"] or 0)


def _zone(text: str) -> float:
    """The seconds of `+0200` or `-05:30`."""
    if not text.startswith(("+", "-")):
        return 0.0
    digits = text[1:].replace(":", "")
    return (1 if text[0] == "+" else -1) * (3600.0 * int(digits[:2]) + 60.0 * int(digits[2:]))


def _seconds(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
