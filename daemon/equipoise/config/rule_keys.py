"""The rules in the file: tables with the keys of the dataclasses in `core.rules`, which know nothing of files.

`[maps]` and `[triggers]` have keys of their own kind and are read by hand, so that a refusal names the key.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import get_args

import msgspec

from equipoise.config.sections import Raw, convert, written
from equipoise.core.model import Mode
from equipoise.core.rules import (
    DEFAULT_LEVELS,
    DEFAULT_TRIGGERS,
    Level,
    Rules,
    Triggers,
)
from equipoise.errors import ConfigError

LONGEST_MAP = 128
"""Characters of a key: the protocol's limit for the name of a map."""


def read_levels(raw: object, path: str) -> object:
    """The table with its keys as maps are compared, so that any spelling of a default overrides it.

    ConfigError: a key can match no map, two keys are the same, or a level is unknown. What is not a
    table is returned: msgspec refuses it.
    """
    if not isinstance(raw, dict):
        return raw
    levels: dict[str, object] = {}
    for key, level in raw.items():
        place = f"{path}.{written(key)}"
        name = key.rpartition("/")[2].casefold()  # as `level_of` reads the name of a map
        if not name or len(key) > LONGEST_MAP:
            raise ConfigError(f"a name or prefix has 1 to {LONGEST_MAP} characters", path=place)
        if re.search(r"[\s*?]", name):
            raise ConfigError("a name or the beginning of one, without spaces, * or ?", path=place)
        if name in levels:
            raise ConfigError(f"the same map as another key: {name}", path=place)
        if level not in get_args(Level):
            raise ConfigError("must be off, rate or balance", path=place)
        levels[name] = level
    return levels


_SHUTOUT = "there the losers have never captured anything; for a scramble after every round write rounds = 1"
_IMPOSSIBLE: Mapping[tuple[str, str], str] = {
    **{(mode, "round_two"): "only arena has it; remove it" for mode in DEFAULT_TRIGGERS if mode != Mode.ARENA.value},
    (Mode.ARENA.value, "waiting"): "arena waits for nobody; write round_two = true for a scramble in round 2",
    (Mode.ARENA.value, "no_capture"): _SHUTOUT,
    (Mode.PAYLOAD_RACE.value, "no_capture"): _SHUTOUT,
}
"""Why a mode cannot have a key, and what to write instead, by mode and key."""


def read_triggers(raw: object, path: str) -> object:
    """The table, checked line by line.

    ConfigError: an unknown mode or key, or a trigger that its mode cannot have. What is not a
    table is returned: msgspec refuses it.
    """
    if not isinstance(raw, dict):
        return raw
    for mode, keys in raw.items():
        place = f"{path}.{written(mode)}"
        if mode == Mode.NS2.value:
            raise ConfigError("teams of NS2 are shuffled: [shuffle] says when; remove this line", path=place)
        if mode not in DEFAULT_TRIGGERS:
            close = get_close_matches(mode, DEFAULT_TRIGGERS, n=1)
            advice = f"is it {close[0]}?" if close else f"there is {', '.join(DEFAULT_TRIGGERS)}"
            raise ConfigError(f"no such mode; {advice}", path=place)
        for key in line_of(convert(keys, Triggers, place)):
            if why := _IMPOSSIBLE.get((mode, key)):
                raise ConfigError(why, path=f"{place}.{key}")
    return raw


def line_of(triggers: Triggers) -> Raw:
    """The keys of a mode's line: what is on.

    >>> line_of(Triggers(streak=3, waiting=True))
    {'streak': 3, 'waiting': True}
    """
    return {key: value for key, value in dataclasses.asdict(triggers).items() if value}


def shown(triggers: Triggers) -> str:
    """A mode's line as TOML.

    >>> shown(Triggers(round_two=True, streak=3)), shown(Triggers())
    ('{ round_two = true, streak = 3 }', '{}')
    """
    keys = ", ".join(f"{key} = {json.dumps(value)}" for key, value in line_of(triggers).items())
    return f"{{ {keys} }}" if keys else "{}"


MOST_NAME = 32
"""Characters of a side's name."""


def read_rules(raw: Raw, path: str, siblings: Iterable[str]) -> Raw:
    """The rules of one table, checked, with the keys of `maps` as they are compared.

    `siblings`: keys that the table may have besides the rules, for who misspells one of them.
    """
    # The keys of maps are replaced below, and the caller's table stays as it was read.
    read = dict(raw)
    # What is wrong in these is refused before msgspec does, which does not name the key.
    if "maps" in raw:
        read["maps"] = read_levels(raw["maps"], f"{path}.maps")
    if "triggers" in raw:
        read["triggers"] = read_triggers(raw["triggers"], f"{path}.triggers")
    rules = convert(read, Rules, path, siblings)
    _check_sides(rules.sides, f"{path}.sides")
    for table, band in (("scramble", rules.scramble.fair_band), ("shuffle", rules.shuffle.fair_band)):
        check_band(band, f"{path}.{table}.fair_band")
    return read


def check_band(band: tuple[float, float], path: str) -> None:
    """Refuse a band by which uneven teams would count as even.

    ConfigError: its ends stand in the wrong order, or a half is outside it. [0, 0] may be written: no teams count as
    even.
    """
    low, high = band
    if low > high:
        raise ConfigError(f"{low:g} is above {high:g}: the lower end comes first", path=path)
    if not low <= 0.5 <= high and high > 0:
        raise ConfigError("0.5, equal chances, is not in it; [0, 0] means that no teams count as even", path=path)


def _check_sides(names: tuple[str, str] | None, path: str) -> None:
    for name in names or ():
        if not 0 < len(name) <= MOST_NAME or not name.isprintable():
            raise ConfigError(f"a side's name is 1 to {MOST_NAME} printable characters", path=path)
    if names is not None and names[0] == names[1]:
        raise ConfigError("the sides need two names", path=path)


def effective(raw: Raw) -> Rules:
    """The rules that checked keys and the defaults make."""
    return msgspec.convert(raw, Rules)


def defaults() -> Raw:
    """The raw tables of rules to whose defaults lines are added."""
    return {
        "maps": dict(DEFAULT_LEVELS),
        "triggers": {mode: line_of(triggers) for mode, triggers in DEFAULT_TRIGGERS.items()},
    }


def merged(rules: Raw, overrides: Raw) -> Raw:
    """The raw rules of a server: its own keys override those of all servers, also within tables.

    The key of a mode in `triggers` is its whole line.
    """
    # Merged as raw tables, before defaults are filled in: a struct does not know which of its values the file gave.
    tables = {key: {**rules[key], **own} for key, own in overrides.items() if isinstance(own, dict) and key in rules}
    return {**rules, **overrides, **tables}
