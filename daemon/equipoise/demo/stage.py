"""The stages that an evening is shown on: a board drawn on a live screen, the ticker's lines alone, or nothing."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from types import TracebackType
from typing import Literal

from rich.console import Console, Group
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from equipoise.core.model import Side
from equipoise.demo.record import Record, percent

Kind = Literal["round", "scramble", "people", "trouble", "move", "map"]


@dataclass(frozen=True, slots=True)
class Look:
    """A game's names for its sides, and their colours."""

    sides: tuple[str, str]
    colours: tuple[str, str]
    """Colours by rich's names."""
    scrambles: str
    """The game's word for scrambles."""
    ring: str
    """The script's word for the finished rounds that wait."""
    legend: str
    """Signs that only this game has; may be empty."""
    outside: str
    """The place of players who are on no side."""


TF2_LOOK = Look(("RED", "BLU"), ("red", "bright_blue"), "scrambles", "ring", "", "bench")
NS2_LOOK = Look(("Marines", "Aliens"), ("bright_blue", "orange1"), "shuffles", "outbox", " · ★ commands", "ready room")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the ticker."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A player: the daemon's rating, and the truth."""

    name: str
    rating: float
    shadow: bool
    """The rating counts but players do not see it yet."""
    change: float
    """Change of the rating by the player's last rated round."""
    skill: float


@dataclass(frozen=True, slots=True)
class Board:
    """One moment of the evening."""

    look: Look
    map: str
    number: int
    """The running round, 1 first."""
    rounds: int
    """How many there will be."""
    a: tuple[Row, ...]
    b: tuple[Row, ...]
    bench: tuple[Row, ...]
    predicted: float
    """Side A's win probability as the daemon says it."""
    winner: Side | None
    due: str
    """The outcome that would make a scramble due, by the daemon's word; empty: none."""
    up: bool
    """The daemon answers."""
    ring: int
    """Finished rounds that it has not stored yet."""
    chat: str
    """The last message in the game's chat."""
    record: Record


STYLES: dict[Kind, str] = {
    "round": "dim",
    "scramble": "bold yellow",
    "people": "green",
    "trouble": "bold magenta",
    "move": "bold cyan",
    "map": "bold",
}
WIDE = 100
"""From this many columns on, true skill is shown beside the ratings."""
LEARNING_ROWS = 10
RECENT = 20
"""Rounds over which the shown probabilities are averaged."""
LEVELS = "▁▂▃▄▅▆▇█"


def screen(board: Board, ticker: Sequence[Line], width: int, height: int, page: str = "") -> Layout:
    """The board and the ticker, laid out for a terminal of this size; below them the page's address."""
    teams = max(LEARNING_ROWS, len(board.a) + 3, len(board.b) + 3)
    layout = Layout()
    layout.split_column(
        Layout(_title(board), size=1),
        Layout(_middle(board, wide=width >= WIDE), size=teams),
        Layout(_chances(board, width), size=2),
        Layout(_ticker(ticker, width, height - teams - 4, page), minimum_size=3),
        Layout(_legend(board), size=1),
    )
    return layout


def _title(board: Board) -> Table:
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="center", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    state = Text("● daemon up", "green") if board.up else Text("✖ daemon dead", "bold magenta")
    if board.ring and not board.up:
        state.append(f" · {board.ring} in the {board.look.ring}", "magenta")
    middle = Text.assemble((f"round {board.number}", "bold"), (f" of {board.rounds}", "dim"))
    grid.add_row(Text.assemble(("Equipoise", "bold"), (f"  {board.map}", "dim")), middle, state)
    return grid


def _middle(board: Board, *, wide: bool) -> Table:
    grid = Table.grid(expand=True)
    for _ in range(3):
        grid.add_column(ratio=1)
    grid.add_row(
        _side(board, Side.A, wide=wide),
        _side(board, Side.B, wide=wide),
        _learning(board, wide=wide),
    )
    return grid


def _side(board: Board, side: Side, *, wide: bool) -> Panel:
    place = int(side is Side.B)
    rows, name, colour = (board.a, board.b)[place], board.look.sides[place], board.look.colours[place]
    title = Text(f" {name} ", f"bold reverse {colour}")
    if board.winner is side:
        title.append(" won ", f"bold not reverse {colour}")
    return Panel(_players(rows, wide=wide), title=title, title_align="left", border_style=colour, padding=(0, 1))


def _players(rows: Sequence[Row], *, wide: bool) -> Table:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column(justify="right", width=5)
    table.add_column(justify="right", width=4)
    if wide:
        table.add_column(justify="right", width=6)
    table.add_row(*(Text(head, "dim") for head in ("", "rated", "last", *(["truth"] if wide else []))))
    for row in rows:
        truth = (Text(f"{row.skill:.0f}", "dim italic"),) if wide else ()
        table.add_row(Text(row.name), _rating(row), _change(row), *truth)
    return table


def _rating(row: Row) -> Text:
    return Text(f"{row.rating:.0f}°", "dim") if row.shadow else Text(f"{row.rating:.0f} ", "bold")


def _change(row: Row) -> Text:
    style = "green" if row.change > 0 else "red"
    return Text(f"{row.change:+.0f}", style) if row.change else Text("")


