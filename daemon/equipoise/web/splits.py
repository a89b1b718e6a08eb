"""Splits for other programs: POST /v1/splits answers the best one for every team size, within their constraints."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from equipoise.balancing.chances import outlook_of
from equipoise.core.model import MOST_PLAYERS, Outlook, PlayerId, Side
from equipoise.errors import ScriptError, SplitError
from equipoise.ratings.system import Covariance, Match
from equipoise.service.pool import Pool
from equipoise.solver import Assignment, Pin
from equipoise.web.routes import ANYBODY, Ask, Ok, Request, Routes
from equipoise.wire.scalars import Fraction, Player
from equipoise.workers.solving import SplitQuestion, SplitRequest

LOOK_SECONDS = 0.1
"""How often it is looked whether a caller has hung up."""

Place = Literal["a", "b", "bench", "play"]
Points = Annotated[float, Meta(ge=-1e9, le=1e9)]
Label = str | int
"""A player in a split: the id, or the index where only ratings were sent."""
Labels = Annotated[tuple[Label, ...], Meta(max_length=MOST_PLAYERS)]

Result = TypeVar("Result")

routes = Routes()


class Sides(Ask, frozen=True):
    """The sides as they are now."""

    a: Labels = ()
    """Players on side A: RED, Marines."""
    b: Labels = ()
    """Players on side B: BLU, Aliens."""


class SplitsAsked(Ask, frozen=True):
    """A pool of players, by id or by rating, and what a split must respect."""

    pool: str | None = None
    """The rating population; may be left out where there is only one."""
    ids: Annotated[tuple[Player, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Players, by id."""
    ratings: Annotated[tuple[Points, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Ratings of players who are named by their place in this list."""
    size: Annotated[int, Meta(ge=1, le=MOST_PLAYERS // 2)] | None = None
    """Only this team size."""
    keep_together: Annotated[tuple[Labels, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Groups that play on one side or sit out together."""
    pinned: Annotated[dict[str, Place], Meta(max_length=MOST_PLAYERS)] = msgspec.field(default_factory=dict)
    """Players who must be on a side, on the bench, or in the game on either side."""
    bench_cost: Annotated[dict[str, Annotated[int, Meta(ge=0, le=1_000_000)]], Meta(max_length=MOST_PLAYERS)] = (
        msgspec.field(default_factory=dict)
    )
    """The cheapest bench within the tolerance is taken."""
    current: Sides | None = None
    """The present sides: among splits within the tolerance that have the cheapest bench, the one that moves the fewest
    players wins."""
    tolerance: Fraction = 0.0
    """Win probability that a split may be off the best."""


class SplitGap(msgspec.Struct, frozen=True):
    """The most by which the best split can be better, as far as it is known."""

    points: float
    """Points of the difference, whatever its sign."""
    bench_cost: int
    """Part of the sum of bench costs."""
    moves: int
    """Players who change side."""


class Evenness(msgspec.Struct, frozen=True, kw_only=True):
    """How even two sides are known to be, by the system that makes the teams."""

    win_probability: float
    """Win probability of side A."""
    low: float | None
    """The lower end of the 80 % interval of the true one; null where the system knows no uncertainty, and where ratings
    were sent."""
    high: float | None
    """Its upper end."""
    unevenness: float
    """How far the true win probability is expected to be from a half, 0 to 0.5; without an interval, the predicted
    one."""
    evenness: float
    """1 - 2 · `unevenness`: 1 for sides that are known to be even, 0 for a match that is decided."""
    quality: Annotated[float, Meta(extra_json_schema={"deprecated": True})]
    """Deprecated: `evenness` by its old name. It goes with the next release."""
    trueskill_quality: float | None
    """TrueSkill's match quality, 0 to 1: 1 only for equal sides of players whose skills are known. Null where the
    system is no TrueSkill, and where ratings were sent."""


def fields_of(outlook: Outlook, trueskill_quality: float | None) -> Mapping[str, Any]:
    """Return the fields of `Evenness`, for a struct that has them and more."""
    return {
        "win_probability": outlook.chance,
        "low": outlook.low,
        "high": outlook.high,
        "unevenness": outlook.unevenness,
        "evenness": outlook.evenness,
        "quality": outlook.evenness,
        "trueskill_quality": trueskill_quality,
    }


class SplitFound(Evenness, frozen=True, kw_only=True):
    """The best split of one size, or the best that was found in time."""

    k: int
    """Players on each side."""
    a: tuple[Label, ...]
    """Players on side A: RED, Marines."""
    b: tuple[Label, ...]
    """Players on side B: BLU, Aliens."""
    bench: tuple[Label, ...]
    """Players who sit out."""
    difference: float
    """Sum of A minus sum of B, rating points."""
    optimal: bool
    """False: the time was over before it was proven that none is better, or the pool's system is correlated."""
    gap: SplitGap
    """How much better the best split of this size can be."""


class SplitsFound(Ok, frozen=True):
    """One split per team size, largest last."""

    splits: tuple[SplitFound, ...]
    """One for every team size from 2."""


@routes.add(
    "POST",
    "/v1/splits",
    "The best split for every team size",
    ANYBODY,
    body=SplitsAsked,
    reply=SplitsFound,
    body_example={"ratings": [1830, 1210, 1450, 990], "keep_together": [[0, 3]]},
    reply_example={
        "ok": True,
        "splits": [
            {
                "k": 2,
                "a": [0, 3],
                "b": [1, 2],
                "bench": [],
                "difference": 160.0,
                "win_probability": 0.5167,
                "low": None,
                "high": None,
                "unevenness": 0.0167,
                "evenness": 0.9666,
                "quality": 0.9666,
                "trueskill_quality": None,
                "optimal": True,
                "gap": {"points": 0.0, "bench_cost": 0, "moves": 0},
            }
        ],
    },
)
async def find_splits(request: Request) -> SplitsFound:
    """Have the worker solve, for as long as the caller waits; 503 when other questions take it too long."""
    body: SplitsAsked = request.body
    question = await _question(body, _pool(request, body.pool))
    solver = request.services.solving
    solution = solver.ask(SplitRequest(question.for_worker(), solver.seconds), request.caller.who)
    try:
        splits = await _unless_gone(solution, request.gone)
    except SplitError as error:
        raise ScriptError("split", str(error)) from None
    return SplitsFound(splits=tuple(question.labelled(split) for split in splits))


def _pool(request: Request, name: str | None) -> Pool:
    """Return the pool whose ratings are asked for.

    A script has only its own server's: the differences of splits give hidden ratings away to the last digit.
    """
    if request.caller.role != "script":
        return request.services.pool(name)
    own = request.services.host(request.caller.name).pool
    if name is not None and name != own.name:
        raise ScriptError("pool", f"a script asks for its own server's pool: {own.name}", path="$.pool", status=403)
    return own


async def _unless_gone(work: Coroutine[Any, Any, Result], gone: Callable[[], bool]) -> Result:
    """Do the work, but cancel it when its caller has gone: then CancelledError.

    The web server could cancel handlers by itself, but only all of them, and an admin's change is not to be half made.
    """
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=LOOK_SECONDS)
            if gone():
                task.cancel()
        return await task
    finally:
        task.cancel()


async def _question(body: SplitsAsked, pool: Pool) -> _Question:
    if bool(body.ids) == bool(body.ratings):
        raise ScriptError("players", "send either ids or ratings", path="$.ids")
    if body.ratings:
        return _Question(body, pool, tuple(range(len(body.ratings))), body.ratings, None)
    players = tuple(PlayerId(str(player)) for player in body.ids)
    if len(set(players)) < len(players):
        raise ScriptError("twice", "a player is here twice", path="$.ids")
    await pool.summaries(players)
    return _Question(body, pool, players, tuple(map(pool.skill, players)), pool.balancing.covariance(players))


class _Question:
    """A request for splits, with players as indices."""

    def __init__(
        self,
        body: SplitsAsked,
        pool: Pool,
        labels: tuple[Label, ...],
        values: tuple[float, ...],
        covariance: Covariance | None,
    ) -> None:
        self.body, self.pool, self.labels, self.values = body, pool, labels, values
        self.covariance = covariance
        """Covariance of the values; None where their deviations are not known."""
        self.places: Mapping[str, int] = {str(label): index for index, label in enumerate(labels)}
        """The index of each label. JSON's keys are strings, so "3" is index 3 where players are indices."""

    def for_worker(self) -> SplitQuestion:
        """Return the question for all sizes at once; with preferences, each size within its own tolerance."""
        body, system = self.body, self.pool.balancing
        sizes = (body.size,) if body.size else range(2, len(self.values) // 2 + 1)
        # Without correlation the means alone decide which split is the most even: the exact solver needs no more.
        covariance = self.covariance if system.correlated else None
        return SplitQuestion(
            values=self.values,
            size=body.size,
            groups=tuple(self._indices(group, f"$.keep_together[{n}]") for n, group in enumerate(body.keep_together)),
            pins={self._index(label, "$.pinned"): Pin(place) for label, place in body.pinned.items()},
            bench_cost=self._costs(),
            current=self._current(),
            tolerances={size: system.gap(body.tolerance, size) for size in sizes}
            if body.bench_cost or body.current
            else {},
            covariance=tuple(map(tuple, covariance)) if covariance else None,
            log_odds={size: self._log_odds(size) for size in sizes} if covariance is not None else {},
        )

    def _costs(self) -> tuple[int, ...] | None:
        if not self.body.bench_cost:
            return None
        costs = {self._index(label, "$.bench_cost"): cost for label, cost in self.body.bench_cost.items()}
        return tuple(costs.get(index, 0) for index in range(len(self.labels)))

    def _current(self) -> tuple[Side | None, ...] | None:
        if self.body.current is None:
            return None
        on_a = self._indices(self.body.current.a, "$.current.a")
        on_b = self._indices(self.body.current.b, "$.current.b")
        sides = dict.fromkeys(on_a, Side.A) | dict.fromkeys(on_b, Side.B)
        return tuple(sides.get(index) for index in range(len(self.labels)))

    def _indices(self, labels: Iterable[Label], path: str) -> tuple[int, ...]:
        return tuple(self._index(label, f"{path}[{n}]") for n, label in enumerate(labels))

    def _index(self, label: Label, path: str) -> int:
        index = self.places.get(str(label))
        if index is None:
            raise ScriptError("stranger", f"{label!r:.40} is none of the players", path=path)
        return index

    def labelled(self, split: Assignment) -> SplitFound:
        """Return a split in the caller's labels, with the win probability that the pool's system predicts."""
        a, b, bench = (tuple(self.labels[i] for i in part) for part in (split.a, split.b, split.bench))
        players = [PlayerId(str(label)) for label in self.labels]
        match = Match(
            teams=(tuple(players[i] for i in split.a), tuple(players[i] for i in split.b)),
            skill_at_start=dict(zip(players, self.values, strict=True)),
        )
        system = self.pool.balancing
        outlook = outlook_of(system, match) if self.body.ids else self._outlook_of_ratings(match, split.difference)
        return SplitFound(
            k=len(split.a),
            a=a,
            b=b,
            bench=bench,
            difference=split.difference,
            optimal=split.optimal,
            gap=SplitGap(*split.gap),
            **fields_of(outlook, system.trueskill_quality(match) if self.body.ids else None),
        )

    def _outlook_of_ratings(self, match: Match, difference: float) -> Outlook:
        """Return the outlook of ratings that were sent, taken as exact.

        A system predicts only by what it has learnt of players itself.
        """
        lead = difference - self.pool.balancing.difference_at(0.5, match)
        # logistic(x) = (1 + tanh(x/2)) / 2, which does not overflow.
        return Outlook.alone(0.5 + math.tanh(lead / self._log_odds(len(match.teams[0])) / 2) / 2)

    def _log_odds(self, size: int) -> float:
        """Return the points that are one log-odds for teams of this size."""
        return self.pool.balancing.gap(1.0, size) / 4
