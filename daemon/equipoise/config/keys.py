"""Keys of the file, as TOML writes them."""

from __future__ import annotations

import json
import re


def written(key: str) -> str:
    """A key as it stands in the file: in quotes if TOML wants them, and always in one line.

    >>> written("arena-1"), written("cp_a.v2")
    ('arena-1', '"cp_a.v2"')
    """
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
