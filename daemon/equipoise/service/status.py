"""What operators are told of a server: how it stands, what came of a command, what one would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.core.events import Phase, SplitSolved
from equipoise.core.model import Mode, PlayerId, ServerId, Side
from equipoise.core.phrases import Text
from equipoise.core.session import Session


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a dry run would order."""

    split: dict[str, tuple[PlayerId, ...]]
    before: float | None
    after: float | None
    moves: tuple[tuple[PlayerId, Side | None], ...]

    @classmethod
    def of(cls, solved: SplitSolved) -> Proposal:
        """What a solved split would do."""
        split = solved.split
        moves = tuple(
            (entry.id, split.side_of(entry.id))
            for entry in solved.ask.entries
            if split.side_of(entry.id) is not entry.side
        )
        return cls({"a": split.a, "b": split.b, "bench": split.bench}, solved.before, solved.after, moves)


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What came of an admin's command."""

    ok: bool
    lines: tuple[Text, ...]
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server as an operator sees it."""

    server: ServerId
    pool: str
    lost: bool
    silent_seconds: float | None
    """None: nothing was ever heard."""
    plugin: str | None
    enabled: bool
    inactive_reason: str
    map: str
    mode: Mode
    phase: Phase
    round: int
    """Number of the running or next round of this map."""
    streak: int
    streak_side: Side | None
    pending: str | None
    players_a: int
    players_b: int
    waiting: int
    sum_a: float
    sum_b: float
    win_probability: float | None
    """Of side A as the sides stand; None while one is empty."""
    ring: int
    """Rounds of the pool that wait for the store."""
    dropped_rounds: int
    """Rounds that fell out of the script's own ring."""

    @classmethod
    def of(cls, session: Session, now: float, *, sums: Mapping[Side, float], **shown: Any) -> ServerStatus:
        """Of a session on the host's clock; `shown` is what the host knows besides."""
        state, memory = session.state, session.memory
        return cls(
            lost=session.lost(now),
            silent_seconds=None if state.heard_at is None else now - state.heard_at,
            enabled=memory.enabled,
            inactive_reason=state.inactive_reason,
            map=memory.map,
            mode=memory.mode,
            phase=state.phase,
            round=memory.tally.completed + (state.phase is not Phase.OVER),
            streak=memory.tally.streak,
            streak_side=memory.tally.streak_side,
            pending=memory.pending.english if memory.pending else None,
            players_a=len(state.roster.on(Side.A)),
            players_b=len(state.roster.on(Side.B)),
            waiting=sum(entry.side is None for entry in state.roster.eligible()),
            sum_a=sums[Side.A],
            sum_b=sums[Side.B],
            **shown,
        )
