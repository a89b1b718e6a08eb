"""Changes of a player's rating: set, reset, undo."""

from __future__ import annotations

import sys
from typing import Any

import click

from equipoise.cli.client import REFUSED, Client
from equipoise.cli.options import WRONG, agreed, dry_run_option, examples, stop, yes_option
from equipoise.cli.remote import json_option, pool_option, print_json, remote
from equipoise.cli.tables import print_table
from equipoise.cli.words import counted, local_time

REPLAY_SECONDS = 3600.0
"""A replay of a large pool takes minutes."""
MOST_SHOWN = 20
"""Players of a replay that are shown."""


@click.command("set", epilog=examples("equipoise player set 76561197960287930 1500"))
@remote
@json_option
@pool_option
@yes_option
@click.option("--new", is_flag=True, help="The player may be one who was never seen here.")
@click.argument("id")
@click.argument("rating", type=float)
def set_player(
    client: Client, id: str, rating: float, pool: str | None, *, new: bool, yes: bool, as_json: bool
) -> None:
    """Give a player a rating; their rounds stay."""
    refuse_silence(yes=yes)
    if not yes:
        _show(f"{id}: a new player" if new else _seen(client, id, pool), f"rating {rating:g}")
        confirm("Set the rating?")
    body = {"rating": rating, "new": new}
    _report(client.send("PUT", "players", id, body=body, pool=pool), as_json=as_json)


@click.command("reset", epilog=examples("equipoise player reset 76561197960287930"))
@remote
@json_option
@pool_option
@yes_option
@click.argument("id")
def reset_player(client: Client, id: str, pool: str | None, *, yes: bool, as_json: bool) -> None:
    """Make a player a newcomer again: their rating and their rounds are forgotten."""
    refuse_silence(yes=yes)
    if not yes:
        _show(_seen(client, id, pool), "a newcomer")
        confirm("Forget the rating?")
    _report(client.send("DELETE", "players", id, pool=pool), as_json=as_json)


@click.command("undo", epilog=examples("equipoise player undo 76561197960287930 --dry-run"))
@remote
@json_option
@pool_option
@dry_run_option
@yes_option
@click.argument("id")
def undo_edit(client: Client, id: str, pool: str | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Take back the last set, reset or import of a player; a second undo applies it again.

    What was played since is rated again, so other players change a little too.
    """
    dry_run = dry_run or (as_json and not yes)
    if not dry_run:
        refuse_silence(yes=yes)

    def undo(*, trial: bool) -> Any:
        return client.send("POST", "players", id, "undo", body={"dry_run": trial}, wait=REPLAY_SECONDS, pool=pool)

    if dry_run or not yes:
        found = undo(trial=True)
        if dry_run and print_json(found, as_json):
            return
        _say_undone(found)
        show_replay(found["replay"])
        if dry_run:
            return
        confirm("Apply it again?" if found["again"] else "Take it back?")
    done = undo(trial=False)
    if not print_json(done, as_json):
        if yes:
            _say_undone(done)
            show_replay(done["replay"])
        click.echo("It is applied again." if done["again"] else "It is taken back.")


def refuse_silence(*, yes: bool) -> None:
    """End a command that would have to ask where nobody can answer."""
    if not yes and not sys.stdin.isatty():
        stop("this changes ratings, and nobody is here to be asked: say --yes", WRONG)


def confirm(question: str) -> None:
    """Ask; without a yes nothing is changed."""
    if not agreed(question):
        stop("nothing was changed", REFUSED)


def show_replay(replay: dict[str, Any]) -> None:
    """Who changes, or changed, by how much."""
    changes = replay["changes"]
    again = f"Rounds rated again: {replay['rounds']:,}; edits applied again: {replay['edits']:,}"
    click.echo(f"{again}; players who change: {len(changes):,}.")
    if replay["refitted"]:
        click.echo("A refit made the ratings since then: they stay until the next one, which takes it into account.")
    if replay["lost_edits"]:
        edits = counted(replay["lost_edits"], "change by an admin", "changes by admins")
        click.echo(f"Lost, because no state was stored: {edits} since then.")
    if changes:
        print_table(("PLAYER", "NAME", "RATING", "CHANGE", "ROUNDS"), (_row(each) for each in changes[:MOST_SHOWN]))
    if len(changes) > MOST_SHOWN:
        click.echo(f"… and {len(changes) - MOST_SHOWN:,} more; --json lists all.")


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    rounds = f"{each['rounds_before']} → {each['rounds_after']}"
    before, after = each["before"], each["after"]
    return (
        each["id"],
        each["name"] or "-",
        f"{before:g} → {after:g}",
        f"{after - before:+.4g}",
        rounds if each["rounds_before"] != each["rounds_after"] else each["rounds_after"],
    )


def _say_undone(found: dict[str, Any]) -> None:
    edit = found["edit"]
    which = "The edit that was taken back" if found["again"] else "The last edit"
    before = "new" if edit["before"] is None else f"{edit['before']:g}"
    what = f"{edit['action']} by {edit['who']} at {local_time(edit['at'])} ({before} → {edit['after']:g})"
    click.echo(f"{which}: {what}")


def _seen(client: Client, id: str, pool: str | None) -> str:
    player = client.get("players", id, pool=pool)["player"]
    return f"{player['id']} {player['name'] or '-'}: {_numbers(player)}"


def _show(before: str, after: str) -> None:
    click.echo(f"{before} → {after}", err=True)


def _report(answer: dict[str, Any], *, as_json: bool) -> None:
    if not print_json(answer, as_json):
        before, after = answer["before"], answer["player"]
        click.echo(f"{after['id']} {after['name'] or '-'}: {_numbers(before)} → {_numbers(after)}")


def _numbers(player: dict[str, Any]) -> str:
    return f"rating {player['rating']:g} after {counted(player['rounds'], 'round')}"
