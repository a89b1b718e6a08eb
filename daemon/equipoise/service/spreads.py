"""The spread of skill is fitted every night for pools that `joint` rates or makes the teams of. It is only said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from equipoise.errors import StoreError
from equipoise.service.pool import Pool
from equipoise.store.upkeep import SpreadFound

SYSTEM = "joint"


class Spreads:
    """One fit at a time: each is a process."""

    def __init__(self, pools: Mapping[str, Pool]) -> None:
        self._pools = pools
        self._found: dict[str, SpreadFound | None] = {}
        self._seen: dict[str, tuple[int, Mapping[str, Any]]] = {}
        """Rounds that a pool had stored when it was fitted last, and the parameters then."""

    async def run(self) -> None:
        """Fit every such pool that has new rounds. StoreError names those that could not be."""
        failed = []
        for pool in list(self._pools.values()):
            if (params := joint_params(pool)) is None:
                self._found.pop(pool.name, None)
                continue
            if self._seen.get(pool.name) == (seen := (pool.applied, params)):
                continue
            try:
                self._found[pool.name] = await pool.store.spread(pool.name, params)
                self._seen[pool.name] = seen
            except StoreError as error:
                failed.append(str(error))
        if failed:
            raise StoreError("; ".join(failed))

    def found(self, pool: Pool) -> SpreadFound | None:
        """What the last fit said of the pool's present spread; None where that says nothing."""
        params, found = joint_params(pool), self._found.get(pool.name)
        return found if params is not None and found is not None and found.present == params["spread"] else None


def joint_params(pool: Pool) -> Mapping[str, Any] | None:
    """The parameters of the pool's system that is `joint`; None where none is."""
    if pool.system.name == SYSTEM:
        return asdict(pool.system.params)
    follower = pool.follower
    return asdict(follower.params) if follower is not None and follower.name == SYSTEM else None
