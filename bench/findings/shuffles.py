"""NS2's shuffles on simulated evenings: how even they truly are, by what is known of field and chairs.

The evenings are the demo's, in one process: the real session, the real solver, the real rating system; and in its place
oracles, who know the true skills of all, of commanders alone, or of the field alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from statistics import fmean, pstdev
from typing import Any

from equipoise.balancing import Solved, answer, chance
from equipoise.core.asks import AskSplit, Purpose
from equipoise.core.effects import Effect, Tell
from equipoise.core.events import SplitSolved
from equipoise.core.model import Mode, PlayerId, ServerId, Side, logistic
from equipoise.core.rules import LockRules, Rules
from equipoise.demo.ns2_evening import ADVANTAGES, CHAIR, GROUP, HOLD_SECONDS, POINTS, Person, draw_winner, people
from equipoise.lab.simulation.closed_loop import BOOT, ClosedLoop
from equipoise.lab.simulation.game_server import Map, NS2Server
from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match, Rated

SEEDS = range(1, 7)
ROUNDS = 150
PEOPLE = 12
SAMPLES = 40
"""Random teams that each round is compared with."""
CERTAIN = 1e7
"""Rounds on each map from which an oracle knows what it is worth."""
MEAN = 1200.0
"""Points: of the demo's commanders, about whom their skill is spread."""


@dataclass(frozen=True)
class World:
    """What a commander's skill is: (1 - share) · χ + share · field skill, with χ spread as in the demo, or less."""

    share: float
    spread: float

    def command(self, person: Person, side: Side) -> float:
        """The true skill of a commander, points."""
        return (1 - self.share) * (MEAN + self.spread * (person.commanding - MEAN)) + self.share * person.on(side)


class Oracle(NS2):
    """Knows what it was told, and learns nothing."""

    name = "ns2"

    def rate(self, match: Match) -> Rated:
        return Rated(self.predict(match), ())


@dataclass
class Figures:
    """What is measured on an evening."""

    stronger: list[float] = field(default_factory=list)
    """The stronger side's true win probability, by round."""
    random: list[float] = field(default_factory=list)
    """The same in random teams of the same people, with commanders as they come."""
    brier: list[float] = field(default_factory=list)
    wishes: list[bool] = field(default_factory=list)
    began_outside: list[bool] = field(default_factory=list)
    """Whether the round began outside of 40 to 60 %, by the system's prediction."""
    moves: int = 0
    shuffles: int = 0
    bought: float = 0.0
    """Win probability by which shuffles brought the prediction nearer to a half."""
    outside: int = 0
    """Shuffles that ended outside of 40 to 60 %."""
    barred: int = 0
    """Those of them for which no sides at all are inside, while the commanders stay in their chairs."""
    asked: int = 0
    """Players who were asked to command."""


