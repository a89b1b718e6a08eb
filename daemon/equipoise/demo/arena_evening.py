"""A TF2 evening and its story: players who come and go in arena, a killed daemon, then KOTH, balanced mid-round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from random import Random
from statistics import fmean
from typing import ClassVar

from equipoise.core.effects import Assign, Move, Order, Place, Say
from equipoise.core.model import Counts, Mode, PlayerId, ServerId, Side
from equipoise.core.phrases import Phrase
from equipoise.demo.daemon import Client, Daemon, Installation
from equipoise.demo.evening import (
    MEAN,
    READ,
    SLOW_ROUNDS,
    SPREAD,
    Character,
    Evening,
    boot,
    crash,
    draw_winner,
    pace,
    pause,
    random_favourite,
    revive,
    theta,
    win_probability,
)
from equipoise.demo.record import (
    DECISIONS,
    UPSET,
    EveningSummary,
    Figure,
    Names,
    Odds,
    Played,
    Steps,
    Teams,
    listed,
    percent,
    shared_numbers,
)
from equipoise.demo.stage import TF2_LOOK, Stage
from equipoise.lab.simulation.game_server import GameServer, Map
from equipoise.lab.simulation.outcome_model import CountsModel
from equipoise.lab.simulation.population import Person, Scenario
from equipoise.solver import best_split
from equipoise.wire import TF2

SIDE_NAMES = {Side.A: "RED", Side.B: "BLU"}


def scrambled(odds: Odds, reason: str, before: Teams, after: Teams, names: Names, *, fair: bool) -> str:
    """A scramble: its reason, RED's chance before and after, moves and bench; `fair`: no one has sat out less."""
    movers = before.moved_to(after)
    lineup = len({*after.a, *after.b} - {*before.a, *before.b})
    parts = [f"RED {percent(odds[0])} → {percent(odds[1])}{odds[2]}", f"{movers or 'nobody'} moved"]
    if lineup > 1:
        parts.append(f"{lineup} in from the bench")
    if after.bench:
        sit, have = ("sits", "has") if len(after.bench) == 1 else ("sit", "have")
        parts.append(f"{listed(after.bench, names)} {sit} out" + (f" ({have} sat out least)" if fair else ""))
    return f"{reason[:1].upper()}{reason[1:]} → scrambled: {', '.join(parts)}"


def finished(number: int, winner: Side, teams: Teams, names: Names, *, predicted: float) -> str:
    """A round's result, with the chance that the winner had as predicted; `predicted` is RED's."""
    chance = predicted if winner is Side.A else 1 - predicted
    upset = ", against the odds" if chance < UPSET else ""
    bench = f" · {listed(teams.bench, names)} sat out" if 0 < len(teams.bench) < 4 else ""
    return f"Round {number}: {SIDE_NAMES[winner]} wins (had a {percent(chance)} chance{upset}){bench}"


def due(outcomes: tuple[str, ...], *, pending: bool) -> str:
    """Return what makes a scramble due, from the protocol's words.

    >>> due(("red", "none"), pending=False)
    'scramble due if RED wins or after a stalemate'
    """
    if pending:
        return "scramble at the next round start"
    if not outcomes:
        return ""
    if {"red:0", "blu:0"} == set(outcomes):
        return "scramble due after a shutout"
    return f"scramble due {' or '.join(_OUTCOMES[outcome] for outcome in outcomes)}"


_OUTCOMES = {
    "any": "when this round ends",
    "none": "after a stalemate",
    "red": "if RED wins",
    "blu": "if BLU wins",
    "red:0": "if RED shuts BLU out",
    "blu:0": "if BLU shuts RED out",
}


ARENA = Map("arena_lumberyard", Mode.ARENA)
SERVER = "arena-1"
ROUND_SECONDS = 240.0
"""More than a round takes on the game's clock."""

SCORES = 0.35
"""Correlation of a player's own score in one round with their skill."""
_POOL = """\
k_max = {k_max}
balance = "joint"

[pool.main.balance_params]
# Log-odds per player. The daemon learns it, which takes more rounds than an evening has.
spread = {spread:.2f}"""


def installation(team_size: int) -> Installation:
    """The configuration of the game server."""
    return Installation(SERVER, TF2, _POOL.format(k_max=team_size, spread=SPREAD / theta(team_size)))


