"""The decision log, and the audit."""

from __future__ import annotations

from typing import Any

import click

from equipoise.cli.client import (
    Client,
    appended,
    limited,
    listing,
    pages,
    players,
    pool_option,
    print_json,
    servers,
)
from equipoise.cli.options import examples
from equipoise.cli.output import (
    NAME,
    Column,
    field,
    json_text,
    local_minute,
    local_time,
    moment,
    print_items,
    print_legend,
)
from equipoise.core.wording import about, change, moved
from equipoise.lab.svg import printable

DEFAULT = 20
Line = dict[str, Any]


@click.command(
    epilog=examples(
        "equipoise why arena-1", "equipoise why --player STEAM_0:0:11101 --since 2h", "equipoise why --follow"
    )
)
@listing
@pool_option
@limited(DEFAULT)
@click.option(
    "--player",
    metavar="ID",
    shell_complete=players,
    help="Only what was done to this player: moved, benched, kept on a side.",
)
@click.option("--follow", is_flag=True, help="Go on with what is decided from now on, until Ctrl-C.")
@click.argument("name", metavar="[SERVER]", required=False, shell_complete=servers)
def why(client: Client, name: str | None, follow: bool, as_json: bool, as_csv: bool, **asked: Any) -> None:
    """The last decisions and their reasons, newest first; of one server or of all."""
    if follow:
        if as_csv:
            raise click.UsageError("--follow and --csv exclude each other")
        _follow(client, name, as_json=as_json, **asked)
        return
    answer = pages(client, "decisions", key="decisions", default=DEFAULT, server=name, **asked)
    if print_json(answer, as_json):
        return
    lines = _with_words(answer)
    columns = ABOUT if answer["player"] else COLUMNS
    print_legend(
        print_items(
            lines,
            columns,
            as_csv=as_csv,
            empty=_none(answer, name, asked),
            narrow=lambda line: _two_lines(line, answer["player"], among_several=name is None),
        )
    )


def _follow(client: Client, server: str | None, *, as_json: bool, limit: int | None, **asked: Any) -> None:
    last, first = 0, True

    def ask() -> None:
        nonlocal last, first
        newest = limit or DEFAULT
        answer = pages(
            client, "decisions", key="decisions", default=10_000, server=server,
            limit=newest if first else None, after=last, **asked,
        )  # fmt: skip
        for line in reversed(_with_words(answer)):
            click.echo(json_text(line, indent=None, ascii_only=True) if as_json else _one_line(line, answer["player"]))
            last = max(last, line["number"])
        first = False

    appended(ask)


def _with_words(answer: Any) -> list[Line]:
    """The lines, each with the names and the words that it needs."""
    names, sides = answer["names"], answer["sides"]
    words = {"names": names, "player": answer["player"]}
    return [line | words | {"sides": sides.get(line["server"], ("A", "B"))} for line in answer["decisions"]]


def _one_line(line: Line, player: str | None) -> str:
    words = [local_time(line["at"]), line["server"], _kind(line), line["reason"], _chance(line)]
    words.append(_about(line) if player else _players(line))
    return "  ".join(printable(part, 2000) for part in words if part)


def _two_lines(line: Line, player: str | None, *, among_several: bool) -> list[str]:
    """A decision where the terminal has no room for a table."""
    first = [local_minute(line["at"]), *([line["server"]] if among_several else []), f"{_kind(line)}: {line['reason']}"]
    second = [_chance(line), _about(line) if player else _players(line)]
    return ["  ".join(first), *(f"    {text}" for text in ["  ".join(filter(None, second))] if text)]


def _kind(line: Line) -> str:
    return str(line["kind"]).replace("_", " ")


def _chance(line: Line) -> str:
    return change(line["sides"], line["detail"] or {})


def _players(line: Line) -> str:
    return moved(line["kind"], line["detail"] or {}, line["names"], line["sides"])


def _about(line: Line) -> str:
    return about(line["kind"], line["detail"] or {}, line["player"], line["sides"])


_FIRST = (
    moment("TIME", "at", shown=local_time),
    field("SERVER", "server"),
    Column("DECISION", _kind),
    field("REASON", "reason"),
)
_CHANCE = Column(
    "CHANCE",
    _chance,
    legend="of the first side to win, before → after (with its 80 % interval, where that is known)",
)
_PLAYERS = Column(
    "PLAYERS",
    _players,
    legend="who changes place by it, and where they go; kept: who wanted to change side, and may not",
)
COLUMNS = (*_FIRST, _CHANCE, _PLAYERS)
ABOUT = (*_FIRST[:3], Column("PLAYER", _about), _FIRST[3], _CHANCE)


def _none(answer: Any, server: str | None, asked: dict[str, Any]) -> str:
    who = f" about {answer['player']}" if answer["player"] else ""
    where = f" on {server}" if server else ""
    since = f" since {local_time(asked['since'])}" if asked["since"] else ""
    begin = "" if who or since else " Decisions begin with a server's first round."
    return f"Nothing was decided{who}{where}{since}.{begin}"


@click.command(epilog=examples("equipoise audit --since 1w", "equipoise audit --csv > audit.csv"))
@listing
@limited(DEFAULT)
def audit(client: Client, as_json: bool, as_csv: bool, limit: int | None, since: float | None) -> None:
    """List what admins changed, newest first: by token, by command, in the game."""
    answer = pages(client, "audit", key="audit", default=DEFAULT, limit=limit, since=since)
    if not print_json(answer, as_json):
        names = answer["names"]
        items = [line | {"name": names.get(line["target"])} for line in answer["audit"]]
        nothing = f"No admin changed anything{f' since {local_time(since)}' if since else ''}."
        print_items(items, AUDIT, as_csv=as_csv, empty=nothing)


AUDIT = (
    moment("TIME", "at"),
    field("WHO", "who", least=10),
    field("ACTION", "action"),
    field("TARGET", "target", least=17),
    field("NAME", "name", least=NAME, goes=2),
    field("BEFORE", "before", least=10, goes=1),
    Column("AFTER", lambda line: line["after"], least=12),
)
