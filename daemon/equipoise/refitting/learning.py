"""The process that fits what a pool learns: asked by a line on standard input, it answers with one and ends.

The spread of skill is fitted by replays of all rounds, the calibration of what is said to the stored predictions.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.model import PlayerId
from equipoise.errors import RatingError, StoreError
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.system import Match, ranks_of
from equipoise.refitting.limits import limit
from equipoise.store.sqlite import past
from equipoise.store.sqlite.fits import Answer, Question
from equipoise.store.sqlite.past import Past
from equipoise.store.upkeep import CalibrationFit, CalibrationFound, SpreadFound

MOST = 20_000
"""Rounds that are read, the last ones: some twenty replays of them take minutes where many people play."""
MOST_SCORED = 5_000
"""Where own scores are read, which takes ten times as long."""

SOMEBODY, SOMEBODY_ELSE = PlayerId("a"), PlayerId("b")
"""A calibration looks at predictions, sides and maps: who plays says nothing to it."""


def main() -> None:
    """Answer one question, in memory of a limited size."""
    limit()
    asked = msgspec.json.decode(sys.stdin.buffer.readline(), type=Question)
    try:
        with past.opened(Path(asked.store), asked.pool) as found:
            answer = Answer(
                spread=None if asked.spread is None else _spread(found, asked.spread),
                calibration=None if asked.calibration is None else _calibration(found, asked.calibration),
            )
    except (RatingError, StoreError) as error:
        answer = Answer(refusal=str(error))
    except MemoryError:
        answer = Answer(refusal=f"pool {asked.pool}: its history is too long to learn from")
    sys.stdout.buffer.write(msgspec.json.encode(answer))


def _spread(found: Past, given: Mapping[str, object]) -> SpreadFound | None:
    from equipoise.ratings.history import History
    from equipoise.ratings.joint.spread import LEAST, fit_spread

    bare = (replace(event.record, skill_at_start=None) for event in found.rounds())
    matches = deque((match for record in bare if (match := match_of(record)) is not None), maxlen=MOST)
    params = ratings.create("joint", **given).params
    scored = params.scores and any(match.counts for match in matches)
    history = History.of(list(matches)[-MOST_SCORED if scored else -MOST :])
    fit = fit_spread(params, history) if len(history) >= LEAST else None
    return None if fit is None else SpreadFound(len(history), params.spread, fit.spread, fit.error, fit.missing)


def _calibration(found: Past, wanted: CalibrationFit) -> CalibrationFound | None:
    import numpy as np

    from equipoise.ratings.calibration_fit import LEAST, MOST, propose
    from equipoise.ratings.history import History

    rounds = found.predictions(MOST, wanted.since, followed=wanted.followed)
    if len(rounds) < LEAST:
        return None
    teams = ((SOMEBODY,), (SOMEBODY_ELSE,))
    history = History.of(
        [Match(teams, ranks_of(each.score), sides=each.mode.sides, map=each.map) for each in rounds],
    )
    present = Calibration(wanted.temperature, wanted.sides, wanted.maps)
    predicted, scores = (np.array([getattr(each, name) for each in rounds]) for name in ("predicted", "score"))
    proposal = propose(predicted, history, scores, present)
    if proposal is None or proposal.gain.error is None or proposal.gain_on_present.error is None:
        return None
    return CalibrationFound(
        rounds=proposal.matches,
        temperature=proposal.calibration.temperature,
        sides=proposal.calibration.sides,
        maps=proposal.calibration.maps,
        gain=proposal.gain.value,
        error=proposal.gain.error,
        gain_on_present=proposal.gain_on_present.value,
        error_on_present=proposal.gain_on_present.error,
        better=proposal.is_better,
    )


if __name__ == "__main__":
    main()
