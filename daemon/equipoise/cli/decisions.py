"""The decision log."""

from __future__ import annotations

import click

from equipoise.cli.client import Client
from equipoise.cli.output import print_table
from equipoise.cli.remote import json_option, local_time, print_json, remote


@click.command()
@remote
@json_option
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@click.argument("name", metavar="[SERVER]", required=False)
def why(client: Client, name: str | None, limit: int, as_json: bool) -> None:
    """The last decisions and their reasons, newest first."""
    answer = client.get("decisions", server=name, limit=limit)
    if not print_json(answer, as_json):
        head = ("TIME", "SERVER", "DECISION", "REASON")
        print_table(head, ((local_time(d["at"]), d["server"], d["kind"], d["reason"]) for d in answer["decisions"]))
