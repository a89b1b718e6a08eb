"""Questions of a session to the shell, answered by events: ratings to load, splits and moves to solve, chances.

Asks have a file of their own because both sides of the conversation name them: an ask is an effect, and the event that
answers it carries it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from equipoise.core.model import Context, Entry, PlayerId, Side
from equipoise.core.phrases import Text


class Moment(Enum):
    """When an assignment is applied."""

    FREEZE = "freeze"
    """In the running freeze time; too late once the round is live."""
    NOW = "now"
    """At once; players are respawned."""


@dataclass(frozen=True, slots=True)
class LoadSummaries:
    """Load the summaries of these players; answered by `SummariesLoaded` or `SolveFailed`."""

    players: tuple[PlayerId, ...]


class Purpose(Enum):
    """The reason for a split, which decides how it weighs bench, moves and difference."""

    DUEL = "duel"
    """The two players with the closest ratings play, all others wait."""
    SCRAMBLE = "scramble"
    """The best split within the tolerance."""
    EQUAL_SIDES = "equal_sides"
    """Arena between scrambles: the bench is chosen first, by its cost and as if no other player moved; then the fewest
    moves that bring the difference within the tolerance of the least that this bench allows."""
    TOO_UNEVEN = "too_uneven"
    """As few swaps of two players as bring the win probability back (`SwapTerms`)."""
    SHUFFLE = "shuffle"
    """NS2: all play, commanders keep their side, and the fewest moves make the sides even (`ShuffleTerms`)."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The side that a player wants, and how much it weighs: more after a shuffle that denied it."""

    side: Side
    weight: int


@dataclass(frozen=True, slots=True)
class ShuffleTerms:
    """Criteria of a shuffle, in order. All play; commanders and bots keep their side.

    1. No more than `max_moves` players who are on a side change it; where sizes need more, as few as they need.
    2. The win probability is inside `fair_band`.
    3. The last winners (`spread_evenly`) are on both sides, in numbers that differ by at most one.
    4. As few friends as possible are parted: of each of the `groups` those on the side that has fewer of them.
    5. As few players as possible change side, unless `moves_count` is false; a denied wish counts like two moves for
       each 1 that it weighs.
    6. The sides are as even as possible.

    Where no split is inside the band, 3 comes first. Then each move has to be worth a point of win probability: the
    least sum is taken of the points outside the band, moves, two for each denied wish and five for each parted friend.

    With `greedy` only this holds: of the players who are on no side is made what is most even. Then the pair is swapped
    that leaves the least difference of skill, until no pair lessens it.

    The limit on moves comes before the band: an operator who sets one does not expect it to be broken when the sides
    are far apart. How skills are spread within a side is no term: of sums of skills that are not whole numbers one is
    the evenest. It is reported (`SplitSolved.spread_after`).
    """

    fair_band: tuple[float, float]
    """Win probabilities of side A that count as even, advantages of side and map included."""
    max_moves: int | None = None
    """Players on a side who may change it; None: however many."""
    moves_count: bool = True
    """False after a secret team choice, where all players say anew what they want."""
    groups: tuple[frozenset[PlayerId], ...] = ()
    """Friends who want to play on one side, up to four in a group; no player is in two."""
    wishes: Mapping[PlayerId, Wish] = field(default_factory=dict)
    spread_evenly: frozenset[PlayerId] = frozenset()
    greedy: bool = False
    likely: Mapping[PlayerId, tuple[int, int]] = field(default_factory=dict)
    """While a chair is free: how often players have commanded, as a weight on A and on B. First of all they are put on
    the sides on which any two of them who sit are most even, a point of win chance for each move."""


@dataclass(frozen=True, slots=True)
class SwapTerms:
    """Criteria for evening sides that are too uneven; chances are those of the players alone, at equal numbers.

    Inside `fair_band` nobody moves. Else those one or two pairs change places that cost least of the ones that reach
    `even`; where none does, each pair has to gain three points.
    """

    fair_band: tuple[float, float]
    even: tuple[float, float]
    stay: frozenset[PlayerId] = frozenset()
    """Players who may not change side."""
    cost: Mapping[PlayerId, int] = field(default_factory=dict)
    """Of a player's move, where it is not 1."""


