"""`make screenshots`: two pictures of the page for the README, and a contact sheet of each page.

A sheet has a page at 1280 px with nobody, 2, 24 and 100 players on each server, and with 24 in light, dark and forced
colours at 400, 1280 and 2560 px. Whole pages in their own size are left in the folder `.screens`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser

from equipoise.demo.town import places
from tests.page.chromium import Scheme, Tab, chromium, tab
from tests.page.worlds import World, oversee, world

FOLDER = Path(__file__).parent
WHOLE = Path(".screens")
CROWDS = 0, 2, 24, 100
SCHEMES: tuple[Scheme, ...] = ("light", "dark", "forced")
WIDTHS = 400, 1280, 2560
CELL, GAP, HEAD = 400, 12, 22
"""Width of a window of 1280 px in a sheet, the room around it and the height of its caption."""
WATCHED = 100.0
"""Seconds of the evening before the README's pictures."""
SEEN_ROUND = 4
"""Of the map in them: its course has something to show."""
TALLEST = 1.25
"""Of a cell, heights by width; what is below is in `.screens`."""


def paths(of: World) -> dict[str, str]:
    """The address of each page, by the name of its sheet; without those that the world has nothing for."""
    server = "ns2-1" if "ns2-1" in of.servers else next(iter(of.servers))
    found = {
        "wall": "/",
        "server": "/servers/payload-1",
        "server-ns2": f"/servers/{server}",
        "players": "/players",
        "rounds": "/rounds",
        "pool": "/pools/main",
        "maps": "/maps",
        "decisions": "/decisions",
        "audit": "/audit",
        "health": "/health",
    }
    for entry in _first(of, "pools/main/top?limit=1", "players") or _first(
        of, "pools/main/players?text=a&limit=1", "players"
    ):
        found["player"] = f"/players/{entry['id']}?pool=main"
    for entry in _first(of, "pools/main/seasons", "seasons"):
        found["season"] = f"/seasons/main/{quote(entry['name'])}"
    for entry in _first(of, "rounds?server=payload-1&limit=1", "rounds"):
        found["round"] = f"/rounds/payload-1/{quote(entry['round'])}"
        found["map"] = f"/maps/main/{entry['map']}"
        found["action"] = "/servers/payload-1/scramble"
    return {**found, "login": "/login"}


def public_paths(of: World) -> dict[str, str]:
    """The addresses of the public ones among these, by name."""
    names = "wall", "server", "server-ns2", "players", "player", "season", "rounds", "round", "pool", "maps", "map"
    return {f"public {name}": path for name, path in paths(of).items() if name in names}


def _first(of: World, path: str, key: str) -> list[Any]:
    return list(of.ask(path)[key][:1])


@contextmanager
def crowded(players: int) -> Iterator[World]:
    """A world of three servers with so many players each, and with what an admin did there."""
    with TemporaryDirectory() as folder, world(Path(folder), players) as built:
        if players >= 24:
            oversee(built)
        yield built


def shoot(browser: Browser, of: World, players: int, scheme: Scheme, width: int, names: Sequence[str]) -> None:
    """Take pages one after the other in one tab; what is wrong with one is printed."""
    with tab(browser, of, scheme, width) as opened:
        for name, path in paths(of).items():
            if names and name not in names:
                continue
            if name == "login":
                opened.page.context.clear_cookies()
            for fault in faults(opened, path):
                sys.stderr.write(f"{name}, {players} players, {scheme}, {width} px: {fault}\n")
            opened.shot(WHOLE / f"{name}-{players}-{scheme}-{width}.png")


def faults(opened: Tab, path: str) -> list[str]:
    """What no page may do, of one that is opened for that."""
    opened.errors.clear()
    opened.strangers.clear()
    status = opened.go(path)
    found = [*opened.errors, *opened.strangers, *opened.violations()]
    if sideways := opened.sideways():
        found.append(f"{sideways} px wider than the window")
    return found if status == 200 else [*found, f"answered {status}"]


def sheet(name: str) -> Image.Image | None:
    """The contact sheet of a page from what was taken of it; None of a page that is not there."""
    rows = [[(players, "light", 1280) for players in CROWDS]]
    rows += [[(24, scheme, width) for width in WIDTHS] for scheme in SCHEMES]
    cells = [[(each, WHOLE / "{}-{}-{}-{}.png".format(name, *each)) for each in row] for row in rows]
    drawn = [
        [
            _cell(f"{players} players, {scheme}, {width} px", file, width)
            for (players, scheme, width), file in row
            if file.exists()
        ]
        for row in cells
    ]
    drawn = [row for row in drawn if row]
    if not drawn:
        return None
    width = max(sum(cell.width + GAP for cell in row) for row in drawn) + GAP
    height = sum(max(cell.height for cell in row) + GAP for row in drawn) + GAP
    whole = Image.new("RGB", (width, height), "#777777")
    top = GAP
    for row in drawn:
        left = GAP
        for cell in row:
            whole.paste(cell, (left, top))
            left += cell.width + GAP
        top += max(cell.height for cell in row) + GAP
    return whole.quantize(96, dither=Image.Dither.NONE)


def _cell(caption: str, file: Path, window: int) -> Image.Image:
    """A picture scaled down and cut off below, under its caption."""
    width = {400: CELL // 2, 1280: CELL, 2560: CELL * 2}[window]
    with Image.open(file) as taken:
        scaled = taken.convert("RGB").resize(
            (width, round(taken.height * width / taken.width)), Image.Resampling.LANCZOS
        )
    height = min(scaled.height, round(TALLEST * CELL))
    cell = Image.new("RGB", (width, height + HEAD), "#777777")
    cell.paste(scaled.crop((0, 0, width, height)), (0, HEAD))
    ImageDraw.Draw(cell).text((2, 4), caption, "white", ImageFont.load_default(12))
    return cell


def readme(browser: Browser) -> None:
    """The wall and a server's page of the demo's town, as on a second screen."""
    began = time.monotonic()
    with (
        TemporaryDirectory() as folder,
        world(Path(folder), None, places=places(6), lively=True) as town,
        tab(browser, town) as opened,
    ):
        while town.ask("servers/payload-1")["server"]["round"] < SEEN_ROUND or time.monotonic() < began + WATCHED:
            time.sleep(1.0)
        for name, path in (("wall", "/"), ("server", "/servers/payload-1")):
            opened.go(path)
            with Image.open(opened.shot(WHOLE / f"readme-{name}.png", whole=name == "wall")) as taken:
                taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


def main(names: Sequence[str]) -> None:
    """Take all pictures, or the sheets of the named pages alone; `readme` names those of the README."""
    with chromium() as browser:
        if not names or "readme" in names:
            readme(browser)
        for players in CROWDS if names != ["readme"] else ():
            with crowded(players) as built:
                for scheme in SCHEMES if players == 24 else SCHEMES[:1]:
                    for width in WIDTHS if players == 24 else (1280,):
                        shoot(browser, built, players, scheme, width, names)
    for name in names or sorted({file.name.rpartition("-24-")[0] for file in WHOLE.glob("*-24-*")}):
        if (drawn := sheet(name)) is not None:
            drawn.save(FOLDER / f"page-{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
