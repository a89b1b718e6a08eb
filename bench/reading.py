"""Reading a history of 12v12 matches from CSV: 1 M participants in 2 s."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from bench.measuring import peak_memory
from equipoise.core.model import STEAM_ID_BASE
from equipoise.lab.reading import read_history

PARTICIPANTS = 1_000_000
PLAYERS = 5000
SIZE = 12
TARGET = 2.0


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        files = write(Path(directory), PARTICIPANTS // (2 * SIZE))
        began = time.perf_counter()
        history = read_history(*files)
        seconds = time.perf_counter() - began
    print(f"reading {len(history.members):,} participants of {len(history):,} matches")
    print(f"  {seconds:.2f} s (target {TARGET:g}), peak {peak_memory():,.0f} MB")


def write(directory: Path, count: int) -> tuple[Path, Path]:
    """Write `count` matches with values in most columns; the paths of the matches and of their participants."""
    rng = np.random.default_rng(1)
    matches, people = directory / "matches.csv", directory / "participants.csv"
    with matches.open("w") as file:
        file.write("match_id,time,mode,team1_name,team2_name,outcome,score1,score2,home,extra\n")
        for number in range(count):
            won, place = rng.integers(0, 2), rng.integers(0, 20)
            file.write(f"m{number},{1_600_000_000 + 600 * number},koth,,,{won},,,,map=map{place}\n")
    with people.open("w") as file:
        file.write("match_id,team,player_id,weight,kills,deaths,extra\n")
        for number in range(count):
            ids = STEAM_ID_BASE + rng.choice(PLAYERS, 2 * SIZE, replace=False)
            kills, deaths = rng.integers(0, 30, (2, 2 * SIZE))
            rows = zip(ids, kills, deaths, strict=True)
            file.writelines(f"m{number},{1 + (n >= SIZE)},{id},1,{k},{d},\n" for n, (id, k, d) in enumerate(rows))
    return matches, people


if __name__ == "__main__":
    main()
