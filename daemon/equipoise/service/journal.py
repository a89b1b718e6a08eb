"""What a host writes down behind its replies: session memory, decisions, orders in the game and names. Never
rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from equipoise.core.commands import AUDITED, LOOK_UPS, quoted
from equipoise.core.effects import DecisionKind, LogDecision
from equipoise.core.events import Commanded
from equipoise.core.model import PlayerId, ServerId, Split
from equipoise.store.notes import Audit, Decision, Name, Note, SessionMemory
from equipoise.store.port import Clock, Store


class Journal:
    """Collects one server's notes while a batch is in work, and then hands them to the store."""

    def __init__(self, server: ServerId, store: Store, clock: Clock) -> None:
        self._server = server
        self._store = store
        self._clock = clock
        self._notes: list[Note] = []

    def remember(self, memory: bytes) -> None:
        """Note the session's memory as of now; only the newest is written."""
        self._notes.append(SessionMemory(self._server, memory, self._clock.epoch()))

    def decide(self, effect: LogDecision) -> None:
        """Note a line of the decision log, with its detail as plain data."""
        self._notes.append(
            Decision(
                self._server,
                self._clock.epoch(),
                effect.kind,
                effect.reason.english,
                effect.order,
                _detail(effect),
            )
        )

    def note(self, kind: DecisionKind, reason: str) -> None:
        """Note a line of the decision log that no session decided."""
        self._notes.append(Decision(self._server, self._clock.epoch(), kind, reason))

    def ordered(self, command: Commanded, who: str) -> None:
        """Note in the audit what an admin ordered in the game. `set` and `reset` bring their own line, with ratings."""
        if command.admin and command.words[0] in AUDITED - LOOK_UPS:
            by, words = claimant(command, who), quoted(command)
            self._notes.append(Audit(self._clock.epoch(), by, "command", self._server, "", words))

    def names(self, pool: str, names: Mapping[PlayerId, str]) -> None:
        """Note players' current names; only the newest of each is written."""
        self._notes += (Name(pool, player, name) for player, name in names.items())

    async def flush(self) -> None:
        """Hand everything to the store, whose reads are complete from now on."""
        notes, self._notes = self._notes, []
        if notes:
            self._store.note(notes)


def claimant(command: Commanded, who: str) -> str:
    """Who gave a command, as the audit names them: the script or token first, because a player is only its claim."""
    return who if command.by is None else f"{who} player:{command.by}"


def _detail(effect: LogDecision) -> dict[str, object] | None:
    detail: dict[str, object] = {}
    if effect.split is not None:
        detail["split"] = _plain(effect.split)
    if effect.players or effect.split is not None:
        detail["players"] = list(effect.players)
    if effect.side is not None:
        detail["side"] = effect.side.value
    if effect.after is not None:
        before, after = effect.before, effect.after
        detail |= {"before": before.chance if before else None, "after": after.chance}
        detail |= {"before_outlook": before and asdict(before), "after_outlook": asdict(after)}
    if effect.cause is not None:
        detail["cause"] = effect.cause.english
    if effect.spread is not None:
        detail["spread"] = [round(each, 1) for each in effect.spread]
    return detail or None


def _plain(split: Split) -> dict[str, list[PlayerId]]:
    return {"a": list(split.a), "b": list(split.b), "bench": list(split.bench)}
