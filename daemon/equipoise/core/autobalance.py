"""Mid-round autobalance: a gap of two or more is seen, answered with moves, and closed or forgotten."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core.asks import AskMoves
from equipoise.core.effects import Cancel, LogDecision, Move
from equipoise.core.events import MovesSolved, Phase
from equipoise.core.joins import Gap, can_move, movable, move_costs, sizes
from equipoise.core.model import Entry, OrderId, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import Effects, State

OVERDUE_SECONDS = 10.0
"""After a move's deadline, how long the script may take to say what came of it."""


def check(state: State, now: float, *, forced: bool = False) -> Effects:
    """See whether the sides differ by two or more, and whether what was ordered still answers it.

    `forced`: an admin asked; then neither the configuration nor the end of the round matters.
    """
    state.forced = state.forced or forced
    gap = Gap.of(state.roster) if _runs(state) else None
    if gap is None:
        return forget(state)
    if state.gap_since is None:
        state.gap_since = now
    if _quiet(state, now):
        return _cancel_all(state)
    if state.asked_moves:
        return ()
    candidates = _candidates(state, gap, now)
    if _answered(state, gap, min(gap.count, len(candidates))):
        return ()
    return (*_cancel_all(state), *_ask(state, gap, candidates))


def _answered(state: State, gap: Gap, count: int) -> bool:
    """As many moves as can be are under way, all of players who may still cross from the larger side."""
    able = {entry.id for entry in state.roster.on(gap.larger) if can_move(entry)}
    moving = [move.player for move in _under_way(state).values()]
    return len(moving) == count and able.issuperset(moving)


def _under_way(state: State) -> dict[OrderId, Move]:
    """Moves that are still to be carried out: a script may say that somebody stands there before it says why."""
    there = {side: {entry.id for entry in state.roster.on(side)} for side in Side}
    return {order: move for order, move in state.moves.items() if move.player not in there[move.side]}


def _runs(state: State) -> bool:
    """Gaps are closed in running rounds, unless everybody is about to be placed anew."""
    running = state.phase is Phase.RUNNING and not state.waiting and not state.assigned
    return running and state.acts and not state.arena and (state.rules.autobalance.enabled or state.forced)


def _quiet(state: State, now: float) -> bool:
    at = _quiet_at(state)
    return at is not None and now >= at


def _quiet_at(state: State) -> float | None:
    if state.ends_at is None or state.forced:
        return None
    return state.ends_at - state.rules.autobalance.quiet_seconds


def proposal(state: State, now: float) -> AskMoves | None:
    """The question that `check` would ask, for a dry run; None when there is nobody to move."""
    gap = Gap.of(state.roster)
    candidates = _candidates(state, gap, now) if gap else ()
    return _question(state, gap, candidates) if gap and candidates else None


def forget(state: State) -> Effects:
    """The gap is gone, or moves make no sense any more."""
    state.gap_since, state.forced = None, False
    return _cancel_all(state)


def _cancel_all(state: State) -> Effects:
    state.asked_moves = None
    cancelled = tuple(_under_way(state))
    for order in cancelled:
        del state.moves[order]
    return tuple(Cancel(order) for order in cancelled)


def drop(state: State) -> Effects:
    """No order stands any more, not even one whose answer is on its way."""
    cancelled = forget(state)
    state.moves.clear()
    return cancelled


def _candidates(state: State, gap: Gap, now: float) -> tuple[Entry, ...]:
    spare = state.rules.autobalance.spare_minutes * 60
    recently = frozenset(player for player, at in state.memory.moved.items() if now - at < spare)
    return movable(state.roster.on(gap.larger), gap.count, recently, state.unmovable)


def _ask(state: State, gap: Gap, candidates: tuple[Entry, ...]) -> Effects:
    if not candidates:
        return ()
    state.asked_moves = _question(state, gap, candidates)
    return (state.asked_moves,)


def _question(state: State, gap: Gap, candidates: tuple[Entry, ...]) -> AskMoves:
    return AskMoves(
        state.version,
        state.memory.context,
        tuple(entry.id for entry in state.roster.on(gap.larger)),
        tuple(entry.id for entry in state.roster.on(gap.larger.other)),
        gap.larger,
        tuple(entry.id for entry in candidates),
        min(gap.count, len(candidates)),
        move_costs(candidates),
    )


def solved(state: State, event: MovesSolved, now: float) -> Effects:
    """Order the moves, unless somebody came or went meanwhile: then look again."""
    if event.ask != state.asked_moves:
        return ()
    state.asked_moves = None
    if event.ask.version != state.version or not _runs(state) or _quiet(state, now):
        return check(state, now)
    assert state.gap_since is not None, "a question is forgotten with its gap"
    left = max(0.0, state.rules.autobalance.deadline_seconds - (now - state.gap_since))
    count = sizes(state.roster)
    larger = event.ask.larger_side
    reason = Text(Phrase.REASON_GAP, (str(count[larger]), str(count[larger.other])))
    effects: Effects = ()
    for player in event.players:
        move = Move(state.next_order(), reason, player, larger.other, left)
        state.moves[move.order] = move
        effects += (move, LogDecision("move", reason, move.order, players=(player,)))
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
    return (LogDecision("failed", move.reason, order, players=(move.player,)), *check(state, now))


def overdue_at(state: State) -> float | None:
    """When moves without an answer are given up, or the last seconds of the round begin."""
    if not state.moves or state.gap_since is None:
        return None
    unanswered = state.gap_since + state.rules.autobalance.deadline_seconds + OVERDUE_SECONDS
    quiet = _quiet_at(state)
    return unanswered if quiet is None else min(unanswered, quiet)


def overdue(state: State, now: float) -> Effects:
    """Moves came too late: the next word from the script shows what is to be done."""
    at = overdue_at(state)
    if at is None or now < at:
        return ()
    return drop(state)


def leave(state: State, player: PlayerId) -> None:
    """Somebody left: an order about him is void; the script forgets it by itself."""
    for order in [order for order, move in state.moves.items() if move.player == player]:
        del state.moves[order]
