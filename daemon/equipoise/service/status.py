"""What operators see of a server: its status, the result of a command, and what a dry run would do."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.balancing import skills
from equipoise.core.events import Phase, SplitSolved
from equipoise.core.model import Mode, Outlook, PlayerId, ServerId, Side
from equipoise.core.phrases import Text
from equipoise.core.rules import Level
from equipoise.core.session import Session
from equipoise.service.pool import Pool
from equipoise.service.unserved import RefusedBatch, StaleScript


@dataclass(frozen=True, slots=True)
class Proposal:
    """The split that a dry run of a scramble found, with the moves that it needs."""

    split: dict[str, tuple[PlayerId, ...]]
    before: Outlook | None
    after: Outlook | None
    """Of the sides, before and after; None where one side is empty."""
    spread_before: tuple[float, float] | None
    spread_after: tuple[float, float] | None
    """Standard deviations of the skills on A and on B, in points."""
    moves: tuple[tuple[PlayerId, Side | None], ...]
    """Players who would change place, and their new side; None: the bench."""

    @classmethod
    def of(cls, solved: SplitSolved) -> Proposal:
        """The proposal that a solved split makes."""
        split = solved.split
        moves = tuple(
            (entry.id, split.side_of(entry.id))
            for entry in solved.ask.entries
            if split.side_of(entry.id) is not entry.side
        )
        return cls(
            {"a": split.a, "b": split.b, "bench": split.bench},
            solved.before,
            solved.after,
            solved.spread_before,
            solved.spread_after,
            moves,
        )


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The result of an admin's command."""

    ok: bool
    lines: tuple[Text, ...]
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server at one moment."""

    server: ServerId
    pool: str
    lost: bool
    """The script has been silent for `silence_seconds`."""
    silent_seconds: float | None
    """None: the script was never heard."""
    plugin: str | None
    """The script's version."""
    enabled: bool
    """False while an admin has switched Equipoise off on this server."""
    inactive_reason: str
    """Why the script leaves the map alone, by the game's rules; empty when it does not."""
    level: Level
    """How far Equipoise goes on the map, by its name."""
    level_reason: str
    """The key of [maps] that matched the map; empty when none did."""
    map: str
    """The map that is played; empty before the script came."""
    mode: Mode
    """The mode, which decides when a scramble is due."""
    sides: tuple[str, str]
    """What the game calls sides A and B."""
    phase: Phase
    """The phase of the round."""
    round: int
    """Number of the running round of this map; between rounds, of the last one."""
    streak: int
    """Rounds in a row that one side has won."""
    streak_side: Side | None
    """The side that won them."""
    pending: str | None
    """Why a scramble is due; null when none is."""
    voices: int
    """Players who have asked for a vote on a scramble."""
    vote_running: bool
    """A vote is running."""
    players_a: int
    """How many play on side A."""
    players_b: int
    """How many play on side B."""
    waiting: int
    """How many wait for a side."""
    sum_a: float
    """Sum of the skills on side A."""
    sum_b: float
    """Sum of the skills on side B."""
    win_probability: float | None
    """Of side A; None while a side is empty."""
    outlook: Outlook | None
    """The same, and how sure it is."""
    balanced_by: str
    """The rating system that makes the teams now."""
    ring: int
    """Rounds of the pool that wait for the store."""
    dropped_rounds: int
    """Rounds that the script's own ring lost."""
    clock_ahead: float | None
    """Seconds by which the script's clock was ahead of the daemon's when its last round came; None: none came."""
    boot: int
    """The start of the script that is served; 0: none was heard."""
    stale_scripts: tuple[StaleScript, ...]
    """Others that call as this server."""
    refused_batches: tuple[RefusedBatch, ...]
    """Why batches of its script were refused, as far as none like them was taken since; the last one at the end."""

    @classmethod
    def of(
        cls,
        server: ServerId,
        session: Session,
        pool: Pool,
        now: float,
        *,
        outlook: Outlook | None,
        plugin: str | None,
        dropped_rounds: int,
        clock_ahead: float | None,
        boot: int,
        stale_scripts: tuple[StaleScript, ...],
        refused_batches: tuple[RefusedBatch, ...],
    ) -> ServerStatus:
        """Of a session at a time of the daemon's monotonic clock, with the skills that its pool has in memory."""
        state, memory = session.state, session.memory
        on_a, on_b = ([entry.id for entry in state.roster.on(side)] for side in Side)
        return cls(
            server=server,
            pool=pool.name,
            lost=session.lost(now),
            silent_seconds=None if state.heard_at is None else now - state.heard_at,
            plugin=plugin,
            enabled=memory.enabled,
            inactive_reason=state.inactive_reason,
            level=state.map_level.level,
            level_reason=state.map_level.reason,
            map=memory.map,
            mode=memory.mode,
            sides=memory.mode.sides,
            phase=state.phase,
            round=round_number(session),
            streak=memory.tally.streak,
            streak_side=memory.tally.streak_side,
            pending=memory.pending.english if memory.pending else None,
            voices=len(state.voices.lasting(now)),
            vote_running=state.voices.order is not None,
            players_a=len(on_a),
            players_b=len(on_b),
            waiting=sum(entry.side is None for entry in state.roster.eligible()),
            sum_a=sum(skills(pool.balancing, memory.context, Side.A, on_a)),
            sum_b=sum(skills(pool.balancing, memory.context, Side.B, on_b)),
            win_probability=outlook.chance if outlook else None,
            outlook=outlook,
            balanced_by=pool.balancing.name,
            ring=pool.ring_depth,
            dropped_rounds=dropped_rounds,
            clock_ahead=clock_ahead,
            boot=boot,
            stale_scripts=stale_scripts,
            refused_batches=refused_batches,
        )


def round_number(session: Session) -> int:
    """Number of the running round of this map, from 1; between rounds, of the last one that counted."""
    return max(1, session.memory.tally.completed + (session.state.phase is not Phase.OVER))
