"""NS2 12v12 with time weights: bulk replay, live rounds with spans, and the whole-history fit."""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measuring import timed
from equipoise.core.model import PlayerId
from equipoise.ratings import replay
from equipoise.ratings.history import History, Spans
from equipoise.ratings.ns2.fit import fit
from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match, Role, Span

SIZE = 12
EACH = 2 * SIZE
PLAYERS, MATCHES, LIVE_ROUNDS, RUNS = 2000, 200_000, 1000, 7
FIT_PLAYERS, FIT_MATCHES = 10_000, 100_000
MAPS = tuple(f"ns2_{number}" for number in range(12))
SIDES = ("marines", "aliens")


def main() -> None:
    big = history(PLAYERS, MATCHES, seed=1)
    bulk = MATCHES / timed(lambda: replay(NS2.create(), replace(big)), RUNS)
    again = MATCHES / timed(lambda: replay(NS2.create(), big), RUNS)
    forecast = MATCHES / timed(
        lambda: replay(NS2.create(), replace(big, lineup=big.teams, lineup_members=big.members)), RUNS
    )
    rounds = live_rounds()
    live = timed(lambda: rate_live(NS2.create(), rounds), RUNS) / LIVE_ROUNDS
    print(f"{SIZE}v{SIZE}, commanders, one in five joins late, one in five leaves early; median of {RUNS} runs")
    print(f"  replay from arrays, end to end  {bulk / 1e6:8.2f} M matches/s  (target 2.00)")
    print(f"  the same, once they are checked {again / 1e6:8.2f} M matches/s")
    print(f"  with lineups to forecast from   {forecast / 1e6:8.2f} M matches/s")
    print(f"  live rate() with spans          {live * 1e3:8.3f} ms a round    (target 0.200)")

    system, long = NS2.create(), history(FIT_PLAYERS, FIT_MATCHES, seed=2)
    fit(NS2.create(), history(100, 100, seed=3))
    for name in ("cold", "warm"):
        start = process_time()
        ended = fit(system, long)
        seconds = process_time() - start
        print(
            f"  fit of {FIT_MATCHES:,} rounds, {name}      {seconds:8.1f} s            (target 60)   "
            f"{ended.iterations} iterations, gradient {ended.gradient:.0e}, converged: {ended.converged}"
        )


def history(players: int, matches: int, seed: int) -> History:
    """Rounds that hidden field skill and luck decide."""
    rng = np.random.default_rng(seed)
    members = drawn(rng, players, matches)
    seconds = rng.uniform(400.0, 2000.0, matches)
    start = np.where(rng.random(members.shape) < 0.2, rng.uniform(0.0, 0.5, members.shape), 0.0) * seconds[:, None]
    end = np.where(rng.random(members.shape) < 0.2, rng.uniform(0.5, 1.0, members.shape), 1.0) * seconds[:, None]
    skill = rng.gamma(6.0, 0.5, players)[members]
    log_odds = skill[:, :SIZE].mean(axis=1) - skill[:, SIZE:].mean(axis=1)
    lost = (rng.random(matches) > 1.0 / (1.0 + np.exp(-log_odds))).astype(np.int32)
    return History(
        players=tuple(PlayerId(str(76561198000000000 + number)) for number in range(players)),
        matches=2 * np.arange(matches + 1),
        teams=SIZE * np.arange(2 * matches + 1),
        members=members.astype(np.int32).ravel(),
        ranks=np.stack((lost, 1 - lost), axis=1).ravel(),
        started_at=np.arange(matches, dtype=np.float64),
        seconds=seconds,
        spans=Spans(
            starts=np.arange(members.size + 1),
            team=np.tile(np.repeat(np.array([0, 1], np.int32), SIZE), matches),
            start=start.ravel(),
            end=end.ravel(),
            commander=np.tile(np.arange(EACH) % SIZE == 0, matches),
        ),
        side=np.tile(np.array([0, 1], np.int32), matches),
        sides=SIDES,
        map=rng.integers(0, len(MAPS), matches, dtype=np.int32),
        maps=MAPS,
    )


def drawn(rng: np.random.Generator, players: int, matches: int) -> NDArray[np.int64]:
    """Players of each match, shape (matches, EACH), drawn from permutations, so that all play equally often.

    A row that spans two permutations may name a player twice: it is replaced by the first row.
    """
    rounds = matches * EACH // players + 1
    members = np.concatenate([rng.permutation(players) for _ in range(rounds)])[: matches * EACH].reshape(matches, EACH)
    ordered = np.sort(members, axis=1)
    members[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)] = members[0]
    return members


def live_rounds() -> list[dict[str, Any]]:
    """Each round as the daemon knows it when it is rated."""
    names = [PlayerId(str(76561198000000000 + number)) for number in range(PLAYERS)]
    rounds = []
    for number in range(LIVE_ROUNDS):
        first = number % (PLAYERS - EACH)
        teams = tuple(names[first : first + SIZE]), tuple(names[first + SIZE : first + EACH])
        lineup = tuple((side[0], *side[3:]) for side in teams)
        rounds.append(
            {
                "teams": teams,
                "ranks": (number % 2, 1 - number % 2),
                "lineup": lineup,
                "skill_at_start": dict.fromkeys(lineup[0] + lineup[1], 1000.0),
                "spans": {
                    player: played(team, at) for team, side in enumerate(teams) for at, player in enumerate(side)
                },
                "seconds": 900.0,
                "sides": SIDES,
                "map": MAPS[number % len(MAPS)],
            }
        )
    return rounds


def rate_live(system: NS2, rounds: list[dict[str, Any]]) -> None:
    for known in rounds:
        system.rate(Match(**known))


def played(team: int, place: int) -> tuple[Span, ...]:
    """Spans of the player at this place of their team: the first commands, two come late, two leave and come back."""
    if place in (1, 2):
        return (Span(team, 60.0 * place, 900.0),)
    if place in (3, 4):
        return Span(team, 0.0, 100.0 * place), Span(team, 100.0 * place + 50.0, 900.0)
    return (Span(team, 0.0, 900.0, Role.FIELD if place else Role.COMMANDER),)