@dataclass(frozen=True, slots=True)
class AskSplit:
    """Answered by `SplitSolved` or `SolveFailed`. `entries` holds bots too, who stay on their side."""

    purpose: Purpose
    version: int
    """The roster version of the question: the answer holds only while it is the session's."""
    reason: Text
    context: Context
    entries: tuple[Entry, ...]
    sizes: tuple[int, int]
    """Players on the two sides, bots counted; either side may become the larger one."""
    bench_cost: Mapping[PlayerId, int]
    """Small whole numbers; of the splits within the tolerance the cheapest bench wins."""
    tolerance: float
    """Win probability that may be given up for a better bench and fewer moves; infinite: however much."""
    must_play: frozenset[PlayerId] = frozenset()
    moment: Moment = Moment.FREEZE
    by: PlayerId | None = None
    """The player who asked for a dry run; None: the console."""
    dry: bool = False
    """Only shown: no order follows."""
    each_way: int = 0
    """Players who at least change side, each way, and as many who at least stay, while that is about as even."""
    groups: tuple[frozenset[PlayerId], ...] = ()
    """Friends whom a scramble parts only where the sides would not be even; a shuffle has them in its terms."""
    terms: ShuffleTerms | None = None
    """What a shuffle chooses by; None for the other purposes."""
    swaps: SwapTerms | None = None
    """What sides that are too uneven choose by; None for the other purposes."""


@dataclass(frozen=True, slots=True)
class AskMoves:
    """Answered by `MovesSolved` or `SolveFailed`: the players who cross from the larger to the smaller side."""

    version: int
    context: Context
    larger: tuple[PlayerId, ...]
    smaller: tuple[PlayerId, ...]
    larger_side: Side
    movable: tuple[PlayerId, ...]
    count: int
    cost: Mapping[PlayerId, int] = field(default_factory=dict)
    """Breaks ties between sets of players that leave the same difference: the cheapest set wins."""
    commanders: frozenset[PlayerId] = frozenset()
    """NS2: those of both sides who sit in the command chair."""
    friends: frozenset[PlayerId] = frozenset()
    """Players of the larger side who have a friend on it: others go, where that leaves the sides about as even."""


@dataclass(frozen=True, slots=True)
class AskSide:
    """Answered by `SideFound` or `SolveFailed`: which of two equally large sides a joiner leaves more even.

    Asked where the errors of ratings are known, because only the pool knows how they depend on each other; in NS2,
    where the map and the commanders count; and for a joiner who has a friend on a side.
    """

    version: int
    context: Context
    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    player: PlayerId
    wanted: Side | None
    """Taken if both are equally good."""
    commanders: frozenset[PlayerId] = frozenset()
    """NS2: those of both sides who sit in the command chair."""
    friends: Side | None = None
    """The side that more of their friends are on: taken where the sides stay even."""


@dataclass(frozen=True, slots=True)
class AskSwitch:
    """Answered by `SwitchJudged` or `SolveFailed`: how even the sides are if a player stays, and if they change side.

    Asked of a player whose side is larger by one, or who swaps sides with another: the head counts are as far apart
    afterwards, so skill decides.
    """

    version: int
    context: Context
    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    player: PlayerId
    """Stands on one of the sides and asks for the other."""
    commanders: frozenset[PlayerId] = frozenset()
    """NS2: those of both sides who sit in the command chair; a player who changes side leaves it."""
    partner: PlayerId | None = None
    """Crosses the other way; None: nobody does."""


@dataclass(frozen=True, slots=True)
class CacheSplits:
    """Answered by `SplitsCached` or `SolveFailed`: a split for every team size, the script's fallback."""

    context: Context
    entries: tuple[Entry, ...]
    bench: bool
    """Arena: one player may sit out; elsewhere an odd number of players is split unevenly."""
    must_play: frozenset[PlayerId] = frozenset()
    terms: ShuffleTerms | None = None
    """NS2, where friends are here: what the split of all players is chosen by."""


@dataclass(frozen=True, slots=True)
class AskChance:
    """Answered by `ChanceFound` or `SolveFailed`: how even the present sides are, for a player who asks for a vote."""

    version: int
    context: Context
    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    by: PlayerId
    """The player who asks."""
    commanders: frozenset[PlayerId] = frozenset()
    """NS2: those of both sides who sit in the command chair."""


Ask = LoadSummaries | AskSplit | AskMoves | AskSide | AskSwitch | CacheSplits | AskChance
