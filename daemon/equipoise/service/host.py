"""One game server's place in the daemon: takes its batches, runs its session, sends what the session orders.

A batch is taken whole or not at all (`service.work`). Its rounds are stored, then its events are applied to a copy of
the session, and when the last one is done the copy becomes the session and what was collected beside it goes out. A
batch whose round cannot be kept leaves no trace but the rounds before that one, with the memory that is stored with
them, and the script sends it again: to this daemon, or to one that goes on from that memory.

A script that is started anew has another boot, which supersedes the one before, whatever their numbers are: clocks go
back. Batches of a superseded boot are stale: two servers that share a name by mistake would otherwise take turns, and
the session would belong to neither. Only when the present script has fallen silent is a superseded one taken again: it
would be stale for ever after the other server got its own name, or after a batch that a script sent before it was
started anew came late.

One piece of work runs at a time. A reply is given after a second at the latest: what is not decided by then goes out
with the next poll. Decisions, names and the session's memory are written within a second or two after it.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from equipoise.balancing import skills
from equipoise.core.effects import DecisionKind, Order, Tell
from equipoise.core.events import Commanded, Heartbeat, RoundEnded, RoundLive
from equipoise.core.memory import Remembered, decode_memory, encode_memory
from equipoise.core.model import Outlook, PlayerId, ServerId, Side, SplitCache
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.errors import ScriptError, StoreError
from equipoise.service.clock import Clock
from equipoise.service.log_lines import Repeats
from equipoise.service.lookups import Lookups, outlook_now, propose_moves
from equipoise.service.pool import Pool
from equipoise.service.status import (
    CommandAnswer,
    Course,
    Proposal,
    RefusedBatches,
    ServerStatus,
    StaleScripts,
    round_number,
)
from equipoise.service.work import Journal, Questions, Seen, Work, lasting, switched
from equipoise.store.store import Store
from equipoise.versions import order
from equipoise.wire import Batch, Reply

CHANGED = "the teams have changed since you looked: nothing was done"
TENTHS = 10
"""Ranges of chances that rounds are counted in."""

log = logging.getLogger(__name__)


class OlderScript:
    """Tells a server's admins, and its console, once a map that its script is older than the daemon."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._text: Text | None = None
        self._map = ""
        self._told: set[PlayerId | None] = set()

    def compare(self, script: str) -> None:
        """Take note of the version that a script says."""
        theirs, ours = order(script), order(self._version)
        older = theirs is not None and ours is not None and theirs < ours
        self._text = Text(Phrase.SCRIPT_OLDER, (script, self._version)) if older else None

    def lines(self, session: Session) -> list[Order]:
        """Return what is to be said now. A script marks its admins in the roster, as those whom nobody may move."""
        if self._text is None:
            return []
        # A session is one map: admins who were told on the last one are told again on the next.
        if session.memory.session != self._map:
            self._map, self._told = session.memory.session, set()
        admins = {None, *(entry.id for entry in session.state.roster.entries if entry.immune)} - self._told
        self._told |= admins
        return [Tell(admin, (self._text,)) for admin in admins]


