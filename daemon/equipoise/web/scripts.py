"""Answers game scripts that post batches, and programs that submit rounds."""

from __future__ import annotations

from equipoise.core.model import ServerId
from equipoise.core.participation import recorded
from equipoise.errors import ScriptError
from equipoise.store.notes import Audit
from equipoise.web.answers import Answered
from equipoise.web.guards import check_server
from equipoise.web.messages.rounds import Rerated, RoundSent, RoundTaken
from equipoise.web.routes import Asked
from equipoise.wire import at_fault, batch_of, encode_reply, events, kinds_of
from equipoise.wire.people import Here

STALE = 409
"""Status of the answer to a batch of which only the rounds were taken."""


async def take_batch(asked: Asked) -> Answered:
    """Have a batch answered by its server's host."""
    posted: events.Batch = asked.body
    try:
        batch = batch_of(posted)
        check_server(asked.caller, batch.server)
        host = asked.services.host(batch.server)
        reply = await host.handle(batch)
    except ScriptError as refusal:
        refusal.kinds = at_fault(kinds_of(posted), refusal.path)
        raise
    if not reply.stale:
        host.refused.taken(kinds_of(posted), host.plugin)
    body = encode_reply(reply, asked.services.games[batch.server])
    return Answered(body, STALE, refusal="stale") if reply.stale else Answered(body)


async def take_round(asked: Asked) -> RoundTaken:
    """Rate and store a round that did not come in a batch. No session sees it; an admin's is written to the audit."""
    sent: RoundSent = asked.body
    server = ServerId(str(sent.server))
    round = sent.round.finished(Here(server, "$.round", 0.0))
    check_server(asked.caller, server)
    host = asked.services.host(server)
    record = recorded(round, host.rules)
    if asked.caller.role == "admin":
        who, now = asked.caller.who, asked.services.clock.epoch()
        await asked.services.store.audit(Audit(now, who, "round", server, "", round.id))
    done = await host.pool.record(record, None)
    rated = done.rated
    return RoundTaken(
        status=done.status,
        win_probability=rated.prediction if rated else None,
        unrated=rated.unrated if rated else record.unrated,
        players=tuple(
            Rerated(each.id, each.side.value, each.before, each.after, each.rounds, each.visible)
            for each in (rated.changes if rated else ())
        ),
    )
