"""The splits that a script falls back on when the daemon does not answer, and the daemon when its solver fails."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core.asks import CacheSplits
from equipoise.core.events import SplitsCached
from equipoise.core.fallback import from_cache
from equipoise.core.model import PlayerId, Side, Split, SplitCache
from equipoise.core.state import Effects, State


def ask(state: State) -> Effects:
    """Ask for a split of every size, for the time when the script gets no answer."""
    if not state.enough_players:
        return ()
    state.asked_cache = CacheSplits(
        state.memory.context, state.roster.eligible(), bench=state.arena, must_play=always_play(state)
    )
    return (state.asked_cache,)


def always_play(state: State) -> frozenset[PlayerId]:
    """Who is never benched by a split of any size: the highest rated player, by SynElo's original rules."""
    if not state.rules.scramble.top_player_always_plays:
        return frozenset()
    rated = [summary for entry in state.balanced_roster().eligible() if (summary := state.summaries.get(entry.id))]
    return frozenset(summary.id for summary in sorted(rated, key=lambda summary: -summary.balance)[:1])


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
    """The cached split for the players who are here; None without a cache, or when it holds none that fits.

    Commanders and who is held stay on their side and count there: the others are split so that the sides are even with
    them.
    """
    if state.cache is None:
        return None
    eligible = state.balanced_roster().eligible()
    on_a, on_b = (tuple(one.id for one in eligible if one.stays and one.side is side) for side in Side)
    others = [entry.id for entry in eligible if not entry.stays]
    split = from_cache(state.cache, others, bench=state.arena, lead=len(on_a) - len(on_b))
    return None if split is None else replace(split, a=(*split.a, *on_a), b=(*split.b, *on_b))
