"""Swaps: two players on different sides change places if both agree, and who offers to go is moved first.

A swap asks for nothing but that the sides stay as even as a switch has to leave them (`joins.fair`), and that both are
here and may be moved: locks, immunity and recent moves count for nothing among players who agree. It is two moves,
ordered together. Until both are done the sides are taken as they will be then, so that nobody else is moved meanwhile
(`State.settled`). If one of them fails, the other is cancelled; where that is too late, autobalance closes what gap is
left. It takes others first, as it does for a while after every swap.

An offer to go holds while its player stands on the side that they made it on.
"""

from __future__ import annotations

from collections.abc import Collection

from equipoise.core import autobalance, friends, joins
from equipoise.core.asks import AskSwitch
from equipoise.core.effects import Cancel, LogDecision, Move, Say, Tell
from equipoise.core.events import Commanded, OrderFailed, Phase, SwitchJudged
from equipoise.core.friends import INVITATION_MINUTES
from equipoise.core.model import OrderId, PlayerId, Side
from equipoise.core.phrases import Phrase, Text, no_moves, not_moved, percent
from equipoise.core.state import Effects, State, Swap


def obey(state: State, event: Commanded, now: float) -> Effects:
    """`swap`: be moved first; `swap none`: no more; `swap ID`: ask this player, or agree with them."""
    by, words = event.by, event.words[1:]
    entry = None if by is None else state.roster.get(by)
    if state.ns2:
        return (Tell(by, (Text(Phrase.UNKNOWN_COMMAND, (event.words[0],)),)),)
    if state.arena:
        return (Tell(by, (Text(Phrase.CANNOT_BALANCE_ARENA),)),)
    if by is None or entry is None or entry.side is None:
        return (Tell(by, (Text(Phrase.PLAYING_ONLY),)),)
    if [word.casefold() for word in words] == ["none"]:
        state.volunteers = {player: side for player, side in state.volunteers.items() if player != by}
        state.swap_invitations = {pair: at for pair, at in state.swap_invitations.items() if by not in pair}
        return (Tell(by, (Text(Phrase.SWAP_NONE),)),)
    if not words:
        state.volunteers = {**state.volunteers, by: entry.side}
        return (Tell(by, (Text(Phrase.SWAP_OFFERED),)),)
    mate = friends.named(words)
    if mate is None or (partner := state.roster.get(mate)) is None or partner.bot:
        return (Tell(by, (Text(Phrase.UNKNOWN_PLAYER, (" ".join(words),)),)),)
    return _ask(state, by, mate)


def _ask(state: State, by: PlayerId, other: PlayerId) -> Effects:
    """Ask the pool how even the sides would be."""
    if (why := _obstacle(state, by, other)) is not None:
        return (Tell(by, (why,)),)
    a, b = (tuple(entry.id for entry in state.settled().on(side)) for side in Side)
    question = AskSwitch(state.version, state.memory.context, a, b, by, partner=other)
    state.swap_questions = {**state.swap_questions, by: question}
    return (question,)


def _obstacle(state: State, by: PlayerId, other: PlayerId) -> Text | None:
    """Why these two cannot swap sides now; None: they can."""
    entries = [state.roster.get(player) for player in (by, other)]
    if not all(entries):
        return Text(Phrase.SWAP_FAILED, (f"@{other}",))
    mine, theirs = (entry.side if entry else None for entry in entries)
    if mine is None or theirs is not mine.other:
        return Text(Phrase.SWAP_SIDES)
    obstacle = next((entry for entry in entries if entry is not None and entry.held), None)
    if obstacle is not None:
        return not_moved(obstacle.held, f"@{obstacle.id}")
    if state.no_moves:
        return no_moves(state.no_moves)
    movers = {move.player for move in state.moves.values()} | state.swapping()
    if state.phase is not Phase.RUNNING or state.waiting or state.assigned or movers & {by, other}:
        return Text(Phrase.SWAP_NOT_NOW)
    return None


def judged(state: State, event: SwitchJudged, now: float) -> Effects:
    """Ask the partner, or order the moves if both agree; if the roster has changed since the question, look again."""
    ask = event.ask
    by, partner = ask.player, ask.partner
    if partner is None or state.swap_questions.get(by) != ask:
        return ()
    _forget_question(state, by)
    if ask.version != state.version or not state.acts:
        return _ask(state, by, partner) if state.acts else ()
    if (why := _obstacle(state, by, partner)) is not None:
        return (Tell(by, (why,)),)
    state.swap_invitations = friends.lasting(state, state.swap_invitations, now)
    agrees = (partner, by) in state.swap_invitations
    if not joins.fair(state, event):
        favourite = Side.A if event.after > 0.5 else Side.B
        chance = percent(max(event.after, 1.0 - event.after))
        refusal = Text(Phrase.REFUSED_SWAP, (state.side_name(favourite), chance))
        return tuple(Tell(player, (refusal,)) for player in ((by, partner) if agrees else (by,)))
    return _order(state, by, partner, now) if agrees else _invite(state, by, partner, now)


