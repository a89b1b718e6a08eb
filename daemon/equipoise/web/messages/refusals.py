"""Requests that were refused."""

from __future__ import annotations

import msgspec

from equipoise.web.messages import Ok


class Refused(msgspec.Struct, frozen=True):
    """Requests that were refused for one reason, with what they claimed."""

    code: str
    server: str
    """The server that the requests named; empty: none."""
    peer: str
    """The address that they came from."""
    count: int
    """How many there were in the last hour."""
    last: float
    """When the last one came, in seconds since the epoch."""


class RefusedFound(Ok, frozen=True):
    """What was refused in the last hour, the newest first."""

    refused: tuple[Refused, ...]
    """One line for each reason, server and address; a hundred at most."""