def _learning(board: Board, *, wide: bool) -> Panel:
    """How well the ratings know the players, and what that does for the teams."""
    record = board.record
    width = 26 if wide else 20
    fidelity = record.fidelity[-1] if record.fidelity else 0.0
    stronger, random = record.evenness(RECENT)
    should, did = record.expected()
    lines = Group(
        Text.assemble("ratings ~ truth ", (f"{fidelity:.2f}", "bold")),
        Text(sparkline(record.fidelity, width, 0.0, 1.0), "cyan"),
        Text.assemble("stronger side   ", (percent(stronger), "bold")),
        Text(sparkline(_averaged([entry.stronger for entry in record.rounds]), width, 0.5, 1.0), "yellow"),
        Text(f"  random teams: {percent(random)}", "dim"),
        Text.assemble("favourites won  ", (f"{did:g}", "bold"), (f"/{len(record.rounds)}", "dim")),
        Text(f"  predicted:    {should:.0f}", "dim"),
        Text.assemble(
            f"{board.look.scrambles} ", (f"{record.scrambles}", "bold"), "  moved ", (f"{record.moved}", "bold")
        ),
    )
    return Panel(lines, title="learning", title_align="left", border_style="dim", padding=(0, 1))


def _averaged(values: Sequence[float], over: int = RECENT) -> list[float]:
    """At each place the mean of the last values up to it."""
    means = []
    for end in range(1, len(values) + 1):
        recent = values[max(0, end - over) : end]
        means.append(sum(recent) / len(recent))
    return means


def sparkline(values: Sequence[float], width: int, low: float, high: float) -> str:
    """The whole series as at most `width` blocks, each the mean of its part, scaled from `low` to `high`.

    >>> sparkline([0.0, 0.5, 1.0], 10, 0.0, 1.0)
    '▁▅█'
    """
    if not values:
        return ""
    count = min(width, len(values))
    edges = [round(index * len(values) / count) for index in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    levels = [int((mean - low) / (high - low) * len(LEVELS)) for mean in means]
    return "".join(LEVELS[min(len(LEVELS) - 1, max(0, level))] for level in levels)


def _chances(board: Board, width: int) -> Group:
    """Both win probabilities as a bar; below it who waits, what makes a scramble due, and the last chat message."""
    (a, b), (red, blu) = board.look.sides, board.look.colours
    inner = width - 17 - len(a) - len(b)
    # 16 columns are the two percentages and their blanks, and one is to spare.
    width_of_a = round(board.predicted * inner)
    bar = Text.assemble(
        (f" {a} {percent(board.predicted):>5} ", f"bold {red}"),
        ("━" * width_of_a, red),
        ("╍" * (inner - width_of_a), blu),
        (f" {percent(1 - board.predicted):<5} {b} ", f"bold {blu}"),
    )
    parts = [
        Text.assemble((f" {board.look.outside} ", "reverse dim"), f" {', '.join(row.name for row in board.bench)}"),
        Text(f" {board.due}", "yellow"),
        Text(f" “{board.chat}”", "dim italic"),
    ]
    below = Text(" ").join(
        part for part, shown in zip(parts, (board.bench, board.due, board.chat), strict=True) if shown
    )
    below.truncate(width, overflow="ellipsis")
    return Group(bar, below)


def _ticker(lines: Sequence[Line], width: int, height: int, page: str) -> Panel:
    """The newest lines, wrapped, as many as fit."""
    shown = [
        Text(part, STYLES[line.kind])
        for line in lines
        for part in wrap(line.text, max(20, width - 4), subsequent_indent="  ")
    ]
    newest = Group(*shown[-max(1, height - 2) :])
    below = Text(page, "default not dim") if page else None
    title = "what happens, and why"
    return Panel(newest, border_style="dim", padding=(0, 1), title=title, title_align="left", subtitle=below)


def _legend(board: Board) -> Text:
    text = f" ° shadow: counts, not shown · stronger side, truly: 50 % is even{board.look.legend}"
    return Text(text, "dim", no_wrap=True)


PAGE = "The page, while this runs"
REMEMBERED = 60
"""Lines that the ticker of the tallest screen shows."""


class Stage:
    """A place that shows the evening; this one shows nothing, and waits at a speed, 0 for not at all."""

    def __init__(self, speed: float = 0.0) -> None:
        self._speed = speed

    def open(self, page: str) -> None:
        """Show the address at which a browser can watch, too."""

    def add(self, line: Line) -> None:
        """Add a line to the ticker."""

    def show(self, board: Board) -> None:
        """Draw the present state of the evening."""

    async def rest(self, seconds: float) -> None:
        """Wait, so that people can read; `seconds` are those at speed 1."""
        if self._speed:
            await asyncio.sleep(seconds / self._speed)


class Plain(Stage):
    """The ticker's lines alone, for pipes and logs."""

    def __init__(self, console: Console, speed: float) -> None:
        super().__init__(speed)
        self._console = console

    def open(self, page: str) -> None:
        """Print the address, on a line of its own."""
        self.add(Line("map", f"{PAGE}: {page}"))

    def add(self, line: Line) -> None:
        """Print the line at once, without markup."""
        self._console.print(line.text, markup=False, highlight=False, soft_wrap=True)


class Screen(Stage):
    """The whole terminal, redrawn at every moment; a context, at whose end the terminal is as it was before."""

    def __init__(self, console: Console, speed: float) -> None:
        super().__init__(speed)
        self._console = console
        self._ticker: deque[Line] = deque(maxlen=REMEMBERED)
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self._page = ""

    def __enter__(self) -> Screen:
        """Switch the terminal to its alternate screen."""
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the terminal, also after an error."""
        self._live.__exit__(kind, error, trace)

    def open(self, page: str) -> None:
        """Keep the address in the frame."""
        self._page = page

    def add(self, line: Line) -> None:
        """Keep the line for the next time that the screen is drawn."""
        self._ticker.append(line)

    def show(self, board: Board) -> None:
        """Draw the board and the ticker in the terminal's present size."""
        width, height = self._console.size
        self._live.update(screen(board, tuple(self._ticker), width, height, self._page), refresh=True)
