"""Published values of the normal distribution under TrueSkill."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from equipoise.ratings.parts.team_order import combined
from equipoise.ratings.parts.truncated_gaussian import above, cdf, pdf, quantile, within
from tests.ratings.vectors.forms import Facts, Form, by_form

Normal: TypeAlias = tuple[float, float]
"""Mean and deviation."""


def product(a: Normal, b: Normal, sign: float = 1.0) -> dict[str, float]:
    """The normal to which the product of two densities is proportional; their quotient if the sign is -1."""
    mean, variance = combined(a[0], a[1] ** 2, sign / b[1] ** 2, sign * b[0] / b[1] ** 2)
    if variance <= 0.0:
        raise ValueError("a normal divided by a wider one is not normal")
    return {"mu": mean, "sigma": math.sqrt(variance)}


def log_product_norm(a: Normal, b: Normal) -> dict[str, float]:
    """Logarithm of the integral of the product."""
    both = math.hypot(a[1], b[1])
    return {"value": math.log(pdf((a[0] - b[0]) / both) / both)}


def log_ratio_norm(a: Normal, b: Normal) -> dict[str, float]:
    """Logarithm of what the quotient integrates to: σ_b² over N(μ_a - μ_b; 0, σ_b² - σ_a²)·(σ_b² - σ_a²)."""
    between = b[1] ** 2 - a[1] ** 2
    if between <= 0.0:
        raise ValueError("the quotient of a normal and one that is no wider has no integral")
    deviation = math.sqrt(between)
    return {"value": math.log(b[1] ** 2 / deviation / pdf((a[0] - b[0]) / deviation))}


def difference(a: Normal, b: Normal) -> dict[str, float]:
    """The distance of two messages: the larger difference of precision times mean, and of precision."""
    shift = abs(a[0] / a[1] ** 2 - b[0] / b[1] ** 2)
    return {"value": max(shift, math.sqrt(abs(1.0 / a[1] ** 2 - 1.0 / b[1] ** 2)))}


OPERATIONS: Mapping[str, Callable[[Normal, Normal], dict[str, float]]] = {
    "mul": product,
    "multiply": product,
    "product": product,
    "div": lambda a, b: product(a, b, -1.0),
    "divide": lambda a, b: product(a, b, -1.0),
    "quotient": lambda a, b: product(a, b, -1.0),
    "add": lambda a, b: {"mu": a[0] + b[0], "sigma": math.hypot(a[1], b[1])},
    "sub": lambda a, b: {"mu": a[0] - b[0], "sigma": math.hypot(a[1], b[1])},
    "logproductnorm": log_product_norm,
    "logprodnorm": log_product_norm,
    "logproductnormalization": log_product_norm,
    "logratio": log_ratio_norm,
    "logrationorm": log_ratio_norm,
    "logrationormalization": log_ratio_norm,
    "absdiff": difference,
    "absolutedifference": difference,
}
"""Of two normals; `sub` is of independent values, `absdiff` of the messages."""

FUNCTIONS: Mapping[str, Callable[[Normal, float], float]] = {
    "pdf": lambda a, x: pdf((x - a[0]) / a[1]) / a[1],
    "cdf": lambda a, x: cdf((x - a[0]) / a[1]),
    "ppf": lambda a, p: a[0] + a[1] * quantile(p),
}
"""Of a normal and a number."""


def gaussian(params: Facts, given: Facts) -> dict[str, Any]:
    """The result of an operation on two normals."""
    return _named(OPERATIONS, given["op"])(tuple(given["a"]), tuple(given["b"]))


def at_a_point(params: Facts, given: Facts) -> dict[str, Any]:
    """A normal's density, mass below, or quantile; without parameters the standard one's."""
    normal = tuple(given["a"]) if "a" in given else (given.get("mu", 0.0), given.get("sigma", 1.0))
    return {"value": _named(FUNCTIONS, given["op"])(normal, given["x"] if "x" in given else given["p"])}


def truncated(params: Facts, given: Facts) -> dict[str, Any]:
    """Mean and deviation of N(mu, sigma²) cut to above the margin, or within it."""
    mean, deviation = given["mu"], given["sigma"]
    v, w = (within if given["tie"] else above)(mean / deviation, given["margin"] / deviation)
    return {"mu": mean + deviation * v, "sigma": deviation * math.sqrt(1.0 - w)}


def _named(table: Mapping[str, Any], name: str) -> Any:
    plain = "".join(filter(str.isalpha, name.lower()))
    if plain not in table:
        raise ValueError(f"op {name!r} is none of {', '.join(table)}")
    return table[plain]


ADAPTERS = {
    "gaussian": by_form(
        Form("a b op", "", gaussian),
        Form("op x", "a mu sigma", at_a_point),
        Form("op p", "a mu sigma", at_a_point),
    ),
    "truncated_gaussian": by_form(Form("mu sigma margin tie", "", truncated)),
}
"""By model name."""
