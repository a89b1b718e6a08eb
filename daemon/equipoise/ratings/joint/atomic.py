"""Calls of one object that exclude each other: the daemon asks for skills while another of its threads rates a round.

In a system of independent players a reader sees each player as before the round, or as after it. Here a round moves the
rows of a matrix, and a reader between two of its steps would mix the rows of different players.
"""

from __future__ import annotations

from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

T = TypeVar("T", bound=type)


def atomic(locked: T) -> T:
    """A class whose public methods take the object's `lock`; a method of it may call others."""
    for name, value in list(vars(locked).items()):
        if isinstance(value, FunctionType) and (name == "__contains__" or not name.startswith("_")):
            setattr(locked, name, _atomic(value))
    return locked


def _atomic(method: FunctionType) -> Any:
    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        with self.lock:
            return method(self, *args, **named)

    return call
