"""Game scripts' JSON to values of ours and back; pure. `docs/protocol.md` describes every message."""

from equipoise.wire.codec import (
    Batch,
    Reply,
    at_fault,
    batch_of,
    decode_as,
    decode_batch,
    encode_refusal,
    encode_reply,
    kinds_of,
    split_form,
    unquoted,
)
from equipoise.wire.orders import RoundStatus
from equipoise.wire.scalars import GAMES, NS2, TF2, Game

__all__ = [
    "GAMES",
    "NS2",
    "TF2",
    "Batch",
    "Game",
    "Reply",
    "RoundStatus",
    "at_fault",
    "batch_of",
    "decode_as",
    "decode_batch",
    "encode_refusal",
    "encode_reply",
    "kinds_of",
    "split_form",
    "unquoted",
]
