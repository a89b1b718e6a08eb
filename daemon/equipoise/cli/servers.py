"""Game servers: their status, and orders to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from equipoise.cli.adding import add, remove, secret, update
from equipoise.cli.client import Client
from equipoise.cli.following import redrawn
from equipoise.cli.lists import csv_option, one_format
from equipoise.cli.options import examples
from equipoise.cli.reloading import not_in_force
from equipoise.cli.remote import json_option, print_json, remote
from equipoise.cli.tables import Column, print_items, print_note, print_table
from equipoise.cli.words import chance, change, counted, local_time, side_word

LEGEND = (
    "PLAYERS: on each side, and those who wait. FAVOURITE: the side that is likely to win, by the system that makes "
    "the teams, and the 80 % interval of its chance where that is known. STREAK: rounds that a side has won in a row. "
    "NEXT: what is due at the next round start."
)


@click.command(
    epilog=examples("equipoise status", "equipoise status --watch", "equipoise status --json | jq '.servers[].map'")
)
@remote
@json_option
@csv_option
@click.option("--watch", is_flag=True, help="Show it again every 2 seconds, until Ctrl-C.")
def status(client: Client, watch: bool, as_json: bool, as_csv: bool) -> None:
    """What every game server is doing."""
    one_format(as_json=as_json, as_csv=as_csv)
    if not watch:
        _show(client.get("servers"), as_json=as_json, as_csv=as_csv)
        return
    if as_json or as_csv:
        raise click.UsageError("--watch shows a table: it excludes --json and --csv")

    def draw() -> Callable[[], None]:
        answer = client.get("servers")
        return lambda: _show(answer, as_json=False, as_csv=False)

    redrawn(draw)


def _show(answer: Any, *, as_json: bool, as_csv: bool) -> None:
    if print_json(answer, as_json):
        return
    none = "No server is configured: `equipoise server add NAME` adds one."
    print_items(answer["servers"], CSV if as_csv else COLUMNS, as_csv=as_csv, empty=none, colour=_colour)
    if as_csv:
        return
    for line in _notes(answer):
        print_note(line)
    _show_store(answer)
    if any(each["players_a"] or each["players_b"] for each in answer["servers"]):
        click.echo()
        print_note(LEGEND)


def _notes(answer: Any) -> Iterator[str]:
    """What the table has no room for."""
    for each in answer["servers"]:
        if each["pending"]:
            yield f"{each['server']}: a {_scramble(each)} is due at the next round start: {each['pending']}."
        if each["stale_scripts"]:
            yield _several_scripts(each)
    yield from (_failed_job(each) for each in answer["jobs"] if each["last_error"] is not None)
    yield from answer["remarks"]
    yield from not_in_force(answer["configuration"])


def _show_store(answer: Any) -> None:
    waiting = counted(answer["waiting_rounds"], "round waits", "rounds wait")
    if (store := answer["store"])["state"] != "ok":
        click.echo()
        print_note(f"The store is {store['state']} since {local_time(store['since'])}, {waiting}: {store['advice']}.")
    elif answer["waiting_rounds"]:
        click.echo(f"{waiting} for the store.")


def _heard(shown: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    """A cell about the map: there is nothing to say before a script called."""
    return lambda each: "-" if each["silent_seconds"] is None else shown(each)


def _players(each: dict[str, Any]) -> str:
    sides = [f"{each[f'players_{side}']} {side_word(each['sides'], side)}" for side in "ab"]
    return ", ".join([*sides, *([f"{each['waiting']} waiting"] if each["waiting"] else [])])


def _streak(each: dict[str, Any]) -> str:
    side = each["streak_side"]
    return f"{side_word(each['sides'], side)} {each['streak']}" if side and each["streak"] else "-"


def _scramble(each: dict[str, Any]) -> str:
    return "shuffle" if each["mode"] == "ns2" else "scramble"


def _next(each: dict[str, Any]) -> str:
    if each["pending"]:
        return _scramble(each)
    if each["vote_running"]:
        return "vote running"
    return f"asked for a vote: {each['voices']}" if each["voices"] else "-"


def _state(each: dict[str, Any]) -> str:
    if each["silent_seconds"] is None:
        return "never heard of"
    if each["lost"]:
        return f"lost for {_long(each['silent_seconds'])}"
    if each["inactive_reason"]:
        return f"inactive: {each['inactive_reason']}"
    if each["level"] != "balance":
        return f"{'inactive' if each['level'] == 'off' else 'only rates'}: {each['level_reason']}"
    return "on" if each["enabled"] else "off"


def _failed_job(each: dict[str, Any]) -> str:
    when, again = local_time(each["last_run"]), local_time(each["next_run"])
    return f"\nThe job {each['name']} failed at {when}: {each['last_error']}. Next run: {again}."


def _long(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _colour(each: dict[str, Any]) -> str | None:
    if each["silent_seconds"] is not None and each["lost"]:
        return "red"
    return None if _state(each) == "on" else "yellow"


COLUMNS = (
    Column("SERVER", lambda each: each["server"]),
    Column("STATE", _state),
    Column("MAP", _heard(lambda each: f"{each['map']} ({each['mode']})" if each["map"] else "-")),
    Column("ROUND", _heard(lambda each: f"{each['round']} {each['phase']}")),
    Column("PLAYERS", _heard(_players)),
    Column("FAVOURITE", _heard(lambda each: chance(each["sides"], each["win_probability"], each["outlook"]))),
    Column("STREAK", _heard(_streak)),
    Column("NEXT", _heard(_next)),
)


def _field(name: str) -> Column:
    return Column(name, lambda each: each[name])


CSV = (
    _field("server"),
    Column("state", _state),
    *map(_field, ("pool", "map", "mode", "phase", "round", "players_a", "players_b", "waiting", "win_probability")),
    *map(_field, ("streak", "streak_side", "pending", "ring", "dropped_rounds")),
)


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


def _order(action: str, summary: str, *, dry: bool = False, called: str | None = None) -> None:
    """Add a command that makes a server do something, by the action's own name unless it is `called` otherwise."""

    @remote
    @json_option
    @click.argument("name", metavar="SERVER")
    def order(client: Client, name: str, as_json: bool, dry_run: bool = False, when: str = "now") -> None:
        answer = client.send("POST", "servers", name, action, body={"dry_run": dry_run, "when": when})
        if not print_json(answer, as_json):
            _print_order(answer)

    name = called or action
    example = examples(f"equipoise server {name} {'ns2-1' if called else 'arena-1'}{' --dry-run' if dry else ''}")
    command = click.command(name, help=summary, epilog=example)(order)
    if dry:
        command.params.append(click.Option(["--dry-run"], is_flag=True, help="Only show what would be done."))
    if action == "scramble":
        choice = click.Choice(["now", "next"])
        command.params.append(click.Option(["--when"], type=choice, default="now", help="At once, or next round."))
    server.add_command(command)


