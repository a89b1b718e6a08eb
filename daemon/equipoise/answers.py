"""Turns an ask of the rules into the event that answers it, and a round into a match. Pure; the host, the pool and
the simulator share it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from equipoise.core.effects import AskMoves, AskSplit, CacheSplits, Purpose, RecordRound
from equipoise.core.events import MovesSolved, SolveFailed, SplitsCached, SplitSolved
from equipoise.core.model import Entry, Participant, PlayerId, Side, Split
from equipoise.core.pools import duel
from equipoise.errors import SplitError
from equipoise.ratings.base import Match, System, ranks_of
from equipoise.solver import Assignment, Pin, best_split, splits, transfer

Solved = SplitSolved | MovesSolved | SplitsCached | SolveFailed


def answer(ask: AskSplit | AskMoves | CacheSplits, system: System[Any]) -> Solved:
    """Solve an ask with the skills as the system holds them now."""
    try:
        match ask:
            case AskSplit():
                return _split(ask, system)
            case AskMoves():
                return _moves(ask, system)
            case CacheSplits():
                return _cache(ask, system)
    except SplitError as error:
        return SolveFailed(ask, str(error))


def _split(ask: AskSplit, system: System[Any]) -> SplitSolved:
    skills = {entry.id: system.skill(entry.id) for entry in ask.pool}
    if ask.purpose is Purpose.DUEL:
        split = duel(ask.pool, skills)
    else:
        split = _named(_best(ask, list(skills.values()), system), ask.pool)
    difference = sum(skills[player] for player in split.a) - sum(skills[player] for player in split.b)
    on_a, on_b = (tuple(entry.id for entry in ask.pool if entry.side is side) for side in Side)
    before = chance(system, on_a, on_b) if on_a and on_b else None
    return SplitSolved(ask, split, difference, before, chance(system, split.a, split.b))


def chance(system: System[Any], a: Iterable[PlayerId], b: Iterable[PlayerId]) -> float:
    """Score expected of side A against side B."""
    return system.predict(Match(teams=(tuple(a), tuple(b)))).expected(0)


def _best(ask: AskSplit, skills: Sequence[float], system: System[Any]) -> Assignment:
    """The best split within the tolerance; of uneven sizes either side may be the larger one."""
    tolerance = ask.tolerance if math.isinf(ask.tolerance) else system.gap(ask.tolerance, max(ask.sizes))
    if ask.sizes[0] == ask.sizes[1]:
        return _best_of(ask, ask.sizes, skills, tolerance)
    optima = _optima(ask, skills)
    limit = min(optima.values()) + tolerance
    # One limit for both: a split that is within the tolerance of its own optimum only would not do.
    close = [_best_of(ask, sizes, skills, limit - least) for sizes, least in optima.items() if least <= limit]
    return min(close, key=lambda found: (found.bench_cost, found.moves, abs(found.difference)))


def _optima(ask: AskSplit, skills: Sequence[float]) -> dict[tuple[int, int], float]:
    """The least difference with A and with B as the larger side; SplitError when bots stand in the way of both."""
    optima = {}
    for sizes in (ask.sizes, ask.sizes[::-1]):
        try:
            optima[sizes] = abs(_best_of(ask, sizes, skills, 0.0).difference)
        except SplitError as error:
            refusal = error
    if not optima:
        raise refusal
    return optima


def _best_of(ask: AskSplit, sizes: tuple[int, int], skills: Sequence[float], tolerance: float) -> Assignment:
    return best_split(
        skills,
        sizes=sizes,
        pins=_pins(ask),
        bench_cost=[ask.bench_cost.get(entry.id, 0) for entry in ask.pool],
        current=[entry.side for entry in ask.pool],
        tolerance=tolerance,
    )


def _pins(ask: AskSplit) -> dict[int, Pin]:
    """Bots stay where they stand; some must play."""
    pins = {index: Pin.PLAY for index, entry in enumerate(ask.pool) if entry.id in ask.must_play}
    stand = {Side.A: Pin.A, Side.B: Pin.B}
    return pins | {index: stand[entry.side] for index, entry in enumerate(ask.pool) if entry.bot and entry.side}


def _named(assignment: Assignment, pool: Sequence[Entry]) -> Split:
    groups = (assignment.a, assignment.b, assignment.bench)
    return Split(*(tuple(pool[index].id for index in sorted(group)) for group in groups))


def _moves(ask: AskMoves, system: System[Any]) -> MovesSolved:
    places = {player: index for index, player in enumerate(ask.larger)}
    found = transfer(
        [system.skill(player) for player in ask.larger],
        [system.skill(player) for player in ask.smaller],
        [places[player] for player in ask.movable],
        ask.count,
        [ask.cost.get(player, 0) for player in ask.larger],
    )
    return MovesSolved(ask, tuple(ask.larger[index] for index in found.moved))


def _cache(ask: CacheSplits, system: System[Any]) -> SplitsCached:
    found = splits([system.skill(entry.id) for entry in ask.pool], odd_without_bench=not ask.bench)
    every = [found[size] for size in sorted(found)]
    if found.uneven is not None:
        every.append(found.uneven)
    return SplitsCached(ask, tuple(_named(assignment, ask.pool) for assignment in every))


def match_of(record: RecordRound) -> Match | None:
    """A finished round as rating systems read it; None when it is not to be rated."""
    round = record.round
    if not record.participants:
        return None
    doors = (round.seated(Side.A), round.seated(Side.B))
    return Match(
        teams=(_team(record.participants, Side.A), _team(record.participants, Side.B)),
        ranks=ranks_of(round.score(Side.A)),
        doors=doors if all(doors) else (),
        standing=record.standing or {},
        started_at=round.started_at,
        seconds=round.seconds,
        share={each.id: _share(each, round.seconds) for each in record.participants},
        quits=frozenset(presence.id for presence in round.presences if presence.left),
        map=round.map,
        mode=round.mode.value,
    )


def _team(participants: Sequence[Participant], side: Side) -> tuple[PlayerId, ...]:
    return tuple(each.id for each in participants if each.side is side)


def _share(participant: Participant, seconds: float) -> float:
    played = participant.seconds_a if participant.side is Side.A else participant.seconds_b
    return min(1.0, played / seconds) if seconds > 0 else 1.0
