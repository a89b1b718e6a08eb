"""The layers of the package and who imports whom, drawn from the table in docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path

from docs.pictures.draw import FAINT, Sheet

TABLE = Path(__file__).parents[1] / "architecture.md"

PURE, SHELL, OFFLINE, ROOT = "#d9f0e3", "#fde8c8", "#dbe7fb", "#eceff3"
WIDTH, HEIGHT = 128, 54

PLACES: dict[str, tuple[float, float, str, tuple[str, ...]]] = {
    "cli": (400, 15, ROOT, ("commands",)),
    "demo": (380, 95, OFFLINE, ("an evening",)),
    "app": (560, 95, ROOT, ("builds and closes",)),
    "install": (740, 95, ROOT, ("files on a machine",)),
    "config": (30, 175, PURE, ("strictly decoded",)),
    "lab": (210, 175, OFFLINE, ("offline work",)),
    "web": (620, 175, SHELL, ("aiohttp",)),
    "service": (560, 255, SHELL, ("hosts, pools, ring",)),
    "moving": (560, 345, PURE, ("exports, dumps",)),
    "balancing": (300, 590, PURE, ("question to answer",)),
    "wire": (480, 430, PURE, ("bytes to values",)),
    "store": (640, 430, SHELL, ("SQLite",)),
    "workers": (640, 510, SHELL, ("processes",)),
    "game": (800, 430, SHELL, ("RCON and A2S",)),
    "shared": (800, 510, SHELL, ("PostgreSQL",)),
    "ratings": (130, 680, PURE, ("rating systems",)),
    "solver": (330, 680, PURE, ("exact splits",)),
    "core": (500, 770, PURE, ("the rules of a match",)),
}
"""Top left corner, colour and subtitle of each layer."""


def table() -> dict[str, set[str]]:
    """Which layers each layer imports; parts of `core` count as `core`.

    `errors`, which all may import, `files` and `versions` are left out.  The rows that allow everything are given here.
    """
    section = TABLE.read_text().partition("## Who may import whom")[2].partition("\n## ")[0]
    found: dict[str, set[str]] = {}
    for row in re.findall(r"^\| (`.+)$", section, re.MULTILINE):
        layers, may, *_ = row.split("|")
        for layer in re.findall(r"`(\w+)`", layers):
            found[layer] = {name.partition(".")[0] for name in re.findall(r"`([\w.]+)`", may)} - {
                layer,
                "errors",
                "files",
                "versions",
            }
    found["cli"], found["app"] = {"app", "lab", "demo", "install"}, {"web", "service", "store", "game", "config"}
    return {layer: found[layer] for layer in PLACES}


def direct(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that no chain of other arrows implies (transitive reduction)."""

    def reach(layer: str) -> set[str]:
        return imports[layer].union(*(reach(other) for other in imports[layer]))

    return {
        layer: {other for other in others if not any(other in reach(via) for via in others - {other})}
        for layer, others in imports.items()
    }


def draw() -> str:
    """The picture as SVG."""
    sheet = Sheet(1000, 865)
    for layer, others in direct(table()).items():
        x, y, *_ = PLACES[layer]
        for other in sorted(others):
            to_x, to_y, *_ = PLACES[other]
            sheet.arrow(x + WIDTH / 2, y + HEIGHT, to_x + WIDTH / 2, to_y, colour=FAINT)
    for layer, (x, y, colour, lines) in PLACES.items():
        sheet.box(x, y, WIDTH, HEIGHT, colour, layer, *lines)
    for number, (colour, text) in enumerate(
        ((PURE, "pure: no clock, socket, file or log"), (SHELL, "the running daemon"), (OFFLINE, "offline"))
    ):
        sheet.box(720, 740 + 30 * number, 20, 20, colour, "")
        sheet.text(750, 755 + 30 * number, text, anchor="start", size=12.5)
    sheet.text(
        470,
        852,
        "An arrow: imports. Arrows that others imply are left out, and so are errors, files and versions.",
        size=11.5,
        colour=FAINT,
    )
    return sheet.svg()
