"""A session's memory across restarts of the daemon: stored beside its rounds, restored before any event.

Times are the session's `now`: seconds that never go back within a process and mean the same in the next one, unless
the system's clock was wrong when one of the two processes began (`restored`). All values are frozen: every change makes
a new `Memory`, so the host sees by comparison whether there is something to store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec

from equipoise.core.model import MOST_PLAYERS, Context, Mode, PlayerId, RoundId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.triggers import Tally

Value = TypeVar("Value")

LARGEST_GROUP = 4
"""Friends who may want one side together: more would make even teams impossible too often."""

Friendship = tuple[PlayerId, PlayerId]


def groups(friendships: Iterable[Friendship]) -> Mapping[PlayerId, frozenset[PlayerId]]:
    """The group of every player who has a friend; friends of friends belong to it.

    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> sorted(groups([(ann, bob), (bob, cid)])[ann])
    ['ann', 'bob', 'cid']
    """
    group_of: dict[PlayerId, frozenset[PlayerId]] = {}
    for player, friend in friendships:
        both = group_of.get(player, frozenset((player,))) | group_of.get(friend, frozenset((friend,)))
        group_of |= dict.fromkeys(both, both)
    return group_of


def lawful(friendships: Iterable[Friendship]) -> tuple[Friendship, ...]:
    """Return those friendships, in order, that are between two players and make no group too large.

    >>> players = [PlayerId(name) for name in "abcde"]
    >>> chain = tuple(zip(players, players[1:]))
    >>> lawful(chain) == chain[:3]
    True
    """
    lawful_pairs: list[Friendship] = []
    group_of: dict[PlayerId, frozenset[PlayerId]] = {}
    for player, friend in friendships:
        both = group_of.get(player, frozenset((player,))) | group_of.get(friend, frozenset((friend,)))
        if 2 <= len(both) <= LARGEST_GROUP:
            group_of |= dict.fromkeys(both, both)
            lawful_pairs.append((player, friend))
    return tuple(lawful_pairs)


MOST_REMEMBERED = 4 * MOST_PLAYERS
"""Players with a lock, a turn on the bench, a recent move or a wish, and friendships, of each the latest. Memory is
written with every round, and a map may last for weeks."""

MOST_CHAIRS = 128
"""Command chairs that are remembered, those of 64 rounds."""

HEAVIEST_WISH = 8
"""How much more than a new wish one may weigh that was denied again and again."""

MOVED_SECONDS = 1800.0
"""Nobody is moved three times within so long, but by new teams."""

UNWRITTEN_ORDERS = 100
"""More than a server gets in the second or two whose memory a kill may lose."""

COUNTED_ROUNDS = 32
"""How many ids of counted rounds are kept: far more than a script's ring of unsent rounds holds."""


