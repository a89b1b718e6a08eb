"""A host on a real store, with time given by the test, and batches as a script would post them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.core import events as e
from equipoise.core.model import Entry, LineupPlayer, Mode, PlayerId, Presence, Roster, Round, RoundId, ServerId, Side
from equipoise.core.rules import Rules
from equipoise.ratings import create
from equipoise.ratings.system import System
from equipoise.service.held import MOST_HELD
from equipoise.service.host import Host
from equipoise.service.ring import Ring
from equipoise.store.store import Store
from equipoise.wire import Batch, Reply
from tests.opened_pool import new_pool

SERVER = ServerId("arena-1")
BOOT = 1763622000123
SESSION = f"{BOOT}-1"


def player(number: int) -> PlayerId:
    """Some player's SteamID64."""
    return PlayerId(str(76561198000000000 + number))


def roster(a: Sequence[int], b: Sequence[int], waiting: Sequence[int] = ()) -> Roster:
    """Players by number on the two sides, and waiting."""
    seats = [(number, Side.A) for number in a] + [(number, Side.B) for number in b]
    placed = [Entry(player(number), side, connected=100.0 - number) for number, side in seats]
    return Roster((*placed, *(Entry(player(number), None, waiting=True) for number in waiting)))


def round_of(
    name: str, here: Roster, winner: Side | None, mode: Mode = Mode.ARENA, session: str = SESSION, captures: int = 1
) -> Round:
    """A round that every player of a roster fought, from its start to its end."""
    lineup = [entry for entry in here.entries if entry.side is not None]
    return Round(
        RoundId(name),
        SERVER,
        session,
        "arena_lumberyard",
        mode,
        1763622000.0,
        120.0,
        winner,
        tuple(LineupPlayer(entry.id, entry.side) for entry in lineup if entry.side),
        tuple(
            Presence(
                entry.id,
                entry.side,
                120.0 if entry.side is Side.A else 0.0,
                120.0 if entry.side is Side.B else 0.0,
                fought=True,
            )
            for entry in lineup
            if entry.side
        ),
        captures_a=captures,
        captures_b=captures,
    )


@dataclass
class GivenClock:
    """Time as the test gives it."""

    now: float = 1_763_622_000.0

    def monotonic(self) -> float:
        return self.now

    def epoch(self) -> float:
        return self.now


@dataclass
class Rig:
    """One server's host, its pool and its store, in a folder."""

    folder: Path
    rules: Rules = field(default_factory=Rules)
    clock: GivenClock = field(default_factory=GivenClock)
    seq: int = 0
    system: str = "synelo"
    params: Mapping[str, object] = field(default_factory=dict)
    answer_seconds: float = 60.0
    """Long, so that a busy machine does not change replies."""
    nudges: int = 0
    """How often the script was to be made to call."""
    most_held: int = MOST_HELD
    store_type: type[Store] = Store
    ring_type: type[Ring] = Ring
    balance: System[Any] | None = None

    async def __aenter__(self) -> Rig:
        self.folder.mkdir(exist_ok=True)
        self.store = self.store_type(self.folder / "equipoise.db")
        await self.store.open()
        self.ring = self.ring_type(self.folder / "main.ring")
        system = create(self.system, **self.params)
        self.pool = new_pool(system, self.store, self.ring, self.clock, self.most_held, self.balance)
        await self.pool.open()
        self.host = Host(SERVER, self.pool, self.store, self.rules, self.clock, nudge=self._nudged)
        self.host.answer_seconds = self.answer_seconds
        await self.host.start()
        return self

    def _nudged(self) -> None:
        self.nudges += 1

    async def __aexit__(self, *error: object) -> None:
        await self.host.close()
        await self.pool.close()
        await self.store.close()

    def batch(self, *events: e.ScriptEvent, seq: int | None = None, boot: int = BOOT) -> Batch:
        """The script's next batch."""
        self.seq = self.seq + 1 if seq is None else seq
        return Batch(SERVER, boot, self.seq, 0.0, events)

    async def post(self, *events: e.ScriptEvent) -> Reply:
        """Post the next batch."""
        return await self.host.handle(self.batch(*events))

    async def hello(self, here: Roster, mode: Mode = Mode.ARENA, phase: e.Phase = e.Phase.IDLE) -> Reply:
        """Introduce the script and who is there."""
        return await self.post(e.Hello(0.0, SESSION, "arena_lumberyard", mode, phase), e.RosterSeen(0.0, here))

    async def play(self, name: str, here: Roster, winner: Side | None, mode: Mode = Mode.ARENA) -> Reply:
        """A round from the moment it goes live to its end."""
        await self.post(e.RoundLive(0.0, RoundId(name), here))
        return await self.post(e.RoundEnded(0.0, round_of(name, here, winner, mode)))


def played(test: Callable[..., Awaitable[None]] | None = None, **arguments: Any) -> Callable[..., Any]:
    """Run a test on a fresh rig with these arguments, its first parameter; the others are as pytest has them."""
    if test is None:
        return partial(played, **arguments)

    def run(tmp_path: Path, **others: Any) -> None:
        async def main() -> None:
            async with Rig(tmp_path, **arguments) as rig:
                await test(rig, **others)

        asyncio.run(main())

    _, *others = inspect.signature(test).parameters.values()
    folder = inspect.Parameter("tmp_path", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run.__signature__ = inspect.Signature([folder, *others])  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run
