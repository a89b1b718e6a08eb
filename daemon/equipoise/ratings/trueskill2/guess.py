"""Where an estimate of TrueSkill 2's parameters starts, and which of them a history can say anything about.

Needs numpy. What is off, as everything that was not published, would stay off: it starts from a guess by the history.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.ratings.history import Floats, History
from equipoise.ratings.trueskill2.formulas import PER_MINUTE
from equipoise.ratings.trueskill2.params import SQUADS, TrueSkill2Params

LEAST = 1e-6
"""A variance of 0 is off; this is where it starts."""
OWN, OPPONENT = 1.5, -0.5
"""Parts of the mean rate of kills that a player's own performance and the opponents' start with; of deaths reversed."""


def guess(params: TrueSkill2Params, history: History) -> tuple[TrueSkill2Params, tuple[str, ...]]:
    """The parameters to start from, and the names of those that the history says something about.

    Parameters that are on already start where they are. Experience offsets are left alone: single ones are estimated
    badly.
    """
    found = replace(params, initial_variance=params.initial_variance or 1.0, gamma2=params.gamma2 or LEAST)
    names = ["initial", "initial_variance", "gamma2"]
    if np.diff(np.nan_to_num(history.started_at)).any():
        found, names = replace(found, tau2=found.tau2 or LEAST * LEAST), [*names, "tau2"]
    if (history.ranks[0::2] == history.ranks[1::2]).any():
        found, names = replace(found, margin=found.margin or 1e-3), [*names, "margin"]
    for kind, counts, parts in (
        ("kill", history.kills, (OWN, OPPONENT)),
        ("death", history.deaths, (OPPONENT, OWN)),
    ):
        if (rate := _rate(history, counts)) is not None:
            found = _with_counts(found, kind, *rate, parts)
            names += [f"{kind}_own", f"{kind}_opponent", f"{kind}_variance"]
    if history.quit is not None and history.quit.any():
        found = _with_quits(found, float(history.quit.mean()))
        names += ["quit_margin", "quit_unrelated", "quit_related"]
    if (largest := int(history.squad_sizes.max(initial=1))) > 1:
        known, wanted = params.squad_offset, min(largest, SQUADS) - 1
        last = known[-1] if known else 0.0
        found = replace(found, squad_offset=(*known, *[last] * (wanted - len(known))))
        names.append("squad_offset")
    return found, tuple(names)


def _rate(history: History, counts: Floats | None) -> tuple[float, float] | None:
    """Mean per minute played, and the variance around it per minute; None where nothing was counted."""
    if counts is None or history.seconds is None:
        return None
    match = np.repeat(np.arange(len(history)), np.diff(history.teams[::2]))
    minutes = history.seconds[match] / PER_MINUTE
    if history.fraction_played is not None:
        minutes = minutes * np.nan_to_num(history.fraction_played, nan=1.0)
    known = (minutes > 0) & np.isfinite(counts)
    if not (counts[known] > 0).any():
        return None
    mean = float(counts[known].sum() / minutes[known].sum())
    variance = float(np.mean((counts[known] - mean * minutes[known]) ** 2 / minutes[known]))
    return mean, max(variance, LEAST)


def _with_counts(
    params: TrueSkill2Params, kind: str, mean: float, variance: float, parts: tuple[float, float]
) -> TrueSkill2Params:
    if getattr(params, f"{kind}_own") or getattr(params, f"{kind}_opponent"):
        return params
    skill = max(params.initial, 1.0)
    own, opponent = (part * mean / skill for part in parts)
    values: dict[str, Any] = {f"{kind}_own": own, f"{kind}_opponent": opponent, f"{kind}_variance": variance}
    return replace(params, **values)


def _with_quits(params: TrueSkill2Params, share: float) -> TrueSkill2Params:
    if params.quit_related:
        return params
    unrelated, related = min(max(share / 2, 1e-3), 0.5), min(max(2 * share, 1e-2), 0.5)
    return replace(params, quit_margin=-0.5, quit_unrelated=unrelated, quit_related=related)
