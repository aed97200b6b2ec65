"""BertService: what bert-as-service does, for its wire and for POST /encode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plume.serve.bert_settings import BertServiceSettings
from plume.serve.engine.engine import ServingEngine
from plume.serve.errors import BadRequest, NotReady, Overloaded
from plume.serve.old_wire.statistics import OldStatistics, config_of
from plume.serve.operations._bert_rows import Given
from plume.serve.operations.encode import OPERATION, EncodeAsked, EncodedTexts


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


class BertService:
    """Belongs to the engine's event loop."""

    def __init__(self, engine: ServingEngine) -> None:
        self.engine = engine
        self.settings = engine.settings.bert or BertServiceSettings()
        self.statistics = OldStatistics()
        # Large requests go one part at a time, so that a small one, which does not wait here, finds little before it.
        self._large = asyncio.Semaphore(max(1, engine.settings.computing))

    @property
    def model(self) -> str:
        """The first one that has vectors."""
        if not self.engine.ready:
            raise NotReady("Models are being loaded.", retry_after=1)
        found = next((name for name in self.engine.shelf.served if OPERATION.name in self.engine.abilities.get(name, ())), None)
        if found is None:
            raise BadRequest("None of the models that are served has vectors.", param="model")
        return found

    async def check(self) -> None:
        """Can the model answer what the options ask for? If not, that is said before anybody asks."""
        OPERATION.check(await self.engine.shelf.open(self.model), self.settings)

    async def encode(
        self, texts: Sequence[Given], *, identity: str, wanted: Callable[[], bool] = lambda: True, patient: bool = False
    ) -> EncodedTexts:
        """Vectors of all. `wanted` is asked before each part; `patient` waits while the queue is full, as long as a request may take."""
        self.statistics.begins(identity, len(texts))
        try:
            return await self._encode(texts, wanted, patient)
        finally:
            self.statistics.pending -= 1

    async def _encode(self, texts: Sequence[Given], wanted: Callable[[], bool], patient: bool) -> EncodedTexts:
        model, size = self.model, self.settings.max_batch_size
        if len(texts) <= self.settings.priority_batch_size:
            return await self._part(model, texts, patient)
        found = []
        for first in range(0, len(texts), size):
            async with self._large:
                if not wanted():
                    raise ClientGone
                found.append(await self._part(model, texts[first : first + size], patient))
        return found[0] if len(found) == 1 else await asyncio.to_thread(_joined, found)

    async def _part(self, model: str, texts: Sequence[Given], patient: bool) -> EncodedTexts:
        asked = EncodeAsked(texts=texts, how=self.settings)
        clock = asyncio.get_running_loop().time
        end = clock() + self.engine.settings.timeout
        while True:
            try:
                return await self.engine.ask(OPERATION, model, asked)
            except Overloaded as full:
                if not patient or clock() > end:
                    raise
                await asyncio.sleep(min(full.retry_after or 1.0, 1.0))

    def config(self) -> dict[str, Any]:
        """What SHOW_CONFIG answers."""
        own = self.engine.settings
        return config_of(self.settings, self.model, host=own.host, workers=own.workers, started=self.statistics.started)

    def status(self) -> dict[str, Any]:
        """What SHOW_STATUS answers: the same, with what was counted."""
        return self.config() | {"statistic": self.statistics.as_json()}


def _joined(parts: Sequence[EncodedTexts]) -> EncodedTexts:
    """Of token vectors the parts may differ in length."""
    vectors = [one.vectors for one in parts]
    if vectors[0].ndim == 3:
        longest = max(one.shape[1] for one in vectors)
        vectors = [np.pad(one, ((0, 0), (0, longest - one.shape[1]), (0, 0))) for one in vectors]
    return EncodedTexts(vectors=np.concatenate(vectors), tokens=[tokens for one in parts for tokens in one.tokens])
