"""Moments of a truncated normal distribution, accurate at any distance, for all TrueSkill variants.

A cut replaces a Gaussian by the Gaussian of the same mean and variance.  In units of its deviation the mean moves by v
and the variance shrinks by the factor 1 - w.  By the mean, v is the first derivative of the logarithm of the mass that
is left, and -w the second.  Herbrich, Minka & Graepel 2006, section 3: V and W for a win (`above`), their tilded forms
for a draw (`within`).

The textbook quotient of density and mass is 0/0 far out.  From five deviations on, the tail is taken from Laplace's
continued fraction, whose own terms are the differences v - a that would cancel; a draw within a narrow margin is taken
as an exponential over the interval.  These are plain functions of numbers that numba can compile.
"""

from __future__ import annotations

import math

SQRT_2 = math.sqrt(2.0)
DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)

FAR = 5.0
"""From here on a tail is taken from its continued fraction: the quotient of density and mass cancels."""

TERMS = 30
"""Terms of the continued fraction: it has converged to the last bit at `FAR`, and further out sooner."""

NARROW = 1e-3
"""Below this half-width the density over an interval is an exponential to a part in 10⁶ of its variance."""

NEGLIGIBLE = 40.0
"""exp(-40): an edge that far out adds nothing to the nearer one."""


def pdf(x: float) -> float:
    """φ, the standard normal density.

    >>> round(pdf(0.0), 6)
    0.398942
    """
    return DENSITY_AT_0 * math.exp(-0.5 * x * x)


def cdf(x: float) -> float:
    """Φ; small values keep their relative precision.

    >>> round(cdf(1.96), 4), cdf(-30.0) > 0.0
    (0.975, True)
    """
    return 0.5 * math.erfc(-x / SQRT_2)


def tail(a: float) -> float:
    """2/(a + 3/(a + 4/(a + ...))) for a from `FAR`: Laplace's continued fraction without its first step."""
    rest = 0.0
    # From the innermost term outwards: a continued fraction cannot be cut off from the front.
    for term in range(TERMS, 1, -1):
        rest = term / (a + rest)
    return rest


def hazard(a: float) -> float:
    """φ(a)/Φ(-a), the mean of a standard normal above a."""
    if a < FAR:
        return pdf(a) / cdf(-a)
    return a + 1.0 / (a + tail(a))


def log_cdf(x: float) -> float:
    """log Φ(x), where Φ(x) underflows too."""
    if x > 0.0:
        return math.log1p(-cdf(-x))
    if x > -FAR:
        return math.log(cdf(x))
    return math.log(DENSITY_AT_0) - 0.5 * x * x - math.log(hazard(-x))


def quantile(probability: float) -> float:
    """Φ⁻¹, of a probability above 0 and below 1: Newton on log Φ, which is concave, so no step runs away."""
    # Not by calling itself: kernels are compiled.
    low = min(probability, 1.0 - probability)
    x, step = 0.0, 1.0
    while abs(step) > 1e-15 * (1.0 + abs(x)):
        previous = abs(step)
        step = (math.log(low) - log_cdf(x)) / hazard(-x)
        x += step
        # Only when steps are small: at the start they may grow.
        if abs(step) >= previous and previous < 1e-9:  # rounding is all that is left
            break
    return -x if probability > 0.5 else x


def above(t: float, margin: float) -> tuple[float, float]:
    """v and w of N(t, 1) cut to values above the margin: a win.

    >>> v, w = above(0.0, 0.0)
    >>> round(v, 6), round(w, 6)
    (0.797885, 0.63662)
    """
    a = margin - t
    return beyond(a, cdf(-a) if a < FAR else 0.0)


def beyond(a: float, mass: float) -> tuple[float, float]:
    """`above` an edge at a, where the mass Φ(-a) is known; from `FAR` on it is not read."""
    if a < FAR:
        v = pdf(a) / mass
        return v, v * (v - a)
    excess = 1.0 / (a + tail(a))
    v = a + excess
    return v, v * excess


def within(t: float, margin: float) -> tuple[float, float]:
    """v and w of N(t, 1) cut to -margin to margin: a draw.  No margin pins the value to 0."""
    if margin < NARROW:
        return pinned(t, margin)
    near, far = abs(t) - margin, abs(t) + margin
    # The farther edge is then e⁻⁴⁰ of the nearer one: a draw is as good as a win from the other side.
    if near >= FAR and 2.0 * abs(t) * margin > NEGLIGIBLE:
        v, w = above(0.0, near)
        return math.copysign(v, -t), w
    scale_near, scale_far, mass = edges(t, margin)
    v = (scale_far - scale_near) / mass
    w = v * v + (far * scale_far - near * scale_near) / mass
    # A cut takes between none and all of the variance; rounding may say a little less or more.
    return math.copysign(v, -t), min(max(w, 0.0), 1.0)


def log_within(t: float, margin: float) -> float:
    """log of the mass of N(t, 1) from -margin to margin; -inf without a margin."""
    if margin <= 0.0:
        return -math.inf
    _, _, mass = edges(t, margin)
    near = abs(t) - margin
    log_density = 0.0 if near < FAR else math.log(DENSITY_AT_0) - 0.5 * near * near
    return math.log(mass) + log_density


def edges(t: float, margin: float) -> tuple[float, float, float]:
    """Density at the nearer and the farther edge and the mass between; divided by the first from `FAR` on."""
    near, far = abs(t) - margin, abs(t) + margin
    if near < FAR:
        return pdf(near), pdf(far), cdf(-near) - cdf(-far)
    ratio = math.exp(-2.0 * abs(t) * margin)
    return 1.0, ratio, 1.0 / hazard(near) - ratio / hazard(far)


def pinned(t: float, margin: float) -> tuple[float, float]:
    """`within` a narrow margin, where the density is exponential: Langevin's function and its derivative."""
    s = t * margin
    # coth(s) - 1/s is a difference of two large numbers near 0: the first terms of its series instead.
    if abs(s) < 0.01:
        centre, spread = s / 3.0 - s * s * s / 45.0, 1.0 / 3.0 - s * s / 15.0
    else:
        centre = 1.0 / math.tanh(s) - 1.0 / s
        spread = 1.0 - centre * centre - 2.0 * centre / s
    return margin * centre - t, 1.0 - margin * margin * spread
