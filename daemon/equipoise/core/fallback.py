"""Cached splits applied to whoever is there: the daemon's own fallback, and the law the scripts follow."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.model import PlayerId, Side, Split, SplitCache


def from_cache(cache: SplitCache, present: Sequence[PlayerId], *, bench: bool) -> Split | None:
    """The cached split for the players who are present, None when the cache or the pool is too small.

    k is the smaller of half the present and the largest cached. An absentee's place goes to the unplaced player
    nearest to him in the cache's order, where strangers stand in the middle; ties go to the stronger. Without a
    bench the unplaced then fill the smaller side, strongest first.
    """
    split = _fitting(cache, len(present), bench)
    if split is None:
        return None
    rank = _ranks(cache, present)
    sides = {player: side for player in cache.ids if (side := split.side_of(player)) is not None}
    seats = {player: side for player, side in sides.items() if player in rank}
    unplaced = sorted((player for player in rank if player not in seats), key=rank.__getitem__)
    for place, absentee in enumerate(cache.ids):
        if absentee in sides and absentee not in rank and unplaced:
            substitute = min(unplaced, key=lambda player: abs(rank[player] - place))
            unplaced.remove(substitute)
            seats[substitute] = sides[absentee]
    if not bench:
        for player in unplaced:
            seats[player] = min(Side, key=lambda side: sum(seat is side for seat in seats.values()))
        unplaced = []
    return _split(seats, unplaced, present)


def _fitting(cache: SplitCache, present: int, bench: bool) -> Split | None:
    """The largest split that the present can fill; without a bench an uneven one for an odd number."""
    for split in reversed(cache.splits):
        uneven = len(split.a) != len(split.b)
        if len(split.a) + len(split.b) <= present and not (uneven and bench):
            return split
    return None


def _ranks(cache: SplitCache, present: Sequence[PlayerId]) -> dict[PlayerId, float]:
    """Place in the cache's order of everybody present, in that order; strangers in the middle."""
    places = {player: float(place) for place, player in enumerate(cache.ids)}
    middle = (len(cache.ids) - 1) / 2
    return {player: places.get(player, middle) for player in sorted(present, key=lambda one: places.get(one, middle))}


def _split(seats: dict[PlayerId, Side], bench: list[PlayerId], present: Sequence[PlayerId]) -> Split:
    on = {side: tuple(player for player in present if seats.get(player) is side) for side in Side}
    return Split(on[Side.A], on[Side.B], tuple(player for player in present if player in bench))
