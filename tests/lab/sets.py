"""Small sets of matches as files, and random ones from a known model."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

HEAD = "match_id,time,mode,team1_name,team2_name,outcome,score1,score2,home,extra"
PEOPLE = "match_id,team,player_id,weight,kills,deaths,extra"

MATCHES = (
    "m1,2024-05-01,cup,Reds,Blues,1,3,1,1,map=dust;seconds=600",
    "m2,2024-05-02T20:30,cup,Blues,Reds,0.5,2,2,0,map=dust",
    "m3,1714766400,,Reds,Blues,0,,,,",
)
PARTICIPANTS = (
    "m1,1,ann,1,10,2,squad=x",
    "m1,1,bob,0.5,3,4,squad=x",
    "m1,2,cid,,,,quit=1",
    "m2,1,cid,,,,",
    "m2,2,ann,,,,",
    "m3,1,ann,,,,",
    "m3,1,bob,,,,squad=x",
    "m3,2,cid,,,,",
    "m3,2,dan,,,,",
)


def write(
    directory: Path, matches: tuple[str, ...] = MATCHES, people: tuple[str, ...] = PARTICIPANTS
) -> tuple[Path, Path]:
    """Both files, with their heads."""
    files = directory / "set_matches.csv", directory / "set_participants.csv"
    for path, head, rows in zip(files, (HEAD, PEOPLE), (matches, people), strict=True):
        path.write_text("\n".join((head, *rows)) + "\n")
    return files


def chance(odds: float) -> float:
    """The probability of a win at these log-odds."""
    return 1 / (1 + math.exp(-odds))


def league(
    directory: Path, count: int, *, teams: int = 12, spread: float = 1.0, home: float = 0.4, seed: int = 5
) -> Path:
    """Matches of teams with constant strengths, log-odds; the first one is at home."""
    rng = Random(seed)
    strength = [rng.gauss(0, spread) for _ in range(teams)]
    rows = []
    for number in range(count):
        one, two = rng.sample(range(teams), 2)
        won = rng.random() < chance(strength[one] - strength[two] + home)
        rows.append(f"m{number},{86400 * number},,T{one},T{two},{int(won)},,,1,")
    path = directory / "league.csv"
    path.write_text("\n".join((HEAD, *rows)) + "\n")
    return path
