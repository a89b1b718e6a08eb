"""Fair teams from the first evening: how even rounds are, from a pool's first one on, by what is known of skill.

`python -m bench.findings.evening [periods|evenings|spreads|default] [--seeds 101-132] [--out FILE]` plays whole pools
through the real session. Every pool of a table has the same seeds, so differences are paired. What was played is kept
in FILE: an experiment that was ended goes on where it was.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean

from bench.findings.pools import Found, Pool, play, seed_range
from bench.findings.table import against, estimate, show
from equipoise.lab.charts import LINES
from equipoise.lab.simulation.population import Scenario, Visits
from equipoise.lab.svg import Axis, Chart, picture

SEEDS = "101-132"
BEFORE = Pool("synelo", solve="bench alone")
"""A pool as it was before rounds between scrambles were made even."""
WIDE = "trueskill:beta=12.5"
SPREADS = (0.1, 0.25, 0.5)
CHURNS = {"half": 0.5, "usual": 1.0, "twice": 2.0}
DRIFT = 0.08
"""Drift of skill in 100 rounds, in standard deviations of skill: the ratio of the defaults of `lab simulate`."""

Measure = Callable[[Found], float]
Measures = Mapping[str, tuple[str, Measure]]


def scored(r: float, offset: float = 0.0) -> Scenario:
    """The default pool, with own scores."""
    return Scenario(scores=r, score_offset=offset)


FIRST = {
    "synelo, bench alone": BEFORE,
    "synelo": Pool("synelo"),
    "joint, by means": Pool("joint", solve="means"),
    "joint": Pool("joint"),
    "joint, own score r = 0.2": Pool("joint", scored(0.2)),
    "joint, own score r = 0.35": Pool("joint", scored(0.35)),
    "joint, r = 0.35, offset = spread": Pool("joint", scored(0.35, 1.0)),
    "joint, r = 0.35, scores off": Pool("joint:scores=false", scored(0.35)),
}
DRAWN = (
    "synelo, bench alone",
    "joint",
    "joint, own score r = 0.2",
    "joint, own score r = 0.35",
    "joint, r = 0.35, offset = spread",
)
SYSTEMS = {
    "synelo": Pool("synelo"),
    WIDE: Pool(WIDE),
    "joint": Pool("joint"),
    "joint, own score r = 0.35": Pool("joint", scored(0.35)),
}
DEFAULTS = {
    "synelo": Pool("synelo"),
    WIDE: Pool(WIDE),
    "trueskill2": Pool("trueskill2"),
    "joint": Pool("joint"),
    "synelo, balance = joint": Pool("synelo", balance="joint"),
}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("experiment", nargs="?", choices=EXPERIMENTS, default="periods")
    parser.add_argument("--seeds", type=seed_range, default=SEEDS, metavar="FROM-TO")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", metavar="ROW", help="rows to play, beside each table's first")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, default=Path("evening.jsonl"), metavar="FILE")
    asked = parser.parse_args()
    tables = {
        title: {name: _sized(pool, asked.rounds) for name, pool in rows.items() if _wanted(name, rows, asked.only)}
        for title, rows in EXPERIMENTS[asked.experiment]().items()
    }
    pools = [pool.seeded(seed) for seed in asked.seeds for rows in tables.values() for pool in rows.values()]
    found = play({pool.key: pool for pool in pools}, asked.out, asked.processes)
    charts = []
    for title, rows in tables.items():
        played = {name: [found[pool.seeded(seed).key] for seed in asked.seeds] for name, pool in rows.items()}
        charts.append(curves(title, played, asked.rounds))
        about = (
            f"{title}; arena, {asked.rounds:,} rounds, {len(asked.seeds)} seeds; below the first row differences to it"
        )
        if asked.experiment in ("periods", "evenings"):
            show(about, ("pool", *PERIODS, *ABSOLUTE), [_row(name, played, PERIODS, ABSOLUTE) for name in played])
        else:
            show(about, ("pool", *HALVES, *MOVES), [_row(name, played, HALVES, MOVES) for name in played])
    if asked.plot:
        asked.plot.write_text(picture(charts))


def curves(title: str, played: Mapping[str, Sequence[Found]], rounds: int) -> Chart:
    """The favourite's true chance over the rounds, the mean over seeds, beside that in random teams."""
    chart = Chart(
        title,
        Axis("round", 0, rounds, whole=True),
        Axis("favourite's true win probability", 0.5, 0.72, percent=True),
        height=420,
    )
    names = [name for name in DRAWN if name in played] or list(played)[:LINES]
    for series, name in enumerate(names):
        chart.line(*_curve("favourite", played[name], rounds), series)
        chart.legend(name, series)
    chart.line(*_curve("random", played[names[0]], rounds), LINES + 1)
    chart.legend("random teams", LINES + 1)
    return chart


