"""The wire, if it was asked for: pyzmq is imported only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plume.core.errors import PlumeError
from plume.serve.old_wire.service import BertService

if TYPE_CHECKING:
    from plume.serve.old_wire.wire import OldWire


class OldWireStart:
    """Opened when the models are ready, closed before they are unloaded."""

    def __init__(self, service: BertService) -> None:
        self.service = service
        self.wire: OldWire | None = None

    async def open(self) -> None:
        """Listen on both ports."""
        if self.service.engine.settings.bert is None:
            return
        try:
            from plume.serve.old_wire.wire import OldWire
        except ModuleNotFoundError as error:
            raise PlumeError(f"{error.name} is not installed: pip install 'plume-lm[serve]'.") from None
        self.wire = await OldWire.open(self.service)

    async def close(self) -> None:
        """What was received is answered."""
        if self.wire is not None:
            await self.wire.close()
