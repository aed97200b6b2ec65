"""Counters and histograms, as Prometheus reads them. The one place where prometheus-client is imported."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)
_LANE = ("model", "operation")
CONTENT_TYPE = CONTENT_TYPE_LATEST
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # where several processes keep their numbers, if there are several


class Meters:
    """All series of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        to: Any = {"registry": self.registry}
        self.requests = Counter("plume_requests", "Requests answered", ("endpoint", "status"), **to)
        self.seconds = Histogram("plume_request_seconds", "Seconds from request to answer", ("endpoint",), buckets=_SECONDS, **to)
        self.refused = Counter("plume_refused", "Requests refused because the queue was full", _LANE, **to)
        self.dropped = Counter("plume_dropped", "Requests whose client went away before they were run", _LANE, **to)
        self.queue = Gauge("plume_queue_requests", "Requests that wait", _LANE, multiprocess_mode="livesum", **to)
        self.queue_tokens = Gauge("plume_queue_tokens", "Tokens that wait", _LANE, multiprocess_mode="livesum", **to)
        self.waiting = Histogram("plume_waiting_seconds", "Seconds in the queue", _LANE, buckets=_SECONDS, **to)
        self.batch = Histogram("plume_batch_requests", "Requests in a batch", _LANE, buckets=_COUNTS, **to)
        self.batch_tokens = Histogram("plume_batch_tokens", "Tokens in a batch", _LANE, buckets=_COUNTS, **to)
        self.tokens = Counter("plume_tokens", "Tokens read", _LANE, **to)
        self.inference = Histogram("plume_inference_seconds", "Seconds of computing a batch", _LANE, buckets=_SECONDS, **to)
        self.loaded = Gauge("plume_loaded_bytes", "Memory of loaded models", ("model",), multiprocess_mode="livesum", **to)

    def page(self) -> bytes:
        """What /metrics answers; of all processes, where there are several."""
        if SHARED not in os.environ:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


class LaneMeters:
    """Those of one model and operation, looked up once."""

    def __init__(self, meters: Meters, model: str, operation: str) -> None:
        self._meters, self._names = meters, (model, operation)

    @cached_property
    def refused(self) -> Counter:
        """Requests refused."""
        return self._meters.refused.labels(*self._names)

    @cached_property
    def dropped(self) -> Counter:
        """Requests nobody waited for any more."""
        return self._meters.dropped.labels(*self._names)

    @cached_property
    def _each(self) -> tuple[Gauge, Gauge, Histogram, Histogram, Histogram, Counter, Histogram]:
        own, names = self._meters, self._names
        return (
            own.queue.labels(*names), own.queue_tokens.labels(*names), own.waiting.labels(*names), own.batch.labels(*names),
            own.batch_tokens.labels(*names), own.tokens.labels(*names), own.inference.labels(*names),
        )  # fmt: skip

    def waits(self, requests: int, tokens: int) -> None:
        """The queue as it is now."""
        queue, queue_tokens, *_ = self._each
        queue.set(requests)
        queue_tokens.set(tokens)

    def taken(self, waited: float) -> None:
        """A request left the queue for a batch."""
        self._each[2].observe(waited)

    def ran(self, requests: int, tokens: int, seconds: float) -> None:
        """A batch is done."""
        _, _, _, batch, batch_tokens, read, inference = self._each
        batch.observe(requests)
        batch_tokens.observe(tokens)
        read.inc(tokens)
        inference.observe(seconds)


def forget_process(number: int) -> None:
    """A worker process is gone: what it still showed as waiting is not."""
    mark_process_dead(number)  # type: ignore[no-untyped-call]
