"""What commands share that print a list of the daemon's: how much of it, since when, and as what."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

import click

from equipoise.cli.client import Client

Command = Callable[..., None]
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
PAGE = 1000
"""The longest page that the daemon gives."""


class Since(click.ParamType[float]):
    """A time, as long ago as a number and a unit say, or a date by the reader's clock; in seconds since the epoch."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds since the epoch."""
        if found := re.fullmatch(r"([0-9]{1,9})([smhdw])", value):
            return time.time() - int(found[1]) * UNITS[found[2]]
        for form in DATES:
            with suppress(ValueError, OverflowError):
                return datetime.strptime(value, form).timestamp()  # noqa: DTZ007 (by the reader's clock)
        message = f"{value!r} is neither like 30m, 2h, 3d, 1w nor a date like 2026-11-22 or '2026-11-22 18:30'"
        raise click.BadParameter(message, ctx, param)


def limited(default: int) -> Callable[[Command], Command]:
    """Give a command the options of a list whose length people choose."""

    def decorate(command: Command) -> Command:
        what = f"How many, at most. [default: {default}; with --since all]"
        command = click.option("--limit", type=click.IntRange(1, 1_000_000), metavar="N", help=what)(command)
        return click.option("--since", type=Since(), metavar="TIME", help="Since 30m, 2h, 3d, 1w ago, or a date.")(
            command
        )

    return decorate


csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print the list as CSV.")


def one_format(*, as_json: bool, as_csv: bool) -> None:
    """Refuse both formats at once."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")


def pages(
    client: Client, *path: str, key: str, limit: int | None, since: float | None, default: int, **query: Any
) -> Any:
    """The daemon's answer with as much of the list as was asked for, and what its pages say beside it."""
    wanted = limit or (default if since is None else 1_000_000)
    answer: dict[str, Any] = {}
    before = None
    while True:
        found = len(answer.get(key, ()))
        asked = {**query, "since": since, "before": before, "limit": min(PAGE, wanted - found)}
        part = client.get(*path, **asked)
        for name, value in part.items():
            if isinstance(value, list):
                answer[name] = [*answer.get(name, ()), *value]
            elif isinstance(value, dict):
                answer[name] = {**answer.get(name, {}), **value}
            else:
                answer[name] = value
        before = part["before"]
        if before is None or len(answer[key]) >= wanted:
            return answer
