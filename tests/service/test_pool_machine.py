"""Rounds, failures and restarts in any order: every round that was answered is applied once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.core.model import Side
from equipoise.errors import ScriptError, SpillError
from equipoise.service.held import MOST_HELD
from equipoise.service.pool import Recorded
from tests.opened_pool import a_pool, rated_alone, stored_rounds, summary_of
from tests.store.disk import fast_directory, no_file_above
from tests.store.failing import Failing, Fault
from tests.store.samples import a_round, player

T = TypeVar("T")

PLAYERS = range(1, 7)

FAULTS = st.lists(st.sampled_from(Fault), max_size=3)
SIDES = st.permutations(PLAYERS)
WINNERS = st.sampled_from([Side.A, Side.B, None])


class Evening(RuleBasedStateMachine):
    """One pool, a few players, and everything that can go wrong between a round's end and its row.

    Rounds of one pool come alone or several at once, then some of them bad or twice.
    """

    system = "synelo"
    balance: str | None = None
    most_held = MOST_HELD

    @initialize()
    def start(self) -> None:
        self.stack = ExitStack()
        self.directory = self.stack.enter_context(fast_directory())
        self.runner = self.stack.enter_context(asyncio.Runner())
        self.sent = 0
        self.answered: list[RecordRound] = []
        """Stored or kept, in order; not those that were kept although no store can ever take them."""
        self.refused: list[RecordRound] = []
        self._open()

    def teardown(self) -> None:
        self.restart()
        assert self.pool.ring_depth == 0
        assert stored_rounds(self.directory) == [each.round.id for each in self.answered]
        self.players_are_looked_up(set(PLAYERS))
        self._close()
        self.stack.close()

    @rule(sides=SIDES, winner=WINNERS, faults=FAULTS)
    def a_round_ends(self, sides: list[int], winner: Side | None, faults: list[Fault]) -> None:
        self._send(self._next(sides, winner), faults)

    @rule(
        rounds=st.lists(
            st.tuples(SIDES, WINNERS, st.sampled_from(["good", "good", "unstorable", "again"])), max_size=6
        ),
        faults=FAULTS,
    )
    def rounds_end_at_once(self, rounds: list[tuple[list[int], Side | None, str]], faults: list[Fault]) -> None:
        records: list[RecordRound] = []
        for sides, winner, kind in rounds:
            before = [*self.answered, *(each for each in records if not each.round.captures_a)]
            again = kind == "again" and before
            records.append(before[-1] if again else self._next(sides, winner, bad=kind == "unstorable"))
        self._send_all(records, faults)

    @rule(sides=SIDES)
    def a_round_ends_that_nothing_takes(self, sides: list[int]) -> None:
        record = self._next(sides)
        with no_file_above(0):
            try:
                self._send(record, [Fault.BEFORE] * 2)
            except SpillError:
                self.refused.append(record)
            else:
                raise AssertionError("answered, and kept nowhere")

    @precondition(lambda self: self.refused)
    @rule(faults=FAULTS)
    def a_refused_round_is_sent_again(self, faults: list[Fault]) -> None:
        self._send(self.refused.pop(), faults)

    @precondition(lambda self: self.answered)
    @rule(data=st.data(), faults=FAULTS)
    def an_answered_round_is_sent_again(self, data: st.DataObject, faults: list[Fault]) -> None:
        self._send(data.draw(st.sampled_from(self.answered)), faults)

    @rule(faults=FAULTS)
    def the_timer_comes(self, faults: list[Fault]) -> None:
        self._with(faults, self.pool.drain)

    @rule(who=st.sets(st.sampled_from(PLAYERS)))
    def players_are_looked_up(self, who: set[int]) -> None:
        alone = rated_alone(*self.answered[: len(stored_rounds(self.directory))], system=self.system)
        players = [player(number) for number in who]
        before = self._held()
        assert self.runner.run(self.pool.summaries(players)) == tuple(summary_of(alone, one) for one in players)
        for each in players:
            assert self.pool.system.uncertainty(each) == alone.uncertainty(each)
        # Those of the look-up before stay until players are loaded again.
        assert self._held() <= max(self.most_held, len(players), before)
        assert self.pool.system.shared() == alone.shared()

    def _held(self) -> int:
        return sum(player(number) in self.pool.system for number in PLAYERS)

    @rule()
    def restart(self) -> None:
        self._close()
        self._open()

    @invariant()
    def nothing_is_applied_twice_or_out_of_order(self) -> None:
        applied = stored_rounds(self.directory)
        assert applied == [each.round.id for each in self.answered][: len(applied)]

    @invariant()
    def what_is_not_applied_waits(self) -> None:
        assert len(stored_rounds(self.directory)) + self.pool.ring_depth >= len(self.answered)

    def _next(self, sides: list[int], winner: Side | None = Side.A, *, bad: bool = False) -> RecordRound:
        self.sent += 1
        return a_round(self.sent, a=sides[:2], b=sides[2:4], winner=winner, captures_a=2**64 if bad else 0)

    def _send(self, record: RecordRound, faults: list[Fault]) -> None:
        (answer,) = self._send_all([record], faults)
        if isinstance(answer, BaseException):
            raise answer

    def _send_all(self, records: list[RecordRound], faults: list[Fault]) -> list[Recorded | BaseException]:
        async def at_once() -> list[Recorded | BaseException]:
            return await asyncio.gather(*(self.pool.record(each, None) for each in records), return_exceptions=True)

        answers = self._with(faults, at_once)
        for record, answer in zip(records, answers, strict=True):
            bad = record.round.captures_a
            if isinstance(answer, BaseException):
                assert isinstance(answer, SpillError) or (bad and isinstance(answer, ScriptError))
                continue
            assert (answer.status == "kept") == (answer.rated is None)
            if answer.status == "kept":
                assert (record.round.server, record.round.id) in self.pool.ring
            else:
                assert not bad
            if not bad and record not in self.answered:
                self.answered.append(record)
        return answers

    def _with(self, faults: list[Fault], work: Callable[[], Coroutine[None, None, T]]) -> T:
        self.store.faults = faults
        try:
            return self.runner.run(work())
        finally:
            self.store.faults = ()

    def _open(self) -> None:
        self.store = Failing(self.directory / "s.db")
        self.runner.run(self.store.open())
        balance = ratings.create(self.balance) if self.balance else None
        self.pool = a_pool(self.directory, self.store, self.system, self.most_held, balance)
        self.runner.run(self.pool.open())

    def _close(self) -> None:
        self.runner.run(self.pool.close())
        self.runner.run(self.store.close())


class EveningOfNS2(Evening):
    """The same with a system that keeps more than its players."""

    system = "ns2"


class EveningOfJoint(Evening):
    """The same with a system that every round changes as a whole."""

    system = "joint"


class EveningOfTwoSystems(Evening):
    """The same where another system makes the teams: it fails no round, and has learnt from each once."""

    balance = "joint"

    def teardown(self) -> None:
        self.restart()
        follower = self.pool.follower
        self.runner.run(follower.caught_up())
        alone = rated_alone(*self.answered, system="joint")
        players = [player(number) for number in PLAYERS]
        assert follower.ready, follower.failure
        assert self.pool.balancing.covariance(players) == alone.covariance(players)
        assert [*map(self.pool.skill, players)] == [*map(alone.skill, players)]
        super().teardown()

    def players_are_looked_up(self, who: set[int]) -> None:
        """Their skills are another system's: the end compares them."""


class EveningInLittleMemory(Evening):
    """The same where memory holds two players beside those of a round or a question."""

    most_held = 2


ANY_ORDER = settings(stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Evening.TestCase.settings = settings(ANY_ORDER, max_examples=settings.default.max_examples * 2 // 5)
TestEvening = Evening.TestCase
for each in (EveningOfNS2, EveningOfJoint, EveningOfTwoSystems, EveningInLittleMemory):
    each.TestCase.settings = settings(ANY_ORDER, max_examples=settings.default.max_examples // 10)
    globals()[f"Test{each.__name__}"] = pytest.mark.slow(each.TestCase)
