"""Rounds that were answered survive kill -9."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.core.model import PlayerSummary
from tests.opened_pool import opened, rated_alone, stored_rounds, told
from tests.store.failing import locked
from tests.store.samples import a_round, player

RECORDER = """
import asyncio, sys
from itertools import count
from pathlib import Path
from tests.store.samples import a_round
from tests.opened_pool import opened

async def play():
    async with opened(Path(sys.argv[1])) as pool:
        print("open", flush=True)
        sys.stdin.readline()
        for number in count():
            done = await pool.record(a_round(number), None)
            print(done.status, flush=True)

asyncio.run(play())
"""


@contextmanager
def recorder(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has a pool open and waits for a line before it records rounds without end."""
    command = [sys.executable, "-c", RECORDER, str(directory)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process


def play_and_kill(process: subprocess.Popen[str], rounds: int) -> list[str]:
    """What the recorder's rounds were answered with before it was killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(file=process.stdin, flush=True)
    answers = [process.stdout.readline() for _ in range(rounds)]
    process.kill()
    return [answer.strip() for answer in (*answers, *process.stdout.readlines())]


async def _restart(directory: Path) -> PlayerSummary:
    async with opened(directory) as pool:
        assert pool.ring_depth == 0
        return (await pool.summaries([player(1)]))[0]


def _check_all_were_applied(directory: Path, answers: list[str]) -> None:
    summary = asyncio.run(_restart(directory))
    applied = stored_rounds(directory)

    assert len(answers) <= len(applied) <= len(answers) + 1
    assert applied == [a_round(number).round.id for number in range(len(applied))]
    assert summary == told(rated_alone(*map(a_round, range(len(applied)))), player(1))


def test_rounds_answered_stored_survive_kill_9(tmp_path: Path) -> None:
    with recorder(tmp_path) as process:
        answers = play_and_kill(process, 20)

    assert set(answers) == {"stored"}
    _check_all_were_applied(tmp_path, answers)


def test_rounds_answered_kept_survive_kill_9_and_are_applied_once_in_order(tmp_path: Path) -> None:
    with recorder(tmp_path) as process, locked(tmp_path / "s.db"):
        answers = play_and_kill(process, 3)

    assert set(answers) == {"kept"}
    _check_all_were_applied(tmp_path, answers)
