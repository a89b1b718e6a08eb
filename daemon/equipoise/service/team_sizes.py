"""The team sizes that a pool saw, beside the `k_max` that it was told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from equipoise.service.pool import Pool
from equipoise.store.upkeep import TeamSize

ROUNDS = 500
"""The last of a pool."""
LEAST = 50
"""Rounds that are needed before a `k_max` is proposed."""
USUAL = 20
"""A size that fewer than one of so many rounds reached is an exception."""
FAR = 1.5
"""A `k_max` is far off if the Θ of the one that was seen is so many times as large or as small."""


@dataclass(frozen=True, slots=True)
class TeamSizes:
    """How large a pool's teams are."""

    rounds: int
    """As many were looked at."""
    usual: int
    """The largest size that is usual: reached in one round of twenty; the median over the pool's servers."""
    k_max: int | None
    """The configured `k_max`; null for a system without one, and where `theta` is configured itself."""
    suggested_k_max: int | None
    """The `k_max` for these teams, if the configured one is far off: its Θ 1.5 times as large or as small, or more.
    Null below 50 rounds."""


def team_sizes(pool: Pool, found: Sequence[TeamSize]) -> TeamSizes | None:
    """What the sizes of a pool's last rounds say; None without rounds."""
    by_server: dict[str, list[int]] = {}
    for each in found:
        by_server.setdefault(each.server, []).append(each.size)
    if not by_server:
        return None
    usual = max(1, int(median(sorted(sizes)[-1 - len(sizes) // USUAL] for sizes in by_server.values())))
    params = pool.system.params
    if getattr(params, "k_max", None) is None or params.theta is not None:
        return TeamSizes(len(found), usual, None, None)
    times = replace(params, k_max=usual).scale / params.scale
    far = len(found) >= LEAST and not 1 / FAR < times < FAR
    return TeamSizes(len(found), usual, params.k_max, usual if far else None)
