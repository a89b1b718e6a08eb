"""Answers programs that ask for splits: the best one for every team size, within their constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.balancing.chances import outlook_of
from equipoise.core.model import Outlook, PlayerId, Side
from equipoise.errors import ScriptError, SplitError
from equipoise.ratings.system import Covariance, Match
from equipoise.service.pool import Pool
from equipoise.solver import Assignment, Pin
from equipoise.solving.question import SplitQuestion
from equipoise.web.hanging_up import unless_gone
from equipoise.web.messages.splits import Label, SplitFound, SplitGap, SplitsAsked, SplitsFound
from equipoise.web.routes import Asked


async def find_splits(asked: Asked) -> SplitsFound:
    """Have the worker solve, for as long as the caller waits; 503 when other questions take it too long."""
    body: SplitsAsked = asked.body
    pool = _pool(asked, body.pool)
    question = await _question(body, pool)
    try:
        found = await unless_gone(asked.services.solving.solve(question.for_worker(), asked.caller.who), asked.gone)
    except SplitError as error:
        raise ScriptError("split", str(error)) from None
    return SplitsFound(splits=tuple(question.labelled(assignment) for assignment in found))


def _pool(asked: Asked, name: str | None) -> Pool:
    """The pool whose ratings are asked for. A script has only its own server's: the differences of splits give hidden
    ratings away to the last digit.
    """
    if asked.caller.role != "script":
        return asked.services.pool(name)
    own = asked.services.host(asked.caller.name).pool
    if name is not None and name != own.name:
        raise ScriptError("pool", f"a script asks for its own server's pool: {own.name}", path="$.pool", status=403)
    return own


async def _question(body: SplitsAsked, pool: Pool) -> _Question:
    if bool(body.ids) == bool(body.ratings):
        raise ScriptError("players", "send either ids or ratings", path="$.ids")
    if body.ratings:
        return _Question.of(body, pool, range(len(body.ratings)), body.ratings, None)
    ids = tuple(PlayerId(str(id)) for id in body.ids)
    if len(set(ids)) < len(ids):
        raise ScriptError("twice", "a player is here twice", path="$.ids")
    await pool.summaries(ids)
    return _Question.of(body, pool, ids, map(pool.skill, ids), pool.balancing.covariance(ids))


@dataclass(frozen=True, slots=True)
class _Question:
    """A request for splits, with players as indices."""

    body: SplitsAsked
    pool: Pool
    labels: tuple[Label, ...]
    values: tuple[float, ...]
    places: Mapping[str, int]
    """The index of each label."""
    covariance: Covariance | None
    """Of the values; None where their deviations are not known."""

    @classmethod
    def of(
        cls,
        body: SplitsAsked,
        pool: Pool,
        labels: Sequence[Label],
        values: Iterable[float],
        covariance: Covariance | None,
    ) -> _Question:
        places = {str(label): index for index, label in enumerate(labels)}
        return cls(body, pool, tuple(labels), tuple(values), places, covariance)

    def for_worker(self) -> SplitQuestion:
        """All sizes at once; with preferences, each size within its own tolerance."""
        body = self.body
        preferring = body.bench_cost or body.current
        correlated = self.covariance is not None and self.pool.balancing.correlated
        return SplitQuestion(
            values=self.values,
            size=body.size,
            groups=self._groups(),
            pins=self._pins(),
            bench_cost=self._costs(),
            current=self._current(),
            tolerances=self._tolerances() if preferring else {},
            covariance=tuple(map(tuple, self.covariance)) if correlated and self.covariance else None,
            log_odds={size: self._log_odds(size) for size in self._sizes()} if correlated else {},
        )

    def labelled(self, found: Assignment) -> SplitFound:
        """A split in the caller's labels, with the win probability that the pool's system predicts."""
        a, b, bench = (tuple(self.labels[i] for i in part) for part in (found.a, found.b, found.bench))
        players = [PlayerId(str(label)) for label in self.labels]
        match = Match(
            teams=(tuple(players[i] for i in found.a), tuple(players[i] for i in found.b)),
            skill_at_start=dict(zip(players, self.values, strict=True)),
        )
        system = self.pool.balancing
        outlook = outlook_of(system, match) if self.body.ids else self._believed(match, found.difference)
        return SplitFound(
            len(found.a),
            a,
            b,
            bench,
            found.difference,
            outlook.chance,
            outlook.low,
            outlook.high,
            outlook.unevenness,
            outlook.evenness,
            outlook.evenness,
            system.trueskill_quality(match) if self.body.ids else None,
            found.optimal,
            SplitGap(*found.gap),
        )

    def _believed(self, match: Match, difference: float) -> Outlook:
        """Of ratings that were sent, taken as exact: a system predicts only by what it has learnt of players itself."""
        lead = difference - self.pool.balancing.difference_at(0.5, match)
        # logistic(x) = (1 + tanh(x/2)) / 2, which does not overflow.
        return Outlook.alone(0.5 + math.tanh(lead / self._log_odds(len(match.teams[0])) / 2) / 2)

    def _log_odds(self, size: int) -> float:
        """The points that are one log-odds."""
        return self.pool.balancing.gap(1.0, size) / 4

    def _sizes(self) -> Sequence[int]:
        return (self.body.size,) if self.body.size else range(2, len(self.values) // 2 + 1)

    def _tolerances(self) -> dict[int, float]:
        return {size: self.pool.balancing.gap(self.body.tolerance, size) for size in self._sizes()}

    def _groups(self) -> tuple[tuple[int, ...], ...]:
        groups = enumerate(self.body.keep_together)
        return tuple(self._indices(group, f"$.keep_together[{n}]") for n, group in groups)

    def _pins(self) -> dict[int, Pin]:
        return {self._index(label, "$.pinned"): Pin(place) for label, place in self.body.pinned.items()}

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
        """The index of a player. JSON's keys are strings, so "3" is index 3 where players are indices."""
        index = self.places.get(str(label))
        if index is None:
            raise ScriptError("stranger", f"{label!r:.40} is none of the players", path=path)
        return index
