"""Mid-round autobalance: a gap of two or more is seen, answered with moves, and closed or forgotten.

The state machine is one gap at a time: seen (`gap_since`) → asked (`asked_moves`, the solver chooses the players) →
ordered (`moves`, the script moves each player when they are next dead, at the latest at the deadline, which NS2 does
not have) → done, failed or cancelled. Every change of the roster comes back to `check`, which compares the gap with
what is under way: it cancels moves that no longer fit before it asks for others. Nothing is ordered in the last seconds
of a round, while the script says that nobody may be moved, in arena (whose sides are made equal between rounds), or
while a split is about to place all players anyway.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from equipoise.core import friends, scrambles
from equipoise.core.asks import AskMoves
from equipoise.core.effects import Cancel, LogDecision, Move
from equipoise.core.events import MovesSolved, OrderFailed, Phase
from equipoise.core.model import Entry, Immunity, OrderId, PlayerId, Roster, Side
from equipoise.core.phrases import Phrase, Text, no_moves
from equipoise.core.state import Effects, State

OVERDUE_SECONDS = 10.0
"""How long the script may take, after a move's deadline, to report its result."""

NO_DEADLINE = 86_400.0
"""NS2 moves a player when they are dead, however long that takes: longer than any round."""

_OF_THE_ROUND = ("no_moves", "quiet")
"""Why a move fails that say nothing of its player."""

