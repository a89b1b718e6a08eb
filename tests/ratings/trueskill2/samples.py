"""Parameters that switch everything in TrueSkill 2 on, and matches with everything that it reads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from equipoise.ratings.system import Counts, Match
from tests.ratings.samples import odd_matches

EVERYTHING = {
    "kill_own": 0.25,
    "kill_opponent": -0.1,
    "kill_variance": 0.5,
    "death_own": -0.1,
    "death_opponent": 0.25,
    "death_variance": 0.5,
    "quit_margin": -1.0,
    "quit_unrelated": 0.05,
    "quit_related": 0.6,
    "squad_offset": (0.3, 0.6),
    "experience_offset": (0.08, 0.06, 0.04, 0.02, 0.0),
    "gamma2": 0.003,
    "tau2": 1e-6,
    "margin": 0.2,
    "base_variance": 0.4,
    "base_gamma2": 0.001,
    "modes": {"arena": {"beta2": 0.8, "base_weight": 0.7}},
}


def full_matches(seed: int, count: int) -> Iterator[Match]:
    """Matches of servers with lengths, fractions played, counts, quits, squads and modes."""
    rng = random.Random(seed)
    for match in odd_matches(seed, count, 14):
        playing = [player for side in match.teams for player in side]
        yield replace(
            match,
            seconds=rng.choice((None, 300.0, 900.0)),
            fraction_played={player: rng.choice((0.0, 0.4, 1.0)) for player in playing if rng.random() < 0.4},
            counts={player: Counts(rng.randrange(4), rng.randrange(5)) for player in playing if rng.random() < 0.7},
            quits=frozenset(player for player in playing if rng.random() < 0.1),
            squads=(match.teams[0][:2], (*match.teams[1][:2], match.teams[0][2])),
            mode=rng.choice(("", "payload", "arena")),
        )
