"""Mailbox: what threads have for the event loop. However much they post, the loop is woken once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any


class Mailbox:
    """Of one event loop, which empties it in the order of posting."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._letters: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._woken = False  # the loop will look, and has not yet

    def post(self, call: Callable[..., object], *given: Any) -> None:
        """From any thread: `call` these on the loop, soon. Nothing happens if the loop has ended: nobody waits there any more."""
        self._letters.append((call, given))
        if not self._woken:
            self._woken = True
            try:
                self.loop.call_soon_threadsafe(self._empty)
            except RuntimeError:
                self._letters.clear()

    def _empty(self) -> None:
        self._woken = False  # first: what is posted from now on wakes it again
        while self._letters:
            call, given = self._letters.popleft()
            call(*given)
