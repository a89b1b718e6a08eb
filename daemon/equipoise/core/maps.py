"""How far Equipoise goes on a map, by the map's name.

Some maps get rules of their own from other plugins (a boss against all others, jump and trade maps). Their sides are
not meant to be even, and the script leaves the game alone there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Level = Literal["off", "rate", "balance"]
"""`off`: the script leaves the game alone; `rate`: rounds are rated and nothing is ordered; `balance`: everything."""

# Alphabetical, as the example of the configuration lists them.
DEFAULT_LEVELS: Mapping[str, Level] = {
    "achievement_": "off",
    "bhop_": "off",
    "dr_": "off",
    "duel_": "off",
    "idle_": "off",
    "jail_": "off",
    "jb_": "off",
    "jump_": "off",
    "mge_": "off",
    "surf_": "off",
    "tow_": "off",
    "tr_": "off",
    "trade_": "off",
    "vsh_": "off",
    "zi_": "off",
}
"""By prefix: maps of other game modes. The configuration adds to them and overrides them."""


@dataclass(frozen=True, slots=True)
class MapLevel:
    """The level of one map, and why."""

    level: Level
    reason: str
    """The key that matched; empty when none did."""


def level_of(map: str, levels: Mapping[str, Level]) -> MapLevel:
    """The level of a map: that of the longest key that its name begins with; `balance` when none matches.

    A map of Steam's workshop goes by its own name, without the folder: `workshop/vsh_dust.ugc123` is `vsh_dust…`.
    Capitals do not count, because Windows servers find maps by any spelling.

    >>> level_of("vsh_dust_showdown", DEFAULT_LEVELS)
    MapLevel(level='off', reason='vsh_')
    >>> level_of("vsh_dust_showdown", {"vsh_": "off", "vsh_dust": "rate"})
    MapLevel(level='rate', reason='vsh_dust')
    """
    name = map.rpartition("/")[2].casefold()
    longest = ""
    for key in levels:
        if len(key) > len(longest) and name.startswith(key.casefold()):
            longest = key
    return MapLevel(levels[longest], longest) if longest else MapLevel("balance", "")
