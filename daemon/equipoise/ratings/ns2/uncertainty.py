"""How far NS2's estimates are expected to be from the truth.

Squared gradients add up to the information that the rounds gave about a skill: each is expected to be p·(1 - p) times
the squared coefficient of the skill, which is the curvature of the log likelihood.  So 1/(1/v + g) is the variance of
the posterior, 1/v being the curvature of the prior, if the other players' skills were known.  That they are not
matters little: docs/ratings/ns2.md has the errors of fits in these deviations.  A Gamma prior is no parabola: its
curvature at a skill s is (k - 1)/s², so that after a fit a low skill is known better than a high one of as many rounds.

Estimates that go round by round are worse.  Steps of a rate η follow each surprise and never settle; they leave a
variance of η/2, of which η/2·(1 - exp(-2·η·g)) has come with the information g since the last fit.
"""

from __future__ import annotations

import math


def gamma_variance(skill: float, shape: float, scale: float) -> float:
    """v at a skill, log-odds squared; below the prior's scale what it is at that.

    >>> gamma_variance(2.5, shape=6.0, scale=0.5), gamma_variance(-1.0, shape=6.0, scale=0.5)
    (1.25, 0.05)
    """
    return max(skill, scale) ** 2 / (shape - 1.0)


def posterior_variance(prior: float, squares: float) -> float:
    """Of an estimate that is the most probable one; `prior` is the variance that the prior leaves there.

    >>> posterior_variance(0.5, squares=2.0)
    0.25
    """
    return 1.0 / (1.0 / prior + squares)


def step_noise(rate: float, since: float) -> float:
    """What steps of a rate have added to the variance, after rounds of so much information.

    >>> step_noise(0.2, since=0.0), step_noise(0.2, since=1000.0)
    (0.0, 0.1)
    """
    return -0.5 * rate * math.expm1(-2.0 * rate * since)


def online_variance(prior: float, squares: float, fitted: float, rate: float) -> float:
    """Of a skill that was fitted when its squares were `fitted`, and has moved since by steps of a rate.

    The rate falls as Adagrad's does, so the early steps have used what the rounds said: the posterior's variance stays
    below the noise of the steps.
    """
    return posterior_variance(prior, squares) + step_noise(rate, squares - fitted)


def constant_rate_variance(prior: float, squares: float, fitted: float, rate: float) -> float:
    """Likewise, where the rate has always been the same: what was unknown is forgotten as fast as noise comes in."""
    forgotten = math.exp(-2.0 * rate * (squares - fitted))
    return posterior_variance(prior, fitted) * forgotten + step_noise(rate, squares - fitted)
