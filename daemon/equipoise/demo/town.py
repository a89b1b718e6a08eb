"""A town of game servers that play on and on against one daemon, its people, and how the terminal shows both.

A game's clock is ours from the moment on at which it has caught up: it starts in the past, and what is past is played
without waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from equipoise.core.asks import Moment
from equipoise.core.effects import Assign, Say
from equipoise.core.events import Phase
from equipoise.core.model import Mode, PlayerId, ServerId, Side, logistic
from equipoise.demo.daemon import Client, Daemon, Installation
from equipoise.demo.evening import NAMES
from equipoise.demo.ns2_evening import ADVANTAGES, NEW_POOL, SCALE, SHAPE, Person, chance, draw_winner, random_person
from equipoise.demo.record import Figure, Steps, Summary, english, percent
from equipoise.demo.script import Script, decoded
from equipoise.demo.stage import PAGE
from equipoise.lab.simulation import population
from equipoise.lab.simulation.game_server import GameServer, Map, NS2Server
from equipoise.lab.simulation.outcome_model import CountsModel
from equipoise.wire import NS2, TF2, Game
from equipoise.wire import orders as wire

NS2_POOL = "ns2"
ROUNDS = 5
"""Rounds on one map."""
POLL_SECONDS = 5.0
APART_SECONDS = 60.0
"""The most that a game is ahead of another one while they catch up."""
LEAVES = 0.006
"""Chance that a player leaves between two polls."""
USUAL = 24
"""Players; of more not more leave: what the daemon takes of one round is limited."""
VOTES = 0.1
"""Chance that somebody asks for a vote in a round; then others do, too."""
SPREAD = 0.25
"""Standard deviation of skill in TF2, log-odds per player."""


class Kind(NamedTuple):
    """A kind of game server."""

    name: str
    game: Game
    maps: tuple[Map, ...]
    crowd: int
    """Players who are there on an evening."""


KINDS = (
    Kind("arena", TF2, tuple(Map(f"arena_{name}", Mode.ARENA) for name in ("lumberyard", "badlands", "well")), 17),
    Kind("payload", TF2, tuple(Map(f"pl_{name}", Mode.PAYLOAD) for name in ("upward", "badwater", "borneo")), 24),
    Kind("ns2", NS2, tuple(Map(name, Mode.NS2) for name in ADVANTAGES), 20),
    Kind("koth", TF2, tuple(Map(f"koth_{name}", Mode.KOTH) for name in ("viaduct", "harvest_final")), 22),
    Kind("cp", TF2, tuple(Map(f"cp_{name}", Mode.SYMMETRIC_CP) for name in ("process_final", "gullywash_final1")), 12),
    Kind("ns2", NS2, tuple(Map(name, Mode.NS2) for name in reversed(ADVANTAGES)), 18),
)


@dataclass(frozen=True, slots=True)
class Place:
    """A game server of the town, by its name."""

    name: str
    kind: Kind

    @property
    def installation(self) -> Installation:
        """The part of the configuration that is this server's."""
        if self.kind.game is NS2:
            # The evening's rounds are short ones.
            return Installation(self.name, NS2, NEW_POOL, pool_name=NS2_POOL, settings="ns2_min_seconds = 5")
        return Installation(self.name, TF2, "")


def places(servers: int, game: Game | None = None) -> list[Place]:
    """So many game servers, of this game or of both.

    >>> [place.name for place in places(7)]
    ['arena-1', 'payload-1', 'ns2-1', 'koth-1', 'cp-1', 'ns2-2', 'arena-2']
    """
    seen: dict[str, int] = {}
    town = []
    for kind, _ in zip(cycle(kind for kind in KINDS if game in (None, kind.game)), range(servers), strict=False):
        seen[kind.name] = seen.get(kind.name, 0) + 1
        town.append(Place(f"{kind.name}-{seen[kind.name]}", kind))
    return town


