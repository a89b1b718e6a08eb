"""What docs/rules.md says of a King of the Hill round: who is rated for it, on which side, or why it is not rated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SIDES = {"red": "a", "blu": "b"}
SCORE = {"red": 1.0, "none": 0.5, "blu": 0.0}
"""Of side `a`, by winner."""

Round = Mapping[str, Any]


def is_bot(player: str) -> bool:
    return player.startswith("bot:")


def lineup_of(event: Round) -> dict[str, list[str]]:
    """Everybody who was on a side when the round went live, bots too."""
    return {letter: [each["id"] for each in event["lineup"] if each["side"] == side] for side, letter in SIDES.items()}


def teams_of(event: Round) -> dict[str, list[str]]:
    """The participants: humans who fought, on the side that they were on longest, else on their last."""
    teams: dict[str, list[str]] = {"a": [], "b": []}
    for each in event["players"]:
        if each.get("fought") and not is_bot(each["id"]):
            red, blu = (each["seconds"][side] for side in SIDES)
            side = each["side"] if red == blu else "red" if red > blu else "blu"
            teams[SIDES[side]].append(each["id"])
    return teams


def is_rated(event: Round) -> bool:
    """Both sides had a human in the lineup and have a participant, and the script saw the whole round."""
    humans = all(not all(map(is_bot, players)) for players in lineup_of(event).values())
    return humans and all(teams_of(event).values()) and not event.get("partial") and not event.get("waiting")
