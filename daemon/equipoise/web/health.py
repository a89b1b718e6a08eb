"""Answers monitoring: whether rounds are stored, and what is wrong when they are not."""

from __future__ import annotations

import time

import msgspec

import equipoise
from equipoise.store.upkeep import StoreHealth
from equipoise.web.answers import Answered
from equipoise.web.messages.health import Health, StoreSeen, Unhealthy
from equipoise.web.routes import Asked
from equipoise.web.services import Services
from equipoise.wire.orders import Fault

LASTING_SECONDS = 60.0
"""A store that is locked or full for so long needs a person."""


async def show_health(asked: Asked) -> Health | Answered:
    """200 while rounds are stored or the store's trouble is short; 503, which monitoring sees, when it is not.

    It needs no credentials, so it names no path and no server.
    """
    health, waiting = asked.services.store.health(), waiting_rounds(asked.services)
    store = seen(health)
    lasting = health.began is not None and time.monotonic() - health.began >= LASTING_SECONDS
    if health.state != "damaged" and not lasting:
        return Health(version=equipoise.__version__, waiting_rounds=waiting, store=store)
    fault = Fault("store", f"the store is {health.state}: {health.advice}")
    refusal = Unhealthy(fault, version=equipoise.__version__, waiting_rounds=waiting, store=store)
    return Answered(msgspec.json.encode(refusal), 503)


def seen(health: StoreHealth) -> StoreSeen:
    """The store's health as operators see it."""
    return StoreSeen(health.state, health.since, health.advice)


def waiting_rounds(services: Services) -> int:
    """Rounds of all pools that wait for the store."""
    return sum(pool.ring_depth for pool in services.pools.values())
