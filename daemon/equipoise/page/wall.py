"""The wall, a panel per game server, those that need a person first; a game server's own page, and orders to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from markupsafe import Markup
from msgspec import structs

from equipoise.core.model import PlayerId, ServerId, Side
from equipoise.core.wording import percent, side_word, span
from equipoise.errors import StoreError
from equipoise.game.port import PeerStatus
from equipoise.page.pictures import course
from equipoise.page.rendering import part
from equipoise.page.visits import Elsewhere, Pages, Shown, Visit, attempted
from equipoise.service.diagnosis import SCRIPTS, Script, awaited, is_old
from equipoise.service.status import ServerStatus
from equipoise.store.notes import Decision
from equipoise.store.store import SoFar
from equipoise.web.administration import Chances, Decisions, Reasons, show_decisions
from equipoise.web.evenness import EVEN
from equipoise.web.players import concealed_from, concealing, names_of
from equipoise.web.rosters import MapSoFar, map_so_far, show_roster
from equipoise.web.routes import ADMINS, READERS, Ask
from equipoise.web.servers import (
    Command,
    PluginUpdate,
    Servers,
    Some,
    When,
    command,
    show_server,
    show_servers,
    update_plugin,
)

LAST = 5
"""Decisions among which one that is public is looked for."""
MOST_LINES = 500
"""Changes of sides on one map that are drawn."""
LINES = 12
"""Decisions on a server's page."""
READ_AT_ONCE = 10
"""Servers that are read at once: it takes about as long as a round."""
SHARED_SECONDS = 1.0
"""For which walls share a panel of a server that says the same: its clocks are off by no more."""
NOTHING = SoFar((), (), ())
ABOUT_FEW = ("place", "move", "kept", "switch", "chair")
"""Kinds of decisions that are about a player or two, whom the wall names."""
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
    map: MapSoFar
    last: Decision | None
    names: Mapping[PlayerId, str]
    """Of those whom the last decision is about."""
    course: Markup | None
    need: Need
    sentences: tuple[str, ...]
    """What a person should know of it, the gravest first."""
    lamps: tuple[Lamp, ...]
    wins: Sequence[int]
    """Rounds of this map that sides A and B have won."""

    @property
    def place(self) -> int:
        """Its place on the wall: those that need a person, then those with most players."""
        return 1000 * self.need - min(_people(self.status), 999)

    @property
    def level(self) -> str:
        """The need as a word of the style sheet."""
        return self.need.name.lower()


class Drawn(NamedTuple):
    """A panel as HTML."""

    place: int
    server: ServerId
    html: Markup
    until: float
    """The second of the clock up to which other walls take it too."""


@pages.add("GET", "/", READERS, query=Some, public=True)
async def show_wall(visit: Visit) -> Shown:
    """All game servers, or those that a page asks for again. What several walls show is drawn once."""
    live, services, asked = visit.services.live, visit.services, visit.query.servers
    since = live.last_event()  # before all that is read: a change meanwhile comes behind it
    kind = visit.public, visit.exported, visit.browser.prefix
    async with live.making:
        names = services.hosts.keys() if asked is None else services.hosts.keys() & set(asked.split(","))
        kept, now = {server: live.kept(server) for server in names}, services.clock.monotonic()
        panels = [panel for of_server in kept.values() if (panel := of_server.get(kind)) and panel.until > now]
        there = {panel.server for panel in panels}
        answer = await visit.ask(show_servers, visit.query if asked is None else Some(servers=",".join(names - there)))
        new = structs.replace(answer, servers=tuple(status for status in answer.servers if status.server not in there))
        for panel in await _panels(visit, new):
            html = await part("panel.html", visit, {"panel": panel})
            drawn = Drawn(panel.place, panel.status.server, html, now + SHARED_SECONDS)
            kept[drawn.server][kind] = drawn
            panels.append(drawn)
    panels.sort()
    if asked is not None:
        return Shown("panels.html", "Wall", {"panels": panels})
    well = {"remarks": (), "store": None} if visit.public else {"remarks": answer.remarks, "store": answer.store}
    return Shown("wall.html", "Servers" if visit.public else "Wall", {"panels": panels, "since": since, **well})


@pages.add("GET", "/servers/{server}", READERS, public=True)
async def show_one(visit: Visit) -> Shown:
    """One game server: its sides, its map's course, what was decided and why."""
    server, since = visit.path["server"], visit.services.live.last_event()
    roster = await visit.ask(show_roster)
    answer = await visit.ask(show_servers, Some(servers=server))
    (status,) = answer.servers
    script = SCRIPTS[visit.services.games[status.server].name]
    values: dict[str, Any] = {
        "panel": (await _panels(visit, answer, small=False))[0],
        "since": since,
        "status": status,
        "roster": roster,
        "decided": await visit.ask(show_decisions, Reasons(server=server, limit=LINES)),
        "peer": None if visit.public else next(iter(answer.game_servers), None),
        "version": None if visit.public else answer.version,
        "script": script,
        "behind": visit.admin and script is SCRIPTS["tf2"] and is_old(status.plugin, script, answer.version),
        "names": {entry.id: entry.name or entry.id for entry in roster.players},
    }
    return Shown("server.html", server, values)


