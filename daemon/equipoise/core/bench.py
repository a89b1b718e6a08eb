"""Pools that are to be split: their sizes, who may sit out, and arena's opening duel."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from equipoise.core.memory import Benched
from equipoise.core.model import Entry, PlayerId, Roster, Side, Split


def pool(roster: Roster) -> tuple[Entry, ...]:
    """Everybody a split is about: the eligible, and the bots where they stand."""
    return tuple(entry for entry in roster.entries if entry.eligible or (entry.bot and entry.side is not None))


def eligible_count(roster: Roster) -> int:
    """Humans a split may place."""
    return len(roster.eligible())


def team_sizes(players: tuple[Entry, ...], *, bench: bool) -> tuple[int, int]:
    """The largest sizes, the smaller first: equal with at most one on the bench, or uneven by one with nobody there.

    Bots stand where they are: a side is never smaller than those on it.
    """
    count = len(players)
    bots = max(sum(entry.bot and entry.side is side for entry in players) for side in Side)
    larger = max(bots, count // 2 if bench else (count + 1) // 2)
    return min(count // 2, count - larger), larger


def is_level(roster: Roster) -> bool:
    """Arena: the sides have the largest sizes, so nobody need move."""
    on_sides = sorted(len(roster.on(side)) for side in Side)
    return on_sides == list(team_sizes(pool(roster), bench=True))


def bench_costs(roster: Roster, benched: Mapping[PlayerId, Benched]) -> dict[PlayerId, int]:
    """Rank of everybody for the bench, 0 first: fewest times, then least recently."""
    never = Benched(0, 0)

    def turn(player: PlayerId) -> tuple[int, int]:
        sat_out = benched.get(player, never)
        return sat_out.times, sat_out.round

    turns = {entry.id: turn(entry.id) for entry in roster.eligible()}
    ranks = {value: rank for rank, value in enumerate(sorted(set(turns.values())))}
    return {player: ranks[value] for player, value in turns.items()}


def who_waited(roster: Roster) -> frozenset[PlayerId]:
    """Eligible players on no side: they play next."""
    return frozenset(entry.id for entry in roster.eligible() if entry.side is None)


def duel(players: tuple[Entry, ...], on_a: Mapping[PlayerId, float], on_b: Mapping[PlayerId, float]) -> Split:
    """The two who are closest against each other, everybody else waits; ties: longest connected.

    Given is what everybody is worth on each side. Bots do not duel. The pair keeps its sides where it already faces
    each other, unless the other way round it is closer.
    """
    humans = [entry for entry in players if not entry.bot]

    def order(pair: tuple[Entry, Entry]) -> tuple[float, float]:
        one, two = pair
        return abs(on_a[one.id] - on_b[two.id]), -(one.connected + two.connected)

    one, two = min((facing for pair in combinations(humans, 2) for facing in _facings(*pair)), key=order)
    bench = tuple(entry.id for entry in players if entry is not one and entry is not two)
    return Split((one.id,), (two.id,), bench)


def _facings(one: Entry, two: Entry) -> tuple[tuple[Entry, Entry], tuple[Entry, Entry]]:
    """Both ways to face each other, first on A; the one that moves fewer comes first."""
    kept, turned = (one, two), (two, one)
    return (turned, kept) if one.side is Side.B or two.side is Side.A else (kept, turned)
