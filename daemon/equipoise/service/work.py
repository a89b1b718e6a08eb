"""One piece of work of a host: a batch, a command or a deadline, applied to a copy of the session.

Nothing of it shows outside until the host commits it: orders, decisions and look-ups are collected beside the copy.
Rounds alone are stored at once, before anything else. They are found by a rehearsal, which feeds the events to a second
copy: what is stored with a round, the skills at its start and the session's memory after it, depends on the events
before it. Nothing else of the rehearsal counts. When a round can be kept nowhere, the work ends with a ScriptError and
is thrown away. The rounds before that one stay stored, each known by its id when the batch comes again, and none behind
it is stored before it. Splits are solved after all rounds, so that a batch which comes again gets the same ones.

What it asks (`Questions`) may fail, and what it has to write down (`Journal`) may wait.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import TracebackType
from typing import Literal, assert_never, overload

from equipoise.balancing import Question, Solved, answer, asked_players
from equipoise.core import asks
from equipoise.core import effects as f
from equipoise.core.commands import AUDITED, LOOK_UPS, quoted
from equipoise.core.events import (
    Commanded,
    Event,
    MovesSolved,
    PlayerJoined,
    RosterSeen,
    RoundEnded,
    ScriptEvent,
    SidesSwitched,
    SolveFailed,
    SplitSolved,
    SummariesLoaded,
)
from equipoise.core.memory import Memory, Remembered, encode_memory
from equipoise.core.model import Context, PlayerId, PlayerSummary, RoundId, ServerId, Split
from equipoise.core.participation import recorded
from equipoise.core.phrases import Text
from equipoise.core.session import Session
from equipoise.errors import ScriptError, SpillError, SplitError
from equipoise.service.clock import Clock
from equipoise.service.log_lines import Repeats
from equipoise.service.pool import Pool
from equipoise.store.notes import Audit, Decision, Name, Note, SessionMemory
from equipoise.store.store import Store
from equipoise.wire import Batch, RoundStatus

YIELD_EVERY = 16
"""Events of a batch after which other servers' work has a turn: 256 may take a tenth of a second."""

Seen = tuple[int, Context]
"""The pool's version and the context that a session's summaries are of."""

