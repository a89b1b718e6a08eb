"""Replays a history by TeamSkill's kernel: converts players and groups to arrays and back; needs numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, pairwise
from math import comb
from typing import Any, Final

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import replays
from equipoise.ratings.elo.formulas import MatchTerms
from equipoise.ratings.elo.system import Elo
from equipoise.ratings.glicko.formulas import GlickoPlayer
from equipoise.ratings.glicko.system import Glicko
from equipoise.ratings.history import Floats, History, Numbers, Offsets, Replayed
from equipoise.ratings.parts.match_arrays import BOT, Lineup, MatchArrays
from equipoise.ratings.parts.points import Record
from equipoise.ratings.parts.record_arrays import dtype_of, refuse_other_than_pairs, to_records, write_back
from equipoise.ratings.teamskill import formulas as kernel
from equipoise.ratings.teamskill.group_index import (
    AND,
    FREE,
    MOST_GROUPS,
    NO_GROUP,
    Choices,
    Numbering,
    Units,
    choices_of,
)
from equipoise.ratings.teamskill.groups import escaped, members_of
from equipoise.ratings.teamskill.system import TeamSkill
from equipoise.ratings.trueskill.formulas import GaussianAnswers, GaussianSkill

NOTHING: Final[Floats] = np.empty(0)


@dataclass(frozen=True, slots=True)
class _Base:
    """How a base's records become arrays, and what it reads of matches besides `MatchArrays`."""

    row: np.dtype[np.void]
    terms: Callable[..., MatchTerms]
    """Called with the system for players and a history; raises `RatingError` for one that the base cannot read."""


def replay(system: TeamSkill[Any], history: History) -> Replayed:
    """Rate a history by the compiled kernel; memory grows with the number of groups, not of matches."""
    if not len(history):
        return Replayed(np.empty(0), np.empty(0), np.empty(0))
    base = _BASES[system.params.base]
    terms = base.terms(system.learners[1], history)
    plan, rule = plan_of(system, history)
    records = _Records(system, base, history.players)
    arrays = _arrays_of(history, records.places)
    wins, draws, after = np.empty(len(history.ranks)), np.zeros(len(history)), np.empty(len(history.members))
    sizes_of = history.teams, history.predicted_lineup[0]
    units, lineup = (_units(history.matches, sizes, rule.choices) for sizes in sizes_of)
    sides, spare = replays.allocate_sides(history.matches), _spare(history.matches, units)
    done, run = 0, _compiled(type(records.constants))  # type: ignore[arg-type]  # mypy takes no type for hashable
    while done < len(history):
        records.allocate(int(plan.new[done]))
        groups = rule, records.numbering, units, lineup
        answers = GaussianAnswers(wins, draws, after)
        work = kernel.Work(arrays, terms, plan, *groups, records.records, sides, spare, answers)
        done = run(done, work, records.constants)
    records.write_back()
    return Replayed(wins, draws, after)


@cache
def _compiled(base: type) -> kernel.Replay:
    return kernel.build(base)


class _Records:
    """The number and the record of every player and every group."""

    def __init__(self, system: TeamSkill[Any], base: _Base, players: Sequence[PlayerId]) -> None:
        self.system = system
        # In the order of ids, so that numbers sort as the ids of a live system do: groups have the same members in the
        # same order.
        self.names = sorted(players)
        order = {player: number for number, player in enumerate(self.names)}
        self.places = np.array([order[player] for player in players], np.int32)
        self.constants: object = system.learners[1].constants  # type: ignore[attr-defined]
        self.newcomer = to_records(system.learners[1], [PlayerId("")], base.row)
        without, last, ids = _held_groups(system, order)
        count = len(self.names) + len(without)
        self.numbering = Numbering(
            players=len(self.names),
            counts=np.array([count, len(self.names)]),
            without=np.array([NO_GROUP] * len(self.names) + without, np.int32),
            last=np.array([NO_GROUP] * len(self.names) + last, np.int32),
            keys=np.empty(0, np.int64),
            numbers=np.empty(0, np.int32),
        )
        self.records = np.repeat(self.newcomer, count).view(np.recarray)
        self.records[: len(self.names)] = to_records(system.learners[1], self.names, base.row)
        for size, units in ids.items():
            self.records[list(units.values())] = to_records(system.learner(size), list(units), base.row)

    def allocate(self, more: int) -> None:
        """Allocate room for `more` groups, and at least double the room."""
        count = int(self.numbering.counts[0])
        room = max(2 * count, count + more, 1024)
        extra = room - count
        blank = np.full(extra, NO_GROUP, np.int32)
        # At most half full: probes stay short.
        slots = 1 << (2 * room - 1).bit_length()
        # The new table is empty: `enter_keys` enters all groups again.
        self.numbering.counts[1] = self.numbering.players
        self.numbering = self.numbering._replace(
            without=np.concatenate([self.numbering.without[:count], blank]),
            last=np.concatenate([self.numbering.last[:count], blank]),
            keys=np.full(slots, FREE, np.int64),
            numbers=np.empty(slots, np.int32),
        )
        self.records = np.concatenate([self.records[:count], np.repeat(self.newcomer, extra)]).view(np.recarray)

    def write_back(self) -> None:
        """Store the records of players and groups that played in the learners of their sizes."""
        players, (strangers_from, _), without, last, *_ = self.numbering
        names = [PlayerId(escaped(player)) for player in self.names]
        for group, member in zip(
            without[players:strangers_from].tolist(), last[players:strangers_from].tolist(), strict=True
        ):
            names.append(PlayerId(f"{names[group]}{AND}{names[member]}"))
        names[:players] = self.names
        rated_rows, sizes, deeper = (
            self.records["rounds"][:strangers_from] > 0,
            np.ones(strangers_from, np.int64),
            np.arange(players, strangers_from),
        )
        # A group is one larger than the group without its last member, so sizes become known level by level.
        for size in count(1):
            sizes[deeper] = size + 1
            numbers = np.flatnonzero(rated_rows & (sizes == size))
            units = [names[number] for number in numbers.tolist()]
            write_back(self.system.learner(size), units, self.records[numbers])
            if not len(deeper):
                break
            deeper = deeper[sizes[without[deeper]] > size]


