"""One game server's life on one map: `receive` what happened, `tick` when the `deadline` has come.

Pure: time is an argument, effects are returned, nothing is done here. An event that does not fit the phase returns
`Ignored` and changes nothing, because game servers restart in the middle of everything. After calling `receive` or
`tick` the caller must carry out the effects in order, feed answers back, and ask for `deadline` again.

A round goes IDLE → FREEZE (round_started: splits are ordered) → RUNNING (round_live: gaps are closed) → OVER
(round_ended: the round is counted and recorded, a scramble may become due) → FREEZE …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from equipoise.core import autobalance as gaps
from equipoise.core import commands, places, scrambles
from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit, CacheSplits, LoadSummaries, Moment
from equipoise.core.bench import who_waited
from equipoise.core.effects import Ignored, Lock, LogDecision
from equipoise.core.memory import Memory
from equipoise.core.model import DueIf, Mode, Roster, Side, SplitCache
from equipoise.core.participation import recorded
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.state import Effects, State
from equipoise.core.triggers import Outcome, Tally, due, due_if

LATE_ROUNDS = 2
"""Rounds that a late load without stored state takes as played: it starts under round 3's rules."""


class Session:
    """The rules of one server, applied to what happens there."""

    def __init__(self, rules: Rules, memory: Memory | None = None) -> None:
        self._state = State(rules, memory or Memory())

    @property
    def state(self) -> State:
        """What the session knows; read it, do not change it."""
        return self._state

    @property
    def memory(self) -> Memory:
        """What must survive a restart."""
        return self._state.memory

    @property
    def cache(self) -> SplitCache | None:
        """The splits the script falls back on."""
        return self._state.cache

    def due_if(self) -> tuple[DueIf, ...]:
        """Outcomes of the running round that would make a scramble due."""
        state = self._state
        if not state.acts or state.waiting or state.memory.pending is not None:
            return ()
        return due_if(state.memory.mode, state.memory.tally, state.rules)

    def lost(self, now: float) -> bool:
        """Whether the script has been silent too long."""
        heard = self._state.heard_at
        return heard is None or now - heard >= self._state.rules.silence_seconds

    def receive(self, event: e.Event, now: float) -> Effects:
        """Take in one event; returns what to do about it."""
        if not isinstance(event, e.Answer):
            self._state.heard_at = now
        return _RECEIVE[type(event)](self._state, event, now)

    def deadline(self) -> float | None:
        """When `tick` must be called at the latest; None: never, as things stand."""
        return gaps.overdue_at(self._state)

    def tick(self, now: float) -> Effects:
        """Time has passed."""
        return gaps.overdue(self._state, now)


def _ignore(state: State, event: e.Event) -> Effects:
    return (Ignored(event, state.phase),)


def _hello(state: State, event: e.Hello, now: float) -> Effects:
    dropped = _enter_map(state, event)
    spare = state.rules.autobalance.spare_minutes * 60
    state.memory = state.memory.without_expired(now, spare)
    state.known = True
    state.enter(event.phase, event.at)
    state.waiting, state.inactive_reason = event.waiting, event.inactive_reason
    state.wants = frozenset(("roster",))
    owed = _due_after_waiting(state) if event.due else ()
    return (*dropped, *_locks_again(state, now), *owed)


def _locks_again(state: State, now: float) -> Effects:
    """A script that was loaded anew knows no locks."""
    return tuple(
        Lock(player, kept.side, None if kept.until is None else kept.until - now)
        for player, kept in state.memory.locks.items()
    )


def _enter_map(state: State, event: e.Hello) -> Effects:
    """Go on with the remembered session, or begin a new one."""
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
    """The script that had them is not there any more."""
    state.asked = state.asked_moves = state.gap_since = None
    for outstanding in (state.assigned, state.moves, state.wanting):
        outstanding.clear()