_Plain = f.Order | f.RecordRound | f.LogDecision | f.LookUp | f.Ignored | asks.LoadSummaries
"""Every effect but a question of balance."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Work:
    """Start it with one of `take`, `take_rounds` and `pass_time`; what they raise, the work is to be refused with."""

    session: Session
    """A copy that belongs to this work."""
    pool: Pool
    questions: Questions
    clock: Clock
    who: str
    """Who gives the commands in it, for the audit."""
    last: Remembered
    """Boot and number of the last batch, this one included, and how many of its events are stored. Its memory is that
    of the work before: `remembered` has the new one."""
    seen: Seen | None = None
    batch: Batch | None = None
    """None for an admin's command, which lines for the console answer; for the timer; for rounds of a late batch."""
    answered: bool = False
    """The reply is out: the batch cannot be refused any more."""
    refusal: ScriptError | None = None
    orders: list[f.Order] = field(default_factory=list)
    new_session: bool = False
    """A session began in it."""
    switched: bool = False
    """The game swapped the sides in it."""
    decisions: list[f.LogDecision] = field(default_factory=list)
    look_ups: list[f.LookUp] = field(default_factory=list)
    rounds: dict[RoundId, RoundStatus] = field(default_factory=dict)
    summaries: dict[PlayerId, PlayerSummary] = field(default_factory=dict)
    """The summaries of players who joined or were rated."""
    console: list[Text] = field(default_factory=list)
    dry_split: SplitSolved | None = None
    _rated: dict[RoundId, tuple[PlayerId, ...]] = field(default_factory=dict)
    """Rounds that were stored or kept, with the players whose ratings they changed."""
    _number: int = 0
    """The place of the batch's event whose rounds are being stored, from 0."""
    _asked: int = 0
    """Questions that were not equal to one before."""
    _solved: list[tuple[Question, Solved]] = field(default_factory=list)
    """Their answers, by the ratings of `_solved_by`."""
    _solved_by: Seen | None = None

    @property
    def remembered(self) -> Remembered:
        """The memory that a restarted daemon goes on from."""
        return replace(self.last, memory=self.session.memory)

    async def take(self, events: Sequence[ScriptEvent]) -> None:
        """Store the rounds among the events, then carry the events out in order. ScriptError: one cannot be kept.

        Of a batch that was stored up to one of its rounds before this daemon served it, what follows that round is
        carried out. The rounds before it are stored once more, so that the reply names them.
        """
        done = self.last.events if self.batch is not None else 0
        await self.take_rounds(events[:done])
        for event in events:
            if isinstance(event, RosterSeen):
                self.pool.introduce({entry.id: entry.hive for entry in event.roster.entries if entry.hive is not None})
        # Before the events: what they decide, and the skills noted with a lineup, are by the ratings of now.
        await self._refresh()
        if any(isinstance(event, RoundEnded) for event in events[done:]):
            await self._store_rounds(events, done)
            await self._refresh()  # the rounds have changed ratings
        # The events run a second time, now on the session that
        # will be kept, with the ratings that the rounds have left.
        if self.batch is not None:
            self.last = replace(self.last, events=0)
        for number, event in enumerate(events[done:], start=1):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            await self._carry_out(self._receive(event))
            if isinstance(event, PlayerJoined) and (summary := self.session.state.summaries.get(event.id)):
                self.summaries[event.id] = summary

    def _receive(self, event: ScriptEvent) -> Iterable[f.Effect]:
        """Return the effects of an event; where it begins a session, orders of the one before are dropped."""
        if isinstance(event, SidesSwitched):
            self.orders, self.switched = switched(self.orders), not self.switched
        session = self.session.memory.session
        effects = self.session.receive(event, self.clock.monotonic())
        if self.session.memory.session != session:
            self.orders, self.new_session = lasting(self.orders), True
        return effects

    async def take_rounds(self, events: Sequence[ScriptEvent]) -> None:
        """Store the finished rounds of a late batch; the session does not see it. ScriptError as above.

        A round that a fault of ours does not let be rated is left out, and its error raised at the end.
        """
        fault: Exception | None = None
        for number, event in enumerate(events):
            self._number = number
            if isinstance(event, RoundEnded):
                try:
                    await self._record(recorded(event.round, self.session.state.rules), self.session.memory)
                # Nothing behind a refused round may overtake it. A fault of
                # ours is no such reason: to wait for it would cost the others.
                except ScriptError:
                    raise
                except Exception as error:
                    fault = error
        if fault is not None:
            raise fault

    async def pass_time(self) -> None:
        """Carry out what the session's deadline brings."""
        await self._carry_out(self.session.tick(self.clock.monotonic()))

    def tell(self, tell: f.Tell) -> None:
        """Collect lines: those for the console answer a command from outside the game; all others go to the script."""
        if tell.player is None and self.batch is None:
            self.console += tell.lines
        else:
            self.orders.append(tell)

    # First the rounds: a rehearsal comes to them, and stores them.

    async def _store_rounds(self, events: Sequence[ScriptEvent], done: int) -> None:
        """Store the rounds among the events from `done` on, each with the memory that has counted it."""
        # What is stored with a round depends on the events before it, so that a rehearsal has to come to it.
        rehearsal = self.session.copy()
        for number, event in enumerate(events[done:], start=done):
            self._number = number
            if number % YIELD_EVERY == YIELD_EVERY - 1:
                await asyncio.sleep(0)
            for effect in rehearsal.receive(event, self.clock.monotonic()):
                match effect:
                    case f.RecordRound():
                        self.last = replace(self.last, events=(number + 1) % len(events))
                        await self._record(effect, rehearsal.memory)
                        # The next event may begin a round, whose lineup's skills are those after this one.
                        ids = self._rated.get(effect.round.id, ())
                    case asks.LoadSummaries(players):
                        ids = players
                    case _:  # is obeyed when the event is carried out
                        continue
                rehearsal.receive(await self._loaded(ids, rehearsal), self.clock.monotonic())

    async def _record(self, record: f.RecordRound, memory: Memory) -> None:
        """Have a round rated and stored; with it the memory of the session that has counted it."""
        # The reply was out when a round was refused, so that the work went on instead of raising (below).
        if self.refusal is not None:  # no round is stored before an older one
            return
        try:
            done = await self.pool.record(record, encode_memory(replace(self.last, memory=memory)))
        except (ScriptError, SpillError) as error:
            self.refusal = self._refused(record, error)
            if not self.answered:
                raise self.refusal from error
            # The reply does not name this round: the script sends it again, and those behind it.
            return
        self.rounds[record.round.id] = done.status
        self._rated[record.round.id] = tuple(change.id for change in done.rated.changes) if done.rated else ()

    def _refused(self, record: f.RecordRound, error: ScriptError | SpillError) -> ScriptError:
        if isinstance(error, SpillError):
            return ScriptError("busy", f"round {record.round.id} cannot be kept: {error}", status=503)
        # No store will ever take it: its path lets the script drop this round alone.
        return ScriptError(error.code, error.message, path=f"$.events[{self._number}]", status=error.status)

    # Then the effects, in order, and the answers that the session gets.

    async def _carry_out(self, effects: Iterable[f.Effect]) -> None:
        """Obey effects in order; what an answer leads to comes behind the effects that wait already."""
        queue = deque(effects)
        while queue:
            effect = queue.popleft()
            answers: list[Event]
            if isinstance(effect, Question):
                answers = await self._answers(effect)
            else:
                answers = await self._obey(effect)
            for event in answers:
                # The session only writes lines of a dry run; the admin API shows the split itself.
                if isinstance(event, SplitSolved) and event.ask.dry:
                    self.dry_split = event
                queue.extend(self.session.receive(event, self.clock.monotonic()))

    async def _obey(self, effect: _Plain) -> list[Event]:
        """Return the events that answer an effect."""
        match effect:
            case asks.LoadSummaries(players):
                return [await self._loaded(players, self.session)]
            case f.RecordRound():  # it was stored before: the session learns what that has changed
                return await self._see_rated(effect.round.id)
            case f.LogDecision():
                self.decisions.append(effect)
            case f.LookUp():
                self.look_ups.append(effect)
            case f.Tell():
                self.tell(effect)
            case f.Assign() | f.Move() | f.Cancel() | f.Place() | f.Lock() | f.Unlock() | f.OpenVote() | f.Say():
                self.orders.append(effect)
            case f.Ignored(event):
                log.debug("ignored: %s", type(event).__name__)
            case _:
                assert_never(effect)
        return []

    async def _see_rated(self, number: RoundId) -> list[Event]:
        """Return the ratings that a stored round has changed; nothing for one that waits in the ring."""
        if not (players := self._rated.get(number, ())):
            return []
        ratings = await self._loaded(players, self.session)
        if isinstance(ratings, SummariesLoaded):
            self.summaries |= {summary.id: summary for summary in ratings.summaries}
        return [ratings]

    async def _answers(self, ask: Question) -> list[Event]:
        """Answer a question of balance with events. Of equal ones the first is solved, and too many are refused."""
        if (current := self._current()) != self._solved_by:  # a round in between has changed ratings
            self._solved, self._solved_by = [], current
        alike = _alike(ask)
        for question, event in self._solved:
            if question == alike:
                return [replace(event, ask=ask)]  # type: ignore[arg-type]
        if self._asked == MOST_QUESTIONS:  # a script must not hold the daemon up with one batch
            return [SolveFailed(ask, self.questions.refuse(kind_of(ask)))]
        self._asked += 1
        await asyncio.sleep(0)  # other servers' work has a turn
        with self.questions.attempt(kind_of(ask)) as attempt:
            # The ratings that the answer is made from come before it.
            ratings = SummariesLoaded(await self._summaries(asked_players(ask), self.session))
            event = await self.questions.solve(ask)
            self._solved.append((alike, event))
            return [ratings, event]
        failure = SolveFailed(ask, attempt.reason)
        self._solved.append((alike, failure))
        return [failure]

    async def _refresh(self) -> None:
        """Let the session know ratings that changed elsewhere: by an admin, on the pool's other servers."""
        current = self._current()
        if current == self.seen:  # most polls find nothing changed
            return
        summaries = self.session.state.summaries
        answer = await self._loaded(tuple(summaries), self.session)
        # `seen` stays as it is: the next batch tries again.
        if isinstance(answer, SolveFailed):
            return
        news = tuple(summary for summary in answer.summaries if summary != summaries[summary.id])
        if news:
            await self._carry_out(self.session.receive(SummariesLoaded(news), self.clock.monotonic()))
        self.seen = current

    async def _loaded(self, players: tuple[PlayerId, ...], session: Session) -> SummariesLoaded | SolveFailed:
        """Return the answer to `LoadSummaries`."""
        with self.questions.attempt("summaries") as attempt:
            return SummariesLoaded(await self._summaries(players, session))
        return SolveFailed(asks.LoadSummaries(players), attempt.reason)

    async def _summaries(self, players: Sequence[PlayerId], session: Session) -> tuple[PlayerSummary, ...]:
        """Return summaries with what the players are worth on the session's map and in its mode."""
        summaries = session.state.summaries
        # Only of the session that will be kept: a rehearsal may have come to another map, where skills are others.
        if session is self.session and self.seen == self._current() and all(player in summaries for player in players):
            return tuple(summaries[player] for player in players)
        return await self.pool.summaries(players, session.memory.context)

    def _current(self) -> Seen:
        return self.pool.version, self.session.memory.context


