"""The rules of one game server as a state machine: `receive` an event, `tick` when the `deadline` has come.

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

from equipoise.core import (
    autobalance,
    commands,
    fallback,
    friends,
    joins,
    scrambles,
    shuffles,
    swap_offers,
    votes,
)
from equipoise.core import events as e
from equipoise.core.asks import AskChance, AskMoves, AskSide, AskSplit, AskSwitch, CacheSplits, LoadSummaries, Moment
from equipoise.core.bench import waiting_players
from equipoise.core.effects import Ignored, Lock, LogDecision, RecordRound, Say
from equipoise.core.memory import Memory
from equipoise.core.model import DueIf, Entry, Mode, Roster, Round, Side, SplitCache
from equipoise.core.participation import recorded, spoiled, winners
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.state import Effects, State, Voices
from equipoise.core.triggers import Outcome, Tally, due, due_if

LATE_ROUNDS = 2
"""Rounds taken as played when a script is loaded in the middle of an unknown map: it goes on with round 3's rules, so
that the opening duel and round 2's scramble do not hit a running game."""


class Session:
    """One server's session. All that a restart must not lose is in `memory`, which the caller stores."""

    def __init__(self, rules: Rules, memory: Memory | None = None) -> None:
        self._state = State(rules, memory or Memory())

    @property
    def state(self) -> State:
        """The session's state, to be read; callers never change it."""
        return self._state

    @property
    def memory(self) -> Memory:
        """The memory that must survive a restart; a new value whenever it has changed."""
        return self._state.memory

    @property
    def cache(self) -> SplitCache | None:
        """The splits the script falls back on; None: none were solved yet on this map."""
        return self._state.cache

    def copy(self) -> Session:
        """A session of its own in the same state: what happens to one leaves the other as it is."""
        twin = Session(self._state.rules)
        twin._state = self._state.copy()
        return twin

    def use(self, rules: Rules) -> None:
        """Go by these rules from now on. What was decided by the ones before stays decided."""
        self._state.rules = rules

    def hear(self, now: float) -> None:
        """Note that the script is alive, even if its batch is refused."""
        self._state.heard_at = now

    def due_if(self) -> tuple[DueIf, ...]:
        """Outcomes of the running round after which a scramble is due; the script uses them without the daemon."""
        state = self._state
        if not state.acts or state.waiting or state.memory.pending is not None or _walked_out(state) or state.map_ends:
            return ()
        if state.ns2:
            return shuffles.due_if(state)
        return due_if(state.memory.mode, state.memory.tally, state.rules)

    def lost(self, now: float) -> bool:
        """The script has been silent for too long."""
        heard = self._state.heard_at
        return heard is None or now - heard >= self._state.rules.silence_seconds

    def receive(self, event: e.Event, now: float) -> Effects:
        """Apply one event and return what to do about it, in order. `now` is in seconds, on the daemon's clock."""
        from_outside = isinstance(event, e.Commanded) and event.outside
        # Only the script's own events show that it is alive.
        if not isinstance(event, e.Answer) and not from_outside:
            self._state.heard_at = now
        effects = _RECEIVE[type(event)](self._state, event, now)
        return (*effects, *self._settle())

    def deadline(self) -> float | None:
        """When `tick` must be called, on the daemon's clock; None: nothing waits for time to pass."""
        return min((at for ends_at, _ in _TIMED if (at := ends_at(self._state)) is not None), default=None)

    def tick(self, now: float) -> Effects:
        """Give up what is overdue at `now`."""
        effects = [effect for _, give_up in _TIMED for effect in give_up(self._state, now)]
        return (*effects, *self._settle())

    def _settle(self) -> Effects:
        """Choices, votes, swaps and what is due end as soon as they are pointless; a choice that closes ends a vote."""
        state = self._state
        cancels = swap_offers.drop(state) if state.assigned else ()  # the sides that they name are of the old teams
        return (*cancels, *votes.settle_choice(state), *scrambles.end_with_map(state), *votes.settle(state))


def _ignore(state: State, event: e.Event) -> Effects:
    return (Ignored(event, state.phase),)


