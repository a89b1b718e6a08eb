"""What is said of a system's predictions, by the pool's sequence: an event of it holds until the next one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from equipoise.ratings.calibration import NONE, Calibration
from equipoise.ratings.system import System
from equipoise.service.fingerprint import fingerprint_of, made_by
from equipoise.store.rated import Fingerprint
from equipoise.store.sequence import Edit


def calibration_of(edit: Edit, system: System[Any]) -> Calibration | None:
    """What an edit makes of a system's calibration: another one, or none any more; None: the edit is not about it.

    Another spread of skill ends it, because it was fitted to what the system predicted with the one before.
    """
    detail: Mapping[str, Any] = edit.detail
    if edit.action == "spread":
        return None if system.spread is None else NONE
    if edit.action != "calibration" or not made_by(Fingerprint(detail["system"], detail["params"]), system):
        return None
    return Calibration(detail["temperature"], detail["sides"], detail["maps"])


def calibration_at(edits: Iterable[Edit], system: System[Any], number: float = math.inf) -> Calibration:
    """What holds of a system's predictions after event `number`, by all edits that are about calibrations, in order."""
    holds = NONE
    for edit in edits:
        if edit.number <= number and (found := calibration_of(edit, system)) is not None:
            holds = found
    return holds


def detail_of(calibration: Calibration, system: System[Any]) -> dict[str, object]:
    """The same as an edit stores it; what else it says about itself is added."""
    made = fingerprint_of(system)
    return {
        "temperature": calibration.temperature,
        "sides": dict(calibration.sides),
        "maps": dict(calibration.maps),
        "system": made.system,
        "params": dict(made.params),
    }