async def _panels(visit: Visit, answer: Servers, *, small: bool = True) -> list[Panel]:
    """Return the panels of servers, which are read some at a time: rounds are stored in between."""
    services, panels = visit.services, []
    hidden_ids = await concealed_from(visit.request())
    for first in range(0, len(answer.servers), READ_AT_ONCE):
        some = answer.servers[first : first + READ_AT_ONCE]
        maps: Mapping[ServerId, SoFar] = {}
        sessions = {status.server: services.host(status.server).session.memory.session for status in some}
        with suppress(StoreError):  # the page says so itself, and the statuses are worth as much as ever
            async with services.precedence.turn():
                maps = await services.store.so_far(sessions, MOST_LINES, LAST)
        last = {server: _last(visit, so_far.decisions, hidden_ids) for server, so_far in maps.items()}
        about = {server: _few(line, hidden_ids) for server, line in last.items()}
        names: dict[PlayerId, str] = {}
        for pool in {services.host(server).pool for server, few in about.items() if few}:
            ids = [player for server, few in about.items() if services.host(server).pool is pool for player in few]
            names |= await names_of(pool, ids)
        for status in some:
            server, so_far = status.server, maps.get(status.server, NOTHING)
            rounds = map_so_far(services, services.host(server), so_far.results)
            whole = Chances(server=server, sides=status.sides, chances=tuple(so_far.chances), before=None)
            chances = visit.told(whole).chances
            worries: list[tuple[Need, str]] = []
            stands_on: tuple[Lamp, ...] = ()
            if not visit.public:
                peer = next((state for state in answer.game_servers if state.server == server), None)
                worries = sorted(needs(status, peer, store_well=answer.store.state == "ok"), key=lambda worry: worry[0])
                stands_on = tuple(lamps(status, peer, SCRIPTS[services.games[server].name], answer.version))
            panel = Panel(
                status=status,
                map=rounds,
                last=last.get(server),
                names={player: names[player] for player in about.get(server, ()) if player in names},
                course=course(chances, rounds.results, services.clock.epoch(), status.sides, small=small),
                need=min((need for need, _ in worries), default=Need.NONE if _people(status) else Need.EMPTY),
                sentences=tuple(sentence for _, sentence in worries),
                lamps=stands_on,
                wins=[sum(result.winner is side for result in rounds.results) for side in Side],
            )
            panels.append(panel)
            await services.precedence.give_way()
    return panels


def _last(visit: Visit, lines: Sequence[Decision], concealed: frozenset[PlayerId]) -> Decision | None:
    """Return the last decision; of the public ones, and without hidden players, on the public pages."""
    if visit.public:
        decisions = concealing(tuple(lines), concealed, tuple[Decision, ...])
        lines = visit.told(Decisions(decisions=decisions, names={}, sides={}, player=None, before=None)).decisions
    return next(iter(lines), None)


def _few(line: Decision | None, concealed: frozenset[PlayerId]) -> list[PlayerId]:
    """Return the player or two whom a decision is about, where they are named."""
    players = (line.detail or {}).get("players") if line is not None and line.kind in ABOUT_FEW else None
    few = [PlayerId(player) for player in players] if isinstance(players, list) else []
    return few if concealed.isdisjoint(few) else []


def _people(status: ServerStatus) -> int:
    return status.players_a + status.players_b + status.waiting


def needs(status: ServerStatus, peer: PeerStatus | None, *, store_well: bool) -> Iterator[tuple[Need, str]]:
    """Yield what a person should know of a server, and how much it needs one."""
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
    elif status.level != "balance" and status.map:
        yield (
            Need.EMPTY,
            f"On this map it {'is off' if status.level == 'off' else 'only rates'}: {status.level_reason}.",
        )
    elif status.outlook is not None and not status.lost:
        yield from _uneven(status, status.outlook.chance)


def _silent(status: ServerStatus, peer: PeerStatus | None) -> tuple[Need, str]:
    if status.silent_seconds is None:
        players, words = 0, "No script has called yet."
    else:
        players, words = _people(status), f"The script has not called for {span(status.silent_seconds)}."
    if peer is not None and peer.query.state == "silent":
        return Need.ODD, f"{words} The game server does not answer either."
    if peer is not None and peer.query.state == "answers" and peer.query.answer is not None:
        players = peer.query.answer.players - peer.query.answer.bots
        words = f"{words} The game server answers: {players} player{'' if players == 1 else 's'}."
    elif players:
        words = f"{words} {players} player{' was' if players == 1 else 's were'} there."
    return Need.BAD if players > 0 else Need.EMPTY if awaited(status) else Need.ODD, words


def _uneven(status: ServerStatus, chance: float) -> Iterator[tuple[Need, str]]:
    favourite = max(chance, 1.0 - chance)
    if favourite > EVEN[1] and min(status.players_a, status.players_b) >= SEATED:
        side = side_word(status.sides, "a" if chance > 0.5 else "b")
        yield Need.ODD, f"{side} {percent(favourite)}: outside 40 to 60."