def _hello(state: State, event: e.Hello, now: float) -> Effects:
    """Go by what the script says of its map, send it the locks that still hold, and ask for its roster."""
    # First, because everything below reads the memory of the map that the script is on.
    drops = _enter_map(state, event)
    spare = state.rules.autobalance.spare_minutes * 60
    state.memory = state.memory.without_expired(now, spare)
    state.known, state.unseen = True, True
    state.enter(event.phase, event.at)
    # In the freeze an assignment that is under way is still in time.
    too_late = () if event.phase is e.Phase.FREEZE else scrambles.give_up(state, Moment.FREEZE)
    state.waiting, state.inactive_reason = event.waiting, event.inactive_reason
    state.wants = frozenset(("roster",)) if state.has_roster else frozenset()
    # A script that was loaded anew knows no locks.
    return (*drops, *too_late, *_locks(state, now), *(scrambles.due_after_waiting(state) if event.due else ()))


def _locks(state: State, now: float) -> Effects:
    """Return all locks, for a script that does not know them."""
    return tuple(
        Lock(player, lock.side, None if lock.until is None else lock.until - now)
        for player, lock in state.memory.locks.items()
        if state.balances and lock.holds(now)
    )


def _enter_map(state: State, event: e.Hello) -> Effects:
    """Continue the remembered session, or begin a new one."""
    old = state.memory
    # The same script on the same map: it was asked for a hello, or the daemon began anew.
    if event.session == old.session:
        state.memory = replace(old, mode=event.mode)
        return ()
    # The script was loaded again in the middle of the map: streak and locks go on, its orders are gone with it.
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
    state.teams_made, state.map_ends_at, state.asked_to_command = False, None, ()
    state.close_round()
    state.summaries.clear()
    _forget_orders(state)


def _forget_orders(state: State) -> None:
    """Forget orders and questions, without a line in the log: the script that had them was loaded anew."""
    state.asked = state.asked_moves = state.gap_since = None
    state.voices = state.choice_voices = Voices()
    state.choice = None
    state.admins_moves, state.cancelled = {}, {}
    state.swaps, state.swap_questions, state.swap_invitations, state.volunteers = (), {}, {}, {}
    for orders in (state.assigned, state.moves, state.pending_joins):
        orders.clear()


