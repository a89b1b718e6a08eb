"""An evening: its people and the results drawn from their skill, the game, its script and the daemon behind it.

A story decides what happens; this module and the game's own evening make it happen. Each step changes the game and then
calls `sync`, which talks to the daemon until neither has anything left to send. Orders are carried out and reported.

Skill is in rating points, as the daemon rates: two sides whose sums differ by `theta` points win and lose e to 1.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from equipoise.core.effects import Order, Say, Tell
from equipoise.core.model import STEAM_ID_BASE, PlayerId, Side
from equipoise.core.phrases import Text
from equipoise.core.wording import of_the_map
from equipoise.demo.daemon import Client, Daemon
from equipoise.demo.record import Odds, Record, Teams, english
from equipoise.demo.script import Script, decoded
from equipoise.demo.stage import Board, Kind, Line, Look, Row, Stage
from equipoise.lab.simulation.game_server import GameServer
from equipoise.lab.simulation.measures import spearman
from equipoise.wire import orders as wire

_NAMES = """
Anya Argo Bix Bram Cleo Dash Fenn Flint Hazel Ivo Juno Kite Lumi Mara Moss Nils Orla Otto Pike Quill Rook Ruby Sable
Soren Tarn Tove Vex Wren Yuki Zed
"""
NAMES = tuple(_NAMES.split())
SMURF = "newbie"
MOST = len(NAMES) + 1
"""Players, the smurf among them."""

MEAN = 1000.0
WEAKEST = 200.0
"""A little above the floor of ratings: no rating could show a lower skill."""
SPREAD = 500.0
"""Standard deviation of true skill, points: of two random teams of five the better one often has an 80 % chance."""


@dataclass(frozen=True, slots=True)
class Character:
    """A player. `skill` is hidden from the daemon, which has to estimate it from results."""

    id: PlayerId
    name: str
    skill: float


def cast(rng: Random, count: int) -> tuple[Character, ...]:
    """Draw `count` people; the last one is the smurf: a new account, and better than all the others."""
    names = rng.sample(NAMES, count - 1)
    regulars = [
        Character(account(number), name, max(WEAKEST, MEAN + SPREAD * rng.gauss(0, 1)))
        for number, name in enumerate(names, 1)
    ]
    best = max(character.skill for character in regulars)
    return (*regulars, Character(account(count), SMURF, best + SPREAD / 2))


def account(number: int) -> PlayerId:
    """The account of the person with this number."""
    return PlayerId(str(STEAM_ID_BASE + 1000 + number))


def theta(team_size: int) -> float:
    """Scale of the pool's logistic, points, as the daemon derives it from `k_max`: 400·⌊median{1..k_max}⌋."""
    return 400.0 * ((team_size + 1) // 2)


def win_probability(red: Iterable[float], blu: Iterable[float], theta: float) -> float:
    """Probability that RED wins: the logistic of the difference of both sums, `theta` being its scale in points.

    >>> round(win_probability([1500, 700], [1000], theta=1200), 3)
    0.731
    """
    return 1.0 / (1.0 + math.exp((math.fsum(blu) - math.fsum(red)) / theta))


def random_favourite(rng: Random, skills: Sequence[float], red: int, theta: float, samples: int = 100) -> float:
    """Win probability of the stronger side, the mean over random teams of the same people, `red` of them on RED."""
    orders = (rng.sample(skills, len(skills)) for _ in range(samples))
    probabilities = [win_probability(order[:red], order[red:], theta) for order in orders]
    return fmean(max(chance, 1 - chance) for chance in probabilities)


def draw_winner(rng: Random, red: Iterable[float], blu: Iterable[float], theta: float) -> Side:
    """Draw the winner of a round between people of these skills."""
    return Side.A if rng.random() < win_probability(red, blu, theta) else Side.B


# The evening's state.

RECENT = 50
"""Decisions of the daemon among which the last scramble is looked for."""

Remade = Callable[[Odds], str]
"""The words for a scramble or shuffle, given what it changed."""


def boot(rounds: int, round_seconds: float) -> int:
    """When the script starts, milliseconds since the epoch: so far back that the evening ends before now."""
    return round(1000 * (time.time() - rounds * round_seconds))


class Evening(ABC):
    """The game, its script, the daemon, and what the evening adds up to so far."""

    look: Look

    def __init__(
        self,
        people: Mapping[PlayerId, Character],
        rounds: int,
        rng: Random,
        daemon: Daemon,
        client: Client,
        stage: Stage,
        game: GameServer,
    ) -> None:
        self.rng = rng
        self.daemon = daemon
        self.stage = stage
        self.record = Record()
        self._characters = people
        self._names = {person.id: person.name for person in people.values()}
        (installation,) = daemon.installations
        self.script = Script(game, self._names, installation.game)
        self.number = 0
        """The running round, 1 the first."""
        self.rounds = rounds
        """How many there will be."""
        self.up = True
        """The daemon answered the last batch."""
        self._playing = game
        self._client = client
        self._summaries: dict[PlayerId, wire.PlayerSummary] = {}
        self._changes: dict[PlayerId, float] = {}
        """Rating changes by each player's last rated round."""
        self._chat = ""
        self._winner: Side | None = None
        self._chance: float | None = None
        """Side A's win probability, as the daemon last said it."""
        self._remade: list[tuple[Remade, Teams, Teams]] = []
        """Scrambles and shuffles that are not reported yet: their words, and the teams before and after."""

    # Talking to the daemon.

    async def sync(self) -> None:
        """Post batches and carry out the orders of the replies until the script has nothing to report."""
        while not self.script.silent:
            if not await self.poll():
                break
        await self._forecast()

    async def _forecast(self) -> None:
        """Ask the daemon how even the sides are, and report how its orders have changed that."""
        if self.up:
            status = await self._client.ask(f"/v1/admin/servers/{self._playing.name}")
            self._chance = status["server"]["win_probability"]
        for line, before, after in self._remade:
            self.report("scramble", line(await self._odds() if self.up else (before.chance, after.chance, "")))
        self._remade.clear()

    async def _odds(self) -> Odds:
        """Side A's win probability before and after the last scramble or shuffle, by the daemon's log."""
        server = self._playing.name
        log = (await self._client.ask(f"/v1/admin/decisions?server={server}&limit={RECENT}"))["decisions"]
        detail = next((entry["detail"] for entry in log if entry["kind"] in ("scramble", "shuffle", "alone")), None)
        if detail is None:
            return None, None, ""
        return detail.get("before"), detail.get("after"), of_the_map(detail.get("after_outlook"))

    async def poll(self) -> bool:
        """One batch and its answer; False when there is no answer, or when a round must be sent again later."""
        reply = await self._client.exchange(self.script)
        self.up = reply is not None
        if reply is None:
            return False
        self._take_summaries(reply.players)
        for order in reply.orders:
            self._obey(decoded(order))
        # The daemon has the round in memory alone: it is offered again with the next batch, not in a loop now.
        return "kept" not in reply.rounds.values()

    async def settle(self) -> None:
        """Wait until the daemon has written what it writes behind its replies: its store answers in order."""
        await self._client.ask("/v1/admin/decisions?limit=1")

    def _take_summaries(self, summaries: Iterable[wire.PlayerSummary]) -> None:
        for summary in summaries:
            player = PlayerId(summary.id)
            before = self._summaries.get(player)
            if before is not None and summary.rounds > before.rounds:
                self._changes[player] = summary.rating - before.rating
            self._summaries[player] = summary

    def _obey(self, order: Order) -> None:
        before = self.teams()
        self._report(order, before, changed=self._playing.apply(order))
        match order:
            case Say(text):
                self._chat = self.english(text)
            case Tell(player, lines) if player:
                self._chat = f"(to {self._names[player]}) {' '.join(map(self.english, lines))}"

    @abstractmethod
    def _report(self, order: Order, before: Teams, *, changed: bool) -> None:
        """Report an order that was applied; `changed`: a player changed sides at once."""

    # The ticker.

    def english(self, text: Text) -> str:
        """A phrase in English, with players' names in place of their ids."""
        return english(text, self._names)

    def name(self, player: PlayerId) -> str:
        """The name of the player with this id."""
        return self._names[player]

    def report(self, kind: Kind, text: str) -> None:
        """Show a line of this kind on the stage."""
        self.stage.add(Line(kind, text))

    # What is shown.

    def rating(self, player: PlayerId) -> float:
        """A player's rating as the daemon last sent it; a newcomer's before that."""
        summary = self._summaries.get(player)
        return summary.rating if summary else MEAN

    def fidelity(self) -> float:
        """Rank correlation of ratings and true skill."""
        players = [player for player, summary in self._summaries.items() if summary.rounds]
        return spearman(
            [self.rating(player) for player in players], [self._characters[player].skill for player in players]
        )

    @abstractmethod
    def teams(self) -> Teams:
        """The players on each side and on none, and side A's win probability by the ratings."""

    @abstractmethod
    def _due(self) -> str:
        """Return what would make a scramble due."""

    def show(self) -> None:
        """Show the present state on the stage."""
        teams = self.teams()
        self.stage.show(
            Board(
                look=self.look,
                map=self._playing.map.name,
                number=self.number,
                rounds=self.rounds,
                a=self._rows(teams.a),
                b=self._rows(teams.b),
                bench=self._rows(teams.bench),
                predicted=0.5 if teams.chance is None else teams.chance,
                winner=self._winner,
                due=self._due(),
                up=self.up,
                ring=len(self.script.ring),
                chat=self._chat,
                record=self.record,
            )
        )

    def _rows(self, ids: Iterable[PlayerId]) -> tuple[Row, ...]:
        rows = [self._row(player) for player in ids]
        return tuple(sorted(rows, key=lambda row: -row.rating))

    def _row(self, player: PlayerId) -> Row:
        summary = self._summaries.get(player)
        mark = "★ " if self._playing.clients[player].commander else ""
        return Row(
            name=f"{mark}{self._names[player]}",
            rating=self.rating(player),
            shadow=summary is None or not summary.visible,
            change=self._changes.get(player, 0.0),
            skill=self._characters[player].skill,
        )


READ = 1.0
"""Seconds to read something important."""
SLOW, FAST = 0.4, 0.06
"""Seconds for each of a round's screens."""
SLOW_ROUNDS = 5
"""The first rounds are shown slowly, until viewers know what they see."""
LEAST_ROUNDS = 6
LEAST_PLAYERS = 8


def pace(evening: Evening) -> float:
    """Seconds for a screen of the present round."""
    return SLOW if evening.number <= SLOW_ROUNDS else FAST


async def pause(evening: Evening, seconds: float) -> None:
    """Show the present state for so long."""
    evening.show()
    await evening.stage.rest(seconds)


async def crash(evening: Evening, also: str = "") -> None:
    """Kill the daemon in the middle of a round."""
    # Not before the daemon has written everything: what a kill loses would differ from run to run.
    await evening.settle()
    await evening.daemon.kill()
    evening.up = False
    evening.report("trouble", f"The daemon is killed (SIGKILL) in round {evening.number}{also}")
    await pause(evening, READ)


async def revive(evening: Evening, place: str) -> None:
    """Start the daemon again; `place` is where finished rounds wait for it."""
    backlog = len(evening.script.ring)
    rounds = "1 finished round waits" if backlog == 1 else f"{backlog} finished rounds wait"
    evening.report("trouble", f"The game went on: {rounds} in {place} of 8 slots")
    await pause(evening, READ)
    await evening.daemon.start()
    await evening.sync()
    count = backlog - len(evening.script.ring)
    evening.record.restarts += 1
    evening.record.delivered += count
    evening.report("trouble", f"The daemon is back: {count} of {backlog} rounds delivered, stored and rated")
    await pause(evening, READ)
