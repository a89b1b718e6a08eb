"""Plays a scenario from its first round to its last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from typing import Any

from equipoise.balancing import answer
from equipoise.core.model import PlayerId, Side
from equipoise.core.rules import Rules
from equipoise.errors import RatingError
from equipoise.lab.models import Model
from equipoise.lab.simulation.closed_loop import ClosedLoop, Solve
from equipoise.lab.simulation.fairness import Chances, Evening, fairness
from equipoise.lab.simulation.game_server import Map
from equipoise.lab.simulation.measures import (
    POINTS,
    BenchTurns,
    Point,
    RatedRound,
    Summary,
    Teams,
    Together,
    bench_sharing,
    between_scrambles,
    groups,
    order,
    overconfidence,
    periods,
    point,
    quality,
    spearman,
)
from equipoise.lab.simulation.outcome_model import MAP_NAMES, CountsModel, OutcomeModel
from equipoise.lab.simulation.population import Churn, Evenings, Person, Population, Regulars, Scenario, Visits
from equipoise.ratings.system import System

MAP_ROUNDS = 20
SHORTEST, LONGEST = 60.0, 240.0
"""Seconds of a round."""
DAY_SECONDS = 86_400.0
SECONDS_BETWEEN = 8.0
"""From a round's end to the next freeze time."""
RANDOM_TEAMS = 5
"""Random teams that each round is compared with."""
SHUTOUT = 0.3
"""Fraction of the won rounds in which the losers capture nothing."""
NEXT_DEATH = 5.0
"""Seconds until a player who is to be moved dies, where people come and leave inside rounds."""
POPULATIONS = {Visits.STEADY: Population, Visits.EVENINGS: Evenings, Visits.REGULARS: Regulars}


@dataclass(slots=True)
class _Run:
    """The state of a running simulation."""

    scenario: Scenario
    rng: Random
    """For everything but people and results: maps, lengths, captures, random teams."""
    population: Population
    outcomes: OutcomeModel
    counts: CountsModel
    loop: ClosedLoop
    churn: Churn
    played: list[RatedRound] = field(default_factory=list)
    chances: list[Chances] = field(default_factory=list)
    """Chances of the same rounds."""
    points: list[Point] = field(default_factory=list)
    benches: list[BenchTurns] = field(default_factory=list)
    """One per map that was played."""
    together: Together = field(default_factory=Together)
    """Rounds whose teams were made anew."""
    evenings: dict[tuple[int, PlayerId], Evening] = field(default_factory=dict)
    """Rounds by the evening's number and the player."""
    covered: int = 0
    """Rated rounds that the points cover already."""
    half: int = 0
    """Rated rounds of the first half."""


def simulate(
    scenario: Scenario,
    model: Model,
    rules: Rules | None = None,
    progress: Callable[[int], None] = lambda rounds: None,
    solve: Solve = answer,
    balance: Model | None = None,
    *,
    learns: bool = False,
) -> Summary:
    """Play a scenario; the same seed, systems and rules give the same result.

    `model` is shown and ranks people; `balance` makes the teams and predicts, where it is another one. `learns`: a
    system that can learns the spread of skill between evenings. RatingError for a system that no pool can use.

    >>> simulate(Scenario(rounds=20, people=12, slots=8), Model("synelo")).rounds
    20
    """
    system, balancer = playable(model), None if balance is None else playable(balance)
    # Separate generators, so that the people and the luck of a round do not depend on the teams.
    people, results, rest, drops = (Random(f"{scenario.seed} {use}") for use in ("people", "luck", "ground", "churn"))
    loop = ClosedLoop(Map(MAP_NAMES[0], scenario.mode), system, rules or Rules(), solve, balancer, learns=learns)
    crowd, outcomes = POPULATIONS[scenario.attendance](scenario, people), OutcomeModel(scenario, results)
    run = _Run(scenario, rest, crowd, outcomes, CountsModel(scenario), loop, Churn(scenario, drops))
    for number in range(1, scenario.rounds + 1):
        _round(run, number)
        if number == scenario.rounds // 2:
            run.half = len(run.played)
        # `POINTS` times in all, evenly spread, whatever the number of rounds.
        if number * POINTS // scenario.rounds > (number - 1) * POINTS // scenario.rounds:
            _add_point(run, number)
        progress(number)
    return _summary(run)


