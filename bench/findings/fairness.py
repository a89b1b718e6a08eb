"""How fair teams are to those who play: what they notice, in worlds that differ in who comes and what is played.

`python -m bench.findings.fairness [--seeds 301-332] [--worlds koth arena] [--ways joint] [--json FILE] [--before FILE]
[--plot FILE]` plays whole pools through the real session. All ways of a world have the same seeds. What was played is
kept in FILE: an experiment that was ended, or is asked for more seeds, goes on where it was. Its results belong to the
code that made them: with `--before` the figures of an earlier tree, kept in another file, stand beside them.

The first table holds the figures that a default is decided by, the others all measures of each world.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.findings.pools import Found, Pool, kept, play, seed_range
from bench.findings.table import estimate, figure, show
from equipoise.balancing.chances import MEAN_WEIGHT
from equipoise.core.model import Mode
from equipoise.lab.simulation.population import Scenario, Visits
from equipoise.lab.svg import Axis, Chart, picture
from equipoise.ratings.quality import mean

SEEDS = "301-332"
KOTH = Scenario(rounds=600, mode=Mode.KOTH, attendance=Visits.EVENINGS)


def regulars(people: int, slots: int, mode: Mode = Mode.ARENA, **others: Any) -> Scenario:
    """A server of so many regulars, on evenings of sixty rounds unless others are named."""
    scenario = Scenario(rounds=600, mode=mode, attendance=Visits.REGULARS, people=people, slots=slots, evening=60)
    return replace(scenario, **others)


WORLDS = {
    "koth": KOTH,
    "payload": replace(KOTH, mode=Mode.PAYLOAD),
    "koth, strangers": regulars(12, 24, Mode.KOTH, evening=20),
    "koth, churn": replace(KOTH, churn=0.04, quitters=12),
    "koth, 12 and churn": regulars(12, 12, Mode.KOTH, churn=0.04),
    "koth, 24": regulars(24, 24, Mode.KOTH),
    "arena": Scenario(rounds=1000),
    "arena, 12": regulars(12, 12),
    "arena, 13": regulars(13, 13),
    "arena, 20": regulars(20, 20),
    "arena, 24": regulars(24, 24),
    "throwers": Scenario(rounds=1000, throwers=6),
}
"""Evenings: some 20 people of 60 and strangers. Strangers: 12 regulars, and 12 places for people who stay ten rounds.
Churn: one player in 25 drops out of a round, and a fifth of the people leave when they lose. Arena: the pool of finding
11, people come and go all the time."""

DRAWN = ("koth", "koth, 24", "arena, 24")
"""Worlds of which it is drawn what cannot be had together."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to make teams, and what is counted of players for it."""

    balance: str | None = None
    scores: float = 0.0
    offset: float = 0.0
    solve: str = "best"
    chance: bool = True
    weight: float = MEAN_WEIGHT
    worlds: tuple[str, ...] = tuple(WORLDS)

    def pool(self, scenario: Scenario) -> Pool:
        """The pool that is played; players are shown SynElo's rating."""
        scored = replace(scenario, scores=self.scores, score_offset=self.offset)
        return Pool("synelo", scored, self.solve, self.balance, self.chance, self.weight)


WAYS = {
    "synelo": Way(),
    "joint": Way("joint"),
    "joint, scores": Way("joint", scores=0.35, worlds=("koth", "payload", "koth, strangers", "arena", "arena, 24")),
    "joint, scores, offset": Way("joint", scores=0.35, offset=1.0, worlds=("koth",)),
    "joint, no chance": Way("joint", chance=False, worlds=DRAWN),
    "synelo, no chance": Way(chance=False, worlds=DRAWN),
    **{f"joint, w = {weight}": Way("joint", weight=weight, worlds=DRAWN) for weight in (1, 4, 30)},
    "synelo, bench alone": Way(solve="bench alone", worlds=("arena",)),
}
"""No chance: sides that are too uneven stay. w: the weight of the mean difference; 1 is the expected square."""

