"""Game scripts' JSON to values of ours and back; pure. `docs/protocol.md` describes every message."""

from equipoise.wire.decode import batch_of, decode_as, decode_batch, split_form, unquoted
from equipoise.wire.encode import encode_refusal, encode_reply
from equipoise.wire.games import GAMES, NS2, TF2, Game
from equipoise.wire.values import Batch, Reply, RoundStatus

__all__ = [
    "GAMES",
    "NS2",
    "TF2",
    "Batch",
    "Game",
    "Reply",
    "RoundStatus",
    "batch_of",
    "decode_as",
    "decode_batch",
    "encode_refusal",
    "encode_reply",
    "split_form",
    "unquoted",
]
