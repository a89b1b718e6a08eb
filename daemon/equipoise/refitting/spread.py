"""The process that fits the spread of skill: asked by a line on standard input, it answers with one and ends."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import msgspec

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.errors import RatingError, StoreError
from equipoise.refitting.limits import limit
from equipoise.store.sqlite import past
from equipoise.store.sqlite.spreads import Answer, Question
from equipoise.store.upkeep import SpreadFound

MOST = 20_000
"""Rounds that are read, the last ones: some twenty replays of them take minutes where many people play."""
MOST_SCORED = 5_000
"""Where own scores are read, which takes ten times as long."""


def main() -> None:
    """Answer one question, in memory of a limited size."""
    limit()
    asked = msgspec.json.decode(sys.stdin.buffer.readline(), type=Question)
    try:
        answer = Answer(found=_found(asked))
    except (RatingError, StoreError) as error:
        answer = Answer(refusal=str(error))
    except MemoryError:
        answer = Answer(refusal=f"pool {asked.pool}: its history is too long to fit the spread of skill")
    sys.stdout.buffer.write(msgspec.json.encode(answer))


def _found(asked: Question) -> SpreadFound | None:
    from equipoise.ratings.history import History
    from equipoise.ratings.joint.spread import LEAST, fit_spread

    with past.opened(Path(asked.store), asked.pool) as found:
        bare = (replace(event.record, skill_at_start=None) for event in found.rounds())
        matches = deque((match for record in bare if (match := match_of(record)) is not None), maxlen=MOST)
    params = ratings.create("joint", **asked.params).params
    scored = params.scores and any(match.counts for match in matches)
    history = History.of(list(matches)[-MOST_SCORED if scored else -MOST :])
    fit = fit_spread(params, history) if len(history) >= LEAST else None
    return None if fit is None else SpreadFound(len(history), params.spread, fit.spread, fit.error, fit.missing)


if __name__ == "__main__":
    main()
