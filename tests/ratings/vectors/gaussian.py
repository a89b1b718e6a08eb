"""Published values of the normal distribution under TrueSkill."""

from __future__ import annotations

import math
from typing import Any

from equipoise.ratings.parts.team_order import combined
from equipoise.ratings.parts.truncated_gaussian import above, pdf, within
from tests.ratings.vectors.forms import Facts, Form, by_form


def product(params: Facts, given: Facts) -> dict[str, Any]:
    """The normal to which the product of two densities is proportional, or the logarithm of its integral."""
    (mean, deviation), (other, spread) = given["a"], given["b"]
    if given["op"] == "logproductnorm":
        both = math.hypot(deviation, spread)
        return {"value": math.log(pdf((mean - other) / both) / both)}
    mean, variance = combined(mean, deviation**2, 1.0 / spread**2, other / spread**2)
    return {"mu": mean, "sigma": math.sqrt(variance)}


def truncated(params: Facts, given: Facts) -> dict[str, Any]:
    """Mean and deviation of N(mu, sigma²) cut to above the margin, or within it."""
    mean, deviation = given["mu"], given["sigma"]
    v, w = (within if given["tie"] else above)(mean / deviation, given["margin"] / deviation)
    return {"mu": mean + deviation * v, "sigma": deviation * math.sqrt(1.0 - w)}


ADAPTERS = {
    "gaussian": by_form(Form("a b op", "", product)),
    "truncated_gaussian": by_form(Form("mu sigma margin tie", "", truncated)),
}
"""By model name."""
