"""A finished round as a program submits it: a field that this version does not know is refused.

A game script's round is read more leniently (`wire.events`). A script that is newer than the daemon may add fields, and
a refusal would cost it the round. A program's unknown field is a misspelt one, and a round that was rated without it
would be wrong for good.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from equipoise.core.model import MOST_PLAYERS, Round
from equipoise.errors import ScriptError
from equipoise.wire.events import (
    MOST_SPANS,
    Captures,
    ClassSeconds,
    CountsLine,
    Here,
    LineupLine,
    PresenceLine,
    RoundEnded,
    SecondsOn,
    SpanLine,
)
from equipoise.wire.games import Facts


class StrictFacts(Facts, frozen=True, forbid_unknown_fields=True):
    """Facts of a map, and no others."""


class StrictCaptures(Captures, frozen=True, forbid_unknown_fields=True):
    """Captures by the two sides, and nothing else."""


class StrictSecondsOn(SecondsOn, frozen=True, forbid_unknown_fields=True):
    """Seconds on the two sides, and nothing else."""


class StrictLineupLine(LineupLine, frozen=True, forbid_unknown_fields=True):
    """A player of the lineup, without unknown fields."""


class StrictSpanLine(SpanLine, frozen=True, forbid_unknown_fields=True):
    """A stretch of a round, without unknown fields."""


class StrictClassSeconds(ClassSeconds, frozen=True, forbid_unknown_fields=True):
    """Seconds as each class, and no other class."""


class StrictCountsLine(CountsLine, frozen=True, forbid_unknown_fields=True):
    """What a player did, without unknown fields."""

    classes: StrictClassSeconds = field(default_factory=StrictClassSeconds)


class StrictPresenceLine(PresenceLine, frozen=True, forbid_unknown_fields=True):
    """A player's part in the round, without unknown fields."""

    seconds: StrictSecondsOn = field(default_factory=StrictSecondsOn)
    spans: Annotated[tuple[StrictSpanLine, ...], Meta(max_length=MOST_SPANS)] = ()
    counts: StrictCountsLine | None = None


class RoundSubmitted(RoundEnded, frozen=True, forbid_unknown_fields=True, tag="round_ended", kw_only=True):
    """A whole round, without unknown fields in any of its parts."""

    facts: StrictFacts = field(default_factory=StrictFacts)
    captures: StrictCaptures = field(default_factory=StrictCaptures)
    lineup: Annotated[tuple[StrictLineupLine, ...], Meta(max_length=MOST_PLAYERS)]
    players: Annotated[tuple[StrictPresenceLine, ...], Meta(max_length=MOST_PLAYERS)]

    def finished(self, here: Here) -> Round:
        """The round. ScriptError for counts that cannot be, too: a program can mend what it sends."""
        for n, line in enumerate(self.players):
            if (fault := line.fault()) is not None:
                raise ScriptError("counts", fault, path=f"{here.path}.players[{n}].counts")
        return super().finished(here)
