"""What a session asks the shell, which answers with an event: ratings to load, splits and moves to solve.

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
    """Load the summaries of these players; answered by `SummariesLoaded`."""

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
    """Win probability that may be given up for a better bench and fewer moves."""
    must_play: frozenset[PlayerId] = frozenset()
    moment: Moment = Moment.FREEZE
    by: PlayerId | None = None
    """The player who asked for a dry run; None: the console."""
    dry: bool = False
    """Only shown: no order follows."""


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


@dataclass(frozen=True, slots=True)
class CacheSplits:
    """Answered by `SplitsCached` or `SolveFailed`: a split for every team size, the script's fallback."""

    context: Context
    entries: tuple[Entry, ...]
    bench: bool
    """Arena: one player may sit out; elsewhere an odd number of players is split unevenly."""


Ask = LoadSummaries | AskSplit | AskMoves | CacheSplits
