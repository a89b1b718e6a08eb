"""Game servers: their status, and orders to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from equipoise.cli.adding import add, remove, secret, update
from equipoise.cli.client import Client
from equipoise.cli.output import print_table
from equipoise.cli.reloading import not_in_force
from equipoise.cli.remote import json_option, local_time, print_json, remote


@click.command()
@remote
@json_option
def status(client: Client, as_json: bool) -> None:
    """What every game server is doing."""
    answer = client.get("servers")
    if print_json(answer, as_json):
        return
    head = ("SERVER", "MAP", "MODE", "PHASE", "ROUND", "PLAYERS", "A WINS", "STREAK", "PENDING", "RING", "STATE")
    print_table(head, (_server_row(each) for each in answer["servers"]))
    for each in answer["servers"]:
        if each["stale_scripts"]:
            click.echo(_several_scripts(each))
    for each in answer["jobs"]:
        if each["last_error"] is not None:
            click.echo(_failed_job(each))
    for line in not_in_force(answer["configuration"]):
        click.echo(line)
    if (store := answer["store"])["state"] != "ok":
        since, waiting = local_time(store["since"]), answer["waiting_rounds"]
        click.echo(f"\nThe store is {store['state']} since {since}, {waiting} rounds wait: {store['advice']}.")


def _server_row(each: dict[str, Any]) -> Sequence[object]:
    chance = each["win_probability"]
    streak = f"{each['streak']} {each['streak_side'] or ''}".strip()
    return (
        each["server"],
        each["map"] or "-",
        each["mode"],
        each["phase"],
        each["round"],
        f"{each['players_a']}:{each['players_b']}+{each['waiting']}",
        "-" if chance is None else f"{100 * chance:.0f} %",
        streak,
        each["pending"] or _vote(each),
        each["ring"],
        _state(each),
    )


def _vote(each: dict[str, Any]) -> str:
    if each["vote_running"]:
        return "vote running"
    return f"asked for a vote: {each['voices']}" if each["voices"] else "-"


def _state(each: dict[str, Any]) -> str:
    if each["silent_seconds"] is None:
        return "never connected"
    if each["lost"]:
        return f"lost for {each['silent_seconds']:.0f} s"
    if each["inactive_reason"]:
        return f"inactive: {each['inactive_reason']}"
    if each["level"] != "balance":
        return f"{'inactive' if each['level'] == 'off' else 'only rates'}: {each['level_reason']}"
    return "on" if each["enabled"] else "off"


def _failed_job(each: dict[str, Any]) -> str:
    when, again = local_time(each["last_run"]), local_time(each["next_run"])
    return f"\nThe job {each['name']} failed at {when}: {each['last_error']}. Next run: {again}."


def _several_scripts(each: dict[str, Any]) -> str:
    """Why a server of this name may not be served."""
    stale = each["stale_scripts"]
    named = ", ".join(f"boot {one['boot']} is stale since {local_time(one['since'])}" for one in stale)
    served = f"boot {each['boot']} is served"
    return f"{len(stale) + 1} scripts call as {each['server']}: {served}, {named}; is the plugin loaded on two servers?"


@click.group()
def server() -> None:
    """Game servers."""


for command, called in ((status, "list"), (add, "add"), (remove, "remove"), (secret, "secret"), (update, "update")):
    server.add_command(command, called)


def _order(action: str, summary: str, *, dry: bool = False) -> None:
    """Add a command that makes a server do something."""

    @remote
    @json_option
    @click.argument("name", metavar="SERVER")
    def order(client: Client, name: str, as_json: bool, dry_run: bool = False, when: str = "now") -> None:
        answer = client.send("POST", "servers", name, action, body={"dry_run": dry_run, "when": when})
        if not print_json(answer, as_json):
            _print_order(answer)

    command = click.command(action, help=summary)(order)
    if dry:
        command.params.append(click.Option(["--dry-run"], is_flag=True, help="Only show what would be done."))
    if action == "scramble":
        choice = click.Choice(["now", "next"])
        command.params.append(click.Option(["--when"], type=choice, default="now", help="At once, or next round."))
    server.add_command(command)


def _print_order(answer: dict[str, Any]) -> None:
    for line in answer["lines"]:
        click.echo(line["english"])
    proposal = answer["proposal"]
    if proposal is None:
        if not answer["lines"]:
            click.echo("Ordered. `equipoise why` shows what became of it.")
        return
    before = "-" if proposal["before"] is None else f"{100 * proposal['before']:.1f} %"
    click.echo(f"Side A has a chance of {before} now, {100 * proposal['after']:.1f} % after it.")
    print_table(("PLAYER", "NAME", "TO"), ((one["id"], one["name"] or "-", one["side"]) for one in proposal["moves"]))


_order("scramble", "Balance the teams, at once where the mode allows it.", dry=True)
_order("balance", "Close a gap of two or more players now.", dry=True)
_order("cancel", "Forget a pending scramble, or end a vote.")
_order("on", "Let Equipoise act on this server.")
_order("off", "Let Equipoise only watch and rate.")
