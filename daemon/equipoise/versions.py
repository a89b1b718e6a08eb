"""The order of versions, as far as ours, SourceMod's and those of extensions need it."""

from __future__ import annotations

import re

_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:\.dev(\d+))?(?:\+[\w.]+)?")
_FINAL = 2**63


def order(version: str) -> tuple[tuple[int, ...], int] | None:
    """Return what sorts versions from old to new; None for a text that is no version, as of scripts of other authors.

    A development version comes before its release. What follows a `+` names a commit, and has no order.

    >>> order("0.2.0.dev17+g1234567") < order("0.2.0") < order("0.2.1.dev1+g1234567") < order("0.10")
    True
    >>> order("own-game/1") is None
    True
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    numbers, development = match.groups()
    return tuple(int(number) for number in numbers.split(".")), int(development) if development else _FINAL
