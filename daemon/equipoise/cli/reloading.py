"""Has the running daemon read its configuration again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from equipoise.cli.client import Client
from equipoise.cli.options import dry_run_option, examples
from equipoise.cli.remote import json_option, print_json, remote
from equipoise.cli.words import local_time


@click.command(epilog=examples("equipoise reload --dry-run", "equipoise reload"))
@remote
@json_option
@dry_run_option
def reload(client: Client, dry_run: bool, as_json: bool) -> None:
    """Read the configuration again and put it in force, without a restart.

    Each change is a line. What needs a restart is named, and everything else takes effect at once. Exit code 1: a file
    is wrong; its name, the key and the reason are shown, and the configuration from before stays in force.
    """
    answer = client.send("POST", "reload", body={"dry_run": dry_run})
    if print_json(answer, as_json):
        return
    if dry_run and answer["changes"]:
        click.echo("A reload would change:")
    for line in answer["changes"]:
        click.echo(line)
    for line in answer["restart"]:
        click.echo(f"needs a restart: {line}")
    if not answer["changes"] and not answer["restart"]:
        click.echo("Nothing has changed.")


def not_in_force(configuration: dict[str, Any]) -> Iterator[str]:
    """Lines of `status` about files that say something else than what is in force."""
    if configuration["refused"] is not None:
        since = local_time(configuration["refused_since"])
        yield f"\nConfiguration refused since {since}: {configuration['refused']}. The one before is in force."
    for line in configuration["restart"]:
        yield f"\nA restart is needed for a change of the configuration: {line}"
