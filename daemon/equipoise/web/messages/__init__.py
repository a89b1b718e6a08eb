"""What requests and answers hold, by what they are about."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

MOST_LINES = 1000
LARGEST = 2**53
"""The largest whole number: as far as a double counts exactly, and well below where SQLite's end."""


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A body or query of a program: unknown fields are refused."""


class Ok(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every answer that is no refusal."""

    ok: Literal[True] = True


class Limited(Ask, frozen=True):
    """The number of lines to return."""

    limit: Annotated[int, Meta(ge=1, le=MOST_LINES)] = 50


class Paged(Limited, frozen=True):
    """A page of a list, newest first."""

    before: Annotated[int, Meta(ge=1, le=LARGEST)] | None = None
    """Go on from the page whose answer said so."""
    since: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    """Nothing older, in seconds since the epoch."""