class Evening(ClosedLoop):
    """An evening of the demo without incidents, on three maps."""

    def __init__(self, seed: int, world: World, system: NS2, *, follow: float) -> None:
        super().__init__(Map("ns2_veil", Mode.NS2), system, Rules(lock=LockRules(minutes=0)), self._count)
        self.game: NS2Server = NS2Server(ServerId("simulated"), BOOT, Map("ns2_veil", Mode.NS2))
        self.rng, self.world, self.follow, self.figures = Random(seed), world, follow, Figures()
        self.people = {person.id: person for person in people(self.rng, PEOPLE)}
        self.asked: set[PlayerId] = set()
        """Who was asked to command the next round."""

    def _count(self, ask: Any, system: Any) -> Solved:
        solved = answer(ask, system)
        if isinstance(solved, SplitSolved) and ask.purpose is Purpose.SHUFFLE:
            self.figures.shuffles += 1
            self.figures.moves += sum(
                entry.side is not None and solved.split.side_of(entry.id) is entry.side.other for entry in ask.entries
            )
            if solved.before is not None and solved.after is not None:
                self.figures.bought += abs(solved.before.chance - 0.5) - abs(solved.after.chance - 0.5)
            # Before the chairs are filled it is of the two who are likely to sit.
            if solved.after is not None and not solved.likely and outside(solved.after.chance):
                self.figures.outside += 1
                self.figures.barred += all(map(outside, _all_chances(ask, system)))
        return solved

    def _obey(self, effects: Iterable[Effect]) -> None:
        effects = tuple(effects)
        for effect in effects:
            if isinstance(effect, Tell) and effect.player and effect.lines[0].phrase in CHAIR:
                self.asked.add(effect.player)
                self.figures.asked += 1
        super()._obey(effects)

    def play(self) -> Figures:
        """Play all rounds on all maps, and return what was counted of them."""
        for player in self.people:
            self.game.connect(player)
        for number in range(ROUNDS):
            name = list(ADVANTAGES)[number * len(ADVANTAGES) // ROUNDS]
            if not number or name != self.game.map.name:
                self.game.change_map(Map(name, Mode.NS2))
                self._hear(self.game.hello(), self.game.roster())
            self._round(ADVANTAGES[name])
        return self.figures

    def _round(self, advantage: float) -> None:
        wishes = self._gather()
        self._man_chairs()
        self.game.start_round()
        self._sync()
        self.game.count_down()
        self._man_chairs()
        self.game.go_live()
        self._sync()
        a, b = (self.game.on(side) for side in Side)
        chairs = [self.game.commander(side) for side in Side]
        true = self._truth(a, b, chairs, advantage)
        predicted = chance(self.system, self.session.memory.context, a, b, frozenset(one for one in chairs if one))
        winner = draw_winner(self.rng, true)
        figures = self.figures
        figures.began_outside.append(outside(predicted))
        figures.stronger.append(max(true, 1 - true))
        figures.random.append(fmean(self._random(a, b, advantage) for _ in range(SAMPLES)))
        figures.brier.append((predicted - (0.5 if winner is None else winner is Side.A)) ** 2)
        figures.wishes += [self.game.clients[player].side is side for player, side in wishes.items()]
        self.game.pass_time(600)
        self.end_round(winner, {})
        self.game.pass_time(8)
        self.game.to_ready_room()
        self._sync()

    def _gather(self) -> dict[PlayerId, Side]:
        """Players choose sides, a few at a time; up to two go on standing in the ready room."""
        self.game.pass_time(20)
        order = self.rng.sample(sorted(self.people), PEOPLE)[: PEOPLE - self.rng.randint(0, 2)]
        wishes: dict[PlayerId, Side] = {}
        for place in range(0, len(order), GROUP):
            for player in order[place : place + GROUP]:
                side = self.people[player].prefers
                if side is not None:
                    wishes[player] = side
                self.game.want(player, side or self.rng.choice(list(Side)))
            self._sync()
            self.game.pass_time(HOLD_SECONDS)
        return wishes

    def _man_chairs(self) -> None:
        """Who is asked to command does, as often as people follow; else somebody who likes to."""
        for side in self.rng.sample(list(Side), 2):
            team = self.game.on(side)
            if not team or self.game.commander(side) is not None:
                continue
            asked = [player for player in team if player in self.asked]
            chosen = self.rng.choice(self._keen(team))
            if self.rng.random() < self.follow and asked:
                chosen = asked[0]
            self.game.take_chair(chosen)
            self._hear(self.game.roster())
        self.asked.clear()

    def _keen(self, team: Any) -> list[PlayerId]:
        return [player for player in team if self.people[player].commands] or list(team)

    def _random(self, a: Any, b: Any, advantage: float) -> float:
        order = self.rng.sample([*a, *b], len(a) + len(b))
        sides = order[: len(a)], order[len(a) :]
        true = self._truth(*sides, [self.rng.choice(self._keen(side)) for side in sides], advantage)
        return max(true, 1 - true)

    def _truth(self, a: Any, b: Any, chairs: Any, advantage: float) -> float:
        """The marines' true win probability, if all stay where they are."""
        field = [
            [self.people[player].on(side) for player in team if player not in chairs]
            for side, team in zip(Side, (a, b), strict=True)
        ]
        command = [self.world.command(self.people[player], side) for side, player in zip(Side, chairs, strict=True)]
        on_field = (sum(field[0]) - sum(field[1])) / sum(map(len, field))
        return logistic(advantage + (on_field + (command[0] - command[1]) / 2) / POINTS)


def outside(chance: float) -> bool:
    """Whether sides with this win probability are called uneven."""
    return not 0.4 <= chance <= 0.6


def _all_chances(ask: AskSplit, system: Any) -> Iterator[float]:
    """The win probabilities of all sides whose sizes differ by one at most, with the commanders where they are."""
    commanders = frozenset(entry.id for entry in ask.entries if entry.commander)
    free = [entry.id for entry in ask.entries if not entry.stays]
    stay = [[entry.id for entry in ask.entries if entry.stays and entry.side is side] for side in Side]
    for size in {len(ask.entries) // 2, (len(ask.entries) + 1) // 2}:
        for chosen in combinations(free, size - len(stay[0])):
            others = [player for player in free if player not in chosen]
            yield chance(system, ask.context, [*stay[0], *chosen], [*stay[1], *others], commanders)


def knowing(evening: Evening, *, of_field: bool = True, of_chairs: bool = True) -> None:
    """Tell an oracle the truth, of the maps too; what it is not told is as of a newcomer."""
    system = evening.system
    for person in evening.people.values():
        chi = MEAN + evening.world.spread * (person.commanding - MEAN)
        system.seed(
            person.id,
            rating=person.skill if of_field else 1000.0,
            offset=person.offset if of_field else 0.0,
            commander=chi if of_chairs else 1000.0,
        )
    for name, advantage in ADVANTAGES.items():
        won = CERTAIN * logistic(advantage)
        system.restore_shared(f"map:{name}", [[2 * won, 2 * CERTAIN], [won, CERTAIN], [won, CERTAIN]])


NEW = 0.25
"""The part of a commander's worth that is field skill, as `equipoise init` writes it."""
Told = Callable[[Evening], None]
WAYS: dict[str, tuple[float, float, Told | None]] = {
    "the source's chairs": (0.0, 0.0, None),
    "the source's chairs, half follow": (0.0, 0.5, None),
    "the source's chairs, all follow": (0.0, 1.0, None),
    "new pools": (NEW, 0.0, None),
    "new pools, half follow": (NEW, 0.5, None),
    "new pools, all follow": (NEW, 1.0, None),
    "knows all": (0.0, 0.0, knowing),
    "knows all, all follow": (0.0, 1.0, knowing),
    "knows chairs and maps": (0.0, 0.0, lambda evening: knowing(evening, of_field=False)),
}
"""Of each way: `commander_field_share`, how many of those who are asked to command do, and what an oracle is told."""


CHAIRS = {
    "nothing": World(0.0, 0.0),
    "half as much": World(0.0, 0.5),
    "as in the demo": World(0.0, 1.0),
    "twice as much": World(0.0, 2.0),
    "as there, half of it field skill": World(0.5, 1.0),
}
"""Worlds by what a commander is worth."""
CHAIRS_SEEDS = range(1, 9)


def measured(
    world: World, share: float, follow: float, tell: Told | None, *, seeds: Iterable[int] = SEEDS
) -> list[Figures]:
    """The evenings of one way in one world."""
    results = []
    for seed in seeds:
        # What an oracle is told of commanders is mixed as in the truth.
        kind, share = (NS2, share) if tell is None else (Oracle, world.share)
        evening = Evening(seed, world, kind.create(commander_field_share=share), follow=follow)
        if tell is not None:
            tell(evening)
        results.append(evening.play())
    return results


LATE = slice(ROUNDS // 2, None)
"""How even rounds are is measured over these."""


def gain(figures: list[Figures]) -> str:
    """By how many points rounds are more even than in random teams."""
    return percentage([fmean(one.random[LATE]) - fmean(one.stronger[LATE]) for one in figures])


def percentage(parts: list[float]) -> str:
    """Return the mean of what evenings have, with its standard error."""
    return f"{100 * fmean(parts):.1f} ± {100 * pstdev(parts) / len(parts) ** 0.5:.1f}"


def row(figures: list[Figures]) -> str:
    """A line of the table of ways."""
    return " | ".join(
        (
            f"{100 * fmean(fmean(one.stronger[LATE]) for one in figures):.1f}",
            gain(figures),
            f"{100 * fmean(one.outside / ROUNDS for one in figures):.0f}",
            f"{100 * fmean(one.barred / ROUNDS for one in figures):.0f}",
            f"{100 * fmean(held for one in figures for held in one.wishes):.0f}",
            f"{fmean(one.moves / ROUNDS for one in figures):.1f}",
            f"{fmean(score for one in figures for score in one.brier):.4f}",
        )
    )


def row_of_chairs(figures: list[Figures]) -> str:
    """A line of the table of worlds with other chairs."""
    moves = sum(one.moves for one in figures)
    return " | ".join(
        (
            percentage([fmean(one.began_outside) for one in figures]),
            gain(figures),
            f"{100 * fmean(held for one in figures for held in one.wishes):.0f}",
            f"{moves / sum(one.shuffles for one in figures):.1f}",
            f"{moves / ROUNDS / len(figures):.1f}",
            f"{100 * sum(one.bought for one in figures) / moves:.1f}",
        )
    )


def main() -> None:
    for world in (World(0.0, 1.0), World(0.5, 0.5)):
        print(f"\nshare {world.share}, spread {world.spread}")
        print("| way | stronger side, % | gain, points | outside 40–60, % | barred, % | wishes, % | moves | Brier |")
        print("|---|---|---|---|---|---|---|---|")
        for name, way in WAYS.items():
            print(f"| {name} | {row(measured(world, *way))} |", flush=True)
    print("\n| a chair is worth | outside, % | gain, points | wishes, % | moves a shuffle | a round | points a move |")
    print("|---|---|---|---|---|---|---|")
    for name, world in CHAIRS.items():
        figures = measured(world, *WAYS["new pools, half follow"], seeds=CHAIRS_SEEDS)
        print(f"| {name} | {row_of_chairs(figures)} |", flush=True)


if __name__ == "__main__":
    main()
