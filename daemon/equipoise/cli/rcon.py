"""A game server's console, through the daemon."""

from __future__ import annotations

import click

from equipoise.cli.client import Client
from equipoise.cli.options import examples
from equipoise.cli.remote import json_option, print_json, remote

EPILOG = examples(
    "equipoise rcon arena-1 status",
    "equipoise rcon arena-1 sm_kick '#12'",
    "equipoise rcon --json arena-1 sm plugins list",
)


@click.command(context_settings={"ignore_unknown_options": True}, epilog=EPILOG)
@remote
@json_option
@click.argument("name", metavar="SERVER")
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def rcon(client: Client, name: str, words: tuple[str, ...], as_json: bool) -> None:
    """Send one COMMAND to the console of SERVER, and print its output.

    The daemon sends it by the RCON of its configuration, and writes it into the audit. Refused are `;`, quotes, control
    characters, and the name of a player where a command takes a player: name players by #userid or SteamID.
    """
    answer = client.send("POST", "servers", name, "rcon", body={"command": " ".join(words)})
    if not print_json(answer, as_json):
        click.echo(answer["output"], nl=not answer["output"].endswith("\n"))
