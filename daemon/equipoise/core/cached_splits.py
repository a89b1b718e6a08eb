"""The splits that a script falls back on when the daemon does not answer, and the daemon when its solver fails."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core.asks import CacheSplits
from equipoise.core.events import SplitsCached
from equipoise.core.fallback import from_cache
from equipoise.core.model import Entry, Side, Split, SplitCache
from equipoise.core.state import Effects, State


def ask(state: State) -> Effects:
    """Ask for a split of every size, for the time when the script gets no answer."""
    if not state.enough_players:
        return ()
    state.asked_cache = CacheSplits(state.memory.context, state.roster.eligible(), bench=state.arena)
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
    ids.sort(key=lambda player: -state.summaries[player].balance if player in state.summaries else 0.0)
    state.cache = SplitCache(tuple(ids), event.splits)
    return ()


def not_solved(state: State, question: CacheSplits) -> Effects:
    """The solver failed: the previous cache stays."""
    if question == state.asked_cache:
        state.asked_cache = None
    return ()


def adapted(state: State) -> Split | None:
    """The cached split for the players who are here; None without a cache, or when it holds none that is small enough.

    Commanders stay on their side: the others are split without them. Where one side alone has a commander, that may
    leave a gap of two, and then there is none either.
    """
    if state.cache is None:
        return None
    eligible = state.balanced_roster().eligible()
    split = from_cache(state.cache, [entry.id for entry in eligible if not _pinned(entry)], bench=state.arena)
    if split is None:
        return None
    on_a, on_b = (tuple(one.id for one in eligible if _pinned(one) and one.side is side) for side in Side)
    split = replace(split, a=(*split.a, *on_a), b=(*split.b, *on_b))
    return split if abs(len(split.a) - len(split.b)) < 2 or state.arena else None


def _pinned(entry: Entry) -> bool:
    return entry.commander and entry.side is not None
