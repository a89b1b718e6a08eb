"""A TF2 evening: arena with its bench, scrambles and streaks, then a map whose running rounds are balanced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from random import Random

from equipoise.core.effects import Assign, Move, Order, Place, Say
from equipoise.core.model import Counts, Mode, PlayerId, ServerId, Side
from equipoise.core.phrases import Phrase
from equipoise.demo.cast import MEAN, SPREAD, Character, draw_winner, random_favourite, theta, win_probability
from equipoise.demo.daemon import Client, Daemon, Installation
from equipoise.demo.evening import Evening, boot
from equipoise.demo.record import UPSET, Names, Odds, Played, Teams, listed, percent
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
        parts.append(_sits_out(after.bench, names, fair=fair))
    return f"{reason[:1].upper()}{reason[1:]} → scrambled: {', '.join(parts)}"


def _sits_out(bench: tuple[PlayerId, ...], names: Names, *, fair: bool) -> str:
    sit, have = ("sits", "has") if len(bench) == 1 else ("sit", "have")
    return f"{listed(bench, names)} {sit} out" + (f" ({have} sat out least)" if fair else "")


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
                self._report_move(order)
            case Place():
                self._report_place(order, changed=changed)
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

    def _report_move(self, order: Move) -> None:
        self.record.gaps += 1
        side, reason = SIDE_NAMES[order.side], self.english(order.reason)
        self.report("move", f"{self._names[order.player]} → {side} at their next death: {reason}")

    def _report_place(self, order: Place, *, changed: bool) -> None:
        name, reason = self._names[order.player], self.english(order.reason)
        if order.reason.phrase.refusal:
            self.record.refused += 1
            self.report("move", f"{name} wants the other side: {reason}")
        elif changed and order.side is not None and not self.game.waiting_for_players:
            self.report("people", f"{name} joins {SIDE_NAMES[order.side]}: {reason}")

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
