"""A gap between the sides of a running round, and the answers to its question for moves."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.core.asks import AskMoves
from equipoise.core.effects import Effect
from equipoise.core.model import Mode, OrderId, PlayerId
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from tests.core.answerer import answer
from tests.core.scripts import begun, play, seen, summaries

FIRST = OrderId("o1")
"""The first order of a session."""


def question(session: Session) -> AskMoves:
    """The question for moves that is open."""
    asked = session.state.asked_moves
    assert asked is not None
    return asked


def solve(session: Session, now: float = 0.1, ratings: Mapping[str, float] | None = None) -> list[Effect]:
    """Solve the question of moves that is open, and return the effects."""
    asked = question(session)
    equal = dict.fromkeys((*asked.larger, *asked.smaller), 2000.0)
    known = equal | {PlayerId(player): rating for player, rating in (ratings or {}).items()}
    return play(session, [(now, answer(asked, known))])


def uneven(text: str = "abcd|ef", given: Rules | None = None, **marks: str) -> Session:
    """A gap opens at second 0 of a running round."""
    session = begun(Mode.KOTH, "ab|cd", rules=given)
    play(session, [(0.0, seen(text, **marks)), (0.0, summaries(dict.fromkeys(text.replace("|", ""), 2000.0)))])
    return session
