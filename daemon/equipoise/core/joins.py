"""Where a player who wants a side goes, and who is moved when a gap opens in the middle of a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.core.memory import Kept
from equipoise.core.model import Entry, PlayerId, Roster, Side
from equipoise.core.phrases import Phrase, Text

CHARGED = 0.5
"""Übercharge from which a medic is spared."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer to a player who wants a side."""

    side: Side
    reason: Text


def sizes(roster: Roster, without: PlayerId | None = None) -> dict[Side, int]:
    """Players per side, bots too."""
    return {side: sum(entry.id != without for entry in roster.on(side)) for side in Side}


def place_joiner(
    roster: Roster,
    player: PlayerId,
    wanted: Side | None,
    kept: Kept | None,
    side_skills: Mapping[Side, Mapping[PlayerId, float]],
) -> Placement:
    """Somebody on no side: back to where he was placed, else to the smaller side, else where it evens the sums."""
    count = sizes(roster, without=player)
    if kept is not None:
        gap = count[kept.side] + 1 - count[kept.side.other]
        return Placement(kept.side if gap < 2 else kept.side.other, _why_return(gap))
    if count[Side.A] != count[Side.B]:
        smaller = min(Side, key=count.__getitem__)
        return Placement(smaller, Text(Phrase.REASON_JOIN_SMALLER))
    return Placement(_weaker(roster, player, wanted, side_skills), Text(Phrase.REASON_JOIN_WEAKER))


def _why_return(gap: int) -> Text:
    return Text(Phrase.REASON_RETURN if gap < 2 else Phrase.REASON_JOIN_SMALLER)


def _weaker(
    roster: Roster, player: PlayerId, wanted: Side | None, side_skills: Mapping[Side, Mapping[PlayerId, float]]
) -> Side:
    """The side that leaves the smaller difference of sums with him on it; ties as he wishes."""
    others = {side: [entry.id for entry in roster.on(side) if entry.id != player] for side in Side}
    totals = {side: sum(side_skills[side].get(other, 0.0) for other in others[side]) for side in Side}

    def left_over(side: Side) -> tuple[float, bool]:
        return abs(totals[side] + side_skills[side].get(player, 0.0) - totals[side.other]), side is not wanted

    return min(Side, key=left_over)


def answer_switch(roster: Roster, entry: Entry, wanted: Side | None, kept: Kept | None, now: float) -> Placement:
    """Somebody on a side asks for the other: allowed unless he is locked or it would leave a gap of two."""
    current = entry.side
    assert current is not None
    count = sizes(roster)
    surplus = count[current] - count[current.other]
    if wanted is current or (wanted is None and surplus < 2):
        return Placement(current, Text(Phrase.REASON_ALLOWED))
    if kept is not None and surplus < 2:
        return Placement(current, _refused_lock(kept, now))
    if surplus < 1:
        sides = count | {current: count[current] - 1, current.other: count[current.other] + 1}
        args = (str(sides[current]), str(sides[current.other]))
        return Placement(current, Text(Phrase.REFUSED_GAP, args))
    return Placement(current.other, Text(Phrase.REASON_ALLOWED))


def _refused_lock(kept: Kept, now: float) -> Text:
    if kept.until is None:
        return Text(Phrase.REFUSED_LOCKED_SCRAMBLE)
    return Text(Phrase.REFUSED_LOCKED, (str(max(1, round(kept.until - now))),))


def refused(placement: Placement) -> bool:
    """Whether the answer is a refusal."""
    return placement.reason.phrase.name.startswith("REFUSED")


@dataclass(frozen=True, slots=True)
class Gap:
    """Sides that differ by two or more."""

    larger: Side
    count: int
    """Players who must cross: half the difference, rounded down."""

    @classmethod
    def of(cls, roster: Roster) -> Gap | None:
        """The gap of a roster, None while the sides differ by less than two."""
        count = sizes(roster)
        surplus = count[Side.A] - count[Side.B]
        if abs(surplus) < 2:
            return None
        return cls(Side.A if surplus > 0 else Side.B, abs(surplus) // 2)


def can_move(entry: Entry) -> bool:
    """Autobalance may take him at all."""
    return not (entry.bot or entry.immune or entry.carrier)


def movable(
    larger: tuple[Entry, ...], needed: int, recently: frozenset[PlayerId], never: frozenset[PlayerId]
) -> tuple[Entry, ...]:
    """Who may be moved: the next tier only when the tiers above cannot fill the need.

    `recently` are spared longest; `never` could not be moved when it was tried.
    """
    able = [entry for entry in larger if can_move(entry) and entry.id not in never]
    chosen: list[Entry] = []
    for tier in range(3):
        chosen += [entry for entry in able if _tier(entry, recently) == tier]
        if len(chosen) >= needed:
            break
    return tuple(chosen)


def _tier(entry: Entry, recently: frozenset[PlayerId]) -> int:
    if entry.id in recently:
        return 2
    return 1 if entry.building or entry.charge >= CHARGED else 0


def move_costs(players: tuple[Entry, ...]) -> dict[PlayerId, int]:
    """Ties among equal residuals: the dead before the living, who joined later before who joined earlier.

    The ranks add up over a set of players; one living player outweighs every rank.
    """
    by_arrival = sorted(players, key=lambda entry: entry.connected)
    alive = sum(range(len(players))) + 1
    return {entry.id: rank + (alive if entry.alive else 0) for rank, entry in enumerate(by_arrival)}
