"""Adapters of TrueSkill 2 and TeamSkill."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from equipoise.core.model import PlayerId
from equipoise.ratings import fit
from equipoise.ratings.teamskill.group_index import AND
from equipoise.ratings.teamskill.groups import coefficient, groups_of
from equipoise.ratings.teamskill.system import TeamSkillAllKLS
from equipoise.ratings.trueskill2.system import TrueSkill2
from tests.ratings.samples import duel
from tests.ratings.vectors.forms import Facts, Form, by_form, each, named


def trueskill2(params: Facts, given: Facts) -> dict[str, Any]:
    """The published parameters; the paper's γ and τ are variances here (docs/ratings/trueskill2.md)."""
    p = TrueSkill2.create().params
    values = p.initial, p.initial_variance, p.gamma2, p.tau2, p.beta2, p.margin
    return dict(zip(("m0", "v0", "gamma", "tau_per_min", "beta", "eps"), values, strict=True))


def trueskill2_batch(params: Facts, given: Facts) -> dict[str, Any]:
    """The players of equal skill after rating duels one by one, and the order after a fit."""
    matches = [duel(winner, loser) for winner, loser in given["matches"]]
    online, batch = TrueSkill2.create(), TrueSkill2.create()
    for match in matches:
        online.rate(match)
    fit(batch, matches)
    by_skill = groupby(sorted(online.players, key=lambda player: (-online.skill(player), player)), online.skill)
    alike = [list(players) for _, players in by_skill]
    return {
        "online_equal": [players for players in alike if len(players) > 1],
        "batch_order": sorted(batch.players, key=batch.skill, reverse=True),
    }


def teamskill_k(params: Facts, given: Facts) -> dict[str, Any]:
    """The coefficient of the sum over all groups."""
    return {"coef_of_sum": each(lambda size: coefficient(named(params, given, "K"), size), given["k"])}


def teamskill_allk_ls(params: Facts, given: Facts) -> dict[str, Any]:
    """The groups that count, as the strength of the team depends on them, and the formula that they make."""
    system = TeamSkillAllKLS.create(largest=params["K"], reliable=1)
    for group in given["groups_with_history"]:
        system.learner(len(group)).seed(PlayerId(AND.join(sorted(group))), rounds=1)
    team = tuple(PlayerId(player) for player in given["team"])
    used: dict[int, list[str]] = {}
    for size in range(len(team), 0, -1):
        for group in groups_of(team, size):
            learner, before = system.learner(size), system.strength(team)
            if size == 1 or group in learner:
                learner.seed(group, rating=learner.summary(group).rating + 100.0)
            if system.strength(team) != before:
                used.setdefault(size, []).append(group.replace(AND, ""))
    means = [_mean([f"Skill({group})" for group in groups]) for groups in used.values()]
    formula = f"{params['K']}/({'+'.join(map(str, used))})*({'+'.join(means)})"
    return {"used": [group for groups in used.values() for group in groups], "formula": formula}


def _mean(skills: list[str]) -> str:
    return skills[0] if len(skills) == 1 else f"({'+'.join(skills)})/{len(skills)}"


ADAPTERS = {
    "trueskill2": by_form(Form("", "", trueskill2)),
    "trueskill2_batch": by_form(Form("matches", "", trueskill2_batch)),
    "teamskill_k": by_form(Form("k", "K", teamskill_k)),
    "teamskill_allk_ls": by_form(Form("team groups_with_history", "", teamskill_allk_ls)),
}
"""By model name."""