def playable(model: Model) -> System[Any]:
    """The system without players; RatingError for one that no pool can use."""
    system = model.make()
    if not system.live:
        raise RatingError(f"{model.name}: for histories only, not for a pool")
    return system


def _round(run: _Run, number: int) -> None:
    if number > 1 and number % run.scenario.evening == 1:
        _pass_night(run, number)
    if number % MAP_ROUNDS == 1:
        run.loop.change_map(Map(run.rng.choice(MAP_NAMES), run.scenario.mode))
        run.benches.append(BenchTurns())
    if run.population.opens(number):
        for person in run.population.opening():
            run.loop.join(person.id)
    clients = set(run.loop.game.clients)
    run.population.pass_round(number, clients)
    before, within = run.population.leaving(clients)
    for person in before:
        run.loop.leave(person.id)
    arrivals, late = run.churn.divided(run.population.coming(clients))
    for person in arrivals:
        run.loop.join(person.id)
    assignments = run.loop.assigned
    if run.loop.start_round():
        _play(run, number, within, late, run.loop.assigned - assignments)
    else:
        for person in late:
            run.loop.join(person.id)
    run.loop.pass_time(SECONDS_BETWEEN)


def _pass_night(run: _Run, number: int) -> None:
    run.loop.learn()
    if days := run.population.pause(number):
        for player in list(run.loop.game.clients):
            run.loop.leave(player)
        run.churn.end_evening()
        run.loop.pass_time(days * DAY_SECONDS)


def _play(run: _Run, number: int, leaving: Sequence[Person], coming: Sequence[Person], reassigned: int) -> None:
    """A round that went live, to its end.

    `leaving` disconnect and `coming` connect inside it, `reassigned` players changed side before it.
    """
    loop, game = run.loop, run.loop.game
    people = {person.id: person for person in run.population.people}
    a, b = ([people[player] for player in game.on(side)] for side in Side)
    probability = run.outcomes.win_probability(a, b, game.map.name)
    random = _random_favourite(run, [*a, *b], len(a))
    run.benches[-1].count(game.clients, game.bench())
    if loop.teams is Teams.SCRAMBLED:
        run.together.count(*(game.on(side) for side in Side))
    outlook, teams = loop.outlook(), loop.chance_of_teams()
    thrown, luck = run.outcomes.thrown([*a, *b]), run.outcomes.luck()
    seconds = run.rng.uniform(SHORTEST, LONGEST)
    if run.churn.active:
        whole_a, whole_b = (dict.fromkeys((person.id for person in side), 1.0) for side in (a, b))
        # Who loses if nobody leaves: with the same luck the round is decided below, by who really played.
        ahead = run.outcomes.winner(whole_a, whole_b, people, game.map.name, thrown, luck)
        losers = [] if ahead is None else b if ahead is Side.A else a
        _pass_with_churn(run, number, seconds, leaving, coming, losers)
    else:
        _pass_round(run, seconds, leaving)
    fractions = {side: game.fractions_played(side) for side in Side}
    winner = run.outcomes.winner(fractions[Side.A], fractions[Side.B], people, game.map.name, thrown, luck)
    counts = run.counts.drawn(number, game.seconds_played(), people)
    loop.end_round(winner, _captures(run.rng, winner), counts)
    _count_results(run, number, fractions, people, winner, thrown, probability)
    if loop.rated is not None:
        score = 0.5 if winner is None else float(winner is Side.A)
        chance, share_moved = loop.rated.prediction.expected(0), reassigned / len([*a, *b])
        favourite = 0.5 + outlook.unevenness
        run.played.append(RatedRound(chance, score, probability, random, loop.teams, share_moved, number, favourite))
        interval = None if outlook.low is None or outlook.high is None else (outlook.low, outlook.high)
        run.chances.append(Chances(outlook.chance, probability, interval, len(run.benches), number, teams))
    if run.churn.active:
        lost = {player: winner is side.other for side in Side for player in game.on(side)}
        for player in run.churn.after(number, game.clock, lost, people):
            loop.leave(player)


def _pass_round(run: _Run, seconds: float, leaving: Sequence[Person]) -> None:
    """Time passes in three steps, so that the session's orders after the departures are carried out in the round."""
    run.loop.pass_time(seconds / 2)
    for person in leaving:
        run.loop.leave(person.id)
    run.loop.pass_time(seconds / 4)
    run.loop.pass_time(seconds / 4)


