"""The most that any shuffle of NS2 can gain that learns skills from wins alone: a learner who knows the world's law.

Skills are drawn as in the demo. The learner knows the distribution that they are drawn from and the model by which
rounds are won, has the posterior of all skills after each round (Laplace's approximation), and puts the ten on the
field where the expected distance of the win probability from a half is least, of all splits, whatever moves and wishes
that costs. Only who commands is not theirs: people take the chairs, and some of those who are asked follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.quality import logistic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PEOPLE, KEEN, ROUNDS, SEEDS = 12, 6, 200, range(1, 65)
SHAPE, SCALE, OFFSET, MAPS = 6.0, 0.5, 0.375, 0.25
"""Of the distributions, in log-odds: Gamma of skills, normal of offsets and of the maps' advantages."""
ADVANTAGES = (0.2, -0.1, 0.35)
POSITIVE = np.r_[0:PEOPLE, 2 * PEOPLE : 3 * PEOPLE]
"""Skills on the field and in the chair; between them stand the offsets, behind them the maps."""
UNKNOWN = 3 * PEOPLE + len(ADVANTAGES)
PRECISION = np.zeros(UNKNOWN)
PRECISION[PEOPLE : 2 * PEOPLE], PRECISION[3 * PEOPLE :] = OFFSET**-2, MAPS**-2
QUANTILES = np.array([NormalDist().inv_cdf((number + 0.5) / 40) for number in range(40)])
SPLITS = np.array(
    [[1 if n in on_a else -1 for n in range(PEOPLE)] for on_a in combinations(range(PEOPLE), PEOPLE // 2)]
)


def rows(sides: Ints, a: Ints, b: Ints, number: int) -> Floats:
    """Return the coefficients of all unknowns in the log-odds of each split, with these commanders on this map."""
    each, field = np.arange(len(sides)), sides.astype(np.float64)
    field[each, a] = field[each, b] = 0.0
    row = np.zeros((len(sides), UNKNOWN))
    row[:, :PEOPLE], row[:, PEOPLE : 2 * PEOPLE] = field / (PEOPLE - 2), np.abs(field) / (PEOPLE - 2)
    row[each, 2 * PEOPLE + a], row[each, 2 * PEOPLE + b], row[:, 3 * PEOPLE + number] = 0.5, -0.5, 1.0
    return row


class Learner:
    """The posterior of all skills: its mode, and the covariance there."""

    def __init__(self) -> None:
        self.rounds, self.won = np.zeros((0, UNKNOWN)), np.zeros(0)
        self.mode = np.zeros(UNKNOWN)
        self.mode[POSITIVE] = (SHAPE - 1.0) * SCALE
        self.learn(np.zeros(UNKNOWN), 0.5)

    def learn(self, row: Floats, won: float) -> None:
        """Take a round in, and find the mode by Newton's method; skills stay above 0."""
        self.rounds, self.won = np.vstack((self.rounds, row)), np.append(self.won, won)
        for _ in range(30):
            chances, skills = logistic(self.rounds @ self.mode), self.mode[POSITIVE]
            slope = self.rounds.T @ (self.won - chances) - PRECISION * self.mode
            curve = (self.rounds * (chances * (1.0 - chances))[:, None]).T @ self.rounds + np.diag(PRECISION)
            slope[POSITIVE] += (SHAPE - 1.0) / skills - 1.0 / SCALE
            curve[POSITIVE, POSITIVE] += (SHAPE - 1.0) / skills**2
            step = np.linalg.solve(curve, slope)
            shrink = float(np.max(-step[POSITIVE] / skills))
            self.mode = self.mode + step * min(1.0, 0.95 / shrink if shrink > 0.0 else 1.0)
            if np.abs(step).max() < 1e-5:
                break
        self.covariance = np.linalg.inv(curve)

    def unevenness(self, row: Floats) -> Floats:
        """Return the expected distance of each split's win probability from a half."""
        spread = np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", row, self.covariance, row)))
        return np.abs(logistic((row @ self.mode)[:, None] + spread[:, None] * QUANTILES) - 0.5).mean(1)

    def apart(self, one: int, two: int) -> float:
        """Return how far apart two are thought to be in the chairs."""
        return abs(float(self.mode[2 * PEOPLE + one] - self.mode[2 * PEOPLE + two]))


class Knowing(Learner):
    """Knows all skills, and learns nothing."""

    def __init__(self, truth: Floats) -> None:
        self.mode, self.covariance = truth, np.zeros((UNKNOWN, UNKNOWN))

    def learn(self, row: Floats, won: float) -> None:
        pass


class Stepping(Knowing):
    """Learns by the rating system's steps (docs/ratings/ns2.md), and takes skills for what they are estimated as."""

    def __init__(self) -> None:
        newcomers = np.zeros(UNKNOWN)
        newcomers[POSITIVE] = (SHAPE - 1.0) * SCALE
        super().__init__(newcomers)
        self.params = NS2.create().params
        self.squares, self.played = np.zeros(UNKNOWN), np.zeros((len(ADVANTAGES), 2))

    def learn(self, row: Floats, won: float) -> None:
        slope = row * (won - float(logistic(row @ self.mode)))
        self.squares += slope**2
        rates = np.full(UNKNOWN, self.params.constant_rate)
        rates[POSITIVE] += self.params.adagrad_rate / np.sqrt(self.squares + self.params.adagrad_floor)[POSITIVE]
        self.mode = self.mode + rates * slope
        self.played += row[3 * PEOPLE :, None] * (won, 1.0)
        (wins, played), prior = self.played.T, self.params.prior_rounds
        elsewhere = (wins.sum() - wins + prior / 2) / (played.sum() - played + prior)
        rate = (wins + prior * elsewhere) / (played + prior)
        self.mode[3 * PEOPLE :] = np.log(rate / (1.0 - rate))


def keen(sides: Ints, side: int) -> Ints:
    """Return those of a side who like to command; all of it where nobody does."""
    on_side = np.flatnonzero(sides == side)
    return on_side[on_side < KEEN] if (on_side < KEEN).any() else on_side


def gain(seed: int, follow: float, *, both: bool, make: Callable[[Floats], Learner] = lambda truth: Learner()) -> float:
    """Return by how much the stronger side's true chance is nearer to a half than in random teams, later half.

    `both`: the two closest are asked before anybody sits; else the best match of the first who sits. `make` makes the
    learner, and is told the truth.
    """
    rng = np.random.default_rng(seed)
    skills, offsets, chairs = (
        draw(PEOPLE)
        for draw in (
            lambda n: rng.gamma(SHAPE, SCALE, n),
            lambda n: rng.normal(0.0, OFFSET, n),
            lambda n: rng.gamma(SHAPE, SCALE, n),
        )
    )
    truth, gains = np.concatenate((skills, offsets, chairs, ADVANTAGES)), list[float]()
    learner = make(truth)
    for number in range(ROUNDS):
        place = number * len(ADVANTAGES) // ROUNDS
        gathered = SPLITS[rng.integers(len(SPLITS))]
        on_a, on_b = keen(gathered, 1), keen(gathered, -1)
        a, b = int(rng.choice(on_a)), int(rng.choice(on_b))
        if both and rng.random() < follow:
            a = int(min(product(on_a, on_b), key=lambda pair: learner.apart(*pair))[0])
        if rng.random() < follow:
            b = int(min(on_b, key=lambda player: learner.apart(a, player)))
        splits = SPLITS[(SPLITS[:, a] == 1) & (SPLITS[:, b] == -1)]
        row = rows(splits, np.full(len(splits), a), np.full(len(splits), b), place)
        row = row[learner.unevenness(row).argmin()]
        random = SPLITS[rng.integers(len(SPLITS), size=60)]
        led = (np.array([rng.choice(keen(split, side)) for split in random]) for side in (1, -1))
        chance, others = logistic(row @ truth), logistic(rows(random, *led, place) @ truth)
        gains.append(float(np.abs(others - 0.5).mean() - abs(chance - 0.5)))
        learner.learn(row, float(rng.random() < chance))
    return float(np.mean(gains[ROUNDS // 2 :]))


OTHERS: dict[str, Callable[[Floats], Learner]] = {
    "by the rating system's steps": lambda truth: Stepping(),
    "who knows all": Knowing,
}


def points(gains: Iterable[float]) -> str:
    """Return the mean in points, with its standard error."""
    each = 100 * np.array([*gains])
    return f"{each.mean():.1f} ± {each.std() / len(each) ** 0.5:.1f}"


def main() -> None:
    """Print the gain in points, by who is asked and how many follow, and of other learners."""
    for both, follow in product((False, True), (0.0, 0.5, 1.0)):
        asked = "two asked" if both else "one asked"
        print(f"{asked}, {follow:.0%} follow: {points(gain(seed, follow, both=both) for seed in SEEDS)}", flush=True)
    for name, make in OTHERS.items():
        gains = points(gain(seed, 0.5, both=True, make=make) for seed in SEEDS)
        print(f"two asked, 50% follow, {name}: {gains}", flush=True)


if __name__ == "__main__":
    main()