def _curve(key: str, pools: Sequence[Found], rounds: int) -> tuple[list[float], list[float]]:
    """The mean over seeds at the middle of the rounds that each point covers."""
    steps = list(zip(*(one["points"] for one in pools), strict=True))
    half = rounds / len(steps) / 2
    return [step[0]["round"] - half for step in steps], [fmean(point[key] for point in step) for step in steps]


def _wanted(name: str, rows: Mapping[str, Pool], only: Sequence[str] | None) -> bool:
    return only is None or name in only or name == next(iter(rows))


def _sized(pool: Pool, rounds: int) -> Pool:
    return replace(pool, scenario=replace(pool.scenario, rounds=rounds))


def _row(name: str, played: Mapping[str, Sequence[Found]], paired: Measures, absolute: Measures) -> tuple[str, ...]:
    """The first row's figures and the others' differences to them; then figures that are compared with nothing."""
    first = next(iter(played))
    cells = [name]
    for form, read in paired.values():
        values, reference = [read(one) for one in played[name]], [read(one) for one in played[first]]
        cells.append(estimate(values, form) if name == first else against(values, reference, form))
    return *cells, *(estimate([read(one) for one in played[name]], form) for form, read in absolute.values())


def _period(place: int) -> Measure:
    return lambda found: float(found["periods"][place]["favourite"])


def _half(key: str, second: bool) -> Measure:
    def read(found: Found) -> float:
        points = found["points"]
        middle = len(points) // 2
        return fmean(point[key] for point in (points[middle:] if second else points[:middle]))

    return read


PERIODS: Measures = {
    over: (".1%", _period(place)) for place, over in enumerate(("1–100", "101–250", "251–500", "501–1,000"))
}
MOVES: Measures = {"moved": (".3f", lambda found: found["assigned"])}
ABSOLUTE: Measures = {
    **MOVES,
    "expected": (".1%", lambda found: found["expected_favourite"]),
    "together again": (".1%", lambda found: found["again"]["share"]),
    "by chance": (".1%", lambda found: found["again"]["chance"]),
    "ρ": (".3f", lambda found: found["found"]),
}
HALVES: Measures = {
    "ρ, first half": (".3f", _half("found", False)),
    "ρ, second half": (".3f", _half("found", True)),
    "favourite, first half": (".1%", _half("favourite", False)),
    "favourite, second half": (".1%", _half("favourite", True)),
}


def _everywhere(rows: Mapping[str, Pool], **changed: object) -> dict[str, Pool]:
    """The same pools with other scenarios."""
    return {
        name: replace(pool, scenario=replace(pool.scenario, **changed))  # type: ignore[arg-type]
        for name, pool in rows.items()
    }


def _spreads() -> dict[str, dict[str, Pool]]:
    found = {}
    for spread, (churn, factor) in product(SPREADS, CHURNS.items()):
        scenario = {"spread": spread, "drift": DRIFT * spread, "stay": 30 / factor, "turnover": 0.02 * factor}
        found[f"Spread {spread:g}, {churn} churn"] = _everywhere(SYSTEMS, **scenario)
    return found


def _defaults() -> dict[str, dict[str, Pool]]:
    found = {}
    for size, spread in product((6, 12), SPREADS):
        # SynElo and all that reads a size from k_max have that of these teams.
        rows = {
            name: replace(pool, model=f"{pool.model}:k_max={size}") if pool.model == "synelo" else pool
            for name, pool in DEFAULTS.items()
        }
        scenario = {"slots": 2 * size, "people": 5 * size, "spread": spread, "drift": DRIFT * spread}
        found[f"{size} v {size}, spread {spread:g}"] = _everywhere(rows, **scenario)
    return found


EXPERIMENTS: dict[str, Callable[[], dict[str, dict[str, Pool]]]] = {
    "periods": lambda: {"The favourite's true chance by rounds": FIRST},
    "evenings": lambda: {"The same on evenings": _everywhere(FIRST, attendance=Visits.EVENINGS)},
    "spreads": _spreads,
    "default": _defaults,
}


if __name__ == "__main__":
    main()