def _pass_with_churn(
    run: _Run,
    number: int,
    seconds: float,
    leaving: Sequence[Person],
    coming: Sequence[Person],
    losing: Sequence[Person],
) -> None:
    """Time passes from one who comes or leaves to the next."""
    loop, game, clock = run.loop, run.loop.game, 0.0
    gone, late = ([person.id for person in group] for group in (leaving, coming))
    happenings = run.churn.happenings(number, game.clock, seconds, game.clients, gone, late, losing, run.population)
    for incident in happenings:
        clock = _pass_until(loop, clock, incident.at)
        if not incident.comes and incident.player in game.clients:
            loop.leave(incident.player)
        elif incident.comes and incident.player not in game.clients and len(game.clients) < run.scenario.slots:
            loop.join(incident.player)
            game.fight()
    _pass_until(loop, clock, seconds)


def _pass_until(loop: ClosedLoop, passed: float, until: float) -> float:
    """Pass the time until a moment of the round, in two steps: players who are to be moved die in the first."""
    for end in (min(passed + NEXT_DEATH, until), until):
        if end > passed:
            loop.pass_time(end - passed)
            passed = end
    return passed


def _captures(rng: Random, winner: Side | None) -> dict[Side, int]:
    losers = int(rng.random() >= SHUTOUT)
    return {side: 2 if side is winner else losers for side in Side}


def _random_favourite(run: _Run, people: Sequence[Person], size: int) -> float:
    """The favourite's win probability in random teams of these people, the mean of a few."""
    orders = [run.rng.sample(people, len(people)) for _ in range(RANDOM_TEAMS)]
    map_name = run.loop.game.map.name
    probabilities = [run.outcomes.win_probability(order[:size], order[size:], map_name) for order in orders]
    return fmean(max(entry, 1 - entry) for entry in probabilities)


def _count_results(
    run: _Run,
    number: int,
    fractions: dict[Side, dict[PlayerId, float]],
    people: dict[PlayerId, Person],
    winner: Side | None,
    thrown: Collection[PlayerId],
    probability: float,
) -> None:
    """Add the round to the results of those who played more than half of it on one side; A had this probability."""
    evening = (number - 1) // run.scenario.evening
    for side, share in fractions.items():
        for player in [player for player, fraction in share.items() if fraction > 0.5]:
            person, score = people[player], 0.5 if winner is None else float(winner is side)
            person.rounds += 1
            person.won += score
            chance = probability if side is Side.A else 1 - probability
            run.evenings.setdefault((evening, player), Evening()).count(chance, score)
            if player in thrown:
                person.thrown += 1
                person.thrown_won += score


def _add_point(run: _Run, number: int) -> None:
    fresh = run.played[run.covered :]
    if fresh:
        people = [person for person in run.population.people if person.rounds]
        correlation = spearman([run.loop.system.skill(p.id) for p in people], [p.skill for p in people])
        run.points.append(point(number, correlation, fresh))
        run.covered = len(run.played)


def _summary(run: _Run) -> Summary:
    late = run.played[run.half :]
    seats = sum(turns.here.total() for turns in run.benches)
    people = [person for person in (*run.population.people, *run.population.gone) if person.rounds]
    result, found_after = order(run.points, run.scenario.rounds)
    return Summary(
        rounds=run.scenario.rounds,
        rated=len(run.played),
        points=tuple(run.points),
        found=result,
        found_after=found_after,
        quality=quality(late),
        overconfidence=overconfidence(late),
        reachable=fmean((entry.true - entry.score) ** 2 for entry in late) if late else None,
        favourite=fmean(entry.favourite for entry in late) if late else None,
        random=fmean(entry.random for entry in late) if late else None,
        expected_favourite=fmean(entry.expected_favourite for entry in late) if late else None,
        periods=periods(run.played, run.scenario.rounds),
        again=run.together.again(),
        between=between_scrambles(late, Teams.KEPT, Teams.EQUALISED, Teams.MOVED),
        equalised=between_scrambles(late, Teams.EQUALISED),
        assigned=run.loop.assigned / max(seats, 1),
        moved=run.loop.moved / max(seats, 1),
        bench=bench_sharing(run.benches),
        groups=groups(people, [run.loop.system.skill(person.id) for person in people]) if people else (),
        fairness=fairness(
            run.chances, run.loop.scrambles, run.evenings.values(), run.loop.moves, run.loop.player_seconds / 3600
        ),
    )
