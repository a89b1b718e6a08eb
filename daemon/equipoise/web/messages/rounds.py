"""Finished rounds."""

from __future__ import annotations

from typing import Literal

import msgspec

from equipoise.core.model import PlayerId
from equipoise.web.messages import Ask, Ok
from equipoise.wire.scalars import Word
from equipoise.wire.submitted import RoundSubmitted


class RoundSent(Ask, frozen=True):
    """A finished round of a configured server."""

    server: Word
    round: RoundSubmitted
    """The round, with the fields of `round_ended`."""


class Rerated(msgspec.Struct, frozen=True):
    """A participant's ratings before and after the round."""

    id: PlayerId
    side: str
    before: float
    """Their rating before the round."""
    after: float
    """Their rating after it."""
    rounds: int
    """Rated rounds with this one."""
    visible: bool


class RoundTaken(Ok, frozen=True):
    """The result of a round; one that comes again gets its first answer."""

    status: Literal["stored", "kept"]
    win_probability: float | None
    """Of side A, as predicted; null when it was not rated, or is kept."""
    unrated: str | None
    """Why it was not rated."""
    players: tuple[Rerated, ...]
    """The rated players."""
