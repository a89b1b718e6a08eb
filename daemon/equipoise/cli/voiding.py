"""Rounds taken out of the ratings."""

from __future__ import annotations

from typing import Any

import click

from equipoise.cli.client import Client
from equipoise.cli.editing import REPLAY_SECONDS, confirm, refuse_silence, show_replay
from equipoise.cli.options import dry_run_option, examples, yes_option
from equipoise.cli.remote import json_option, print_json, remote

LONGEST_REASON = 200


def _short(_: click.Context, __: click.Parameter, reason: str) -> str:
    if len(reason) > LONGEST_REASON:
        raise click.BadParameter(f"it has {len(reason)} characters, {LONGEST_REASON} fit")
    return reason


@click.command(
    "void",
    epilog=examples(
        'equipoise round void arena-1 1763622000123-7 --reason "a cheater played" --dry-run',
        "equipoise round void arena-1 1763622000123-7 --undo",
    ),
)
@remote
@json_option
@dry_run_option
@yes_option
@click.option("--reason", default="", callback=_short, help="Why; the audit keeps it.")
@click.option("--undo", is_flag=True, help="Put a void round back.")
@click.argument("server")
@click.argument("id", metavar="ROUND")
def void_round(
    client: Client, server: str, id: str, reason: str, *, undo: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Take a round out of the ratings.

    All that was played since is rated again without it. Rounds that end meanwhile wait, and are rated afterwards. The
    round stays stored. `equipoise round list` shows the ids of rounds.
    """
    dry_run = dry_run or (as_json and not yes)
    if not dry_run:
        refuse_silence(yes=yes)

    def void(*, trial: bool) -> Any:
        body = {"reason": reason, "undo": undo, "dry_run": trial}
        return client.send("POST", "rounds", server, id, "void", body=body, wait=REPLAY_SECONDS)

    if dry_run or not yes:
        found = void(trial=True)
        if dry_run and print_json(found, as_json):
            return
        show_replay(found["replay"])
        if dry_run:
            return
        confirm("Put the round back?" if undo else "Take the round out of the ratings?")
    done = void(trial=False)
    if not print_json(done, as_json):
        if yes:
            show_replay(done["replay"])
        click.echo(f"Round {id} of {server} is {'rated' if undo else 'void'}.")
