"""Histories as matches again, for systems whose units are not players; needs numpy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.ratings.base import Match, System
from equipoise.ratings.history import BOT, UNKNOWN, History, Numbers, Replayed


def replay(system: System[Any], history: History) -> Replayed:
    """Rate a history match by match."""
    rated = [system.rate(match) for match in matches_of(history)]
    return Replayed(
        wins=np.array([win for each in rated for win in each.prediction.wins], np.float64),
        draws=np.array([each.prediction.draw for each in rated], np.float64),
        after=np.array([change.after for each in rated for change in each.changes], np.float64),
    )


def matches_of(history: History) -> Iterator[Match]:
    """What TeamSkill's bases read of each match."""
    doors, seated, standing = history.lineup
    for number in range(len(history)):
        teams = range(history.matches[number], history.matches[number + 1])
        played = [slice(history.teams[team], history.teams[team + 1]) for team in teams]
        sat = [slice(doors[team], doors[team + 1]) for team in teams]
        lineup = tuple(_names(history, seated[seats], team) for team, seats in enumerate(sat))
        stood = [known for seats in sat for known in standing[seats].tolist()] if len(standing) else []
        yield Match(
            teams=tuple(_names(history, history.members[places], team) for team, places in enumerate(played)),
            ranks=tuple(history.ranks[teams.start : teams.stop].tolist()),
            doors=lineup,
            standing={
                player: known
                for player, known in zip((p for side in lineup for p in side), stood, strict=False)
                if not math.isnan(known)
            },
            started_at=_known(float(history.started_at[number])),
            share=_shares(history, slice(played[0].start, played[-1].stop)),
            points=_points(history, teams),
            sides=_sides(history, teams),
            weight=1.0 if history.weight is None else float(history.weight[number]),
        )


def _names(history: History, numbers: Numbers, team: int) -> tuple[PlayerId, ...]:
    return tuple(
        PlayerId(f"bot:{team}.{place}") if number == BOT else history.players[number]
        for place, number in enumerate(numbers.tolist())
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _shares(history: History, places: slice) -> dict[PlayerId, float]:
    if history.share is None:
        return {}
    who, share = _names(history, history.members[places], 0), history.share[places].tolist()
    return {player: part for player, part in zip(who, share, strict=True) if not math.isnan(part)}


def _points(history: History, teams: range) -> tuple[float, ...]:
    if history.points is None or np.isnan(points := history.points[teams.start : teams.stop]).any():
        return ()
    return tuple(points.tolist())


def _sides(history: History, teams: range) -> tuple[str, ...]:
    if history.side is None:
        return ()
    numbers = history.side[teams.start : teams.stop].tolist()
    return tuple("" if number == UNKNOWN else history.sides[number] for number in numbers)
