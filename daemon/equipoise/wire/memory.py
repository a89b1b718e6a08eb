"""A session's memory as bytes for the store, with the number of the last batch that went into it."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from equipoise.core.memory import Memory
from equipoise.core.phrases import Phrase

MOST_SUPERSEDED = 16
"""Superseded boots that are remembered: far more than can still have batches on their way."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a restarted daemon goes on from: a session's memory, and the number of the last batch in it."""

    memory: Memory = field(default_factory=Memory)
    boot: int = 0
    seq: int = 0
    """0: no batch was taken yet."""
    superseded: tuple[int, ...] = ()
    """Boots before this one, the latest last. Numbers of boots have no order: a script's clock may go back."""

    def after(self, boot: int, seq: int) -> Remembered:
        """The same memory with the next batch; another boot supersedes the present one.

        >>> Remembered().after(2035, 1).after(2026, 1).superseded
        (2035,)
        """
        superseded = self.superseded
        if boot != self.boot and self.seq:
            earlier = (*(each for each in superseded if each != boot), self.boot)
            superseded = earlier[-MOST_SUPERSEDED:]
        return Remembered(self.memory, boot, seq, superseded)


def encode_memory(remembered: Remembered) -> bytes:
    """JSON. Phrases are written by name, because their English text may change between versions."""
    plain = msgspec.to_builtins(remembered)
    if (pending := remembered.memory.pending) is not None:
        plain["memory"]["pending"]["phrase"] = pending.phrase.name
    return msgspec.json.encode(plain)


def decode_memory(data: bytes) -> Remembered | None:
    """None for bytes of another version: the session then begins without memory."""
    try:
        plain = msgspec.json.decode(data)
        if pending := plain["memory"]["pending"]:
            pending["phrase"] = Phrase[pending["phrase"]].value
        return msgspec.convert(plain, Remembered)
    except (msgspec.MsgspecError, LookupError, TypeError):
        return None