_ODD = """\
まどか☆マギカ
김민수
小笼包大王
Владимир
Ἀχιλλεύς
محمد العربي
דוד המלך
นักเล่นเกม
हिमालय
🔥🔥 pyro main 🔥🔥
👩‍👩‍👧‍👦
🇩🇪 Jürgen
İstanbul ığüş
ＷＩＤＥ　ＢＯＹ
ǝpısdn uʍop
z̸̢̛a̷l̵g̶o̵
﷽
᚛ᚑᚌᚐᚋ᚜
☃ snowman ☃
TheLongestNameThatTheGameLetsMeHave
WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW
<script>alert(1)</script>
"><img src=x onerror=alert(1)>
<b>bold</b>
{{ 7 * 7 }}
&amp;
'; DROP TABLE players;--
../../etc/passwd
%s%n%x
=1+1
null
-
a
[ADMIN] Console
#1 | twitch.tv/somebody
\u202eezilaer a t'nsi siht
zero\u200bwidth
tab\there
\x1b[31mred
"""
ODD_NAMES = tuple(_ODD.splitlines())
"""Names as people have them who test every game that they play."""
_FIRST = "Angry Blue Captain Crispy Dr Dusty Fuzzy Grumpy Iron Lazy Lost Mild Old Rusty Silent Tiny Wet Wild"


def townspeople(rng: Random, count: int) -> list[Person]:
    """So many people; a few have odd names.

    >>> len({person.name for person in townspeople(Random(1), 300)})
    300
    """
    plain = [*NAMES, *(f"{first} {name}" for first in _FIRST.split() for name in NAMES)]
    rng.shuffle(plain)
    names = [*ODD_NAMES, *plain[: max(0, count - len(ODD_NAMES))]]
    rng.shuffle(names)
    return [random_person(rng, number, names[number % len(names)]) for number in range(count)]


@dataclass
class Tempo:
    """How long things last in the games, and until when the town lives."""

    freeze: float = 8.0
    round: tuple[float, float] = (25.0, 60.0)
    """The shortest and the longest round, seconds."""
    end: float = float("inf")
    """Date at which the servers stop, each after its round; seconds since the epoch."""


@dataclass
class Town:
    """All people, and who of them is at home."""

    people: Mapping[PlayerId, Person]
    at_home: set[PlayerId]
    clocks: dict[str, float] = field(default_factory=dict)
    """Dates of the games that play: none gets far ahead of the others while they catch up."""
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """A clock has moved."""


