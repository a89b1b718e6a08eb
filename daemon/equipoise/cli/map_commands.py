"""Maps: how long their rounds are, who wins on which side, and how even they begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from equipoise.cli import Group
from equipoise.cli.client import (
    Client,
    Command,
    Since,
    json_option,
    list_options,
    one_format,
    one_pool,
    pool_option,
    print_json,
    remote,
)
from equipoise.cli.options import examples, wide_option
from equipoise.cli.output import Column, counted, iso_time, local_minute, print_items, print_legend
from equipoise.cli.round_commands import minutes
from equipoise.core.wording import percent, side_word


def last_rounds(command: Command) -> Command:
    """Give a command the options that say which rounds it looks at."""
    what = "How many of the pool's last rounds to look at."
    command = click.option(
        "--rounds", type=click.IntRange(1, 100_000), default=10_000, show_default=True, metavar="N", help=what
    )(command)
    return click.option("--since", type=Since(), metavar="TIME", help="Only rounds since 30m, 2h, 3d, 1w, or a date.")(
        command
    )


@click.group(cls=Group)
def map() -> None:  # noqa: A001 - a command's name
    """Maps: how long their rounds are, who wins on which side, and how even they begin."""


@map.command(
    "list", epilog=examples("equipoise map list --since 4w", "equipoise map list --pool main --csv > maps.csv")
)
@remote
@json_option
@list_options
@pool_option
@last_rounds
def list_maps(client: Client, pool: str | None, *, as_json: bool, as_csv: bool, **rounds: Any) -> None:
    """The maps that the last rated rounds were played on, those with the most rounds first."""
    one_format(as_json=as_json, as_csv=as_csv)
    answer = client.get("pools", one_pool(client, pool), "maps", **rounds)
    if print_json(answer, as_json):
        return
    columns = (MAP, MODE, *FIGURES)
    shown = print_items(answer["maps"], columns, as_csv=as_csv, empty="No round was rated.")
    print_legend(shown)


@map.command("show", epilog=examples("equipoise map show koth_harvest_final"))
@remote
@json_option
@wide_option
@pool_option
@last_rounds
@click.argument("name", metavar="MAP")
def show_map(client: Client, pool: str | None, name: str, *, as_json: bool, **rounds: Any) -> None:
    """One map: who wins on which side, beside what was expected, in all and on each server."""
    answer = client.get("pools", one_pool(client, pool), "maps", name, **rounds)
    if print_json(answer, as_json):
        return
    whole = answer["map"]
    a, b = (side_word(whole["sides"], side) for side in "ab")
    click.echo(f"{whole['map']} ({whole['mode']}), pool {answer['pool']}: {counted(whole['rounds'], 'rated round')}.")
    click.echo(
        f"{a} won {whole['wins_a']:,}, {b} {whole['wins_b']:,}, nobody {whole['stalemates']:,}; "
        f"{a} scored {percent(score(whole))} and was expected to score {percent(whole['expected_a'])}."
    )
    click.echo()
    rows = [row | {"sides": whole["sides"]} for row in answer["servers"]]
    print_legend(print_items(rows, (SERVER, *FIGURES), as_csv=False, empty=""))


def score(figures: Mapping[str, Any]) -> float:
    """The part of the points that side A took: a stalemate is half a point for each.

    >>> score({"wins_a": 5, "wins_b": 3, "stalemates": 2, "rounds": 10})
    0.6
    """
    return float((figures["wins_a"] + figures["stalemates"] / 2) / figures["rounds"])


def _score(figures: Mapping[str, Any]) -> str:
    return f"{side_word(figures['sides'], 'a')} {percent(score(figures))}"


MAP = Column("MAP", lambda row: row["map"], least=10)
MODE = Column("MODE", lambda row: row["mode"], goes=2)
SERVER = Column("SERVER", lambda row: row["server"])
FIGURES = (
    Column("ROUNDS", lambda row: f"{row['rounds']:,}", lambda row: row["rounds"], right=True),
    Column(
        "MINUTES",
        lambda row: minutes(row["seconds"]),
        lambda row: f"{row['seconds'] / 60:.2f}",
        right=True,
        goes=4,
        legend="the mean length of a round",
    ),
    Column("SCORE", _score, score, legend="what the first side won, a stalemate as a half"),
    Column(
        "EXPECTED",
        lambda row: percent(row["expected_a"]),
        lambda row: row["expected_a"],
        right=True,
        legend="its chance before the rounds, on average",
    ),
    Column(
        "EVEN",
        lambda row: percent(row["even"]),
        lambda row: row["even"],
        right=True,
        legend="rounds that began with a chance of 40 to 60 %",
    ),
    Column(
        "NEW TEAMS",
        lambda row: f"{row['new_teams']:,}",
        lambda row: row["new_teams"],
        right=True,
        goes=3,
        legend="scrambles and shuffles, as far back as the decision log goes",
    ),
    Column("LAST", lambda row: local_minute(row["last_played"]), lambda row: iso_time(row["last_played"]), goes=1),
)
