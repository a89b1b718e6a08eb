"""A server for operators: its status, the results of commands, and scripts that call it in vain."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from equipoise.balancing import skills
from equipoise.core.events import Phase, SplitSolved
from equipoise.core.model import Mode, Outlook, PlayerId, ServerId, Side
from equipoise.core.phrases import Text
from equipoise.core.rules import Level
from equipoise.core.session import Session
from equipoise.errors import ScriptError
from equipoise.service.console import defused
from equipoise.service.log import Repeats
from equipoise.service.pool import Pool

log = logging.getLogger(__name__)


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
    present: Mapping[PlayerId, Side | None]
    """Where all of these players are now; None: they wait."""

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
            {entry.id: entry.side for entry in solved.ask.entries},
        )


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The result of an admin's command."""

    ok: bool
    lines: tuple[Text, ...]
    proposal: Proposal | None = None
    version: int = 0
    """Of the roster that it is about."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server at one moment."""

    server: ServerId
    pool: str
    lost: bool
    """The script has been silent for `silence_seconds`."""
    silent_seconds: float | None
    """None: the script was not heard since the daemon serves this server."""
    served_seconds: float
    """How long the daemon serves this server: since its start, or since the server was added."""
    plugin: str | None
    """The script's version."""
    enabled: bool
    """False while an admin has switched Equipoise off on this server."""
    inactive_reason: str
    """Why the script leaves the map alone, by the game's rules; empty when it does not."""
    unranked: str
    """NS2: why the game does not rank its rounds: `cheats`, `slots`, `spectators`, `mods`; empty: it does, or it is not
    known."""
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
    """The start of the script that is served, or was before the daemon's last start; 0: none was ever heard."""
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
        unranked: str,
        dropped_rounds: int,
        clock_ahead: float | None,
        served_seconds: float,
        boot: int,
        stale_scripts: tuple[StaleScript, ...],
        refused_batches: tuple[RefusedBatch, ...],
    ) -> ServerStatus:
        """Return a session's status at a time of our monotonic clock, with the skills that its pool has in memory."""
        state, memory = session.state, session.memory
        level = state.map_level
        on_a, on_b = ([entry.id for entry in state.roster.on(side)] for side in Side)
        return cls(
            server=server,
            pool=pool.name,
            lost=session.lost(now),
            silent_seconds=None if state.heard_at is None else now - state.heard_at,
            served_seconds=served_seconds,
            plugin=plugin,
            enabled=memory.enabled,
            inactive_reason=state.inactive_reason,
            unranked=unranked,
            level=level.level,
            level_reason=level.reason,
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


# Scripts that call a server in vain: superseded ones, and those whose batches are refused.

LEAST_SILENCE_SECONDS = 60.0
"""Twice the time after which a stale script calls again."""

REMEMBERED_SECONDS = 86400.0
"""How long a refusal is shown whose kind of event did not come again: a server that is played every evening sends all
kinds within a day."""
MOST_REFUSED = 8
"""Kinds of refusals of one server that are told apart."""
MOST_KINDS = 32
"""Kinds of events that are kept of one refusal: more than the protocol has, but a script may send any words."""
CUT = 200
"""Characters that are kept of a message, and of a path."""


@dataclass(frozen=True, slots=True)
class StaleScript:
    """A superseded script that calls."""

    boot: int
    """The number of its start, as in its batches."""
    since: float
    """When its first stale batch came; seconds since the epoch."""


@dataclass(slots=True)
class StaleScripts:
    """The superseded scripts of one server: as many as boots are remembered, others are not known to be superseded."""

    silence_seconds: float
    """A script that has been silent this long, and for `LEAST_SILENCE_SECONDS`, does not call any more."""
    _heard: dict[int, tuple[StaleScript, float]] = field(default_factory=dict)
    """By boot, with the time of the last batch."""

    def note(self, boot: int, now: float, epoch: float) -> bool:
        """Note a stale batch; True when its script was not known to call."""
        scripts = {script.boot: script for script in self.calling(now)}
        self._heard = {number: heard for number, heard in self._heard.items() if number in scripts}
        self._heard[boot] = scripts.get(boot, StaleScript(boot, epoch)), now
        return boot not in scripts

    def forget(self, boot: int) -> None:
        """The script is the server's own from now on."""
        self._heard.pop(boot, None)

    def calling(self, now: float) -> tuple[StaleScript, ...]:
        """Return those that were heard lately, the longest stale first."""
        longest = max(self.silence_seconds, LEAST_SILENCE_SECONDS)
        return tuple(script for script, at in self._heard.values() if now - at < longest)


@dataclass(frozen=True, slots=True)
class RefusedBatch:
    """Batches of a server's own script that were refused for one reason, and none like them was taken since."""

    code: str
    """The kind of refusal: a word of docs/protocol.md."""
    status: int
    """The HTTP status of the refusal."""
    path: str
    """Where the last one was wrong; empty: as a whole."""
    message: str
    """What was wrong there."""
    kinds: tuple[str, ...]
    """Kinds of events that may be at fault. It is over when all were taken; with none, when any batch was."""
    count: int
    """How many batches they are."""
    since: float
    """When the first one came, in seconds since the epoch."""
    last: float
    """When the last one came, in seconds since the epoch."""


class RefusedBatches:
    """The refused batches of one server.

    A script whose rounds are refused still has its heartbeats taken. So a refusal is over when the kinds of events that
    it concerned were taken, or when a script of another version says hello, as after an update. What is to be sent
    again as it was (503) is no refusal, and a script with the secret of another server is found by `web.refusals`.
    """

    def __init__(self, server: ServerId) -> None:
        self.server = server
        self.counted = Counter[str]()
        """All batches refused since the daemon started, by code."""
        self._now: dict[tuple[str, str], tuple[RefusedBatch, str | None]] = {}
        """By code and by path without numbers, with the version of the script."""
        self._repeats = Repeats(log, logging.WARNING)

    def close(self) -> None:
        """Write to the log what was counted."""
        self._repeats.close()

    def note(self, refusal: ScriptError, version: str | None, epoch: float) -> None:
        """Note that a batch was refused."""
        # The same batch comes again (503), or it was not this server's script (code `server`).
        if refusal.status == 503 or refusal.code == "server":
            return
        path, message = (defused(text)[:CUT] for text in (refusal.path or "", refusal.message))
        key = refusal.code, re.sub(r"\[\d+\]", "[]", path)
        # Out and in again: the first of the dict is the one that came longest ago, and goes first.
        before, _ = self._now.pop(key, (None, None))
        if before is not None and epoch - before.last >= REMEMBERED_SECONDS:
            before = None
        kinds = [*refusal.kinds, *(before.kinds if before else ())]
        self._now[key] = entry = (
            RefusedBatch(
                code=refusal.code,
                status=refusal.status,
                path=path,
                message=message,
                kinds=tuple(sorted(islice(dict.fromkeys(defused(kind)[:CUT] for kind in kinds), MOST_KINDS))),
                count=before.count + 1 if before else 1,
                since=before.since if before else epoch,
                last=epoch,
            ),
            version,
        )
        self.counted[refusal.code] += 1
        while len(self._now) > MOST_REFUSED:
            del self._now[next(iter(self._now))]
        self._repeats.log(key, "a batch of the script is refused", **self._named(entry[0]))

    def taken(self, kinds: Collection[str], version: str | None) -> None:
        """Note that a batch with these kinds of events was taken, from a script of this version."""
        for key, (batch, by) in tuple(self._now.items()):
            rest = tuple(kind for kind in batch.kinds if kind not in kinds)
            # A script of another version may not send that kind any
            # more, or sends it right: what the old one did is over.
            if rest and by in (None, version):
                self._now[key] = replace(batch, kinds=rest), by
            else:
                del self._now[key]
                log.info("batches like those that were refused are taken again", extra=self._named(batch))

    def current(self, epoch: float) -> tuple[RefusedBatch, ...]:
        """Return the refusals that are not over, the one that came last at the end."""
        return tuple(batch for batch, _ in self._now.values() if epoch - batch.last < REMEMBERED_SECONDS)

    def _named(self, batch: RefusedBatch) -> dict[str, object]:
        # Not the message: it may have a player's name.
        fields: dict[str, object] = {"server": self.server, "code": batch.code, "path": batch.path}
        return fields | {"kinds": ",".join(batch.kinds), "count": batch.count}
