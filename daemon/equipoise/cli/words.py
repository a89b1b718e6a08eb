"""How times, sides, chances and numbers of things are written for people."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any


def local_time(epoch: float | None) -> str:
    """A time of the daemon's as the reader's clock shows it."""
    return "never" if epoch is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch))


def local_minute(epoch: float | None) -> str:
    """The same without seconds, where they do not matter."""
    return local_time(epoch).rpartition(":")[0] or "never"


def iso_time(epoch: float | None) -> str | None:
    """The same for programs, with the zone's offset."""
    return None if epoch is None else datetime.fromtimestamp(epoch).astimezone().isoformat(timespec="seconds")


def side_word(sides: Sequence[str], side: str | None) -> str:
    """What the game calls side `a` or `b`.

    >>> side_word(["red", "blu"], "b"), side_word(["marines", "aliens"], "a"), side_word(["red", "blu"], None)
    ('BLU', 'Marines', '-')
    >>> side_word(["a", "b"], "b"), side_word(["Allies", "the Axis"], "b")
    ('B', 'the Axis')
    """
    if side is None:
        return "-"
    word = sides[side == "b"]
    if word in ("red", "blu", "a", "b"):
        return word.upper()
    return word.capitalize() if word in ("marines", "aliens") else word


def chance(sides: Sequence[str], of_a: float | None, outlook: Mapping[str, Any] | None = None) -> str:
    """Which side is to win, and how probably; with the interval of that, where it is known.

    >>> chance(["red", "blu"], 0.39), chance(["red", "blu"], 0.498), chance(["red", "blu"], None)
    ('BLU 61 %', 'even', '-')
    >>> chance(["red", "blu"], 0.39, {"low": 0.2, "high": 0.65})
    'BLU 61 % (35 to 80)'
    """
    if of_a is None:
        return "-"
    told = interval(outlook if of_a >= 0.5 else _of_b(outlook))
    if percent(of_a) == "50 %" and not told:
        return "even"
    return f"{side_word(sides, 'a' if of_a >= 0.5 else 'b')} {percent(max(of_a, 1 - of_a))}{told}"


def _of_b(outlook: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if outlook is None or outlook["low"] is None:
        return None
    return {"low": 1 - outlook["high"], "high": 1 - outlook["low"]}


def percent(probability: float) -> str:
    """A probability in whole percents.

    >>> percent(0.614)
    '61 %'
    """
    return f"{100 * probability:.0f} %"


def interval(outlook: Mapping[str, Any] | None) -> str:
    """The 80 % interval of a chance, behind it.

    >>> interval({"low": 0.3, "high": 0.73}), interval({"low": None, "high": None}), interval(None)
    (' (30 to 73)', '', '')
    """
    if outlook is None or outlook["low"] is None:
        return ""
    return f" ({100 * outlook['low']:.0f} to {100 * outlook['high']:.0f})"


def change(sides: Sequence[str], found: Mapping[str, Any]) -> str:
    """How the chance of side A changes, with the interval of what it becomes.

    >>> change(["red", "blu"], {"before": 0.61, "after": 0.5}), change(["red", "blu"], {"before": None, "after": 0.5})
    ('RED 61 % → 50 %', 'RED 50 %')
    """
    before, after = found.get("before"), found.get("after")
    if after is None:
        return ""
    was = "" if before is None else f"{percent(before)} → "
    return f"{side_word(sides, 'a')} {was}{percent(after)}{interval(found.get('after_outlook'))}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "player"), counted(1200, "player"), counted(2, "player waits", "players wait")
    ('1 player', '1,200 players', '2 players wait')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
