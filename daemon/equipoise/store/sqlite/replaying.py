"""The store's end of `equipoise.replaying`: a process that replays what follows a strike, beside the daemon.

Rating 100,000 rounds takes a minute of the processor, which a thread would take from the event loop.
"""

from __future__ import annotations

import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import msgspec

from equipoise.errors import ScriptError, StoreError
from equipoise.store.sequence import EditStrike, Revised, RoundStrike
from equipoise.store.sqlite.process import started

COMMAND = (sys.executable, "-P", "-m", "equipoise.replaying")


class Question(msgspec.Struct, frozen=True):
    """What is asked of the process."""

    store: str
    pool: str
    outcome: str | None
    """The file for the new numbers; None: it is a trial."""
    round: RoundStrike | None = None
    edit: EditStrike | None = None

    @property
    def strike(self) -> RoundStrike | EditStrike:
        """The round or the edit: one is set."""
        strike = self.round or self.edit
        assert strike is not None
        return strike


class Refusal(msgspec.Struct, frozen=True):
    """Why it cannot be done; without a code it is the store's or the rating system's trouble."""

    message: str
    code: str = ""
    status: int = 0


class Answer(msgspec.Struct, frozen=True):
    """What the process answers: one field is set."""

    revised: Revised | None = None
    refusal: Refusal | None = None


def question(store: Path, pool: str, strike: RoundStrike | EditStrike, outcome: Path | None) -> Question:
    """Ask for a replay."""
    return Question(
        str(store),
        pool,
        None if outcome is None else str(outcome),
        strike if isinstance(strike, RoundStrike) else None,
        strike if isinstance(strike, EditStrike) else None,
    )


async def asked(question: Question) -> Answer:
    """The answer of a process of its own, which ends when this is cancelled."""
    async with started(COMMAND, "replays rounds", stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(question) + b"\n")
            answer = msgspec.json.decode(await process.stdout.read(), type=Answer)
        except (OSError, msgspec.MsgspecError):
            raise StoreError("the process that replays rounds has died") from None
        await process.wait()
        return answer


def revised(answer: Answer) -> Revised:
    """What was answered. ScriptError, StoreError: why it cannot be done."""
    if answer.revised is not None:
        return answer.revised
    assert answer.refusal is not None
    if answer.refusal.code:
        raise ScriptError(answer.refusal.code, answer.refusal.message, status=answer.refusal.status)
    raise StoreError(answer.refusal.message)
