"""The dry run of an admin's `balance`."""

from __future__ import annotations

from equipoise.balancing import answer
from equipoise.core import autobalance, scrambles
from equipoise.core.commands import left_alone
from equipoise.core.events import MovesSolved
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import State
from equipoise.service.pool import Pool
from equipoise.service.status import CommandAnswer


async def propose_moves(state: State, pool: Pool, now: float) -> CommandAnswer:
    """The moves that autobalance would order now."""
    if (why := left_alone(state)) is not None:
        return CommandAnswer(False, (why,))
    question = autobalance.proposal(state, now)
    if question is None:
        return CommandAnswer(False, (Text(Phrase.NOTHING_TO_BALANCE),))
    await pool.summaries((*question.larger, *question.smaller))
    solved = answer(question, pool.balancing)
    side = question.larger_side.other
    players = solved.players if isinstance(solved, MovesSolved) else ()
    return CommandAnswer(True, tuple(scrambles.dry_line(state, player, side) for player in players))