@dataclass(frozen=True, slots=True)
class HeldSide:
    """A lock: the side that a placed player has to stay on."""

    side: Side
    until: float | None
    """None: until the next scramble."""

    def holds(self, now: float) -> bool:
        """The lock has not expired."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Benched:
    """How often a player sat out in this session, and the number of the last such round, from 1."""

    times: int
    round: int


@dataclass(frozen=True, slots=True)
class WantedSide:
    """The side that a player wants to play on."""

    side: Side
    stated: bool
    """They said so; else it is the side that they last asked to join."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One server's session between two events."""

    session: str = ""
    """The identifier that the script made at the map's start; empty before the first hello."""
    map: str = ""
    mode: Mode = Mode.OTHER
    tally: Tally = field(default_factory=Tally)
    counted: tuple[RoundId, ...] = ()
    """Ids of the last rounds that were counted, oldest first: a round that is sent again is not counted twice."""
    pending: Text | None = None
    """Why a scramble is due; None: none is."""
    locks: Mapping[PlayerId, HeldSide] = field(default_factory=dict)
    benched: Mapping[PlayerId, Benched] = field(default_factory=dict)
    moved: Mapping[PlayerId, float] = field(default_factory=dict)
    """When a player was last moved by autobalance, by a swap, or because sides were too uneven; kept across maps."""
    moved_before: Mapping[PlayerId, float] = field(default_factory=dict)
    """When they were moved the time before that, if the later time was not by a swap."""
    orders: int = 0
    """The number of the last order, which makes the next one's id unique."""
    enabled: bool = True
    """An admin has not switched Equipoise off."""
    no_vote_before: float = 0.0
    """When players may ask for the next vote."""
    wishes: Mapping[PlayerId, WantedSide] = field(default_factory=dict)
    """Kept across maps, as are the weights and the friendships."""
    weights: Mapping[PlayerId, int] = field(default_factory=dict)
    """What a player's wish weighs, where that is more than 1: it was denied."""
    friendships: tuple[Friendship, ...] = ()
    """The oldest first."""
    winners: tuple[PlayerId, ...] = ()
    """NS2: the winners of the last counted round of this map; empty after a draw."""
    chairs: tuple[tuple[PlayerId, Side], ...] = ()
    """NS2: who has begun a round in which command chair here, the latest last; kept across maps."""
    skip: bool = False
    """NS2: no shuffle comes before the next round by itself, as an admin ordered."""
    choosing: bool = False
    """A secret team choice is open. What was chosen is not remembered: it could be read."""

    @property
    def context(self) -> Context:
        """Mode and map, which skills may depend on."""
        return Context(self.mode, self.map)

    def next_map(self, session: str, map_name: str, mode: Mode) -> Memory:
        """Begin a session on a new map: what players want, recent moves, order numbers and the switch are kept."""
        return Memory(
            session,
            map_name,
            mode,
            moved=self.moved,
            moved_before=self.moved_before,
            orders=self.orders,
            enabled=self.enabled,
            wishes=self.wishes,
            weights=self.weights,
            friendships=self.friendships,
            chairs=self.chairs,
        )

    def emptied(self) -> Memory:
        """The last human left an arena server: the next players begin with round 1."""
        return replace(self, pending=None, tally=Tally(), benched={})

    def count(self, round_id: RoundId, tally: Tally, winners: tuple[PlayerId, ...] = ()) -> Memory:
        """Note a round as counted; `tally` includes it."""
        return replace(self, tally=tally, counted=(*self.counted, round_id)[-COUNTED_ROUNDS:], winners=winners)

    def bench(self, players: tuple[PlayerId, ...]) -> Memory:
        """Note that these players sit out the round that goes live now."""
        turns = dict(self.benched)
        for player in players:
            times = turns.pop(player).times if player in turns else 0
            # Popped above and put in again at the end: `_newest` cuts by the order of insertion.
            turns[player] = Benched(times + 1, self.tally.completed + 1)
        return replace(self, benched=_newest(turns))

    def lock(self, sides: Mapping[PlayerId, Side], until: float | None) -> Memory:
        """Lock players to sides until a time; None: until the next scramble."""
        locks = {player: lock for player, lock in self.locks.items() if player not in sides}
        locks |= {player: HeldSide(side, until) for player, side in sides.items()}
        return replace(self, locks=_newest(locks))

    def unlocked(self, players: Collection[PlayerId]) -> Memory:
        """These players have no lock any more."""
        return replace(self, locks={player: lock for player, lock in self.locks.items() if player not in players})

    def spare(self, player: PlayerId, now: float) -> Memory:
        """Note that a player changed side as they had agreed: for a while others are moved first."""
        times = {someone: at for someone, at in self.moved.items() if someone != player}
        return replace(self, moved=_newest({**times, player: now}))

    def move(self, player: PlayerId, now: float) -> Memory:
        """Note that a player was moved, not by new teams."""
        before = {someone: at for someone, at in self.moved_before.items() if someone != player}
        # Only the last two moves are kept: a third within `MOVED_SECONDS` of the first is what must not happen.
        if player in self.moved:
            before[player] = self.moved[player]
        return replace(self.spare(player, now), moved_before=_newest(before))

    def want(self, player: PlayerId, wanted: WantedSide | None) -> Memory:
        """Note a player's wish; None: they have none any more."""
        wishes = {someone: wish for someone, wish in self.wishes.items() if someone != player}
        return replace(self, wishes=wishes if wanted is None else _newest({**wishes, player: wanted}))

    def weigh(self, weights: Mapping[PlayerId, int]) -> Memory:
        """Note what wishes weigh."""
        return replace(self, weights=_newest({player: weight for player, weight in weights.items() if weight > 1}))

    def befriend(self, one: PlayerId, two: PlayerId) -> Memory:
        """Note a friendship, unless the group would become too large."""
        return replace(self, friendships=lawful((*self.friendships, (one, two)))[-MOST_REMEMBERED:])

    def part(self, player: PlayerId) -> Memory:
        """End all friendships of a player."""
        return replace(self, friendships=tuple(pair for pair in self.friendships if player not in pair))

    def command(self, chairs: Iterable[tuple[PlayerId, Side]]) -> Memory:
        """Note who begins a round in which command chair."""
        return replace(self, chairs=(*self.chairs, *chairs)[-MOST_CHAIRS:])

    def switched(self) -> Memory:
        """The game swapped the sides: locks and the streak follow the group of players."""
        locks = {player: HeldSide(lock.side.other, lock.until) for player, lock in self.locks.items()}
        return replace(self, locks=locks, tally=self.tally.switched())

    def restored(self, now: float, rules: Rules) -> Memory:
        """Return the memory for a new process: nothing in it holds longer from `now` on than the rules say.

        The clock may have been ahead when the times were noted: then a lock of three minutes would hold for years. A
        time that is no number is taken as the latest that is allowed.

        >>> ahead = Memory(locks={PlayerId("ann"): HeldSide(Side.A, 2e9)}, moved={PlayerId("bob"): 2e9})
        >>> restored = ahead.restored(1000.0, Rules())
        >>> restored.locks[PlayerId("ann")].until, restored.moved[PlayerId("bob")]
        (1180.0, 1000.0)
        """
        lock_end, vote = now + rules.lock.minutes * 60, now + rules.vote.cooldown_minutes * 60
        locks = {player: self._held_until(lock_end, lock) for player, lock in self.locks.items()}
        last, before = (
            {player: at if at < now else now for player, at in moments.items()}
            for moments in (self.moved, self.moved_before)
        )
        no_vote_before = self.no_vote_before if self.no_vote_before < vote else vote
        memory = replace(self, locks=locks, moved=last, moved_before=before, no_vote_before=no_vote_before)
        return memory._within_bounds()

    def past_unwritten(self) -> Memory:
        """Return the memory whose next order has no id that was given out and forgotten."""
        return replace(self, orders=self.orders + UNWRITTEN_ORDERS)

    def _within_bounds(self) -> Memory:
        """Cut wishes, weights and friendships to what the rules allow: another version may have written more."""
        weights = {player: min(weight, HEAVIEST_WISH) for player, weight in self.weights.items()}
        friendships = lawful(self.friendships[-MOST_REMEMBERED:])
        winners, chairs = self.winners[:MOST_PLAYERS], self.chairs[-MOST_CHAIRS:]
        return replace(
            self, wishes=_newest(self.wishes), friendships=friendships, winners=winners, chairs=chairs
        ).weigh(weights)

    def _held_until(self, latest: float, held: HeldSide) -> HeldSide:
        if held.until is None and self.mode is Mode.ARENA:
            return held  # the next scramble ends it
        return held if held.until is not None and held.until < latest else replace(held, until=latest)

    def without_expired(self, now: float, spare_seconds: float) -> Memory:
        """Drop expired locks, and moves that are longer ago than `spare_seconds` and half an hour."""
        least = now - max(spare_seconds, MOVED_SECONDS)
        locks = {player: lock for player, lock in self.locks.items() if lock.holds(now)}
        last, before = (
            {player: at for player, at in moments.items() if at > least} for moments in (self.moved, self.moved_before)
        )
        return replace(self, locks=locks, moved=last, moved_before=before)


