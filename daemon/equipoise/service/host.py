"""Carries one Session: receives batches, obeys effects in order, feeds answers back, re-arms its one timer.

The only place where a server's events, its pool and its store meet. One batch is in work at a time; a reply is given
after a second at the latest, and what is decided later goes out with the next poll.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.balancing import answer, chance, skills, summaries_on
from equipoise.core import asks, scrambles
from equipoise.core import autobalance as gaps
from equipoise.core import effects as f
from equipoise.core.events import (
    Commanded,
    Event,
    MovesSolved,
    PlayerJoined,
    RoundEnded,
    SplitSolved,
    SummariesLoaded,
)
from equipoise.core.model import PlayerId, PlayerSummary, RoundId, ServerId, Side, SplitCache
from equipoise.core.participation import recorded
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.errors import ScriptError, SpillError
from equipoise.service.journal import Journal
from equipoise.service.lookups import Lookups
from equipoise.service.pool import Pool
from equipoise.service.status import CommandAnswer, Proposal, ServerStatus
from equipoise.store.port import Clock, Store
from equipoise.wire.memory import Remembered, decode_memory, encode_memory
from equipoise.wire.values import Batch, Kept, Reply

ANSWER_SECONDS = 1.0
"""A request stays open this long at most."""
THREAD_FROM = 32
"""Pools of this size may take longer than the event loop should wait: they are solved in a thread."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Door:
    """What was taken from the script last: repeating it gets the same answer."""

    boot: int = 0
    seq: int = 0
    reply: asyncio.Future[Reply] | None = None

    def seen(self, batch: Batch) -> bool:
        """The last batch, sent again."""
        return (batch.boot, batch.seq) == (self.boot, self.seq)

    def late(self, batch: Batch) -> bool:
        """A batch from before the last one."""
        return (batch.boot, batch.seq) < (self.boot, self.seq)


@dataclass(slots=True)
class _Drafted:
    """A reply being written while a batch is in work."""

    rounds: dict[RoundId, Kept] = field(default_factory=dict)
    refused: ScriptError | None = None
    """Why the batch is not taken after all."""
    summaries: dict[PlayerId, PlayerSummary] = field(default_factory=dict)
    console: list[Text] = field(default_factory=list)
    solved: SplitSolved | None = None