def _invite(state: State, by: PlayerId, other: PlayerId, now: float) -> Effects:
    state.swap_invitations = {**state.swap_invitations, (by, other): now}
    answer = Tell(by, (Text(Phrase.SWAP_ASKED, (f"@{other}", str(INVITATION_MINUTES))),))
    # Repeated words of one player are not shown to the other.
    state.swaps_shown = friends.younger(state.swaps_shown, now)
    if (by, other) in state.swaps_shown:
        return (answer,)
    state.swaps_shown = {**state.swaps_shown, (by, other): now}
    return (answer, Tell(other, (Text(Phrase.SWAP_ASKS, (f"@{by}",)),)))


def no_answer(state: State, question: AskSwitch) -> Effects:
    """The pool did not say how even the sides would be: nobody is moved."""
    if state.swap_questions.get(question.player) != question:
        return ()
    _forget_question(state, question.player)
    return (Tell(question.player, (Text(Phrase.FAILED, ("swap",)),)),)


def _forget_question(state: State, by: PlayerId) -> None:
    state.swap_questions = {player: question for player, question in state.swap_questions.items() if player != by}


def _order(state: State, by: PlayerId, other: PlayerId, now: float) -> Effects:
    seconds, reason = state.rules.autobalance.deadline_seconds, Text(Phrase.REASON_SWAP)
    sides = {player: entry.side for player in (other, by) if (entry := state.roster.get(player)) and entry.side}
    first, second = (Move(state.next_order(), reason, player, side.other, seconds) for player, side in sides.items())
    state.swaps = (*state.swaps, Swap((first, second), now + seconds + autobalance.OVERDUE_SECONDS))
    state.swap_invitations = {pair: at for pair, at in state.swap_invitations.items() if not {by, other} & {*pair}}
    pairs = ((by, other), (other, by))
    logs = (LogDecision("move", reason, move.order, players=(move.player,), side=move.side) for move in (first, second))
    args = str(round(seconds))
    return (
        *(Tell(reader, (Text(Phrase.SWAP_AGREED, (f"@{partner}", args)),)) for reader, partner in pairs),
        first,
        second,
        *logs,
    )


def of(state: State, order: OrderId) -> Swap | None:
    """The swap that an order belongs to, while its move is still to be carried out."""
    return next((swap for swap in state.swaps if any(move.order == order for move in swap.open)), None)


def done(state: State, swap: Swap, order: OrderId, now: float) -> Effects:
    """One of the two has changed side: they are locked there; after the second all players read it."""
    move, after = next(move for move in swap.open if move.order == order), swap.without(order)
    others = tuple(entry for entry in state.swaps if entry is not swap)
    state.swaps = (*others, after) if after.open else others
    # Before `check`: the gap that a failed half leaves needs just the skill of the one who was moved.
    state.memory = state.memory.spare(move.player, now)
    state.place(move.player, move.side)
    names = tuple(f"@{move.player}" for move in swap.moves)
    lines = () if after.open else (Say(Text(Phrase.SWAPPED, names)),)
    return (*state.lock({move.player: move.side}, now), *lines, *autobalance.check(state, now))


def failed(state: State, swap: Swap, answer: OrderFailed, now: float) -> Effects:
    """One of the two could not be moved: the other stays too, if it is not too late for that."""
    players = tuple(move.player for move in swap.moves if move.order == answer.order)
    state.hold(answer.stayed)
    log = LogDecision("failed", Text(Phrase.REASON_SWAP), answer.order, players=players)
    return (log, *_give_up(state, (swap,), {answer.order}), *autobalance.check(state, now))


def leave(state: State, player: PlayerId) -> Effects:
    """A player left: the script has dropped their move, and their partner stays."""
    swaps = tuple(swap for swap in state.swaps if any(move.player == player for move in swap.moves))
    return _give_up(state, swaps, {move.order for swap in swaps for move in swap.moves if move.player == player})


def drop(state: State) -> Effects:
    """Forget all swaps: the round is over, the sides have changed, or nothing is ordered any more."""
    return _give_up(state, state.swaps)


def _give_up(state: State, swaps: tuple[Swap, ...], dropped: Collection[OrderId] = ()) -> Effects:
    """Cancel what is left of these swaps, but orders that the script has `dropped`; both players read it."""
    effects: Effects = ()
    for swap in swaps:
        players = [move.player for move in swap.moves]
        cancelled = {move.order: move for move in swap.open if move.order not in dropped}
        state.cancel(cancelled)
        effects += tuple(Cancel(order) for order in cancelled)
        effects += tuple(
            Tell(player, (Text(Phrase.SWAP_FAILED, (f"@{partner}",)),))
            for player, partner in zip(players, players[::-1], strict=True)
            if state.roster.get(player) is not None
        )
    state.swaps = tuple(swap for swap in state.swaps if swap not in swaps)
    return effects


def overdue_at(state: State) -> float | None:
    """When the first swap without a result is given up."""
    return min((swap.until for swap in state.swaps), default=None)


def overdue(state: State, now: float) -> Effects:
    """Give up swaps that are overdue."""
    return _give_up(state, tuple(swap for swap in state.swaps if now >= swap.until))
