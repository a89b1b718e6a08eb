"""Answers to players who want a side."""

from __future__ import annotations

from equipoise.core.asks import LoadSummaries
from equipoise.core.effects import LogDecision, Place
from equipoise.core.events import Phase, SideWanted
from equipoise.core.joins import Placement, answer_switch, place_joiner, refused, sizes
from equipoise.core.model import Entry, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import Effects, State


def wanted(state: State, event: SideWanted, now: float) -> Effects:
    """Answer at once, or as soon as everybody's rating is known."""
    missing = state.strangers(event.id) if state.acts else ()
    if missing:
        state.wanting[event.id] = event
        return (LoadSummaries(missing),)
    return _answer(state, event, now)


def known(state: State, now: float) -> Effects:
    """Ratings arrived: answer whoever waited for them."""
    waiting, state.wanting = state.wanting, {}
    return tuple(effect for event in waiting.values() for effect in _answer(state, event, now))


def _answer(state: State, event: SideWanted, now: float) -> Effects:
    entry = state.roster.get(event.id) or Entry(event.id, None)
    if not state.acts:
        return (Place(event.id, event.side or _smaller(state), Text(Phrase.REASON_ALLOWED)),)
    if state.arena and entry.side is None and state.phase in (Phase.FREEZE, Phase.RUNNING):
        state.seat(event.id, None, waiting=True)
        return (Place(event.id, None, Text(Phrase.REASON_WAITS)),)
    placement = _place(state, entry, event, now)
    if refused(placement):
        return (Place(event.id, placement.side, placement.reason),)
    return _seat(state, entry, placement, now)


def _smaller(state: State) -> Side:
    return min(Side, key=sizes(state.roster).__getitem__)


def _place(state: State, entry: Entry, event: SideWanted, now: float) -> Placement:
    kept = state.kept(event.id, now)
    if entry.side is None:
        return place_joiner(state.roster, event.id, event.side, kept, {side: state.side_skills(side) for side in Side})
    return answer_switch(state.roster, entry, event.side, kept, now)


def _seat(state: State, entry: Entry, placement: Placement, now: float) -> Effects:
    """Placement is binding, but not while teams are about to be made anew. A switch takes an old lock along."""
    place = Place(entry.id, placement.side, placement.reason)
    if entry.side is placement.side:
        return (place,)
    state.seat(entry.id, placement.side)
    log = LogDecision("place", placement.reason, players=(entry.id,))
    return (place, log, *_lock(state, entry, placement.side, now))


def _lock(state: State, entry: Entry, side: Side, now: float) -> Effects:
    if state.waiting:
        return ()
    if entry.side is None:
        return state.lock({entry.id: side}, now)
    kept = state.kept(entry.id, now)
    return () if kept is None else state.lock_until({entry.id: side}, kept.until, now)
