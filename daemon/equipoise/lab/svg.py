"""Charts as SVG text: no script, one style for light and dark backgrounds, no value shown by colour alone.

Written by hand, because the charts must look the same in a README, in an HTML report and in an image viewer, where
plotting libraries bring scripts, fonts or CSS variables that half of these do not have. Data coordinates become pixels
in `Chart.across` and `Chart.down` alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 78, 36, 44, 52
"""Margins of the frame, pixels; the left one grows with the labels of the ticks."""
UPRIGHT = 24
"""Width of the title of the y axis with a gap, pixels."""
TICK = 8
"""Gap between a tick's label and the frame, pixels."""
CAP = 4
"""Half the width of an error bar's cap, pixels."""
LEGEND_ROW = 18
LETTER = 7.0
"""Width of an average letter, pixels."""
NAME = 60
"""Longest name, in letters; the middle of longer ones is left out."""
_SHAPES = """
.chart { font-family: system-ui, sans-serif; font-size: 13px; }
.chart .title { font-size: 16px; font-weight: 600; }
.chart .grid, .chart .axis { stroke-width: 1; }
.chart .ideal { stroke-width: 1.5; stroke-dasharray: 5 4; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .dashed { stroke-dasharray: 7 4; }
.chart .error { stroke-width: 1.5; }
"""


def _rules(ink: str, soft: str, grid: str, paper: str, series: Sequence[str]) -> str:
    """CSS rules for one kind of background, without variables, which half of all SVG viewers do not know."""
    rules = (
        f".chart text {{ fill: {ink}; }}",
        f".chart .soft {{ fill: {soft}; }}",
        f".chart .paper {{ fill: {paper}; }}",
        f".chart .grid {{ stroke: {grid}; }}",
        f".chart .axis, .chart .ideal {{ stroke: {soft}; }}",
        *(f".chart .s{number} {{ stroke: {colour}; }}" for number, colour in enumerate(series)),
        *(f".chart .f{number} {{ fill: {colour}; }}" for number, colour in enumerate(series)),
    )
    return "\n".join(rules)


