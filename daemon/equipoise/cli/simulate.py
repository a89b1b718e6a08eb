"""`equipoise simulate`: a simulated pool in closed loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.histories import reports_errors
from equipoise.cli.lab import html_option, json_option, parsed, plot_option
from equipoise.cli.options import examples
from equipoise.cli.output import draw, json_text, progress, report, show
from equipoise.core.model import Mode

if TYPE_CHECKING:
    from rich.progress import Progress

ATTENDANCE = ["steady", "evenings", "regulars"]
MODES = [mode.value for mode in Mode if mode is not Mode.NS2]

INTRODUCTION = (
    "The same people of hidden skill under each rating system, with the real rules and the real solver. "
    "The first table names the rounds that each figure covers."
)


@click.command(epilog=examples("equipoise simulate synelo elo:k=24 --rounds 500"))
@reports_errors
@click.argument("systems", nargs=-1, required=True)
@click.option("--rounds", type=int, default=1000, show_default=True, help="Length of the simulation.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random draws.")
@click.option("--mode", type=click.Choice(MODES), default="arena", show_default=True)
@click.option("--slots", type=int, default=24, show_default=True, help="Most players on the server.")
@click.option("--people", type=int, default=60, show_default=True, help="Size of the population.")
@click.option(
    "--spread", type=float, default=0.25, show_default=True, help="Standard deviation of skill, log-odds per player."
)
@click.option(
    "--drift",
    type=float,
    default=0.02,
    show_default=True,
    help="Standard deviation of its change in 100 rounds, log-odds.",
)
@click.option("--turnover", type=float, default=0.02, show_default=True, help="People replaced per round.")
@click.option(
    "--smurfs",
    type=int,
    default=0,
    show_default=True,
    help="New accounts that come at half-time and are better than all.",
)
@click.option(
    "--throwers", type=int, default=0, show_default=True, help="Players who lose a third of their rounds on purpose."
)
@click.option("--quitters", type=int, default=0, show_default=True, help="Players who leave because their side loses.")
@click.option("--parties", type=int, default=0, show_default=True, help="Groups of three that come and go together.")
@click.option(
    "--bond", type=float, default=0.1, show_default=True, help="What a friend on the same side adds, log-odds."
)
@click.option("--side-advantage", type=float, default=0.0, show_default=True, help="What playing RED adds, log-odds.")
@click.option(
    "--map-spread",
    type=float,
    default=0.0,
    show_default=True,
    help="Standard deviation of what a map adds to that, log-odds.",
)
@click.option("--stalemates", type=float, default=0.02, show_default=True, help="Fraction of rounds without a winner.")
@click.option(
    "--attendance",
    type=click.Choice(ATTENDANCE),
    default="steady",
    show_default=True,
    help="Evenings: regulars on most of them, strangers once, days between. "
    "Regulars: all people on every evening from its first round to its last, strangers in places that they leave free.",
)
@click.option("--evening", type=int, default=100, show_default=True, help="Rounds of an evening.")
@click.option(
    "--stay", type=float, default=30.0, show_default=True, help="Rounds for which a person stays, on average."
)
@click.option(
    "--churn",
    type=float,
    default=0.0,
    show_default=True,
    help="Probability that a player drops out inside a round, to come back minutes later; "
    "0: nobody comes inside a round.",
)
@click.option(
    "--scores",
    type=float,
    default=0.0,
    show_default=True,
    help="Correlation of a player's own score in one round with skill; 0: kills, deaths and points are not counted.",
)
@click.option(
    "--score-offset",
    type=float,
    default=0.0,
    show_default=True,
    help="Standard deviation of what lasts in a person's own score and is not skill, in units of --spread.",
)
@click.option("--balance", metavar="SYSTEM", help="The system that makes the teams; SYSTEMS are shown beside it.")
@click.option("--learn", is_flag=True, help="`joint` learns the spread of skill between evenings, as in the daemon.")
@json_option
@plot_option
@html_option
def simulate(
    systems: Sequence[str],
    mode: str,
    attendance: str,
    balance: str | None,
    learn: bool,
    as_json: bool,
    plot: Path | None,
    html: Path | None,
    **numbers: float,
) -> None:
    """Simulate a whole pool under SYSTEMS, each NAME or NAME:key=value,key=value.

    People of hidden skill come, play and leave; the real rules, solver and rating system make the teams. Shows how fast
    ratings find true skill, and how even the rounds become.
    """
    from equipoise.lab import charts, json_output, tables
    from equipoise.lab.models import labels
    from equipoise.lab.simulation.population import Scenario, Visits
    from equipoise.lab.simulation.run import playable
    from equipoise.lab.simulation.run import simulate as run

    scenario = Scenario(mode=Mode(mode), attendance=Visits(attendance), **numbers)  # type: ignore[arg-type]
    models, balancer = [parsed(text) for text in systems], None if balance is None else parsed(balance)
    for model in models if balancer is None else [*models, balancer]:
        playable(model)
    with progress() as bar:
        results = [
            run(scenario, model, progress=_advance(bar, model.name, scenario.rounds), balance=balancer, learns=learn)
            for model in models
        ]
    rows = list(zip(labels(models), results, strict=True))
    found_tables = [tables.simulated(rows, balancer), tables.fairness(rows), tables.groups(rows)]
    if plot is not None:
        draw(plot, charts.simulation(rows))
    if html is not None:
        shown = [*found_tables, tables.settings(models), tables.scenario(scenario)]
        report(html, "A simulated pool", INTRODUCTION, shown, charts.simulation(rows))
    if as_json:
        click.echo(json_text(json_output.simulated(scenario, list(zip(models, results, strict=True)), balancer)))
    else:
        show(found_tables)


def _advance(bar: Progress, name: str, rounds: int) -> Callable[[int], None]:
    task = bar.add_task(name, total=rounds)
    return lambda done: bar.update(task, completed=done)
