"""Matches that may be played."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import click

from equipoise.cli.client import Client
from equipoise.cli.options import examples
from equipoise.cli.remote import json_option, one_pool, pool_option, print_json, remote
from equipoise.cli.words import interval, percent
from equipoise.core.model import Mode
from equipoise.lab.printable import printable

AGAINST = "vs"
MODES = [mode.value for mode in Mode]


@click.group()
def match() -> None:
    """Matches that may be played."""


@match.command(
    epilog=examples(
        "equipoise match evenness gaben robin vs STEAM_0:0:11101 76561197960287931",
        "equipoise match evenness gaben vs robin --mode arena --json",
    )
)
@remote
@json_option
@pool_option
@click.option(
    "--mode", type=click.Choice(MODES), metavar="MODE", help="The kind of map, for rating systems that know it."
)
@click.option("--map", "map_name", default="", help="The map's name, for rating systems that know maps.")
@click.argument("players", nargs=-1, required=True, metavar="PLAYER... vs PLAYER...")
def evenness(
    client: Client, players: tuple[str, ...], pool: str | None, mode: str | None, map_name: str, as_json: bool
) -> None:
    """How even two sides are known to be: players by id or last name, the two sides parted by the word vs.

    The evenness is 1 for sides that are known to be even, and 0 for a match that is decided. Where TrueSkill makes the
    teams, its own match quality is shown too.
    """
    a, b = _sides(players)
    answer = client.send(
        "POST", "pools", one_pool(client, pool), "match", body={"a": a, "b": b, "mode": mode, "map": map_name}
    )
    if print_json(answer, as_json):
        return
    for side in ("a", "b"):
        click.echo(f"Side {side.upper()}   {', '.join(_who(each) for each in answer[side])}")
    click.echo(f"Chance   {percent(answer['win_probability'])}{interval(answer)} for side A to win")
    click.echo(f"Evenness {answer['evenness']:.2f}")
    if answer["trueskill_quality"] is not None:
        click.echo(f"TrueSkill's match quality {answer['trueskill_quality']:.2f}")


# By its name of before, for one release.
_quality = copy(evenness)
_quality.name, _quality.hidden, _quality.deprecated = "quality", True, "Its name is `match evenness` now."
_quality.epilog = examples("equipoise match quality gaben vs robin")
match.add_command(_quality)


def _sides(players: Sequence[str]) -> tuple[list[str], list[str]]:
    if list(players).count(AGAINST) != 1:
        raise click.UsageError(f"write the players of one side, the word {AGAINST}, and those of the other side")
    middle = players.index(AGAINST)
    a, b = list(players[:middle]), list(players[middle + 1 :])
    if not (a and b):
        raise click.UsageError(f"there are players on one side of {AGAINST} only")
    return a, b


def _who(player: dict[str, Any]) -> str:
    return printable(player["name"] or player["id"])
