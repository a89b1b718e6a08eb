"""A server that obeys every order, and the laws that every answer of its session must keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from equipoise.core import events as e
from equipoise.core.asks import Ask, AskMoves, Moment, Purpose
from equipoise.core.autobalance import NO_DEADLINE, can_move
from equipoise.core.effects import (
    Assign,
    Cancel,
    Effect,
    Ignored,
    Lock,
    LogDecision,
    Move,
    OpenVote,
    Order,
    Place,
    Say,
    Unlock,
)
from equipoise.core.model import Mode, OrderId, PlayerId, Roster, Side, Split
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.core.state import Stage, State
from tests.core.answerer import answer
from tests.core.scripts import ids, roster_text

PLAYERS = ids("abcdefg12")
RATINGS = {player: 1500.0 + 170.0 * n**1.5 for n, player in enumerate(PLAYERS)}


def frozen(state: State) -> State:
    """The state as it is now."""
    copies = {name: dict(getattr(state, name)) for name in ("summaries", "assigned", "moves", "pending_joins")}
    return replace(state, **copies)  # type: ignore[arg-type]


class LawfulServer:
    """A server whose `happens` and `tick` check every effect of the session against the laws."""

    def __init__(self) -> None:
        super().__init__()
        self.mode, self.rules = Mode.OTHER, Rules()
        self.session = Session(self.rules)
        self.prompt = False
        """The shell answers at once."""
        self.now = 0.0
        self.roster = Roster()
        self.asks: list[tuple[Ask, e.Answer]] = []
        self.orders: list[Assign | Move] = []
        self.votes: list[OpenVote] = []
        self.given: set[OrderId] = set()

    def happens(self, event: e.Event) -> list[Effect]:
        before, memory = frozen(self.session.state), self.session.memory
        effects = self.session.receive(event, self.now)
        self.judge_event(event, before, effects)
        if any(isinstance(effect, Ignored) for effect in effects):
            assert (len(effects), self.session.state) == (1, before)
        if memory.pending is not None and self.session.memory.pending is None:
            self.may_end(event, before)
        self.judge(effects)
        if self.prompt:
            self.all_asks_answered()
        return list(effects)

    def may_end(self, event: e.Event, before: State) -> None:
        """A pending scramble ends by being carried out, when its split moves nobody, by a cancel, with the map, or in
        arena with the last human. What no admin ordered also ends when the map's last minutes begin."""
        pending = before.memory.pending
        if self.session.state.map_ends and pending is not None and pending.phrase is not Phrase.REASON_ADMIN:
            return
        match event:
            case e.PlayerLeft() | e.RosterSeen():
                assert self.session.state.arena
                assert not self.session.state.roster.humans()
            case e.OrderDone():
                assert before.assigned[event.order].ask.purpose in (Purpose.SCRAMBLE, Purpose.SHUFFLE)
            case e.SplitSolved():
                assert event.ask.purpose in (Purpose.SCRAMBLE, Purpose.SHUFFLE)
                assert not event.moved()
            case e.Commanded():
                assert event.words in (("scramble", "cancel"), ("shuffle", "cancel"))
            case e.Hello():
                assert event.session != before.memory.session
            case _:
                assert isinstance(event, e.ScrambledAlone)

    def judge_event(self, event: e.Event, before: State, effects: Iterable[Effect]) -> None:
        state = self.session.state
        if any(isinstance(effect, LogDecision) and effect.kind == "pending" for effect in effects):
            assert before.memory.pending is None
        for place in (effect for effect in effects if isinstance(effect, Place)):
            self.judge_place(place, before)
        if isinstance(event, e.RoundEnded) and event.round.partial and state.ns2:
            assert (state.memory.tally, state.memory.counted) == (before.memory.tally, before.memory.counted)
            assert state.phase in (before.phase, e.Phase.IDLE)
        restarts = [effect for effect in effects if effect == Say(Text(Phrase.SHUFFLE_RESTARTS))]
        ordered = [effect for effect in effects if isinstance(effect, Assign) and effect.moment is Moment.NOW]
        assert len(restarts) == (state.ns2 and state.phase is e.Phase.RUNNING and len(ordered))

    def judge_place(self, place: Place, before: State) -> None:
        """A locked player goes elsewhere only from a side that is larger by two, or instead of opening such a gap."""
        held, entry, count = (
            before.held_side(place.player, self.now),
            before.roster.get(place.player),
            before.roster.sizes(),
        )
        if held is None or place.side is not held.side.other or not before.acts:
            return
        already_there = entry is not None and entry.side is place.side
        there = entry is not None and entry.side is held.side
        assert already_there or count[held.side] - count[held.side.other] >= (2 if there else 1)

    def judge(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Order | LogDecision):
                hash(effect)
            if isinstance(effect, Ask):
                self.note(effect)
            else:
                self.judge_one(effect)

    def note(self, ask: Ask) -> None:
        answered = answer(ask, RATINGS)
        assert not isinstance(answered, e.SolveFailed)
        self.asks.append((ask, answered))
        if isinstance(ask, AskMoves):
            assert len(ask.movable) >= ask.count > 0
            assert ask.cost.keys() == set(ask.movable)

    def judge_one(self, effect: Effect) -> None:
        if isinstance(effect, Assign | Move | Place | Lock | OpenVote):
            # Who asked before a reload changed the level still gets an answer: the side that they want.
            as_wished = isinstance(effect, Place) and effect.reason.phrase is Phrase.REASON_ALLOWED
            assert self.session.state.map_level.level == "balance" or as_wished
        match effect:
            case Assign():
                self.judge_assign(effect)
            case Move():
                self.judge_move(effect)
            case Place():
                self.obey(effect)
            case OpenVote():
                self.judge_vote(effect)
            case Lock():
                assert not effect.player.startswith("bot:")
            case Cancel():
                assert effect.order in self.given
            case Unlock():
                assert not set(effect.ids) & self.session.memory.locks.keys()

    def obey(self, place: Place) -> None:
        """The player joins the side at once; the script reports it with the next roster."""
        if (entry := self.roster.get(place.player)) is not None:
            self.roster = self.roster.with_entry(entry.moved(place.side, waiting=place.side is None))

    def new(self, order: Assign | Move) -> None:
        assert order.order not in self.given
        self.given.add(order.order)
        self.orders.append(order)

    def judge_vote(self, vote: OpenVote) -> None:
        assert vote.order not in self.given
        self.given.add(vote.order)
        self.votes.append(vote)
        state = self.session.state
        assert state.acts
        assert not state.ns2
        assert state.voices.order == vote.order
        assert state.memory.pending is None
        assert len(state.roster.eligible()) >= self.rules.vote.min_players

    def judge_assign(self, order: Assign) -> None:
        self.new(order)
        here, split = self.session.state.balanced_roster(), order.split
        event = self.session.state.assigned[order.order]
        placed = (*split.a, *split.b, *split.bench)
        assert len(placed) == len(set(placed))
        others = self.benched_beside(split)
        eligible = {entry.id for entry in here.eligible()}
        lately = set(self.session.state.watching_since)
        watchers = lately if event.ask.purpose is Purpose.SCRAMBLE else set()
        assert eligible <= set(placed) - others <= eligible | watchers
        self.judge_moment(order)
        staying = [entry for entry in here.eligible() if entry.stays]
        assert all(split.side_of(entry.id) is entry.side for entry in staying)
        if event.ask.purpose is Purpose.DUEL:
            assert (len(split.a), len(split.b)) == (1, 1)
        elif event.after is not None:
            self.judge_sizes(replace(split, bench=tuple(set(split.bench) - others)))
        elif order.reason.phrase is Phrase.REASON_WAITS:
            assert split.a + split.b == tuple(entry.id for side in Side for entry in here.on(side) if not entry.bot)
        elif not staying:
            assert abs(len(split.a) - len(split.b)) <= 1
        assert self.session.state.arena or split.bench == ()

    def judge_moment(self, order: Assign) -> None:
        """The order is in time, and in NS2 it leaves the commanders in their chairs."""
        state = self.session.state
        at_once = (e.Phase.IDLE, e.Phase.RUNNING) if state.ns2 else (e.Phase.FREEZE, e.Phase.RUNNING)
        assert state.phase in (at_once if order.moment is Moment.NOW else (e.Phase.FREEZE,))
        assert not state.no_moves or order.moment is Moment.FREEZE or state.ns2
        if state.ns2:
            chairs = [entry for entry in state.roster.entries if entry.commander and entry.side is not None]
            assert all(order.split.side_of(entry.id) is entry.side for entry in chairs)

    def benched_beside(self, split: Split) -> set[PlayerId]:
        """Players of the bench whom the split was not about: on a side in arena's freeze, but late or not ready."""
        state = self.session.state
        here = {entry.id for entry in state.balanced_roster().eligible()}
        others = {entry.id for entry in state.roster.humans() if entry.side is not None and not entry.stays} - here
        assert others <= set(split.bench) or not state.arena
        return others & set(split.bench)

    def judge_sizes(self, split: Split) -> None:
        state = self.session.state
        bots = {side: sum(entry.bot for entry in state.roster.on(side)) for side in Side}
        held = state.with_immune(state.balanced_roster())
        stay = {side: sum(entry.stays for entry in held.on(side)) for side in Side}
        smaller, larger = sorted((len(split.a) + bots[Side.A], len(split.b) + bots[Side.B]))
        odd = (smaller + larger + len(split.bench)) % 2
        if larger > max(stay.values()):
            assert (larger - smaller, len(split.bench)) == ((0, odd) if state.arena else (odd, 0))

    def judge_move(self, move: Move) -> None:
        self.new(move)
        state = self.session.state
        entry, count = state.roster.get(move.player), state.roster.sizes()
        assert entry is not None
        assert entry.side is move.side.other
        assert can_move(entry)
        assert count[move.side.other] - count[move.side] >= 2
        assert 0 <= move.deadline <= (NO_DEADLINE if state.ns2 else self.rules.autobalance.deadline_seconds)
        assert state.phase is e.Phase.RUNNING
        assert state.acts
        assert not state.arena
        assert not state.no_moves
        assert not state.map_ends or state.forced

    def roster_seen(self, ends_in: float | None, no_moves: str = "", map_ends_in: float | None = None) -> None:
        self.happens(e.RosterSeen(self.now, self.roster, ends_in, no_moves, map_ends_in))
        if self.session.state.known and self.mode is not Mode.NS2:
            assert roster_text(self.session.state.roster) == roster_text(self.roster)

    def carry_out(self, order: Assign | Move, shown: bool) -> None:
        for entry in self.roster.humans():
            if isinstance(order, Assign):
                side = order.split.side_of(entry.id)
                placed = side is not None or entry.id in order.split.bench
            else:
                side, placed = order.side, entry.id == order.player
            if placed:
                self.roster = self.roster.with_entry(replace(entry, side=side, waiting=side is None))
                if shown:
                    self.happens(e.SideChanged(self.now, entry.id, side, side is None))

    def settle(self) -> None:
        """Answer every ask and carry out every order, and those that follow from them."""
        for _ in range(6):
            self.all_asks_answered()
            while self.orders:
                order = self.orders.pop(0)
                self.carry_out(order, shown=True)
                self.happens(e.OrderDone(self.now, order.order))

    def all_asks_answered(self) -> None:
        waiting, self.asks = self.asks, []
        for _, answered in waiting:
            self.happens(answered)

    def tick(self) -> None:
        memory = self.session.memory
        self.judge(self.session.tick(self.now))
        deadline = self.session.deadline()
        assert deadline is None or deadline > self.now
        closed = self.session.state.choice_stage is Stage.CLOSED
        assert self.session.memory.pending == memory.pending or (memory.choosing and closed)

    def judge_numbers(self) -> None:
        state, memory = self.session.state, self.session.memory
        assert {entry.id for entry in state.roster.humans()} >= state.voices.asked_at.keys()
        assert memory.pending is None or (state.voices.order, state.voices.asked_at) == (None, {})
        assert len(state.assigned) <= 1 or not state.ns2
        if state.phase is e.Phase.RUNNING:
            assert all(event.ask.moment is Moment.NOW for event in state.assigned.values())
        assert 0 <= memory.tally.streak <= memory.tally.completed
        assert 0 <= memory.tally.since_scramble <= memory.tally.completed
        assert (memory.tally.streak == 0) == (memory.tally.streak_side is None)
        assert all(benched.times > 0 for benched in memory.benched.values())
        assert not any(player.startswith("bot:") for player in (*memory.locks, *memory.benched, *memory.moved))
        assert len(self.session.state.roster.entries) == len({one.id for one in self.session.state.roster.entries})
        assert {case.winner for case in self.session.due_if()} <= {Side.A, Side.B, None}
