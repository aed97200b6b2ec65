"""Job: one request between the event loop, where somebody waits for it, and the thread that runs it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from plume.serve.engine.mailbox import Mailbox
from plume.serve.operations._operation import Prepared

END = object()  # behind the last piece of a stream


class Job:
    """Made on the event loop; `tell`, `answer` and `fail` are for the thread."""

    __slots__ = ("_done", "begun", "future", "gone", "mailbox", "pieces", "prepared", "told")

    def __init__(self, prepared: Prepared, mailbox: Mailbox, *, streams: bool = False) -> None:
        self.prepared, self.mailbox = prepared, mailbox
        self.future: asyncio.Future[Any] = mailbox.loop.create_future()
        self.pieces: asyncio.Queue[Any] | None = asyncio.Queue() if streams else None
        self.begun = time.perf_counter()
        self.gone = False  # nobody waits for it any more
        self.told = False  # somebody has read a piece of it: it cannot be begun anew
        self._done = False

    @property
    def done(self) -> bool:
        """Was it answered, or refused?"""
        return self._done

    def tell(self, piece: object) -> None:
        """A piece of the answer, as it is made; nothing if nobody reads pieces."""
        if self.pieces is not None and not self.gone:
            self.told = True
            self.mailbox.post(self.pieces.put_nowait, piece)

    def answer(self, answer: Any) -> None:
        """The whole answer."""
        if not self._done:
            self._done = True
            self.mailbox.post(self._settle, answer, None)

    def fail(self, error: BaseException) -> None:
        """It cannot be answered."""
        if not self._done:
            self._done = True
            self.mailbox.post(self._settle, None, error)

    def _settle(self, answer: Any, error: BaseException | None) -> None:
        if not self.future.done():
            if error is None:
                self.future.set_result(answer)
            else:
                self.future.set_exception(error)
        if self.pieces is not None:
            self.pieces.put_nowait(END)