class ArenaEvening(Evening):
    """An evening on a TF2 server."""

    look = TF2_LOOK

    def __init__(
        self, people: Sequence[Character], rounds: int, rng: Random, daemon: Daemon, client: Client, stage: Stage
    ) -> None:
        self.people = {person.id: person for person in people}
        self.game = GameServer(ServerId(SERVER), boot(rounds, ROUND_SECONDS), ARENA)
        super().__init__(self.people, rounds, rng, daemon, client, stage, self.game)
        self.theta = theta(len(people) // 2)
        self._sat_out: Counter[PlayerId] = Counter()
        """Rounds on the bench."""
        self._lineup = self.teams()
        self._scores = CountsModel(Scenario(seed=rng.randrange(2**32), spread=SPREAD / self.theta, scores=SCORES))

    # The ticker.

    def _report(self, order: Order, before: Teams, *, changed: bool) -> None:
        match order:
            case Assign() if changed:
                self._report_assignment(order, before)
            case Move():
                self.record.gaps += 1
                words = f"{self.name(order.player)} → {SIDE_NAMES[order.side]} at their next death"
                self.report("move", f"{words}: {self.english(order.reason)}")
            case Place() if order.reason.phrase.refusal:
                self.record.refused += 1
                self.report("move", f"{self.name(order.player)} wants the other side: {self.english(order.reason)}")
            case Place(side=Side() as side) if changed and not self.game.waiting_for_players:
                words = f"{self.name(order.player)} joins {SIDE_NAMES[side]}: {self.english(order.reason)}"
                self.report("people", words)
            case Say(text) if text.phrase in (
                Phrase.SHUFFLE_NEEDLESS,
                Phrase.TOO_UNEVEN_TWO,
                Phrase.TOO_UNEVEN_FOUR,
            ):
                self.report("scramble", self.english(text))

    def _report_assignment(self, order: Assign, before: Teams) -> None:
        after, reason = self.teams(), self.english(order.reason)
        if order.reason.phrase is Phrase.REASON_DUEL:
            pair = listed((*after.a, *after.b), self._names)
            self.report("scramble", f"{pair} play, everybody else waits: {reason}")
        elif order.reason.phrase not in (Phrase.REASON_EQUAL_SIDES, Phrase.REASON_TOO_UNEVEN):
            self._report_scramble(reason, before, after)
        self.record.benched += len(after.bench)

    def _report_scramble(self, reason: str, before: Teams, after: Teams) -> None:
        self.record.scrambles += 1
        self.record.moved += before.moved_to(after)
        line = partial(
            scrambled,
            reason=reason,
            before=before,
            after=after,
            names=self._names,
            fair=self._fair(after.bench),
        )
        self._remade.append((line, before, after))

    def _fair(self, bench: Iterable[PlayerId]) -> bool:
        """No player on a side has sat out less often than the players on the bench."""
        least = min(self._sat_out[player] for player in self.game.clients)
        return all(self._sat_out[player] == least for player in bench)

    # A round.

    async def freeze(self) -> None:
        """The next round's freeze time, in which teams are made; without the daemon the script uses its cache."""
        self.number += 1
        self._winner, self._chat = None, ""
        self.game.pass_time(15)
        before = self.teams()
        self.game.start_round()
        await self.sync()
        if not self.up and self.script.scramble_alone():
            self._report_scramble("the daemon is away, the plugin applies its cached split", before, self.teams())
            await self._forecast()

    async def go_live(self) -> None:
        """The round goes live: note its lineup, and report it."""
        self.game.go_live()
        await self.sync()
        self._lineup = self.teams()
        self._sat_out.update(self._lineup.bench)

    async def finish(self, *, shutout: bool = False) -> None:
        """The round ends; the winner is drawn by true skill, and the result is delivered and rated."""
        self.game.fight()
        self.game.pass_time(60 + self.rng.random() * 120)
        red, blu = (self._skills(self.game.on(side)) for side in Side)
        winner = draw_winner(self.rng, red, blu, self.theta)
        captures = {winner: 1, winner.other: 0 if shutout else 1}
        self.script.keep(self.game.end_round(winner, captures, self._counts()))
        self._record(winner)
        await self.sync()
        self.record.fidelity.append(self.fidelity())

    def _counts(self) -> dict[PlayerId, Counts]:
        """Return the players' counts in the running round, drawn by their true skill."""
        people = {
            player: Person(player, (character.skill - MEAN) / self.theta) for player, character in self.people.items()
        }
        return self._scores.drawn(self.number, self.game.seconds_played(), people)

    def _record(self, winner: Side) -> None:
        """Count the round, with the predictions for its lineup: players may have joined or left since."""
        self._winner, lineup = winner, self._lineup
        chance = 0.5 if lineup.chance is None else lineup.chance
        red, blu = self._skills(lineup.a), self._skills(lineup.b)
        true = win_probability(red, blu, self.theta)
        random = random_favourite(self.rng, [*red, *blu], len(red), self.theta)
        self.record.rounds.append(Played(chance, true, random, float(winner is Side.A)))
        self.record.by_ratings.append(self._by_ratings_alone((*lineup.a, *lineup.b), len(lineup.a)))
        self.report("round", finished(self.number, winner, lineup, self._names, predicted=chance))

    def _by_ratings_alone(self, ids: Sequence[PlayerId], red: int) -> float:
        """True win probability of the stronger side, had these people been split by the ratings that they are shown."""
        split = best_split(list(map(self.rating, ids)), sizes=(red, len(ids) - red))
        sides = (self._skills(ids[index] for index in side) for side in (split.a, split.b))
        chance = win_probability(next(sides), next(sides), self.theta)
        return max(chance, 1 - chance)

    def _skills(self, ids: Iterable[PlayerId]) -> list[float]:
        return [self.people[player].skill for player in ids]

    # What is shown.

    def teams(self) -> Teams:
        """The players on each side and on the bench, and RED's win probability as the daemon says it.

        Without the daemon it is by the ratings, which the plugin's cached splits are from too.
        """
        red, blu = self.game.on(Side.A), self.game.on(Side.B)
        chance = self._chance if red and blu else None
        if red and blu and not self.up:
            chance = win_probability(map(self.rating, red), map(self.rating, blu), self.theta)
        return Teams(red, blu, self.game.bench(), chance)

    def _due(self) -> str:
        return due(self.script.due_if, pending=self.script.pending)


# The story, and its numbers.

KOTH = Map("koth_viaduct", Mode.KOTH)
RESTLESS = 0.05
"""Probability that a player leaves, or comes back, between two rounds."""


class Incident(Enum):
    """Incidents of the arena rounds, in this order, and when: as a fraction of these rounds."""

    ARRIVAL = 0.06
    SECOND_ARRIVAL = 0.1
    SMURF = 0.2
    WALK_OUT = 0.33
    RETURN = 0.4


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
    for incident in Incident:
        number = max(earliest, round(incident.value * rounds))
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
            sizes = " against ".join(f"{len(evening.game.on(each))}" for each in Side)
            evening.report("move", f"{evening.name(player)} dies and respawns on {SIDE_NAMES[side]}: {sizes}")
        await evening.sync()
        await self._pause(READ)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaSummary(EveningSummary):
    """A TF2 evening in numbers."""

    steps: ClassVar[Steps] = (
        ("equipoise init", "write a configuration, install the plugin into tf/"),
        ("equipoise init --systemd", "start the daemon too, now and at every boot"),
        ("equipoise doctor", "look for what is wrong, and what to do"),
        ("docs/", "the rules, the protocol, the ratings, operations"),
    )
    scrambles: int
    scrambled_alone: int
    """Scrambles by the plugin from its cache, counted in the daemon's log."""
    benched: int
    by_ratings_alone: float
    """As `stronger_side`, had the same people been split anew in every round by the ratings that they are shown."""

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
            ("favourites won", f"{self.favourites_won:g}", f"{self.favourites_expected:.1f} predicted"),
            (
                "restarts survived",
                f"{self.restarts_survived}",
                f"rounds delivered late: {late}, scrambled alone: {alone}",
            ),
        ]


async def summarise(evening: ArenaEvening, client: Client) -> ArenaSummary:
    """Query the daemon, and add what only the simulation knows. PeerError when the daemon does not answer."""
    record = evening.record
    log = (await client.ask(f"/v1/admin/decisions?server={SERVER}&limit={DECISIONS}"))["decisions"]
    return ArenaSummary(
        **await shared_numbers(record, evening.script.stored, client, log, "scramble"),
        scrambles=record.scrambles,
        scrambled_alone=sum(entry["kind"] == "alone" for entry in log),
        benched=record.benched,
        by_ratings_alone=fmean(record.by_ratings[-record.half :]),
    )
