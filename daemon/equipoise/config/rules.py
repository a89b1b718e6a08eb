"""The rules in the file: tables derived from the dataclasses of `core.rules`, which know nothing of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from equipoise.config.map_levels import read_levels
from equipoise.config.reading import convert
from equipoise.config.tables import Raw, Section
from equipoise.config.triggers import line_of, read_triggers
from equipoise.core.rules import (
    DEFAULT_LEVELS,
    DEFAULT_TRIGGERS,
    ArenaRules,
    AutobalanceRules,
    LockRules,
    Rules,
    ScrambleRules,
    ShuffleRules,
    Triggers,
    VoteRules,
)
from equipoise.errors import ConfigError

T = TypeVar("T")

_TABLES = (ArenaRules, ScrambleRules, AutobalanceRules, LockRules, VoteRules, ShuffleRules)

RANGES: Mapping[tuple[type, str], tuple[float, float]] = {
    (ScrambleRules, "min_players"): (2, 100),
    (ScrambleRules, "tolerance"): (0, 0.5),
    (ScrambleRules, "fair_band"): (0, 1),
    (AutobalanceRules, "spare_minutes"): (0, 1440),
    (AutobalanceRules, "deadline_seconds"): (0, 600),
    (AutobalanceRules, "quiet_seconds"): (0, 3600),
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
    (Rules, "silence_seconds"): (10, 86400),
    (Rules, "poll_seconds"): (0.5, 60),
}
"""The range of every number of the rules, both ends included; of a pair, of both its numbers."""


MOST_NAME = 32
"""Characters of a side's name."""


def read_rules(raw: Raw, path: str, siblings: Iterable[str]) -> Raw:
    """The rules of one table, checked, with the keys of `maps` as they are compared; `siblings` as in `convert`."""
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


def _filled(kind: type[T], section: Any) -> T:
    """The dataclass of rules that a section was derived from, with the section's values."""
    hints = get_type_hints(kind)
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
    numbers = [each for each in get_args(hint) if each is not NoneType]  # of one that need not be given
    ranged: Any = Annotated[numbers[0] if numbers else hint, Meta(ge=limits[0], le=limits[1])]
    return ranged | None if numbers else ranged


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
    tables = {key: {**rules[key], **own} for key, own in overrides.items() if isinstance(own, dict) and key in rules}
    return {**rules, **overrides, **tables}
