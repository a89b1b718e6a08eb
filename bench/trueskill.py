"""TrueSkill and Weng-Lin 12v12, TrueSkill Through Time 1v1, from arrays, beside the libraries in use for them."""

from __future__ import annotations

import importlib
from time import process_time
from types import ModuleType
from typing import Any

import numpy as np

from bench.measuring import peer, timed
from bench.synelo import PLAYERS, SIZE, history
from equipoise.core.model import PlayerId
from equipoise.ratings import create, replay
from equipoise.ratings.history import History, head
from equipoise.ratings.parameters import DAY
from equipoise.ratings.system import Match
from equipoise.ratings.trueskill.fit import Smoother
from equipoise.ratings.trueskill.system import TrueSkill, TrueSkillThroughTime

MATCHES, FREE_FOR_ALLS, PEER_MATCHES, LIVE_ROUNDS = 400_000, 2000, 500, 300
DUELS, DUELLISTS, STEPS, TOLERANCE = 10_000, 500, 100, 1e-6
RUNS = 5
WENG_LIN = (
    ("PlackettLuce", "plackett_luce", 0),
    ("BradleyTerryFull", "bradley_terry", 0),
    ("BradleyTerryPart", "bradley_terry", 4),
    ("ThurstoneMostellerFull", "thurstone_mosteller", 0),
    ("ThurstoneMostellerPart", "thurstone_mosteller", 4),
)
"""openskill's names, and ours for model and neighbours."""


def main() -> None:
    team_matches()
    weng_lin()
    through_time()


def team_matches() -> None:
    system, whole = TrueSkill.create(), history(MATCHES, seed=2)
    bulk = MATCHES / timed(lambda: replay(system, whole), RUNS)
    live = LIVE_ROUNDS / timed(lambda: rate_live(system), RUNS)
    crowds = free_for_alls()
    many = FREE_FOR_ALLS / timed(lambda: replay(TrueSkill.create(), crowds), RUNS)
    print(f"TrueSkill, median of {RUNS} runs")
    print(f"  {SIZE}v{SIZE}, {PLAYERS:,} players, replay end to end  {bulk:12,.0f} matches/s   (target 5,000,000)")
    print(f"  {SIZE}v{SIZE}, live rate(), plain Python         {live:12,.0f} matches/s")
    print(f"  eight alone, replay                    {many:12,.0f} matches/s   (chances summed up, messages to 1e-10)")
    library = peer("trueskill")
    if library is not None:
        pace = PEER_MATCHES / timed(lambda: rate_with_trueskill(library, whole), runs=1)
        times = f"(we: {bulk / pace:,.0f} times)"
        print(f"  {SIZE}v{SIZE}, trueskill                         {pace:12,.0f} matches/s   {times}")


def weng_lin() -> None:
    whole, library = history(MATCHES, seed=2), peer("openskill")
    print(f"Weng-Lin {SIZE}v{SIZE}, replay end to end, median of {RUNS} runs   (target 5,000,000)")
    for name, model, neighbours in WENG_LIN:
        params = {"model": model, "neighbours": neighbours}
        system = create("weng_lin", **params)
        bulk = MATCHES / timed(lambda run=system: replay(run, whole), RUNS)
        line = f"  {name:<24} {bulk:12,.0f} matches/s"
        if library is not None:
            ratings: list[Any] = []
            pace = PEER_MATCHES / timed(lambda peer=name, to=ratings: to.extend(rate_with_openskill(peer, whole)), 1)
            few, ours = head(whole, PEER_MATCHES), create("weng_lin", **params)
            replay(ours, few)
            rest = max(abs(ours.skill(who) - rating.mu) for who, rating in zip(few.players, ratings, strict=True))
            line += f"   openskill {pace:6,.0f}   (we: {bulk / pace:,.0f} times; no mean is {rest:.0e} apart)"
        print(line, flush=True)


def through_time() -> None:
    system, duels = TrueSkillThroughTime.create(mu=0, sigma=6, beta=1, gamma=0.03, draw_probability=0.0), duels_of()
    print(f"TrueSkill Through Time, {DUELS:,} games 1v1 of {DUELLISTS} players at {STEPS} times")
    settled = Smoother(system.constants, TOLERANCE)
    settled.append(duels)
    convergence = settled.run(1000)
    seconds = timed(lambda: settle(system, duels), RUNS)
    print(f"  settled to {TOLERANCE:g} from arrays   {seconds:8.3f} s, {convergence.iterations} sweeps   (target 1)")
    print(f"  farthest from the fixed point  {farthest(system, settled, duels):8.1e}")
    one = History.of([Match(((duels.players[0],), (duels.players[1],)), (0, 1), started_at=STEPS * DAY)])
    settled.append(one)
    before = process_time()
    more = settled.run(1000)
    print(f"  one match appended             {process_time() - before:8.4f} s, {more.iterations} sweeps")
    library = peer("trueskillthroughtime")
    if library is not None:
        print(f"  trueskillthroughtime           {sweep_of(library, duels):8.3f} s a sweep; to settle takes hundreds")


