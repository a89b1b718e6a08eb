"""Who plays with whom: friendships, each of two players, and the groups that they make; values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from equipoise.core.model import PlayerId

LARGEST_GROUP = 4
"""Friends who may want one side together: more would make even teams impossible too often."""

Friendship = tuple[PlayerId, PlayerId]


def groups(friendships: Iterable[Friendship]) -> Mapping[PlayerId, frozenset[PlayerId]]:
    """The group of every player who has a friend; friends of friends belong to it.

    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> sorted(groups([(ann, bob), (bob, cid)])[ann])
    ['ann', 'bob', 'cid']
    """
    found: dict[PlayerId, frozenset[PlayerId]] = {}
    for one, two in friendships:
        both = found.get(one, frozenset((one,))) | found.get(two, frozenset((two,)))
        found |= dict.fromkeys(both, both)
    return found


def lawful(friendships: Iterable[Friendship]) -> tuple[Friendship, ...]:
    """Those of the friendships, in order, that are between two players and make no group too large.

    >>> players = [PlayerId(name) for name in "abcde"]
    >>> chain = tuple(zip(players, players[1:]))
    >>> lawful(chain) == chain[:3]
    True
    """
    kept: list[Friendship] = []
    found: dict[PlayerId, frozenset[PlayerId]] = {}
    for one, two in friendships:
        both = found.get(one, frozenset((one,))) | found.get(two, frozenset((two,)))
        if 2 <= len(both) <= LARGEST_GROUP:
            found |= dict.fromkeys(both, both)
            kept.append((one, two))
    return tuple(kept)
