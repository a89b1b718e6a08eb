"""The players a split is about: team sizes, turns on the bench, and arena's opening duel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from equipoise.core.memory import Benched
from equipoise.core.model import Entry, PlayerId, Roster, Side, Split


def split_entries(roster: Roster) -> tuple[Entry, ...]:
    """The roster lines that a split is about: eligible players, and bots on a side, which stay there."""
    return tuple(entry for entry in roster.entries if entry.eligible or (entry.bot and entry.side is not None))


def eligible_count(roster: Roster) -> int:
    """Humans whom a split may place."""
    return len(roster.eligible())


def team_sizes(entries: Sequence[Entry], *, bench: bool) -> tuple[int, int]:
    """The largest team sizes that these players can fill, the smaller first.

    With a bench the sizes are equal and at most one player is left over; without one they may differ by one. A side is
    never smaller than those who stay on it.

    >>> five = tuple(Entry(PlayerId(name), None, waiting=True) for name in "abcde")
    >>> team_sizes(five, bench=True), team_sizes(five, bench=False)
    ((2, 2), (2, 3))
    """
    count = len(entries)
    stay = max(sum(entry.stays and entry.side is side for entry in entries) for side in Side)
    larger = max(stay, count // 2 if bench else (count + 1) // 2)
    # Where more than half of all have to stay on one side, the other gets who is left.
    return min(count // 2, count - larger), larger


def has_largest_sizes(roster: Roster) -> bool:
    """Arena: the sides are as large as `team_sizes` allows, so no player has to move."""
    # Sorted, because `team_sizes` does not say which side is the larger one.
    return sorted(roster.sizes().values()) == list(team_sizes(split_entries(roster), bench=True))


def bench_costs(roster: Roster, benched: Mapping[PlayerId, Benched]) -> dict[PlayerId, int]:
    """The turn of every eligible player, 0 first: fewest times on the bench, then the least recent time.

    Players with the same history have the same rank.

    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> roster = Roster(tuple(Entry(player, Side.A) for player in (ann, bob, cid)))
    >>> bench_costs(roster, {ann: Benched(times=1, round=4), bob: Benched(times=1, round=2)})
    {'ann': 2, 'bob': 1, 'cid': 0}
    """
    never = Benched(0, 0)
    turns = {entry.id: benched.get(entry.id, never) for entry in roster.eligible()}
    order = sorted({(turn.times, turn.round) for turn in turns.values()})
    return {player: order.index((turn.times, turn.round)) for player, turn in turns.items()}


def waiting_players(roster: Roster) -> frozenset[PlayerId]:
    """Eligible players on no side: arena lets them play next."""
    return frozenset(entry.id for entry in roster.eligible() if entry.side is None)


def duel(entries: tuple[Entry, ...], on_a: Mapping[PlayerId, float], on_b: Mapping[PlayerId, float]) -> Split:
    """Choose the two humans whose skills are closest; all other humans wait on the bench.

    `on_a` and `on_b` hold the skill of each player on the two sides, in rating points. Of equally close pairs, the
    one that has been connected longer in sum plays. A pair that already faces each other keeps its sides, unless
    the other way round is closer.

    >>> entries = tuple(Entry(PlayerId(name), None, waiting=True) for name in ("ann", "bob", "cid"))
    >>> skills = dict(zip(map(PlayerId, ("ann", "bob", "cid")), (2400.0, 2000.0, 2050.0)))
    >>> duel(entries, skills, skills)
    Split(a=('bob',), b=('cid',), bench=('ann',))
    """
    humans = [entry for entry in entries if not entry.bot]

    def order(pair: tuple[Entry, Entry]) -> tuple[float, float]:
        first, second = pair
        return abs(on_a[first.id] - on_b[second.id]), -(first.connected + second.connected)

    first, second = min((pair for both in combinations(humans, 2) for pair in _orientations(*both)), key=order)
    # With the bots, which `humans_only` drops before the order.
    bench = tuple(entry.id for entry in entries if entry is not first and entry is not second)
    return Split((first.id,), (second.id,), bench)


def _orientations(one: Entry, two: Entry) -> tuple[tuple[Entry, Entry], tuple[Entry, Entry]]:
    """Both ways to put two players on A and B, first the one that moves fewer of them: `min` keeps the first."""
    straight, swap = (one, two), (two, one)
    return (swap, straight) if one.side is Side.B or two.side is Side.A else (straight, swap)