def lamps(status: ServerStatus, peer: PeerStatus | None, script: Script, version: str) -> Iterable[Lamp]:
    """Yield what a server stands on: its script, RCON, A2S and the rounds that wait."""
    word = script.word
    if status.silent_seconds is None:
        yield Lamp("off", f"{word}: not yet")
    elif status.lost:
        yield Lamp("bad", f"{word} silent")
    elif is_old(status.plugin, script, version):
        yield Lamp("odd", f"{word} {status.plugin} is old")
    else:
        yield Lamp("good", word)
    for name, state in (("RCON", peer and peer.rcon.state), ("A2S", peer and peer.query.state)):
        if state in TROUBLED:
            yield Lamp("odd", f"{name} {state}")
        elif state == "answers":
            yield Lamp("good", name)
    yield Lamp("odd" if status.ring else "good", f"{status.ring} round{'' if status.ring == 1 else 's'} to store")


# Orders to a game server, and its plugin: first what one would do, then a button that orders just that.

PATH = "/servers/{server}/{action:scramble|balance|cancel|on|off}"
PLUGIN = "/servers/{server}/plugin"


class Words(NamedTuple):
    """How an order is put to an admin."""

    question: str
    """With the server's name in it."""
    effect: str
    """What it means for the people who play."""
    button: str


WORDS = {
    ("scramble", "now"): Words(
        "Scramble {} at once?",
        "Where the mode cannot move people in a running round, it waits for the next round start.",
        "Scramble now",
    ),
    ("scramble", "next"): Words(
        "Scramble {} at the next round?",
        "Nobody loses a life. Players read in chat that it is due.",
        "Scramble next round",
    ),
    ("scramble", "skip"): Words(
        "Leave the teams of {} as they are?",
        "No shuffle comes before the next round. Players read so in chat; the round after it is as always.",
        "Leave them",
    ),
    ("balance", "now"): Words(
        "Balance {}?",
        "The players below go to the smaller side, at their next death where the rules say so.",
        "Balance",
    ),
    ("cancel", "now"): Words(
        "Cancel what is due on {}?", "A scramble that is due, or a vote that runs, is dropped.", "Cancel it"
    ),
    ("off", "now"): Words(
        "Switch Equipoise off on {}?",
        "The game's own rules hold until it is switched on again; rounds are still rated.",
        "Switch off",
    ),
    ("on", "now"): Words(
        "Switch Equipoise on on {}?", "From the next moment on teams are balanced again.", "Switch on"
    ),
}


class Order(Ask, frozen=True):
    """When an order takes effect, and what of it was shown."""

    when: When = "now"
    """For a scramble alone: at once where the mode allows it, or at the next round start; NS2: not before it."""
    seen: str = ""


@pages.add("GET", PATH, ADMINS, query=Order)
async def show_effect(visit: Visit) -> Shown:
    """The page that shows the effect of an order, before it is given."""
    return await _shown(visit, visit.query.when)


@pages.add("POST", PATH, ADMINS)
async def give_order(visit: Visit) -> Shown | Elsewhere:
    """Give just the order that was shown; where it would be another one now, show that and do nothing."""
    order = visit.fields(Order)
    body = Command(when=order.when, seen=order.seen)
    _, refusal = await attempted(command(visit.request(body=body)), "changed", "refused")
    if refusal:
        return await _shown(visit, order.when, refusal.message)
    return Elsewhere(visit.link("servers", visit.path["server"]))


async def _shown(visit: Visit, when: When, notice: str = "") -> Shown:
    action, server = visit.path["action"], visit.path["server"]
    status = (await show_server(visit.request())).server
    words = WORDS[action, when if action == "scramble" else "now"]
    effect, refusal = await attempted(command(visit.request(body=Command(dry_run=True, when=when))), "refused")
    values = {"status": status, "action": action, "when": when, "words": words, "effect": effect, "refusal": refusal}
    title = words.question.format(server)
    return Shown("action.html", title, {**values, "notice": notice}, 409 if notice else 200)


@pages.add("GET", PLUGIN, ADMINS)
async def show_update(visit: Visit) -> Shown:
    """The page that shows an update of a game server's plugin, before it is done."""
    return await _plugin_shown(visit)


@pages.add("POST", PLUGIN, ADMINS)
async def give_update(visit: Visit) -> Shown:
    """Update a plugin to the version that was shown, and show how the game server took it."""
    body = PluginUpdate(seen=visit.form.get("seen", ""))
    update, refusal = await attempted(update_plugin(visit.request(body=body)), "changed", "refused")
    if refusal:
        return await _plugin_shown(visit, refusal.message)
    server = visit.path["server"]
    return Shown("plugin.html", f"The plugin of {server}", {"server": server, "update": update, "done": True})


async def _plugin_shown(visit: Visit, notice: str = "") -> Shown:
    server = visit.path["server"]
    update, refusal = await attempted(update_plugin(visit.request(body=PluginUpdate(dry_run=True))), "refused")
    values = {"server": server, "update": update, "refusal": refusal, "notice": notice, "done": False}
    return Shown("plugin.html", f"The plugin of {server}", values, 409 if notice else 200)
