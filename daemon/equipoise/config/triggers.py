"""The table `[triggers]`: a line per mode says what makes a scramble due in it. What a line does not name is off."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from difflib import get_close_matches

from equipoise.config.keys import written
from equipoise.config.reading import convert
from equipoise.config.tables import Raw, Section
from equipoise.core.model import Mode
from equipoise.core.rules import DEFAULT_TRIGGERS, Triggers
from equipoise.errors import ConfigError

_NS2 = "teams of NS2 are shuffled: [shuffle] says when; remove this line"
_SHUTOUT = "there the losers have never captured anything; for a scramble after every round write rounds = 1"
_IMPOSSIBLE: Mapping[tuple[str, str], str] = {
    **{(mode, "round_two"): "only arena has it; remove it" for mode in DEFAULT_TRIGGERS if mode != Mode.ARENA.value},
    (Mode.ARENA.value, "waiting"): "arena waits for nobody; write round_two = true for a scramble in round 2",
    (Mode.ARENA.value, "no_capture"): _SHUTOUT,
    (Mode.PAYLOAD_RACE.value, "no_capture"): _SHUTOUT,
}
"""By mode and key, why it cannot be, and what to write."""


def read_triggers(raw: object, path: str, kind: type[Section]) -> object:
    """The table, checked line by line; `kind` is that of a line.

    ConfigError: an unknown mode or key, or a trigger that its mode cannot have. What is no table is returned: msgspec
    refuses it.
    """
    if not isinstance(raw, dict):
        return raw
    for mode, keys in raw.items():
        here = f"{path}.{written(mode)}"
        if mode not in DEFAULT_TRIGGERS:
            raise ConfigError(_unknown(mode), path=here)
        line = convert(keys, kind, here)
        for key in line.__struct_fields__:
            if getattr(line, key) and (why := _IMPOSSIBLE.get((mode, key))):
                raise ConfigError(why, path=f"{here}.{key}")
    return raw


def _unknown(mode: str) -> str:
    if mode == Mode.NS2.value:
        return _NS2
    close = get_close_matches(mode, DEFAULT_TRIGGERS, n=1)
    return "no such mode; " + (f"is it {close[0]}?" if close else f"there is {', '.join(DEFAULT_TRIGGERS)}")


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
