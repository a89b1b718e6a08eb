"""What operators are told of a server: how it stands, what came of a command, what one would do."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.core.events import Phase, SplitSolved
from equipoise.core.model import Mode, PlayerId, ServerId, Side
from equipoise.core.phrases import Text


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
            for entry in solved.ask.pool
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
    aside: str
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
