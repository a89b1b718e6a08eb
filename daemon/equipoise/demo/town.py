"""A town of game servers that play on and on against one daemon, and its people, who come, play and leave.

A game's clock is ours from the moment on at which it has caught up: it starts in the past, and what is past is played
without waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import NamedTuple

from equipoise.core.asks import Moment
from equipoise.core.effects import Assign, Say
from equipoise.core.events import Phase
from equipoise.core.model import Mode, PlayerId, ServerId, Side, logistic
from equipoise.demo.cast import NAMES
from equipoise.demo.daemon import Client, Daemon, Installation
from equipoise.demo.ns2_evening import ADVANTAGES, NEW_POOL, SCALE, SHAPE, Person, chance, draw_winner, random_person
from equipoise.demo.record import english
from equipoise.demo.script import Script, decoded
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
    at_home: set[PlayerId] = field(init=False)
    clocks: dict[str, float] = field(default_factory=dict)
    """Dates of the games that play: none gets far ahead of the others while they catch up."""
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """A clock has moved."""

    def __post_init__(self) -> None:
        self.at_home = set(self.people)


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
    home = Town({person.id: person for person in people})
    servers = []
    for place in town:
        forms = place.kind.game is NS2
        client = Client(daemon.url, daemon.secrets[place.name], daemon.token, forms=forms)
        await stack.enter_async_context(client)
        servers.append(Server(place, home, boot, tempo, Random(rng.random()), client, crowd))
    return servers
