"""Pictures of the page: SVG whose colours are those of its style sheet, with words for who cannot see them.

A picture is drawn in units of its own box and scaled by the browser. The style is in classes: the page's policy lets no
element bring its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from html import escape
from itertools import pairwise

from markupsafe import Markup

from equipoise.core.model import Side
from equipoise.core.wording import side_word
from equipoise.page.rendering import day, points, when
from equipoise.ratings.quality import Bin
from equipoise.store.listings import Result
from equipoise.store.notes import NEW_TEAMS, Chance
from equipoise.web.evenness import Began
from equipoise.web.rounds import CurvePoint

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 34
"""Margins of a picture with axes."""


def svg(shapes: Sequence[str], words: str, width: float = WIDTH, height: float = HEIGHT, kind: str = "") -> Markup:
    """Return a whole picture; `words` say what it shows."""
    return Markup(
        f'<svg class="picture {kind}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(words)}">'
        f"{''.join(shapes)}</svg>"
    )


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Return a line of text at a point of its baseline."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def across(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Return the place of a value on the horizontal axis."""
    return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)


def down(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Return the place of a value on the vertical axis."""
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)


def histogram(began: Sequence[Began], even: tuple[float, float], side: str) -> Markup:
    """Return how even rounds began: a bar for each range of chances, those of even rounds in full colour."""
    most, total = max(bar.rounds for bar in began) or 1, sum(bar.rounds for bar in began)
    within = [bar for bar in began if even[0] - 1e-9 <= bar.low and bar.high <= even[1] + 1e-9]
    shapes = []
    for bar in began:
        left, top = across(bar.low), down(bar.rounds / most)
        words = f"{bar.low:.0%} to {bar.high:.0%}: {bar.rounds:,} rounds"
        shapes.append(
            f'<rect class="{"bar-even" if bar in within else "bar-uneven"}" x="{left + 1:.1f}" y="{top:.1f}" '
            f'width="{across(bar.high) - left - 2:.1f}" height="{down(0) - top:.1f}"><title>{words}</title></rect>'
        )
    shapes += [text(across(tick / 100), HEIGHT - 14, f"{tick} %") for tick in range(10, 100, 20)]
    shapes.append(f'<path class="grid" d="M{LEFT} {down(0)}H{WIDTH - RIGHT}"/>')
    count = sum(bar.rounds for bar in within)
    words = f"Histogram of the chance of {side} at the start: {count:,} of {total:,} rounds began even"
    return svg(shapes, words)


def calibration(bins: Sequence[Bin]) -> Markup:
    """Return predictions beside results: a dot for each range of chances, with two standard errors."""
    shapes = [f'<path class="event" d="M{across(0):.1f} {down(0):.1f}L{across(1):.1f} {down(1):.1f}"/>']
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        shapes.append(f'<path class="grid" d="M{LEFT} {down(tick):.1f}H{WIDTH - RIGHT}"/>')
        shapes.append(text(LEFT - 6, down(tick) + 4, f"{tick:.0%}", "end"))
        shapes.append(
            text(across(tick), HEIGHT - 14, f"{tick:.0%}", "middle" if 0 < tick < 1 else "end" if tick else "start")
        )
    for entry in bins:
        x, y, error = across(entry.predicted), down(entry.scored.value), 2.0 * (entry.scored.error or 0.5)
        low, high = down(max(0.0, entry.scored.value - error)), down(min(1.0, entry.scored.value + error))
        words = f"said {entry.predicted:.0%}: won {entry.scored.value:.0%} of {entry.rounds:,} rounds"
        shapes.append(f'<path class="error" d="M{x:.1f} {low:.1f}V{high:.1f}"/>')
        shapes.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"><title>{words}</title></circle>')
    pairs = ", ".join(f"{entry.predicted:.0%} {entry.scored.value:.0%}" for entry in bins)
    return svg(shapes, f"Predicted chances beside the part of the rounds that was won: {pairs}")


# The course of a map.

SCALE = (0.1, 0.9)
"""Chances at the lower and the upper edge of a course: what lies beyond is drawn at the edge."""
LATEST = 16
"""Rounds that a small course shows, the last ones: a wall of a hundred servers stays a page that loads at once."""


def course(
    chances: Sequence[Chance], results: Sequence[Result], now: float, sides: Sequence[str], *, small: bool
) -> Markup | None:
    """Return the chance of side A over a map, with its interval, new teams dotted and who won below; None: nothing yet.

    Lines and results as the routes have them: newest first.
    """
    if not chances:
        return None
    won = [sum(result.winner is side for result in results) for side in Side]
    # Of a small one each digit counts: whole units are half a pixel, and one line and mark a column is enough.
    width, height, foot, column, places = (440.0, 76.0, 16.0, 20.0, 0) if small else (1240.0, 170.0, 26.0, 0.1, 1)
    lines = list(reversed(chances))
    if small and len(results) > LATEST:
        results = results[:LATEST]
        before = sum(line.at <= results[-1].at for line in lines)
        lines = lines[max(0, before - 1) :]
    first = min([lines[0].at, *(result.at for result in results[-1:])])
    span = max(now - first, 60.0)

    def x(at: float) -> float:
        return width * min(max(at - first, 0.0), span) / span

    def y(chance: float) -> str:
        low, high = SCALE
        return f"{(height - foot) * (high - min(max(chance, low), high)) / (high - low):.{places}f}"

    new_teams = {x(line.at) // column: x(line.at) for line in lines if line.cause in NEW_TEAMS}
    lines = list({x(line.at) // column: line for line in lines}.values())
    ends = [x(line.at) for line in lines[1:]] + [width]
    shapes = [
        f'<path class="band" d="M{x(line.at):.1f} {y(line.high)}H{end:.1f}V{y(line.low)}H{x(line.at):.1f}Z"/>'
        for line, end in zip(lines, ends, strict=True)
        if line.low is not None and line.high is not None and not small
    ]
    steps = "".join(f"V{y(line.chance)}H{end:.{places}f}" for line, end in zip(lines, ends, strict=True))
    shapes.append(f'<path class="line" d="M{x(lines[0].at):.{places}f} {y(lines[0].chance)}{steps}"/>')
    marks = [("event", "new teams", [f"{at:.{places}f} 0V{height - foot:g}" for at in new_teams.values()])]
    edge = 3.5 if small else 5.0
    for winner in (*Side, None):
        kind, word = (f"won-{winner.value}", side_word(sides, winner.value)) if winner else ("nobody", "nobody")
        wide = 0.0 if winner else edge
        ends = [min(max(x(result.at), edge), width - edge) for result in results if result.winner is winner]
        own = [f"{at - wide:.{places}f} {height - foot / 2:g}h{2 * wide:g}" for at in ends]
        marks.append((kind, f"{escape(word)} won", own))
    shapes += [
        f'<path class="{kind}" d="M{"M".join(own)}">{"" if small else f"<title>{title}</title>"}</path>'
        for kind, title, own in marks
        if own
    ]
    if small:
        return svg(shapes, f"Rounds won: {won[0]} to {won[1]}", width, height, "course")
    words = (
        f"Chance of {side_word(sides, 'a')} over this map, now {chances[0].chance:.0%}; rounds won {won[0]} to {won[1]}"
    )
    return svg(shapes, words, width, height, "course")


HOURS = 2 * 86400.0
"""Seconds below which a curve's times have hours."""


def curve(ratings: Sequence[CurvePoint]) -> Markup | None:
    """Return a rating over time with its band, where that is known, and edits as dotted lines; None before the second
    point.

    The picture has the width of the page, so that its words stand beside it: they would be stretched inside.
    """
    times = [point.at for point in ratings]  # a round that came late stands behind newer ones
    if not times or min(times) == max(times):
        return None
    first, last = min(times), max(times)
    lows = [point.rating if point.low is None else point.low for point in ratings]
    highs = [point.rating if point.high is None else point.high for point in ratings]
    ticks = _ticks(min(lows), max(highs))

    def place(at: float, rating: float) -> str:
        return f"{1000 * (at - first) / (last - first):.1f} {200 * (ticks[-1] - rating) / (ticks[-1] - ticks[0]):.1f}"

    shapes = [f'<path class="grid" d="M0 {200 * line / (len(ticks) - 1):.1f}H1000"/>' for line in range(len(ticks))]
    if any(point.low is not None for point in ratings):
        forth = [place(point.at, high) for point, high in zip(ratings, highs, strict=True)]
        back = [place(point.at, low) for point, low in zip(reversed(ratings), reversed(lows), strict=True)]
        shapes.append(f'<path class="band" d="M{"L".join((*forth, *back))}Z"/>')
    steps = []
    for previous, point in pairwise((ratings[0], *ratings)):
        if point.edit is not None:  # until then nothing had changed
            steps.append(place(point.at, previous.rating))
        steps.append(place(point.at, point.rating))
    shapes.append(f'<path class="line" d="M{"L".join(steps)}"/>')
    for point in ratings:
        if point.edit is not None:
            x, _, _ = place(point.at, point.rating).partition(" ")
            shapes.append(f'<path class="event" d="M{x} 0V200"><title>{escape(point.edit)}</title></path>')
    values = [point.rating for point in ratings]
    ends = f"from {points(values[0])} to {points(values[-1])}"
    words = f"Rating over time: {ends}, lowest {points(min(values))}, highest {points(max(values))}"
    written = partial(when, dated=True) if last - first < HOURS else day
    labels = [first + (last - first) * part / 3 for part in range(4)]
    return Markup(
        '<div class="curve"><div class="ticks" aria-hidden="true">{}</div>'
        '<svg class="picture" viewBox="0 0 1000 200" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
        '<div class="times">{}</div></div>'
    ).format(
        Markup("").join(Markup("<span>{}</span>").format(points(tick)) for tick in reversed(ticks)),
        words,
        Markup("".join(shapes)),
        Markup("").join(Markup("<span>{}</span>").format(written(at)) for at in labels),
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers at equal distances, from the lowest on, between which all values lie.

    >>> _ticks(968, 1131)
    [950.0, 1000.0, 1050.0, 1100.0, 1150.0]
    """
    rough = max(high - low, 1.0) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    bottom, top = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return [step * tick for tick in range(bottom, top + 1)]
