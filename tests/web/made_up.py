"""How many requests are made up: few and always the same, or as many as `EQUIPOISE_EXAMPLES` says, each time others."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SEARCHING = "EQUIPOISE_EXAMPLES" in os.environ

MADE_UP = settings(
    derandomize=not SEARCHING,
    database=None,
    suppress_health_check=list(HealthCheck),  # parts of a valid request are filtered from many that are not
)
FEW = settings(MADE_UP, max_examples=settings.default.max_examples if SEARCHING else 2)
"""For each route."""
SOME = settings(MADE_UP, max_examples=max(5, settings.default.max_examples // 4))
"""Of several requests each."""
