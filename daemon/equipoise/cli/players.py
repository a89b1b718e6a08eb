"""Players of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from equipoise.cli import editing
from equipoise.cli.client import Client
from equipoise.cli.output import print_table
from equipoise.cli.remote import json_option, local_time, pool_option, print_json, remote


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


player.add_command(editing.set_player)
player.add_command(editing.reset_player)
player.add_command(editing.undo_edit)


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
    return each["id"], name, rating, each["rounds"], shown, local_time(each["last_played"])
