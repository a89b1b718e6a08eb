"""The decision log and the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from equipoise.core.model import PlayerId
from equipoise.store.notes import Audit, Decision
from equipoise.web.messages import LARGEST, Ok, Paged


class Reasons(Paged, frozen=True):
    """Lines of one server, or of all; about one player, or about all."""

    server: str | None = None
    player: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """An id in any form, or a name that only one player has."""
    pool: str | None = None
    """Where the player's name is looked for, if there are several pools and no server is named."""
    after: Annotated[int, Meta(ge=0, le=LARGEST)] = 0
    """Only lines that were written after the one with this number."""


class Decisions(Ok, frozen=True):
    """The decision log, newest first."""

    decisions: tuple[Decision, ...]
    names: Mapping[PlayerId, str]
    """Last known names of the players in them."""
    sides: Mapping[str, tuple[str, str]]
    """What the games of these servers call sides A and B."""
    player: PlayerId | None
    """Who was asked for."""
    before: int | None
    """What to ask for as `before` to go on; null at the end."""


class Audits(Ok, frozen=True):
    """Lines of the audit: who changed what, newest first."""

    audit: tuple[Audit, ...]
    names: Mapping[PlayerId, str]
    before: int | None
    """What to ask for as `before` to go on; null at the end."""
