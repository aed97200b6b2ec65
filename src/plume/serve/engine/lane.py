"""Lane: the queue of one model and operation, and the threads that empty it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Hashable
from typing import Any

import torch

from plume.core.errors import PlumeError
from plume.serve.engine.job import Job
from plume.serve.engine.running_batch import RunningBatch
from plume.serve.errors import Broken, Overloaded
from plume.serve.meters import LaneMeters, Meters
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation
from plume.serve.settings import ServeSettings

LOG = logging.getLogger("plume.serve")
# Of tokens: a matrix product of so many rows runs at full speed on a core, so more of them are shared between the threads that are free.
_ENOUGH = 256
_NEWS = 0.2  # how much the last batch says about the speed of the next


class Lane:
    """Jobs wait in the order of their arrival; a thread takes those that may share a batch with the first, up to the token budget."""

    def __init__(self, opened: Opened, operation: Operation[Any, Any, Any], settings: ServeSettings, meters: Meters) -> None:
        self.opened, self.operation, self.settings = opened, operation, settings
        self.meters = LaneMeters(meters, opened.name, operation.name)
        self._changed = threading.Condition()
        self._jobs: dict[Job, None] = {}  # those that wait, in order
        self._tokens = 0  # of those
        self._speed = 0.0  # tokens a second of one thread, about
        self._ended = False
        # Batches side by side, each on one thread, are faster than all threads on one batch, which wait for each other.
        count = settings.computing if operation.parallel else 1
        self._others = settings.computing - count  # cores that no thread of this lane is for
        self._free = 0
        name = f"{opened.name}-{operation.name}"
        self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    # On the event loop

    def check_room(self, tokens: int = 1) -> None:
        """Refuse so many more if the queue is full, or so long that they would time out. One request alone is always taken, however large."""
        if not self._jobs or (self._tokens + tokens <= self.settings.queue_tokens and self._wait() <= self.settings.timeout):
            return
        self.meters.refused.inc()
        raise Overloaded(
            f"'{self.opened.name}' has {self._tokens:,} tokens waiting, which is its limit: try again later.", retry_after=self._wait()
        )

    def put(self, job: Job) -> None:
        """Into the queue, if there is room."""
        with self._changed:
            self.check_room(job.prepared.cost)
            self._jobs[job] = None
            self._tokens += job.prepared.cost
            self.meters.waits(len(self._jobs), self._tokens)
            self._changed.notify()

    def drop(self, job: Job) -> None:
        """Nobody waits for it any more: its place is free."""
        job.gone = True
        with self._changed:
            if job in self._jobs:
                self._leave(job)
                self.meters.dropped.inc()
                self.meters.waits(len(self._jobs), self._tokens)

    def end(self) -> None:
        """Run what waits, then end the threads; blocks until they have."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _wait(self) -> float:
        """Seconds until all that waits has run, as far as can be said."""
        return self._tokens / (self._speed * len(self._threads)) if self._speed else 0.0

    # In the threads

    def _leave(self, job: Job) -> None:
        del self._jobs[job]
        self._tokens -= job.prepared.cost

    def _work(self) -> None:
        while jobs := self._take():
            batch = RunningBatch(self, jobs)
            self._run(batch)
            batch.end()

    def _take(self) -> list[Job]:
        """The next batch; none when all is done and the lane has ended."""
        with self._changed:
            self._free += 1
            while not self._jobs and not self._ended:
                self._changed.wait()
            most = min(self.settings.batch_tokens, max(_ENOUGH, -(-self._tokens // self._free)))
            self._free -= 1
            batch: list[Job] = []
            tokens = 0
            group = next(iter(self._jobs)).prepared.group if self._jobs else None
            for job in self._jobs:
                if job.prepared.group == group:
                    if batch and tokens + job.prepared.cost > most:
                        break
                    batch.append(job)
                    tokens += job.prepared.cost
            self._remove(batch)
        return self._counted(batch)

    def _remove(self, batch: list[Job]) -> None:
        for job in batch:
            self._leave(job)
        self.meters.waits(len(self._jobs), self._tokens)

    def _counted(self, batch: list[Job]) -> list[Job]:
        now = time.perf_counter()
        for job in batch:
            self.meters.taken(now - job.begun)
        return batch

    def join(self, group: Hashable, tokens: int) -> list[Job]:
        """Those of a group that wait and cost no more than so many tokens together; nobody overtakes one that cannot join."""
        if not self._jobs:
            return []
        with self._changed:
            found: list[Job] = []
            for job in self._jobs:
                tokens -= job.prepared.cost
                if job.prepared.group != group or tokens < 0:
                    break
                found.append(job)
            self._remove(found)
        return self._counted(found)

    def use_cores(self, tokens: int) -> None:
        """Those that have nothing else to do help with a large batch."""
        torch.set_num_threads(1 + self._free + self._others if tokens > _ENOUGH else 1)

    def ran(self, requests: int, tokens: int, seconds: float) -> None:
        """So many are done."""
        speed = tokens / max(seconds, 1e-6)
        self._speed += (speed - self._speed) * (_NEWS if self._speed else 1.0)
        self.meters.ran(requests, tokens, seconds)

    def _run(self, batch: RunningBatch) -> None:
        """All together; if that fails, each alone, so that one bad request does not spoil the others."""
        try:
            self.operation.work(self.opened, list(batch.jobs), batch.more)
        except BaseException as error:
            for job in batch.left():
                if job.told or batch.count == 1:
                    job.fail(self._told(error))
                else:
                    self._run_alone(job)

    def _run_alone(self, job: Job) -> None:
        try:
            self.operation.work(self.opened, [job], lambda: ())
        except BaseException as error:
            job.fail(self._told(error))

    def _told(self, error: BaseException) -> BaseException:
        """As the client is told."""
        if isinstance(error, PlumeError):
            return error
        LOG.error("failed", exc_info=error, extra={"said": {"model": self.opened.name, "operation": self.operation.name}})
        return Broken("The server failed at this request; its log says how.")
