"""The whole-history fit of a pool's stored rounds, and what comes while it runs.

A fit knows rounds alone. What admins changed is kept like this: of a player whom they made a newcomer, the rounds
before that are somebody else's; a player whose rating they set or imported keeps the rating that they have, which
went on from that one; a player without any of this, since it was struck, is a newcomer. All of them are written, also
those who keep their ratings: a replay has to find them here even if what made them is struck later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.model import PlayerId
from equipoise.errors import StoreError
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.system import Match, ranks_of
from equipoise.service.replayed import Replayed
from equipoise.store import past
from equipoise.store.past import Past
from equipoise.store.recalculation import (
    CalibrationFit,
    CalibrationFound,
    CalibrationRequest,
    CatchUpRequest,
    CaughtUp,
    Fitted,
    Outcome,
    RefitRequest,
    Shift,
    SpreadFound,
    SpreadRequest,
    written,
)
from equipoise.store.sequence import Edit, MatchEvent
from equipoise.workers import Job, Watch

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
        """The time when the last rated round of each player went live."""
        self._kept: set[PlayerId] = set()
        """Players who keep their ratings."""
        self._last = 0
        """The last event that was seen."""
        self._replayed: Replayed | None = None

    def fit(self) -> Fitted:
        """Estimate all ratings. StoreError: there is nothing to fit. MemoryError: the history is too long."""
        # Here: numpy is loaded in the process that fits, and in none that only imports this module.
        from equipoise.ratings.history import History, joined

        with past.opened(self._store, self._pool) as reader:
            made_by, self._last = reader.fingerprint(), reader.last
            if reader.pruned:
                raise StoreError(
                    f"pool {self._pool}: {reader.pruned:,} old rounds were deleted (retention.rounds_days): "
                    "a fit would begin with the rounds that are left"
                )
            # All edits first: a reset decides how the rounds before it are read.
            matches, parts = self._matches(reader, self._edits(reader)), []
            while some := list(islice(matches, AT_ONCE)):
                parts.append(History.of(some))
        if not parts:
            raise StoreError(f"pool {self._pool}: it has no rated rounds")
        system = ratings.create(made_by.system, **made_by.params)
        self._replayed = Replayed(system, made_by)
        history = joined(parts)
        fit = ratings.fit(system, history)
        for player, time in self._played.items():
            self._replayed.bring(player, replace(self._replayed.player(player), last_played=time))
        players = len(self._played.keys() - self._kept)
        return Fitted(len(history), players, fit.iterations, fit.converged)

    def catch_up(self, outcome: Path | None) -> CaughtUp:
        """Rate what came since, and write the new ratings to a file; None: only say what would change."""
        with past.opened(self._store, self._pool) as reader:
            rounds = 0
            for event in reader.events(self._last):
                match event:
                    case MatchEvent():
                        self._rate(reader, event)
                        rounds += 1
                    case Edit():
                        self._edit(reader, event)
            with written(outcome) as file:
                return self._end(reader, file, rounds)

    def _edits(self, reader: Past) -> Mapping[PlayerId, int]:
        """Fills `_kept`; returns the number of the edit that made a player a newcomer."""
        resets: dict[PlayerId, int] = {}
        for event in reader.edits():
            for entry in event.touched:
                if event.action == "reset":
                    resets[entry.id] = event.number
                    self._kept.discard(entry.id)
                elif event.action in KEEP:
                    self._kept.add(entry.id)
        return resets

    def _matches(self, reader: Past, resets: Mapping[PlayerId, int]) -> Iterator[Match]:
        for event in reader.rounds():
            match = match_of(replace(event.record, skill_at_start=None))
            if match is None:
                continue
            others = {
                player: PlayerId(f"{player} before {resets[player]}")
                for side in (*match.teams, *match.lineup)
                for player in side
                if event.number < resets.get(player, 0)
            }
            match = _renamed(match, others) if others else match
            for player in (player for team in match.teams for player in team):
                if player not in others.values():
                    self._played[player] = max(self._played.get(player, 0.0), event.record.round.started_at)
            yield match

    def _rate(self, reader: Past, event: MatchEvent) -> None:
        assert self._replayed is not None
        record = replace(event.record, skill_at_start=None)
        match = match_of(record)
        for player in self._replayed.system.needs(match) if match else ():
            self._bring(reader, player, event.number)
        for change in self._replayed.rate(record).changes:
            self._played[change.id] = record.round.started_at

    def _edit(self, reader: Past, event: Edit) -> None:
        assert self._replayed is not None
        if event.action not in ("set", "reset", "import"):
            # The fit has seen the round that was struck, or not the one that was put back.
            raise StoreError(f"pool {self._pool}: its past was changed meanwhile ({event.action})")
        for entry in event.touched:
            self._bring(reader, entry.id, event.number)
            self._played.setdefault(entry.id, 0.0)
            (self._kept.add if event.action in KEEP else self._kept.discard)(entry.id)
        self._replayed.edit(event)

    def _bring(self, reader: Past, player: PlayerId, number: int) -> None:
        """A player without rounds in the fit, as they were; what an earlier refit made of them counts no more."""
        assert self._replayed is not None
        if player not in self._replayed.system:
            self._replayed.bring(player, reader.as_of(player, number, 0) if player in self._kept else None)

    def _end(self, reader: Past, outcome: Outcome, rounds: int) -> CaughtUp:
        assert self._replayed is not None
        shifts: list[Shift] = []
        for player in sorted(self._played.keys() | reader.everybody()):
            old = reader.now(player)
            if old is None:
                raise StoreError(f"{player}: their rating is missing")
            # Their rating as it is: written all the same, because a later replay begins with this edit.
            if player in self._kept:
                outcome.player(old)
                continue
            row = self._replayed.player(player)
            outcome.player(row)
            shifts.append(Shift(player, old.rating, row.rating, old.rounds, row.rounds))
        shared_parts = self._replayed.shared()
        outcome.shared(shared_parts)
        shifts.sort(key=lambda shift: (-abs(shift.after - shift.before), shift.id))
        return CaughtUp(reader.last, rounds, len(shifts), dict(shared_parts), tuple(shifts[:SHOWN]))


def _renamed(match: Match, others: Mapping[PlayerId, PlayerId]) -> Match:
    def sides(players: tuple[tuple[PlayerId, ...], ...]) -> tuple[tuple[PlayerId, ...], ...]:
        return tuple(tuple(others.get(player, player) for player in side) for side in players)

    return replace(
        match,
        teams=sides(match.teams),
        lineup=sides(match.lineup),
        fraction_played={others.get(player, player): value for player, value in match.fraction_played.items()},
        spans={others.get(player, player): spans for player, spans in match.spans.items()},
        squads=sides(match.squads),
        counts={others.get(player, player): counts for player, counts in match.counts.items()},
        quits=frozenset(others.get(player, player) for player in match.quits),
    )


def refitting(_: Watch) -> tuple[object, Callable[[RefitRequest | CatchUpRequest], Fitted | CaughtUp]]:
    """Return the requests and the function of `Job.REFIT`: it fits a pool at the first one, and catches up then."""
    refit: Refit | None = None

    def answer(request: RefitRequest | CatchUpRequest) -> Fitted | CaughtUp:
        nonlocal refit
        try:
            match request:
                case RefitRequest(store, pool):
                    refit = Refit(Path(store), pool)
                    return refit.fit()
                case CatchUpRequest(outcome):
                    assert refit is not None
                    return refit.catch_up(None if outcome is None else Path(outcome))
        except MemoryError:
            most = (Job.REFIT.limits.data_bytes or 0) >> 20
            raise StoreError(f"the history is too long: the fit needs more than {most} MB") from None

    return RefitRequest | CatchUpRequest, answer


# What a pool learns from its rounds: the spread of skill by replays of all of them, and the calibration of what is said
# by the stored predictions.

MOST = 20_000
"""Rounds that are read, the last ones: some twenty replays of them take minutes where many people play."""
MOST_SCORED = 5_000
"""The same with own scores, which take ten times as long."""

Learnt = SpreadFound | CalibrationFound | None

SOMEBODY, SOMEBODY_ELSE = PlayerId("a"), PlayerId("b")
"""A calibration looks at predictions, sides and maps: who plays says nothing to it."""


def learning(_: Watch) -> tuple[object, Callable[[SpreadRequest | CalibrationRequest], Learnt]]:
    """Return the requests and the function of `Job.LEARNING`."""
    return SpreadRequest | CalibrationRequest, learn


def learn(request: SpreadRequest | CalibrationRequest) -> Learnt:
    """Fit one of the two; None: there are too few rounds, or nothing fits them."""
    try:
        with past.opened(Path(request.store), request.pool) as pool:
            match request:
                case SpreadRequest():
                    return _spread(pool, request.params)
                case CalibrationRequest():
                    return _calibration(pool, request.wanted)
    except MemoryError:
        raise StoreError(f"pool {request.pool}: its history is too long to learn from") from None


def _spread(reader: Past, given_params: Mapping[str, object]) -> SpreadFound | None:
    from equipoise.ratings.history import History
    from equipoise.ratings.joint.spread import LEAST, fit_spread

    bare = (replace(event.record, skill_at_start=None) for event in reader.rounds())
    matches = deque((match for record in bare if (match := match_of(record)) is not None), maxlen=MOST)
    params = ratings.create("joint", **given_params).params
    with_scores = params.scores and any(match.counts for match in matches)
    history = History.of(list(matches)[-MOST_SCORED if with_scores else -MOST :])
    fit = fit_spread(params, history) if len(history) >= LEAST else None
    return None if fit is None else SpreadFound(len(history), params.spread, fit.spread, fit.error, fit.missing)


def _calibration(reader: Past, wanted: CalibrationFit) -> CalibrationFound | None:
    import numpy as np

    from equipoise.ratings.calibration_fit import LEAST, MOST, propose
    from equipoise.ratings.history import History

    rounds = reader.predictions(MOST, wanted.since, followed=wanted.followed)
    if len(rounds) < LEAST:
        return None
    teams = ((SOMEBODY,), (SOMEBODY_ELSE,))
    history = History.of(
        [Match(teams, ranks_of(sample.score), sides=sample.mode.sides, map=sample.map) for sample in rounds],
    )
    present = Calibration(wanted.temperature, wanted.sides, wanted.maps)
    chances, scores = (np.array([getattr(sample, name) for sample in rounds]) for name in ("predicted", "score"))
    proposal = propose(chances, history, scores, present)
    if proposal is None or proposal.gain.error is None or proposal.gain_on_present.error is None:
        return None
    return CalibrationFound(
        rounds=proposal.matches,
        temperature=proposal.calibration.temperature,
        sides=proposal.calibration.sides,
        maps=proposal.calibration.maps,
        gain=proposal.gain.value,
        error=proposal.gain.error,
        gain_on_present=proposal.gain_on_present.value,
        error_on_present=proposal.gain_on_present.error,
        better=proposal.is_better,
    )
