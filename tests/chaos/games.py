"""Rounds that could have been played: King of the Hill with bots, late joiners, leavers and players who change side."""

from __future__ import annotations

from random import Random
from typing import Any

MAP = "koth_harvest_final"
FACTS = {"game_type": 2, "koth": True}
EPOCH = 1700000000
"""November 2023: rounds began in the past by any clock that is right."""
PLAYERS = [str(76561198000000000 + number) for number in range(40)]


def a_round(rng: Random, name: str, session: str, number: int) -> dict[str, Any]:
    """A `round_ended`; about one in six is of a kind that is not rated."""
    size = rng.randint(1, 6)
    people = rng.sample(PLAYERS, 2 * size + 1)
    lineup = [
        {"id": bot(rng, player), "side": ("red", "blu")[place % 2]} for place, player in enumerate(people[: 2 * size])
    ]
    event: dict[str, Any] = {
        "kind": "round_ended",
        "round": name,
        "session": session,
        "map": MAP,
        "game": "tf2",
        "facts": FACTS,
        "started_at": EPOCH + 60.0 * number + rng.randint(0, 59),
        "seconds": round(rng.uniform(30, 900), 1),
        "winner": rng.choice(("red", "red", "blu", "blu", "none")),
        "captures": {"red": rng.randint(0, 3), "blu": rng.randint(0, 3)},
        "lineup": lineup,
        "players": [played(rng, seat) for seat in lineup if not seat["id"].startswith("bot:")],
    }
    if rng.random() < 0.3:  # came in the middle of the round
        event["players"].append(played(rng, {"id": people[-1], "side": rng.choice(("red", "blu"))}))
    if rng.random() < 0.06:
        event[rng.choice(("partial", "waiting"))] = True
    return event


def bot(rng: Random, player: str) -> str:
    """The player, or now and then a bot in their place."""
    return f"bot:{int(player[-3:]) + 2}" if rng.random() < 0.04 else player


def played(rng: Random, seat: dict[str, Any]) -> dict[str, Any]:
    """What a player did; some change side, some leave, some never fight."""
    there, here = round(rng.uniform(0, 300), 1), round(rng.uniform(0, 300), 1)
    seconds = {"red": 0.0, "blu": 0.0, seat["side"]: here}
    if rng.random() < 0.1:
        seconds = {"red": there, "blu": rng.choice((there, here))}
    return {**seat, "seconds": seconds, "fought": rng.random() < 0.9, "left": rng.random() < 0.05}


def hello(session: str) -> dict[str, Any]:
    """The script introduces itself in the middle of a round."""
    return {
        "kind": "hello",
        "plugin": "chaos",
        "game": "tf2",
        "map": MAP,
        "session": session,
        "slots": 24,
        "phase": "running",
        "facts": FACTS,
    }


def roster(rng: Random) -> dict[str, Any]:
    """Some players are here, on any side."""
    people = rng.sample(PLAYERS, 8)
    return {
        "kind": "roster",
        "players": [
            {"id": each, "side": ("red", "blu")[place % 2], "connected": 60} for place, each in enumerate(people)
        ],
    }
