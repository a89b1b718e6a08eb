"""A few SVG shapes: boxes, arrows and lifelines, for the pictures of docs/architecture.md."""

from __future__ import annotations

from html import escape

FONT = "font-family='system-ui, -apple-system, Segoe UI, sans-serif'"
INK, FAINT = "#1f2933", "#7b8794"
HALO = "stroke='white' stroke-width='3' paint-order='stroke' stroke-linejoin='round'"
"""Keeps text readable where a line runs behind it."""


class Sheet:
    """A drawing of a fixed size, in pixels; later shapes lie over earlier ones."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._shapes: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, fill: str, title: str, *lines: str) -> None:
        """A rounded box with a bold title and smaller lines below it, all centred."""
        self._shapes.append(
            f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='6' fill='{fill}' stroke='{INK}'/>"
        )
        first = y + height / 2 + 5 - 8 * len(lines)
        self.text(x + width / 2, first, title, bold=True, halo=False)
        for number, line in enumerate(lines, 1):
            self.text(x + width / 2, first + 16 * number, line, size=11.5, halo=False)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 13.5,
        bold: bool = False,
        anchor: str = "middle",
        colour: str = INK,
        halo: bool = True,
    ) -> None:
        """One line of text; `y` is its baseline, and `halo` clears the lines behind it."""
        style = " font-weight='600'" * bold + f" {HALO}" * halo
        self._shapes.append(
            f"<text x='{x:g}' y='{y:g}' font-size='{size:g}' text-anchor='{anchor}' fill='{colour}'{style}>"
            f"{escape(text)}</text>"
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, *, colour: str = INK, dashed: bool = False) -> None:
        """A straight arrow from the first point to the second."""
        dash = " stroke-dasharray='5 4'" if dashed else ""
        self._shapes.append(
            f"<line x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}' stroke='{colour}' stroke-width='1.3'{dash} "
            "marker-end='url(#head)'/>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, *, colour: str = FAINT) -> None:
        """A thin dashed line, as of a lifeline."""
        self._shapes.append(
            f"<line x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}' stroke='{colour}' stroke-dasharray='2 4'/>"
        )

    def frame(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        """A pale background for a group of shapes."""
        self._shapes.append(f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='10' fill='{fill}'/>")

    def svg(self) -> str:
        """The drawing, a line per shape."""
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f"width='{self.width}' height='{self.height}' {FONT}>\n"
            "<defs><marker id='head' viewBox='0 0 8 8' refX='7' refY='4' "
            "markerWidth='7' markerHeight='7' orient='auto'>"
            f"<path d='M0,0 L8,4 L0,8 z' fill='{INK}'/></marker></defs>\n"
            f"<rect width='{self.width}' height='{self.height}' fill='white'/>\n"
        )
        return head + "\n".join(self._shapes) + "\n</svg>\n"
