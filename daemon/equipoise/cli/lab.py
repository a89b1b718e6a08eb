"""The laboratory: commands on histories and on simulated pools, without a daemon."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from enum import Enum
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from equipoise.cli import Group
from equipoise.cli.histories import (
    CSV,
    FILE,
    history_options,
    league_options,
    line_of,
    located,
    read_files,
    reports_errors,
    stored_predictions,
)
from equipoise.cli.options import FAILED, INTERRUPTED, examples, stop, wide_option
from equipoise.cli.output import draw, json_text, progress, show, write, write_csv
from equipoise.cli.solve import solve
from equipoise.core.model import Mode
from equipoise.errors import RatingError
from equipoise.lab.simulation.population import Scenario, Visits

if TYPE_CHECKING:
    from rich.progress import Progress

    from equipoise.lab.backtest import Backtest, Correct
    from equipoise.lab.json_output import Json
    from equipoise.lab.models import League, Model
    from equipoise.lab.tune import Tuned
    from equipoise.ratings.history import History


@click.group(cls=Group)
def lab() -> None:
    """Compare rating systems on histories and in simulations, and split players: without a daemon."""


lab.add_command(solve)

model_option = click.option("--model", "name", required=True, help="The rating system.")
set_option = click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A parameter; may be repeated.")
burn_in_option = click.option(
    "--burn-in",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Fraction of the matches, the first ones, that are rated but not measured.",
)
correct_option = click.option(
    "--correct",
    type=click.Choice(["burn-in", "running", "live"]),
    help="Fit temperature, sides and maps: once, to the burn-in; repeatedly, to the last matches before; or live, as a "
    "daemon does, which calibrates once a week and keeps what is better.",
)
live_option = click.option("--live", "correct", flag_value="live", help="Predict as a daemon does: --correct live.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _writable(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse at once a file that could not be written after minutes of work, or whose name has the wrong ending."""
    if path is None:
        return None
    kind = {"plot": ".svg", "html": ".html"}.get(option.name or "", ".csv")
    if path.suffix.lower() != kind:
        stop(f"--{option.name} {path}: the name must end in {kind}")
    if not path.parent.is_dir():
        stop(f"{path}: {os.strerror(errno.ENOENT)}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        stop(f"{path}: {os.strerror(errno.EACCES)}")
    return path


plot_option = click.option("--plot", type=FILE, callback=_writable, help="Draw charts into an SVG file.")
csv_option = click.option("--csv", type=FILE, callback=_writable, help="Write all rows, not only the first, as CSV.")
html_option = click.option("--html", type=FILE, callback=_writable, help="Write everything as one HTML page.")


@lab.command(epilog=examples("equipoise lab check matches.csv participants.csv"))
@reports_errors
@click.argument("file", type=CSV)
@click.argument("participants", type=CSV, required=False)
@json_option
@wide_option
def check(file: Path, participants: Path | None, as_json: bool) -> None:
    """Say how FILE, a CSV of matches, is read, and what is wrong in it; with PARTICIPANTS the players in them too.

    Without PARTICIPANTS each team is one player. Exit code 1: there are faults.
    """
    from equipoise.lab import json_output, tables

    source = read_files(file, participants)
    if as_json:
        click.echo(json_text(json_output.checked(source)))
    else:
        show(tables.checked(source))
    if source.faults.counts:
        click.get_current_context().exit(FAILED)


@lab.command(epilog=examples("equipoise lab backtest --pool main --model trueskill"))
@reports_errors
@history_options
@league_options
@model_option
@set_option
@burn_in_option
@click.option("--against", help="A second system: NAME or NAME:key=value,key=value.")
@correct_option
@live_option
@click.option("--predictions", type=FILE, callback=_writable, help="Write the prediction of each match as CSV.")
@json_option
@wide_option
@plot_option
@html_option
def backtest(
    history: History,
    league: League,
    name: str,
    pairs: Sequence[str],
    burn_in: float,
    against: str | None,
    correct: Correct | None,
    predictions: Path | None,
    as_json: bool,
    plot: Path | None,
    html: Path | None,
) -> None:
    """Predict each match, then rate it; measure the predictions after the burn-in, also by group of players."""
    from equipoise.lab import charts, json_output, tables
    from equipoise.lab.backtest import divided
    from equipoise.lab.models import labels

    models = [model_of(name, pairs, league), *([parsed(against, league)] if against else [])]
    results = _backtests(models, history, burn_in, correct, curves=bool(plot or html))
    (label, *_), first, groups = labels(models), results[0], divided(results[0], history)
    if predictions is not None:
        write_csv(predictions, json_output.PREDICTED, json_output.predictions(first, history, line_of()))
    if plot is not None:
        of_groups = [charts.divisions(groups, label)] if groups else []
        own = charts.predictions(first.quality, label), charts.ratings(first, history, label)
        draw(plot, [*charts.qualities(results), *of_groups, *own])
    if html is not None:
        _report(html, results, history, correct)
    if as_json:
        rows = json_output.compared(results) if against else [json_output.backtest(first)]
        rows[0]["groups"] = [asdict(group) for group in groups]
        click.echo(json_text(rows if against else rows[0]))
    else:
        of_first = [tables.bins(first.quality, label), *([tables.divisions(groups, label)] if groups else [])]
        corrections = [tables.corrected(first.correction, label)] if first.correction else []
        show([tables.comparison(results), *of_first, *corrections])


@lab.command(epilog=examples("equipoise lab compare synelo elo trueskill --pool main"))
@reports_errors
@click.argument("systems", nargs=-1, required=True)
@history_options
@league_options
@burn_in_option
@correct_option
@live_option
@json_option
@wide_option
@plot_option
@html_option
def compare(
    history: History,
    league: League,
    systems: Sequence[str],
    burn_in: float,
    correct: Correct | None,
    as_json: bool,
    plot: Path | None,
    html: Path | None,
) -> None:
    """Compare SYSTEMS on one history, the best first. Each is NAME or NAME:key=value,key=value.

    With --pool, `stored` is what was predicted when the rounds were rated.
    """
    from equipoise.lab import charts, json_output, tables
    from equipoise.lab.backtest import STORED, as_stored

    refusals: list[str] = []
    chosen = [parsed(text, league) for text in systems if text != STORED]
    results = _backtests(chosen, history, burn_in, correct, refusals, curves=html is not None)
    if STORED in systems:
        results.append(as_stored(stored_predictions(), history, burn_in))
    if not results:
        stop("; ".join(refusals))
    results.sort(key=lambda result: result.quality.log_loss.value)
    if plot is not None:
        draw(plot, [charts.losses(results), *charts.qualities(results)])
    if html is not None:
        _report(html, results, history, correct)
    if as_json:
        click.echo(json_text(json_output.compared(results)))
    else:
        show([tables.comparison(results), tables.settings([result.model for result in results])])
    if refusals:
        stop("; ".join(refusals))


def _report(path: Path, results: Sequence[Backtest], history: History, correct: Correct | None) -> None:
    from equipoise.lab.report import compared

    options = click.get_current_context().params
    source = f"Pool {options['pool']}" if options["pool"] else options["matches"].name
    write(
        path, compared(results, history, source, f"Predictions are corrected (--correct {correct})." if correct else "")
    )


@lab.command(epilog=examples("equipoise lab tune --pool main --model elo"))
@reports_errors
@history_options
@model_option
@set_option
@burn_in_option
@click.option(
    "--correct",
    type=click.Choice(["none", "burn-in", "running", "live"]),
    default="live",
    show_default=True,
    help="How predictions will be corrected when they are used; live: as a daemon does.",
)
@live_option
@click.option("--trials", type=click.IntRange(1), default=2000, show_default=True, help="Most replays of the history.")
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=inf, help="Most time; the best so far counts."
)
@click.option("--only", multiple=True, metavar="KEY", help="Tune only this parameter; may be repeated.")
@json_option
@wide_option
def tune(
    history: History,
    name: str,
    pairs: Sequence[str],
    burn_in: float,
    correct: Literal["none"] | Correct,
    trials: int,
    seconds: float,
    only: Sequence[str],
    as_json: bool,
) -> None:
    """Find the parameters that predict the burn-in best, starting from those that are set or the defaults.

    Parts of the burn-in that the search has not seen yet say what they gain, and so whether to take them. Matches after
    the burn-in are not read. The last line is the command that measures the result on them.
    """
    from equipoise.lab import json_output
    from equipoise.lab.tune import tune as search

    model, correction = model_of(name, pairs), None if correct == "none" else correct
    with progress() as bar:
        task = bar.add_task("tuning", total=trials)

        def tried(count: int, loss: float) -> None:
            bar.update(task, completed=count, description=f"log loss {loss:.5f}")

        result = search(
            model,
            history,
            burn_in=burn_in,
            correct=correction,
            trials=trials,
            seconds=seconds,
            only=only,
            progress=tried,
        )
    command = _command(result, burn_in, correct)
    if as_json:
        click.echo(json_text(json_output.tuned(result) | {"command": command}))
    else:
        click.echo(f"{_verdict(result)}\n\n{command}")
    if result.interrupted:
        stop("interrupted: these are the best settings so far", INTERRUPTED)


