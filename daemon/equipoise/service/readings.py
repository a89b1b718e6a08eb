"""The metrics of servers, pools and the store, as they are at the moment when Prometheus asks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from equipoise.game.port import PeerStatus
from equipoise.service.host import Host
from equipoise.service.metrics import Reading
from equipoise.service.pool import Pool
from equipoise.service.questions import KINDS
from equipoise.service.retention import Retention
from equipoise.store.port import Store


def of_servers(hosts: Iterable[Host]) -> Iterator[Reading]:
    """What `equipoise status` shows of each server, in numbers."""
    for host in hosts:
        status, server = host.status(), {"server": host.server}
        yield Reading("equipoise_server_lost", "1: its script is silent.", status.lost, server)
        yield Reading("equipoise_server_enabled", "0: switched off by an admin.", status.enabled, server)
        yield Reading("equipoise_server_pending", "1: a scramble is due.", status.pending is not None, server)
        for side, count in (("a", status.players_a), ("b", status.players_b), ("none", status.waiting)):
            labels = {**server, "side": side}
            yield Reading("equipoise_server_players", "Players by side; none: waiting.", count, labels)
        if status.win_probability is not None:
            chance = status.win_probability
            yield Reading("equipoise_server_win_probability", "Of side A with the present sides.", chance, server)
        dropped = status.dropped_rounds
        yield Reading("equipoise_server_dropped_rounds_total", "Rounds the script lost.", dropped, server)
        stale = len(status.stale_scripts)
        yield Reading("equipoise_server_stale_scripts", "Superseded scripts that call.", stale, server)
        for code, count in host.refused.counted.items():
            labels = {**server, "code": code}
            yield Reading("equipoise_server_refused_total", "Batches of its own script refused.", count, labels)
        yield Reading("equipoise_server_repeated_total", "Batches that came again.", host.repeated, server)
        yield Reading("equipoise_server_skipped_total", "Gaps in the batches' numbers.", host.skipped, server)
        for kind in KINDS:
            labels, failed = {**server, "question": kind}, host.questions.failed[kind]
            yield Reading("equipoise_question_failures_total", "Questions that failed.", failed, labels)
        refused = host.questions.refused
        yield Reading("equipoise_questions_refused_total", "Questions too many for one batch.", refused, server)


def of_game_servers(statuses: Iterable[PeerStatus]) -> Iterator[Reading]:
    """How those answer by their own protocols that have an address in the configuration."""
    for status in statuses:
        server, rcon, query = {"server": status.server}, status.rcon, status.query
        if rcon.state != "off":
            up = rcon.state in ("answers", "unused")
            yield Reading("equipoise_rcon_up", "0: the last command was not answered.", up, server)
            yield Reading("equipoise_rcon_commands_total", "Commands sent by RCON.", rcon.commands, server)
            yield Reading("equipoise_rcon_failures_total", "Of them, not answered.", rcon.failures, server)
            yield Reading("equipoise_rcon_connections_total", "Connections made.", rcon.connections, server)
        if query.state != "off":
            yield Reading("equipoise_query_up", "0: it is silent by A2S.", query.state != "silent", server)
            yield Reading("equipoise_query_failures_total", "A2S queries not answered.", query.failures, server)
            if query.answer is not None:
                players = query.answer.players
                yield Reading("equipoise_query_players", "Players by A2S, bots included.", players, server)


def of_pools(pools: Iterable[Pool]) -> Iterator[Reading]:
    """Where the rounds of each pool are."""
    for pool in pools:
        labels = {"pool": pool.name}
        yield Reading("equipoise_waiting_rounds", "Rounds that wait for the store.", pool.ring_depth, labels)
        overflowed = pool.ring.overflowed
        yield Reading("equipoise_ring_overflowed_total", "Rounds that found the ring full.", overflowed, labels)
        yield Reading("equipoise_rounds_stored_total", "Rounds stored.", pool.applied, labels)
        yield Reading("equipoise_rounds_refused_total", "Rounds never to be stored.", pool.refused, labels)
        if pool.follower is not None:
            ready, failures = pool.follower.ready, pool.follower.failures
            yield Reading("equipoise_balance_ready", "0: `balance` does not make the teams now.", ready, labels)
            yield Reading("equipoise_balance_failures_total", "Times that `balance` failed.", failures, labels)


def of_store(store: Store, retention: Retention) -> Iterator[Reading]:
    """Its health now, its size at the last look, and what was deleted."""
    health, extent = store.health(), retention.extent
    trouble = 0.0 if health.began is None else time.monotonic() - health.began
    yield Reading("equipoise_store_damaged", "1: the store takes nothing more.", health.state == "damaged")
    yield Reading("equipoise_store_trouble_seconds", "How long it has taken no rounds; 0: it does.", trouble)
    yield Reading("equipoise_store_failures_total", "Calls of the store that failed.", health.failures)
    yield Reading("equipoise_store_bytes", "Size of the store's file.", extent.bytes)
    yield Reading("equipoise_store_free_bytes", "Of it, free for what is written next.", extent.free_bytes)
    age = retention.oldest_decision_seconds()
    yield Reading("equipoise_oldest_decision_seconds", "Age of the oldest decision.", age)
    for name, count in retention.pruned.items():
        yield Reading("equipoise_pruned_total", "Lines and rounds deleted for their age.", count, {"what": name})