class Server:
    """A game server of the town, with its people."""

    def __init__(
        self, place: Place, town: Town, boot: float, tempo: Tempo, rng: Random, client: Client, crowd: int | None = None
    ) -> None:
        self.place, self.rounds, self.scrambles = place, 0, 0
        self.chat, self.result = "", ""
        """The last text that the daemon said to all, and the last round's result."""
        self.up = False
        """The daemon answered the last batch."""
        self.crowd = place.kind.crowd if crowd is None else crowd
        """Players who are there on an evening."""
        self._town, self._tempo, self._rng, self._client = town, tempo, rng, client
        self._maps = cycle(place.kind.maps)
        kind = NS2Server if place.kind.game is NS2 else GameServer
        self.game = kind(ServerId(place.name), round(1000 * boot), next(self._maps))
        self._names = {person.id: person.name for person in town.people.values()}
        self.script = Script(self.game, self._names, place.kind.game)
        self._skills = {
            player: population.Person(player, SPREAD * (person.skill - SHAPE * SCALE) / (SCALE * SHAPE**0.5))
            for player, person in town.people.items()
        }
        self._counts = CountsModel(population.Scenario(seed=rng.randrange(2**32), spread=SPREAD, scores=0.35))

    @property
    def now(self) -> float:
        """The game's date, seconds since the epoch."""
        return self.game.boot / 1000 + self.game.clock

    # Talking to the daemon.

    async def _sync(self) -> None:
        """Post batches and carry out the orders of the replies until the script has nothing to report."""
        while not self.script.silent and await self._post():
            pass

    async def _post(self) -> bool:
        """One batch and its answer; False when the daemon has to be asked again later."""
        reply = await self._client.exchange(self.script)
        self.up = reply is not None
        if reply is None:
            return False
        for order in reply.orders:
            self._obey(order)
        return "kept" not in reply.rounds.values()

    def _obey(self, order: wire.AnyOrder) -> None:
        effect = decoded(order)
        if isinstance(effect, Assign):
            self.scrambles += 1
            if effect.moment is Moment.NOW and self.game.phase is Phase.RUNNING and isinstance(self.game, NS2Server):
                self.script.keep(self.game.abandon())
        if isinstance(effect, Say):
            self.chat = english(effect.text, self._names)
        self.game.apply(effect)

    # The evening.

    async def live(self) -> None:
        """Play round after round until the end. PeerError when the daemon refuses something."""
        self._town.clocks[self.place.name] = self.now
        await self.pass_time(self._rng.uniform(0, self._tempo.freeze))  # servers do not go in step
        self._come_and_go()
        await self._sync()
        while self.now < self._tempo.end:
            if self.rounds and self.rounds % ROUNDS == 0:
                await self._next_map()
            await self._round()
        del self._town.clocks[self.place.name]
        self._town.moved.set()

    async def _next_map(self) -> None:
        self.game.change_map(next(self._maps))
        self.script.introduce()
        await self._sync()
        self._choose_sides()
        await self._sync()
        await self.pass_time(self._tempo.freeze)
        if self.game.waiting_for_players:
            self.game.end_waiting()
            await self._sync()

    async def _round(self) -> None:
        if len(self.game.clients) < 2:
            await self.pass_time(POLL_SECONDS)
            self._come_and_go()
            return
        await self.begin()
        await self.play(self._rng.uniform(*self._tempo.round))
        await self.finish()
        await self.pass_time(self._tempo.freeze)

    def _choose_sides(self) -> None:
        if self.game.arena:
            return
        for client in list(self.game.clients.values()):
            if client.side is None:
                wish = self._town.people[client.id].prefers if self.game.map.mode is Mode.NS2 else None
                self.game.want(client.id, wish)

    async def begin(self) -> None:
        """People choose sides; then freeze time, or NS2's start in three steps, and the round is live."""
        self._choose_sides()
        await self._sync()
        await self.pass_time(self._tempo.freeze / 2)
        ns2 = self.game if isinstance(self.game, NS2Server) else None
        if ns2:
            self._man_chairs(ns2)
        self.game.start_round()
        await self._sync()
        await self.pass_time(self._tempo.freeze)
        if ns2:
            ns2.count_down()
            self._man_chairs(ns2)
            await self._sync()
        self.game.go_live()
        await self._sync()

    def _man_chairs(self, game: NS2Server) -> None:
        for side in Side:
            team = game.on(side)
            if team and game.commander(side) is None:
                game.take_chair(next((player for player in team if self._town.people[player].commands), team[0]))

    async def play(self, seconds: float) -> None:
        """The round goes on; people come, die, ask for a side, and leave."""
        if self._rng.random() < VOTES:
            await self._vote()
        end = self.game.clock + seconds
        while self.game.phase is Phase.RUNNING and self.game.clock < end:
            await self.pass_time(min(POLL_SECONDS, end - self.game.clock))
            for player in self.game.to_be_moved():
                self.game.die(player)
            self._come_and_go()
            if not self.game.arena and self._rng.random() < 0.1:
                player = self._rng.choice(list(self.game.clients))
                if self.game.clients[player].side is not None:
                    self.game.want(player, self._rng.choice(list(Side)))
            await self._sync()

    async def _vote(self) -> None:
        """Players ask for a vote, one after the other."""
        players = [*self.game.on(Side.A), *self.game.on(Side.B)]
        for player in self._rng.sample(players, len(players) // 2):
            self.game.say(player, "vote")
            await self._sync()
            if self.game.phase is not Phase.RUNNING:
                return

    async def finish(self) -> None:
        """The winner is drawn by the players' true skill; the result is delivered and rated."""
        if self.game.phase is not Phase.RUNNING:
            return  # a shuffle in the middle of it begins it again
        self.game.fight()
        winner = self._winner()
        captures = {} if winner is None else {winner: 3, winner.other: self._rng.randint(0, 2)}
        ns2 = isinstance(self.game, NS2Server)
        seconds = {} if ns2 else self.game.seconds_played()
        result = self.game.end_round(winner, captures, self._counts.drawn(self.rounds, seconds, self._skills))
        self.script.keep(result)
        self.rounds += 1
        names = self.game.map.mode.side_names
        self.result = "a draw" if winner is None else f"{names[list(Side).index(winner)]} won"
        await self._sync()
        if isinstance(self.game, NS2Server):
            await self.pass_time(self._tempo.freeze / 2)
            self.game.to_ready_room()
            await self._sync()

    def _winner(self) -> Side | None:
        if isinstance(self.game, NS2Server):
            marines = chance(self._town.people, self.game.presences(), ADVANTAGES[self.game.map.name])
            return draw_winner(self._rng, marines)
        a, b = (sum(self._skills[player].skill for player in self.game.on(side)) for side in Side)
        return Side.A if self._rng.random() < logistic(a - b) else Side.B

    def _come_and_go(self) -> None:
        """Some leave, and others come until the server is as full as it is on an evening."""
        leaves = LEAVES * min(1.0, USUAL / max(1, len(self.game.clients)))
        for player in [client for client in self.game.clients if self._rng.random() < leaves]:
            self.game.disconnect(player)
            self._town.at_home.add(player)
        newcomers = min(self.crowd - len(self.game.clients), len(self._town.at_home))
        for player in self._rng.sample(sorted(self._town.at_home), max(0, newcomers)):
            self._town.at_home.remove(player)
            self.game.connect(player)
            if self.game.phase is Phase.RUNNING and not self.game.arena:
                self.game.want(player, self._town.people[player].prefers)

    async def _keep_step(self) -> None:
        town = self._town
        if self.place.name in town.clocks:
            town.clocks[self.place.name] = self.now
            town.moved.set()
            while self.now > min(town.clocks.values()) + APART_SECONDS:
                town.moved.clear()
                await town.moved.wait()

    async def pass_time(self, seconds: float) -> None:
        """Time goes by, with a poll every five seconds unless it is long past."""
        left = seconds
        while left > 0:
            step = min(POLL_SECONDS, left)
            left -= step
            self.game.pass_time(step)
            await asyncio.sleep(max(0.0, self.now - time.time()))
            await self._keep_step()
            if self.now > time.time() - 1 and step == POLL_SECONDS:
                await self._post()
            await self._sync()


async def settle(
    daemon: Daemon,
    town: Sequence[Place],
    people: Sequence[Person],
    boot: float,
    tempo: Tempo,
    rng: Random,
    stack: AsyncExitStack,
    crowd: int | None = None,
) -> list[Server]:
    """Return the town's servers, before anybody is there; `stack` closes their connections.

    `boot` is the date at which they start, `crowd` how many players each has, if it is not its kind's number.
    """
    home = Town({person.id: person for person in people}, {person.id for person in people})
    servers = []
    for place in town:
        forms = place.kind.game is NS2
        client = Client(daemon.url, daemon.secrets[place.name], daemon.token, forms=forms)
        await stack.enter_async_context(client)
        servers.append(Server(place, home, boot, tempo, Random(rng.random()), client, crowd))
    return servers


# A town on the terminal: a line per game server, drawn again and again, or a line per round; and its numbers.

PAST_SECONDS = 1800.0
"""How much of the evening is over when somebody looks; at speed 1, as with all that lasts."""
PEOPLE = 1.8
"""People, for each who is there."""


@dataclass(frozen=True, slots=True)
class TownSummary(Summary):
    """A town's evening in numbers."""

    steps: ClassVar[Steps] = (
        ("equipoise init", "write a configuration, install the plugin into tf/"),
        ("equipoise init --game ns2", "write a configuration and the settings of the mod"),
        ("equipoise doctor", "look for what is wrong, and what to do"),
    )
    servers: int
    people: int
    rounds: int
    stored: int
    """Rounds that the daemon reported as stored."""
    remade: int
    """Scrambles and shuffles."""
    minutes: float
    """How long somebody has watched."""

    def rows(self) -> list[Figure]:
        """Return what was played."""
        return [
            ("servers", f"{self.servers}", f"for {self.people} people, in {self.minutes:.0f} min"),
            ("rounds", f"{self.rounds}", f"{self.stored} stored and rated"),
            ("scrambles", f"{self.remade}", "new teams, shuffles among them"),
        ]


async def serve(home: Path, places: Sequence[Place], seed: int, speed: float, console: Console | None) -> TownSummary:
    """Play until it is cancelled. PeerError when the daemon does not start or refuses something.

    The console is a terminal, which is drawn again and again, or gets a line per round; None: nothing is shown.
    """
    rng, began = Random(seed), time.time()
    tempo = Tempo(Tempo.freeze / speed, (Tempo.round[0] / speed, Tempo.round[1] / speed))
    people = townspeople(rng, round(PEOPLE * sum(place.kind.crowd for place in places)))
    daemon = Daemon(home, *(place.installation for place in places))
    try:
        await daemon.start()
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(daemon.url, "", daemon.token))
            if console:
                _say(console, f"{PAGE}: {await client.page()}")
                _say(console, f"Ctrl-C ends the evening. Another link: equipoise page -c {daemon.config}")
            servers = await settle(daemon, places, people, began - PAST_SECONDS / speed, tempo, rng, stack)
            try:
                async with asyncio.TaskGroup() as group:
                    for server in servers:
                        group.create_task(server.live())
                    if console:
                        group.create_task(_watch(servers, client, console))
            except asyncio.CancelledError:
                pass  # Ctrl-C is how it ends
            return TownSummary(
                servers=len(servers),
                people=len(people),
                rounds=sum(server.rounds for server in servers),
                stored=sum(server.script.stored for server in servers),
                remade=sum(server.scrambles for server in servers),
                minutes=(time.time() - began) / 60,
            )
    finally:
        await daemon.stop()


