"""Evenings of an NS2 server with host, store, rating system and solver: every order keeps the laws of its terms."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Moment
from equipoise.core.model import Entry, Mode, PlayerId, Presence, Role, Roster, RoundId, Side, Span, Split
from equipoise.core.rules import Rules, ShuffleRules, VoteRules
from equipoise.wire import Reply
from tests.hosts import Rig, player, roster, round_of
from tests.test_balancing_shuffles import all_splits, moves_of, price, score, win_probability

pytestmark = pytest.mark.slow

PLAYERS = 9
ROUNDS = 8
RULES = (
    Rules(),
    Rules(shuffle=ShuffleRules(fair_band=(0.48, 0.52), max_moves=2)),
    Rules(shuffle=ShuffleRules(at_round_start=False), vote=VoteRules(when="next")),
)


class Evening:
    """A script that obeys at once, and players who want this and that."""

    def __init__(self, rig: Rig, random: Random) -> None:
        self.rig, self.random = rig, random
        numbers = list(range(1, PLAYERS + 1))
        self.here = roster(numbers[:3], numbers[3:6], numbers[6:])
        self.judged: list[AskSplit] = []

    async def begin(self) -> None:
        for number in range(1, PLAYERS + 1):
            facts = {name: self.random.uniform(200, 3500) for name in ("rating", "commander")}
            self.rig.pool.system.seed(player(number), offset=self.random.uniform(-300, 300), **facts)
        await self.idle()

    async def idle(self) -> None:
        await self.obey(await self.rig.hello(self.here, Mode.NS2))

    async def post(self, *events: e.ScriptEvent) -> None:
        await self.obey(await self.rig.post(*events))

    async def say(self, by: int | None, *words: str) -> None:
        at = None if by is None else player(by)
        await self.post(e.Commanded(0.0, words, at, admin=by is None))

    async def obey(self, reply: Reply) -> None:
        for order in reply.orders:
            if isinstance(order, f.Assign):
                self.judge(order)
                # The mod names no player who is not to be moved; a player who moves leaves the chair.
                self.here = Roster(tuple(seated(entry, order.split) for entry in self.here.entries))
                if order.moment is Moment.NOW and self.running:
                    await self.broken_off()
                await self.post(e.OrderDone(0.0, order.order), e.RosterSeen(0.0, self.here))

    @property
    def running(self) -> bool:
        return self.rig.host.session.state.phase is e.Phase.RUNNING

    async def broken_off(self) -> None:
        result = replace(round_of(self.round, self.here, None, Mode.NS2), partial=True)
        await self.post(e.RoundEnded(0.0, result))

    def judge(self, order: f.Assign) -> None:
        """Compare with every other split, by the terms of the question."""
        question, system = self.rig.host.session.state.assigned[order.order].ask, self.rig.pool.system
        assert question.terms is not None
        self.judged.append(question)
        every, most = all_splits(question), question.terms.max_moves
        fewest = min(moves_of(question, one) for one in every)
        assert most is None or moves_of(question, order.split) <= max(most, fewest)
        allowed = [one for one in every if most is None or moves_of(question, one) <= max(most, fewest)]
        chances = {one: win_probability(question, system, one) for one in allowed}
        low, high = question.terms.fair_band
        mine = win_probability(question, system, order.split)
        fair = [one for one, chance in chances.items() if low <= chance <= high]
        if fair:
            assert low <= mine <= high
            assert score(question, order.split) == min(score(question, one) for one in fair)
        else:
            crowd, least = min(price(question, one, chance) for one, chance in chances.items())
            assert price(question, order.split, mine) == (crowd, pytest.approx(least, abs=0.1))

    async def between_rounds(self) -> None:
        """Players come and go, sit down in the chairs, want sides and each other."""
        random = self.random
        for number in random.sample(range(1, PLAYERS + 1), 3):
            await self.say(number, "prefer", random.choice(("marines", "aliens", "none")))
        one, other = random.sample(range(1, PLAYERS + 1), 2)
        await self.say(one, "friend", player(other))
        await self.say(other, "friend", player(one))
        if random.random() < 0.4:
            await self.say(None, "choice")
            for entry in self.here.eligible():
                await self.post(
                    e.Commanded(0.0, ("choose", random.choice(("marines", "aliens", "random"))), entry.id, admin=False)
                )
        elif random.random() < 0.4:
            await self.say(None, "shuffle", random.choice(("now", "next")))
        chairs = {self.some_of(side) for side in Side if random.random() < 0.9}
        self.here = Roster(tuple(replace(entry, commander=entry.id in chairs) for entry in self.here.entries))
        await self.post(e.RosterSeen(0.0, self.here))

    def some_of(self, side: Side) -> PlayerId | None:
        on_side = self.here.on(side)
        return self.random.choice(on_side).id if on_side else None

    async def play(self, number: int) -> None:
        self.round = f"r{number}"
        await self.between_rounds()
        await self.post(e.RoundStarted(0.0, self.here))
        if self.random.random() < 0.3:
            await self.post(e.RoundAborted(0.0))
            await self.post(e.RoundStarted(0.0, self.here))
        await self.post(e.RoundLive(0.0, RoundId(self.round), self.here))
        if self.random.random() < 0.5:
            for entry in self.here.eligible():
                await self.post(e.Commanded(0.0, ("vote",), entry.id, admin=False))
        if not self.running:
            await self.post(e.RoundStarted(0.0, self.here), e.RoundLive(0.0, RoundId(f"{self.round}b"), self.here))
            self.round += "b"
        result = round_of(self.round, self.here, self.random.choice((Side.A, Side.B, None)), Mode.NS2)
        played = tuple(with_spans(presence, self.here.commanders()) for presence in result.presences)
        await self.post(e.RoundEnded(0.0, replace(result, presences=played)))
        self.stand_up()
        await self.idle()

    def stand_up(self) -> None:
        """The game takes all players off the sides, and some of them choose one by themselves."""
        free = [Entry(entry.id, None, waiting=True) for entry in self.here.entries]
        sides = self.random.sample([Side.A, Side.A, Side.A, Side.B, Side.B, Side.B, None, None, None], PLAYERS)
        seats = zip(free, sides, strict=True)
        self.here = Roster(tuple(replace(one, side=side, waiting=side is None) for one, side in seats))


def seated(entry: Entry, split: Split) -> Entry:
    side = split.side_of(entry.id)
    return entry if side is None else entry.moved(side)


def with_spans(presence: Presence, commanders: frozenset[PlayerId]) -> Presence:
    role = Role.COMMANDER if presence.id in commanders else Role.FIELD
    return replace(presence, spans=(Span(presence.side, 0.0, 120.0, role),))


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", [0, 1, 102, 109])
def test_every_shuffle_of_an_evening_keeps_the_laws_of_its_terms(tmp_path: Path, seed: int, rules: Rules) -> None:
    async def main() -> tuple[list[AskSplit], int]:
        async with Rig(tmp_path, rules, system="ns2") as rig:
            evening = Evening(rig, Random(seed))
            await evening.begin()
            for number in range(ROUNDS):
                await evening.play(number)
                state = rig.host.session.state
                assert all(1 < weight <= 8 for weight in state.memory.weights.values())
            return evening.judged, rig.pool.summary(player(1)).rounds

    judged, rounds = asyncio.run(main())

    assert judged
    assert rounds > 0
