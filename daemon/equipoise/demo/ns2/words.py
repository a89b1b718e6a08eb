"""NS2's orders and results in the ticker's words."""

from __future__ import annotations

from equipoise.core.model import Side
from equipoise.demo.words import UPSET, Odds, Teams, percent

SIDES = {Side.A: "Marines", Side.B: "Aliens"}


def shuffled(odds: Odds, reason: str, before: Teams, after: Teams) -> str:
    """A shuffle: its reason, the marines' chance before and after, how many moved and how many were placed.

    >>> from equipoise.core.model import PlayerId
    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> before, after = Teams((ann, bob), (), (cid,), None), Teams((ann,), (bob, cid), (), 0.5)
    >>> shuffled((0.71, 0.52), "the round starts", before, after)
    'The round starts → shuffled: Marines 71 % → 52 %, 1 moved, 1 placed from the ready room'
    """
    moved = before.moved_to(after)
    placed = len({*after.a, *after.b} & {*before.bench})
    parts = [f"Marines {percent(odds[0])} → {percent(odds[1])}", f"{moved or 'nobody'} moved"]
    if placed:
        parts.append(f"{placed} placed from the ready room")
    return f"{reason[:1].upper()}{reason[1:]} → shuffled: {', '.join(parts)}"


def finished(number: int, winner: Side | None, minutes: float, predicted: float) -> str:
    """A round's result, with the chance that the winner had by the ratings; `predicted` is the marines'.

    >>> finished(4, Side.B, 17.4, predicted=0.58)
    'Round 4: Aliens win after 17 min (had a 42 % chance, against the odds)'
    """
    if winner is None:
        return f"Round {number}: a draw after {minutes:.0f} min: half a win for each side"
    chance = predicted if winner is Side.A else 1 - predicted
    upset = ", against the odds" if chance < UPSET else ""
    return f"Round {number}: {SIDES[winner]} win after {minutes:.0f} min (had a {percent(chance)} chance{upset})"