def _verdict(result: Tuned) -> str:
    from equipoise.lab.tables import estimate

    early = "" if result.finished or result.interrupted else f" (ended early, after {result.trials:,} trials)"
    if result.model == result.start:
        return f"found nothing better than the start{early}"
    if result.gain is None:
        return f"was ended before it met matches it did not see: do not take it{early}"
    advice = "take it" if result.is_better else "do not take it"
    return f"gains {estimate(result.gain)} on {result.unseen:,} matches it did not see: {advice}{early}"


@lab.command(epilog=examples("equipoise lab replay --pool main --model glicko2"))
@reports_errors
@history_options
@league_options
@model_option
@set_option
@click.option("--fit", "whole", is_flag=True, help="Fit to the whole history at once, where the system can.")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="Number of places.")
@click.option("--all", "hidden", is_flag=True, help="With players in their shadow period.")
@click.option(
    "--chance",
    "coming",
    nargs=2,
    multiple=True,
    metavar="TEAM TEAM",
    help="Instead of the leaderboard: the chances of a match after all these; a TEAM is a name, or names with commas.",
)
@click.option("--home", is_flag=True, help="The first TEAM of --chance plays at home.")
@click.option(
    "--curve", "named", multiple=True, metavar="NAME", help="Instead of it: this player's rating after each match."
)
@csv_option
@json_option
@wide_option
def replay(
    history: History,
    league: League,
    name: str,
    pairs: Sequence[str],
    whole: bool,
    top: int,
    hidden: bool,
    coming: Sequence[tuple[str, str]],
    home: bool,
    named: Sequence[str],
    csv: Path | None,
    as_json: bool,
) -> None:
    """Rate a whole history, and show the leaderboard.

    Ratings are updated match by match, or with --fit all matches are fitted together. Exit code 1: the fit did not
    converge.
    """
    from equipoise.lab import json_output, tables
    from equipoise.lab.models import League, fit, forecast, leaderboard

    model = model_of(name, pairs, league)
    if whole and league != League():
        raise click.UsageError("--initial and --pull are for ratings match by match, without --fit")
    with progress() as bar:
        bar.add_task(name, total=None)
        prediction = None if whole else forecast(model, history)
        system, result = (prediction.system, None) if prediction and prediction.system else fit(model, history)
    if coming:
        chances = [json_output.chance(system, history, teams, home=home) for teams in coming]
        _tell(chances, "Chances", ("team", "against", "wins", "draw", "loses", "expected"), csv, as_json)
        return
    if named:
        if prediction is None:
            raise click.UsageError("--curve is of ratings match by match, without --fit")
        points = [point for player in named for point in json_output.curve(prediction, history, player)]
        _tell(points, "Ratings", ("player", "match", "time", "rating"), csv, as_json)
        return
    board = leaderboard(system, history, hidden=hidden)
    if csv is not None:
        rows = json_output.standings(board.places)
        keys = [key for key in rows[0] if key != "interval"] if rows else ["player"]
        write_csv(csv, keys, ([row[key] for key in keys] for row in rows))
    if as_json:
        standings = json_output.standings(board.places[:top])
        click.echo(json_text({"convergence": asdict(result), "standings": standings} if result else standings))
    else:
        show([*([tables.fitted(result, name)] if result else []), tables.leaderboard(board, top)])
    if result and not result.converged:
        stop(f"the fit did not converge in {result.iterations:,} iterations: these ratings are not settled", FAILED)