def _print_order(answer: dict[str, Any]) -> None:
    proposal = answer["proposal"]
    if proposal is None:
        _print_lines([line["english"] for line in answer["lines"]])
        if not answer["lines"]:
            click.echo("Ordered. `equipoise why` shows what became of it.")
        return
    click.echo(f"Chance to win: {change(proposal['sides'], proposal)}")
    if proposal["spread_after"] is not None:
        here, there = (_spread(proposal[key]) for key in ("spread_before", "spread_after"))
        click.echo(f"Spread of skill within the sides: {here} → {there} points")
    if proposal["moves"]:
        rows = ((one["id"], one["name"] or "-", _where(one["side"])) for one in proposal["moves"])
        print_table(("PLAYER", "NAME", "TO"), rows)
    else:
        click.echo("Nobody would move: the sides are as even as they can be.")


def _spread(sides: Sequence[float] | None) -> str:
    return "?" if sides is None else " / ".join(f"{each:.0f}" for each in sides)


def _where(word: str) -> str:
    return "bench" if word == "none" else side_word((word, word), "a")


def _print_lines(lines: Sequence[str]) -> None:
    """The lines of an answer; one that ends in a colon and the next one are a sentence."""
    for line in "\n".join(lines).replace(":\n", ": ").splitlines():
        click.echo(f"{line[:-1]}." if line.endswith(":") else line)


_order("scramble", "Balance the teams, at once where the mode allows it.", dry=True)
_order("scramble", "Shuffle the teams of an NS2 server: its word for scramble.", dry=True, called="shuffle")
_order("balance", "Close a gap of two or more players now.", dry=True)
_order("cancel", "Forget a pending scramble, or end a vote.")
_order("on", "Let Equipoise act on this server.")
_order("off", "Let Equipoise only watch and rate.")