def _alike(ask: Question) -> Question:
    """Return the question without those whom its answer is for."""
    match ask:
        case asks.AskSplit():
            # `reason` and `moment` stay: they go into the order and the log.
            return replace(ask, by=None, dry=False)
        case asks.AskChance():
            return replace(ask, by=PlayerId(""))
    return ask


# The questions of one server: what its session asks, what players and admins look up, dry runs, the outlook shown.
#
# A question that fails costs nobody but those who wait for its answer: the events beside it are taken, the rounds are
# stored, the reply goes out, and the session goes on without the answer (`SolveFailed`). So every exception is caught
# here, memory errors included. Each is counted; the first of its kind in a minute is also logged with its traceback and
# becomes a decision, which `equipoise why` shows.

THREAD_FROM = 12
"""Players from which splits and moves are solved in a thread. An odd number of 17 takes 10 ms of the processor, one of
29 takes 28; for as long the daemon would answer no other server. The way to a thread and back takes less than one."""

MOST_QUESTIONS = 64
"""Different questions that are answered of one batch. A batch has up to 256 events, and each may change the roster that
the next question is about; when 24 players come at once there are two questions for each."""

LONGEST_REASON = 200
"""Characters."""

Kind = Literal["split", "moves", "side", "switch", "cache", "chance", "summaries", "command", "outlook"]

