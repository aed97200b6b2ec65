"""Shelf: all that is served, by name; loaded when it is asked for, and the least recently used unloaded when memory runs out."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from plume.core.errors import PlumeError, suggest
from plume.serve.errors import UnknownModel
from plume.serve.models.opened import Opened, open_served
from plume.serve.models.served import Served, maker_of
from plume.serve.settings import MEGABYTE, ServeSettings


async def _nothing(_: Opened) -> None:
    pass


@dataclass(kw_only=True)
class Shelf:
    """Belongs to one event loop; only loading leaves it, for a thread."""

    served: Mapping[str, Served]
    settings: ServeSettings
    before_use: Callable[[Opened], None] = lambda _: None  # warms it up, in the thread that has loaded it
    before_unloading: Callable[[Opened], Awaitable[None]] = _nothing  # until nobody computes with it
    loads: int = 0  # so far
    _loaded: OrderedDict[str, Opened] = field(default_factory=OrderedDict)  # the least recently used first
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def loaded(self) -> list[str]:
        """The names of those in memory."""
        return list(self._loaded)

    def about(self, name: str) -> Served:
        """What is served under that name."""
        if name not in self.served:
            raise UnknownModel(f"There is no model '{name[:60]}' here: {suggest(name[:60], self.served)}.", param="model")
        return self.served[name]

    def at_once(self, name: str) -> Opened | None:
        """If it is loaded."""
        found = self._loaded.get(name)
        if found is not None:
            if found.shares is not None:  # that is used as well
                self._loaded.move_to_end(found.shares.name)
            self._loaded.move_to_end(name)
        return found

    async def open(self, name: str) -> Opened:
        """Loaded now if it is not yet; one at a time, because loading takes all cores."""
        served = self.about(name)
        if (found := self.at_once(name)) is not None:
            return found
        async with self._loading:
            return await self._open(served)

    async def _open(self, served: Served) -> Opened:
        if (found := self.at_once(served.name)) is not None:
            return found
        own = maker_of(served, self.served.values())
        maker = None if own is None else await self._open(own)
        if maker is None:
            await self._make_room(served)
        opened = await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._load, served, maker))
        self._loaded[served.name] = opened
        self.loads += 1
        return opened

    def _load(self, served: Served, maker: Opened | None) -> Opened:
        opened = open_served(served, self.settings, maker)
        self.before_use(opened)
        return opened

    async def _make_room(self, served: Served) -> None:
        limit = self.settings.memory
        if limit is None:
            return
        if served.bytes > limit:
            raise PlumeError(
                f"'{served.name}' takes {served.bytes / MEGABYTE:,.0f} MB, and --memory allows {limit / MEGABYTE:,.0f} MB: raise it."
            )
        while self._loaded and sum(one.bytes for one in self._loaded.values()) + served.bytes > limit:
            await self._unload(next((name for name, one in self._loaded.items() if one.bytes), next(iter(self._loaded))))

    async def _unload(self, name: str) -> None:
        """After the indexes that ask it."""
        for other in [one.name for one in self._loaded.values() if one.shares is not None and one.shares.name == name]:
            await self._unload(other)
        opened = self._loaded.pop(name)
        await self.before_unloading(opened)
        opened.close()

    async def close(self) -> None:
        """Unload all."""
        while self._loaded:
            await self._unload(next(reversed(self._loaded)))
