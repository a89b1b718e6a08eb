"""The filter of `joint` written a second time: dense matrices by name, Gauss-Hermite quadrature, no eviction."""

from __future__ import annotations

import numpy as np

from equipoise.core.model import is_bot
from equipoise.ratings.joint.params import JointParams
from equipoise.ratings.system import Match

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(128)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
HEAD, NEWCOMERS = "head count", "newcomers"
FADE = 30
"""Rounds until nothing of the worth of newcomers is in a skill."""
DAY = 86_400.0


class Reference:
    """Coordinates are made when they are first named, with their prior.

    A player's is what they have of their own: the worth of newcomers is added where it is asked for.
    """

    def __init__(self, params: JointParams) -> None:
        self.params = params
        self.names = [HEAD, NEWCOMERS]
        self.mean = np.array([float(params.head_count), 0.0])
        self.cov = np.diag([params.head_count_spread**2, (params.newcomers * params.spread) ** 2])
        self.rounds: dict[str, int] = {}
        self.last: dict[str, float | None] = {}
        self.latest: float | None = None

    def row(self, name: str, spread: float) -> int:
        """The coordinate of a name."""
        if name not in self.names:
            self.names.append(name)
            self.mean = np.append(self.mean, 0.0)
            self.cov = np.pad(self.cov, ((0, 1), (0, 1)))
            self.cov[-1, -1] = spread**2
        return self.names.index(name)

    def coefficients(self, match: Match, signed: dict[str, float], heads: tuple[float, float]) -> np.ndarray:
        """x of D = x·s, of the players' signed times and the head counts."""
        rows = {self.row(player, self.params.spread): time for player, time in signed.items()}
        if len(set(match.sides)) == 2:
            first, second = sorted(match.sides)
            sign = 1.0 if match.sides[0] == first else -1.0
            rows[self.row(f"{first}|{second}", self.params.side_spread)] = sign
            if match.map:
                rows[self.row(f"{first}|{second} on {match.map}", self.params.map_spread)] = sign
        x = np.zeros(len(self.names))
        x[list(rows)] = list(rows.values())
        x[0] = np.log(max(heads[0], 0.5) / max(heads[1], 0.5))
        x[1] = sum(time * self.newcomer(player) for player, time in signed.items())
        return x

    def newcomer(self, player: str) -> float:
        """The part of the worth of newcomers in a player's skill."""
        return max(0.0, 1 - self.rounds.get(player, 0) / FADE) if self.params.correlations else 0.0

    def skills(self, players: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of players' skills."""
        own = np.zeros((len(players), len(self.names)))
        for row, player in zip(own, players, strict=True):
            row[self.names.index(player)], row[1] = 1.0, self.newcomer(player)
        return own @ self.mean, own @ self.cov @ own.T

    def drifted(self, match: Match, players: set[str]) -> np.ndarray:
        """The covariance with what these players gained since their last round."""
        cov, at = self.cov.copy(), self.latest if match.started_at is None else match.started_at
        for player in players & set(self.last):
            row, last = self.names.index(player), self.last[player]
            days = 0.0 if at is None or last is None else max(0.0, at - last) / DAY
            room = max(0.0, self.params.spread**2 - float(self.skills([player])[1][0, 0]))
            cov[row, row] += self.params.drift**2 + min(room, days * self.params.drift_days**2)
        return cov

    def predict(self, match: Match) -> float:
        """Expected score of the first lineup."""
        a, b = match.predicted_lineup
        signed = dict.fromkeys(a, 1.0) | dict.fromkeys(b, -1.0)
        signed = {player: sign for player, sign in signed.items() if not is_bot(player)}
        x = self.coefficients(match, signed, (len(a), len(b)))
        mean, variance = x @ self.mean, x @ self.drifted(match, set(signed)) @ x
        return float(WEIGHTS @ (1 / (1 + np.exp(-mean - np.sqrt(variance) * NODES))))

    def rate(self, match: Match) -> None:
        """Take in a result."""
        times = {player: self.times(match, team, player) for team in (0, 1) for player in match.teams[team]}
        bots = [sum(map(is_bot, side)) for side in match.lineup or ((), ())]
        heads = bots[0] + sum(on[0] for on in times.values()), bots[1] + sum(on[1] for on in times.values())
        x = self.coefficients(match, {player: on[0] - on[1] for player, on in times.items()}, heads)
        self.cov = self.drifted(match, set(times))
        reach = self.cov @ x
        mean, variance = x @ self.mean, x @ reach
        d = mean + np.sqrt(variance) * NODES
        win, loss = 1 / (1 + np.exp(-d)), 1 / (1 + np.exp(d))
        score = match.score(0)
        likelihood = win if score == 1 else loss if score == 0 else (win * loss) ** self.params.draw_weight
        likelihood = WEIGHTS * likelihood**match.weight
        likelihood /= likelihood.sum()
        after = likelihood @ d
        left = likelihood @ (d - after) ** 2
        self.mean = self.mean + reach / variance * (after - mean)
        self.cov = self.cov + np.outer(reach, reach) / variance**2 * (left - variance)
        if not self.params.correlations:
            self.cov = np.diag(np.diag(self.cov))
        if match.started_at is not None:
            self.latest = match.started_at if self.latest is None else max(match.started_at, self.latest)
        for player in times:
            self.rounds[player] = self.rounds.get(player, 0) + 1
            known = [time for time in (self.last.get(player), match.started_at) if time is not None]
            self.last[player] = max(known, default=None)

    def times(self, match: Match, team: int, player: str) -> tuple[float, float]:
        """The parts of the match on A and on B."""
        spans = match.spans.get(player, ())
        if not spans:
            part = match.fraction_played.get(player, 1.0)
            return (part, 0.0) if team == 0 else (0.0, part)
        on = [sum(span.end - span.start for span in spans if span.team == side) / match.seconds for side in (0, 1)]
        return on[0], on[1]
