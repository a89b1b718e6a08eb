"""Whether the daemon and its store are well."""

from __future__ import annotations

import msgspec

from equipoise.store.upkeep import StoreState
from equipoise.web.messages import Ok
from equipoise.wire.orders import Refusal


class StoreSeen(msgspec.Struct, frozen=True):
    """Whether the store takes rounds."""

    state: StoreState
    since: float | None
    """When it stopped to take them, in seconds since the epoch."""
    advice: str
    """What the operator can do."""


class Health(Ok, frozen=True):
    """The daemon works."""

    version: str
    waiting_rounds: int
    store: StoreSeen


class Unhealthy(Refusal, frozen=True, kw_only=True):
    """The daemon answers, but stores no rounds: a refusal that says the rest too."""

    version: str
    waiting_rounds: int
    store: StoreSeen