_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#7b4fa8", "#8a6d00", "#b3123f", "#00808a", "#444c56")
_DARK = ("#58a6e0", "#f0883e", "#3fc79a", "#bb9af0", "#d9b93b", "#ff7a93", "#4fd1d9", "#b1bac4")
COLOURS = len(_LIGHT)
"""Number of different colours; further series repeat them with dashed lines."""
STYLE = (
    f"{_SHAPES}{_rules('#1f2328', '#59636e', '#d8dee4', '#ffffff', _LIGHT)}\n"
    f"@media (prefers-color-scheme: dark) {{\n{_rules('#e6edf3', '#9198a1', '#30363d', '#0d1117', _DARK)}\n}}\n"
)


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from the data's `low` to `high` to pixels."""

    label: str
    low: float
    high: float
    percent: bool = False
    whole: bool = False
    """Ticks are whole numbers, because the axis counts something."""
    ticked: bool = True
    """False: values are positions in a list."""

    def ticks(self) -> list[float]:
        """Round numbers within the axis, about five.

        >>> Axis("match", 0, 1180, whole=True).ticks()
        [0.0, 250.0, 500.0, 750.0, 1000.0]
        """
        if not self.ticked:
            return []
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        steps = [factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999]
        step = next((step for step in steps if step.is_integer()), 1.0) if self.whole else steps[0]
        # An end that is a multiple of the step but for rounding has a tick.
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def text(self, value: float) -> str:
        """The label of a tick.

        >>> Axis("share", 0, 1, percent=True).text(0.25)
        '25 %'
        """
        if self.percent:
            return f"{100 * value:.4g} %"
        # -0.0 + 0.0 is 0.0: no tick reads "-0".
        return f"{value + 0.0:,.9g}"

    @classmethod
    def around(cls, label: str, values: Iterable[float], *, percent: bool = False) -> Axis:
        """An axis slightly wider than the range of the finite values."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        margin = 0.06 * (high - low) or 0.05 * abs(low) or 0.5
        return cls(label, low - margin, high + margin, percent)


class Chart:
    """One pair of axes and what is drawn between them."""

    def __init__(self, title: str, x: Axis, y: Axis, *, height: int = HEIGHT, empty: str = "too few matches") -> None:
        self.title, self.x, self.y, self.height = title, x, y, height
        self.left = max(LEFT, UPRIGHT + TICK + max((_figure_width(y.text(tick)) for tick in y.ticks()), default=0))
        self.empty = empty
        """The text in the frame if nothing is drawn in it."""
        self._lines: list[str] = []
        self._marks: list[str] = []
        self._names: list[tuple[str, int]] = []

    def across(self, value: float) -> float:
        """An x value as pixels from the left."""
        return self.left + (value - self.x.low) / (self.x.high - self.x.low) * (WIDTH - self.left - RIGHT)

    def down(self, value: float) -> float:
        """A y value as pixels from the top."""
        return self.height - BOTTOM - (value - self.y.low) / (self.y.high - self.y.low) * (self.height - TOP - BOTTOM)

    def legend(self, label: str, series: int) -> None:
        """Add an entry with a series' colour to the legend."""
        self._names.append((printable(label, NAME), series))

    def line(self, xs: Sequence[float], ys: Sequence[float], series: int) -> None:
        """A line through points; a dot where there is only one."""
        points = [f"{self.across(x):.1f},{self.down(y):.1f}" for x, y in zip(xs, ys, strict=True)]
        if len(points) == 1:
            self._marks.append(self._circle(xs[0], ys[0], series, 3))
        elif points:
            self._marks.append(f'<polyline class="line {_stroke(series)}" points="{" ".join(points)}"/>')

    def ideal(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A dashed straight line for comparison."""
        self._lines.append(f'<line class="ideal" {self._ends(start, end)}/>')

    def dot(self, x: float, y: float, series: int, error: float | None, tooltip: str) -> None:
        """A point, with its standard error as a vertical bar; `tooltip` is shown on hovering, and read out."""
        if error:
            self._error((x, y - error), (x, y + error), series)
        self._marks.append(self._circle(x, y, series, 4.5, tooltip))

    def span(self, low: float, middle: float, high: float, y: float, series: int, tooltip: str) -> None:
        """A point with a horizontal error bar."""
        if low < high:
            self._error((low, y), (high, y), series)
        self._marks.append(self._circle(middle, y, series, 5, tooltip))

    def _error(self, start: tuple[float, float], end: tuple[float, float], series: int) -> None:
        """A bar with a cap at each end, but not where the frame cuts it off."""
        stroke = f'class="error s{series % COLOURS}"'
        cut = [(min(max(x, self.x.low), self.x.high), min(max(y, self.y.low), self.y.high)) for x, y in (start, end)]
        self._marks.append(f"<line {stroke} {self._ends(*cut)}/>")
        wide, high = (0, CAP) if start[1] == end[1] else (CAP, 0)
        for kept, meant in zip(cut, (start, end), strict=True):
            if kept == meant:
                x, y = self.across(kept[0]), self.down(kept[1])
                self._marks.append(f"<line {stroke} {_pixels(x - wide, y - high, x + wide, y + high)}/>")

    def _circle(self, x: float, y: float, series: int, radius: float, tooltip: str = "") -> str:
        at = f'cx="{self.across(x):.1f}" cy="{self.down(y):.1f}" r="{radius:g}"'
        return f'<circle class="f{series % COLOURS}" {at}>{_title(tooltip) if tooltip else ""}</circle>'

    def bar(self, low: float, high: float, value: float, series: int, tooltip: str) -> None:
        """A column from 0 to `value`, between `low` and `high` on the x axis."""
        left, top = self.across(low) + 1, self.down(value)
        size = f'width="{max(self.across(high) - left - 1, 1):.1f}" height="{max(self.down(0) - top, 0):.1f}"'
        box = f'<rect class="f{series % COLOURS}" x="{left:.1f}" y="{top:.1f}" {size}>'
        self._marks.append(f"{box}{_title(tooltip)}</rect>")

    def label(self, x: float, y: float, text: str) -> None:
        """Text in the chart, to the right of a place."""
        at = f'x="{self.across(x) + 9:.1f}" y="{self.down(y) + 4:.1f}"'
        self._marks.append(f'<text class="soft" {at}>{_safe(text)}</text>')

    def body(self) -> str:
        """The chart's SVG elements, without a root element."""
        head = f'<text class="title" x="{self.left:.1f}" y="24">{_safe(self.title)}</text>'
        inside = [*self._grid(), *self._lines, *self._marks] if self._marks else [self._nothing()]
        return "\n".join((head, *inside, *self._labels(), *self._legend()))

    @property
    def full_height(self) -> int:
        """Height with the legend, pixels."""
        return self.height + LEGEND_ROW * len(self._rows())

    def _ends(self, start: tuple[float, float], end: tuple[float, float]) -> str:
        return _pixels(*(pixel for x, y in (start, end) for pixel in (self.across(x), self.down(y))))

    def _grid(self) -> Iterable[str]:
        left, right, top, bottom = f"{self.left:.1f}", WIDTH - RIGHT, TOP, self.height - BOTTOM
        for value in self.x.ticks():
            x = f"{self.across(value):.1f}"
            yield f'<line class="grid" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>'
            yield f'<text class="soft" x="{x}" y="{bottom + 18}" text-anchor="middle">{self.x.text(value)}</text>'
        for value in self.y.ticks():
            y = self.down(value)
            yield f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            at = f'x="{self.left - TICK:.1f}" y="{y + 4:.1f}"'
            yield f'<text class="soft" {at} text-anchor="end">{self.y.text(value)}</text>'
        yield f'<line class="axis" x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'

    def _nothing(self) -> str:
        x, y = self._middle()
        size = f'width="{WIDTH - RIGHT - self.left:.1f}" height="{self.height - BOTTOM - TOP}"'
        frame = f'<rect class="grid" x="{self.left:.1f}" y="{TOP}" {size} fill="none"/>'
        return f'{frame}\n<text class="soft" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{_safe(self.empty)}</text>'

    def _middle(self) -> tuple[float, float]:
        return (self.left + WIDTH - RIGHT) / 2, (TOP + self.height - BOTTOM) / 2

    def _labels(self) -> Iterable[str]:
        middle, centre = self._middle()
        yield f'<text x="{middle:.1f}" y="{self.height - 12}" text-anchor="middle">{_safe(self.x.label)}</text>'
        rotation = f'transform="rotate(-90 14 {centre:.1f})"'
        yield f'<text x="14" y="{centre:.1f}" text-anchor="middle" {rotation}>{_safe(self.y.label)}</text>'

    def _legend(self) -> Iterable[str]:
        for number, row in enumerate(self._rows()):
            y = self.height + LEGEND_ROW * number + 6
            x = self.left
            for label, series in row:
                yield f'<line class="line {_stroke(series)}" x1="{x:.0f}" y1="{y - 4}" x2="{x + 22:.0f}" y2="{y - 4}"/>'
                yield f'<text x="{x + 28:.0f}" y="{y}">{_safe(label)}</text>'
                x += _legend_width(label)

    def _rows(self) -> list[list[tuple[str, int]]]:
        rows: list[list[tuple[str, int]]] = []
        # So the first name begins a row, as one that does not fit into the last.
        edge = math.inf
        for label, series in self._names:
            if edge + _legend_width(label) > WIDTH - self.left - RIGHT:
                rows.append([])
                edge = 0.0
            rows[-1].append((label, series))
            edge += _legend_width(label)
        return rows


def picture(charts: Sequence[Chart]) -> str:
    """The text of one SVG file with the charts below each other."""
    parts, top = [], 0
    for chart in charts:
        parts.append(f'<g transform="translate(0 {top})">\n{chart.body()}\n</g>')
        top += chart.full_height
    size = f'viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    root = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {size}>'
    title = _title("; ".join(chart.title for chart in charts))
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return "\n".join((root, title, f"<style>{STYLE}</style>", paper, *parts, "</svg>\n"))


def _pixels(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'


def _stroke(series: int) -> str:
    return f"s{series % COLOURS}" + (" dashed" if series >= COLOURS else "")


def _figure_width(text: str) -> float:
    """Width of a tick's label in a wide font, pixels."""
    return sum(12.4 if sign == "%" else 4.8 if sign in "-., " else 8.3 for sign in text)


def _legend_width(label: str) -> float:
    return 52 + LETTER * len(label)


def _title(text: str) -> str:
    return f"<title>{_safe(text)}</title>"


def _safe(text: str) -> str:
    return escape(printable(text))


MOST = 240


def printable(text: str, most: int = MOST) -> str:
    """One line without control characters, its middle left out where it is longer than `most`.

    A terminal would obey control characters, and XML forbids them.

    >>> printable("red\\x1b[31m alert")
    'red�[31m alert'
    >>> printable("abcdefgh", most=4)
    'ab…gh'
    """
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[-most // 2 :]}"
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