def _newest(noted: Mapping[PlayerId, Value]) -> dict[PlayerId, Value]:
    """At most as many players as are remembered, those who were noted last."""
    # A dict keeps the order of insertion; every caller takes a player out before it puts them in again.
    return dict(list(noted.items())[-MOST_REMEMBERED:])


# The memory as bytes for the store.

MOST_SUPERSEDED = 16
"""Superseded boots that are remembered: far more than can still have batches on their way."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A session's memory and the number of the last batch in it: a restarted daemon goes on from both."""

    memory: Memory = field(default_factory=Memory)
    boot: int = 0
    seq: int = 0
    """0: no batch was taken yet."""
    superseded: tuple[int, ...] = ()
    """Boots before this one, the latest last. Numbers of boots have no order: a script's clock may go back."""
    events: int = 0
    """Of that batch, those that are in the memory: it was stored with a round in the middle. 0: all of them."""

    def after(self, boot: int, seq: int) -> Remembered:
        """The same memory with the next batch, or with the same one again; another boot supersedes the present one.

        >>> Remembered().after(2035, 1).after(2026, 1).superseded
        (2035,)
        """
        if (boot, seq) == (self.boot, self.seq):
            return self
        boots = self.superseded
        # Without a number no batch was taken yet: boot 0 is nobody's and supersedes nothing.
        if boot != self.boot and self.seq:
            earlier = (*(number for number in boots if number != boot), self.boot)
            boots = earlier[-MOST_SUPERSEDED:]
        return Remembered(self.memory, boot, seq, boots)