def _tell(rows: Sequence[Json], title: str, keys: Sequence[str], csv: Path | None, as_json: bool) -> None:
    """Print rows as a table or JSON, and write them as CSV."""
    from equipoise.lab import tables

    if csv is not None:
        write_csv(csv, keys, ([row[key] for key in keys] for row in rows))
    if as_json:
        click.echo(json_text(rows))
    else:
        show([tables.plain(title, keys, rows)])


def model_of(name: str, pairs: Sequence[str], league: League | None = None) -> Model:
    """The model of --model and --set; RatingError if no such system can be created."""
    from equipoise.lab.models import League, Model, settings

    model = Model(name, settings(pairs), league=league or League())
    model.make()
    return model


def parsed(text: str, league: League | None = None) -> Model:
    """The model that NAME:key=value,key=value describes; RatingError when the text describes none."""
    from equipoise.lab.models import League, Model

    return replace(Model.of(text), league=league or League())


def _backtests(
    models: Sequence[Model],
    history: History,
    burn_in: float,
    correct: Correct | None,
    refused: list[str] | None = None,
    *,
    curves: bool,
) -> list[Backtest]:
    """Backtest each model. With `refused`, errors are collected there and the other systems go on."""
    from equipoise.lab.backtest import backtest as run

    results = []
    with progress() as bar:
        task = bar.add_task("", total=len(models))
        for model in models:
            bar.update(task, description=model.name)
            try:
                results.append(run(model, history, burn_in=burn_in, correct=correct, curves=curves))
            except RatingError as error:
                if refused is None:
                    raise
                refused.append(f"{model.name}: {located(error)}")
            bar.advance(task)
    return results


