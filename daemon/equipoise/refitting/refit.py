"""The whole-history fit of a pool's stored rounds, and what comes while it runs.

A fit knows rounds alone. What admins changed is kept like this: of a player whom they made a newcomer, the rounds
before that are somebody else's; a player whose rating they set or imported keeps the rating that they have, which
went on from that one; a player without any of this, since it was struck, is a newcomer. All of them are written, also
those who keep their ratings: a replay has to find them here even if what made them is struck later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.model import PlayerId
from equipoise.errors import StoreError
from equipoise.ratings.system import Match
from equipoise.service.replayed import Replayed
from equipoise.store.sequence import Edit, NumberedRound, Shift
from equipoise.store.sqlite import past
from equipoise.store.sqlite.outcome import Outcome, written
from equipoise.store.sqlite.past import Past
from equipoise.store.upkeep import CaughtUp, Fitted

AT_ONCE = 1_000
"""Rounds in one part of the history."""
SHOWN = 10
"""Players shown whose rating changes most."""
KEEP = ("set", "import")


class Refit:
    """`fit` once, then `catch_up` once."""

    def __init__(self, store: Path, pool: str) -> None:
        self._store = store
        self._pool = pool
        self._played: dict[PlayerId, float] = {}
        """When the last rated round of each player went live."""
        self._kept: set[PlayerId] = set()
        """Players who keep their ratings."""
        self._last = 0
        """The last event that was seen."""
        self._replayed: Replayed | None = None

    def fit(self) -> Fitted:
        """Estimate all ratings. StoreError: there is nothing to fit. MemoryError: the history is too long."""
        from equipoise.ratings.history import History, joined

        with past.opened(self._store, self._pool) as found:
            recorded, self._last = found.fingerprint(), found.last
            if found.pruned:
                raise StoreError(
                    f"pool {self._pool}: {found.pruned:,} old rounds were deleted (retention.rounds_days): "
                    "a fit would begin with the rounds that are left"
                )
            matches, parts = self._matches(found, self._edits(found)), []
            while some := list(islice(matches, AT_ONCE)):
                parts.append(History.of(some))
        if not parts:
            raise StoreError(f"pool {self._pool}: it has no rated rounds")
        system = ratings.create(recorded.system, **recorded.params)
        self._replayed = Replayed(system, recorded)
        history = joined(parts)
        found_out = ratings.fit(system, history)
        for player, played in self._played.items():
            self._replayed.bring(player, replace(self._replayed.player(player), last_played=played))
        players = len(self._played.keys() - self._kept)
        return Fitted(len(history), players, found_out.iterations, found_out.converged)

    def catch_up(self, outcome: Path | None) -> CaughtUp:
        """Rate what came since, and write the new ratings to a file; None: only say what would change."""
        with past.opened(self._store, self._pool) as found:
            rounds = 0
            for event in found.events(self._last):
                match event:
                    case NumberedRound():
                        self._rate(found, event)
                        rounds += 1
                    case Edit():
                        self._edit(found, event)
            with written(outcome) as file:
                return self._end(found, file, rounds)

    def _edits(self, found: Past) -> Mapping[PlayerId, int]:
        """Fills `_kept`; returns the number of the edit that made a player a newcomer."""
        resets: dict[PlayerId, int] = {}
        for event in found.edits():
            for each in event.touched:
                if event.action == "reset":
                    resets[each.id] = event.number
                    self._kept.discard(each.id)
                elif event.action in KEEP:
                    self._kept.add(each.id)
        return resets

    def _matches(self, found: Past, resets: Mapping[PlayerId, int]) -> Iterator[Match]:
        for event in found.rounds():
            match = match_of(replace(event.record, skill_at_start=None))
            if match is None:
                continue
            others = {
                each: PlayerId(f"{each} before {resets[each]}")
                for side in (*match.teams, *match.lineup)
                for each in side
                if event.number < resets.get(each, 0)
            }
            match = _renamed(match, others) if others else match
            for each in (each for team in match.teams for each in team):
                if each not in others.values():
                    self._played[each] = max(self._played.get(each, 0.0), event.record.round.started_at)
            yield match

    def _rate(self, found: Past, event: NumberedRound) -> None:
        assert self._replayed is not None
        record = replace(event.record, skill_at_start=None)
        match = match_of(record)
        for player in self._replayed.system.needs(match) if match else ():
            self._bring(found, player, event.number)
        for change in self._replayed.rate(record).changes:
            self._played[change.id] = record.round.started_at

    def _edit(self, found: Past, event: Edit) -> None:
        assert self._replayed is not None
        if event.action not in ("set", "reset", "import"):
            raise StoreError(f"pool {self._pool}: its past was changed meanwhile ({event.action})")
        for each in event.touched:
            self._bring(found, each.id, event.number)
            self._played.setdefault(each.id, 0.0)
            (self._kept.add if event.action in KEEP else self._kept.discard)(each.id)
        self._replayed.edit(event)

    def _bring(self, found: Past, player: PlayerId, number: int) -> None:
        """A player without rounds in the fit, as they were; what an earlier refit made of them counts no more."""
        assert self._replayed is not None
        if player not in self._replayed.system:
            self._replayed.bring(player, found.as_of(player, number, 0) if player in self._kept else None)

    def _end(self, found: Past, outcome: Outcome, rounds: int) -> CaughtUp:
        assert self._replayed is not None
        shifts: list[Shift] = []
        for player in sorted(self._played.keys() | found.everybody()):
            old = found.now(player)
            if old is None:
                raise StoreError(f"{player}: their rating is missing")
            if player in self._kept:
                outcome.player(old)
                continue
            row = self._replayed.player(player)
            outcome.player(row)
            shifts.append(Shift(player, old.rating, row.rating, old.rounds, row.rounds))
        shared = self._replayed.shared()
        outcome.shared(shared)
        shifts.sort(key=lambda shift: (-abs(shift.after - shift.before), shift.id))
        return CaughtUp(found.last, rounds, len(shifts), dict(shared), tuple(shifts[:SHOWN]))


def _renamed(match: Match, others: Mapping[PlayerId, PlayerId]) -> Match:
    def sides(players: tuple[tuple[PlayerId, ...], ...]) -> tuple[tuple[PlayerId, ...], ...]:
        return tuple(tuple(others.get(each, each) for each in side) for side in players)

    return replace(
        match,
        teams=sides(match.teams),
        lineup=sides(match.lineup),
        fraction_played={others.get(each, each): value for each, value in match.fraction_played.items()},
        spans={others.get(each, each): spans for each, spans in match.spans.items()},
        squads=sides(match.squads),
        counts={others.get(each, each): counts for each, counts in match.counts.items()},
        quits=frozenset(others.get(each, each) for each in match.quits),
    )
