"""`equipoise pool fit-spread` and `pool estimate`: parameters that all rounds of a pool say something about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.client import REFUSED
from equipoise.cli.histories import pool_history_options, reports_errors
from equipoise.cli.options import examples, stop
from equipoise.cli.output import json_text, progress
from equipoise.cli.words import counted

if TYPE_CHECKING:
    from equipoise.config import Pool
    from equipoise.ratings.history import History
    from equipoise.ratings.joint.params import JointParams
    from equipoise.ratings.joint.spread import SpreadFit
    from equipoise.ratings.trueskill2.params import TrueSkill2Params

LEAST_FOR_ESTIMATES = 500
"""Rounds that are needed."""
NOTHING = 1e-12
MOST = 100_000
"""More rounds than that no pool waits for."""

_LEARNS = "Without this line the daemon learns it by itself, once a week at most: see `equipoise pool quality`.\n"

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command(
    "fit-spread", epilog=examples("equipoise pool fit-spread", "equipoise pool fit-spread --pool main --json")
)
@reports_errors
@pool_history_options
@json_option
def fit_spread(history: History | None, pool: Pool | None, as_json: bool) -> None:
    """Fit the spread of skill that `joint` starts newcomers with to a pool's stored rounds, or to a history in files.

    The most likely spread is proposed if it is at least two standard errors from the configured one. A daemon does the
    same every night and learns it; `pool quality` says what it has learnt. It may run meanwhile. Exit code 1: none is
    proposed.
    """
    from equipoise.ratings.joint.spread import LEAST

    params, rounds = _joint_params(pool), 0 if history is None else len(history)
    missing = max(0, LEAST - rounds)
    fit = None if history is None or missing else _fitted(params, history)
    missing = fit.missing if fit else missing
    if as_json:
        found = {"rounds": rounds, "missing": missing, "spread": params.spread, "fit": fit and asdict(fit)}
        click.echo(json_text({"pool": pool and pool.name, **found}))
        return
    if rounds < LEAST:
        stop(_too_few(rounds, missing), REFUSED)
    if fit is None:
        stop("no spread fits: the results show no differences of skill, or boundless ones", REFUSED)
    _show_spread(fit, params, rounds)
    if missing:
        stop(f"not proposed: {_why_not(fit)}", REFUSED)
    _propose_spread(pool, fit.spread)


def _too_few(rounds: int, missing: int) -> str:
    return f"{counted(rounds, 'round')}: too few, {missing} more are needed"


def _fitted(params: JointParams, history: History) -> SpreadFit | None:
    from equipoise.ratings.joint import spread

    with progress() as bar:
        task = bar.add_task("replaying", total=spread.RUNS)
        return spread.fit_spread(params, history, lambda: bar.advance(task))


def _joint_params(pool: Pool | None) -> JointParams:
    """Those of the pool's system that is `joint`, else the defaults."""
    from equipoise import ratings

    given: Mapping[str, object] = {}
    if pool is not None:
        given = pool.params if pool.system == "joint" else pool.balance_params if pool.balance == "joint" else {}
    params: JointParams = ratings.create("joint", **given).params
    return params


def _show_spread(fit: SpreadFit, params: JointParams, rounds: int) -> None:
    from math import exp

    low, high = (fit.spread * exp(side * 2.0 * fit.relative_error) for side in (-1.0, 1.0))
    click.echo(
        f"spread          {fit.spread:.3g} ± {fit.error:.2g} fits {rounds:,} rounds best, {low:.2g} to {high:.2g}"
    )
    click.echo(f"                {params.spread:.3g} is the configured value")
    click.echo(f"log likelihood  {fit.log_likelihood_before:.2f} → {fit.log_likelihood:.2f}")


def _why_not(fit: SpreadFit) -> str:
    more = f"about {fit.missing:,} more rounds would do" if fit.missing < MOST else "they are practically equal"
    if not fit.known:
        return f"these rounds say too little; {more}"
    return f"less than two standard errors apart; {more.replace('do', 'tell them apart')}"


def _propose_spread(pool: Pool | None, spread: float) -> None:
    if pool is None:
        click.echo(f"\n--set spread={spread:.3g}")
        return
    if pool.system == "joint":
        click.echo(f"\n[pool.{pool.name}]\nspread = {spread:.3g}\n")
        click.echo(f"{_LEARNS}With it `equipoise pool recompute --pool {pool.name}` has to compute all ratings again.")
        return
    click.echo(f"\n[pool.{pool.name}.balance_params]\nspread = {spread:.3g}\n")
    if pool.balance == "joint":
        click.echo(f"{_LEARNS}With it the teams begin there when the daemon starts again; ratings do not depend on it.")
    else:
        click.echo(f'It is for `balance = "joint"` in [pool.{pool.name}], which makes no teams there yet.')


