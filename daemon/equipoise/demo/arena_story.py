"""The story of a TF2 evening, and its numbers: players who come and go, a killed daemon, then a KOTH map.

Everything here is decided by the seed and by what the daemon answers; a seed plays the same evening again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from statistics import fmean

from equipoise.core.model import Mode, PlayerId, Side
from equipoise.demo.arena_evening import SERVER, SIDE_NAMES, ArenaEvening, due
from equipoise.demo.daemon import POOL, Client
from equipoise.demo.evening import READ, SLOW_ROUNDS, crash, pace, pause, revive
from equipoise.demo.record import DECISIONS, Figure, Record, Steps, Summary, favourites, percent
from equipoise.lab.simulation.game_server import Map

KOTH = Map("koth_viaduct", Mode.KOTH)
RESTLESS = 0.05
"""Probability that a player leaves, or comes back, between two rounds."""


class Incident(Enum):
    """Incidents of the arena rounds, in this order."""

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
"""When, as a fraction of the arena rounds."""
KILL = 0.5
"""From this fraction on, the daemon is killed in the first round that may make a scramble due: then it matters most."""


def koth_rounds(rounds: int) -> int:
    """How many of the rounds belong to the second map."""
    return max(2, min(6, rounds // 10))


def plan(rounds: int) -> dict[int, list[Incident]]:
    """Incidents by arena round, in their order, from round 2 on; a player who leaves in a round returns in a later one.

    >>> sorted(plan(100))
    [6, 10, 20, 33, 40]
    """
    incidents: dict[int, list[Incident]] = {}
    earliest = 2
    for incident, mark in _MARKS.items():
        number = max(earliest, round(mark * rounds))
        incidents.setdefault(number, []).append(incident)
        # On a short evening several fall into one round, but nobody can be back in the round in which they leave.
        earliest = number + (incident is Incident.WALK_OUT)
    return incidents


class Story:
    """Plays an evening from the first player to the last round."""

    def __init__(self, evening: ArenaEvening) -> None:
        self._evening = evening
        *regulars, self._smurf_id = evening.people
        self._found = False
        """The smurf's rating has become the highest."""
        self._coming = regulars[-2:]
        self._first = regulars[:-2]
        self._gone: list[PlayerId] = []
        """Players who left and may come back."""
        self._between: dict[Incident, Callable[[], None]] = {
            Incident.ARRIVAL: self._arrive,
            Incident.SECOND_ARRIVAL: self._arrive,
            Incident.SMURF: self._smurf,
            Incident.RETURN: self._return,
        }

    async def play(self) -> None:
        """Play the whole evening. PeerError when the daemon refuses something, or is not there when it should be."""
        evening = self._evening
        koth = koth_rounds(evening.rounds)
        for player in self._first:
            evening.game.connect(player)
        evening.report("map", f"{len(self._first)} players on {evening.game.map.name}, everybody rated 1000")
        await evening.sync()
        await self._arena(evening.rounds - koth)
        await self._koth(koth)

    # Arena.

    async def _arena(self, rounds: int) -> None:
        outline = plan(rounds)
        while self._evening.number < rounds:
            incidents = outline.get(self._evening.number + 1, [])
            await self._come_and_go(incidents)
            middle = self._walk_out if Incident.WALK_OUT in incidents else partial(self._perhaps_crash, rounds)
            await self._round(middle)
            if not self._evening.up:
                await self._round()
                await revive(self._evening, "the plugin's ring")

    async def _come_and_go(self, incidents: list[Incident]) -> None:
        for incident in incidents:
            if incident in self._between:
                self._between[incident]()
                await self._pause(READ)
        if not incidents and self._evening.number > SLOW_ROUNDS and self._evening.rng.random() < RESTLESS:
            self._stir()
        await self._evening.sync()

    async def _round(self, middle: Callable[[], Awaitable[None]] | None = None, *, shutout: bool = False) -> None:
        """Freeze time, the start, what happens in the middle, and the end."""
        evening = self._evening
        seen = evening.record.scrambles
        await evening.freeze()
        await self._pause(READ if evening.record.scrambles > seen else pace(evening))
        await evening.go_live()
        await self._pause(pace(evening))
        if middle is not None:
            await middle()
        await evening.finish(shutout=shutout)
        self._notice_smurf()
        await self._pause(pace(evening))

    async def _pause(self, seconds: float) -> None:
        await pause(self._evening, seconds)

    # People.

    def _connect(self, player: PlayerId, text: str) -> None:
        evening = self._evening
        evening.game.connect(player)
        evening.report("people", f"{evening.name(player)} {text}")

    def _leave(self, player: PlayerId, text: str) -> None:
        evening = self._evening
        evening.game.disconnect(player)
        self._gone.append(player)
        evening.report("people", f"{evening.name(player)} {text}")

    def _arrive(self) -> None:
        self._connect(self._coming.pop(0), "connects and waits for the next round")

    def _smurf(self) -> None:
        skill = self._evening.people[self._smurf_id].skill
        self._connect(
            self._smurf_id,
            f"connects: rated 1000 like any newcomer, but the best here with a true skill of {skill:.0f}",
        )

    def _notice_smurf(self) -> None:
        """Report when the best player is first rated the best."""
        evening = self._evening
        if not self._found and self._smurf_id in evening.game.clients:
            rating = evening.rating(self._smurf_id)
            self._found = all(evening.rating(player) < rating for player in evening.people if player != self._smurf_id)
            if self._found:
                evening.report(
                    "people", f"{evening.name(self._smurf_id)}'s skill shows: the highest rating now, {rating:.0f}"
                )

    def _return(self) -> None:
        if self._gone:
            self._connect(self._gone.pop(0), "is back, with the same rating as before")

    def _stir(self) -> None:
        """A player leaves between two rounds, or one who left comes back."""
        if self._gone:
            self._return()
        else:
            self._leave(self._evening.rng.choice(self._first), "leaves for now")

    async def _walk_out(self) -> None:
        evening = self._evening
        evening.game.pass_time(20)
        evening.game.fight()
        side = evening.rng.choice(list(Side))
        player = evening.rng.choice(evening.game.on(side))
        self._leave(
            player, f"leaves {SIDE_NAMES[side]} in the middle of the round: having fought, they are rated for it"
        )
        await evening.sync()
        await self._pause(READ)

    # The daemon dies.

    async def _perhaps_crash(self, rounds: int) -> None:
        """Kill the daemon, once, early enough for another arena round without it."""
        evening = self._evening
        late = evening.number >= rounds - 1
        if evening.record.restarts or evening.number < max(3, KILL * rounds):
            return
        if evening.script.due_if or late:
            trigger = due(evening.script.due_if, pending=False)
            await crash(evening, f", with a {trigger}" if trigger else "")

    # KOTH.

    async def _koth(self, rounds: int) -> None:
        await self._next_map()
        await self._round(self._gap, shutout=True)
        await self._round(self._latecomers)
        for number in range(rounds - 2):
            await self._round(self._switch if number == 0 else None)

    async def _next_map(self) -> None:
        evening = self._evening
        if len(evening.game.clients) % 2:
            self._leave(evening.rng.choice(list(evening.game.clients)), "leaves before the map changes")
        evening.game.change_map(KOTH)
        evening.script.introduce()
        evening.report("map", f"Next map: {KOTH.name}. No bench here, and running rounds are balanced")
        await evening.sync()
        for player in evening.game.clients:
            evening.game.want(player, None)
        await evening.sync()
        await self._pause(READ)
        evening.game.end_waiting()
        await evening.sync()

    async def _gap(self) -> None:
        """Two players leave the smaller side: a player of the larger one crosses at their next death."""
        evening = self._evening
        evening.game.fight()
        side = min(Side, key=lambda side: len(evening.game.on(side)))
        for player in evening.rng.sample(evening.game.on(side), 2):
            self._leave(player, f"leaves {SIDE_NAMES[side]}")
        await evening.sync()
        await self._pause(READ)
        evening.game.pass_time(4)
        for player in evening.game.to_be_moved():
            evening.game.die(player)
            evening.report("move", f"{evening.name(player)} dies and respawns on {SIDE_NAMES[side]}: {self._sizes()}")
        await evening.sync()
        await self._pause(READ)

    def _sizes(self) -> str:
        red, blu = (len(self._evening.game.on(side)) for side in Side)
        return f"{red} against {blu}"

    async def _latecomers(self) -> None:
        """The two who left come back and are placed."""
        evening = self._evening
        # The last two who left: those of `_gap`.
        for player in (self._gone.pop(), self._gone.pop()):
            evening.game.connect(player)
            evening.game.want(player, None)
            await evening.sync()
        await self._pause(READ)

    async def _switch(self) -> None:
        """A player asks for the other side."""
        evening = self._evening
        side = evening.rng.choice(list(Side))
        evening.game.want(evening.rng.choice(evening.game.on(side)), side.other)
        await evening.sync()
        await self._pause(READ)


