"""A script introduces itself: its map's remembered session goes on, or a new one begins."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core import scrambles
from equipoise.core.asks import Moment
from equipoise.core.effects import Lock, LogDecision
from equipoise.core.events import Hello, Phase
from equipoise.core.model import Roster
from equipoise.core.state import Effects, State
from equipoise.core.triggers import Tally
from equipoise.core.voices import Voices

LATE_ROUNDS = 2
"""Rounds taken as played when a script is loaded in the middle of an unknown map: it goes on with round 3's rules, so
that the opening duel and round 2's scramble do not hit a running game."""


def hello(state: State, event: Hello, now: float) -> Effects:
    """Go by what the script says of its map, send it the locks that still hold, and ask for its roster."""
    dropped = _enter_map(state, event)
    spare = state.rules.autobalance.spare_minutes * 60
    state.memory = state.memory.without_expired(now, spare)
    state.known = True
    state.enter(event.phase, event.at)
    too_late = () if event.phase is Phase.FREEZE else scrambles.give_up(state, Moment.FREEZE)
    state.waiting, state.inactive_reason = event.waiting, event.inactive_reason
    state.wants = frozenset(("roster",)) if state.has_roster else frozenset()
    # A script that was loaded anew knows no locks.
    locks = tuple(
        Lock(player, held.side, None if held.until is None else held.until - now)
        for player, held in state.memory.locks.items()
        if state.balances
    )
    return (*dropped, *too_late, *locks, *(scrambles.due_after_waiting(state) if event.due else ()))


def _enter_map(state: State, event: Hello) -> Effects:
    """Continue the remembered session, or begin a new one."""
    old = state.memory
    if event.session == old.session:
        state.memory = replace(old, mode=event.mode)
        return ()
    if event.late and event.map == old.map:
        state.memory = replace(old, session=event.session, mode=event.mode)
        _forget_orders(state)
        return ()
    state.memory = old.next_map(event.session, event.map, event.mode)
    if event.late:
        state.memory = replace(state.memory, tally=Tally(completed=LATE_ROUNDS))
    _forget_map(state)
    return (LogDecision("dropped", old.pending),) if old.pending is not None else ()


def _forget_map(state: State) -> None:
    state.version += 1
    state.roster, state.cache, state.asked_cache = Roster(), None, None
    state.teams_made = False
    state.close_round()
    state.summaries.clear()
    _forget_orders(state)


def _forget_orders(state: State) -> None:
    """Forget orders and questions: the script that had them was loaded anew."""
    state.asked = state.asked_moves = state.gap_since = None
    state.voices = state.choice_voices = Voices()
    state.choice = None
    for outstanding in (state.assigned, state.moves, state.pending_joins):
        outstanding.clear()