@click.command(epilog=examples("equipoise pool estimate", "equipoise pool estimate --pool main --sweeps 200 --json"))
@reports_errors
@pool_history_options
@click.option("--sweeps", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Steps of the climb.")
@json_option
def estimate(history: History | None, pool: Pool | None, sweeps: int, as_json: bool) -> None:
    """Estimate TrueSkill 2's parameters from a pool's stored rounds, or from a history in files.

    By maximum likelihood, with the steps of Rprop, from quits and squads where there are any, and from kills and deaths
    where these help to predict results. They are estimated from the first 70 % of the rounds, and proposed if they
    predict the others better than the present parameters and than a coin, by two standard errors. Prints the lines for
    the configuration. The daemon may run meanwhile. Exit code 1: there are too few rounds, or they do not.
    """
    rounds = 0 if history is None else len(history)
    if history is None or rounds < LEAST_FOR_ESTIMATES:
        missing = LEAST_FOR_ESTIMATES - rounds
        if not as_json:
            stop(_too_few(rounds, missing), REFUSED)
        none = {
            "estimated": None,
            "log_loss_before": None,
            "log_loss": None,
            "gain": None,
            "unseen": 0,
            "better": False,
            "counts": False,
        }
        click.echo(json_text({"pool": pool and pool.name, "rounds": rounds, "missing": missing, **none}))
        return
    from equipoise.lab import estimates

    params = _trueskill2_params(pool)
    with progress() as bar:
        task = bar.add_task("estimating", total=sweeps * estimates.climbs(params, history))
        best, *others = estimates.estimates(params, history, sweeps, lambda: bar.advance(task))
    values, present = _rounded(best.values()), estimates.losses(params, history)
    gain, better = estimates.gain(best.losses, present), estimates.is_better(best, present)
    before = float(present.mean())
    if as_json:
        measured = {"gain": asdict(gain), "unseen": len(present), "better": better, "counts": best.counted}
        losses = {"log_loss_before": before, "log_loss": best.log_loss, **measured}
        click.echo(
            json_text({"pool": pool and pool.name, "rounds": rounds, "missing": 0, "estimated": values, **losses})
        )
        return
    unseen = f"over the last {len(present):,} of {counted(rounds, 'round')}, which it has not seen"
    click.echo(f"log loss  {before:.4f} → {best.log_loss:.4f}, {unseen}")
    better_by = f"{gain.value:.4f} ± {gain.error or 0.0:.4f} better than the present parameters"
    click.echo(f"          {better_by}; a coin: {estimates.COIN:.4f}")
    for other in others:
        which = "without counts" if best.counted else "with counts, which are left out"
        click.echo(f"          {other.log_loss:.4f} {which}")
    if not better:
        stop(
            "not proposed: it is not better than the present parameters and than a coin by two standard errors", REFUSED
        )
    _propose_estimates(pool, values)


def _trueskill2_params(pool: Pool | None) -> TrueSkill2Params:
    """Those of a pool of trueskill2, else the defaults."""
    from equipoise import ratings

    given = pool.params if pool is not None and pool.system == "trueskill2" else {}
    params: TrueSkill2Params = ratings.create("trueskill2", **given).params
    return params


def _rounded(value: Any) -> Any:
    """Numbers with four digits, as the configuration holds them; what is practically 0 is off."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if abs(value) > NOTHING else 0.0
    if isinstance(value, tuple | list):
        return [_rounded(each) for each in value]
    return {key: _rounded(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _propose_estimates(pool: Pool | None, values: dict[str, Any]) -> None:
    from equipoise.config import Pool
    from equipoise.config.differences import pool_table

    click.echo()
    named = pool or Pool("main", "trueskill2", {})
    kept = named.params if named.system == "trueskill2" else {}
    for line in pool_table(replace(named, system="trueskill2", params={**kept, **values})):
        click.echo(line)
    if pool is not None:
        recompute = f"equipoise pool recompute --pool {pool.name}"
        click.echo(f"\nRatings depend on them: `{recompute}` computes them again.")
