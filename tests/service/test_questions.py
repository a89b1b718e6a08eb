"""A question that fails costs its answer alone; equal ones are answered once, and none of them holds the event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any, get_args

import pytest

from equipoise import balancing
from equipoise.core import asks
from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.model import Mode, Roster, RoundId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules, VoteRules
from equipoise.service import metrics
from equipoise.service.work import KINDS, MOST_QUESTIONS, THREAD_FROM, kind_of
from equipoise.store.notes import Decision
from tests.hosts import Rig, played, player, roster, round_of

pytestmark = pytest.mark.also_shared

SIX = roster([1, 2, 3], [4, 5, 6])
GAP = roster([1, 2, 3, 6], [4, 5])
LEAVES = e.PlayerLeft(0.0, player(6))
EIGHT = roster([1, 2, 3, 4], [5, 6, 7, 8])
FAULTS = (MemoryError(), ZeroDivisionError("division by zero"), KeyError("nobody"), RecursionError("too deep"))


def spoken(*words: str, by: int | None = 1) -> e.Commanded:
    return e.Commanded(0.0, words, None if by is None else player(by), admin=True)


@dataclass(frozen=True)
class Case:
    """A batch that asks a question, and the function that is to fail in it."""

    name: str
    kind: str
    breaks: str
    events: Sequence[e.ScriptEvent]
    here: Roster = SIX
    mode: Mode = Mode.KOTH
    phase: e.Phase = e.Phase.RUNNING
    system: str = "synelo"
    rules: Rules = field(default_factory=Rules)


FREEZE = (spoken("scramble", "next"), e.RoundStarted(0.0, SIX))
VOICE = e.Commanded(0.0, ("vote",), player(1), admin=False)
ANY, SWITCH = e.SideWanted(0.0, player(9), None), e.SideWanted(0.0, player(1), Side.B)
CASES = (
    Case("a scramble", "split", "balancing.best", FREEZE),
    Case("a scramble now", "split", "balancing.best", (spoken("scramble", "now"),)),
    Case("a dry run", "split", "balancing.best", (spoken("scramble", "dry"),)),
    Case("a scramble of joint", "split", "balancing.covariances.playing", FREEZE, system="joint"),
    Case("a duel", "split", "balancing.duel", (e.RoundStarted(0.0, SIX),), mode=Mode.ARENA),
    Case("a shuffle", "split", "balancing.shuffled", FREEZE, mode=Mode.NS2),
    Case("its chances", "split", "balancing.outlook", FREEZE),
    Case("a gap", "moves", "balancing.transfer", (e.RosterSeen(0.0, GAP),)),
    Case("a joiner", "side", "balancing.side_of_joiner", (ANY,), system="joint"),
    Case("a switch", "switch", "balancing.judged_switch", (SWITCH,), here=roster([1, 2, 3, 4], [5, 6, 7])),
    Case("the cache", "cache", "balancing.splits", (e.RosterSeen(0.0, EIGHT),)),
    Case("a voice", "chance", "balancing.outlook", (VOICE,), rules=Rules(vote=VoteRules(min_players=2))),
    Case("a rating", "summaries", "service.pool.summaries_on", (e.PlayerJoined(0.0, player(9)),)),
    Case("ratings of joiners", "summaries", "service.pool.Pool.summaries", (ANY,)),
    Case("the teams", "command", "service.lookups.outlook_now", (spoken("teams"),)),
    Case("the ranks", "command", "service.pool.Pool.rank", (spoken("rank"),)),
)


def raising(error: Exception) -> Callable[..., Any]:
    def fails(*_asked: object, **_how: object) -> None:
        raise error

    return fails


async def decisions(rig: Rig, kind: str) -> list[Decision]:
    rig.host.write_down()
    return [one for one in await rig.store.decisions(rig.host.server, 1000) if one.kind == kind]


def counted(rig: Rig, name: str) -> dict[str, float]:
    """The values of a metric, by kind of question."""
    found = metrics.of_servers([rig.host])
    return {each.labels.get("question", ""): each.value for each in found if each.name == name and each.value}


async def begun(rig: Rig, case: Case) -> None:
    """A server in the case's phase, whose first questions were answered, and a round that runs."""
    await rig.hello(case.here, case.mode)
    if case.phase is e.Phase.RUNNING:
        await rig.post(e.RoundLive(0.0, RoundId("r1"), case.here))


