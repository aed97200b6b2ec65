"""The engine: takes a request to its model's queue and brings the answer back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

from plume.core.errors import PlumeError
from plume.serve.engine.job import END, Job
from plume.serve.engine.lane import Lane
from plume.serve.engine.mailbox import Mailbox
from plume.serve.errors import BadRequest, Broken, NotReady, ServeError
from plume.serve.meters import Meters
from plume.serve.models.about import ModelAbout, about
from plume.serve.models.opened import Opened
from plume.serve.models.served import Served
from plume.serve.models.shelf import Shelf
from plume.serve.operations import operations
from plume.serve.operations._operation import Operation
from plume.serve.settings import ServeSettings

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
LOG = logging.getLogger("plume.serve")
_SHORT = 4_000  # characters that are tokenised in less time than handing them to a thread takes


class ServingEngine:
    """Belongs to one event loop."""

    def __init__(self, served: Mapping[str, Served], settings: ServeSettings, meters: Meters | None = None) -> None:
        self.settings, self.meters = settings, meters or Meters()
        self.shelf = Shelf(served=served, settings=settings, before_use=self._warm_up, before_unloading=self._unload)
        self.abilities: dict[str, list[str]] = {}  # of each model: the operations that it can do, once it was loaded
        self.runtimes: dict[str, str] = {}  # what computes each
        self.about: dict[str, ModelAbout] = {}  # what else is known of each
        self.ready = False
        self._lanes: dict[tuple[str, str], Lane] = {}

    @cached_property
    def _mailbox(self) -> Mailbox:
        return Mailbox(asyncio.get_running_loop())

    # Beginning and end

    async def start(self) -> None:
        """Load and warm up everything once; under a memory limit the last ones stay."""
        for name in self.shelf.served:
            await self.shelf.open(name)
        self.ready = True

    async def close(self) -> None:
        """Answer what was accepted, and end."""
        await self.shelf.close()

    def _warm_up(self, opened: Opened) -> None:
        able = [one for one in operations().values() if one.able(opened)]
        for one in able:
            one.warm_up(opened)
        self.abilities[opened.name] = [one.name for one in able]
        self.runtimes[opened.name] = opened.runtime
        self.about[opened.name] = about(opened)
        self.meters.loaded.labels(opened.name).set(opened.bytes)

    async def _unload(self, opened: Opened) -> None:
        lanes = [key for key, lane in self._lanes.items() if lane.opened is opened]
        for key in lanes:
            await asyncio.to_thread(self._lanes.pop(key).end)
        self.meters.loaded.labels(opened.name).set(0)

    # Requests

    async def ask(self, operation: Operation[Asked, Any, Answer], model: str, asked: Asked) -> Answer:
        """The answer, when its batch has run. Cancelling the caller frees the place in the queue."""
        with _blamed(operation.field):
            lane, job = await self._queued(operation, model, asked)
            try:
                answer: Answer = await job.future
                return answer
            except asyncio.CancelledError:
                lane.drop(job)
                raise

    async def stream(self, operation: Operation[Asked, Any, Answer], model: str, asked: Asked) -> AsyncGenerator[Any, None]:
        """The pieces that the operation tells (`BatchPlace.tell`), as they come, and at last the answer. Closing it frees the place."""
        with _blamed(operation.field):
            lane, job = await self._queued(operation, model, asked, streams=True)
            assert job.pieces is not None
            try:
                while (piece := await job.pieces.get()) is not END:
                    yield piece
                yield await job.future
            finally:
                lane.drop(job)

    async def _queued(
        self, operation: Operation[Asked, Any, Answer], model: str, asked: Asked, *, streams: bool = False
    ) -> tuple[Lane, Job]:
        while True:
            opened = self.shelf.at_once(model) or await self._opened(model)
            lane = self._lanes.get((model, operation.name))
            if lane is not None:
                lane.check_room()  # before anything is spent on it
            if operation.characters(asked) <= _SHORT:
                prepared = operation.prepare(opened, asked)
            else:
                prepared = await asyncio.to_thread(operation.prepare, opened, asked)
            if self.shelf.at_once(model) is opened:  # it was not unloaded meanwhile
                break
        lane = self._lanes.get((model, operation.name))  # a new one, if the model was loaded anew
        if lane is None:
            lane = self._lanes[model, operation.name] = Lane(opened, operation, self.settings, self.meters)
        job = Job(prepared, self._mailbox, streams=streams)
        lane.put(job)
        return lane, job

    async def _opened(self, model: str) -> Opened:
        self.shelf.about(model)
        if not self.ready:
            raise NotReady(f"'{model}' is being loaded: try again in a moment.", retry_after=1)
        try:
            return await self.shelf.open(model)
        except PlumeError as error:  # it names files, which are not the client's business
            LOG.error("not loaded", exc_info=error, extra={"said": {"model": model}})
            raise Broken(f"'{model}' cannot be loaded; the server's log says why.") from None


@contextmanager
def _blamed(field: str | None) -> Iterator[None]:
    """What a model cannot do with texts is said of the field in which they stand, unless a field is named already."""
    try:
        yield
    except ServeError:
        raise
    except PlumeError as error:
        raise BadRequest(str(error), param=field) from error