KINDS: dict[Kind, str] = {
    "split": "making teams",
    "moves": "choosing players to move",
    "side": "placing a joiner",
    "switch": "judging a change of side",
    "cache": "solving splits in advance",
    "chance": "judging the teams for a vote",
    "summaries": "loading ratings",
    "command": "answering a command",
    "outlook": "judging the teams for the status",
}
"""Every kind of question, and what is done for it."""

_KIND_OF: dict[type[asks.Ask], Kind] = {
    asks.AskSplit: "split",
    asks.AskMoves: "moves",
    asks.AskSide: "side",
    asks.AskSwitch: "switch",
    asks.CacheSplits: "cache",
    asks.AskChance: "chance",
    asks.LoadSummaries: "summaries",
}


def kind_of(ask: asks.Ask) -> Kind:
    """Return the kind of a session's question."""
    return _KIND_OF[type(ask)]


class Questions:
    """The questions of one server's session: solved, and counted where they fail. Call `close` last."""

    def __init__(self, server: ServerId, pool: Pool, journal: Journal) -> None:
        self.failed: Counter[Kind] = Counter()
        """Since the start."""
        self.refused = 0
        """Questions of batches that had more than `MOST_QUESTIONS`."""
        self._server, self._pool, self._journal = server, pool, journal
        self._repeats = Repeats(log, logging.ERROR)

    def go_on(self, before: Questions) -> None:
        """Count on from where the server's questions have come."""
        self.failed, self.refused = before.failed, before.refused

    def attempt(self, kind: Kind) -> Attempt:
        """Return a context that ends with whatever fails in it; the code behind it answers then."""
        return Attempt(kind, self)

    @overload
    async def solve(self, ask: asks.AskMoves) -> MovesSolved | SolveFailed: ...
    @overload
    async def solve(self, ask: Question) -> Solved: ...
    async def solve(self, ask: Question) -> Solved:
        """Return the answer by the pool's present skills. To be called in an `attempt`: it may fail in any way."""
        system = self._pool.balancing
        if isinstance(ask, asks.AskSide | asks.AskSwitch | asks.AskChance) or len(asked_players(ask)) < THREAD_FROM:
            event = answer(ask, system)
        else:
            event = await asyncio.to_thread(answer, ask, system)
        if isinstance(event, SolveFailed):
            self.fail(kind_of(ask), SplitError(event.reason))
        return event

    def fail(self, kind: Kind, error: Exception) -> str:
        """Note a failure, and return its reason."""
        self.failed[kind] += 1
        name = type(error).__name__
        text = " ".join(str(error).split())[:LONGEST_REASON]
        reason = text if isinstance(error, SplitError) else f"{name}: {text}" if text else name
        if self._repeats.log((kind, name), f"{KINDS[kind]} failed", error, server=self._server):
            self._journal.note("failed", f"{KINDS[kind]} failed: {reason}")
        return reason

    def refuse(self, kind: Kind) -> str:
        """Note a question that is one too many, and return the reason."""
        self.refused += 1
        reason = f"one batch had more than {MOST_QUESTIONS} different questions"
        if self._repeats.log((kind, "refused"), f"{KINDS[kind]} refused: {reason}", server=self._server):
            self._journal.note("refused", f"{KINDS[kind]} refused: {reason}")
        return reason

    def close(self) -> None:
        """Write how often the lines were repeated."""
        self._repeats.close()


