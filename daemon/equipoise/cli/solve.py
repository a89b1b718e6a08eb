"""`equipoise lab solve`: the best split of some players for every team size, from a file or a pipe."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from equipoise.cli.options import INTERRUPTED, WRONG, Stopped, examples, stop
from equipoise.cli.output import json_text
from equipoise.errors import SplitError

if TYPE_CHECKING:
    from equipoise.solver import Assignment, Splits

THETA = 2400.0
"""Difference in points at which the odds are e to 1."""


class InputPlayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A player of the file. Those with the same `group` stay together, those with the same `role` are split evenly."""

    rating: int | float
    id: str | int | None = None
    group: str | int | None = None
    role: str | int | None = None
    pin: Literal["a", "b", "bench", "play"] | None = None


class Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: either ratings alone, or players."""

    ratings: list[int | float] | None = None
    players: list[InputPlayer] | None = None


class BadInput(Stopped):
    """The input is wrong: one line says how."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, WRONG)


@click.command(epilog=examples("""echo '{"ratings": [1830, 1210, 1450, 990]}' | equipoise lab solve"""))
@click.argument("file", default="-")
@click.option("--k", type=int, help="Only this team size.")
@click.option("--theta", type=float, default=THETA, show_default=True, help="Scale of the win probability, points.")
@click.option("--resolution", type=float, help="Ticks per point to round ratings to.")
@click.option(
    "--seconds",
    type=float,
    default=10.0,
    show_default=True,
    help="Then, or when its memory is used up, the best splits so far are printed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: indices into the input.")
def solve(file: str, k: int | None, theta: float, resolution: float | None, seconds: float, as_json: bool) -> None:
    """Split the players in FILE (default: standard input) into two teams, exactly, for every team size.

    FILE holds {"ratings": [1500, …]} or {"players": [{"id": "ann", "rating": 1500, "group": "friends", "role": "medic",
    "pin": "a"}, …]}; all but the rating may be left out. A pin is a, b, bench or play.
    """
    from equipoise.solver import Budget, Pin, splits

    if not theta > 0:
        raise BadInput("--theta is a number of points above 0")
    if not seconds > 0:
        raise BadInput("--seconds is a number above 0")
    players = _players(_read(file))
    budget = Budget(math.inf, clock=time.monotonic, until=time.monotonic() + seconds)
    try:
        best = splits(
            [player.rating for player in players],
            groups=_alike({i: player.group for i, player in enumerate(players)}),
            roles=_alike({i: player.role for i, player in enumerate(players)}),
            pins={i: Pin(player.pin) for i, player in enumerate(players) if player.pin},
            k=k,
            resolution=resolution,
            budget=budget,
        )
    except SplitError as error:
        raise BadInput(str(error)) from None
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    click.echo(_as_json(best) if as_json else _as_text(best, players, theta))


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from None


def _players(text: bytes) -> list[InputPlayer]:
    try:
        content = msgspec.json.decode(text, type=Input)
    except msgspec.ValidationError as error:
        raise BadInput(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"the input is not JSON: {error}") from None
    if (content.ratings is None) == (content.players is None):
        raise BadInput('the input has either "ratings" or "players"')
    players = [InputPlayer(rating) for rating in content.ratings or ()] or list(content.players or ())
    names = set[str | int]()
    for player in players:
        if player.id in names:
            raise BadInput(f"player {player.id} appears twice")
        if player.id is not None:
            names.add(player.id)
    return players


def _alike(labels: Mapping[int, str | int | None]) -> list[list[int]]:
    """The indices of each label, one list per label; None is no label."""
    alike: dict[str | int, list[int]] = {}
    for index, label in labels.items():
        if label is not None:
            alike.setdefault(label, []).append(index)
    return list(alike.values())


def _as_json(found: Splits) -> str:
    return json_text({"splits": [_record(k, assignment) for k, assignment in found.items()]}, indent=None)


def _record(k: int, assignment: Assignment) -> dict[str, object]:
    return {
        "k": k,
        "a": assignment.a,
        "b": assignment.b,
        "bench": assignment.bench,
        "difference": assignment.difference,
        "optimal": assignment.optimal,
        "gap": assignment.gap._asdict(),
    }


def _as_text(found: Splits, players: Sequence[InputPlayer], theta: float) -> str:
    return "\n\n".join(_paragraph(assignment, players, theta) for assignment in found.values())


def _paragraph(assignment: Assignment, players: Sequence[InputPlayer], theta: float) -> str:
    from equipoise.core.model import logistic

    chance = logistic(assignment.difference / theta)
    size_a, size_b = assignment.sizes
    lines = [f"{size_a} against {size_b}: difference {assignment.difference:+g}, A has a {100 * chance:.1f} % chance"]
    if not assignment.optimal:
        lines.append(f"  not proven to be the best, which may be {assignment.gap.points:g} points closer")
    for name, indices in (("A", assignment.a), ("B", assignment.b), ("bench", assignment.bench)):
        if indices:
            members = ", ".join(f"{_name(i, players[i])}\N{NO-BREAK SPACE}{players[i].rating:g}" for i in indices)
            lines += textwrap.wrap(members, 100, initial_indent=f"  {name:<7}", subsequent_indent=" " * 9)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def _name(index: int, player: InputPlayer) -> str:
    return f"#{index}" if player.id is None else str(player.id)
