"""Histories drawn from NS2's model: hidden skills, side offsets, commanders, maps, and who wins by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.history import Floats, History, Spans
from equipoise.ratings.ns2.system import NS2Params
from tests.ratings.ns2.samples import SIDES
from tests.ratings.samples import people

MAPS = ("ns2_summit", "ns2_veil", "ns2_tram", "ns2_docking")


@dataclass(frozen=True, slots=True)
class World:
    """The true skills and advantages, in log-odds."""

    skill: Floats
    offset: Floats
    commander: Floats
    maps: Floats
    """F of marines on each map."""
    share: float = 0.0
    """The part of a commander's skill that is field skill."""

    @classmethod
    def drawn(cls, rng: np.random.Generator, players: int, params: NS2Params) -> World:
        """Draw a world from the priors; offsets have mean 0, because F holds their mean."""
        offset = rng.normal(0.0, params.offset_deviation, players)
        return cls(
            skill=rng.gamma(params.shape, params.scale, players),
            offset=offset - offset.mean(),
            commander=rng.gamma(params.shape, params.scale, players),
            maps=np.array([-0.5, 0.1, 0.4, 0.9]),
        )


def simulated(
    rng: np.random.Generator,
    world: World,
    matches: int,
    size: int,
    seconds: float = 1200.0,
    keenness: Floats | None = None,
) -> History:
    """`size` a side, the first of each commanding; one in five joins late, one in five leaves early.

    `keenness`: who is likely to command, as weights of the players; None: all alike.
    """
    players, places = len(world.skill), (matches, 2 * size)
    who = _drawn(rng, players, matches, 2 * size)
    for row in who if keenness is not None else ():
        for team in (row[:size], row[size:]):
            weights = keenness[team]
            keen = rng.choice(size, p=weights / weights.sum())
            team[[0, keen]] = team[[keen, 0]]
    start = np.where(rng.random(places) < 0.2, rng.uniform(0.0, 0.5, places), 0.0) * seconds
    end = np.where(rng.random(places) < 0.2, rng.uniform(0.5, 1.0, places), 1.0) * seconds
    sign, maps = rng.choice([1.0, -1.0], matches), rng.integers(0, len(MAPS), matches)
    commands = np.tile(np.arange(2 * size) % size == 0, (matches, 1))
    log_odds = _log_odds(world, who, start / seconds, end / seconds, sign, commands) + sign * world.maps[maps]
    lost = (rng.random(matches) > 1.0 / (1.0 + np.exp(-log_odds))).astype(np.int32)
    return History(
        players=tuple(people(players)),
        matches=2 * np.arange(matches + 1),
        teams=size * np.arange(2 * matches + 1),
        members=who.astype(np.int32).ravel(),
        ranks=np.stack((lost, 1 - lost), axis=1).ravel(),
        started_at=np.arange(matches) * 1800.0,
        seconds=np.full(matches, seconds),
        spans=Spans(
            starts=np.arange(who.size + 1),
            team=np.tile(np.repeat(np.array([0, 1], np.int32), size), matches),
            start=start.ravel(),
            end=end.ravel(),
            commander=commands.ravel(),
        ),
        side=np.where(sign[:, None] > 0, [0, 1], [1, 0]).astype(np.int32).ravel(),
        sides=SIDES,
        map=maps.astype(np.int32),
        maps=MAPS,
    )


def _drawn(rng: np.random.Generator, players: int, matches: int, places: int) -> NDArray[np.int64]:
    """Rows of players without repeats, all alike probable: those with repeats are drawn again."""
    rows = np.zeros((matches, places), np.int64)
    again = np.arange(matches)
    while len(again):
        rows[again] = rng.integers(0, players, (len(again), places))
        ordered = np.sort(rows[again], axis=1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
    return rows


def _log_odds(
    world: World, who: NDArray[np.int64], start: Floats, end: Floats, sign: Floats, commands: NDArray[np.bool_]
) -> Floats:
    """Log-odds without F.  `start` and `end` are in rounds; all rounds have one length, so a is 4 per round."""
    t = 4.0**-start - 4.0**-end
    field, chair = np.where(commands, 0.0, t), np.where(commands, t, 0.0)
    team = np.repeat([1.0, -1.0], who.shape[1] // 2)
    skill = world.skill[who] + sign[:, None] * team * world.offset[who]
    commanding = (1.0 - world.share) * world.commander[who] + world.share * skill
    duel = (team * chair * commanding).sum(axis=1) / chair.sum(axis=1)
    total: Floats = (team * field * skill).sum(axis=1) / field.sum(axis=1) + duel
    return total
