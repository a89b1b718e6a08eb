"""The questions of one server: what its session asks, what players and admins look up, dry runs, the outlook shown.

A question that fails costs nobody but those who wait for its answer: the events beside it are taken, the rounds are
stored, the reply goes out, and the session goes on without the answer (`SolveFailed`). So every exception is caught
here, memory errors included. Each is counted; the first of its kind in a minute is also logged with its traceback and
becomes a decision, which `equipoise why` shows.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, overload

from equipoise.balancing import Question, Solved, answer, asked_players
from equipoise.core import autobalance, scrambles
from equipoise.core.asks import Ask, AskChance, AskMoves, AskSide, AskSplit, AskSwitch, CacheSplits, LoadSummaries
from equipoise.core.commands import left_alone
from equipoise.core.events import MovesSolved, SolveFailed
from equipoise.core.model import ServerId
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import State
from equipoise.errors import SplitError
from equipoise.service.journal import Journal
from equipoise.service.log import Repeats
from equipoise.service.pool import Pool
from equipoise.service.status import CommandAnswer

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

_KIND_OF: dict[type[Ask], Kind] = {
    AskSplit: "split",
    AskMoves: "moves",
    AskSide: "side",
    AskSwitch: "switch",
    CacheSplits: "cache",
    AskChance: "chance",
    LoadSummaries: "summaries",
}

log = logging.getLogger(__name__)


def kind_of(ask: Ask) -> Kind:
    """Return the kind of a session's question."""
    return _KIND_OF[type(ask)]


class Questions:
    """Call `close` last."""

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
    async def solve(self, ask: AskMoves) -> MovesSolved | SolveFailed: ...
    @overload
    async def solve(self, ask: Question) -> Solved: ...
    async def solve(self, ask: Question) -> Solved:
        """Return the answer by the pool's present skills. To be called in an `attempt`: it may fail in any way."""
        system = self._pool.balancing
        if isinstance(ask, AskSide | AskSwitch | AskChance) or len(asked_players(ask)) < THREAD_FROM:
            solved = answer(ask, system)
        else:
            solved = await asyncio.to_thread(answer, ask, system)
        if isinstance(solved, SolveFailed):
            self.fail(kind_of(ask), SplitError(solved.reason))
        return solved

    def fail(self, kind: Kind, error: Exception) -> str:
        """Note a failure, and return its reason."""
        self.failed[kind] += 1
        name = type(error).__name__
        said = " ".join(str(error).split())[:LONGEST_REASON]
        reason = said if isinstance(error, SplitError) else f"{name}: {said}" if said else name
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
        if not isinstance(error, Exception):  # a cancelled task is no failure
            return False
        self.reason = self._questions.fail(self._kind, error)
        return True


# The dry run of an admin's `balance`.


async def propose_moves(state: State, pool: Pool, questions: Questions, now: float) -> CommandAnswer:
    """The moves that autobalance would order now."""
    if (why := left_alone(state)) is not None:
        return CommandAnswer(False, (why,))
    question = autobalance.proposal(state, now)
    if question is None:
        return CommandAnswer(False, (autobalance.needless(state),))
    with questions.attempt("moves") as attempt:
        await pool.summaries((*question.larger, *question.smaller))
        solved = await questions.solve(question)
        if not isinstance(solved, SolveFailed):
            side = question.larger_side.other
            return CommandAnswer(True, tuple(scrambles.dry_line(state, player, side) for player in solved.players))
        attempt.reason = solved.reason
    return CommandAnswer(False, (Text(Phrase.FAILED, (attempt.reason,)),))
