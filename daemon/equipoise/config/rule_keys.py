"""The rules in the file: tables derived from the dataclasses of `core.rules`, which know nothing of files.

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
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from equipoise.config.sections import Raw, Section, convert, written
from equipoise.core.model import Mode
from equipoise.core.rules import (
    DEFAULT_LEVELS,
    DEFAULT_TRIGGERS,
    ArenaRules,
    AutobalanceRules,
    Level,
    LockRules,
    Rules,
    ScrambleRules,
    ShuffleRules,
    Triggers,
    VoteRules,
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


def read_triggers(raw: object, path: str, kind: type[Section]) -> object:
    """The table, checked line by line; `kind` is that of a line.

    ConfigError: an unknown mode or key, or a trigger that its mode cannot have. What is not a
    table is returned: msgspec refuses it.
    """
    if not isinstance(raw, dict):
        return raw
    for mode, keys in raw.items():
        place = f"{path}.{written(mode)}"
        if mode not in DEFAULT_TRIGGERS:
            raise ConfigError(_unknown(mode), path=place)
        line = convert(keys, kind, place)
        for key in line.__struct_fields__:
            if getattr(line, key) and (why := _IMPOSSIBLE.get((mode, key))):
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

_TABLES = (ArenaRules, ScrambleRules, AutobalanceRules, LockRules, VoteRules, ShuffleRules)

RANGES: Mapping[tuple[type, str], tuple[float, float]] = {
    (ScrambleRules, "min_players"): (2, 100),
    (ScrambleRules, "tolerance"): (0, 0.5),
    (ScrambleRules, "fair_band"): (0, 1),
    (ScrambleRules, "spectator_seconds"): (0, 3600),
    (AutobalanceRules, "spare_minutes"): (0, 1440),
    (AutobalanceRules, "deadline_seconds"): (0, 600),
    (AutobalanceRules, "quiet_seconds"): (0, 3600),
    (AutobalanceRules, "objective_seconds"): (0, 3600),
    (LockRules, "minutes"): (0, 1440),
    (VoteRules, "min_players"): (2, 100),
    (VoteRules, "start_fraction"): (0.01, 1),
    (VoteRules, "fraction"): (0.01, 1),
    (VoteRules, "seconds"): (5, 60),
    (VoteRules, "cooldown_minutes"): (0, 1440),
    (VoteRules, "quiet_seconds"): (0, 3600),
    (ShuffleRules, "fair_band"): (0, 1),
    (ShuffleRules, "max_moves"): (0, 100),
    (ShuffleRules, "vote_seconds"): (0, 3600),
    (ShuffleRules, "choice_seconds"): (5, 300),
    (Triggers, "streak"): (0, 100),
    (Triggers, "rounds"): (0, 100),
    (Rules, "ns2_min_seconds"): (0, 86400),
    (Rules, "min_rated_humans"): (2, 100),
    (Rules, "last_minutes"): (0, 60),
    (Rules, "silence_seconds"): (10, 86400),
    (Rules, "poll_seconds"): (0.5, 60),
}
"""The range of every number of the rules, both ends included; of a pair, of both its numbers."""


MOST_NAME = 32
"""Characters of a side's name."""


def read_rules(raw: Raw, path: str, siblings: Iterable[str]) -> Raw:
    """The rules of one table, checked, with the keys of `maps` as they are compared; `siblings` as in `convert`."""
    # The keys of maps are replaced below, and the caller's table stays as it was read.
    read = dict(raw)
    # What is wrong in these is refused before msgspec does, which does not name the key.
    if "maps" in raw:
        read["maps"] = read_levels(raw["maps"], f"{path}.maps")
    if "triggers" in raw:
        read["triggers"] = read_triggers(raw["triggers"], f"{path}.triggers", _LINE)
    rules = _filled(Rules, convert(read, _RULES, path, siblings))
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
    return _filled(Rules, msgspec.convert(raw, _RULES))


_hints = cache(get_type_hints)  # it compiles each annotation, every time


def _filled(kind: type[T], section: Any) -> T:
    """The dataclass of rules that a section was derived from, with the section's values."""
    hints = _hints(kind)  # type: ignore[arg-type]  # a class can be hashed, whatever its instances are
    return kind(**{name: _value(hints[name], getattr(section, name)) for name in section.__struct_fields__})


def _value(hint: Any, value: Any) -> Any:
    """A section's value as the dataclass has it: tables within it, and tables by name, are dataclasses too."""
    if isinstance(value, Section):
        return _filled(hint, value)
    if isinstance(value, dict):
        return {key: _value(get_args(hint)[1], inner) for key, inner in value.items()}
    return value


def _section(kind: type) -> type[Section]:
    """A strict section derived from a dataclass of rules: same fields, same defaults, numbers in their ranges."""
    hints, defaults = get_type_hints(kind), kind()
    fields: list[tuple[str, Any, Any]] = []
    for name in hints:
        hint, default = hints[name], getattr(defaults, name)
        if isinstance(default, _TABLES):
            table = _section(type(default))
            fields.append((name, table, table()))
        elif hint == Mapping[str, Triggers]:
            fields.append((name, dict[str, _section(Triggers)], msgspec.field(default_factory=dict)))  # type: ignore[misc]
        elif isinstance(default, dict):
            fields.append((name, hint, msgspec.field(default_factory=default.copy)))
        else:
            fields.append((name, _ranged(hint, RANGES.get((kind, name))), default))
    section = msgspec.defstruct(kind.__name__, fields, bases=(Section,), frozen=True)
    assert issubclass(section, Section)
    return section


def _ranged(hint: Any, limits: tuple[float, float] | None) -> Any:
    """The type with its range; of a pair, both numbers have it."""
    if limits is None:
        return hint
    number = Annotated[float, Meta(ge=limits[0], le=limits[1])]
    if get_origin(hint) is tuple:
        return tuple[number, number]
    numbers = [kind for kind in get_args(hint) if kind is not NoneType]  # of one that need not be given
    annotation: Any = Annotated[numbers[0] if numbers else hint, Meta(ge=limits[0], le=limits[1])]
    return annotation | None if numbers else annotation


_RULES, _LINE = _section(Rules), _section(Triggers)


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
