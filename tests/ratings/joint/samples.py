"""Random matches with all that `joint` reads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from equipoise.ratings.system import Match, Span
from tests.ratings.samples import odd_matches

DAY = 86_400.0


def joint_matches(seed: int, count: int, players: int = 14) -> Iterator[Match]:
    """Bots, uneven sides, changed sides, maps, weights, and times that are late or unknown."""
    rng = random.Random(seed)
    for number, match in enumerate(odd_matches(seed, count, players)):
        sides = rng.choice(((), ("marines", "aliens"), ("aliens", "marines")))
        each = [player for team in match.teams for player in team]
        changed = rng.sample(each, 3)
        yield replace(
            match,
            started_at=None if match.started_at is None else DAY * (number // 5 - rng.choice((0, 0, 0, 3))),
            seconds=600.0,
            fraction_played={player: rng.random() for player in each[2:4]},
            spans={p: (Span(0, 0.0, 200.0), Span(1, 250.0, rng.uniform(260.0, 600.0))) for p in changed}
            if rng.random() < 0.3
            else {},
            sides=sides,
            map=rng.choice(("", "veil", "tram")),
            weight=rng.choice((1.0, 1.0, 0.5, 2.0)),
        )