@dataclass(frozen=True, slots=True)
class EveningSummary(Summary):
    """The evening in numbers; those of the daemon come from its admin interface. The fields are those of `--json`."""

    rounds: int
    stored: int
    """Rounds that the daemon reported as stored."""
    scrambles: int
    scrambled_alone: int
    """Scrambles by the plugin from its cache, counted in the daemon's log."""
    favourite_before: float
    """Win probability of the favourite before a scramble, the mean over the daemon's log."""
    favourite_after: float
    moved: int
    benched: int
    moved_in_rounds: int
    refused_switches: int
    rank_correlation: float
    """Spearman's ρ of ratings and true skill."""
    stronger_side: float
    """True win probability of the stronger side, the mean over the second half of the rounds; 0.5 is even."""
    by_ratings_alone: float
    """The same, had the same people been split anew in every round by the ratings that they are shown."""
    random_teams: float
    """The same, had the same people been on random teams."""
    favourites_expected: float
    favourites_won: int
    brier: float
    restarts_survived: int
    rounds_delivered_late: int

    def rows(self) -> list[Figure]:
        """Return what was played, how even the teams were, and how well ratings were found."""
        before, after = percent(self.favourite_before), percent(self.favourite_after)
        by_ratings, random = percent(self.by_ratings_alone), percent(self.random_teams)
        late, alone = self.rounds_delivered_late, self.scrambled_alone
        return [
            (
                "stronger side, truly",
                percent(self.stronger_side),
                f"chance to win; in random teams {random}, by ratings alone {by_ratings}",
            ),
            ("rounds", f"{self.rounds}", f"{self.stored} stored and rated"),
            ("scrambles", f"{self.scrambles}", f"favourite's chance {before} before, {after} after"),
            ("moved by scrambles", f"{self.moved}", "players who changed sides"),
            ("moved in a round", f"{self.moved_in_rounds}", f"switches refused: {self.refused_switches}"),
            ("ratings and true skill", f"{self.rank_correlation:.2f}", "Spearman's ρ; 1 is the true order"),
            ("favourites won", f"{self.favourites_won}", f"{self.favourites_expected:.1f} predicted"),
            (
                "restarts survived",
                f"{self.restarts_survived}",
                f"rounds delivered late: {late}, scrambled alone: {alone}",
            ),
        ]

    @property
    def steps(self) -> Steps:
        """Commands that set up a TF2 server, and where to read on."""
        return (
            ("equipoise init", "write a configuration, install the plugin into tf/"),
            ("equipoise init --systemd", "start the daemon too, now and at every boot"),
            ("equipoise doctor", "look for what is wrong, and what to do"),
            ("docs/", "the rules, the protocol, the ratings, operations"),
        )


