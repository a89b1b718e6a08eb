"""Bodies, queries and answers of the routes that are not for game scripts."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from equipoise.core.model import MOST_PLAYERS, PlayerId
from equipoise.ratings.quality import Quality
from equipoise.service.status import ServerStatus
from equipoise.store.port import Audit, Decision, StoreState
from equipoise.wire.orders import Refusal
from equipoise.wire.scalars import Fraction, Player, Word
from equipoise.wire.submitted import RoundSubmitted

MOST_LINES = 1000

Place = Literal["a", "b", "bench", "play"]
Points = Annotated[float, Meta(ge=-1e9, le=1e9)]
Label = str | int
"""A player in a split: the id, or the index where only ratings were sent."""
Labels = Annotated[tuple[Label, ...], Meta(max_length=MOST_PLAYERS)]


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A body or query of a program: unknown fields are refused."""


class Ok(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every answer that is no refusal."""

    ok: Literal[True] = True


# Rounds and splits.


class RoundSent(Ask, frozen=True):
    """A finished round of a configured server."""

    server: Word
    round: RoundSubmitted


class Rerated(msgspec.Struct, frozen=True):
    """A participant's ratings before and after the round."""

    id: PlayerId
    side: str
    before: float
    after: float
    rounds: int
    visible: bool


class RoundTaken(Ok, frozen=True):
    """The result of a round; one that comes again gets its first answer."""

    status: Literal["stored", "kept"]
    win_probability: float | None
    """Of side A, as predicted; null when it was not rated, or is kept."""
    unrated: str | None
    """Why it was not rated."""
    players: tuple[Rerated, ...]


class Sides(Ask, frozen=True):
    """The sides as they are now."""

    a: Labels = ()
    b: Labels = ()


class SplitsAsked(Ask, frozen=True):
    """A pool of players, by id or by rating, and what a split must respect."""

    pool: str | None = None
    ids: Annotated[tuple[Player, ...], Meta(max_length=MOST_PLAYERS)] = ()
    ratings: Annotated[tuple[Points, ...], Meta(max_length=MOST_PLAYERS)] = ()
    size: Annotated[int, Meta(ge=1, le=MOST_PLAYERS // 2)] | None = None
    """Only this team size."""
    keep_together: Annotated[tuple[Labels, ...], Meta(max_length=MOST_PLAYERS)] = ()
    pinned: Annotated[dict[str, Place], Meta(max_length=MOST_PLAYERS)] = {}
    bench_cost: Annotated[dict[str, Annotated[int, Meta(ge=0, le=1_000_000)]], Meta(max_length=MOST_PLAYERS)] = {}
    """The cheapest bench within the tolerance is taken."""
    current: Sides | None = None
    """Of the splits within the tolerance that have the cheapest bench, the one that moves the fewest players wins."""
    tolerance: Fraction = 0.0
    """Win probability that a split may be off the best."""


class SplitGap(msgspec.Struct, frozen=True):
    """The most by which the best split can be better, as far as it is known."""

    points: float
    """Of the difference, whatever its sign."""
    bench_cost: int
    moves: int


class SplitFound(msgspec.Struct, frozen=True):
    """The best split of one size, or the best that was found in time."""

    k: int
    a: tuple[Label, ...]
    b: tuple[Label, ...]
    bench: tuple[Label, ...]
    difference: float
    """Sum of A minus sum of B, rating points."""
    win_probability: float
    """Of side A."""
    optimal: bool
    """False: the time was over before it was proven that none is better."""
    gap: SplitGap


class SplitsFound(Ok, frozen=True):
    """One split per team size, largest last."""

    splits: tuple[SplitFound, ...]


# Players and pools.


class InPool(Ask, frozen=True):
    """A pool by name; it may be left out where there is only one."""

    pool: str | None = None


class RatingSet(Ask, frozen=True):
    """The rating that an admin gives a player, in points."""

    rating: Points


class PlayerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A player as admins see them."""

    id: PlayerId
    name: str | None
    rating: float
    rounds: int
    visible: bool
    stale: bool
    last_played: float | None
    """Seconds since the epoch."""


class PlayerFound(Ok, frozen=True):
    """A player and the pool that the rating is of."""

    pool: str
    player: PlayerSeen


class Limited(Ask, frozen=True):
    """The number of lines to return."""

    limit: Annotated[int, Meta(ge=1, le=MOST_LINES)] = 50


class Sought(Limited, frozen=True, kw_only=True):
    """Part of an id or of a name."""

    text: Annotated[str, Meta(min_length=1, max_length=128)]


class PlayersFound(Ok, frozen=True):
    """Highest rating first; shadow ratings and stale players too."""

    pool: str
    players: tuple[PlayerSeen, ...]


class Top(Ok, frozen=True):
    """The leaderboard, without shadow ratings and stale players."""

    pool: str
    players: tuple[PlayerSeen, ...]


class Crowd(msgspec.Struct, frozen=True):
    """The players of a pool."""

    count: int
    visible: int
    shadow: int
    """In their shadow period: ratings that are not shown."""
    stale: int
    mean: float | None
    spread: float | None
    """Standard deviation of the ratings."""


class QualityFound(Ok, frozen=True):
    """How well a pool predicts, over its last 500 rounds."""

    pool: str
    quality: Quality | None
    """Null before the first rated round."""
    players: Crowd
    suggested_theta: float | None
    """The Θ with which these rounds would have been predicted best. Null below 500 rounds, for a system without Θ, and
    within two standard errors of the configured Θ."""


class ThetaFit(msgspec.Struct, frozen=True):
    """The Θ that stored rounds fit best."""

    theta: float
    error: float
    """Its standard error."""
    log_loss_before: float
    """With the configured Θ."""
    log_loss: float
    """With this Θ."""


class ThetaFound(Ok, frozen=True):
    """Over a pool's last 20,000 rounds."""

    pool: str
    rounds: int
    missing: int
    """Rounds, about, until a Θ can be proposed: first until there are enough to fit one, then until its standard error
    is half of its difference from the configured Θ."""
    theta: float
    """The configured Θ."""
    fit: ThetaFit | None
    """Null with too few rounds, or where no Θ fits: favourites won no more often than others, or always."""


# Servers and logs.


class StoreSeen(msgspec.Struct, frozen=True):
    """Whether the store takes rounds."""

    state: StoreState
    since: float | None
    """When it stopped to take them, in seconds since the epoch."""
    advice: str
    """What the operator can do."""


class Servers(Ok, frozen=True):
    """All configured servers, silent ones too, and the store."""

    servers: tuple[ServerStatus, ...]
    waiting_rounds: int
    """Rounds of all pools that wait for the store."""
    store: StoreSeen


class Health(Ok, frozen=True):
    """The daemon works."""

    version: str
    waiting_rounds: int
    store: StoreSeen


class Unhealthy(Refusal, frozen=True, kw_only=True):
    """The daemon answers, but stores no rounds: a refusal that says the rest too."""

    version: str
    waiting_rounds: int
    store: StoreSeen


class OneServer(Ok, frozen=True):
    """One server and its last decisions."""

    server: ServerStatus
    decisions: tuple[Decision, ...]


class Command(Ask, frozen=True):
    """Options of an admin's command to a server."""

    dry_run: bool = False
    when: Literal["now", "next"] = "now"
    """For `scramble` alone: at once where the mode allows it, or at the next round start."""


class Line(msgspec.Struct, frozen=True):
    """A line that answers a command, as a phrase and in English."""

    phrase: str
    args: tuple[str, ...]
    english: str


class PlayerMoved(msgspec.Struct, frozen=True):
    """A player who would change place."""

    id: PlayerId
    name: str | None
    side: str
    """Where to, in the game's words; `none`: the bench."""


class Proposed(msgspec.Struct, frozen=True):
    """The split that a dry run of a scramble found."""

    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...]
    before: float | None
    """Win probability of side A with the present sides; null while one is empty."""
    after: float | None
    moves: tuple[PlayerMoved, ...]


class CommandDone(Ok, frozen=True):
    """The result of a command."""

    lines: tuple[Line, ...]
    proposal: Proposed | None


class OfServer(Limited, frozen=True):
    """Lines of one server, or of all."""

    server: str | None = None


class Decisions(Ok, frozen=True):
    """The decision log, newest first."""

    decisions: tuple[Decision, ...]


class Audits(Ok, frozen=True):
    """Lines of the audit: who changed what, newest first."""

    audit: tuple[Audit, ...]
