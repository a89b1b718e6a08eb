"""Too uneven: between two rounds as few players as possible change sides, where the win probability has run away.

No scramble: streak, round count, voices, other players' locks and what is pending stay. It is decided at a round's
start, when it is known who is here, so never after a map's last round; and never by the script alone.
"""

from __future__ import annotations

from equipoise.core.asks import SwapTerms
from equipoise.core.effects import Say
from equipoise.core.events import SplitSolved
from equipoise.core.model import PlayerId, Side, Split
from equipoise.core.outlook import EVEN_CHANCES
from equipoise.core.phrases import Phrase, Text, percent
from equipoise.core.state import Effects, State

KNOWN_ROUNDS = 10
"""Rated rounds after which a player is known: half of those on the sides have to be."""

AGAIN = 2
"""What it costs to move a player who was moved lately; another costs 1."""


def needed(state: State) -> bool:
    """A round was played on this map, the players are known, and nobody has looked at these sides in this freeze.

    Sides that differ by two are uneven by their numbers: autobalance closes that gap when the round is live.
    """
    sizes = state.roster.sizes()
    if abs(sizes[Side.A] - sizes[Side.B]) > 1:
        return False
    played = state.memory.tally.completed > 0 and not state.teams_made and state.even_version != state.version
    return state.triggers.chance and played and state.enough_players and _known(state)


def _known(state: State) -> bool:
    there = [entry.id for side in Side for entry in state.roster.on(side) if not entry.bot]
    rounds = [state.summaries[player].rounds for player in there if player in state.summaries]
    return 2 * sum(each >= KNOWN_ROUNDS for each in rounds) >= len(there) > 0


def terms(state: State) -> SwapTerms:
    """Who may change side, what that costs, and which win probabilities are wanted."""
    now, (low, high) = state.heard_at or 0.0, state.rules.scramble.fair_band
    stay = {entry.id for entry in state.roster.entries if entry.stays or entry.immune}
    costs = dict.fromkeys(state.lately_moved(now), AGAIN)
    even = max(low, EVEN_CHANCES[0]), min(high, EVEN_CHANCES[1])
    return SwapTerms((low, high), even, frozenset(stay | state.moved_twice(now)), costs)


def carried_out(state: State, event: SplitSolved, split: Split, now: float) -> Effects:
    """Those who changed side are locked there, as after a scramble, and count as moved; all players read who."""
    before = {entry.id: entry.side for entry in event.ask.entries}
    sides = {player: side for side in Side for player in (split.a if side is Side.A else split.b)}
    moved = {player: side for player, side in sides.items() if before.get(player) is side.other}
    for player in moved:
        state.memory = state.memory.move(player, now)
    state.place_split(split)
    state.even_version = state.version
    return (*state.lock(moved, now), *_said(state, event, tuple(moved)))


_CHANGED = {2: Phrase.TOO_UNEVEN_TWO, 4: Phrase.TOO_UNEVEN_FOUR}


def _said(state: State, event: SplitSolved, moved: tuple[PlayerId, ...]) -> Effects:
    # Where somebody could not be moved, another line says who.
    if event.before is None or len(moved) not in _CHANGED:
        return ()
    likely = Side.A if event.before.chance > 0.5 else Side.B
    chance = event.before.chance if likely is Side.A else 1 - event.before.chance
    names = (f"@{player}" for player in moved)
    return (Say(Text(_CHANGED[len(moved)], (state.side_name(likely), percent(chance), *names))),)
