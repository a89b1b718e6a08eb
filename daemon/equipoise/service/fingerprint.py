"""The fingerprint of a pool: the rating system and parameters that made its stored ratings.

A daemon that is configured otherwise refuses to start, because numbers of two systems would mix in one table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from equipoise import ratings
from equipoise.errors import ConfigError
from equipoise.ratings.system import System
from equipoise.store.player_rows import Fingerprint

FREE = frozenset({"stale_days"})
"""Parameters that no stored number depends on: a new value is accepted and recorded."""
YOUNG = frozenset({"bots", "hive_rounds"})
"""Parameters about what no round was stored with before there were these: a record without them fits any value."""


def fingerprint_of(system: System[Any]) -> Fingerprint:
    """The system and all of its parameters, as JSON gives them back."""
    return Fingerprint(system.name, json.loads(json.dumps(asdict(system.params))))


def made_by(recorded: Fingerprint, system: System[Any]) -> bool:
    """Whether ratings with this fingerprint were made by the system, as far as numbers depend on its parameters."""
    return recorded.system == system.name and not _differences(recorded, fingerprint_of(system))


def described(fingerprint: Fingerprint) -> str:
    """The system and its parameters that differ from their defaults, for people.

    >>> described(Fingerprint("elo", {"k": 24.0}))
    'elo, k = 24.0'
    """
    defaults = fingerprint_of(ratings.create(fingerprint.system)).params
    special = [name for name, value in fingerprint.params.items() if value != defaults.get(name)]
    return f"{fingerprint.system}, {_listed(special, fingerprint.params)}" if special else fingerprint.system


def check(pool: str, recorded: Fingerprint, system: System[Any]) -> None:
    """Raise ConfigError, which names the difference, unless the configured system made the recorded ratings too."""
    present = fingerprint_of(system)
    if recorded.system != present.system:
        then, now = recorded.system, present.system
    else:
        different = _differences(recorded, present)
        then, now = _listed(different, _completed(recorded, present)), _listed(different, present.params)
    if then != now:
        raise ConfigError(
            f"the stored ratings were made with {then}, not with {now}: set that back, "
            f"or have them made anew by `equipoise pool recompute --pool {pool}`",
            path=f"$.pool.{pool}",
        )


def _differences(recorded: Fingerprint, configured: Fingerprint) -> list[str]:
    """Parameters of one system that differ."""
    old, new = _completed(recorded, configured), configured.params
    return [name for name in sorted({*old, *new} - FREE) if old.get(name) != new.get(name)]


def _completed(recorded: Fingerprint, configured: Fingerprint) -> dict[str, object]:
    """All parameters of the recorded ratings: one that is newer than the record had its default then."""
    defaults = fingerprint_of(ratings.create(configured.system)).params
    young = {name: value for name, value in configured.params.items() if name in YOUNG}
    return {**defaults, **young, **recorded.params}


def _listed(names: list[str], values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {_written(values.get(name))}" for name in names)


def _written(value: object) -> str:
    return "its default" if value is None else json.dumps(value, ensure_ascii=False)
