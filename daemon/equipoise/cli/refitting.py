"""`equipoise pool refit`: fit all rounds of a pool at once, in the running daemon."""

from __future__ import annotations

import time
from typing import Any

import click

from equipoise.cli.client import REFUSED, Client
from equipoise.cli.options import dry_run_option, examples, stop
from equipoise.cli.remote import json_option, pool_options, print_json, remote
from equipoise.cli.tables import print_table
from equipoise.cli.words import counted

POLL_SECONDS = 0.5


@click.command(epilog=examples("equipoise pool refit main --dry-run"))
@remote
@json_option
@pool_options
@dry_run_option
def refit(client: Client, name: str, dry_run: bool, as_json: bool) -> None:
    """Estimate all ratings of a pool anew, from all of its rounds at once.

    For pools of ns2, trueskill2 and trueskill_through_time. The daemon does it every night. The game goes on
    meanwhile; Ctrl-C ends the command, not the refit. Exit code 1: the ratings are as they were.
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
    done = "would get new ratings" if found["dry_run"] else "got new ratings"
    rounds = f"{counted(fitted['rounds'], 'round')} in {counted(fitted['iterations'], 'iteration')}"
    click.echo(
        f"{counted(result['players'], 'player')} {done}, fitted to {rounds}; "
        f"{counted(result['rounds'], 'round')} came meanwhile."
    )
    rows = ((each["id"], f"{each['before']:,.1f}", f"{each['after']:,.1f}") for each in result["shifts"])
    print_table(("PLAYER", "BEFORE", "AFTER"), rows, texts=1)
