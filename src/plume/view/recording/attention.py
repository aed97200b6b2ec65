"""The attention of every head for one text, with queries, keys and what positions add: what the head, model and neuron views show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.model.gating import AttentionPlace, Gates, gated
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.networks.two_streams import TwoStreamModel
from plume.nn.attention import Attended
from plume.nn.positions.scheme import PositionModule
from plume.view.recording.subject import Subject
from plume.view.recording.targets import decoder_text
from plume.view.recording.texts import SPECIAL, TextRead, read_text, row_batch

Floats = NDArray[np.float32]
MEMORY = 2  # the "text" that remembered tokens are of


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """One place's attention: a row a query, a column a key."""

    place: AttentionPlace
    rows: list[str]
    row_text: list[int]
    columns: list[str]
    column_text: list[int]
    probability: list[Floats]  # [H, Tq, Tk] a layer
    query: list[Floats]  # [H, Tq, W]
    key: list[Floats]  # [H, Tk, W]
    bias: list[Floats | None]  # [H, Tq, Tk] added to the scores
    scale: float
    position: list[str]  # where position enters: "input", "query_key", "scores", "values"


class AttentionReader:
    """A text that is read again and again, with some heads switched off or with all."""

    def __init__(
        self,
        subject: Subject,
        text: str,
        *,
        pair: str | None = None,
        target: str | None = None,
        before: str | None = None,
        language: str | None = None,
    ) -> None:
        self.subject = subject
        self.read = read_text(subject, text, pair, language=language)
        self.before = None if before is None else self._remembered(before, language)
        self.target: TextRead | None = None
        if isinstance(subject.network, EncoderDecoderModel):
            self.target = decoder_text(subject, text, self.read, target)
        elif target is not None:
            raise PlumeError(f"{subject.name} has no decoder: leave out --target (two texts that are read together are --pair).")

    def _remembered(self, before: str, language: str | None) -> TextRead:
        if self.subject.network.memory is None:
            raise PlumeError(f"{self.subject.name} has no memory: leave out --before (families with one: transformer-xl, xlnet).")
        return read_text(self.subject, before, language=language)

    @torch.inference_mode()
    def maps(self, gates: Gates | None = None) -> list[AttentionMap]:
        """What every head looks at."""
        if self.target is not None:
            return self._both_sides(gates or {})
        batch = row_batch(self.subject, self.read)
        maps = [self._map(AttentionPlace.SELF, self._looks(batch, gates or {})[AttentionPlace.SELF], self.read)]
        if isinstance(self.subject.network, TwoStreamModel) and len(self.read.tokens) > 1:
            maps.append(self._query_stream(batch, gates or {}))
        return maps

    def _looks(self, batch: Batch, gates: Gates) -> dict[AttentionPlace, list[Attended]]:
        network, looks = self.subject.network, dict[AttentionPlace, list[Attended]]()
        looks[AttentionPlace.SELF] = []
        with network.fresh_memory(), gated(self.subject.network, gates, looks):
            if self.before is not None:
                network.encode(replace(row_batch(self.subject, self.before), stream=0, begins=True))
                looks[AttentionPlace.SELF].clear()
                batch = replace(batch, stream=0)
            network.encode(batch)
        return looks

    def _query_stream(self, batch: Batch, gates: Gates) -> AttentionMap:
        """From left to right: each place is predicted from those before it. The first has none, and is not asked."""
        time = batch.tokens.shape[1]
        read = torch.arange(1, time, device=batch.tokens.device)[None]
        mask = self.subject.body.tokenizer.mask
        query = None if mask is None else torch.full_like(read, mask)
        looks = self._looks(replace(batch, order=Order.CAUSAL, rank=None, read=read, query=query), gates)[AttentionPlace.SELF]
        asked = [
            replace(
                one,
                query=one.query[:, :, 1 - time :],
                bias=None if one.bias is None else one.bias[:, :, 1 - time :],
                probability=one.probability[:, :, 1 - time :],
            )
            for one in looks
        ]
        rows = TextRead(tokens=self.read.tokens[1:], names=self.read.names[1:], text=self.read.text[1:])
        return self._map(AttentionPlace.QUERIES, asked, rows)

    def _both_sides(self, gates: Gates) -> list[AttentionMap]:
        network, target = self.subject.network, self.target
        assert isinstance(network, EncoderDecoderModel) and target is not None
        looks: dict[AttentionPlace, list[Attended]] = {AttentionPlace.ENCODER: [], AttentionPlace.DECODER: [], AttentionPlace.CROSS: []}
        source = row_batch(self.subject, self.read)
        tokens = torch.tensor([target.tokens], device=source.tokens.device)
        with gated(self.subject.network, gates, looks):
            network.decode(Batch(tokens=tokens, order=Order.CAUSAL, source=source), network.encode(source))
        return [
            self._map(AttentionPlace.ENCODER, looks[AttentionPlace.ENCODER], self.read),
            self._map(AttentionPlace.DECODER, looks[AttentionPlace.DECODER], target),
            self._map(AttentionPlace.CROSS, looks[AttentionPlace.CROSS], target, self.read),
        ]

    def _map(self, place: AttentionPlace, looks: list[Attended], rows: TextRead, columns: TextRead | None = None) -> AttentionMap:
        seen = columns or self.read if place is not AttentionPlace.DECODER else rows
        memory = looks[0].probability.shape[-1] - len(seen.names)
        return AttentionMap(
            place=place,
            rows=rows.names,
            row_text=rows.text,
            columns=self._memory_names(memory) + seen.names,
            column_text=[MEMORY] * memory + seen.text,
            probability=[_array(one.probability) for one in looks],
            query=[_array(one.query) for one in looks],
            key=[_array(one.key) for one in looks],
            bias=[None if one.bias is None else _array(one.bias) for one in looks],
            scale=looks[0].scale,
            position=self._position(place),
        )

    def _memory_names(self, count: int) -> list[str]:
        if not count:
            return []
        memory, before = self.subject.network.memory, self.before
        assert memory is not None and before is not None, "only what was read before is remembered"
        return before.names[: max(1, int(memory.reuse * len(before.names)))][-count:]

    def _position(self, place: AttentionPlace) -> list[str]:
        network = self.subject.network
        if place is AttentionPlace.CROSS:
            return []
        embedding = network.embedding
        if place is AttentionPlace.DECODER and isinstance(network, EncoderDecoderModel):
            embedding = network.decoder_embedding
        return where_position_enters(embedding.position)


def where_position_enters(scheme: PositionModule) -> list[str]:
    """The hooks that a scheme uses."""
    hooks: Mapping[str, str] = {"input": "at_input", "query_key": "at_query_key", "scores": "at_scores", "values": "at_values"}
    return [name for name, hook in hooks.items() if getattr(type(scheme), hook) is not getattr(PositionModule, hook)]


def _array(value: torch.Tensor) -> Floats:
    return value[0].float().cpu().numpy()


__all__ = ["MEMORY", "SPECIAL", "AttentionMap", "AttentionReader", "where_position_enters"]
