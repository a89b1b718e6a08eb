"""Commands on whole pools: some ask the running daemon; others need it stopped, and open the store themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from equipoise.cli.client import REFUSED, Client
from equipoise.cli.fitting import estimate, fit_spread
from equipoise.cli.measuring import calibrate, quality
from equipoise.cli.moving import export_pool, import_pool
from equipoise.cli.options import PRIVATE, config_option, examples, stop, yes_option
from equipoise.cli.refitting import refit
from equipoise.cli.remote import json_option, pool_options, print_json, remote
from equipoise.errors import ConfigError, RatingError, ScriptError, SpillError, StoreError


@click.group()
def pool() -> None:
    """Rating populations."""


pool.add_command(quality)
pool.add_command(calibrate)
pool.add_command(fit_spread)
pool.add_command(estimate)
pool.add_command(export_pool)
pool.add_command(import_pool)


@pool.command("fit-theta", epilog=examples("equipoise pool fit-theta --pool main"))
@remote
@json_option
@pool_options
def fit_theta(client: Client, name: str, as_json: bool) -> None:
    """Fit the scale of the logistic to a pool's stored rounds.

    The result is proposed if it is at least two standard errors from the present scale. Exit code 1: none is proposed.
    """
    answer = client.get("pools", name, "theta")
    if print_json(answer, as_json):
        return
    fit = answer["fit"]
    if fit is None and answer["missing"]:
        stop(f"{answer['rounds']} rounds are stored; {answer['missing']} more are needed", REFUSED)
    if fit is None:
        stop("no scale fits: favourites won no more often than others, or always", REFUSED)
    click.echo(f"theta     {fit['theta']:.0f} ± {fit['error']:.0f} fits {answer['rounds']:,} rounds best")
    click.echo(f"          {answer['theta']:.0f} is the present value")
    click.echo(f"log loss  {fit['log_loss_before']:.4f} → {fit['log_loss']:.4f}")
    if answer["missing"]:
        stop(f"not proposed: less than two standard errors apart; {_missing(answer['missing'])}", REFUSED)
    click.echo(f"\n[pool.{answer['pool']}]\ntheta = {fit['theta']:.1f}\n")
    click.echo(f"Ratings depend on it: `equipoise pool recompute --pool {name}` computes them again.")


def _missing(missing: int) -> str:
    from equipoise.web.predictions import MOST

    # A fit looks at MOST rounds: more than that would not help.
    return f"about {missing:,} more rounds would tell them apart" if missing < MOST else "they are practically equal"


pool.add_command(refit)


@pool.command(epilog=examples("equipoise pool recompute --pool main --system trueskill --set shadow_rounds=30"))
@config_option
@pool_options
@click.option("--system", help="The new rating system, at its defaults. [default: as configured]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A parameter; may be repeated.")
@click.option("--without-pruned-rounds", "from_rest", is_flag=True, help="Go on although old rounds were deleted.")
@yes_option
@click.option("--json", "as_json", is_flag=True, help="Print the difference as JSON; written only with --yes.")
def recompute(
    path: Path, name: str | None, system: str | None, pairs: Sequence[str], from_rest: bool, yes: bool, as_json: bool
) -> None:
    """Rate a pool's stored rounds again, with another system or other parameters.

    The daemon must be stopped. The change in prediction quality is shown first; the old ratings stay until you agree.
    """
    import asyncio

    from equipoise.cli.recomputing import Recomputing

    os.umask(PRIVATE)
    try:
        work = Recomputing.of(path, name, system, pairs, from_rest=from_rest)
        asyncio.run(work.run(yes=yes, as_json=as_json))
    except (ConfigError, RatingError, ScriptError, SpillError, StoreError) as error:
        stop(error)
