"""The store's end of `equipoise.refitting.learning`: a process that fits what a pool learns from its rounds."""

from __future__ import annotations

import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from pathlib import Path

import msgspec

from equipoise.errors import StoreError
from equipoise.store.sqlite.process import started
from equipoise.store.sqlite.refits import ONE_THREAD
from equipoise.store.upkeep import CalibrationFit, CalibrationFound, SpreadFound

COMMAND = (sys.executable, "-P", "-m", "equipoise.refitting.learning")


class Question(msgspec.Struct, frozen=True):
    """What is asked of the process: one of the two."""

    store: str
    pool: str
    spread: Mapping[str, object] | None = None
    """The parameters of `joint`: all else than the spread is taken as it is."""
    calibration: CalibrationFit | None = None


class Answer(msgspec.Struct, frozen=True):
    """What the process answers; without any there are too few rounds, or nothing fits them."""

    spread: SpreadFound | None = None
    calibration: CalibrationFound | None = None
    refusal: str | None = None


async def spread(store: Path, pool: str, params: Mapping[str, object]) -> SpreadFound | None:
    """The spread of skill that the rounds fit best."""
    return (await _asked(Question(str(store), pool, spread=params))).spread


async def calibration(store: Path, pool: str, wanted: CalibrationFit) -> CalibrationFound | None:
    """The calibration that the rounds fit best."""
    return (await _asked(Question(str(store), pool, calibration=wanted))).calibration


async def _asked(question: Question) -> Answer:
    """The answer of a process of its own, which ends when this is cancelled."""
    env = os.environ | ONE_THREAD
    async with started(COMMAND, "learns from a pool's rounds", stdin=PIPE, stdout=PIPE, env=env) as process:
        try:
            said, _ = await process.communicate(msgspec.json.encode(question) + b"\n")
            answer = msgspec.json.decode(said, type=Answer)
        except (OSError, msgspec.MsgspecError):
            raise StoreError(f"pool {question.pool}: the process that learns from its rounds has died") from None
    if answer.refusal is not None:
        raise StoreError(answer.refusal)
    return answer
