"""Prometheus metrics: counters of the daemon, and readings that are taken whenever Prometheus asks.

Each daemon has a registry of its own, so that several can run in one process, as in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

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
        for reading in self._read():
            kind = CounterMetricFamily if reading.name.endswith("_total") else GaugeMetricFamily
            family = families.setdefault(reading.name, kind(reading.name, reading.help))
            family.add_sample(reading.name, dict(reading.labels), reading.value)
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
