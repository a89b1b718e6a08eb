"""Pages as HTML: the templates, and how numbers, times and names are written in them.

jinja2 is imported with the first page: a daemon that nobody looks at does not have it in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
import time
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from equipoise.core import wording
from equipoise.page.visits import Shown, Visit

if TYPE_CHECKING:
    from jinja2 import Environment, Template
FOLDER = Path(__file__).parent
MINUS = "−"
DASH = "–"
BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters that no font draws, beside spaces."""
NAVIGATION = (
    ("", "Wall"),
    ("players", "Players"),
    ("rounds", "Rounds"),
    ("maps", "Maps"),
    ("pools", "Is it fair?"),
    ("decisions", "Decisions"),
    ("health", "Health"),
    ("audit", "Audit"),
)
"""The first part of a page's path, and its name in the head of every page."""
PUBLIC = (("", "Servers"), *NAVIGATION[1:5])
"""Those of them that are public."""


class Static(NamedTuple):
    """A file that pages refer to."""

    body: bytes
    content_type: str
    version: str
    """The beginning of its SHA-256: a browser may keep the file for ever under it."""


@cache
def static_files() -> Mapping[str, Static]:
    """Return the files beside the templates, by name."""
    files = {}
    for path in sorted((FOLDER / "static").iterdir()):
        body = path.read_bytes()
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        files[path.name] = Static(body, kind, hashlib.sha256(body).hexdigest()[:12])
    return files


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context

    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    written = (percent, points, signed, day, lasting, number, sentence, isolated)
    environment.filters |= {write.__name__: write for write in written}
    # A file is read on another day than it was written.
    environment.filters["when"] = pass_context(lambda context, epoch: when(epoch, dated=context["visit"].exported))
    environment.globals |= {"name": name, "wording": wording, "static": lambda file: static_files()[file].version}
    return environment


_templates: dict[str, Template] = {}


def _template(name: str) -> Template:
    """Return a template, compiled with those that it may bring in."""
    for parent in ("base.html", "panel.html", "panels.html", "parts.html"):
        _environment().get_template(parent)
    return _environment().get_template(name)


async def html(shown: Shown, visit: Visit) -> str:
    """Return the whole page."""
    return await part(shown.template, visit, shown.values, shown.title)


async def part(name: str, visit: Visit, values: Mapping[str, Any], title: str = "") -> Markup:
    """Return what a template makes of values; game servers are answered meanwhile."""
    if (template := _templates.get(name)) is None:
        template = _templates[name] = await asyncio.to_thread(_template, name)
    pieces = template.generate(
        **values,
        title=title,
        visit=visit,
        link=visit.link,
        pools=sorted(visit.services.pools),
        section=visit.here.split("/")[1],
        navigation=PUBLIC if visit.public else NAVIGATION,
        now=time.time(),
    )
    text = []
    # Not in a thread: it would hold the interpreter for five milliseconds before each step of a round.
    for piece in pieces:
        text.append(piece)
        await visit.services.precedence.give_way()
    return Markup("".join(text))


# How values are written. Times are those of the machine's own zone, which their title names.


def percent(probability: float | None) -> str:
    """Return a probability as people say it; a dash where it is not public.

    >>> percent(0.506), percent(0.9999)
    ('51 %', '> 99 %')
    """
    if probability is None:
        return DASH
    if 0.0 < probability < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= probability < 1.0 else wording.percent(probability)


def points(rating: float | None) -> str:
    """Return a rating without decimals; a dash where it is not public."""
    if rating is None:
        return DASH
    return f"{rating:,.0f}".replace("-", MINUS)


def number(count: float) -> str:
    """Return a whole number with separators of thousands."""
    return f"{count:,.0f}"


def sentence(words: str) -> str:
    """Return words that the terminal joins to others as a sentence of their own; code stays as it is.

    >>> sentence("the store is full"), sentence("`equipoise init` makes it.")
    ('The store is full.', '`equipoise init` makes it.')
    """
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?", ":")) else ".")


def signed(change: float) -> str:
    """Return a change with its sign.

    >>> signed(31.7), signed(-9.2), signed(0.2)
    ('+32', '−9', '±0')
    """
    whole = round(change)
    return "±0" if whole == 0 else f"+{whole:,}" if whole > 0 else f"{MINUS}{-whole:,}"


def lasting(seconds: float) -> str:
    """Return a length of time.

    >>> lasting(52), lasting(250), lasting(3900)
    ('0:52', '4:10', '1:05:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def when(epoch: float | None, *, dated: bool = False) -> Markup | str:
    """Return a time of today as 21:14, another one, or with `dated` any, with its day; a dash for none."""
    if epoch is None:
        return DASH
    at, today = _local(epoch), _local(time.time()).date()
    if at.date() == today and not dated:
        return _time(at, f"{at:%H:%M}")
    return _time(at, f"{at.day} {at:%b %H:%M}" if at.year == today.year else f"{at.day} {at:%b %Y}")


def day(epoch: float | None) -> Markup | str:
    """Return the day of a time; a dash for none."""
    if epoch is None:
        return DASH
    at = _local(epoch)
    return _time(at, f"{at.day} {at:%b %Y}")


def _local(epoch: float) -> datetime:
    # A clock that was wrong by centuries must not cost the page.
    return datetime.fromtimestamp(min(max(epoch, 0.0), 2.0**37)).astimezone()


def _time(at: datetime, text: str) -> Markup:
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        at.isoformat(timespec="seconds"), f"{at:%Y-%m-%d %H:%M:%S %Z}", text
    )


def isolated(names: Mapping[str, str]) -> dict[str, str]:
    """Return names for a sentence in which several stand: letters of any direction stay inside each."""
    return {player: f"\u2068{text}\u2069" for player, text in names.items()}


def name(player: str, known: str | None) -> Markup:
    """Return a player's name, or the id of one whom nobody could read; isolated: letters of any direction stay inside.

    >>> name("76561197960265729", " \\u3164")
    Markup('<bdi class="name">76561197960265729</bdi>')
    """
    seen = any(not letter.isspace() and letter not in BLANK for letter in known or "")
    return Markup('<bdi class="name">{}</bdi>').format(known if seen else player)
