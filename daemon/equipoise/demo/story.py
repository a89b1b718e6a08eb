"""The script of the evening: an arena night with its comings and goings and a murder, then a KOTH map."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import partial

from equipoise.core.model import PlayerId, Side
from equipoise.demo import words
from equipoise.demo.evening import Evening
from equipoise.demo.server import KOTH

LEAST_ROUNDS = 6
LEAST_PLAYERS = 8
SLOW_ROUNDS = 5
"""So many rounds are shown slowly, until one knows what one sees."""
READ = 1.0
"""Seconds to read something that matters."""
SLOW, FAST = 0.4, 0.06
"""Seconds for each of a round's three pictures."""
RESTLESS = 0.05
"""How likely somebody leaves, or comes back, between two rounds."""


class Incident(Enum):
    """What happens to an arena evening, in this order."""

    ARRIVAL = auto()
    SECOND_ARRIVAL = auto()
    SMURF = auto()
    WALK_OUT = auto()
    RETURN = auto()


_MARKS = {
    Incident.ARRIVAL: 0.06,
    Incident.SECOND_ARRIVAL: 0.1,
    Incident.SMURF: 0.2,
    Incident.WALK_OUT: 0.33,
    Incident.RETURN: 0.4,
}
"""How far into the evening."""
MURDER = 0.5
"""From here on the daemon is killed, in the first round that may make a scramble due: then it is missed most."""


