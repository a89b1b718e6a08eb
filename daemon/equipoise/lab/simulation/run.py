"""Plays a scenario from its first round to its last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from typing import Any

from equipoise.core.model import PlayerId, Side
from equipoise.core.rules import Rules
from equipoise.errors import RatingError
from equipoise.lab.models import Model
from equipoise.lab.simulation.measures import (
    POINTS,
    Played,
    Point,
    Summary,
    Turns,
    bench,
    groups,
    order,
    overconfidence,
    point,
    quality,
    spearman,
)
from equipoise.lab.simulation.outcome_model import MAPS, Truth
from equipoise.lab.simulation.population import Crowd, Person, Scenario
from equipoise.lab.simulation.server import Server
from equipoise.ratings.system import System

MAP_ROUNDS = 20
SHORTEST, LONGEST = 60.0, 240.0
"""Seconds of a round."""
SHUFFLES = 5
SHUTOUT = 0.3
"""Share of the won rounds in which the losers capture nothing."""


@dataclass(slots=True)
class _Run:
    """The state of a simulation."""

    scenario: Scenario
    rng: Random
    crowd: Crowd
    truth: Truth
    server: Server
    played: list[Played] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    maps: list[Turns] = field(default_factory=list)
    fresh: int = 0
    """Rounds that the points cover already."""
    half: int = 0
    """Rounds rated in the first half."""


def simulate(
    scenario: Scenario,
    model: Model,
    rules: Rules | None = None,
    progress: Callable[[int], None] = lambda rounds: None,
) -> Summary:
    """Play it; the same seed gives the same people, and the same result with the same system and rules.

    RatingError for a system that no pool can use.
    """
    system = playable(model)
    # Dice of their own: the same people come and go whatever the teams.
    people, luck, context = (Random(f"{scenario.seed} {use}") for use in ("people", "luck", "ground"))
    server = Server(scenario.mode, system, rules or Rules())
    run = _Run(scenario, context, Crowd(scenario, people), Truth(scenario, luck), server)
    for number in range(1, scenario.rounds + 1):
        _round(run, number)
        if number == scenario.rounds // 2:
            run.half = len(run.played)
        if number * POINTS // scenario.rounds > (number - 1) * POINTS // scenario.rounds:
            _note(run, number)
        progress(number)
    return _summary(run)


def playable(model: Model) -> System[Any]:
    """Without players; RatingError for a system that no pool can use."""
    system = model.make()
    if not system.live:
        raise RatingError(f"{model.name}: for histories only, not for a pool")
    return system


def _round(run: _Run, number: int) -> None:
    if number % MAP_ROUNDS == 1:
        run.server.change_map(run.rng.choice(MAPS))
        run.maps.append(Turns())
    if number == 1:
        for person in run.crowd.opening():
            run.server.join(person.id)
    here = set(run.server.spots)
    run.crowd.pass_round(number, here)
    before, within = run.crowd.leaving(here)
    for person in before:
        run.server.leave(person.id)
    for person in run.crowd.coming(here):
        run.server.join(person.id)
    if run.server.start_round():
        _play(run, within)
    run.server.pass_time(8.0)


def _play(run: _Run, leaving: Sequence[Person]) -> None:
    server, people = run.server, {person.id: person for person in run.crowd.people}
    sides = {side: [people[player] for player in server.on(side)] for side in Side}
    chance = run.truth.chance(sides[Side.A], sides[Side.B], server.map)
    random = _random(run, [*sides[Side.A], *sides[Side.B]], len(sides[Side.A]))
    run.maps[-1].count(server.spots, server.bench())
    thrown = run.truth.thrown([*sides[Side.A], *sides[Side.B]])
    _pass_round(run, leaving)
    shares = {side: server.shares(side) for side in Side}
    winner = run.truth.winner(shares[Side.A], shares[Side.B], people, server.map, thrown)
    server.end_round(winner, _captures(run.rng, winner))
    _credit(shares, people, winner, thrown)
    if server.rated is not None:
        score = 0.5 if winner is None else float(winner is Side.A)
        run.played.append(Played(server.rated.prediction.expected(0), score, chance, random))


def _pass_round(run: _Run, leaving: Sequence[Person]) -> None:
    """Some leave in its middle; what the session orders then is carried out."""
    seconds = run.rng.uniform(SHORTEST, LONGEST)
    run.server.pass_time(seconds / 2)
    for person in leaving:
        run.server.leave(person.id)
    run.server.pass_time(seconds / 4)
    run.server.pass_time(seconds / 4)


def _captures(rng: Random, winner: Side | None) -> dict[Side, int]:
    losers = int(rng.random() >= SHUTOUT)
    return {side: 2 if side is winner else losers for side in Side}


def _random(run: _Run, people: Sequence[Person], size: int) -> float:
    """The favourite's chance in random teams of these people."""
    orders = [run.rng.sample(people, len(people)) for _ in range(SHUFFLES)]
    chances = [run.truth.chance(order[:size], order[size:], run.server.map) for order in orders]
    return fmean(max(chance, 1 - chance) for chance in chances)


def _credit(
    shares: dict[Side, dict[PlayerId, float]],
    people: dict[PlayerId, Person],
    winner: Side | None,
    thrown: Collection[PlayerId],
) -> None:
    for side, played in shares.items():
        for player in [player for player, share in played.items() if share > 0.5]:
            person, score = people[player], 0.5 if winner is None else float(winner is side)
            person.rounds += 1
            person.won += score
            if player in thrown:
                person.thrown += 1
                person.thrown_won += score


def _note(run: _Run, number: int) -> None:
    fresh = run.played[run.fresh :]
    if fresh:
        known = [person for person in run.crowd.people if person.rounds]
        found = spearman([run.server.system.skill(p.id) for p in known], [p.skill for p in known])
        run.points.append(point(number, found, fresh))
        run.fresh = len(run.played)


def _summary(run: _Run) -> Summary:
    late = run.played[run.half :]
    seats = sum(sum(turns.here.values()) for turns in run.maps)
    known = [person for person in run.crowd.everybody() if person.rounds]
    found, found_after = order(run.points, run.scenario.rounds)
    return Summary(
        rounds=run.scenario.rounds,
        rated=len(run.played),
        points=tuple(run.points),
        found=found,
        found_after=found_after,
        quality=quality(late),
        overconfidence=overconfidence(late),
        reachable=fmean((one.chance - one.score) ** 2 for one in late) if late else None,
        favourite=fmean(one.favourite for one in late) if late else None,
        random=fmean(one.random for one in late) if late else None,
        assigned=run.server.assigned / max(seats, 1),
        moved=run.server.moved / max(seats, 1),
        bench=bench(run.maps),
        groups=groups(known, [run.server.system.skill(person.id) for person in known]) if known else (),
    )