def _command(result: Tuned, burn_in: float, correct: str) -> str:
    """The command line that measures a tuned system beside its start, on the same history."""
    options = click.get_current_context().params
    words = [f"--{key} {shlex.quote(str(options[key]))}" for key in ("matches", "participants", "pool") if options[key]]
    words += ["--teams"] * options["teams"] + [f"--config {shlex.quote(str(options['path']))}"] * bool(options["pool"])
    words += [result.model.options(), f"--against {shlex.quote(str(result.start))}", f"--burn-in {burn_in:g}"]
    words += [{"none": "", "live": "--live"}.get(correct, f"--correct {correct}")]
    return " ".join(("equipoise lab backtest", *words)).rstrip()


INTRODUCTION = (
    "The same people of hidden skill under each rating system, with the real rules and the real solver. "
    "The first table names the rounds that each figure covers."
)


def _scenario_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each field of a scenario."""
    for option in reversed(fields(Scenario)):
        default, words = option.default, option.metadata.get("words")
        command = click.option(
            f"--{option.name.replace('_', '-')}",
            type=click.Choice(words) if words else type(default),
            default=default.value if isinstance(default, Enum) else default,
            show_default=True,
            help=option.metadata.get("help"),
        )(command)
    return command


@lab.command(epilog=examples("equipoise lab simulate synelo elo:k=24 --rounds 500"))
@reports_errors
@click.argument("systems", nargs=-1, required=True)
@_scenario_options
@click.option("--balance", metavar="SYSTEM", help="The system that makes the teams; SYSTEMS are shown beside it.")
@click.option("--learn", is_flag=True, help="`joint` learns the spread of skill between evenings, as in the daemon.")
@json_option
@wide_option
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
    from equipoise.lab.report import Section, page
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
    summary = [tables.simulated(rows, balancer), tables.fairness(rows), tables.groups(rows)]
    if plot is not None:
        draw(plot, charts.simulation(rows))
    if html is not None:
        sections = [
            Section("The pool", charts=charts.simulation(rows), tables=summary),
            Section("What was simulated", tables=[tables.settings(models), tables.scenario(scenario)]),
        ]
        write(html, page("A simulated pool", INTRODUCTION, sections))
    if as_json:
        click.echo(json_text(json_output.simulated(scenario, list(zip(models, results, strict=True)), balancer)))
    else:
        show(summary)


def _advance(bar: Progress, name: str, rounds: int) -> Callable[[int], None]:
    task = bar.add_task(name, total=rounds)
    return lambda count: bar.update(task, completed=count)
