"""A session's memory as bytes for the store, with the number of the last batch that went into it."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from equipoise.core.memory import Memory
from equipoise.core.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a restarted daemon goes on from: a session's memory, and the number of the last batch in it."""

    memory: Memory = field(default_factory=Memory)
    boot: int = 0
    seq: int = 0


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
