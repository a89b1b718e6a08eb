"""The parameters of `joint`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b

from equipoise.ratings.joint.formulas import Constants
from equipoise.ratings.parameters import DAY, Params, ranged

OUTSIDE = ("initial", "scale", "shadow_rounds", "stale_days")
"""The parameters that only what is shown depends on: a snapshot of other ones is still good."""


@dataclass(frozen=True, slots=True)
class JointParams(Params):
    """Parameters of `joint`; log-odds unless it says otherwise."""

    spread: float = ranged(0.25, 0.001, 20.0)
    """Standard deviation of a newcomer's skill."""
    drift: float = ranged(0.003, 0.0, 5.0)
    """Standard deviation that a skill gains before each round played."""
    drift_days: float = ranged(0.003, 0.0, 5.0)
    """Standard deviation that a skill gains per √day away, until it is known as little as a newcomer's."""
    head_count: float = ranged(5.0, -100.0, 100.0)
    """What ln(n_A / n_B) is worth, before any round."""
    head_count_spread: float = ranged(2.5, 0.0, 100.0)
    """Standard deviation of `head_count`."""
    side_spread: float = ranged(0.1, 0.0, 20.0)
    """Standard deviation of what a side is worth against the other."""
    map_spread: float = ranged(0.3, 0.0, 20.0)
    """Standard deviation of what a side is worth on a map, beyond its worth on all maps."""
    newcomers: float = ranged(0.25, 0.0, 10.0)
    """Standard deviation of what newcomers are worth beside all others, in units of `spread`; 0: nothing."""
    draw_weight: float = ranged(0.5, 0.0, 10.0)
    """w in a draw's likelihood (l·(1 - l))^w."""
    active: int = ranged(512, 2, 4096)
    """Players whose correlations are kept; of all others only mean and variance."""
    correlations: bool = True
    """False: independent variances, for comparison."""
    scores: bool = True
    """Whether players' own scores are read."""
    initial: float = ranged(1000.0, -1_000_000.0, 1_000_000.0)
    """Points: a newcomer's rating."""
    scale: float = ranged(2400.0, 0.001, 1_000_000.0)
    """Points per log-odds; at 2400 a skill has the number that SynElo gives it at 12 against 12."""
    shadow_rounds: int = ranged(20, 0, 100_000)
    """Rounds before a rating is shown."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated round before a player is flagged."""

    def constants(self) -> Constants:
        """The parameters as the formulas read them."""
        return Constants(
            variance=self.spread**2,
            drift2=self.drift**2,
            drift2_second=self.drift_days**2 / DAY,
            draw_weight=self.draw_weight,
            active=self.active,
            correlated=self.correlations,
            # It is learnt by its correlations alone.
            newcomer=float(self.correlations and self.newcomers > 0.0),
        )

    def digest(self) -> str:
        """A digest of all parameters that the state depends on."""
        inside = {name: float(value) for name, value in asdict(self).items() if name not in OUTSIDE}
        return blake2b(json.dumps(inside, sort_keys=True).encode(), digest_size=8).hexdigest()
