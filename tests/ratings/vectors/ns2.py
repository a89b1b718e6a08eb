"""Published values of NS2, which are time weights only."""

from __future__ import annotations

import math
from typing import Any

from equipoise.ratings.ns2.time_weights import time_weight
from tests.ratings.vectors.forms import Facts, Form, by_form


def _ns2(params: Facts, given: Facts) -> dict[str, Any]:
    """t of [in, out] pairs in seconds at a median length r."""
    return {"t": [time_weight(start, end, math.inf, 2.0 / params["r"]) for start, end in given["intervals"]]}


ADAPTERS = {"ns2": by_form(Form("intervals", "", _ns2))}
