"""NS2's shuffles: the fewest moves that make the sides even, before a round, by a vote or by an admin.

A shuffle goes the way of a scramble (`core.scrambles`): it is asked for, ordered while its roster holds, and done. This
module holds what is different. A round start needs one even if none is due (`shuffle.at_round_start`). One that finds
no player to move is over without an order. One that is carried out in a running round starts the round again, and all
players read so first.
"""

from __future__ import annotations

from equipoise.core import wishes
from equipoise.core.asks import Moment, Purpose
from equipoise.core.effects import Say
from equipoise.core.events import Phase, SplitSolved
from equipoise.core.model import DueIf, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import Effects, State


def needed(state: State) -> tuple[Purpose, Text] | None:
    """The shuffle that this freeze needs, and its reason; None when there is nothing to ask for."""
    if not state.enough_players:
        return None
    if (pending := state.memory.pending) is not None:
        return Purpose.SHUFFLE, pending
    looked = state.teams_made or state.even_version == state.version
    if looked or not state.rules.shuffle.at_round_start:
        return None
    return Purpose.SHUFFLE, Text(Phrase.REASON_ROUND_START)


def will_follow(state: State) -> bool:
    """No round runs, and the next one is shuffled before it begins."""
    between = state.phase in (Phase.IDLE, Phase.OVER)
    return state.ns2 and between and state.rules.shuffle.at_round_start


def due_if(state: State) -> tuple[DueIf, ...]:
    """With a shuffle before every round, each outcome makes the next one due for a script without the daemon."""
    if not state.rules.shuffle.at_round_start:
        return ()
    return tuple(DueIf(winner) for winner in (Side.A, Side.B, None))


def in_time(state: State, moment: Moment) -> bool:
    """Whether a split for this moment may be ordered in the present phase."""
    return state.phase in ((Phase.IDLE, Phase.RUNNING) if moment is Moment.NOW else (Phase.FREEZE,))


def without_moves(state: State, event: SplitSolved) -> Effects:
    """No player has to move: this freeze needs no other shuffle of the same players, and wishes are weighed anew."""
    state.even_version = state.version
    return wishes.shuffled(state, event.split)


def first(state: State, moment: Moment) -> Effects:
    """What all players read before the order."""
    restarts = moment is Moment.NOW and state.phase is Phase.RUNNING
    return (Say(Text(Phrase.SHUFFLE_RESTARTS)),) if restarts else ()


def done(state: State, event: SplitSolved) -> Effects:
    """A shuffle was carried out: count its moves, and weigh the wishes anew."""
    state.shuffle_moves += changed_side(event)
    return wishes.shuffled(state, event.split)


def changed_side(event: SplitSolved) -> int:
    """The number of players who changed side; joiners who were placed did not."""
    placed = {entry.id for entry in event.ask.entries if entry.side is None}
    return sum(player not in placed for player in event.moved())
