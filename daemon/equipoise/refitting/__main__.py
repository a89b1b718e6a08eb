"""The process: fits at the first line of standard input, catches up at the second, and answers each with a line.

It is ended by a closed standard input, or killed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from equipoise.errors import RatingError, StoreError
from equipoise.refitting.limits import MEMORY_BYTES, limit
from equipoise.refitting.refit import Refit
from equipoise.store.sqlite.refits import Answer, Question


def main() -> None:
    """Answer the daemon's lines until it closes standard input, in memory of a limited size."""
    limit()
    refit: Refit | None = None
    while (line := sys.stdin.buffer.readline()).endswith(b"\n"):  # half a line: the daemon was killed meanwhile
        asked = msgspec.json.decode(line, type=Question)
        refit = refit or Refit(Path(asked.store), asked.pool)
        answer = msgspec.json.encode(_answer(refit, asked)) + b"\n"
        try:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(0)  # without another try to write what nobody reads


def _answer(refit: Refit, asked: Question) -> Answer:
    try:
        if not asked.fitted:
            return Answer(fitted=refit.fit())
        return Answer(caught_up=refit.catch_up(None if asked.outcome is None else Path(asked.outcome)))
    except (RatingError, StoreError) as error:
        return Answer(refusal=str(error))
    except MemoryError:
        return Answer(refusal=f"the history is too long: the fit needs more than {MEMORY_BYTES >> 20} MB")


if __name__ == "__main__":
    main()