class Host:
    """One game server's place in the daemon."""

    def __init__(self, server: ServerId, pool: Pool, store: Store, rules: Rules, clock: Clock) -> None:
        self.server = server
        self.pool = pool
        self.rules = rules
        self.session = Session(rules)
        self.plugin: str | None = None
        self.dropped_rounds = 0
        self.repeated = 0
        """Batches that came again and got their first answer."""
        self.skipped = 0
        """Gaps in the batches' numbers."""
        self._clock = clock
        self._store = store
        self._journal = Journal(server, store, clock)
        self._lookups = Lookups(pool, store, clock)
        self._door = _Door()
        self._outbox: list[f.Order] = []
        self._draft = _Drafted()
        self._who = ""
        """Who gave the commands that are in work."""
        self._lock = asyncio.Lock()
        self._sent_cache: SplitCache | None = None
        self._noted = self.session.memory
        """As the journal has it. The last batch's number changes with every poll: it is not worth a write alone."""
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._perform: dict[type, Callable[[Any], Awaitable[Sequence[Event]]]] = {
            asks.LoadSummaries: self._load_summaries,
            asks.AskSplit: self._solve,
            asks.AskMoves: self._solve,
            asks.CacheSplits: self._solve,
            f.RecordRound: self._record,
            f.LogDecision: self._decide,
            f.LookUp: self._look_up,
            f.Tell: self._tell,
            f.Ignored: self._ignored,
        }

    async def start(self) -> None:
        """Go on from what was remembered. StoreError when the store does not say."""
        data = await self._store.memory(self.server)
        remembered = decode_memory(data) if data is not None else None
        if remembered is None:
            return
        self.session = Session(self.rules, remembered.memory)
        self._door = _Door(remembered.boot, remembered.seq)
        self._noted = self.session.memory

    async def close(self) -> None:
        """Stop the timer and write down what is remembered."""
        async with self._lock:
            # Work that was under way has armed it anew.
            if self._timer is not None:
                self._timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.write_down()

    # What scripts and admins call.

    async def handle(self, batch: Batch) -> Reply:
        """Answer a batch. ScriptError `busy` while another is in work, SpillError when a round could not be kept."""
        if self._door.seen(batch) and self._door.reply is not None:
            self.repeated += 1
            return await asyncio.shield(self._door.reply)
        await self._enter()
        if self._door.late(batch) or (self._door.seen(batch) and self._door.reply is None):
            # After a restart the last batch may come again: its answer is lost, its rounds are not.
            stale = self._door.late(batch)
            await self._run(self._take_rounds(batch))
            return Reply(rounds=dict(self._draft.rounds), stale=True) if stale else self._reply()
        gap = batch.boot == self._door.boot and batch.seq != self._door.seq + 1
        self.skipped += gap
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if batch.boot != self._door.boot:
            self._sent_cache = None
        self._door = _Door(batch.boot, batch.seq, reply)
        try:
            await self._run(self._take(batch))
            answered = self._reply(want_roster=gap and self.session.state.known)
        except BaseException as error:
            # Not taken: the same batch may come again.
            self._door = _Door(batch.boot, batch.seq - 1)
            if not reply.done():
                reply.set_exception(error)
                reply.exception()
            raise
        reply.set_result(answered)
        return answered

    async def command(self, words: tuple[str, ...], who: str, *, dry: bool = False) -> CommandAnswer:
        """Carry out an admin's command from outside the game; `dry` only says what it would do."""
        if dry and words[0] == "balance":
            return await self._propose_moves()
        if dry and words[0] != "scramble":
            raise ScriptError("dry_run", f"{words[0]} has no dry run: scramble and balance have")
        await self._enter()
        if dry:
            words = ("scramble", "dry")
        await self._run(self._take_events((Commanded(0.0, words, None, admin=True),), who))
        lines = tuple(self._draft.console)
        proposal = Proposal.of(self._draft.solved) if self._draft.solved else None
        return CommandAnswer(not any(line.phrase.refusal for line in lines), lines, proposal)

    async def _propose_moves(self) -> CommandAnswer:
        """Who would be moved now, without moving him."""
        question = gaps.proposal(self.session.state, self._clock.monotonic())
        if question is None:
            return CommandAnswer(False, (Text(Phrase.NOTHING_TO_BALANCE),))
        await self.pool.summaries((*question.larger, *question.smaller))
        solved = answer(question, self.pool.system)
        side = question.larger_side.other
        players = solved.players if isinstance(solved, MovesSolved) else ()
        return CommandAnswer(True, tuple(scrambles.dry_line(player, side) for player in players))

    def status(self) -> ServerStatus:
        """The server as it stands."""
        state, system, context = self.session.state, self.pool.system, self.session.memory.context
        sides = {side: [entry.id for entry in state.roster.on(side)] for side in Side}
        both = sides[Side.A] and sides[Side.B]
        return ServerStatus.of(
            self.session,
            self._clock.monotonic(),
            server=self.server,
            pool=self.pool.name,
            plugin=self.plugin,
            sums={side: sum(skills(system, context, side, sides[side])) for side in Side},
            win_probability=chance(system, context, *sides.values()) if both else None,
            ring=self.pool.ring_depth,
            dropped_rounds=self.dropped_rounds,
        )

    # One piece of work at a time.

    async def _enter(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._lock.acquire()
        except TimeoutError:
            raise ScriptError("busy", "an earlier request is still in work", status=503) from None
        self._draft = _Drafted()

    async def _run(self, work: Awaitable[None]) -> None:
        """Wait for the work, but not longer than a script waits; the rest goes on behind."""
        task = self._start(self._finish(work))
        await asyncio.wait((task,), timeout=ANSWER_SECONDS)
        if self._draft.refused is not None:
            raise self._draft.refused

    async def _finish(self, work: Awaitable[None]) -> None:
        """The host's loop boundary: whatever goes wrong in here must not stop the next batch."""
        try:
            await work
        except Exception:
            log.exception("event=failed server=%s", self.server)
            self._draft.refused = ScriptError("internal", "the daemon failed on this; its log says how", status=500)
        finally:
            self._arm()
            self._lock.release()
        # Behind the reply: a slow disk must not hold it up.
        self._start(self.write_down())

    async def write_down(self) -> None:
        """Store what is remembered and decided so far: whoever reads the log next finds it complete."""
        if self.session.memory is not self._noted:
            self._noted = self.session.memory
            self._journal.remember(self._remember())
        await self._journal.flush()

    async def _take(self, batch: Batch) -> None:
        if batch.plugin is not None:
            self.plugin, self._sent_cache = batch.plugin, None
        self.dropped_rounds += batch.dropped
        self._journal.names(self.pool.name, batch.names)
        await self._take_events(batch.events, f"script:{self.server}")

    async def _take_events(self, events: Sequence[Event], who: str) -> None:
        self._who = who
        await self._refresh()
        for event in events:
            await self._feed(event)
            if isinstance(event, PlayerJoined):
                self._draft.summaries[event.id] = self.pool.summary(event.id)

    async def _refresh(self) -> None:
        """Ratings change elsewhere too: by an admin, on the pool's other servers."""
        known = self.session.state.summaries
        changed = [summary for summary in await self._summaries(tuple(known)) if summary != known[summary.id]]
        if changed:
            await self._feed(SummariesLoaded(tuple(changed)))

    async def _take_rounds(self, batch: Batch) -> None:
        """A late batch is only good for its rounds."""
        for event in batch.events:
            if isinstance(event, RoundEnded):
                await self._record(recorded(event.round, self.rules))

    async def _feed(self, event: Event) -> None:
        """Let the session decide, then obey, answers first in first served."""
        for effect in self.session.receive(event, self._clock.monotonic()):
            await self._obey(effect)

    async def _obey(self, effect: f.Effect) -> None:
        perform = self._perform.get(type(effect))
        if perform is None:
            self._outbox.append(effect)  # type: ignore[arg-type]  # whatever is not performed is an order
            return
        for answered in await perform(effect):
            await self._feed(answered)

    # What effects ask for.

    async def _load_summaries(self, effect: asks.LoadSummaries) -> Sequence[Event]:
        return (SummariesLoaded(await self._summaries(effect.players)),)

    async def _summaries(self, players: Sequence[PlayerId]) -> tuple[PlayerSummary, ...]:
        """As they count here and now."""
        return summaries_on(self.pool.system, self.session.memory.context, await self.pool.summaries(players))

    async def _solve(self, ask: asks.AskSplit | asks.AskMoves | asks.CacheSplits) -> Sequence[Event]:
        players = (
            (*ask.larger, *ask.smaller) if isinstance(ask, asks.AskMoves) else tuple(one.id for one in ask.entries)
        )
        summaries = SummariesLoaded(await self._summaries(players))
        if len(players) < THREAD_FROM:
            solved = answer(ask, self.pool.system)
        else:
            solved = await asyncio.to_thread(answer, ask, self.pool.system)
        if isinstance(solved, SplitSolved) and solved.ask.dry:
            self._draft.solved = solved
        return (summaries, solved)

    async def _record(self, record: f.RecordRound) -> Sequence[Event]:
        try:
            done = await self.pool.record(record, self._remember())
        except ScriptError as error:
            self._draft.refused = error
            return ()
        except SpillError as error:
            self._draft.refused = ScriptError("busy", f"round {record.round.id} cannot be kept: {error}", status=503)
            return ()
        self._draft.rounds[record.round.id] = done.status
        if done.rated is None:
            return ()
        summaries = await self._summaries([change.id for change in done.rated.changes])
        self._draft.summaries |= {summary.id: summary for summary in summaries}
        return (SummariesLoaded(summaries),)

    async def _decide(self, effect: f.LogDecision) -> Sequence[Event]:
        self._journal.decide(effect)
        return ()

    async def _look_up(self, effect: f.LookUp) -> Sequence[Event]:
        lines = await self._lookups.answer(effect.command, self._who, self)
        await self._obey(f.Tell(effect.command.by, lines))
        return ()

    async def _tell(self, effect: f.Tell) -> Sequence[Event]:
        """What is told to the console is kept for whoever gave the command from outside."""
        if effect.player is None and not self._who.startswith("script:"):
            self._draft.console += effect.lines
        else:
            self._outbox.append(effect)
        return ()

    async def _ignored(self, effect: f.Ignored) -> Sequence[Event]:
        log.debug("event=ignored server=%s kind=%s", self.server, type(effect.event).__name__)
        return ()

    # Replies, memory, time.

    def _reply(self, *, want_roster: bool = False) -> Reply:
        state, memory = self.session.state, self.session.memory
        orders, self._outbox = tuple(self._outbox), []
        cache = None if state.cache is self._sent_cache else state.cache
        self._sent_cache = state.cache
        return Reply(
            orders=orders,
            rounds=dict(self._draft.rounds),
            summaries=tuple(self._draft.summaries.values()),
            pending=memory.pending is not None,
            reason=memory.pending,
            due_if=self.session.due_if(),
            cache=cache,
            want=tuple(sorted(state.wants | ({"roster"} if want_roster else set()))),
            enabled=memory.enabled,
            next=self.rules.poll_seconds,
        )

    def _remember(self) -> bytes:
        return encode_memory(Remembered(self.session.memory, self._door.boot, self._door.seq))

    def _arm(self) -> None:
        """Re-arm the one timer for the session's next deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self.session.deadline()
        if deadline is not None:
            wait = max(0.0, deadline - self._clock.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, lambda: self._start(self._tick()))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start something that `close` waits for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _tick(self) -> None:
        async with self._lock:
            for effect in self.session.tick(self._clock.monotonic()):
                await self._obey(effect)
            self._arm()