Read = Callable[[Mapping[str, Found]], float | None]
"""A figure of one seed, from the pools of a world by way; None: the run was too short for it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, what was seen of it when the present default was audited, and its goal."""

    name: str
    world: str
    ways: tuple[str, ...]
    read: Read
    seen: str
    goal: str
    form: str = ".1%"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seed_range, default=SEEDS, metavar="FROM-TO")
    parser.add_argument("--worlds", nargs="*", choices=WORLDS, default=list(WORLDS), metavar="WORLD")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS), metavar="WAY")
    parser.add_argument("--rounds", type=int, help="of every world, for a first look")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("fairness.jsonl"), metavar="FILE")
    parser.add_argument("--before", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="what cannot be had together, as SVG")
    asked = parser.parse_args()
    worlds = {
        world: replace(WORLDS[world], rounds=asked.rounds) if asked.rounds else WORLDS[world] for world in asked.worlds
    }
    # Seed by seed: what is kept of an experiment that was ended is whole for the first seeds.
    pools = {
        key(world, way, scenario.rounds, seed): WAYS[way].pool(scenario).seeded(seed)
        for seed in asked.seeds
        for world, scenario in worlds.items()
        for way in asked.ways
        if world in WAYS[way].worlds
    }
    now = Results(play(pools, asked.json, asked.jobs), worlds, asked.seeds)
    before = None if asked.before is None else Results(kept(asked.before), worlds, asked.seeds)
    show(f"Figures, {len(asked.seeds)} seeds", *figures(now, before))
    for world, scenario in worlds.items():
        ways = [way for way in asked.ways if now.seeds_of(world, [way])]
        rows = [(name, *cells) for name, cells in now.measures(world, ways).items()]
        if rows:
            show(f"{world}, {scenario.rounds:,} rounds, {len(asked.seeds)} seeds", ("what", *ways), rows)
    if asked.plot:
        ways = [way for way in asked.ways if not WAYS[way].offset]
        drawn = [now.trade_off(world, ways) for world in DRAWN if world in worlds]
        asked.plot.write_text(picture(drawn), encoding="utf-8")


def key(world: str, way: str, rounds: int, seed: int) -> str:
    """Key of a result; it outlives changes of the scenario's fields."""
    return f"{world} / {way} / {rounds} / {seed}"


@dataclass(frozen=True, slots=True)
class Results:
    """The pools that were played, of these worlds and seeds."""

    found: Mapping[str, Found]
    worlds: Mapping[str, Scenario]
    seeds: Sequence[int]

    def seeds_of(self, world: str, ways: Sequence[str]) -> list[Mapping[str, Found]]:
        """The pools of a world by way, of each seed of which all of these ways were played."""
        if world not in self.worlds:
            return []
        keys = [{way: key(world, way, self.worlds[world].rounds, seed) for way in ways} for seed in self.seeds]
        return [
            {way: self.found[name] for way, name in names.items()}
            for names in keys
            if all(name in self.found for name in names.values())
        ]

    def figure(self, one: Figure) -> str:
        """A figure over all seeds; "-": not played."""
        return _over([one.read(pools) for pools in self.seeds_of(one.world, one.ways)], one.form)

    def measures(self, world: str, ways: Sequence[str]) -> dict[str, list[str]]:
        """All measures of a world, by way; those that none of the ways has are left out."""
        played = [(way, self.seeds_of(world, [way])) for way in ways]
        rows = {
            name: [_over([read(pools[way]) for pools in seeds], form) for way, seeds in played]
            for name, (form, read) in MEASURES.items()
        }
        return {name: cells for name, cells in rows.items() if set(cells) - {"-"}}

    def trade_off(self, world: str, ways: Sequence[str]) -> Chart:
        """Cost and gain, for people, of each way of making teams."""
        found = {}
        for way in ways:
            seeds = [[MEASURES[name][1](pools[way]) for name in TRADED] for pools in self.seeds_of(world, [way])]
            known = [[value for value in values if value is not None] for values in zip(*seeds, strict=True)]
            if known and all(known):
                found[way] = [mean(values) for values in known]
        x = Axis.around(TRADED[0], [moves.value for moves, _ in found.values()])
        y = Axis.around(TRADED[1], [share.value for _, share in found.values()], percent=True)
        chart = Chart(world, x, y, height=380)
        for way, (moves, share) in found.items():
            series = ways.index(way)
            chart.dot(moves.value, share.value, series, share.error, f"{way}: {moves.value:.2f}, {share.value:.1%}")
            chart.legend(way, series)
        return chart


