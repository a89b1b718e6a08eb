"""The dry run of an admin's `balance`."""

from __future__ import annotations

from equipoise.core import autobalance, scrambles
from equipoise.core.commands import left_alone
from equipoise.core.events import SolveFailed
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import State
from equipoise.service.pool import Pool
from equipoise.service.questions import Questions
from equipoise.service.status import CommandAnswer


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
