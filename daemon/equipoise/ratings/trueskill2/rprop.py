"""Resilient propagation (Riedmiller & Braun 1993): steps by the signs of a gradient, a size for each parameter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GROWTH, SHRINKAGE = 1.2, 0.5


class Rprop:
    """Climbs; a parameter whose slope changed its sign waits a turn and then goes on in smaller steps."""

    def __init__(self, first: NDArray[np.float64], largest: float, smallest: float = 1e-6) -> None:
        self.size = first.copy()
        """Of each parameter's next step."""
        self._largest = largest
        self._smallest = smallest
        self._sign = np.zeros_like(first)

    def step(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """What to add to the parameters."""
        sign = np.sign(gradient)
        turned = sign * self._sign < 0
        factor = np.where(turned, SHRINKAGE, np.where(sign * self._sign > 0, GROWTH, 1.0))
        self.size = np.clip(self.size * factor, self._smallest, self._largest)
        self._sign = np.where(turned, 0.0, sign)
        return self._sign * self.size
