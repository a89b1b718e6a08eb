"""The store's end of `equipoise.refitting.spread`: a process that fits the spread of skill to a pool's rounds."""

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
from equipoise.store.upkeep import SpreadFound

COMMAND = (sys.executable, "-P", "-m", "equipoise.refitting.spread")


class Question(msgspec.Struct, frozen=True):
    """What is asked of the process."""

    store: str
    pool: str
    params: Mapping[str, object]
    """Of `joint`: all else than the spread is taken as it is."""


class Answer(msgspec.Struct, frozen=True):
    """What the process answers; without either there are too few rounds, or no spread fits them."""

    found: SpreadFound | None = None
    refusal: str | None = None


async def spread(store: Path, pool: str, params: Mapping[str, object]) -> SpreadFound | None:
    """The answer of a process of its own, which ends when this is cancelled."""
    env = os.environ | ONE_THREAD
    async with started(COMMAND, "fits the spread of skill", stdin=PIPE, stdout=PIPE, env=env) as process:
        asked = msgspec.json.encode(Question(str(store), pool, params)) + b"\n"
        try:
            said, _ = await process.communicate(asked)
            answer = msgspec.json.decode(said, type=Answer)
        except (OSError, msgspec.MsgspecError):
            raise StoreError(f"pool {pool}: the process that fits the spread of skill has died") from None
    if answer.refusal is not None:
        raise StoreError(answer.refusal)
    return answer.found
