"""Mid-round autobalance: a gap of two or more is seen, answered with moves, and closed or forgotten."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core.effects import AskMoves, Cancel, Decide, Move
from equipoise.core.events import MovesSolved, Phase
from equipoise.core.joins import Gap, movable, move_costs, sizes
from equipoise.core.model import Entry, OrderId, PlayerId
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import Effects, State

OVERDUE_SECONDS = 10.0
"""After a move's deadline, how long the script may take to say what came of it."""


def check(state: State, now: float, *, forced: bool = False) -> Effects:
    """See whether the sides differ by two or more, and whether what was ordered still answers it.

    `forced`: an admin asked; then the end of the round does not matter.
    """
    gap = Gap.of(state.roster) if _balances(state) else None
    if gap is None:
        return forget(state)
    if state.gap_since is None:
        state.gap_since = now
    if state.asked_moves or (_quiet(state, now) and not forced):
        return ()
    candidates = _candidates(state, gap, now)
    count = min(gap.count, len(candidates))
    if _answered(state, gap, count):
        return ()
    return (*_cancel_all(state), *_ask(state, gap, candidates, count))


def _answered(state: State, gap: Gap, count: int) -> bool:
    """As many moves as can be are under way, all of players who still stand on the larger side."""
    larger = {entry.id for entry in state.roster.on(gap.larger)}
    return len(state.moves) == count and all(move.player in larger for move in state.moves.values())


def _balances(state: State) -> bool:
    running = state.phase is Phase.RUNNING and not state.waiting
    return running and state.acts and not state.arena and state.rules.autobalance.enabled


def _quiet(state: State, now: float) -> bool:
    return state.ends_at is not None and state.ends_at - now <= state.rules.autobalance.quiet_seconds


def forget(state: State) -> Effects:
    """The gap is gone, or moves make no sense any more."""
    state.gap_since = None
    state.asked_moves = None
    return _cancel_all(state)


def _cancel_all(state: State) -> Effects:
    cancelled = tuple(Cancel(order) for order in state.moves)
    state.moves.clear()
    return cancelled


def _candidates(state: State, gap: Gap, now: float) -> tuple[Entry, ...]:
    spare = state.rules.autobalance.spare_minutes * 60
    recently = frozenset(player for player, at in state.memory.moved.items() if now - at < spare)
    return movable(state.roster.on(gap.larger), gap.count, recently, state.unmovable)


def _ask(state: State, gap: Gap, candidates: tuple[Entry, ...], count: int) -> Effects:
    if count == 0:
        return ()
    state.asked_moves = AskMoves(
        state.version,
        tuple(entry.id for entry in state.roster.on(gap.larger)),
        tuple(entry.id for entry in state.roster.on(gap.larger.other)),
        gap.larger,
        tuple(entry.id for entry in candidates),
        count,
        move_costs(candidates),
    )
    return (state.asked_moves,)


def solved(state: State, event: MovesSolved, now: float) -> Effects:
    """Order the moves, unless somebody came or went meanwhile: then look again."""
    if event.ask != state.asked_moves:
        return ()
    state.asked_moves = None
    if event.ask.version != state.version or state.gap_since is None:
        return check(state, now)
    seen = state.gap_since
    left = max(0.0, state.rules.autobalance.deadline_seconds - (now - seen))
    count = sizes(state.roster)
    larger = event.ask.larger_side
    reason = Text(Phrase.REASON_GAP, (str(count[larger]), str(count[larger.other])))
    effects: Effects = ()
    for player in event.players:
        move = Move(state.next_order(), reason, player, larger.other, left)
        state.moves[move.order] = move
        effects += (move, Decide("move", reason, move.order, players=(player,)))
    return effects


def not_solved(state: State, question: AskMoves) -> Effects:
    """No answer: the next change of the roster asks again."""
    if question == state.asked_moves:
        state.asked_moves = None
    return ()


def done(state: State, order: OrderId, now: float) -> Effects:
    """Somebody was moved: he is spared next time, and kept there."""
    move = state.moves.pop(order)
    state.memory = replace(state.memory, moved={**state.memory.moved, move.player: now})
    state.seat(move.player, move.side)
    return (*state.lock({move.player: move.side}, now), *check(state, now))


def failed(state: State, order: OrderId, now: float) -> Effects:
    """Somebody could not be moved: not tried again in this round."""
    move = state.moves.pop(order)
    state.unmovable |= {move.player}
    return (Decide("failed", move.reason, order, players=(move.player,)), *check(state, now))


def overdue_at(state: State) -> float | None:
    """When moves without an answer are given up."""
    if not state.moves or state.gap_since is None:
        return None
    return state.gap_since + state.rules.autobalance.deadline_seconds + OVERDUE_SECONDS


def overdue(state: State, now: float) -> Effects:
    """The script said nothing of its moves: look at the roster again."""
    at = overdue_at(state)
    if at is None or now < at:
        return ()
    state.gap_since = now
    return (*_cancel_all(state), *check(state, now))


def leave(state: State, player: PlayerId) -> None:
    """Somebody left: an order about him is void; the script forgets it by itself."""
    for order in [order for order, move in state.moves.items() if move.player == player]:
        del state.moves[order]
