"""Arrays of floats as text, for the part of a snapshot that is JSON: shorter than numbers, and exact."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats


def packed(array: Floats) -> str:
    """The array's values; its shape is not kept.

    >>> unpacked(packed(np.array([0.1, 2.0])), 2).tolist()
    [0.1, 2.0]
    """
    return b64encode(array.astype("<f8").tobytes()).decode()


def unpacked(text: object, *shape: int) -> Floats:
    """An array of this shape that `packed` wrote; one length may be -1."""
    return np.frombuffer(b64decode(str(text)), "<f8").astype(np.float64).reshape(shape)
