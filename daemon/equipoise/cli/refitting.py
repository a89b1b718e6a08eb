"""`equipoise pool refit`: fit all rounds of a pool at once, in the running daemon."""

from __future__ import annotations

import time
from typing import Any

import click

from equipoise.cli.client import REFUSED, Client
from equipoise.cli.options import stop
from equipoise.cli.remote import json_option, print_json, remote
from equipoise.cli.tables import print_table

POLL_SECONDS = 0.5


@click.command()
@remote
@json_option
@click.argument("name", metavar="[POOL]", default="main")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def refit(client: Client, name: str, dry_run: bool, as_json: bool) -> None:
    """Estimate all ratings of a pool anew, from all of its rounds at once.

    For pools of ns2, trueskill2 and trueskill_through_time. The daemon does it every night. The game goes on
    meanwhile; Ctrl-C ends the command, not the refit. Exit code 1: the ratings are as they were.

    \b
    Example: equipoise pool refit main --dry-run
    """
    answer = client.send("POST", "pools", name, "refit", body={"dry_run": dry_run})
    while (found := answer["refit"])["running_since"] is not None:
        time.sleep(POLL_SECONDS)
        answer = client.get("pools", name, "refit")
    if found["error"] is not None:
        stop(found["error"], REFUSED)
    if not print_json(answer, as_json):
        _show(found)


def _show(found: dict[str, Any]) -> None:
    fitted, result = found["fitted"], found["result"]
    done = "would have" if found["dry_run"] else "have"
    click.echo(
        f"{result['players']:,} players {done} new ratings, fitted to {fitted['rounds']:,} rounds in "
        f"{fitted['iterations']} iterations; {result['rounds']} rounds came meanwhile."
    )
    rows = ((each["id"], f"{each['before']:,.1f}", f"{each['after']:,.1f}") for each in result["shifts"])
    print_table(("PLAYER", "BEFORE", "AFTER"), rows)
