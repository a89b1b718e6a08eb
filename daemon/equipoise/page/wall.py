"""The wall, a panel per game server, those that need a person first; and a game server's own page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from markupsafe import Markup

from equipoise.core.model import Outlook, Side
from equipoise.core.wording import percent, side_word
from equipoise.errors import ScriptError
from equipoise.game.port import PeerStatus
from equipoise.page.pictures import course
from equipoise.page.visits import Pages, Shown, Visit
from equipoise.service.status import ServerStatus
from equipoise.store.notes import Decision
from equipoise.web.decisions import OfMap, Reasons, show_chances, show_decisions
from equipoise.web.maps import EVEN
from equipoise.web.rosters import RosterFound, show_roster
from equipoise.web.routes import READERS, Ask
from equipoise.web.servers import Servers, show_servers

MOST_LINES = 500
"""Changes of sides on one map that are drawn."""
SEATED = 2
"""Players on a side from which its chance is worth attention."""
TROUBLED = {"unreachable", "closed", "refused", "silent"}
"""States of RCON and A2S that are not as they should be."""

pages = Pages()


class Need(IntEnum):
    """How much a game server needs a person."""

    BAD = 0
    ODD = 1
    NONE = 2
    EMPTY = 3


@dataclass(frozen=True, slots=True)
class Lamp:
    """One of the things that a server stands on."""

    state: str
    """`good`, `odd`, `bad` or `off`."""
    word: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A game server on the wall."""

    status: ServerStatus
    roster: RosterFound
    last: Decision | None
    course: Markup | None
    need: Need
    sentences: tuple[str, ...]
    """Why it needs a person, the gravest first."""
    lamps: tuple[Lamp, ...]
    wins: tuple[int, int]
    """Rounds of this map that sides A and B have won."""

    @property
    def place(self) -> int:
        """Its place on the wall: those that need a person, then those with most players."""
        return 1000 * self.need - min(self.status.players_a + self.status.players_b + self.status.waiting, 999)

    @property
    def level(self) -> str:
        """The need as a word of the style sheet."""
        return self.need.name.lower()


class Asked(Ask, frozen=True):
    """Part of the wall."""

    servers: str | None = None
    """Names of servers, with commas between: only these panels. Null: all."""


@pages.add("GET", "/", READERS, query=Asked, public=True)
async def show_wall(visit: Visit) -> Shown:
    """All game servers, or those that a page asks for again."""
    answer = await show_servers(visit.request())
    names = None if visit.query.servers is None else set(visit.query.servers.split(","))
    panels = [await _panel(visit, answer, each) for each in answer.servers if names is None or each.server in names]
    panels.sort(key=lambda panel: (panel.place, panel.status.server))
    if names is not None:
        return Shown("panels.html", "Wall", {"panels": panels})
    remarks = () if visit.public else answer.remarks
    return Shown("wall.html", "Wall", {"panels": panels, "remarks": remarks, "store": answer.store})


@pages.add("GET", "/servers/{server}", READERS, public=True)
async def show_server(visit: Visit) -> Shown:
    """One game server: its sides, its map's course, what was decided and why."""
    server = visit.path["server"]
    answer = await show_servers(visit.request())
    status = next((each for each in answer.servers if each.server == server), None)
    if status is None:
        raise ScriptError("not_found", f"no server {server!r} is configured", status=404)
    panel = await _panel(visit, answer, status, small=False)
    decided = await show_decisions(visit.request(Reasons(server=server, limit=12)))
    peer = next((each for each in answer.game_servers if each.server == server), None)
    values: dict[str, Any] = {
        "panel": panel,
        "status": status,
        "roster": panel.roster,
        "decided": decided,
        "peer": peer,
        "version": answer.version,
        "names": {each.id: each.name or each.id for each in panel.roster.players},
    }
    return Shown("server.html", server, values)