def test_every_kind_of_question_is_made_to_fail() -> None:
    assert {case.kind for case in CASES} | {"outlook"} == set(KINDS)
    assert {kind_of(object.__new__(ask)) for ask in get_args(asks.Ask)} == set(KINDS) - {"command", "outlook"}


@pytest.mark.slow
@pytest.mark.questions_fail
@pytest.mark.parametrize(
    ("case", "error"),
    [*zip(CASES, cycle(FAULTS), strict=False), *((CASES[0], error) for error in FAULTS[1:])],
    ids=lambda value: value.name if isinstance(value, Case) else type(value).__name__,
)
async def test_a_question_that_fails_refuses_no_batch(
    case: Case, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    async with Rig(tmp_path, system=case.system, rules=case.rules) as rig:
        await begun(rig, case)
        ended = e.RoundEnded(0.0, round_of("r1", case.here, Side.A, case.mode))
        with monkeypatch.context() as broken:
            broken.setattr(f"equipoise.{case.breaks}", raising(error))
            if case.kind == "cache":
                rig.host.session.state.cache = None

            reply = await rig.post(*case.events, LEAVES, ended)
            later = await rig.post(e.PlayerJoined(0.0, player(12)))

        assert reply.rounds == {"r1": "stored"}
        assert rig.host.session.state.roster.get(player(6)) is None
        assert later.pending == reply.pending
        failed = await decisions(rig, "failed")
        assert [one.reason for one in failed if one.reason.startswith(KINDS[case.kind])]  # type: ignore[index]
        assert all(type(error).__name__ in one.reason and one.order is None for one in failed)
        assert counted(rig, "equipoise_question_failures_total")[case.kind] >= 1
        lines = [record for record in caplog.records if record.name == "equipoise.service.work"]
        (line,) = [each for each in lines if each.getMessage() == f"{KINDS[case.kind]} failed"]  # type: ignore[index]
        assert line.exc_info[1] is error

        # The next batches are served as if nothing had been.
        before = rig.host.questions.failed.total()
        await rig.post(e.RosterSeen(0.0, replace(case.here, entries=case.here.entries)))
        await rig.post(*case.events)
        assert rig.host.questions.failed.total() == before


# What the asker sees; what goes on without the answer is tested in `core`.


@pytest.mark.questions_fail
@played
async def test_a_look_up_that_fails_says_so_and_the_others_of_its_batch_are_answered(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.hello(SIX, Mode.KOTH)
    monkeypatch.setattr("equipoise.service.lookups.outlook_now", raising(MemoryError()))

    reply = await rig.post(spoken("teams"), spoken("rating", by=2))

    teams, rating = [order for order in reply.orders if isinstance(order, f.Tell)]
    assert teams.lines == (Text(Phrase.FAILED, ("the daemon failed on this; its log says how",)),)
    assert (rating.player, rating.lines[0].phrase) == (player(2), Phrase.RATING_ADMIN)


@pytest.mark.questions_fail
@played
async def test_the_status_and_the_metrics_are_there_while_the_chances_fail(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.hello(SIX, Mode.KOTH)
    assert rig.host.status().outlook is not None
    monkeypatch.setattr("equipoise.service.host.outlook_now", raising(MemoryError()))

    status = rig.host.status()

    assert (status.outlook, status.win_probability, status.players_a) == (None, None, 3)
    assert counted(rig, "equipoise_question_failures_total") == {"outlook": 2}
    (line,) = await decisions(rig, "failed")
    assert line.reason == "judging the teams for the status failed: MemoryError"


@pytest.mark.questions_fail
@played
async def test_a_dry_run_of_moves_that_fails_is_refused_with_the_reason(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.hello(GAP, Mode.KOTH)
    monkeypatch.setattr("equipoise.balancing.transfer", raising(MemoryError()))

    answer = await rig.host.command(("balance",), "test", dry=True)

    assert (answer.ok, answer.lines) == (False, (Text(Phrase.FAILED, ("MemoryError",)),))
    assert counted(rig, "equipoise_question_failures_total") == {"moves": 1}


# One batch does not hold the loop.


class Counted:
    """A function that is called as before, and how often it was."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.calls = 0
        module, _, attribute = name.rpartition(".")
        original = getattr(sys.modules[module], attribute)

        def counting(*asked: Any, **how: Any) -> Any:
            self.calls += 1
            return original(*asked, **how)

        monkeypatch.setattr(name, counting)


async def turns_during(doing: Callable[[], Any]) -> tuple[Any, int]:
    """What is returned, and how often another task of the loop had a turn meanwhile."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    turns = 0
    done = await doing()
    task.cancel()
    return done, turns


@played
async def test_of_equal_look_ups_in_a_batch_one_is_made(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    outlooks = Counted(monkeypatch, "equipoise.service.lookups.outlook_now")
    await rig.hello(SIX, Mode.KOTH)
    commands = [replace(spoken("teams"), by=player(number % 6 + 1)) for number in range(255)]
    reply = await rig.post(*commands, replace(spoken("teams"), admin=False))

    assert outlooks.calls == 2, "players do not see what admins see"
    tells = [order for order in reply.orders if isinstance(order, f.Tell)]
    assert [tell.player for tell in tells[:255]] == [command.by for command in commands]
    assert {tell.lines for tell in tells[:255]} == {tells[0].lines}
    assert tells[255].lines == tells[0].lines[1:]


@played
async def test_look_ups_about_their_sender_are_not_equal_and_a_rating_that_is_set_between_them_counts(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH)
    reply = await rig.post(
        spoken("rating", by=1),
        spoken("rating", by=2),
        spoken("set", player(1), "1500"),
        spoken("rating", by=1),
        spoken("set", player(1), "1600"),
        spoken("set", player(1), "1500"),
        spoken("rating", player(1), by=2),
    )

    lines = [order.lines[0] for order in reply.orders if isinstance(order, f.Tell)]
    assert [line.args[1] for line in lines] == ["1000", "1000", "1000", "1500", "1500", "1600", "1500"]
    assert [line.args[0] for line in lines[:2]] == [f"@{player(1)}", f"@{player(2)}"]


@played
async def test_of_more_look_ups_than_are_answered_the_rest_is_refused_with_the_reason(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.hello(SIX, Mode.KOTH)
    commands = [spoken("rating", player(number)) for number in range(1, 257)]
    reply, turns = await turns_during(lambda: rig.post(*commands))

    lines = [order.lines[0] for order in reply.orders if isinstance(order, f.Tell)]
    refusal = Text(Phrase.FAILED, (f"one batch had more than {MOST_QUESTIONS} different questions",))
    assert [line.phrase for line in lines[:MOST_QUESTIONS]] == [Phrase.RATING_ADMIN] * MOST_QUESTIONS
    assert lines[MOST_QUESTIONS:] == [refusal] * (256 - MOST_QUESTIONS)
    assert turns >= 256
    assert counted(rig, "equipoise_questions_refused_total") == {"": 256 - MOST_QUESTIONS}
    (line,) = await decisions(rig, "refused")
    assert line.reason.startswith("answering a command refused: one batch had more than")


@played
async def test_equal_dry_runs_of_a_batch_are_solved_once(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = Counted(monkeypatch, "equipoise.balancing.best")
    await rig.hello(SIX, Mode.KOTH)
    solved.calls = 0
    reply = await rig.post(*(spoken("scramble", "dry", by=number % 6 + 1) for number in range(256)))

    assert solved.calls == 1
    tells = [order for order in reply.orders if isinstance(order, f.Tell)]
    assert [tell.player for tell in tells] == [player(number % 6 + 1) for number in range(256)]
    assert len({tell.lines for tell in tells}) == 1
    assert tells[0].lines[0].phrase is Phrase.DRY_RUN

    # Another batch, after a rating was changed, is another question.
    await rig.host.command(("set", player(1), "1900"), "test")
    await rig.post(spoken("scramble", "dry"))
    assert solved.calls == 2


@played
async def test_different_questions_let_others_in_and_those_beyond_the_limit_are_refused(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = Counted(monkeypatch, "equipoise.balancing.best")
    await rig.hello(SIX, Mode.KOTH)
    solved.calls = 0
    # Each time the roster is another one: another question.
    events = [
        event
        for number in range(100)
        for event in (
            e.SideChanged(0.0, player(1), (Side.B, Side.A)[number % 2]),
            spoken("scramble", "dry"),
        )
    ]
    reply, turns = await turns_during(lambda: rig.post(*events))

    assert solved.calls == MOST_QUESTIONS
    assert turns >= MOST_QUESTIONS
    lines = [order.lines[0].phrase for order in reply.orders if isinstance(order, f.Tell)]
    assert lines == [Phrase.DRY_RUN] * MOST_QUESTIONS + [Phrase.NO_ANSWER] * (100 - MOST_QUESTIONS)
    assert counted(rig, "equipoise_questions_refused_total") == {"": 100 - MOST_QUESTIONS}
    assert [one.reason.partition(":")[0] for one in await decisions(rig, "refused")] == ["making teams refused"]

    later = await rig.post(spoken("scramble", "dry"))
    assert [order.lines[0].phrase for order in later.orders if isinstance(order, f.Tell)] == [Phrase.DRY_RUN]


@pytest.mark.parametrize(("players", "threads"), [(THREAD_FROM - 2, 0), (THREAD_FROM, 1), (30, 1)])
@played
async def test_a_split_of_many_players_is_solved_off_the_loop(
    rig: Rig, players: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    best = balancing.best

    def noting(*asked: Any) -> Any:
        names.append(threading.current_thread().name)
        return best(*asked)

    monkeypatch.setattr("equipoise.balancing.best", noting)
    half = players // 2
    await rig.hello(roster(range(1, half + 1), range(half + 1, players + 1)), Mode.KOTH)
    names.clear()
    await rig.post(spoken("scramble", "dry"))
    assert len(names) == 1
    assert sum(name != threading.main_thread().name for name in names) == threads


# The check of every test that no question fails in it.

INNER = '''
import asyncio, subprocess, sys
from pathlib import Path

import pytest

from tests.hosts import Rig, player, roster
from equipoise.core import events as e
from equipoise.core.model import Mode


def fail(folder):
    """A server on which a dry run fails, its store in this folder."""
    import equipoise.balancing

    def broken(*asked):
        raise MemoryError

    async def main():
        async with Rig(folder) as rig:
            await rig.hello(roster([1, 2, 3], [4, 5, 6]), Mode.KOTH)
            await rig.post(e.Commanded(0.0, ("scramble", "dry"), player(1), admin=True))

    whole, equipoise.balancing.best = equipoise.balancing.best, broken
    asyncio.run(main())
    equipoise.balancing.best = whole


def test_in_this_process(tmp_path):
    fail(tmp_path)


def test_in_another_process(tmp_path):
    subprocess.run([sys.executable, __file__, tmp_path], check=True)


@pytest.mark.questions_fail
def test_declared(tmp_path):
    fail(tmp_path)
    subprocess.run([sys.executable, __file__, tmp_path / "other"], check=True)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    subprocess.run([sys.executable, __file__, folder], check=True)


def test_last(shared):
    pass


if __name__ == "__main__":
    fail(Path(sys.argv[1]))
'''


@pytest.mark.slow
@pytest.mark.questions_fail
def test_a_failure_that_no_test_declares_is_an_error_of_that_test(tmp_path: Path) -> None:
    (tmp_path / "test_inner.py").write_text(INNER)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = questions_fail: it is meant to\n")
    root = Path(__file__).parents[2]
    words = "-m pytest -p tests.failures -p no:schemathesis -p no:cacheprovider -c pytest.ini --basetemp its"
    done = subprocess.run(
        [sys.executable, *words.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 passed, 3 errors in" in done.stdout, done.stdout + done.stderr
    said = "questions failed that no test made fail: making teams failed: MemoryError"
    found = re.findall(rf"ERROR at teardown of (\w+) _+\n{said}\n", done.stdout)
    assert found == ["test_in_this_process", "test_in_another_process", "test_last"]