def _roster(state: State, event: e.RosterSeen, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    state.wants = frozenset()
    state.ends_at = None if event.ends_in is None else now + event.ends_in
    state.map_ends_at = None if event.map_ends_in is None else now + event.map_ends_in
    # One line for as long as one reason holds; another reason is worth another line.
    state.no_moves, state.no_moves_logged = event.no_moves, state.no_moves_logged and event.no_moves == state.no_moves
    before = state.roster
    state.accept_roster(event.roster)
    new_colours = () if before.entries else _swapped_before_restart(state, now)
    locks = (*new_colours, *joins.keep_locks(state, before, now))
    # Before what is due is ordered: an empty arena server has nothing due.
    empty = _last_human_left(state)
    return (*locks, *empty, *scrambles.announce(state), *_seen(state, now), *fallback.ask_first(state))


def _swapped_before_restart(state: State, now: float) -> Effects:
    """Swap streak and locks if most of several who are locked stand on the other side: a kill lost that message."""
    apart = [
        lock.side is not entry.side
        for entry in state.roster.entries
        if entry.side is not None and (lock := state.held_side(entry.id, now)) is not None
    ]
    if sum(apart) <= max(1, len(apart) // 2):
        return ()
    state.memory = state.memory.switched()
    return _locks(state, now)


def _last_human_left(state: State) -> Effects:
    """Arena: an empty server ends what is pending, the streak and the turns on the bench."""
    if not state.arena or not _is_empty(state):
        return ()
    reason = state.memory.pending
    state.memory, state.teams_made = state.memory.emptied(), False
    return (LogDecision("dropped", reason),) if reason is not None else ()


def _is_empty(state: State) -> bool:
    # Before its first roster the session does not know who is here.
    return "roster" not in state.wants and not state.roster.humans()


def _seen(state: State, now: float) -> Effects:
    """After a change of the roster: load missing ratings, then order what is due; NS2: ask who could command."""
    if state.ns2 and state.phase is e.Phase.OVER and not any(entry.side for entry in state.roster.humans()):
        state.phase = e.Phase.IDLE  # the game has put all into the ready room: the round is over for good
    asks = (*scrambles.before_chairs(state), *shuffles.ask_commanders(state)) if state.ns2 else ()
    return (*_load_missing(state), *_look(state, now), *asks)


def _look(state: State, now: float) -> Effects:
    """Order what is due in this phase."""
    return (*scrambles.in_freeze(state), *autobalance.check(state, now))


def _load_missing(state: State) -> Effects:
    players = state.without_summary()
    return (LoadSummaries(players),) if players else ()


def _joined(state: State, event: e.PlayerJoined, now: float) -> Effects:
    return (LoadSummaries((event.id,)),)


def _left(state: State, event: e.PlayerLeft, now: float) -> Effects:
    # Who asked for a side before any roster named them waits in `pending_joins` alone.
    if state.roster.get(event.id) is None and event.id not in state.pending_joins:
        return _ignore(state, event)
    state.pending_joins.pop(event.id, None)
    autobalance.leave(state, event.id)
    state.set_roster(state.roster.without(event.id))
    return (*_last_human_left(state), *swap_offers.leave(state, event.id), *_look(state, now))


def _changed(state: State, event: e.SideChanged, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    before = state.roster
    old = before.get(event.id) or Entry(event.id, None)
    state.put(replace(old.moved(event.side, waiting=event.waiting), ready=event.ready, held=event.held))
    return (*joins.keep_locks(state, before, now), *_seen(state, now))


def _switched(state: State, event: e.SidesSwitched, now: float) -> Effects:
    # Not `known`: after a restart of the daemon this may come before the script's hello, and the remembered streak and
    # locks have to change colour all the same.
    if not state.memory.session:
        return _ignore(state, event)
    # Moves name a colour, which now is the other team's.
    cancels = (*autobalance.drop(state), *swap_offers.drop(state))
    volunteers = {player: side.other for player, side in state.volunteers.items()}
    entries = [replace(entry, side=entry.side and entry.side.other) for entry in state.roster.entries]
    state.set_roster(Roster(tuple(entries)))
    state.volunteers, state.memory = volunteers, state.memory.switched()
    return (*cancels, *autobalance.check(state, now))


def _waiting_ended(state: State, event: e.WaitingEnded, now: float) -> Effects:
    # After a counted round the message is late: that round said already that waiting is over.
    if not state.memory.session or not (state.waiting or state.memory.tally.completed == 0):
        return _ignore(state, event)
    return (*_end_waiting(state), *scrambles.in_freeze(state))


def _end_waiting(state: State) -> Effects:
    state.waiting = False
    return scrambles.due_after_waiting(state)


def _started(state: State, event: e.RoundStarted, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    # Whatever phase it was: a round may be started again in its middle, by an admin or by the game.
    state.enter(e.Phase.FREEZE, event.at)
    state.close_round()
    # A split that is still being solved was for the round before: its answer finds no question and is dropped.
    state.asked, state.attempts, state.unmovable, state.even_version = None, 0, frozenset(), None
    # An aborted freeze is not followed by `round_live`, which ends this mark elsewhere.
    if state.ns2:
        state.teams_made = False
    # Before the roster: moves and assignments were for the sides of the last round.
    too_late = (*autobalance.drop(state), *swap_offers.drop(state), *scrambles.give_up(state, *Moment))
    before = state.roster
    state.accept_roster(event.roster)
    locks = joins.keep_locks(state, before, now)
    return (*too_late, *locks, *_load_missing(state), *scrambles.in_freeze(state))


def _live(state: State, event: e.RoundLive, now: float) -> Effects:
    if not state.known:
        return _ignore(state, event)
    # Assignments for `NOW` may still be carried out.
    too_late = scrambles.give_up(state, Moment.FREEZE)
    state.enter(e.Phase.RUNNING, event.at)
    before = state.roster
    state.accept_roster(event.roster)
    locks = joins.keep_locks(state, before, now)
    state.round, state.skill_at_start, state.teams_made = event.round, None, False
    if state.memory.skip:
        state.memory = replace(state.memory, skip=False)
    state.live_at = now
    # In arena a player who stands on a side without a class, or died in the freeze, does not play the round.
    players = {entry.id for entry in state.roster.entries if entry.alive or not state.arena}
    state.lineup = {entry.id: side for side in Side for entry in state.roster.on(side) if entry.id in players}
    chairs = [(entry.id, entry.side) for entry in state.roster.humans() if entry.commander and entry.side]
    answers = shuffles.note_answers(state, [player for player, _ in chairs])
    if chairs:
        state.memory = state.memory.command(chairs)
    # Who is on no side now sits out this round: it counts as their turn on the bench.
    if state.arena and not state.waiting and not _walked_out(state):
        # Sorted: the order of a set differs from process to process, and memories are compared and cut by order.
        state.memory = state.memory.bench(tuple(sorted(waiting_players(state.roster))))
    _note_skill_at_start(state)
    return (*too_late, *locks, *answers, *_load_missing(state), *autobalance.check(state, now))


def _aborted(state: State, event: e.RoundAborted, now: float) -> Effects:
    if state.phase is not e.Phase.FREEZE:
        return _ignore(state, event)
    assert event.at is not None  # `wire` sets the batch's time where the script gave none
    state.enter(e.Phase.IDLE, event.at)
    return scrambles.give_up(state, Moment.FREEZE)


def _walked_out(state: State) -> bool:
    """A side of arena was empty when the running round went live: the round counts for nothing."""
    return state.arena and state.round is not None and set(state.lineup.values()) != set(Side)


def _note_skill_at_start(state: State) -> None:
    """Note the lineup's skills as soon as all of them are loaded: the round's prediction is made from them."""
    if (
        state.round is not None
        and state.skill_at_start is None
        and all(player in state.summaries for player in state.lineup)
    ):
        state.skill_at_start = {player: state.summaries[player].rated_on(side) for player, side in state.lineup.items()}


def _ended(state: State, event: e.RoundEnded, now: float) -> Effects:
    game_round, skill_at_start = event.round, None
    if game_round.id == state.round:  # what is known of a running round says nothing of one that was sent late
        game_round, skill_at_start = replace(game_round, squads=friends.squads(state, game_round)), state.skill_at_start
    # Before anything else changes: what is recorded must not depend on whether the round still counts here.
    record = recorded(game_round, state.rules, skill_at_start)
    # A round of an earlier map, or one that is sent again, is recorded and leaves this session as it is.
    if game_round.session != state.memory.session or game_round.id in state.memory.counted:
        return (record,)
    effects: Effects = ()
    # If the script did not see the running round go live, its id is not known, and only the time tells it from an older
    # one that was sent late.
    if game_round.id == state.round or (state.round is None and event.at >= state.phase_at):
        # Players read why a round gave no ratings only right after it: of one sent late they know no more which it was.
        effects = (*_stop(state, event), *_tell_unrated(state, record))
        if state.waiting and not game_round.waiting:
            # A script that never says that waiting ended would get no order on this map.
            effects = (*effects, *_end_waiting(state))
    # A round that was sent late may make a scramble due in the freeze that runs by now.
    return (record, *effects, *_count(state, event), *fallback.ask(state), *scrambles.in_freeze(state))


def _stop(state: State, event: e.RoundEnded) -> Effects:
    # Not of a round that was over before the hello: the script has said in which phase it is since.
    if event.at >= state.phase_at:
        # NS2: a reset ends a round at once, and none is being celebrated.
        state.enter(e.Phase.IDLE if _is_abandoned(event.round) else e.Phase.OVER, event.at)
    state.close_round()
    return (*autobalance.drop(state), *swap_offers.drop(state))


def _tell_unrated(state: State, record: RecordRound) -> Effects:
    """Players wait for the ratings of a round that they played to its end: one that gives none says why."""
    reason = spoiled(record.round)
    if reason is None or record.unrated != reason.value:
        return ()
    text = Text(reason)
    return (LogDecision("unrated", text), *((Say(Text(Phrase.UNRATED)), Say(text)) if state.enforces else ()))


def _is_abandoned(game_round: Round) -> bool:
    """NS2: the game was reset, or the map changed, in the middle of the round."""
    return game_round.mode is Mode.NS2 and game_round.partial


def _count(state: State, event: e.RoundEnded) -> Effects:
    """Count a finished round, and make a scramble due if a trigger says so."""
    game_round = event.round
    # None of these shows which team is the better one, so none belongs to a streak.
    if game_round.waiting or game_round.walk_out or _is_abandoned(game_round):
        return ()
    # Counted before the triggers are asked: `due` expects a tally with this round in it.
    tally = state.memory.tally.after(game_round.winner)
    state.memory = state.memory.count(game_round.id, tally, winners(game_round))
    if state.arena and _is_empty(state):
        # Counted, the round that the last human left would make the next one round 2.
        return _last_human_left(state)
    reason = due(state.memory.mode, tally, Outcome.of(game_round), state.rules)
    return scrambles.make_due(state, reason) if reason and state.enforces and not state.map_ends else ()


def _alone(state: State, event: e.ScrambledAlone, now: float) -> Effects:
    if not state.memory.session:
        return _ignore(state, event)
    return (*votes.cancel(state), *scrambles.alone(state, event, now))


def _order_done(state: State, event: e.OrderDone, now: float) -> Effects:
    if event.order in state.assigned:
        return (*scrambles.done(state, event, now), *autobalance.check(state, now))
    if event.order in state.moves or event.order in state.cancelled:
        # An assignment and a move never share an id (`State.next_order`),
        # so that the order of these branches decides nothing.
        return autobalance.done(state, event.order, now)
    if event.order in state.admins_moves:
        return commands.move_done(state, event.order, now)
    if (swap := swap_offers.of(state, event.order)) is not None:
        return swap_offers.done(state, swap, event.order, now)
    return _ignore(state, event)


def _order_failed(state: State, event: e.OrderFailed, now: float) -> Effects:
    if event.order in state.assigned:
        return scrambles.failed(state, event)
    if event.order in state.moves:
        return autobalance.failed(state, event, now)
    if event.order in state.admins_moves:
        return commands.move_failed(state, event)
    if (swap := swap_offers.of(state, event.order)) is not None:
        return swap_offers.failed(state, swap, event, now)
    if event.order == state.voices.order:
        return votes.failed(state, event.order, event.reason)
    return _ignore(state, event)


def _vote_ended(state: State, event: e.VoteEnded, now: float) -> Effects:
    return votes.ended(state, event, now) if event.order == state.voices.order else _ignore(state, event)


def _summaries(state: State, event: e.SummariesLoaded, now: float) -> Effects:
    state.learn(event.summaries)
    _note_skill_at_start(state)
    return joins.summaries_loaded(state, now)


def _not_solved(state: State, event: e.SolveFailed, now: float) -> Effects:
    """Go on without the answer: what waits for it must not wait for ever."""
    match event.ask:
        case AskSplit():
            return scrambles.not_solved(state, event.ask)
        case AskMoves():
            return autobalance.not_solved(state, event.ask)
        case CacheSplits():
            return fallback.not_solved(state, event.ask)
        case AskSwitch() if event.ask.partner is not None:
            return swap_offers.no_answer(state, event.ask)
        case AskSide() | AskSwitch():
            return joins.no_answer(state, event.ask, now)
        case LoadSummaries():
            return joins.summaries_not_loaded(state, now)
        case AskChance():
            return votes.chance_not_found(state, event.ask, now)


_TIMED = (
    (autobalance.overdue_at, autobalance.overdue),
    (joins.overdue_at, joins.overdue),
    (swap_offers.overdue_at, swap_offers.overdue),
    (votes.overdue_at, votes.overdue),
    (votes.choice_ends_at, votes.close_choice_in_time),
)
"""Each moment that the session waits for, and the function that ends the wait.

Assignments are not here: the next phase of the round gives them up.
"""

_RECEIVE: dict[type, Callable[[State, Any, float], Effects]] = {
    e.Hello: _hello,
    e.RosterSeen: _roster,
    e.PlayerJoined: _joined,
    e.PlayerLeft: _left,
    e.SideChanged: _changed,
    e.SideWanted: joins.side_wanted,
    e.SidesSwitched: _switched,
    e.WaitingEnded: _waiting_ended,
    e.RoundStarted: _started,
    e.RoundLive: _live,
    e.RoundAborted: _aborted,
    e.RoundEnded: _ended,
    e.ScrambledAlone: _alone,
    e.OrderDone: _order_done,
    e.OrderFailed: _order_failed,
    e.VoteEnded: _vote_ended,
    e.Commanded: commands.obey,
    e.Heartbeat: lambda state, event, now: _look(state, now),
    e.SummariesLoaded: _summaries,
    e.SplitSolved: lambda state, event, now: scrambles.solved(state, event),
    e.MovesSolved: autobalance.solved,
    e.SideFound: joins.answered,
    e.SwitchJudged: lambda state, event, now: (
        joins.answered(state, event, now) if event.ask.partner is None else swap_offers.judged(state, event, now)
    ),
    e.ChanceFound: votes.chance_found,
    e.SplitsCached: lambda state, event, now: fallback.keep(state, event),
    e.SolveFailed: _not_solved,
}