@dataclass(slots=True)
class Attempt:
    """One question being answered."""

    _kind: Kind
    _questions: Questions
    reason: str = ""
    """Why it failed; empty while it has not."""

    def __enter__(self) -> Attempt:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        # True tells Python to swallow the error, and the statement behind the `with` is reached.
        if not isinstance(error, Exception):  # a cancelled task is no failure
            return False
        self.reason = self._questions.fail(self._kind, error)
        return True


def lasting(orders: Iterable[f.Order]) -> list[f.Order]:
    """Return the orders that reach a script in its next session, lines for somebody: the others are of another map."""
    return [order for order in orders if isinstance(order, f.Tell)]


def switched(orders: Iterable[f.Order]) -> list[f.Order]:
    """Return orders that reach the script when the game has swapped the sides, with the new colours.

    Moves are cancelled then; who is assigned to a side by its colour is locked there when that is done.
    """
    return [
        replace(order, side=order.side.other) if isinstance(order, f.Place | f.Lock) and order.side else order
        for order in orders
    ]


# What is written down behind the replies: session memory, decisions, orders in the game and names. Never rounds.


class Journal:
    """Collects one server's notes while a batch is in work, and then hands them to the store."""

    def __init__(self, server: ServerId, store: Store, clock: Clock) -> None:
        self._server = server
        self._store = store
        self._clock = clock
        self._notes: list[Note] = []
        self.decided: Counter[f.DecisionKind] = Counter()
        """Lines of the decision log so far, by kind."""

    def remember(self, memory: bytes, at: float = math.inf) -> None:
        """Note the session's memory as of a time, now at the latest; only the newest is written."""
        self._notes.append(SessionMemory(self._server, memory, min(at, self._clock.epoch())))

    def decide(self, effect: f.LogDecision) -> None:
        """Note a line of the decision log, with its detail as plain data."""
        self.decided[effect.kind] += 1
        self._notes.append(
            Decision(
                self._server,
                self._clock.epoch(),
                effect.kind,
                effect.reason.english,
                effect.order,
                _detail(effect),
            )
        )

    def note(self, kind: f.DecisionKind, reason: str) -> None:
        """Note a line of the decision log that no session decided."""
        self.decided[kind] += 1
        self._notes.append(Decision(self._server, self._clock.epoch(), kind, reason))

    def ordered(self, command: Commanded, who: str) -> None:
        """Note in the audit what an admin ordered in the game. `set` and `reset` bring their own line, with ratings."""
        if command.admin and command.words[0] in AUDITED - LOOK_UPS:
            by, words = claimant(command, who), quoted(command)
            self._notes.append(Audit(self._clock.epoch(), by, "command", self._server, "", words))

    def names(self, pool: str, names: Mapping[PlayerId, str]) -> None:
        """Note players' current names; only the newest of each is written."""
        self._notes += (Name(pool, player, name) for player, name in names.items())

    def flush(self) -> None:
        """Hand everything to the store, whose reads are complete from now on."""
        notes, self._notes = self._notes, []
        if notes:
            self._store.note(notes)


def claimant(command: Commanded, who: str) -> str:
    """Return who gave a command, for the audit: the script or token first, because a player is only its claim."""
    return who if command.by is None else f"{who} player:{command.by}"


def _detail(effect: f.LogDecision) -> dict[str, object] | None:
    detail: dict[str, object] = {}
    if effect.split is not None:
        detail["split"] = _plain(effect.split)
    # Beside a split an empty list is a statement too: nobody had to move.
    if effect.players or effect.split is not None:
        detail["players"] = list(effect.players)
    if effect.side is not None:
        detail["side"] = effect.side.value
    if effect.after is not None:
        before, after = effect.before, effect.after
        detail |= {"before": before.chance if before else None, "after": after.chance}
        # `before` and `after` alone were written by older versions,
        # and are read by programs: they stay beside the outlooks.
        detail |= {"before_outlook": before and asdict(before), "after_outlook": asdict(after)}
    if effect.cause is not None:
        detail["cause"] = effect.cause.english
    if effect.likely:
        detail["likely"] = list(effect.likely)
    if effect.spread is not None:
        detail["spread"] = [round(value, 1) for value in effect.spread]
    return detail or None


def _plain(split: Split) -> dict[str, list[PlayerId]]:
    return {"a": list(split.a), "b": list(split.b), "bench": list(split.bench)}
