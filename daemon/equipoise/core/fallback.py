"""Cached splits: asked for after every round, kept, and adapted to the players who are present.

The daemon falls back on them when the solver fails; the scripts do exactly the same when the daemon does not answer
(`sourcemod/scripting/equipoise/fallback.sp`, `ns2mod/lua/equipoise/fallback.lua`), and tests compare them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from equipoise.core import friends
from equipoise.core.asks import CacheSplits, ShuffleTerms
from equipoise.core.events import SplitsCached
from equipoise.core.model import PlayerId, Side, Split, SplitCache
from equipoise.core.state import Effects, State

FEWEST = 4
"""Players of the smallest split that is solved in advance: two against two."""


def ask(state: State) -> Effects:
    """Ask for a split of every size, for the time when the script gets no answer."""
    entries = state.roster.eligible()
    # A scramble may need fewer players than these, and counts who went to watch a moment ago.
    if len(entries) < max(FEWEST, state.rules.scramble.min_players):
        return ()
    groups = friends.present(state) if state.ns2 else ()
    # Where everybody stands when the daemon is gone is not known: a move costs nothing.
    terms = ShuffleTerms(state.rules.shuffle.fair_band, moves_count=False, groups=groups) if groups else None
    must_play = state.always_play()
    state.asked_cache = CacheSplits(state.memory.context, entries, state.arena, must_play, terms)
    return (state.asked_cache,)


def ask_first(state: State) -> Effects:
    """Ask for the first cache as soon as there are enough players; later ones are asked for at round ends."""
    return ask(state) if state.cache is None and state.asked_cache is None else ()


def keep(state: State, event: SplitsCached) -> Effects:
    """Keep the splits, strongest players first."""
    if event.ask != state.asked_cache:
        return ()
    state.asked_cache = None
    ids = [entry.id for entry in event.ask.entries]
    # The order matters to the script, which replaces an absent player by the nearest in it.
    ids.sort(key=lambda player: -state.summaries[player].balance if player in state.summaries else 0.0)
    state.cache = SplitCache(tuple(ids), event.splits)
    return ()


def not_solved(state: State, question: CacheSplits) -> Effects:
    """The solver failed: the previous cache stays."""
    if question == state.asked_cache:
        state.asked_cache = None
    return ()


def adapted(state: State) -> Split | None:
    """The cached split for the players who are here; None without a cache, or when it holds none that fits.

    Commanders and who is held stay on their side and count there: the others are split so that the sides are even with
    them.
    """
    if state.cache is None:
        return None
    eligible = state.with_immune(state.balanced_roster()).eligible()
    on_a, on_b = (tuple(line.id for line in eligible if line.stays and line.side is side) for side in Side)
    others = [entry.id for entry in eligible if not entry.stays]
    # Those who stay may stand on the other side in the cache, so that they are kept out of it.
    split = from_cache(state.cache, others, bench=state.arena, lead=len(on_a) - len(on_b))
    return None if split is None else replace(split, a=(*split.a, *on_a), b=(*split.b, *on_b))


def from_cache(cache: SplitCache, present: Sequence[PlayerId], *, bench: bool, lead: int = 0) -> Split | None:
    """Adapt the cached split to the players who are present; None when the cache holds none that fits.

    Who stays on their side is not among the present, but counts: `lead` is how many more of them side A has.
    The team size is the smaller of half the present and the largest cached; if those who stay put a side ahead by two,
    so much smaller that the unplaced can make the sides equal. The place of an absent player goes to the unplaced
    player nearest to them in the cache's order of skill, where players who are not in the cache stand in the middle;
    ties go to the stronger. The unplaced then fill the smaller side, strongest first: with a bench only until the
    sides are equal.

    >>> ids = tuple(map(PlayerId, "abcd"))
    >>> cache = SplitCache(ids, (Split(a=(ids[0], ids[3]), b=(ids[1], ids[2])),))
    >>> from_cache(cache, [ids[0], ids[1], ids[2], PlayerId("new")], bench=False)
    Split(a=('a', 'new'), b=('b', 'c'), bench=())
    """
    split = _fitting(cache, len(present), bench, lead)
    if split is None:
        return None
    rank = _ranks(cache, present)
    sides = {player: side for player in cache.ids if (side := split.side_of(player)) is not None}
    places = {player: side for player, side in sides.items() if player in rank}
    rest = [player for player in rank if player not in places]  # strongest first, as `rank` is
    for place, absentee in enumerate(cache.ids):
        if absentee in sides and absentee not in rank and rest:
            # `min` keeps the first of equals, and `rest` begins with the strongest.
            substitute = min(rest, key=lambda player: abs(rank[player] - place))
            rest.remove(substitute)
            places[substitute] = sides[absentee]
    ahead = lead + sum(1 if side is Side.A else -1 for side in places.values())
    # With a bench and equal sides the rest waits; without one everybody plays.
    while rest and (ahead or not bench):
        side = Side.A if ahead <= 0 else Side.B
        places[rest.pop(0)] = side
        ahead += 1 if side is Side.A else -1
    on = {side: tuple(player for player in present if places.get(player) is side) for side in Side}
    return Split(on[Side.A], on[Side.B], tuple(player for player in present if player in rest))


def _fitting(cache: SplitCache, present: int, bench: bool, lead: int) -> Split | None:
    """The largest cached split that so many can fill, and whose sides are even with those who stay.

    Sides that differ by one are even enough, but with a bench they are as large as each other. Around a larger lead the
    unplaced have to make them so.
    """
    for split in reversed(cache.splits):
        gap, rest = len(split.a) - len(split.b), present - len(split.a) - len(split.b)
        even = abs(gap + lead) <= 1 or (gap == 0 and rest >= abs(lead) - 1)
        if rest >= 0 and even and not (gap and bench):
            return split
    return None


def _ranks(cache: SplitCache, present: Sequence[PlayerId]) -> dict[PlayerId, float]:
    """The place of each present player in the cache's order, in that order; unknown players in the middle."""
    places = {player: float(place) for place, player in enumerate(cache.ids)}
    middle = (len(cache.ids) - 1) / 2
    return {player: places.get(player, middle) for player in sorted(present, key=lambda one: places.get(one, middle))}
