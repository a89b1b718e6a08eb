"""Batches of game scripts: POST /v1/events.

Their structs are in `wire.batches`, those of the reply in `wire.orders`; docs/protocol.md says what they mean.
"""

from __future__ import annotations

from equipoise.errors import ScriptError
from equipoise.web.routes import SCRIPTS, Answer, Request, Routes, check_server
from equipoise.wire import at_fault, batch_of, batches, encode_reply, kinds_of, orders

STALE = 409
"""Status of the answer to a stale batch."""

routes = Routes()


@routes.add(
    "POST",
    "/v1/events",
    "A game script's batch",
    SCRIPTS,
    body=batches.Batch,
    reply=orders.Reply,
    form=True,
    body_example={
        "v": 1,
        "server": "arena-1",
        "boot": 1763622000123,
        "seq": 1,
        "at": 812.4,
        "events": [
            {
                "kind": "hello",
                "plugin": "0.2.0",
                "game": "tf2",
                "map": "arena_lumberyard",
                "session": "1763622000123-1",
                "phase": "idle",
                "facts": {"game_type": 4},
            },
            {
                "kind": "roster",
                "players": [{"id": "76561197960265729", "side": "red"}, {"id": "76561197960265730", "side": "blu"}],
            },
        ],
    },
    reply_example={
        "ok": True,
        "orders": [
            {
                "kind": "say",
                "text": {
                    "phrase": "Equipoise_Scrambled",
                    "args": ["RED", "51", {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}],
                },
            }
        ],
        "rounds": {"1763622000123-1": "stored"},
        "players": [{"id": "76561197960265729", "rating": 1018.0, "rounds": 1, "visible": False}],
        "pending": False,
        "reason": None,
        "due_if": ["red"],
        "want": [],
        "enabled": True,
        "level": "balance",
        "level_reason": "",
        "next": 5.0,
    },
)
async def take_batch(request: Request) -> Answer:
    """Have a batch answered by its server's host."""
    body: batches.Batch = request.body
    try:
        batch = batch_of(body)
        check_server(request.caller, batch.server)
        host = request.services.host(batch.server)
        with request.services.precedence.answering():
            reply = await host.handle(batch)
    except ScriptError as refusal:
        refusal.kinds = at_fault(kinds_of(body), refusal.path)
        raise
    if not reply.stale:
        host.refused.taken(kinds_of(body), host.plugin)
    text = encode_reply(reply, request.services.games[batch.server])
    return Answer(text, STALE, refusal="stale") if reply.stale else Answer(text)
