"""Answers programs that ask for splits: the best one for every team size, within their constraints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from equipoise.core.model import PlayerId, Side
from equipoise.errors import ScriptError, SplitError
from equipoise.ratings.system import Match
from equipoise.service.pool import Pool
from equipoise.solver import Assignment, Pin, best_split, splits
from equipoise.web.messages import Label, SplitFound, SplitsAsked, SplitsFound
from equipoise.web.routes import Asked

WAIT_SECONDS = 1.0


async def find_splits(asked: Asked) -> SplitsFound:
    """Solve in a thread, one question at a time; 503 while another is in work."""
    body: SplitsAsked = asked.body
    pool = _pool(asked, body.pool)
    question = await _question(body, pool)
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await asked.services.solving.acquire()
    except TimeoutError:
        raise ScriptError("busy", "another split is in work", status=503) from None
    try:
        found = await asyncio.to_thread(question.solve)
    except SplitError as error:
        raise ScriptError("split", str(error)) from None
    finally:
        asked.services.solving.release()
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
        return _Question(body, pool, tuple(range(len(body.ratings))), body.ratings)
    ids = tuple(PlayerId(str(id)) for id in body.ids)
    if len(set(ids)) < len(ids):
        raise ScriptError("twice", "a player is here twice", path="$.ids")
    await pool.summaries(ids)
    return _Question(body, pool, ids, tuple(pool.skill(id) for id in ids))


@dataclass(frozen=True, slots=True)
class _Question:
    """A request for splits, with players as indices."""

    body: SplitsAsked
    pool: Pool
    labels: tuple[Label, ...]
    values: tuple[float, ...]

    def solve(self) -> list[Assignment]:
        """All sizes at once; with preferences, each size by itself."""
        body, groups, pins = self.body, self._groups(), self._pins()
        if not (body.bench_cost or body.current or body.tolerance):
            found = splits(self.values, groups=groups, pins=pins, k=body.size)
            return [found[size] for size in sorted(found)]
        return self._preferred(groups, pins)

    def labelled(self, found: Assignment) -> SplitFound:
        """A split in the caller's labels, with the win probability that the pool's system predicts."""
        a, b, bench = (tuple(self.labels[i] for i in part) for part in (found.a, found.b, found.bench))
        players = [PlayerId(str(label)) for label in self.labels]
        match = Match(
            teams=(tuple(players[i] for i in found.a), tuple(players[i] for i in found.b)),
            skill_at_start=dict(zip(players, self.values, strict=True)),
        )
        chance = self.pool.system.predict(match).expected(0)
        return SplitFound(len(found.a), a, b, bench, found.difference, chance, found.optimal)

    def _preferred(self, groups: list[list[int]], pins: Mapping[int, Pin]) -> list[Assignment]:
        sizes = [self.body.size] if self.body.size else range(2, len(self.values) // 2 + 1)
        found, refused = [], SplitError("at least 4 players are needed")
        costs, current = self._costs(), self._current()
        for k in sizes:
            try:
                found.append(
                    best_split(
                        self.values,
                        sizes=(k, k),
                        groups=groups,
                        pins=pins,
                        bench_cost=costs,
                        current=current,
                        tolerance=self.pool.system.gap(self.body.tolerance, k),
                    )
                )
            except SplitError as error:  # other sizes may be possible
                refused = error
        if not found:
            raise refused
        return found

    def _groups(self) -> list[list[int]]:
        return [self._indices(group, f"$.keep_together[{n}]") for n, group in enumerate(self.body.keep_together)]

    def _pins(self) -> dict[int, Pin]:
        return {self._index(label, "$.pinned"): Pin(place) for label, place in self.body.pinned.items()}

    def _costs(self) -> list[int] | None:
        if not self.body.bench_cost:
            return None
        costs = {self._index(label, "$.bench_cost"): cost for label, cost in self.body.bench_cost.items()}
        return [costs.get(index, 0) for index in range(len(self.labels))]

    def _current(self) -> list[Side | None] | None:
        if self.body.current is None:
            return None
        on_a = self._indices(self.body.current.a, "$.current.a")
        on_b = self._indices(self.body.current.b, "$.current.b")
        sides = dict.fromkeys(on_a, Side.A) | dict.fromkeys(on_b, Side.B)
        return [sides.get(index) for index in range(len(self.labels))]

    def _indices(self, labels: Iterable[Label], path: str) -> list[int]:
        return [self._index(label, f"{path}[{n}]") for n, label in enumerate(labels)]

    def _index(self, label: Label, path: str) -> int:
        """The index of a player. JSON's keys are strings, so "3" is index 3 where players are indices."""
        for index, known in enumerate(self.labels):
            if str(known) == str(label):
                return index
        raise ScriptError("stranger", f"{label!r} is none of the players", path=path)