CHARGED = 0.5
"""Übercharge from which a medic is moved only if too few others can be."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Sides that differ by two or more."""

    larger: Side
    count: int
    """Players who must cross: half the difference, rounded down."""

    @classmethod
    def of(cls, roster: Roster) -> Gap | None:
        """The gap of a roster; None while the sides differ by less than two.

        >>> Gap.of(Roster(tuple(Entry(PlayerId(name), Side.B) for name in "abcde")))
        Gap(larger=<Side.B: 'b'>, count=2)
        """
        count = roster.sizes()
        # With bots, as TF2 counts sides; those of NS2 are in no roster (`State.set_roster`).
        surplus = count[Side.A] - count[Side.B]
        if abs(surplus) < 2:
            return None
        return cls(Side.A if surplus > 0 else Side.B, abs(surplus) // 2)


def can_move(entry: Entry, offers: bool = False) -> bool:
    """Whether autobalance may move this player now: nobody who stays, no carrier of the objective, and no immune admin
    but one who offers to go."""
    return not (entry.stays or entry.carrier or (entry.immune & Immunity.AUTOBALANCE and not offers))


def movable(
    larger: tuple[Entry, ...],
    needed: int,
    recently: frozenset[PlayerId],
    never: frozenset[PlayerId],
    objective: frozenset[PlayerId] = frozenset(),
    offering: Collection[PlayerId] = (),
) -> tuple[Entry, ...]:
    """The players who may be moved, from the first tiers that have as many as are needed.

    First come the `offering`. Tier 0 is free to move, tier 1 would lose a building or a charged medigun, tier 2
    captured or defended an objective lately (`objective`), tier 3 was moved recently (`recently`). `never` could not be
    moved when it was tried, or was moved often enough.

    >>> ann, bob = Entry(PlayerId("ann"), Side.A, building=True), Entry(PlayerId("bob"), Side.A)
    >>> [[entry.id for entry in movable((ann, bob), n, frozenset(), frozenset())] for n in (1, 2)]
    [['bob'], ['bob', 'ann']]
    """
    able = [entry for entry in larger if can_move(entry, entry.id in offering) and entry.id not in never]
    chosen = [entry for entry in able if entry.id in offering]
    for tier in range(4):
        if len(chosen) >= needed:
            break
        chosen += [entry for entry in able if entry.id not in offering and _tier(entry, recently, objective) == tier]
    return tuple(chosen)


def _tier(entry: Entry, recently: frozenset[PlayerId], objective: frozenset[PlayerId]) -> int:
    if entry.id in recently:
        return 3
    if entry.id in objective:
        return 2
    return 1 if entry.building or entry.charge >= CHARGED else 0


def move_costs(players: tuple[Entry, ...]) -> dict[PlayerId, int]:
    """Costs that break ties between equally good sets: fewest living players, then the latest arrivals.

    Ranks by arrival add up over a set, so one living player has to cost more than all ranks together.

    >>> ann = Entry(PlayerId("ann"), Side.A, alive=False, connected=900)
    >>> bob = Entry(PlayerId("bob"), Side.A, alive=True, connected=60)
    >>> move_costs((ann, bob))
    {'bob': 2, 'ann': 1}
    """
    by_arrival = sorted(players, key=lambda entry: entry.connected)
    alive = sum(range(len(players))) + 1
    return {entry.id: rank + (alive if entry.alive else 0) for rank, entry in enumerate(by_arrival)}


def check(state: State, now: float, *, forced: bool = False) -> Effects:
    """Compare the gap with what was asked and ordered for it, and do what is missing.

    `forced`: an admin asked; then neither the configuration nor the end of the round matters.
    """
    # It lasts as long as the gap: each change of the roster comes back here without the admin's word.
    state.forced = state.forced or forced
    # The roster that is awaited comes back to here.
    if state.unseen:
        return ()
    gap = Gap.of(state.settled()) if _runs(state) else None
    if gap is None:
        return forget(state)
    # A move would fail at once; the gap waits, and the log says for what.
    if state.no_moves:
        return (*forget(state), *_held_back(state))
    if state.gap_since is None:
        state.gap_since = now
    if _quiet(state, now):
        why = Phrase.GAP_MAP_ENDS if state.map_ends else Phrase.GAP_QUIET
        return (*_cancel_all(state), *_explain(state, gap, why))
    # The answer is compared with the roster when it comes: two questions would give two sets of moves.
    if state.asked_moves is not None:
        return ()
    candidates = _candidates(state, gap, now)
    # Also where all moves are under way: a gap that will stay is said when it is seen.
    explanation = _explain(state, gap, Phrase.GAP_STAYS if len(candidates) < gap.count else None)
    # The moves under way still close the gap: others would only change who has to go.
    achievers = state.at_objectives(now) - {entry.id for entry in candidates}
    if _answered(state, gap, min(gap.count, len(candidates)), achievers):
        return explanation
    cancels = _cancel_all(state)
    if not candidates:
        return (*cancels, *explanation)
    state.asked_moves = _question(state, gap, candidates)
    return (*cancels, *explanation, state.asked_moves)


def _explain(state: State, gap: Gap, phrase: Phrase | None) -> Effects:
    """Log why a gap has fewer moves than it needs, once for as long as this is so; None: it has them."""
    reason = Text(phrase, _sizes(state, gap.larger)) if phrase is not None else None
    before, state.gap_reason = state.gap_reason, reason
    return (LogDecision("kept", reason),) if reason is not None and reason != before else ()


def _sizes(state: State, larger: Side) -> tuple[str, str]:
    count = state.settled().sizes()
    return (str(count[larger]), str(count[larger.other]))


def _held_back(state: State) -> Effects:
    """Log once that the gap stays open, and why."""
    if state.no_moves_logged:
        return ()
    state.no_moves_logged = True
    return (LogDecision("kept", no_moves(state.no_moves)),)


def _answered(state: State, gap: Gap, count: int, spared: frozenset[PlayerId]) -> bool:
    """Tell whether as many moves as possible are under way, all of movable players on the larger side.

    `spared`: who captured or defended meanwhile, where others can go.
    """
    larger, offers = state.settled().on(gap.larger), state.volunteers.keys()
    able = {entry.id for entry in larger if can_move(entry, entry.id in offers)} - (spared - offers)
    movers = [move.player for move in _under_way(state).values()]
    return len(movers) == count and able.issuperset(movers)


def _under_way(state: State) -> dict[OrderId, Move]:
    """Moves that are still to be carried out.

    A script may report a player's new side before it reports that the order is done: such a move is not under way.
    """
    players = {side: {entry.id for entry in state.roster.on(side)} for side in Side}
    return {order: move for order, move in state.moves.items() if move.player not in players[move.side]}


def _runs(state: State) -> bool:
    """Gaps are closed in running rounds, unless a split that places all players is under way."""
    is_running = state.phase is Phase.RUNNING and not state.waiting and not state.assigned
    return is_running and state.acts and not state.arena and (state.rules.autobalance.enabled or state.forced)


def _quiet(state: State, now: float) -> bool:
    at = _quiet_at(state)
    return at is not None and now >= at


def _quiet_at(state: State) -> float | None:
    """When no player is moved any more: in the last seconds of the round, or the last minutes of the map.

    None: neither is known, or an admin asked.
    """
    if state.forced:
        return None
    round_at = None if state.ends_at is None else state.ends_at - state.rules.autobalance.quiet_seconds
    return min((at for at in (round_at, state.left_alone_at) if at is not None), default=None)


def proposal(state: State, now: float) -> AskMoves | None:
    """The question that `check` would ask, for a dry run; None when no player can be moved."""
    gap = None if state.no_moves else Gap.of(state.settled())
    candidates = _candidates(state, gap, now) if gap else ()
    return _question(state, gap, candidates) if gap and candidates else None


def needless(state: State) -> Text:
    """The answer to an admin whose `balance` would move nobody."""
    if state.no_moves:
        return no_moves(state.no_moves)
    gap = Gap.of(state.settled()) if state.phase is Phase.RUNNING else None
    return Text(Phrase.GAP_STAYS, _sizes(state, gap.larger)) if gap else Text(Phrase.NOTHING_TO_BALANCE)


def forget(state: State) -> Effects:
    """The gap is closed, or may not be closed now: cancel the moves under way."""
    state.gap_since, state.gap_reason, state.forced = None, None, False
    return _cancel_all(state)


def _cancel_all(state: State) -> Effects:
    state.asked_moves = None
    orders = _under_way(state)
    state.cancel(orders)
    for order in orders:
        del state.moves[order]
    return tuple(Cancel(order) for order in orders)


def drop(state: State) -> Effects:
    """Forget the gap and all moves, also those whose result is on its way."""
    orders = forget(state)
    state.moves.clear()
    return orders


def _candidates(state: State, gap: Gap, now: float) -> tuple[Entry, ...]:
    never = state.unmovable | (state.moved_twice(now) - state.volunteers.keys()) | state.swapping()
    larger, lately = state.settled().on(gap.larger), state.lately_moved(now)
    return movable(larger, gap.count, lately, never, state.at_objectives(now), state.volunteers)


def _question(state: State, gap: Gap, candidates: tuple[Entry, ...]) -> AskMoves:
    roster = state.settled()
    return AskMoves(
        state.version,
        state.memory.context,
        tuple(entry.id for entry in roster.on(gap.larger)),
        tuple(entry.id for entry in roster.on(gap.larger.other)),
        gap.larger,
        tuple(entry.id for entry in candidates),
        min(gap.count, len(candidates)),
        move_costs(candidates),
        roster.commanders(),
        friends.with_friends(state, gap.larger) - state.volunteers.keys(),
    )


def solved(state: State, event: MovesSolved, now: float) -> Effects:
    """Order the moves; if the roster has changed since the question, look again instead."""
    if event.ask != state.asked_moves:
        return ()
    state.asked_moves = None
    # A swap may have been agreed meanwhile. `check` asks again, cancels or waits, whichever fits by now.
    in_swap = not state.swapping().isdisjoint(event.players)
    if event.ask.version != state.version or in_swap or not _runs(state) or _quiet(state, now):
        return check(state, now)
    assert state.gap_since is not None, "a question is forgotten with its gap"
    # The deadline counts from when the gap was seen: a slow answer does not give the players longer.
    left = max(0.0, _deadline_seconds(state) - (now - state.gap_since))
    larger = event.ask.larger_side
    sizes = _sizes(state, larger)
    quiet = 0.0 if state.forced else state.rules.autobalance.quiet_seconds
    effects: Effects = ()
    for player in event.players:
        reason = Text(Phrase.REASON_VOLUNTEER if player in state.volunteers else Phrase.REASON_GAP, sizes)
        move = Move(state.next_order(), reason, player, larger.other, left, quiet)
        state.moves[move.order] = move
        effects += (move, LogDecision("move", reason, move.order, players=(player,), side=move.side))
    return effects


def _deadline_seconds(state: State) -> float:
    return NO_DEADLINE if state.ns2 else state.rules.autobalance.deadline_seconds


def not_solved(state: State, question: AskMoves) -> Effects:
    """The solver failed: the next change of the roster, or the next heartbeat, asks again."""
    if question == state.asked_moves:
        state.asked_moves = None
    return ()


def done(state: State, order: OrderId, now: float) -> Effects:
    """Lock a moved player to the new side, and note the time, so that others are moved first for a while."""
    # Before `check`, which would count the move as still under way.
    move = state.moves.pop(order, None) or state.cancelled[order]
    state.cancelled = {other: move for other, move in state.cancelled.items() if other != order}
    state.memory = state.memory.move(move.player, now)
    state.place(move.player, move.side)
    return (*state.lock({move.player: move.side}, now), *check(state, now))


def failed(state: State, answer: OrderFailed, now: float) -> Effects:
    """A player could not be moved: they are not tried again in this round, or while they are held."""
    move = state.moves.pop(answer.order)
    state.hold(answer.stayed)
    if answer.reason in _OF_THE_ROUND:
        # No move is ordered until the script's next roster says what is so: it would fail at once, again and again.
        state.wants |= {"roster"}
        if answer.reason == "quiet":
            # The script knows of an end that the daemon does not: from now on the quiet seconds run.
            state.ends_at = now + state.rules.autobalance.quiet_seconds
        else:
            state.no_moves = state.no_moves or "no"
    elif move.player not in answer.stayed:
        state.unmovable |= {move.player}
    log = LogDecision("failed", move.reason, answer.order, players=(move.player,))
    return (log, *scrambles.log_stayed(answer.stayed, answer.order), *check(state, now))


def overdue_at(state: State) -> float | None:
    """When moves without a result are given up: some time after their deadline, or when nobody is moved any more."""
    # Without a gap only moves are left whose player has arrived: their result is on its way.
    if not state.moves or state.gap_since is None:
        return None
    answer_due = state.gap_since + _deadline_seconds(state) + OVERDUE_SECONDS
    quiet = _quiet_at(state)
    return answer_due if quiet is None else min(answer_due, quiet)


def overdue(state: State, now: float) -> Effects:
    """Give up moves that are overdue; the next event from the script shows what is still needed."""
    at = overdue_at(state)
    if at is None or now < at:
        return ()
    return drop(state)


def leave(state: State, player: PlayerId) -> None:
    """A player left: their moves are void. No `Cancel`: a script drops the orders of players who leave."""
    for order in [order for order, move in state.moves.items() if move.player == player]:
        del state.moves[order]
    state.cancelled = {order: move for order, move in state.cancelled.items() if move.player != player}
