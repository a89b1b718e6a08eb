"""Prometheus metrics: counters of the daemon, and readings that are taken whenever Prometheus asks.

Each daemon has a registry of its own, so that several can run in one process, as in tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from equipoise.core.effects import DecisionKind
from equipoise.game.port import PeerStatus
from equipoise.service.host import TENTHS, Host
from equipoise.service.pool import Pool
from equipoise.service.retention import Retention
from equipoise.service.work import KINDS
from equipoise.store.store import Store

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of one metric now. A name that ends in `_total` belongs to a counter, any other to a gauge."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


Read = Callable[[], Iterable[Reading]]


class _Readings(Collector):
    """Takes the readings when Prometheus asks for metrics."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for gauge in self._read():
            kind = CounterMetricFamily if gauge.name.endswith("_total") else GaugeMetricFamily
            family = families.setdefault(gauge.name, kind(gauge.name, gauge.help))
            family.add_sample(gauge.name, dict(gauge.labels), gauge.value)
        yield from families.values()


class Metrics:
    """The daemon's registry, and the counters that the code increments by itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.refused = Counter(
            "equipoise_refused", "Requests refused, by the code of the answer.", ["code"], registry=self.registry
        )
        self.closed = Counter(
            "equipoise_connections_closed",
            "Connections closed before their answer.",
            ["reason"],
            registry=self.registry,
        )
        self.accept_failures = Counter(
            "equipoise_accept_failures", "Connections that could not be accepted.", registry=self.registry
        )
        self.seconds = Histogram(
            "equipoise_request_seconds",
            "Time to answer a request.",
            ["route"],
            buckets=(0.001, 0.002, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2),
            registry=self.registry,
        )
        self.loop_lag = Histogram(
            "equipoise_loop_lag_seconds",
            "How late the event loop runs what is due, measured ten times a second.",
            buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5),
            registry=self.registry,
        )
        self.not_run = Counter(
            "equipoise_not_run_seconds", "For how long the machine did not let the daemon run.", registry=self.registry
        )
        self.failed_jobs = Counter(
            "equipoise_job_failures", "Scheduled jobs that failed or were missed.", ["job"], registry=self.registry
        )

    def watch(self, read: Read) -> None:
        """Add readings: `read` is called for every answer to Prometheus."""
        self.registry.register(_Readings(read))

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)


# The readings of servers, pools and the store.


def of_servers(hosts: Iterable[Host]) -> Iterator[Reading]:
    """Readings of each server: those of `equipoise status` in numbers, and what its batches and questions came to."""
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
        losses = status.dropped_rounds
        yield Reading("equipoise_server_dropped_rounds_total", "Rounds the script lost.", losses, server)
        stale = len(status.stale_scripts)
        yield Reading("equipoise_server_stale_scripts", "Superseded scripts that call.", stale, server)
        for code, count in host.refused.counted.items():
            labels = {**server, "code": code}
            yield Reading("equipoise_server_refused_total", "Batches of its own script refused.", count, labels)
        yield Reading("equipoise_server_repeated_total", "Batches that came again.", host.repeated, server)
        yield Reading("equipoise_server_skipped_total", "Gaps in the batches' numbers.", host.skipped, server)
        for decision in get_args(DecisionKind):
            labels, count = {**server, "kind": decision}, host.decided[decision]
            yield Reading("equipoise_decisions_total", "Lines of the decision log.", count, labels)
        for tenth, count in enumerate(host.began):
            labels = {**server, "chance": f"{tenth / TENTHS:.1f}"}
            yield Reading("equipoise_rounds_begun_total", "Rounds by the chance of A at their start.", count, labels)
        for kind in KINDS:
            labels, count = {**server, "question": kind}, host.questions.failed[kind]
            yield Reading("equipoise_question_failures_total", "Questions that failed.", count, labels)
        excess = host.questions.refused
        yield Reading("equipoise_questions_refused_total", "Questions too many for one batch.", excess, server)


def of_game_servers(statuses: Iterable[PeerStatus]) -> Iterator[Reading]:
    """Readings of the game servers with an address in the configuration: how they answer by their own protocols."""
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
    """Readings of each pool: the whereabouts of its rounds, and how its balance system does."""
    for pool in pools:
        labels = {"pool": pool.name}
        yield Reading("equipoise_waiting_rounds", "Rounds that wait for the store.", pool.ring_depth, labels)
        overflow = pool.ring.overflowed
        yield Reading("equipoise_ring_overflowed_total", "Rounds that found the ring full.", overflow, labels)
        yield Reading("equipoise_rounds_stored_total", "Rounds stored.", pool.applied, labels)
        yield Reading("equipoise_rounds_refused_total", "Rounds never to be stored.", pool.refused, labels)
        if (state := pool.sharing) is not None:
            yield Reading("equipoise_shared_connected", "0: the shared pool's log is away.", state.connected, labels)
            yield Reading("equipoise_shared_behind_events", "Events of its log not here yet.", state.behind, labels)
            yield Reading("equipoise_shared_event", "Number of its last event that is here.", state.number, labels)
        if pool.follower is not None:
            ready, failures = pool.follower.ready, pool.follower.failures
            yield Reading("equipoise_balance_ready", "0: `balance` does not make the teams now.", ready, labels)
            yield Reading("equipoise_balance_failures_total", "Times that `balance` failed.", failures, labels)


def of_store(store: Store, retention: Retention) -> Iterator[Reading]:
    """Readings of the store: its health now, its size at the last look, and what was deleted."""
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
