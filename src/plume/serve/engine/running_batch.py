"""RunningBatch: jobs that run together, and those that join them meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from plume.serve.engine.job import Job

if TYPE_CHECKING:
    from plume.serve.engine.lane import Lane


class RunningBatch:
    """Belongs to the thread that runs it."""

    def __init__(self, lane: Lane, jobs: list[Job]) -> None:
        self.lane, self.jobs, self.count = lane, jobs, len(jobs)
        self._group, self._tokens = jobs[0].prepared.group, _cost(jobs)
        self._since = time.perf_counter()
        lane.use_cores(self._tokens)

    def more(self) -> list[Job]:
        """Those of the same kind that have come, as far as those that are done have made room."""
        if any(job.done or job.gone for job in self.jobs):
            self._account(self.left())
        joined = self.lane.join(self._group, self.lane.settings.batch_tokens - self._tokens)
        if joined:
            self.jobs += joined
            self.count += len(joined)
            self._tokens += _cost(joined)
            self.lane.use_cores(self._tokens)
        return joined

    def left(self) -> list[Job]:
        """Those for which somebody waits still."""
        return [job for job in self.jobs if not (job.done or job.gone)]

    def end(self) -> None:
        """Nobody joins any more."""
        self._account([])

    def _account(self, left: list[Job]) -> None:
        now, tokens = time.perf_counter(), _cost(left)
        if len(left) < len(self.jobs):
            self.lane.ran(len(self.jobs) - len(left), self._tokens - tokens, now - self._since)
        self.jobs, self._tokens, self._since = left, tokens, now


def _cost(jobs: list[Job]) -> int:
    return sum(job.prepared.cost for job in jobs)