async def _panel(visit: Visit, answer: Servers, status: ServerStatus, *, small: bool = True) -> Panel:
    server = status.server
    roster = await show_roster(visit.request(server=server))
    chances = await show_chances(visit.request(OfMap(session=roster.session or "-", limit=MOST_LINES), server=server))
    decided = await visit.services.store.decisions(server, 1)
    peer = next((each for each in answer.game_servers if each.server == server), None)
    sentences = list(needs(status, peer, store_well=answer.store.state == "ok"))
    now = visit.services.clock.epoch()
    return Panel(
        status=status,
        roster=roster,
        last=decided[0] if decided else None,
        course=course(chances.chances, roster.results, now, status.sides, small=small),
        need=min((need for need, _ in sentences), default=_usual(status)),
        sentences=tuple(sentence for _, sentence in sorted(sentences, key=lambda each: each[0])),
        lamps=tuple(lamps(status, peer)),
        wins=_wins(roster),
    )


def _usual(status: ServerStatus) -> Need:
    return Need.NONE if status.players_a + status.players_b + status.waiting else Need.EMPTY


def _wins(roster: RosterFound) -> tuple[int, int]:
    a, b = (sum(result.winner is side for result in roster.results) for side in Side)
    return a, b


def needs(status: ServerStatus, peer: PeerStatus | None, *, store_well: bool) -> Iterator[tuple[Need, str]]:
    """Yield why a server needs a person, and how much."""
    if status.lost:
        yield _silent(status, peer)
    if status.refused_batches:
        yield Need.BAD, f"What its script sends is refused: {status.refused_batches[-1].message}."
    if status.stale_scripts:
        yield Need.BAD, "Two scripts call under this name."
    if status.ring and not store_well:
        yield Need.BAD, f"{status.ring} rounds wait for the store."
    if peer is not None and peer.rcon.state in TROUBLED:
        yield Need.ODD, f"RCON: {peer.rcon.error or peer.rcon.state}."
    if not status.enabled:
        yield Need.ODD, "Switched off by an admin."
    elif status.inactive_reason:
        yield Need.ODD, f"Left alone: {status.inactive_reason.replace('_', ' ')}."
    elif status.outlook is not None and not status.lost:
        yield from _uneven(status, status.outlook)


def _silent(status: ServerStatus, peer: PeerStatus | None) -> tuple[Need, str]:
    seconds, answer = status.silent_seconds, None if peer is None else peer.query.answer
    said = "No script has called yet." if seconds is None else f"The script has not called for {_span(seconds)}."
    if peer is None or answer is None or peer.query.state != "answers":
        return Need.ODD, said
    players = f"{answer.players} player{'' if answer.players == 1 else 's'}"
    return Need.BAD if answer.players else Need.ODD, f"{said} The game server answers: {players}."


def _uneven(status: ServerStatus, outlook: Outlook) -> Iterator[tuple[Need, str]]:
    favourite = max(outlook.chance, 1.0 - outlook.chance)
    if favourite > EVEN[1] and min(status.players_a, status.players_b) >= SEATED:
        side = side_word(status.sides, "a" if outlook.chance > 0.5 else "b")
        yield Need.ODD, f"{side} {percent(favourite)}: outside 40 to 60."


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def lamps(status: ServerStatus, peer: PeerStatus | None) -> Iterable[Lamp]:
    """Yield what a server stands on: its script, RCON, A2S and the rounds that wait."""
    if status.silent_seconds is None:
        yield Lamp("off", "script: not yet")
    else:
        yield Lamp("bad" if status.lost else "good", "script silent" if status.lost else "script")
    for word, state in (("RCON", peer and peer.rcon.state), ("A2S", peer and peer.query.state)):
        if state in TROUBLED:
            yield Lamp("odd", f"{word} {state}")
        elif state == "answers":
            yield Lamp("good", word)
    yield Lamp("odd" if status.ring else "good", f"{status.ring} waiting")
