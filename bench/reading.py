"""From CSV to measures: 500,000 duels by Elo, 665,000 places by TrueSkill, beside the libraries in use for it."""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from bench.measuring import peer
from equipoise.core.model import STEAM_ID_BASE
from equipoise.lab.backtest import backtest, divided
from equipoise.lab.models import Model
from equipoise.lab.reading import read_history
from equipoise.ratings.quality import assess

DUELS, DUELLISTS, DUELS_TARGET = 500_000, 5_000, 1.2
MATCHES, SIZE, PLAYERS, MATCHES_TARGET = 16_630, 20, 13_000, 0.7
RUNS = 3
MINUTE, DAY = 60, 86_400


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        duels, matches = write_duels(Path(directory), DUELS), write(Path(directory), MATCHES, SIZE, PLAYERS)
        print(f"from file to measures, best of {RUNS} runs, libraries loaded; processor seconds")
        print(f"{DUELS:,} duels, {duels.stat().st_size / 1e6:.0f} MB")
        show("Elo", lambda: measured("elo", duels, None), f"target {DUELS_TARGET}")
        if peer("riix") is not None and peer("pandas") is not None:
            show("riix Elo, with pandas", lambda: riix_of(duels))
        print(f"{2 * SIZE * MATCHES:,} places of players in {MATCHES:,} matches, gzip")
        show(
            "TrueSkill",
            lambda: measured("trueskill", *matches),
            f"target {MATCHES_TARGET}",
        )
        if peer("openskill") is not None:
            show("openskill Plackett-Luce", lambda: openskill_of(*matches), runs=1)


def show(name: str, work: Callable[[], float], target: str = "", runs: int = RUNS) -> None:
    """Print the least processor seconds of some runs, and the log loss as a witness that all do the same."""
    seconds = []
    if runs > 1:
        work()  # compiles, or loads what was compiled
    for _ in range(runs):
        begun = process_time()
        loss = work()
        seconds.append(process_time() - begun)
    print(f"  {name:24} {min(seconds):6.2f} s   log loss {loss:.4f}   {target}", flush=True)


def measured(name: str, matches: Path, participants: Path | None) -> float:
    """All that `lab backtest` measures."""
    history = read_history(matches, participants)
    done = backtest(Model(name), history)
    divided(done, history)
    return done.quality.log_loss.value


def riix_of(path: Path) -> float:
    """Each day is predicted, then learnt from."""
    pandas: Any = peer("pandas")
    from riix.models.elo import Elo

    table = pandas.read_csv(path)
    codes, names = pandas.factorize(np.concatenate((table["team1_name"], table["team2_name"])))
    pairs, outcomes = codes.reshape(2, -1).T, table["outcome"].to_numpy(np.float64)
    days = (table["time"].to_numpy() // DAY).astype(np.int64)
    edges = np.flatnonzero(np.diff(days, prepend=-1, append=days[-1] + 1))
    system, chances = Elo(competitors=list(names)), np.empty(len(table))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        chances[first:last] = system.predict(pairs[first:last], time_step=int(days[first]))
        system.update(pairs[first:last], outcomes[first:last], time_step=int(days[first]))
    return loss_of(chances, outcomes)


def openskill_of(matches: Path, participants: Path) -> float:
    """Each match is predicted, then learnt from."""
    from openskill.models import PlackettLuce

    model: Any = PlackettLuce()
    ratings: dict[str, Any] = {}
    teams: dict[str, list[list[str]]] = {}
    with gzip.open(participants, "rt") as file:
        for row in csv.DictReader(file):
            teams.setdefault(row["match_id"], [[], []])[int(row["team"]) - 1].append(row["player_id"])
    chances, outcomes = [], []
    with gzip.open(matches, "rt") as file:
        for row in csv.DictReader(file):
            names, outcome = teams[row["match_id"]], float(row["outcome"])
            sides = [[ratings.get(name) or model.rating() for name in side] for side in names]
            chances.append(model.predict_win(sides)[0])
            outcomes.append(outcome)
            for side, rated in zip(names, model.rate(sides, ranks=[1 - outcome, outcome]), strict=True):
                ratings.update(zip(side, rated, strict=True))
    return loss_of(np.array(chances), np.array(outcomes))


def loss_of(chances: Any, outcomes: Any) -> float:
    """Log loss of the last 80 %."""
    quality = assess(np.column_stack((chances, outcomes))[len(outcomes) // 5 :])
    assert quality is not None
    return quality.log_loss.value


def write_duels(directory: Path, count: int) -> Path:
    """Write duels between players of constant strength."""
    rng, path = np.random.default_rng(1), directory / "duels.csv"
    strength = rng.normal(size=DUELLISTS)
    first = rng.integers(0, DUELLISTS, count)
    second = (first + rng.integers(1, DUELLISTS, count)) % DUELLISTS
    won = rng.random(count) < 1 / (1 + np.exp(strength[second] - strength[first]))
    with path.open("w") as file:
        file.write("match_id,time,team1_name,team2_name,outcome\n")
        rows = zip(first.tolist(), second.tolist(), won.tolist(), strict=True)
        file.writelines(
            f"m{n},{1_600_000_000 + MINUTE * n},p{a},p{b},{int(one)}\n" for n, (a, b, one) in enumerate(rows)
        )
    return path


def write(directory: Path, count: int, size: int, players: int) -> tuple[Path, Path]:
    """Write `count` matches with values in most columns; the paths of the matches and of their participants."""
    rng = np.random.default_rng(1)
    strength = rng.normal(0, 1 / np.sqrt(size), players)
    matches, people = directory / "matches.csv.gz", directory / "participants.csv.gz"
    with gzip.open(matches, "wt") as file, gzip.open(people, "wt") as rows:
        file.write("match_id,time,mode,team1_name,team2_name,outcome,score1,score2,home,extra\n")
        rows.write("match_id,team,player_id,weight,kills,deaths,extra\n")
        for number in range(count):
            who = rng.choice(players, 2 * size, replace=False)
            gap = strength[who[:size]].sum() - strength[who[size:]].sum()
            won, place = int(rng.random() < 1 / (1 + np.exp(-gap))), rng.integers(0, 20)
            file.write(f"m{number},{1_600_000_000 + 600 * number},koth,,,{won},,,,map=map{place}\n")
            kills, deaths = rng.integers(0, 30, (2, 2 * size)).tolist()
            rows.writelines(
                f"m{number},{1 + (n >= size)},{STEAM_ID_BASE + id},1,{k},{d},\n"
                for n, (id, k, d) in enumerate(zip(who.tolist(), kills, deaths, strict=True))
            )
    return matches, people


if __name__ == "__main__":
    main()