async def summarise(record: Record, stored: int, client: Client) -> EveningSummary:
    """Query the daemon, and add what only the simulation knows. PeerError when the daemon does not answer."""
    quality = (await client.ask(f"/v1/admin/pools/{POOL}/quality"))["quality"]
    log = (await client.ask(f"/v1/admin/decisions?server={SERVER}&limit={DECISIONS}"))["decisions"]
    before, after = favourites(log, "scramble")
    forecast, won = record.expected()
    half = (len(record.rounds) + 1) // 2
    stronger, random = record.evenness(half)
    return EveningSummary(
        rounds=len(record.rounds),
        stored=stored,
        scrambles=record.scrambles,
        scrambled_alone=sum(entry["kind"] == "alone" for entry in log),
        favourite_before=before,
        favourite_after=after,
        moved=record.moved,
        benched=record.benched,
        moved_in_rounds=record.gaps,
        refused_switches=record.refused,
        rank_correlation=record.fidelity[-1],
        stronger_side=stronger,
        by_ratings_alone=fmean(record.by_ratings[-half:]),
        random_teams=random,
        favourites_expected=forecast,
        favourites_won=round(won),
        brier=quality["brier"]["value"],
        restarts_survived=record.restarts,
        rounds_delivered_late=record.delivered,
    )