def _held_groups(
    system: TeamSkill[Any], order: dict[PlayerId, int]
) -> tuple[list[int], list[int], dict[int, dict[PlayerId, int]]]:
    """Number the groups that the system holds of players in the history, and their leading subgroups."""
    numbers: dict[tuple[int, int], int] = {}
    groups: dict[int, dict[PlayerId, int]] = {}
    for size, learner in system.learners.items():
        for group in learner.players if size > 1 else ():
            members = [order.get(member, -1) for member in members_of(group)]
            if members[0] < 0 or any(lower >= upper for lower, upper in pairwise(members)):
                continue  # a member is not in the history, or the id is not in canonical form
            number = members[0]
            for member in members[1:]:
                # Leading subgroups get a number even if they never played: a group is found by them.
                number = numbers.setdefault((number, member), len(order) + len(numbers))
            groups.setdefault(size, {})[group] = number
    return [without for without, _ in numbers], [last for _, last in numbers], groups


def plan_of(system: TeamSkill[Any], history: History) -> tuple[kernel.Plan, kernel.Rule]:
    """The sizes of groups that each match needs, and which of them count."""
    teams, lineup, matches = np.diff(history.teams), np.diff(history.predicted_lineup[0]), history.matches[:-1]
    # Learning needs groups in every team; the limit on groups is about the largest team or lineup.
    least, most = np.minimum.reduceat(teams, matches), np.maximum.reduceat(np.maximum(teams, lineup), matches)
    sizes = np.arange(system.params.largest + 1)
    if system.rule == kernel.K:
        least = np.minimum(least, np.minimum.reduceat(lineup, matches))
        largest = np.clip(least, 1, system.params.largest)
        _refuse_too_many(most, largest)
        has_rating = (sizes == 1) | (sizes == largest[:, None])
    else:
        largest = np.minimum(most, system.params.largest)
        fit = np.array(
            [[comb(people, size) <= MOST_GROUPS for size in sizes] for people in range(most.max(initial=0) + 1)]
        )
        has_rating = (sizes == 1) | (sizes > 1) & (sizes <= least[:, None]) & fit[most]
    rows = choices_of(np.unique(np.concatenate([teams, lineup])).tolist(), system.params.largest)
    choices = Choices(*(np.array(column, np.int64) for column in rows))
    whole = history.lineup is None and history.lineup_members is None and history.skill_at_start is None
    more = np.cumsum(choices.rows * (sizes > 1), axis=1)
    # As if no group of two or more had played before.
    new = np.add.reduceat(more[teams, np.repeat(largest, np.diff(history.matches))], matches)
    cover = np.zeros((2, int(choices.rows.max())), np.bool_)
    rule = kernel.Rule(system.rule, system.params.reliable, choices, cover)
    return kernel.Plan(whole, largest, has_rating, new), rule


def _refuse_too_many(people: Offsets, sizes: Offsets) -> None:
    for most, size in np.unique(np.stack([people, sizes], axis=1)[sizes > 1], axis=0).tolist():
        if comb(most, size) > MOST_GROUPS:
            raise RatingError(f"{most} players make more than {MOST_GROUPS} groups of {size}")


def _arrays_of(history: History, places: Numbers) -> MatchArrays:
    """The arrays with players renumbered in order of their names, and unknown fractions filled with 1."""
    arrays, members = history.arrays(), places[history.members]
    starts, lineup_members, skills = history.predicted_lineup
    # A bot is -1, which indexes the last of the places: one more is put there for it.
    alike = lineup_members is history.members and starts is history.teams
    numbers = members if alike else np.append(places, np.int32(BOT))[lineup_members]
    return arrays._replace(
        members=members,
        lineup=Lineup(starts, numbers, NOTHING if np.isnan(skills).all() else skills),
        fraction_played=np.nan_to_num(np.asarray(arrays.fraction_played), nan=1.0),
    )


def _units(matches: Offsets, sides: Offsets, choices: Choices) -> Units:
    """Allocate room for the groups of the match with the most."""
    widest = choices.rows.max(axis=1)[np.diff(sides)]
    room, teams = int(np.add.reduceat(widest, matches[:-1]).max()), int(np.diff(matches).max())
    sizes = choices.rows.shape[1]
    return Units(np.zeros((sizes, teams + 1), np.int32), np.empty((sizes, room), np.int32), np.empty((sizes, room)))


def _spare(matches: Offsets, played: Units) -> kernel.Spare:
    most = int(np.diff(matches).max())
    return kernel.Spare(np.zeros(2, np.int32), np.empty(most), np.empty(1), np.empty(played.names.shape[1]))


def _elo_terms(system: Elo, history: History) -> MatchTerms:
    refuse_other_than_pairs(system.name, history)
    return replays.elo_terms(system, history)


def _glicko_terms(system: Glicko, history: History) -> MatchTerms:
    refuse_other_than_pairs(system.name, history)
    return NO_TERMS


NO_TERMS: Final = MatchTerms(NOTHING, NOTHING, NOTHING, np.empty(0, np.bool_))

_BASES: Final = {
    "elo": _Base(dtype_of(Record), _elo_terms),
    "glicko": _Base(dtype_of(GlickoPlayer), _glicko_terms),
    "trueskill": _Base(dtype_of(GaussianSkill), lambda system, history: NO_TERMS),
}