def _say(console: Console, line: str) -> None:
    """Print a line that can be copied whole."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


async def _watch(servers: Sequence[Server], client: Client, console: Console) -> None:
    """Show once a second what the daemon says of its servers."""
    seen: dict[str, int] = {}
    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    with live or nullcontext():
        while True:
            status = {row["server"]: row for row in (await client.ask("/v1/admin/servers"))["servers"]}
            if live:
                live.update(table(servers, status), refresh=True)
            else:
                for server in servers:
                    if server.rounds != seen.get(server.place.name, 0) and server.now > time.time() - 60:
                        line = f"{server.place.name}, round {server.rounds} on {server.game.map.name}: {server.result}"
                        _say(console, line)
                        seen[server.place.name] = server.rounds
            await asyncio.sleep(1.0)


def table(servers: Sequence[Server], status: Mapping[str, Mapping[str, Any]]) -> Table:
    """A line per server, by what the daemon says of it."""
    grid = Table(box=None, header_style="dim", expand=True, padding=(0, 1))
    for head in ("server", "map", "round", "players", "chance"):
        grid.add_column(head, no_wrap=True, justify="right" if head in ("round", "players", "chance") else "left")
    grid.add_column("what the daemon says there", no_wrap=True, overflow="ellipsis", ratio=1)
    for server in servers:
        row, (a, _) = status[server.place.name], server.game.map.mode.side_names
        queue = f" + {row['waiting']}" if row["waiting"] else ""
        chance = row["win_probability"]
        grid.add_row(
            Text(server.place.name, "bold"),
            server.game.map.name,
            f"{server.rounds + 1}",
            f"{row['players_a']} v {row['players_b']}{queue}",
            "" if chance is None else Text(f"{a} {percent(chance)}", "bold" if 0.4 < chance < 0.6 else "yellow"),
            Text(server.chat, "dim"),
        )
    return grid