def figures(now: Results, before: Results | None) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table of figures that were played."""
    head = ["figure", "seen", *(["before"] if before else []), "now" if before else "found", "goal"]
    rows = []
    for one in FIGURES:
        found = now.figure(one)
        if found != "-":
            earlier = [before.figure(one)] if before else []
            rows.append([f"{one.name} ({one.world})", one.seen, *earlier, found, one.goal])
    return head, rows


def _over(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return estimate(known, form) if known else "-"


def inside(*path: str | int) -> Callable[[Found], float | None]:
    """Read a measure from a pool; None where something on its way is missing."""

    def read(found: Found) -> float | None:
        value: Any = found
        for step in path:
            if value is None:
                return None
            # A file of an earlier tree may lack what is measured since.
            value = value.get(step) if isinstance(step, str) else value[step]
        return None if value is None else float(value)

    return read


def _caused(cause: str) -> Callable[[Found], float | None]:
    return lambda found: (moves := found["fairness"]["moves"]) and float(moves["by_cause"].get(cause, 0.0))


def _of(way: str, *path: str | int) -> Read:
    read = inside(*path)
    return lambda pools: read(pools[way])


def _favourite(found: Found, after: int, to: int) -> float | None:
    """The favourite's true chance in the rounds after one and up to another, both ends of periods; None: no rounds."""
    periods = [one for one in found["periods"] if after <= one["after"] and one["to"] <= to and one["rounds"]]
    rounds = sum(one["rounds"] for one in periods)
    return sum(one["favourite"] * one["rounds"] for one in periods) / rounds if rounds else None


def _paired(way: str, after: int, to: int) -> Read:
    def read(pools: Mapping[str, Found]) -> float | None:
        found, reference = (_favourite(pools[each], after, to) for each in (way, "synelo, bench alone"))
        return None if found is None or reference is None else found - reference

    return read


def _joint(name: str, world: str, path: Sequence[str | int], seen: str, goal: str, form: str = ".1%") -> Figure:
    return Figure(name, world, ("joint",), _of("joint", "fairness", *path), seen, goal, form)


def _settled(way: str, seen: str, goal: str) -> Figure:
    name = f"favourite's true chance, rounds 251–600, {way}"
    return Figure(name, "koth", (way,), lambda pools: _favourite(pools[way], 250, 600), seen, goal)


PERIODS = ((0, 100), (100, 250), (250, 500), (500, 1000))
FIGURES = [
    _joint("due scrambles that moved nobody", "koth", ("scrambles", "nobody"), "39 %", "≤ 2 %"),
    _joint("due scrambles that moved nobody", "arena, 12", ("scrambles", "nobody"), "78 %", "≤ 2 %"),
    _joint("due scrambles that moved nobody", "arena, 24", ("scrambles", "nobody"), "89 %", "≤ 2 %"),
    _joint("announced beyond 45–55 %", "koth", ("scrambles", "uneven"), "21 %", "≤ 2 %"),
    _joint("pairs together over a due scramble", "koth", ("scrambles", "together"), "91 %", "≤ 82 %"),
    _joint("pairs together over a due scramble", "koth, 24", ("scrambles", "together"), "91 %", "≤ 82 %"),
    Figure("… SynElo", "koth, 24", ("synelo",), _of("synelo", "fairness", "scrambles", "together"), "78 %", ""),
    _joint("rounds stated beyond 60 %", "koth", ("beyond", 0, "stated"), "17 %", "≤ 1 %"),
    _joint("… by the players alone", "koth", ("beyond", 0, "teams"), "", "≤ 1 %"),
    _joint("rounds truly beyond 65 %, in runs of three", "koth", ("beyond", 1, "true_runs"), "34 %", "≤ 28 %"),
    _joint("evenings lost", "koth, strangers", ("evenings", "lost"), "16.7 %", "≤ 13.5 %"),
    _joint("… by a coin's throw", "koth, strangers", ("evenings", "coin"), "11 %", ""),
    _joint("evenings lost", "arena, 24", ("evenings", "lost"), "7 %", "≤ 2 %"),
    _joint("spread of a player's mean chance", "arena, 24", ("evenings", "spread"), "0.135", "≤ 0.075", ".3f"),
    Figure("… SynElo", "arena, 24", ("synelo",), _of("synelo", "fairness", "evenings", "spread"), "0.054", "", ".3f"),
    _settled("synelo", "", ""),
    _settled("joint", "65 %", "≤ 64 %"),
    _settled("joint, scores", "62 %", "≤ 60.5 %"),
    _settled("joint, scores, offset", "", ""),
    *(
        Figure(
            f"favourite, {way} against SynElo with the bench alone, rounds {after + 1}–{to}",
            "arena",
            ("synelo, bench alone", way),
            _paired(way, after, to),
            seen,
            figure(float(seen.replace("−", "-")) / 100 + 0.009, "+.1%"),
            "+.1%",
        )
        for way, line in (("joint", "−2.0 −1.3 −1.9 −2.3"), ("joint, scores", "−4.0 −6.6 −7.8 −7.5"))
        for (after, to), seen in zip(PERIODS, line.split(), strict=True)
    ),
    _joint("stated within 45–55 %, from round 10", "arena, 13", ("even",), "40 %", "≥ 95 %"),
    _joint("… by the players alone", "arena, 13", ("even_teams",), "", "≥ 95 %"),
    _joint("moves per player and hour", "koth", ("moves", "all"), "0.93", "≤ 1.5", ".2f"),
    _joint("moves per player and hour", "koth, churn", ("moves", "all"), "", "≤ 1.5", ".2f"),
    *(
        Figure(
            "runs in which somebody was moved three times in half an hour",
            world,
            ("joint",),
            lambda pools: float(pools["joint"]["fairness"]["moves"]["most"] >= 3),
            "",
            "0",
        )
        for world in ("koth", "koth, churn", "koth, 12 and churn")
    ),
]