def _roster(state: State, event: e.RosterSeen, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    state.wants = frozenset()
    state.ends_at = None if event.ends_in is None else now + event.ends_in
    state.hear(event.roster)
    return (*_seen(state, now), *scrambles.ask_first_cache(state))


def _seen(state: State, now: float) -> Effects:
    """The roster may have changed: what is due in this phase?"""
    return (*_load_strangers(state), *_look(state, now))


def _look(state: State, now: float) -> Effects:
    return (*scrambles.in_freeze(state), *gaps.check(state, now))


def _load_strangers(state: State) -> Effects:
    strangers = state.strangers()
    return (LoadSummaries(strangers),) if strangers else ()


def _joined(state: State, event: e.PlayerJoined, now: float) -> Effects:
    return (LoadSummaries((event.id,)),)


def _left(state: State, event: e.PlayerLeft, now: float) -> Effects:
    if state.roster.get(event.id) is None and event.id not in state.wanting:
        return _ignore(state, event)
    state.wanting.pop(event.id, None)
    gaps.leave(state, event.id)
    state.see(state.roster.without(event.id))
    return _look(state, now)


def _changed(state: State, event: e.SideChanged, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    state.seat(event.id, event.side, waiting=event.waiting)
    return _seen(state, now)


def _wanted(state: State, event: e.SideWanted, now: float) -> Effects:
    return places.wanted(state, event, now)


def _switched(state: State, event: e.SidesSwitched, now: float) -> Effects:
    if not state.memory.session:
        return _ignore(state, event)
    cancelled = gaps.drop(state)
    other = [replace(entry, side=entry.side and entry.side.other) for entry in state.roster.entries]
    state.see(Roster(tuple(other)))
    state.memory = state.memory.switched()
    return (*cancelled, *gaps.check(state, now))


def _waiting_ended(state: State, event: e.WaitingEnded, now: float) -> Effects:
    if not state.memory.session or not (state.waiting or state.memory.tally.completed == 0):
        return _ignore(state, event)
    state.waiting = False
    return (*_due_after_waiting(state), *scrambles.in_freeze(state))


def _due_after_waiting(state: State) -> Effects:
    # In arena round 2 takes this place; NS2 has no such moment.
    if state.memory.mode in (Mode.ARENA, Mode.NS2) or not state.enforces:
        return ()
    return scrambles.make_due(state, Text(Phrase.REASON_WAITING_ENDED))


def _started(state: State, event: e.RoundStarted, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    state.enter(e.Phase.FREEZE, event.at)
    state.close_round()
    state.asked, state.attempts, state.unmovable = None, 0, frozenset()
    too_late = (*gaps.drop(state), *scrambles.give_up(state, *Moment))
    state.hear(event.roster)
    return (*too_late, *_load_strangers(state), *scrambles.in_freeze(state))


def _lineup(state: State, event: e.RoundLive, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    # One for `NOW` may still be carried out.
    too_late = scrambles.give_up(state, Moment.FREEZE)
    state.enter(e.Phase.RUNNING, event.at)
    state.hear(event.roster)
    state.round, state.skill_at_start, state.teams_made = event.round, None, False
    state.lineup = {entry.id: side for side in Side for entry in state.roster.on(side)}
    if state.arena and not state.waiting:
        state.memory = state.memory.bench(tuple(sorted(who_waited(state.roster))))
    _note_skill_at_start(state)
    return (*too_late, *_load_strangers(state), *gaps.check(state, now))


def _note_skill_at_start(state: State) -> None:
    """Remember the ratings at the doors, once all of them are known."""
    if (
        state.round is not None
        and state.skill_at_start is None
        and all(player in state.summaries for player in state.lineup)
    ):
        state.skill_at_start = {player: state.summaries[player].on(side) for player, side in state.lineup.items()}


def _ended(state: State, event: e.RoundEnded, now: float) -> Effects:
    round = event.round
    skill_at_start = state.skill_at_start if round.id == state.round else None
    record = recorded(round, state.rules, skill_at_start)
    if round.session != state.memory.session or round.id in state.memory.counted:
        return (record,)
    stopped = _stop(state, event) if _is_running(state, event) else ()
    return (record, *stopped, *_count(state, event), *scrambles.ask_cache(state), *scrambles.in_freeze(state))


def _is_running(state: State, event: e.RoundEnded) -> bool:
    """Not one that ended before this phase began and is told late; its doors need not have been seen."""
    return event.round.id == state.round or (state.round is None and event.at >= state.phase_at)


def _stop(state: State, event: e.RoundEnded) -> Effects:
    state.enter(e.Phase.OVER, event.at)
    state.close_round()
    return gaps.drop(state)


def _count(state: State, event: e.RoundEnded) -> Effects:
    """The rules' part of a finished round."""
    round = event.round
    if round.waiting:
        return ()
    tally = state.memory.tally.after(round.winner)
    state.memory = state.memory.count(round.id, tally)
    reason = due(state.memory.mode, tally, Outcome.of(round), state.rules)
    return scrambles.make_due(state, reason) if reason and state.enforces else ()


def _alone(state: State, event: e.ScrambledAlone, now: float) -> Effects:
    return scrambles.alone(state, event, now) if state.memory.session else _ignore(state, event)


def _order_done(state: State, event: e.OrderDone, now: float) -> Effects:
    if event.order in state.assigned:
        return (*scrambles.done(state, event.order, now), *gaps.check(state, now))
    if event.order in state.moves:
        return gaps.done(state, event.order, now)
    return _ignore(state, event)


def _order_failed(state: State, event: e.OrderFailed, now: float) -> Effects:
    if event.order in state.assigned:
        return scrambles.failed(state, event.order)
    if event.order in state.moves:
        return gaps.failed(state, event.order, now)
    return _ignore(state, event)


def _summaries(state: State, event: e.SummariesLoaded, now: float) -> Effects:
    state.summaries.update({summary.id: summary for summary in event.summaries})
    _note_skill_at_start(state)
    return places.known(state, now)


def _not_solved(state: State, event: e.SolveFailed, now: float) -> Effects:
    match event.ask:
        case AskSplit():
            return scrambles.not_solved(state, event.ask)
        case AskMoves():
            return gaps.not_solved(state, event.ask)
        case CacheSplits():
            return scrambles.not_cached(state, event.ask)


_RECEIVE: dict[type, Callable[[State, Any, float], Effects]] = {
    e.Hello: _hello,
    e.RosterSeen: _roster,
    e.PlayerJoined: _joined,
    e.PlayerLeft: _left,
    e.SideChanged: _changed,
    e.SideWanted: _wanted,
    e.SidesSwitched: _switched,
    e.WaitingEnded: _waiting_ended,
    e.RoundStarted: _started,
    e.RoundLive: _lineup,
    e.RoundEnded: _ended,
    e.ScrambledAlone: _alone,
    e.OrderDone: _order_done,
    e.OrderFailed: _order_failed,
    e.Commanded: commands.obey,
    e.Heartbeat: lambda state, event, now: _look(state, now),
    e.SummariesLoaded: _summaries,
    e.SplitSolved: lambda state, event, now: scrambles.solved(state, event),
    e.MovesSolved: gaps.solved,
    e.SplitsCached: lambda state, event, now: scrambles.cached(state, event),
    e.SolveFailed: _not_solved,
}
