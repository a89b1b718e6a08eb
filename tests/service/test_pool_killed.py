"""Rounds that were answered survive kill -9."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from equipoise.core.model import PlayerSummary
from tests.opened_pool import Sharing, opened, rated_alone, stored_rounds, summary_of
from tests.store.failing import locked
from tests.store.samples import a_round, player, until

pytestmark = [pytest.mark.slow, pytest.mark.also_shared]

ROOT = Path(__file__).parents[2]
AT_ONCE = 5

SHARING = """
import sys
from tests.opened_pool import Followed, Sharing

if len(sys.argv) > 3:
    Sharing.database_of, Sharing.password = lambda _: sys.argv[2], sys.argv[3]
    Followed.answer_seconds = 0.5
"""

RECORDER = """
import asyncio, sys
from itertools import count
from pathlib import Path
from tests.store.samples import a_round
from tests.opened_pool import opened

async def play(at_once):
    async with opened(Path(sys.argv[1])) as pool:
        async def end(number):
            done = await pool.record(a_round(number), None)
            print(done.status, flush=True)

        print("open", flush=True)
        sys.stdin.readline()
        for first in count(step=at_once):
            await asyncio.gather(*map(end, range(first, first + at_once)))

asyncio.run(play(int(sys.argv[-1])))
"""


def program(text: str, directory: Path) -> list[str]:
    """A process that opens the pool in a folder as this run of the test does."""
    shared = [] if Sharing.database_of is None else [Sharing.database_of(directory / "s.db"), Sharing.password]
    return [sys.executable, "-c", SHARING + text, str(directory), *shared]


@contextmanager
def recorder(directory: Path, at_once: int = 1) -> Iterator[subprocess.Popen[str]]:
    """A process that has a pool open and waits for a line before it records rounds without end."""
    command = [*program(RECORDER, directory), str(at_once)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
        assert process.stdout.readline() == "open\n"
        yield process


def play_and_kill(process: subprocess.Popen[str], rounds: int) -> list[str]:
    """What the recorder's rounds were answered with before it was killed."""
    print(file=process.stdin, flush=True)
    answers = [process.stdout.readline() for _ in range(rounds)]
    process.kill()
    return [answer.strip() for answer in (*answers, *process.stdout.readlines())]


def _check_all_were_applied(directory: Path, answers: list[str], at_once: int = 1) -> None:
    async def restarted() -> PlayerSummary:
        async with opened(directory) as pool:
            await until(lambda: not pool.ring_depth)
            return (await pool.summaries([player(1)]))[0]

    summary, applied = asyncio.run(restarted()), stored_rounds(directory)
    assert len(answers) <= len(applied) <= len(answers) + at_once
    assert applied == [a_round(number).round.id for number in range(len(applied))]
    assert summary == summary_of(rated_alone(*map(a_round, range(len(applied)))), player(1))


def test_rounds_answered_kept_survive_kill_9_and_are_applied_once_in_order(tmp_path: Path) -> None:
    with recorder(tmp_path) as process, locked(tmp_path / "s.db"):
        answers = play_and_kill(process, 3)

    assert set(answers) == {"kept"}
    _check_all_were_applied(tmp_path, answers)


def test_rounds_that_shared_a_commit_survive_kill_9_as_a_whole(tmp_path: Path) -> None:
    with recorder(tmp_path, AT_ONCE) as process:
        answers = play_and_kill(process, 4 * AT_ONCE + 1)

    assert set(answers) == {"stored"}
    _check_all_were_applied(tmp_path, answers, AT_ONCE)
    assert len(stored_rounds(tmp_path)) % AT_ONCE == 0
