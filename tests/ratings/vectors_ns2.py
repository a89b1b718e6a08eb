"""Published values of NS2: its time weights, the only ones there are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from equipoise.ratings.ns2_kernel import stretch


def _ns2(params: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """t of [in, out] pairs in seconds at a median length r."""
    return {"t": [stretch(start, end, math.inf, 2.0 / params["r"]) for start, end in given["intervals"]]}


ADAPTERS = {"ns2": _ns2}
