"""Messages along a player's own part in a mode, or along their base skill, through all matches they took part in.

Each participation is a node of a chain: the part drifts from one to the next, and each match has a likelihood for it.
So three Gaussian messages meet at a participation: forward, from earlier matches (mean and variance); backward, from
later ones (precision and shift, because after the last match its precision is 0); and the likelihood of the match (also
precision and shift).  The cavity of a match is forward times backward; the posterior is all three.  This is Kalman
filtering and smoothing, with likelihoods that EP makes Gaussian.

Plain functions, also compiled by numba.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from equipoise.ratings.parts.team_order import combined
from equipoise.ratings.trueskill2.expectation_propagation import message
from equipoise.ratings.trueskill2.formulas import minutes_between
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    from equipoise.ratings.parts.match_arrays import Floats, Ints


class Messages(NamedTuple):
    """The messages along n chains (own parts, or bases) with p participations in all; modified in place."""

    before: Ints
    """Shape (p,): number of earlier participations in the chain, filled by `receive_forward`."""
    gap: Floats
    """Shape (p,): minutes since the previous participation, filled by `receive_forward`."""
    mean: Floats
    """Shape (p,): mean of the forward message; `variance` is its variance."""
    variance: Floats
    later_precision: Floats
    """Shape (p,): precision of the backward message; `later_shift` is its shift."""
    later_shift: Floats
    precision: Floats
    """Shape (p,): precision of the match's likelihood; `shift` is its shift."""
    shift: Floats
    start_mean: Floats
    """Shape (n,), as are all that follow: mean the chain was seeded with, or NaN; `start_variance` likewise."""
    start_variance: Floats
    forward_mean: Floats
    """Mean of the forward message after the latest participation; `forward_variance` is its variance."""
    forward_variance: Floats
    backward_precision: Floats
    """Precision of the backward message before that participation; `backward_shift` is its shift."""
    backward_shift: Floats
    seen: Ints
    """Number of participations so far in a forward sweep."""
    last: Floats
    """Time of the latest participation, seconds since the epoch; `NEVER` if none."""


def reset_messages(messages: Messages) -> None:
    """Reset the state of all chains for a forward sweep."""
    for chain in range(len(messages.seen)):
        messages.seen[chain], messages.last[chain] = 0, NEVER


def receive_forward(
    place: int, chain: int, now: float, mean: float, variance: float, drift: float, messages: Messages
) -> None:
    """The forward message reaches a participation; N(mean, variance) is the prior of a first one without a seed.

    `drift` is the variance gained each minute.
    """
    messages.before[place], messages.gap[place] = messages.seen[chain], minutes_between(messages.last[chain], now)
    messages.seen[chain] += 1
    if now > messages.last[chain]:
        messages.last[chain] = now
    if messages.before[place] > 0:
        messages.mean[place] = messages.forward_mean[chain]
        messages.variance[place] = messages.forward_variance[chain] + drift * messages.gap[place]
    else:
        seed, spread = messages.start_mean[chain], messages.start_variance[chain]
        messages.mean[place] = mean if math.isnan(seed) else seed
        messages.variance[place] = variance if math.isnan(spread) else spread


def send_forward(place: int, chain: int, gain: float, noise: float, messages: Messages) -> None:
    """The forward message leaves a participation, with the gain and the variance of having played."""
    mean, variance = combined(
        messages.mean[place], messages.variance[place], messages.precision[place], messages.shift[place]
    )
    messages.forward_mean[chain], messages.forward_variance[chain] = mean + gain, variance + noise


def receive_backward(place: int, chain: int, gain: float, noise: float, messages: Messages) -> None:
    """The backward message reaches a participation; the last one of a chain gets none."""
    if messages.before[place] == messages.seen[chain] - 1:
        messages.backward_precision[chain] = messages.backward_shift[chain] = 0.0
    precision, shift = through_noise(messages.backward_precision[chain], messages.backward_shift[chain], gain, noise)
    messages.later_precision[place], messages.later_shift[place] = precision, shift


def send_backward(place: int, chain: int, drift: float, messages: Messages) -> None:
    """The backward message leaves a participation, with the variance of the time before it."""
    precision = messages.later_precision[place] + messages.precision[place]
    shift = messages.later_shift[place] + messages.shift[place]
    back = through_noise(precision, shift, 0.0, drift * messages.gap[place])
    messages.backward_precision[chain], messages.backward_shift[chain] = back


def through_noise(precision: float, shift: float, gain: float, noise: float) -> tuple[float, float]:
    """A message about x + gain + N(0, noise) as a message about x.

    With x + gain + noise known as N(3, 1), a gain of 2 and a noise of variance 1:

    >>> precision, shift = through_noise(1.0, 3.0, gain=2.0, noise=1.0)
    >>> shift / precision, 1 / precision
    (1.0, 2.0)
    """
    left = 1.0 + precision * noise
    return precision / left, (shift - precision * gain) / left


def cavity(place: int, messages: Messages) -> tuple[float, float]:
    """Mean and variance of a part from all messages except the match's likelihood."""
    return combined(
        messages.mean[place], messages.variance[place], messages.later_precision[place], messages.later_shift[place]
    )


def update_likelihood(place: int, slope: float, curvature: float, messages: Messages) -> None:
    """Set a part's likelihood from derivatives of the match's log evidence by the part's mean in the cavity.

    If the match would increase the variance, only the mean moves: a negative precision could make a cavity improper.
    """
    mean, variance = cavity(place, messages)
    precision, shift = message(mean, variance, slope, curvature)
    if precision < 0.0:
        precision, shift = 0.0, slope
    messages.precision[place], messages.shift[place] = precision, shift


def evidence_derivatives(place: int, messages: Messages) -> tuple[float, float]:
    """Of the log evidence of this match and all later ones, by the mean and by the variance of the forward message."""
    precision = messages.later_precision[place] + messages.precision[place]
    shift = messages.later_shift[place] + messages.shift[place]
    left = 1.0 + precision * messages.variance[place]
    slope = (shift - precision * messages.mean[place]) / left
    return slope, 0.5 * (slope * slope - precision / left)
