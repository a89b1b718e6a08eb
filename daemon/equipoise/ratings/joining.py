"""Several histories as one: made in parts, a long history needs a tenth of the memory.  Needs numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.ratings.history import ALONE, UNKNOWN, Floats, History, Numbers, Offsets, Spans
from equipoise.ratings.parts.match_arrays import BOT

_FACTS: dict[str, tuple[str, object]] = {
    "fraction_played": ("members", np.nan),
    "kills": ("members", np.nan),
    "deaths": ("members", np.nan),
    "assists": ("members", np.nan),
    "player_points": ("members", np.nan),
    "quit": ("members", False),
    "squad": ("members", ALONE),
    "points": ("ranks", np.nan),
    "seconds": ("started_at", np.nan),
    "weight": ("started_at", 1.0),
    "lineup_known": ("started_at", True),
}
"""By array: one of the same length, and what it has in a part that does not know it."""

_NAMED = {"side": ("sides", "ranks"), "map": ("maps", "started_at"), "mode": ("modes", "started_at")}


def joined(parts: Sequence[History]) -> History:
    """One history of one or more, in their order, each with its lineups, as `History.of` makes them.

    >>> from equipoise.ratings.system import Match
    >>> duel = Match(((PlayerId("ann"),), (PlayerId("bob"),)), ranks=(0, 1))
    >>> rematch = Match(((PlayerId("bob"),), (PlayerId("cat"),)), ranks=(0, 1), map="arena")
    >>> both = joined([History.of([duel]), History.of([rematch])])
    >>> both.players, both.members.tolist(), both.map.tolist()
    (('ann', 'bob', 'cat'), [0, 1, 1, 2], [-1, 0])
    """
    numbers: dict[PlayerId, int] = {}
    own = [np.array([numbers.setdefault(p, len(numbers)) for p in part.players], np.int32) for part in parts]
    facts = {name: _filled(parts, name, like, missing) for name, (like, missing) in _FACTS.items()}
    for name, (names, like) in _NAMED.items():
        facts[name], facts[names] = _renamed(parts, name, names, like)
    facts["class_seconds"], facts["classes"] = _class_seconds(parts)
    return History(
        players=tuple(numbers),
        matches=_counted_on([part.matches for part in parts]),
        teams=_counted_on([part.teams for part in parts]),
        members=np.concatenate([new[part.members] for new, part in zip(own, parts, strict=True)]),
        ranks=np.concatenate([part.ranks for part in parts]),
        started_at=np.concatenate([part.started_at for part in parts]),
        lineup=_counted_on([part.lineup for part in parts if part.lineup is not None]),
        lineup_members=np.concatenate([_lineup(new, part) for new, part in zip(own, parts, strict=True)]),
        skill_at_start=np.concatenate([part.skill_at_start for part in parts if part.skill_at_start is not None]),
        spans=_spans(parts, "spans", "members"),
        bots=_spans(parts, "bots", "started_at"),
        **facts,
    )


def _spans(parts: Sequence[History], name: str, like: str) -> Spans | None:
    """The spans of all parts, in each of which as many rows have them as `like` has; None if no part knows any."""
    each: list[Spans | None] = [getattr(part, name) for part in parts]
    known = [spans for spans in each if spans is not None]
    if not known:
        return None
    team, start, end, commander = (
        np.concatenate([getattr(spans, name) for spans in known]) for name in ("team", "start", "end", "commander")
    )
    starts = [
        np.zeros(len(getattr(part, like)) + 1, np.int64) if spans is None else spans.starts
        for spans, part in zip(each, parts, strict=True)
    ]
    return Spans(_counted_on(starts), team, start, end, commander)


def _class_seconds(parts: Sequence[History]) -> tuple[Floats | None, tuple[str, ...]]:
    """The seconds of all parts by the distinct classes of all; and these."""
    classes = tuple(dict.fromkeys(name for part in parts for name in part.classes))
    if not classes:
        return None, ()
    seconds = [np.zeros((len(part.members), len(classes))) for part in parts]
    for found, part in zip(seconds, parts, strict=True):
        if part.class_seconds is not None:
            found[:, [classes.index(name) for name in part.classes]] = part.class_seconds
    return np.concatenate(seconds), classes


def _lineup(new: Numbers, part: History) -> Numbers:
    assert part.lineup_members is not None, "`History.of` knows the lineups"
    found = part.lineup_members.copy()
    found[found != BOT] = new[found[found != BOT]]
    return found


def _counted_on(offsets: Sequence[Offsets]) -> Offsets:
    """Offsets of one part after the other."""
    lengths = np.concatenate([np.diff(each) for each in offsets])
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def _filled(parts: Sequence[History], name: str, like: str, missing: object) -> Any:
    """An optional array of all parts; None if no part knows it."""
    known = [getattr(part, name) for part in parts]
    kind = next((each.dtype for each in known if each is not None), None)
    if kind is None:
        return None
    lengths = (len(getattr(part, like)) for part in parts)
    return np.concatenate(
        [np.full(count, missing, kind) if each is None else each for each, count in zip(known, lengths, strict=True)]
    )


def _renamed(parts: Sequence[History], name: str, names: str, like: str) -> tuple[Any, tuple[str, ...]]:
    """Indexes of names, among the distinct names of all parts; and these names."""
    known: dict[str, int] = {}
    found = []
    for part in parts:
        new = np.array([*(known.setdefault(each, len(known)) for each in getattr(part, names)), UNKNOWN], np.int32)
        numbers = getattr(part, name)
        found.append(np.full(len(getattr(part, like)), UNKNOWN, np.int32) if numbers is None else new[numbers])
    return (np.concatenate(found), tuple(known)) if known else (None, ())