def koth_rounds(rounds: int) -> int:
    """How many of the rounds belong to the second map."""
    return max(2, min(6, rounds // 10))


def plan(rounds: int) -> dict[int, list[Incident]]:
    """Incidents by arena round, in their order, never before the second; who walks out returns in a later one."""
    planned: dict[int, list[Incident]] = {}
    earliest = 2
    for incident, mark in _MARKS.items():
        number = max(earliest, round(mark * rounds))
        planned.setdefault(number, []).append(incident)
        earliest = number + (incident is Incident.WALK_OUT)
    return planned


class Story:
    """Plays an evening from the first player to the last round."""

    def __init__(self, evening: Evening) -> None:
        self._evening = evening
        *regulars, self._smurf_id = evening.people
        self._found = False
        """The smurf's rating is the highest."""
        self._coming = regulars[-2:]
        self._first = regulars[:-2]
        self._gone: list[PlayerId] = []
        """Who left and may come back."""
        self._between: dict[Incident, Callable[[], None]] = {
            Incident.ARRIVAL: self._arrive,
            Incident.SECOND_ARRIVAL: self._arrive,
            Incident.SMURF: self._smurf,
            Incident.RETURN: self._return,
        }

    async def play(self) -> None:
        """The whole evening. PeerError when the daemon does not behave."""
        evening = self._evening
        koth = koth_rounds(evening.rounds)
        for id in self._first:
            evening.server.connect(id, evening.name(id))
        evening.tell("map", f"{len(self._first)} players on {evening.server.map.name}, everybody rated 1000")
        await evening.sync()
        await self._arena(evening.rounds - koth)
        await self._koth(koth)

    # Arena.

    async def _arena(self, rounds: int) -> None:
        planned = plan(rounds)
        while self._evening.number < rounds:
            incidents = planned.get(self._evening.number + 1, [])
            await self._come_and_go(incidents)
            middle = self._walk_out if Incident.WALK_OUT in incidents else partial(self._perhaps_crash, rounds)
            await self._round(middle)
            if not self._evening.up:
                await self._round()
                await self._revive()

    async def _come_and_go(self, incidents: list[Incident]) -> None:
        for incident in incidents:
            if incident in self._between:
                self._between[incident]()
                await self._pause(READ)
        if not incidents and self._evening.number > SLOW_ROUNDS and self._evening.rng.random() < RESTLESS:
            self._stir()
        await self._evening.sync()

    async def _round(self, middle: Callable[[], Awaitable[None]] | None = None, *, shutout: bool = False) -> None:
        """Freeze, doors, whatever happens in the middle, and the end."""
        evening = self._evening
        seen = evening.record.scrambles
        await evening.freeze()
        await self._pause(READ if evening.record.scrambles > seen else self._pace())
        await evening.lineup()
        await self._pause(self._pace())
        if middle is not None:
            await middle()
        await evening.finish(shutout=shutout)
        self._notice_smurf()
        await self._pause(self._pace())

    def _pace(self) -> float:
        return SLOW if self._evening.number <= SLOW_ROUNDS else FAST

    async def _pause(self, seconds: float) -> None:
        self._evening.show()
        await self._evening.stage.rest(seconds)

    # People.

    def _connect(self, id: PlayerId, text: str) -> None:
        evening = self._evening
        evening.server.connect(id, evening.name(id))
        evening.tell("people", f"{evening.name(id)} {text}")

    def _leave(self, id: PlayerId, text: str) -> None:
        evening = self._evening
        evening.server.disconnect(id)
        self._gone.append(id)
        evening.tell("people", f"{evening.name(id)} {text}")

    def _arrive(self) -> None:
        self._connect(self._coming.pop(0), "connects and waits for the next round")

    def _smurf(self) -> None:
        skill = self._evening.people[self._smurf_id].skill
        self._connect(self._smurf_id, f"connects: rated 1000 like any newcomer, truly worth {skill:.0f}, the best here")

    def _notice_smurf(self) -> None:
        """Say so when the best player is first rated the best."""
        evening = self._evening
        if not self._found and self._smurf_id in evening.server.clients:
            rating = evening.rating(self._smurf_id)
            self._found = all(evening.rating(id) < rating for id in evening.people if id != self._smurf_id)
            if self._found:
                evening.tell("people", f"{evening.name(self._smurf_id)} is found out: highest rating now, {rating:.0f}")

    def _return(self) -> None:
        if self._gone:
            self._connect(self._gone.pop(0), "is back, with the rating he left with")

    def _stir(self) -> None:
        """Somebody leaves between two rounds, or comes back."""
        if self._gone:
            self._return()
        else:
            self._leave(self._evening.rng.choice(self._first), "leaves for now")

    async def _walk_out(self) -> None:
        evening = self._evening
        evening.server.pass_time(20)
        evening.server.fight()
        side = evening.rng.choice(list(Side))
        id = evening.rng.choice(evening.server.on(side))
        self._leave(id, f"walks out of {words.SIDE_NAMES[side]} in the middle of the round: he fought, so it counts")
        await evening.sync()
        await self._pause(READ)

    # The daemon dies.

    async def _perhaps_crash(self, rounds: int) -> None:
        """Once, in time for another round without the daemon."""
        evening = self._evening
        late = evening.number >= rounds - 1
        if evening.record.restarts or evening.number < max(3, MURDER * rounds):
            return
        if evening.script.due_if or late:
            await self._crash()

    async def _crash(self) -> None:
        evening = self._evening
        # In the middle of a round, not in the very millisecond of its doors: every evening of a seed is the same.
        await evening.settle()
        await evening.daemon.kill()
        evening.up = False
        due = words.due(evening.script.due_if, pending=False)
        evening.tell("trouble", f"The daemon is killed (SIGKILL) in round {evening.number}{due and f', with a {due}'}")
        await self._pause(READ)

    async def _revive(self) -> None:
        evening = self._evening
        waiting = len(evening.script.ring)
        evening.tell("trouble", f"The game went on: {waiting} finished rounds wait in the plugin's ring of 8 slots")
        await self._pause(READ)
        await evening.daemon.start()
        await evening.sync()
        delivered = waiting - len(evening.script.ring)
        evening.record.restarts += 1
        evening.record.delivered += delivered
        evening.tell("trouble", f"The daemon is back: {delivered} of {waiting} rounds delivered, stored and rated")
        await self._pause(READ)

    # KOTH.

    async def _koth(self, rounds: int) -> None:
        await self._next_map()
        await self._round(self._gap, shutout=True)
        await self._round(self._latecomers)
        for number in range(rounds - 2):
            await self._round(self._switch if number == 0 else None)

    async def _next_map(self) -> None:
        evening = self._evening
        if len(evening.server.clients) % 2:
            self._leave(evening.rng.choice(list(evening.server.clients)), "leaves before the map changes")
        evening.server.change_map(KOTH)
        evening.script.introduce()
        evening.tell("map", f"Next map: {KOTH.name}. Nobody sits out here, and rounds are balanced while they run")
        await evening.sync()
        for id in evening.server.clients:
            evening.server.want(id, None)
        await evening.sync()
        await self._pause(READ)
        evening.server.end_waiting()
        await evening.sync()

    async def _gap(self) -> None:
        """Two leave the smaller side: somebody crosses when he next dies."""
        evening = self._evening
        evening.server.fight()
        side = min(Side, key=lambda side: len(evening.server.on(side)))
        for id in evening.rng.sample(evening.server.on(side), 2):
            self._leave(id, f"leaves {words.SIDE_NAMES[side]}")
        await evening.sync()
        await self._pause(READ)
        evening.server.pass_time(4)
        for id in evening.server.ordered():
            evening.server.die(id)
            evening.tell("move", f"{evening.name(id)} dies and respawns on {words.SIDE_NAMES[side]}: {self._sizes()}")
        await evening.sync()
        await self._pause(READ)

    def _sizes(self) -> str:
        red, blu = (len(self._evening.server.on(side)) for side in Side)
        return f"{red} against {blu}"

    async def _latecomers(self) -> None:
        """The two who left are back, and placed."""
        evening = self._evening
        for id in (self._gone.pop(), self._gone.pop()):
            evening.server.connect(id, evening.name(id))
            evening.server.want(id, None)
            await evening.sync()
        await self._pause(READ)

    async def _switch(self) -> None:
        """Somebody wants to join the side that is winning."""
        evening = self._evening
        side = evening.rng.choice(list(Side))
        evening.server.want(evening.rng.choice(evening.server.on(side)), side.other)
        await evening.sync()
        await self._pause(READ)
