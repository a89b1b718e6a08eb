"""Rating systems behind one interface (`base.System`); each is a module, made by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from equipoise.errors import RatingError
from equipoise.ratings.base import System
from equipoise.ratings.synelo import SynElo

SYSTEMS: Final[Mapping[str, Callable[..., System[Any]]]] = {SynElo.name: SynElo.create}
"""Who makes each system, by its name in configuration."""


def create(name: str, **params: object) -> System[Any]:
    """A system without players; `RatingError` names an unknown system or a parameter that is refused."""
    if name not in SYSTEMS:
        raise RatingError(f"{name}: no such rating system; there are {', '.join(sorted(SYSTEMS))}")
    return SYSTEMS[name](**params)
