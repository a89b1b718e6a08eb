"""Commands that ask the running daemon through its admin interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from equipoise.cli.client import Client
from equipoise.cli.options import config_option
from equipoise.cli.output import json_text, print_table

Command = Callable[..., None]


def remote(command: Command) -> Command:
    """Give a command the daemon's client, from options that all such commands have."""

    @config_option
    @click.option("--url", envvar="EQUIPOISE_URL", help="The daemon's address. [env: EQUIPOISE_URL; default: config]")
    @click.option(
        "--token", envvar="EQUIPOISE_TOKEN", help="A token. [env: EQUIPOISE_TOKEN; default: owner.token beside it]"
    )
    @wraps(command)
    def connected(path: Path, url: str | None, token: str | None, **arguments: Any) -> None:
        command(Client.of(path, url, token), **arguments)

    return connected


json_option = click.option("--json", "as_json", is_flag=True, help="Print the daemon's answer as JSON.")
pool_option = click.option("--pool", help="The pool; needed only where there are several.")


def print_json(answer: Any, as_json: bool) -> bool:
    """Print the answer if JSON was asked for; True if it was."""
    if as_json:
        click.echo(json_text(answer, ascii_only=False))
    return as_json


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
    if (store := answer["store"])["state"] != "ok":
        since, waiting = _time(store["since"]), answer["waiting_rounds"]
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


def _several_scripts(each: dict[str, Any]) -> str:
    """Why a server of this name may not be served."""
    stale = each["stale_scripts"]
    named = ", ".join(f"boot {one['boot']} is stale since {_time(one['since'])}" for one in stale)
    served = f"boot {each['boot']} is served"
    return f"{len(stale) + 1} scripts call as {each['server']}: {served}, {named}; is the plugin loaded on two servers?"


@click.group()
def server() -> None:
    """Game servers."""


server.add_command(status, "list")


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


@click.group()
def player() -> None:
    """Players of a pool."""


@player.command("show")
@remote
@json_option
@pool_option
@click.argument("id")
def show_player(client: Client, id: str, pool: str | None, as_json: bool) -> None:
    """Show a player, by SteamID64."""
    _player(client.get("players", id, pool=pool), as_json)


@player.command("set")
@remote
@json_option
@pool_option
@click.argument("id")
@click.argument("rating", type=float)
def set_player(client: Client, id: str, rating: float, pool: str | None, as_json: bool) -> None:
    """Give a player a rating."""
    _player(client.send("PUT", "players", id, body={"rating": rating}, pool=pool), as_json)


@player.command("reset")
@remote
@json_option
@pool_option
@click.argument("id")
def reset_player(client: Client, id: str, pool: str | None, as_json: bool) -> None:
    """Forget a player's rating and rounds."""
    _player(client.send("DELETE", "players", id, pool=pool), as_json)


def _player(answer: dict[str, Any], as_json: bool) -> None:
    if not print_json(answer, as_json):
        _players([answer["player"]])


@player.command("top")
@remote
@json_option
@click.option("--pool", default="main", show_default=True, help="The pool.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
def top_players(client: Client, pool: str, limit: int, as_json: bool) -> None:
    """The leaderboard."""
    answer = client.get("pools", pool, "top", limit=limit)
    if not print_json(answer, as_json):
        _players(answer["players"])


@player.command("find")
@remote
@json_option
@click.option("--pool", default="main", show_default=True, help="The pool.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@click.argument("text")
def find_players(client: Client, text: str, pool: str, limit: int, as_json: bool) -> None:
    """Find players by a part of their SteamID64 or of their last name."""
    answer = client.get("pools", pool, "players", text=text, limit=limit)
    if not print_json(answer, as_json):
        _players(answer["players"])


def _players(players: Sequence[dict[str, Any]]) -> None:
    head = ("PLAYER", "NAME", "RATING", "ROUNDS", "SHOWN", "LAST PLAYED")
    print_table(head, (_player_row(each) for each in players))


def _player_row(each: dict[str, Any]) -> Sequence[object]:
    shown = "stale" if each["stale"] else "yes" if each["visible"] else "no"
    name, rating = each["name"] or "-", f"{each['rating']:g}"
    return each["id"], name, rating, each["rounds"], shown, _time(each["last_played"])


def _time(epoch: float | None) -> str:
    return "never" if epoch is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch))


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
        print_table(head, ((_time(d["at"]), d["server"], d["kind"], d["reason"]) for d in answer["decisions"]))