SETTLED = "favourite's true chance from round 251 on"
MEASURES: dict[str, tuple[str, Callable[[Found], float | None]]] = {
    "favourite's true chance, rounds 1–100": (".1%", lambda found: _favourite(found, 0, 100)),
    SETTLED: (".1%", lambda found: _favourite(found, 250, 1000)),
    "… in random teams": (".1%", inside("random")),
    "due scrambles": (".0f", inside("fairness", "scrambles", "count")),
    "… that moved nobody": (".1%", inside("fairness", "scrambles", "nobody")),
    "… announced beyond 45–55 %": (".1%", inside("fairness", "scrambles", "uneven")),
    "… pairs together again": (".1%", inside("fairness", "scrambles", "together")),
    **{
        f"rounds {what} beyond {limit} %{', in runs' if runs else ''}": (
            ".1%",
            inside("fairness", "beyond", place, key + runs),
        )
        for what, key in (("stated", "stated"), ("truly", "true"))
        for place, limit in enumerate((60, 65, 70))
        for runs in ("", "_runs")
    },
    "rounds stated beyond 60 % by the players alone": (".1%", inside("fairness", "beyond", 0, "teams")),
    "stated within 45–55 %, from round 10": (".1%", inside("fairness", "even")),
    "stated within it by the players alone": (".1%", inside("fairness", "even_teams")),
    "true chance within the 80 % interval": (".1%", inside("fairness", "covered")),
    "evenings lost": (".1%", inside("fairness", "evenings", "lost")),
    "… by a coin's throw": (".1%", inside("fairness", "evenings", "coin")),
    "spread of a player's mean chance": (".3f", inside("fairness", "evenings", "spread")),
    "moves per player and hour": (".2f", inside("fairness", "moves", "all")),
    "… by autobalance": (".2f", _caused("autobalance")),
    "… of uneven sides": (".2f", _caused("too_uneven")),
    "… by scrambles": (".2f", _caused("scramble")),
    "… by arena's equal sides": (".2f", _caused("equal_sides")),
    "most moves within half an hour": (".1f", inside("fairness", "moves", "most")),
    "throwers won": (".1%", lambda found: _thrower(found, "won")),
    "… of rounds not thrown": (".1%", lambda found: _thrower(found, "won_honestly")),
    "… of rounds thrown": (".1%", lambda found: _thrower(found, "won_thrown")),
    "… rank by rating": (".2f", lambda found: _thrower(found, "rated")),
    "… true rank": (".2f", lambda found: _thrower(found, "true")),
}
"""Means over the seeds in which there is such a thing."""

TRADED = "moves per player and hour", SETTLED


def _thrower(found: Found, measure: str) -> float | None:
    return next((group[measure] for group in found["groups"] if group["kind"] == "thrower"), None)


if __name__ == "__main__":
    main()
