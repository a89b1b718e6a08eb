"""One thing that was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Level = Literal["good", "note", "bad"]
"""`note`: it works, and there is something to know; `bad`: something does not work, or will not."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, where, and what to do about it."""

    level: Level
    where: str
    what: str
    advice: str = ""


Findings = Iterator[Finding]
