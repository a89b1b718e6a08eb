"""Keys of the version before, read for one more: today's keys instead of them, and the lines to write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from equipoise.config.keys import written
from equipoise.config.reading import convert
from equipoise.config.rules import check_band
from equipoise.config.tables import Raw
from equipoise.config.triggers import line_of, shown
from equipoise.core.rules import ScrambleRules, Triggers
from equipoise.errors import ConfigError


@dataclass(frozen=True, slots=True)
class OldKey:
    """A key that the next version does not read.

    >>> print(OldKey(Path("config.toml"), "$.arena.streak", "write in [triggers]: arena = {}"))
    config.toml: $.arena.streak: the next version does not read this key; write in [triggers]: arena = {}
    """

    file: Path
    path: str
    advice: str
    """What to write instead."""

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}"

    @property
    def what(self) -> str:
        """What is said of it."""
        return f"{self.file}: {self.path}: the next version does not read this key"


class _Old(NamedTuple):
    """Keys of a table that stand in lines of `[triggers]` now."""

    table: str
    keys: Mapping[str, Any]
    """With their types."""
    modes: tuple[str, ...]
    """Whose lines they belong to."""
    whole: bool = False
    """The table has no other keys."""


_Count, _AnyCount = Annotated[int, Meta(ge=1, le=100)], Annotated[int, Meta(ge=0, le=100)]
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
    new: Raw = {table: dict(keys) if isinstance(keys, dict) else keys for table, keys in raw.items()}
    found = [_band(new, file, path, above), *(_triggers(old, new, file, path, above) for old in _OLD)]
    return new, tuple(old for old in found if old is not None)


def _band(new: Raw, file: Path, path: str, above: Raw) -> OldKey | None:
    """Move `vote.fair_band`."""
    vote, scramble, here = new.get("vote"), new.setdefault("scramble", {}), f"{path}.vote.fair_band"
    if not isinstance(vote, dict) or not isinstance(scramble, dict) or "fair_band" not in vote:
        return None  # what is no table is refused with its path
    band = convert(vote.pop("fair_band"), tuple[_End, _End], here)
    check_band(band, here)
    if "fair_band" in scramble:
        raise ConfigError(f"{path}.scramble.fair_band is there too: remove this key", path=here)
    scramble["fair_band"] = list(band)
    held = above.get("scramble", {}).get("fair_band", ScrambleRules().fair_band)
    lines = {"fair_band": json.dumps(band)}
    return OldKey(file, here, _advice(f"{path}.scramble", lines, needless=tuple(held) == band))


def _triggers(old: _Old, new: Raw, file: Path, path: str, above: Raw) -> OldKey | None:
    """Move keys of a table into the lines of their modes."""
    given = _taken(old, new, path)
    if given is None:
        return None
    here = f"{path}.{old.table}" if old.whole else ".".join((path, old.table, *given))
    lines = new.setdefault("triggers", {})
    if not isinstance(lines, dict):
        return None  # refused with its path
    held = {mode: Triggers(**above["triggers"][mode]) for mode in old.modes}
    added = {mode: replace(line, **given) for mode, line in held.items()}
    missing = {mode: shown(line) for mode, line in added.items() if mode not in lines}
    if both := [mode for mode in old.modes if mode in lines]:
        also = f", and {_advice(f'{path}.triggers', missing)}" if missing else ""
        raise ConfigError(f"{path}.triggers.{both[0]} is there too: remove this key{also}", path=here)
    lines |= {mode: line_of(line) for mode, line in added.items()}
    return OldKey(file, here, _advice(f"{path}.triggers", missing, needless=added == held))


def _taken(old: _Old, new: Raw, path: str) -> Raw | None:
    """The values of old keys, which are in the table no more; None: there is none of them."""
    own = new.get(old.table)
    if not isinstance(own, dict):
        return None
    given = {
        key: convert(own.pop(key), kind, f"{path}.{old.table}.{key}") for key, kind in old.keys.items() if key in own
    }
    if not old.whole:
        return given or None
    for key in own:
        raise ConfigError("no such key; [triggers] has a line for each mode", path=f"{path}.other.{written(key)}")
    del new[old.table]
    return given


def _advice(path: str, lines: Mapping[str, str], *, needless: bool = False) -> str:
    """What to do instead; `path` is that of the new table."""
    if needless:
        return "remove it: it says what holds without it"
    table = f"[{path.removeprefix('$.')}]"
    return f"write in {table}: " + ", and: ".join(f"{key} = {value}" for key, value in lines.items())