class Host:
    """Call `start` first and `close` last; `handle` and `command` may be called by any task at any time."""

    answer_seconds = 1.0
    """A request stays open this long at most: the docs promise it to scripts."""

    def __init__(
        self,
        server: ServerId,
        pool: Pool,
        store: Store,
        rules: Rules,
        clock: Clock,
        nudge: Callable[[], None] = lambda: None,
        version: str = "",
    ) -> None:
        self.server = server
        self.pool = pool
        self.rules = rules
        self.session = Session(rules)
        self.plugin: str | None = None
        self.unranked = ""
        self._advice = OlderScript(version)
        self.dropped_rounds = 0
        self.renamed = 0
        """How often decisions that are stored were changed, because somebody was forgotten."""
        self.clock_ahead: float | None = None
        """Seconds by which the script's clock was ahead of ours when its last round came; None: none came."""
        self.repeated = 0
        """Copies of a batch that got its first reply."""
        self.skipped = 0
        """Gaps in the batches' numbers."""
        self._clock = clock
        self._nudge = nudge
        """Has the script call now."""
        self._store = store
        self._journal = Journal(server, store, clock)
        self.began = [0] * TENTHS
        """Rounds that went live, by the tenth of the chances in which side A's was then."""
        self.questions = Questions(server, pool, self._journal)
        self._lookups = Lookups(server, pool, store, self._journal, self.questions, clock)
        self._lock = asyncio.Lock()
        self._last = LastBatch()
        self._outbox: list[Order] = []
        self._seen: Seen | None = None
        self._sent_cache: SplitCache | None = None
        self._remembered = Remembered(self.session.memory)
        """As of the last batch that was taken."""
        self._noted = self._remembered
        """As the journal has it. A new batch number alone, which every poll brings, is not worth a write."""
        self._began = self._heard_at = clock.monotonic()
        """When the present script was heard last; before that, when this host was made."""
        self._stale = StaleScripts(rules.silence_seconds)
        self.refused = RefusedBatches(server)
        self._refusals = Repeats(log, logging.WARNING)
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._course = Course(server, clock, self._note_chance)
        # Splits and the outlook read skills from memory without
        # asking the store: these players must not be forgotten there.
        self._release = pool.hold(self._players)

    async def start(self) -> None:
        """Go on from the stored memory. StoreError when the store does not answer."""
        data = await self._store.memory(self.server)
        snapshot = decode_memory(data) if data is not None else None
        if snapshot is not None:
            # As of then: the log of a shared pool may have newer ones, which are not read yet. A memory that is dated
            # years ahead would not be replaced by that of a round: it is dated now.
            at = await self._store.memory_at(self.server)
            self._go_on(replace(snapshot, memory=snapshot.memory.past_unwritten()), at)

    async def _come_from_elsewhere(self) -> None:
        """Go on from what the log of a shared pool has of this server, if another machine has served it since."""
        with suppress(StoreError):  # then it goes on from what is known here
            data = await self._store.memory(self.server)
            snapshot = decode_memory(data) if data is not None else None
            own = self._remembered
            if snapshot is not None and (snapshot.boot != own.boot or snapshot.seq > own.seq):
                self._go_on(replace(snapshot, memory=snapshot.memory.past_unwritten()))

    async def succeed(self, before: Host) -> None:
        """Instead of `start`: close the host that this server had until now, and go on where it ended."""
        # First: it writes nothing behind our back from here on. The store may still lack
        # its newest notes, so that what it remembers is taken from it and not read. Its
        # session is not: the new one asks the script for `hello` and `roster`.
        await before.close()
        self.plugin, self.clock_ahead, self._advice = before.plugin, before.clock_ahead, before._advice
        self.unranked = before.unranked
        self.dropped_rounds, self.repeated, self.skipped = before.dropped_rounds, before.repeated, before.skipped
        self.refused, self.began, self._journal.decided = before.refused, before.began, before._journal.decided
        self._began = before._began
        self.questions.go_on(before.questions)
        self._go_on(before._remembered)

    def _go_on(self, snapshot: Remembered, at: float = math.inf) -> None:
        memory = snapshot.memory.restored(self._clock.monotonic(), self.rules)
        snapshot = replace(snapshot, memory=memory)
        self.session = Session(self.rules, memory)
        self._last = LastBatch(snapshot.boot, snapshot.seq)
        self._remembered = snapshot
        self.write_down(at)

    async def close(self) -> None:
        """Finish what is under way, begin no more, and write down what is not written yet."""
        self._closed = True
        # Work that has the lock ends by itself. No new deadline
        # is armed (`_arm`), and `_enter` lets nobody in any more.
        async with self._lock:
            if self._timer is not None:
                self._timer.cancel()
        # Again and again: a task may start another, as a failed batch that starts the rescue of its rounds.
        while tasks := tuple(self._tasks):
            await asyncio.gather(*tasks, return_exceptions=True)
            # Where all were done already, Python 3.12 and later let nobody else in: no callback has taken them out.
            self._tasks.difference_update(tasks)
        self._release()
        self._course.close()
        self._refusals.close()
        self.questions.close()
        self.refused.close()
        self.write_down()

    def use(self, rules: Rules) -> None:
        """Go by these rules from now on, in the middle of a round too; work that is under way ends by the old ones."""
        self.rules = rules
        self._stale.silence_seconds = rules.silence_seconds
        self.session.use(rules)
        if not self._lock.locked():  # else the work that has it does so at its end
            self._arm()

    # What scripts and admins call.

    async def handle(self, batch: Batch) -> Reply:
        """Answer a batch; a copy of the last one gets the same reply.

        ScriptError `busy` (503): earlier work is not finished, or a round of it can be kept nowhere; it is to come
        again. `unstorable` (422): no store will ever take the event at its path.
        """
        if (reply := self._first_reply(batch)) is not None:
            # Without the lock: the work that has it is the one that gives this reply. Shielded, because all copies
            # share one future, and a caller that hangs up must not cancel it for the others.
            return await asyncio.shield(reply)
        await self._enter()
        if (reply := self._first_reply(batch)) is not None:
            # It was taken while this copy waited to enter.
            self._lock.release()
            return await asyncio.shield(reply)
        now = self._clock.monotonic()
        # Whatever is said of a batch that is late: the rounds in it were played.
        # Before `_heard_at` is set: a superseded script must not count as the present one's sign of life, or that one
        # would never be silent, and the other never be taken again.
        if self._is_superseded(batch.boot, now):
            self._note_stale(batch.boot, now)
            return Reply(rounds=(await self._take_rounds(batch)).rounds, stale="another start of the script is served")
        # What is missed by this daemon went to another one, perhaps.
        if self.pool.sharing is not None and (batch.boot != self._last.boot or self._last.has_missed(batch)):
            await self._come_from_elsewhere()
        self._heard_at = now
        self.session.hear(now)
        if self._last.is_newer_than(batch):
            return Reply(rounds=(await self._take_rounds(batch)).rounds, stale="an older batch")
        # Its events are in the memory already, and must not be applied twice.
        if self._last.equals(batch) and not self._remembered.events:
            # After a restart the last batch may come again: its answer is lost, its rounds are not.
            return self._draw_reply(await self._take_rounds(batch))
        return await self._take(batch)

    def refuse(self, refusal: ScriptError) -> None:
        """Note that a batch of this server was refused, for operators to see."""
        self.refused.note(refusal, self.plugin, self._clock.epoch())

    async def command(
        self, words: tuple[str, ...], who: str, *, dry: bool = False, version: int | None = None
    ) -> CommandAnswer:
        """Carry out an admin's command from outside the game; `dry` only says what a scramble or a balance would do.

        `version`: of the roster that the admin has seen; of another one nothing is done.

        ScriptError: the roster is another one (409), or earlier work is not finished (503).
        """
        if dry and words[0] == "balance":
            # It reads the session and changes nothing, so that it need not wait for the lock.
            state = self.session.state
            moves = await propose_moves(state, self.pool, self.questions, self._clock.monotonic())
            return replace(moves, version=state.version)
        await self._enter()
        if version not in (None, self.session.state.version):
            self._lock.release()
            raise ScriptError("changed", CHANGED, status=409)
        if dry:
            words = ("scramble", "dry")
        work = self._work(who)
        await self._run(work, work.take((Commanded(0.0, words, None, admin=True, outside=True),)))
        lines = tuple(work.console)
        proposal = Proposal.of(work.dry_split) if work.dry_split else None
        # With orders in the outbox `_finish` has nudged already.
        if not dry and not self._outbox:
            self._nudge()  # what is pending, and whether the server is on, goes out with a reply too
        # No line at all is a command that was carried out: what it brought goes to the players.
        done = not lines or not all(line.phrase.refusal for line in lines)
        return CommandAnswer(done, lines, proposal, work.session.state.version)

    def plays(self, player: PlayerId) -> bool:
        """Return whether somebody is here, or played in the round that runs; nobody is on a server that is silent."""
        state = self.session.state
        seen = state.roster.get(player) is not None or player in state.lineup or player in state.pending_joins
        in_round = state.round is not None and player in state.summaries
        return (seen or in_round) and not self.session.lost(self._clock.monotonic())

    async def rename(self, player: PlayerId, stand_in: PlayerId) -> None:
        """Have the session remember a stand-in in a player's place; a silent server's begins as after a restart."""
        async with self._lock:
            data = encode_memory(self._remembered).replace(player.encode(), stand_in.encode())
            if (copy := decode_memory(data)) is None:
                raise AssertionError("a memory that was encoded is decoded")
            self._remembered = copy
            state = self.session.state
            state.memory = copy.memory
            state.summaries.pop(player, None)
            self.renamed += 1
            if self.session.lost(self._clock.monotonic()):
                self.session = Session(self.rules, copy.memory)
            self.write_down()

    def silent_seconds(self) -> float | None:
        """Return how long ago the script was heard; None: not since this server is served."""
        heard = self.session.state.heard_at
        return None if heard is None else self._clock.monotonic() - heard

    def status(self) -> ServerStatus:
        """Return the server as it is now, for operators."""
        state, memory, system, now = (
            self.session.state,
            self.session.memory,
            self.pool.balancing,
            self._clock.monotonic(),
        )
        level, outlook, (sum_a, sum_b) = state.map_level, self._outlook(), self._sums()
        return ServerStatus(
            server=self.server,
            pool=self.pool.name,
            lost=self.session.lost(now),
            silent_seconds=self.silent_seconds(),
            served_seconds=now - self._began,
            plugin=self.plugin,
            enabled=memory.enabled,
            inactive_reason=state.inactive_reason,
            unranked=self.unranked,
            level=level.level,
            level_reason=level.reason,
            map=memory.map,
            mode=memory.mode,
            sides=memory.mode.sides,
            phase=state.phase,
            round=round_number(self.session),
            streak=memory.tally.streak,
            streak_side=memory.tally.streak_side,
            pending=memory.pending.english if memory.pending else None,
            voices=len(state.voices.lasting(now)),
            vote_running=state.voices.order is not None,
            players_a=len(state.roster.on(Side.A)),
            players_b=len(state.roster.on(Side.B)),
            waiting=sum(entry.side is None for entry in state.roster.eligible()),
            sum_a=sum_a,
            sum_b=sum_b,
            win_probability=outlook.chance if outlook else None,
            outlook=outlook,
            balanced_by=system.name,
            ring=self.pool.ring_depth,
            dropped_rounds=self.dropped_rounds,
            clock_ahead=self.clock_ahead,
            boot=self._remembered.boot,
            stale_scripts=self._stale.calling(now),
            refused_batches=self.refused.current(self._clock.epoch()),
        )

    def glance(self) -> dict[str, object]:
        """Return what other machines show of the server: nothing that a prediction or each second changes."""
        roster = self.session.state.roster
        return {
            "map": self.session.memory.map,
            "players_a": len(roster.on(Side.A)),
            "players_b": len(roster.on(Side.B)),
            "waiting": sum(entry.side is None for entry in roster.eligible()),
            "lost": self.session.lost(self._clock.monotonic()),
        }

    def signs(self) -> tuple[object, ...]:
        """Return what shows at a glance that a status may say something else: while it is equal, only seconds pass."""
        now, pool = self._clock.monotonic(), self.pool
        return (
            self.session,  # another one after each piece of work
            self.session.lost(now),
            len(self.session.state.voices.lasting(now)),
            self._stale.calling(now),
            self.refused.current(self._clock.epoch()),
            self.decided.total(),
            # Not the pool's version: each round of another server would have all looked at, and predictions cost.
            (self._sums(), pool.balancing.name, pool.ring_depth),
        )

    def _sums(self) -> tuple[float, float]:
        """Return what the players of each side are worth together."""
        roster, context = self.session.state.roster, self.session.memory.context
        a, b = (
            sum(skills(self.pool.balancing, context, side, [entry.id for entry in roster.on(side)])) for side in Side
        )
        return a, b

    @property
    def decided(self) -> Counter[DecisionKind]:
        """Lines that this server has added to the decision log, by kind."""
        return self._journal.decided

    def _outlook(self) -> Outlook | None:
        """Return how even the present sides are; None while one is empty, or when that cannot be said."""
        roster = self.session.state.roster
        a, b = (tuple(entry.id for entry in roster.on(side)) for side in Side)
        # It swallows what fails in it, and what is behind it is reached then.
        with self.questions.attempt("outlook"):
            return outlook_now(self.pool, self.session.memory.context, a, b, roster.commanders())
        return None

    def _note_chance(self) -> None:
        """Note how even the sides are, behind all replies; a failure costs this line alone."""
        if not self._closed and (line := self._course.line(self.session, self._outlook)) is not None:
            self._store.note([line])

    def write_down(self, at: float = math.inf) -> None:
        """Hand memory, decisions and names so far to the store: a reader of the log finds it complete afterwards."""
        old, new = self._noted, self._remembered
        # Memories are frozen and replaced when they change: identity
        # says enough, and to compare them would cost at each poll.
        if new.memory is not old.memory or new.boot != old.boot:
            self._noted = new
            self._journal.remember(encode_memory(self._remembered), at)
        self._journal.flush()

    # One piece of work at a time: it enters, is done on a copy, and is committed.

    def _first_reply(self, batch: Batch) -> asyncio.Future[Reply] | None:
        if self._last.reply is None or not self._last.equals(batch):
            return None
        self.repeated += 1
        return self._last.reply

    async def _enter(self) -> None:
        """Have the lock, which the work that follows lets go."""
        try:
            async with asyncio.timeout(self.answer_seconds):
                await self._lock.acquire()
        except TimeoutError:
            raise ScriptError("busy", "an earlier request is still in work", status=503) from None
        if self._closed:  # the configuration has changed under the request
            self._lock.release()
            raise ScriptError("busy", "this server's configuration has just changed: send it again", status=503)

    def _is_superseded(self, boot: int, now: float) -> bool:
        """Tell whether another start of the script has taken this one's place, and has not fallen silent."""
        return boot in self._remembered.superseded and now - self._heard_at < self.rules.silence_seconds

    def _note_stale(self, boot: int, now: float) -> None:
        if self._stale.note(boot, now, self._clock.epoch()):
            which = {"server": self.server, "boot": boot}
            log.warning("a script calls that another start has superseded: is it on two servers?", extra=which)

    async def _take(self, batch: Batch) -> Reply:
        """Take the next batch. A refused one is as if it had never come; a copy that waits is refused with it."""
        before, reply = self._last, asyncio.get_running_loop().create_future()
        gap = before.has_missed(batch)
        # Before the work, so that a copy which comes meanwhile
        # waits for this reply instead of being taken a second time.
        self._last = LastBatch(batch.boot, batch.seq, reply)
        work = self._work(f"script:{self.server}", batch)
        try:
            # A batch without events is a poll: it shows that the script is there.
            await self._run(work, work.take(batch.events or (Heartbeat(batch.at),)))
        except ScriptError as refusal:
            # The script sends it again, under the same number: that must not pass for a copy.
            self._last = before
            reply.set_exception(refusal)
            reply.exception()  # asked for, so that asyncio does not complain when no copy waits
            raise
        except asyncio.CancelledError:
            # The caller has gone and the work goes on: as after a restart, its answer is lost.
            self._last.reply = None
            reply.cancel()
            raise
        self.skipped += gap
        # Events are missing after a gap; the roster shows what they changed.
        answer = self._draw_reply(work, want_roster=gap and self.session.state.has_roster)
        reply.set_result(answer)
        return answer

    async def _take_rounds(self, batch: Batch) -> Work:
        """Take the finished rounds of a late batch: nothing else of it counts."""
        work = self._work(f"script:{self.server}")
        await self._run(work, work.take_rounds(batch.events))
        return work

    def _work(self, who: str, batch: Batch | None = None) -> Work:
        last = self._remembered if batch is None else self._remembered.after(batch.boot, batch.seq)
        return Work(self.session.copy(), self.pool, self.questions, self._clock, who, last, self._seen, batch)

    async def _run(self, work: Work, doing: Coroutine[Any, Any, None]) -> None:
        """Wait for work, but not longer than a script waits; the rest goes on behind. ScriptError: it was refused."""
        task = self._start(self._finish(work, doing))
        # Not `wait_for`, which would cancel the task: rounds may be half stored.
        await asyncio.wait((task,), timeout=self.answer_seconds)
        work.answered = True
        if work.refusal is not None:
            raise work.refusal

    async def _finish(self, work: Work, doing: Coroutine[Any, Any, None]) -> None:
        """Do the work, commit it and let go of the lock: whatever goes wrong in here must not stop the next batch."""
        complete = False
        try:
            await doing
            self._commit(work)
            complete = True
            # With the lock still held: an answer about teams must be about the session that this work has left.
            if work.look_ups:
                await self._look_up(work)
            # A batch that is answered in time takes the orders along in its own reply.
            if self._outbox and (work.batch is None or work.answered):
                self._nudge()  # no reply is open that could carry the orders
        except ScriptError as refusal:
            work.refusal = refusal
        except Exception:
            log.exception("event=failed server=%s", self.server)
            if not complete:
                work.refusal = ScriptError("internal", "the daemon failed on this; its log says how", status=500)
                if work.batch is not None:
                    self._start(self._save_rounds(work.batch))
        finally:
            self._arm()  # the session may wait for another moment now
            self._lock.release()
        self.write_down()

    def _commit(self, work: Work) -> None:
        """Make the copy the session, and send out what was collected beside it."""
        if work.last.boot != self._remembered.boot:
            self._sent_cache = None  # the script was started anew, and has none
            self._stale.forget(work.last.boot)
        self.session, self._seen, self._remembered = work.session, work.seen, work.remembered
        self.session.use(self.rules)  # they may have changed while the work ran on its copy
        self._send(work)
        for decision in work.decisions:
            self._journal.decide(decision)
        self._course.see(self.session, (decision.kind for decision in work.decisions))
        if any(decision.kind == "refused" for decision in work.decisions):
            message = "refused admin commands from the game: admin_commands = false"
            self._refusals.log("refused", message, server=self.server)
        if (batch := work.batch) is not None:
            if batch.plugin is not None:  # a hello: a script that says it has no cache yet
                self.plugin, self._sent_cache, self.unranked = batch.plugin, None, batch.unranked
                self._advice.compare(batch.plugin)
            self._outbox += self._advice.lines(self.session)
            self.dropped_rounds += batch.dropped
            if (ahead := clock_lead(batch, self._clock.epoch())) is not None:
                self.clock_ahead = ahead
            self._journal.names(self.pool.name, batch.names)
            for event in batch.events:
                if isinstance(event, Commanded) and self.rules.admin_commands:
                    self._journal.ordered(event, work.who)
                if isinstance(event, RoundLive) and (outlook := self._outlook()) is not None:
                    self.began[min(int(outlook.chance * TENTHS), TENTHS - 1)] += 1

    async def _look_up(self, work: Work) -> None:
        commands = (look_up.command for look_up in work.look_ups)
        async for tell in self._lookups.answers(commands, work.who, self.session):
            work.tell(tell)
            self._send(work)

    def _send(self, work: Work) -> None:
        """Let collected orders go out with the next reply, which may be this work's own."""
        if work.new_session:
            self._outbox, work.new_session = lasting(self._outbox), False
        if work.switched:
            self._outbox, work.switched = switched(self._outbox), False
        self._outbox += work.orders
        work.orders = []

    async def _save_rounds(self, batch: Batch) -> None:
        """Store the rounds of a batch that the daemon failed on: the script drops it, and they would be lost."""
        await self._lock.acquire()
        # Without the batch: if this fails too, `_finish` does not start it a third time.
        work = self._work(f"script:{self.server}")
        await self._finish(work, work.take_rounds(batch.events))

    # Replies and time.

    def _draw_reply(self, work: Work, *, want_roster: bool = False) -> Reply:
        """Return the next reply; its orders and its cache count as sent."""
        state, memory = self.session.state, self.session.memory
        orders, self._outbox = tuple(self._outbox), []
        # Splits solved in advance are long, and change seldom.
        # By identity: a new cache is a new value, and the old one stays as it is.
        cache = None if state.cache is self._sent_cache else state.cache
        self._sent_cache = state.cache
        return Reply(
            orders=orders,
            rounds=dict(work.rounds),
            summaries=tuple(work.summaries.values()),
            pending=memory.pending is not None,
            reason=memory.pending,
            due_if=self.session.due_if(),
            cache=cache,
            want=tuple(sorted(state.wants | ({"roster"} if want_roster else set()))),
            enabled=memory.enabled,
            level=state.map_level.level,
            level_reason=state.map_level.reason,
            next=self.rules.poll_seconds,
        )

    def _arm(self) -> None:
        """Re-arm the one timer for the session's next deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._closed:  # a successor may be there already
            return
        deadline = self.session.deadline()
        if deadline is not None:
            wait = max(0.0, deadline - self._clock.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, lambda: self._start(self._tick()))

    async def _tick(self) -> None:
        """Do what the session's deadline brings."""
        await self._lock.acquire()
        work = self._work("timer")
        await self._finish(work, work.pass_time())

    def _start(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work that outlives its caller; `close` waits for it, so that nothing is lost at a stop."""
        task = asyncio.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _players(self) -> set[PlayerId]:
        """Return those whom the session asks for again, whenever a rating of the pool has changed."""
        state = self.session.state
        return {*state.summaries, *(entry.id for entry in state.roster.entries)}


# The last batch of a script: a copy of it gets the same reply.


@dataclass(slots=True)
class LastBatch:
    """Its numbers, and the reply that it got or waits for."""

    boot: int = 0
    seq: int = 0
    reply: asyncio.Future[Reply] | None = None
    """None: the reply is not known any more, as after a restart."""

    def equals(self, batch: Batch) -> bool:
        """Tell whether this is a copy of it."""
        return (self.boot, self.seq) == (batch.boot, batch.seq)

    def is_newer_than(self, batch: Batch) -> bool:
        """Tell whether the batch is an older one of the same boot."""
        return self.boot == batch.boot and self.seq > batch.seq

    def has_missed(self, batch: Batch) -> bool:
        """Tell whether batches of the same boot between the two never came."""
        return self.boot == batch.boot and self.seq + 1 != batch.seq


# How far a script's clock is off ours.

FRESH_SECONDS = 5.0
"""A round that ended longer than this before its batch was queued: when it arrives says nothing of clocks."""


def clock_lead(batch: Batch, now: float) -> float | None:
    """Seconds by which the script's date is ahead of `now`, the epoch's second; None: the batch does not show it.

    A script dates a round's start. A round that comes right after its end shows what the script takes for now, and one
    that begins in the future is dated wrongly however long it waited.
    """
    for event in reversed(batch.events):
        if isinstance(event, RoundEnded):
            # `batch.at` and `event.at` are of one clock, the script's monotonic one; `began` and `now` are dates.
            began = event.round.started_at
            if began > now or batch.at - event.at < FRESH_SECONDS:
                return began + event.round.seconds - now
    return None
