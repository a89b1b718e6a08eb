"""The exponential of compiled kernels against the library's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.ratings.glicko.formulas import exponential, exponential_in_vectors


def test_both_forms_are_the_exponential_of_what_is_not_positive():
    for x in np.linspace(-8, 0, 2001).tolist():
        assert exponential(x) == math.exp(x)
        assert exponential_in_vectors(x) == pytest.approx(math.exp(x), rel=3e-14)


@pytest.mark.parametrize("x", [-9.0, -30.0, -40.0, -745.0, -1e5, -math.inf])
def test_far_out_it_is_right_beside_1(x):
    assert exponential_in_vectors(x) == pytest.approx(math.exp(x), abs=1e-16)


def test_a_certain_favourite_is_certain():
    assert 1.0 / (1.0 + exponential_in_vectors(-50.0)) == 1.0
    assert exponential_in_vectors(0.0) == exponential_in_vectors(-0.0) == 1.0
