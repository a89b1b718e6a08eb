"""The rules in the file: tables with the keys of the dataclasses in `core.rules`, which know nothing of files.

`[maps]` and `[triggers]` have keys of their own kind and are read by hand, so that a refusal names the key. Keys of the
version before are read for one more.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Meta

from equipoise.config.sections import Raw, convert, written
from equipoise.core.model import Mode
from equipoise.core.rules import (
    DEFAULT_LEVELS,
    DEFAULT_TRIGGERS,
    Level,
    Rules,
    ScrambleRules,
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


_NS2 = "teams of NS2 are shuffled: [shuffle] says when; remove this line"
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
        if mode not in DEFAULT_TRIGGERS:
            raise ConfigError(_unknown(mode), path=place)
        for key in line_of(convert(keys, Triggers, place)):
            if why := _IMPOSSIBLE.get((mode, key)):
                raise ConfigError(why, path=f"{place}.{key}")
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


T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class OldKey:
    """A key that the next version does not read.

    >>> print(OldKey(Path("config.toml"), "$.arena.streak", "write in [triggers]: arena = {}"))
    config.toml: $.arena.streak: the next version does not read this key; write in [triggers]: arena = {}
    """

    file: Path
    path: str
    advice: str
    """The lines to write instead."""

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}"

    @property
    def what(self) -> str:
        """The file, the key and what is wrong with it."""
        return f"{self.file}: {self.path}: the next version does not read this key"


class _Old(NamedTuple):
    """Keys of a table that stand in lines of `[triggers]` now."""

    table: str
    keys: Mapping[str, Any]
    """With their types."""
    modes: tuple[str, ...]
    """The modes whose lines they belong to."""
    whole: bool = False
    """The table has no other keys."""


_Count, _AnyCount = Annotated[int, Meta(ge=1, le=100)], Annotated[int, Meta(ge=0, le=100)]
_When: Any = Literal["now", "next"]
_End = Annotated[float, Meta(ge=0, le=1)]
_OLD = (
    _Old("arena", {"streak": _Count}, ("arena",)),
    _Old("scramble", {"rounds": _Count}, ("attack_defend", "payload")),
    _Old("other", {"streak": _AnyCount, "rounds": _AnyCount, "no_capture": bool}, ("other",), whole=True),
)


def renewed(raw: Raw, file: Path, path: str, above: Raw) -> tuple[Raw, tuple[OldKey, ...]]:
    """The rules of a table with today's keys instead of old ones, and what is to be said of those.

    `above`: the rules that hold without the table. ConfigError: a value is wrong, or the new key is there too.
    """
    # Copies: old keys are taken out of them, and an error quotes the file as it is.
    new: Raw = {table: dict(keys) if isinstance(keys, dict) else keys for table, keys in raw.items()}
    keys = [
        _band(new, file, path, above),
        _vote(new, file, path, above),
        *(_triggers(old, new, file, path, above) for old in _OLD),
    ]
    return new, tuple(old for old in keys if old is not None)


def _band(new: Raw, file: Path, path: str, above: Raw) -> OldKey | None:
    """Move `vote.fair_band`."""
    vote, scramble, place = new.get("vote"), new.setdefault("scramble", {}), f"{path}.vote.fair_band"
    if not isinstance(vote, dict) or not isinstance(scramble, dict) or "fair_band" not in vote:
        return None  # a value that is not a table is refused with its path
    band = convert(vote.pop("fair_band"), tuple[_End, _End], place)
    check_band(band, place)
    if "fair_band" in scramble:
        raise ConfigError(f"{path}.scramble.fair_band is there too: remove this key", path=place)
    scramble["fair_band"] = list(band)
    outer = above.get("scramble", {}).get("fair_band", ScrambleRules().fair_band)
    lines = {"fair_band": json.dumps(band)}
    return OldKey(file, place, _advice(f"{path}.scramble", lines, needless=tuple(outer) == band))


def _vote(new: Raw, file: Path, path: str, above: Raw) -> OldKey | None:
    """Move `shuffle.vote`, which was NS2's alone."""
    shuffle, vote, place = new.get("shuffle"), new.setdefault("vote", {}), f"{path}.shuffle.vote"
    if not isinstance(shuffle, dict) or not isinstance(vote, dict) or "vote" not in shuffle:
        return None
    when = convert(shuffle.pop("vote"), _When, place)
    if "when" in vote:
        raise ConfigError(f"{path}.vote.when is there too: remove this key", path=place)
    outer = above.get("vote", {}).get("when")
    # In NS2 `now` is the default, in TF2 it is another: written for all servers it would change those of TF2.
    if needless := when == (outer or "now"):
        return OldKey(file, place, _advice(f"{path}.vote", {}, needless=needless))
    vote["when"] = when
    return OldKey(file, place, _advice(f"{path}.vote", {"when": json.dumps(when)}))


def _triggers(old: _Old, new: Raw, file: Path, path: str, above: Raw) -> OldKey | None:
    """Move keys of a table into the lines of their modes."""
    values = _taken(old, new, path)
    if values is None:
        return None
    place = f"{path}.{old.table}" if old.whole else ".".join((path, old.table, *values))
    lines = new.setdefault("triggers", {})
    if not isinstance(lines, dict):
        return None  # refused with its path
    outer = {mode: Triggers(**above["triggers"][mode]) for mode in old.modes}
    results = {mode: replace(line, **values) for mode, line in outer.items()}
    rest = {mode: shown(line) for mode, line in results.items() if mode not in lines}
    # Old and new key for one mode: which of them holds would depend on our order of reading.
    if both := [mode for mode in old.modes if mode in lines]:
        also = f", and {_advice(f'{path}.triggers', rest)}" if rest else ""
        raise ConfigError(f"{path}.triggers.{both[0]} is there too: remove this key{also}", path=place)
    lines |= {mode: line_of(line) for mode, line in results.items()}
    return OldKey(file, place, _advice(f"{path}.triggers", rest, needless=results == outer))


def _taken(old: _Old, new: Raw, path: str) -> Raw | None:
    """The values of old keys, which are in the table no more; None: there is none of them."""
    own = new.get(old.table)
    if not isinstance(own, dict):
        return None
    values = {
        key: convert(own.pop(key), kind, f"{path}.{old.table}.{key}") for key, kind in old.keys.items() if key in own
    }
    if not old.whole:
        return values or None
    for key in own:
        raise ConfigError("no such key; [triggers] has a line for each mode", path=f"{path}.other.{written(key)}")
    del new[old.table]
    return values


def _advice(path: str, lines: Mapping[str, str], *, needless: bool = False) -> str:
    """Return what to do instead; `path` is that of the new table."""
    if needless:
        return "remove it: it says what holds without it"
    table = f"[{path.removeprefix('$.')}]"
    return f"write in {table}: " + ", and: ".join(f"{key} = {value}" for key, value in lines.items())