class _Batch(msgspec.Struct):
    """The batch that a memory is as of."""

    boot: int
    seq: int
    superseded: tuple[int, ...] = ()


def replaces(data: bytes, at: float, other: bytes, other_at: float) -> bool:
    """Tell whether a memory that is written now, encoded and as of a time, goes in the place of another.

    Machines' clocks differ, so that times only count within one batch, which one machine has answered: batches of a
    boot are numbered, and a boot knows those that it superseded. Of two that know nothing of each other the one that is
    written last counts.

    >>> replaces(b'{"boot": 7, "seq": 3}', 5000.0, b'{"boot": 7, "seq": 4}', 1400.0)
    False
    >>> replaces(b'{"boot": 8, "seq": 1, "superseded": [7]}', 1400.0, b'{"boot": 7, "seq": 4}', 5000.0)
    True
    """
    try:
        new, old = msgspec.json.decode(data, type=_Batch), msgspec.json.decode(other, type=_Batch)
    except msgspec.MsgspecError:  # of another version
        return at >= other_at
    if new.boot == old.boot:
        return (new.seq, at) >= (old.seq, other_at)
    return new.boot not in old.superseded or old.boot in new.superseded


def encode_memory(remembered: Remembered) -> bytes:
    """JSON. Phrases are written by name, because their English text may change between versions."""
    plain = msgspec.to_builtins(remembered)
    if (reason := remembered.memory.pending) is not None:
        plain["memory"]["pending"]["phrase"] = reason.phrase.name
    return msgspec.json.encode(plain)


def decode_memory(data: bytes) -> Remembered | None:
    """None for bytes of another version: the session then begins without memory."""
    try:
        plain = msgspec.json.decode(data)
        if reason := plain["memory"]["pending"]:
            reason["phrase"] = Phrase[reason["phrase"]].value
        return msgspec.convert(plain, Remembered)
    # LookupError: a phrase, or a key, that this version does not have. TypeError: JSON of another shape.
    except (msgspec.MsgspecError, LookupError, TypeError):
        return None
