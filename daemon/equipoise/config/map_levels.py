"""The table `[maps]`: names of maps or beginnings of names, and how far to go there."""

from __future__ import annotations

import re
from typing import get_args

from equipoise.config.keys import written
from equipoise.core.rules import Level
from equipoise.errors import ConfigError

LONGEST_MAP = 128
"""Characters of a key: the protocol's limit for the name of a map."""


def read_levels(raw: object, path: str) -> object:
    """The table with its keys as maps are compared, so that any spelling of a default overrides it.

    ConfigError: a key can match no map, two keys are the same, or a level is unknown. What is no table is returned:
    msgspec refuses it.
    """
    if not isinstance(raw, dict):
        return raw
    levels: dict[str, object] = {}
    for key, level in raw.items():
        here = f"{path}.{written(key)}"
        name = key.rpartition("/")[2].casefold()  # as `level_of` reads the name of a map
        if not name or len(key) > LONGEST_MAP:
            raise ConfigError(f"a name or prefix has 1 to {LONGEST_MAP} characters", path=here)
        if re.search(r"[\s*?]", name):
            raise ConfigError("a name or the beginning of one, without spaces, * or ?", path=here)
        if name in levels:
            raise ConfigError(f"the same map as another key: {name}", path=here)
        if level not in get_args(Level):
            raise ConfigError("must be off, rate or balance", path=here)
        levels[name] = level
    return levels
