"""A server's session memory as bytes for the store, with the last batch that was taken from its script."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from equipoise.core.memory import Memory
from equipoise.core.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a restarted daemon goes on from."""

    memory: Memory = field(default_factory=Memory)
    boot: int = 0
    seq: int = 0


def encode_memory(remembered: Remembered) -> bytes:
    """Plain JSON; phrases by name, because their English text may change."""
    plain = msgspec.to_builtins(remembered)
    if (pending := remembered.memory.pending) is not None:
        plain["memory"]["pending"]["phrase"] = pending.phrase.name
    return msgspec.json.encode(plain)


def decode_memory(data: bytes) -> Remembered | None:
    """None for bytes that this version does not understand: the session then starts afresh."""
    try:
        plain = msgspec.json.decode(data)
        if pending := plain["memory"]["pending"]:
            pending["phrase"] = Phrase[pending["phrase"]].value
        return msgspec.convert(plain, Remembered)
    except (msgspec.MsgspecError, LookupError, TypeError):
        return None
