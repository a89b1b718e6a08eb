"""The counts of the women's ranking, match by match, before Elo's kernel runs; needs numpy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.elo import replay as elo_replay
from equipoise.ratings.football import replay as football_replay
from equipoise.ratings.football.system import kind_of
from equipoise.ratings.history import UNKNOWN, Floats, History, Replayed

if TYPE_CHECKING:
    from equipoise.ratings.football.fifa_women import FifaWomen


def replay(system: FifaWomen, history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history by `run`; by default Elo's compiled kernel."""
    facts = football_replay.facts(system, history)._replace(weight=_counted(system, history))
    return elo_replay.replay_with(system, football_replay.as_they_stand(history), facts, run)


def _counted(system: FifaWomen, history: History) -> Floats:
    """Shape (m,): the importance of each match as it came, with all of them counted."""
    modes = [UNKNOWN] * len(history) if history.mode is None else history.mode.tolist()
    names = (*history.modes, "")
    teams = [history.players[number] for number in history.members.tolist()]
    weights = np.empty(len(history))
    for match, (mode, at) in enumerate(zip(modes, history.started_at.tolist(), strict=True)):
        kind, team, other = kind_of(names[mode]), teams[2 * match], teams[2 * match + 1]
        weights[match] = system.importance_of(kind, team, other)
        system.count(kind, team, other, None if math.isnan(at) else at)
    return weights