def rate_live(system: TrueSkill) -> None:
    names = list(system.players)
    for number in range(LIVE_ROUNDS):
        first = number % (PLAYERS - 2 * SIZE)
        teams = tuple(names[first : first + SIZE]), tuple(names[first + SIZE : first + 2 * SIZE])
        system.rate(Match(teams, (number % 2, 1 - number % 2)))


def free_for_alls() -> History:
    rng = np.random.default_rng(4)
    return History(
        players=tuple(PlayerId(str(number)) for number in range(100)),
        matches=8 * np.arange(FREE_FOR_ALLS + 1),
        teams=np.arange(8 * FREE_FOR_ALLS + 1),
        members=np.concatenate([rng.permutation(100)[:8] for _ in range(FREE_FOR_ALLS)]).astype(np.int32),
        ranks=np.concatenate([rng.permutation(8) for _ in range(FREE_FOR_ALLS)]).astype(np.int32),
        started_at=np.full(FREE_FOR_ALLS, np.nan),
    )


def duels_of() -> History:
    rng = np.random.default_rng(5)
    skill = rng.normal(0, 1.5, DUELLISTS)
    pairs = np.array([rng.choice(DUELLISTS, 2, replace=False) for _ in range(DUELS)])
    performance = skill[pairs] + rng.normal(size=pairs.shape)
    return History(
        players=tuple(PlayerId(str(number)) for number in range(DUELLISTS)),
        matches=2 * np.arange(DUELS + 1),
        teams=np.arange(2 * DUELS + 1),
        members=pairs.astype(np.int32).ravel(),
        ranks=(performance < performance[:, ::-1]).astype(np.int32).ravel(),
        started_at=np.repeat(DAY * np.arange(STEPS), DUELS // STEPS),
    )


def settle(system: TrueSkillThroughTime, duels: History) -> None:
    smoother = Smoother(system.constants, TOLERANCE)
    smoother.append(duels)
    assert smoother.run(1000).converged


def farthest(system: TrueSkillThroughTime, settled: Smoother, duels: History) -> float:
    """How far any skill at any match is from where far more sweeps end."""
    exact = Smoother(system.constants, 1e-12)
    exact.append(duels)
    assert exact.run(100_000).converged
    curves = ((settled.curve(player).means, exact.curve(player).means) for player in duels.players)
    return max(float(abs(found - true).max()) for found, true in curves)


def rows(whole: History) -> zip[tuple[Any, Any]]:
    members = whole.members[: 2 * SIZE * PEER_MATCHES].reshape(-1, 2, SIZE).tolist()
    return zip(members, whole.ranks[: 2 * PEER_MATCHES].reshape(-1, 2).tolist(), strict=True)


def rate_with_trueskill(trueskill: ModuleType, whole: History) -> None:
    environment = trueskill.TrueSkill(draw_probability=0.1)
    ratings = [environment.create_rating() for _ in range(PLAYERS)]
    for teams, ranks in rows(whole):
        rated = environment.rate([tuple(ratings[player] for player in team) for team in teams], ranks=ranks)
        for team, after in zip(teams, rated, strict=True):
            for player, rating in zip(team, after, strict=True):
                ratings[player] = rating


def rate_with_openskill(name: str, whole: History) -> list[Any]:
    model = getattr(importlib.import_module("openskill.models"), name)()
    ratings = [model.rating() for _ in range(PLAYERS)]
    for teams, ranks in rows(whole):
        rated = model.rate([[ratings[player] for player in team] for team in teams], ranks=ranks)
        for team, after in zip(teams, rated, strict=True):
            for player, rating in zip(team, after, strict=True):
                ratings[player] = rating
    return ratings


def sweep_of(trueskillthroughtime: ModuleType, duels: History) -> float:
    """CPU seconds of one sweep of the library, forward and backward; building its history is not counted."""
    winners = duels.ranks.reshape(-1, 2).argmin(axis=1)
    games = [[[str(a)], [str(b)]] for a, b in duels.members.reshape(-1, 2).tolist()]
    results = [[1, 0] if winner == 0 else [0, 1] for winner in winners.tolist()]
    times = (duels.started_at / DAY).astype(int).tolist()
    past = trueskillthroughtime.History(games, results, times, mu=0.0, sigma=6.0, beta=1.0, gamma=0.03)
    return timed(lambda: past.convergence(iterations=1, verbose=False), runs=1)
