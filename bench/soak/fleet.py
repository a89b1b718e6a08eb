"""Simulated game servers that play against a daemon: each a game, a script and one connection, as the plugin has.

The game is the laboratory's, which obeys the daemon's orders exactly; the script is the demo's, which speaks the
protocol. Players come, choose a side and leave. Games live by their own clock, which may be faster than ours.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import msgspec

from bench.balance import first_wins, what_each_did
from bench.soak.link import Link
from equipoise.core.model import STEAM_ID_BASE, Mode, PlayerId, RoundId, ServerId, Side
from equipoise.demo.script import Script, decoded
from equipoise.lab.simulation.game_server import GameServer, Map
from equipoise.wire import orders as wire

PLAYERS = 24
COMMUNITY = 60
"""People who come to a server, of whom `PLAYERS` are there."""
POLL_SECONDS = 5.0
FREEZE_SECONDS = 10.0
ROUND_SECONDS = 70.0, 200.0
LEAVES = 0.01
"""Chance that a player leaves between two polls: they stay for eight minutes on average, a busy evening."""
BUSY_SECONDS = 0.2
MAPS = Map("arena_lumberyard", Mode.ARENA), Map("koth_harvest_final", Mode.KOTH)


@dataclass
class Tempo:
    """The games' time: as long as ours for `calm` seconds, then `speed` times as fast, until `end`."""

    calm: float
    speed: float
    end: float
    began: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        """Seconds of the games' time since the start."""
        passed = time.monotonic() - self.began
        return passed if passed < self.calm else self.calm + (passed - self.calm) * self.speed

    async def reach(self, seconds: float) -> None:
        """Wait until then; not at all when the machine is behind."""
        ours = min(seconds, self.calm) + max(0.0, seconds - self.calm) / self.speed
        await asyncio.sleep(max(0.0, self.began + ours - time.monotonic()))


@dataclass
class Times:
    """Milliseconds of each request of a stretch of time, by what it was."""

    polls: list[float] = field(default_factory=list)
    """Batches without events."""
    ends: list[float] = field(default_factory=list)
    """Finished rounds, until the answer that one is stored, in the first batch or a later one."""
    others: list[float] = field(default_factory=list)
    """Batches with other events."""
    late: int = 0
    """Answers after which a batch or a round was sent again: `busy`, `kept`, or no word of the round in a second."""

    def all(self) -> int:
        return len(self.polls) + len(self.ends) + len(self.others)


class Refused(Exception):
    """The daemon refused a batch: a soak has no bad ones."""


class Server:
    """A game server and its people."""

    def __init__(self, number: int, link: Link, tempo: Tempo, boot: int, times: tuple[Times, Times]) -> None:
        ids = (PlayerId(str(STEAM_ID_BASE + 1 + COMMUNITY * number + each)) for each in range(COMMUNITY))
        self._names = {id: f"player {id[-6:]}" for id in ids}
        self._game = GameServer(ServerId(f"bench-{number}"), boot, MAPS[number % len(MAPS)])
        self.script = Script(self._game, self._names)
        self.ended = 0
        """Rounds played to their end."""
        self._link, self._tempo, self._times = link, tempo, times
        self._luck = Random(number)
        self._delivering: dict[RoundId, float] = {}
        """Rounds that are not stored yet, and when they were first sent."""

    async def live(self) -> None:
        """Play rounds until the end of the games' time; the last one is delivered."""
        await self._pass(self._luck.uniform(0, POLL_SECONDS))  # servers do not poll in step
        for player in self._luck.sample(sorted(self._names), PLAYERS):
            self._come(player)
        await self._sync()
        await self._round(self._luck.uniform(0, ROUND_SECONDS[1]))  # nor do their rounds end together
        while self._game.clock < self._tempo.end:
            await self._round(self._luck.uniform(*ROUND_SECONDS))

    async def _round(self, seconds: float) -> None:
        self._game.start_round()
        await self._sync()
        await self._pass(FREEZE_SECONDS)
        self._game.go_live()
        await self._sync()
        await self._pass(seconds, playing=True)
        self._game.fight()
        winner = Side.A if first_wins(self._luck, *map(self._game.on, Side)) else Side.B
        captures = {winner: 1, winner.other: self._luck.randint(0, 1)}
        counts = {id: what_each_did(self._luck, played, id) for id, played in self._game.seconds_played().items()}
        self.script.keep(self._game.end_round(winner, captures, counts))
        self.ended += 1
        await self._sync()
        await self._pass(POLL_SECONDS)

    async def _pass(self, seconds: float, *, playing: bool = False) -> None:
        """Time goes by, with a poll every five seconds, and with people who come, die and leave."""
        end = self._game.clock + seconds
        while (left := end - self._game.clock) > 1e-6:
            step = min(POLL_SECONDS, left)
            await self._tempo.reach(self._game.clock + step)
            self._game.pass_time(step)
            if playing:
                self._happen()
            if step == POLL_SECONDS:
                await self._post()
            await self._sync()

    def _happen(self) -> None:
        for player in self._game.to_be_moved():
            if self._luck.random() < 0.5:
                self._game.die(player)
        for player in [each for each in self._game.clients if self._luck.random() < LEAVES]:
            self._game.disconnect(player)
            self._come(self._luck.choice([each for each in self._names if each not in self._game.clients]))

    def _come(self, player: PlayerId) -> None:
        self._game.connect(player)
        if not self._game.arena:
            self._game.want(player, None)

    async def _sync(self) -> None:
        while not self.script.silent:
            await self._post()
            if self.script.ring:
                await asyncio.sleep(BUSY_SECONDS)

    async def _post(self) -> None:
        batch = self.script.batch()
        times = self._times[self._game.clock >= self._tempo.calm]
        began = time.perf_counter()
        for id in self.script.ring:
            self._delivering.setdefault(id, began)
        answer = await self._answered(msgspec.json.encode(batch), times)
        ended = time.perf_counter()
        reply = msgspec.json.decode(answer, type=wire.Reply)
        self.script.answered(reply)
        for id in [each for each in self._delivering if each not in self.script.ring]:
            times.ends.append(1e3 * (ended - self._delivering.pop(id)))
        if "round_ended" not in (kinds := {event["kind"] for event in batch["events"]}):
            (times.others if kinds else times.polls).append(1e3 * (ended - began))
        times.late += len(self._delivering)
        for order in reply.orders:
            self._game.apply(decoded(order))

    async def _answered(self, body: bytes, times: Times) -> bytes:
        """Sent again while the daemon is busy."""
        while not (answer := await self._link.post("/v1/events", body)).startswith(b'{"ok":true'):
            if b'"busy"' not in answer:
                raise Refused(answer.decode())
            times.late += 1
            await asyncio.sleep(BUSY_SECONDS)
        return answer


async def play(port: int, secrets: Sequence[str], tempo: Tempo, times: tuple[Times, Times]) -> list[Server]:
    """All servers side by side until the end; `times` are of the calm stretch and of the fast one."""
    links = [Link(port, secret) for secret in secrets]
    # The clocks of games that run faster than ours began so long ago that they do not get ahead of it.
    boot = round(1000 * (time.time() - tempo.end - 2 * sum(ROUND_SECONDS)))
    tempo.began = time.monotonic()
    servers = [Server(number, link, tempo, boot, times) for number, link in enumerate(links)]
    try:
        for link in links:
            await link.open()
        async with asyncio.TaskGroup() as group:
            for server in servers:
                group.create_task(server.live())
    finally:
        _close(links)
    return servers


def _close(links: Iterable[Link]) -> None:
    for link in links:
        link.close()
