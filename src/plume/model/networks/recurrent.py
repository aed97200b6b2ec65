"""A language model that reads from left to right through recurrent layers (ULMFiT), its state carried on from batch to batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.cnn_softmax import CNNSoftmaxModule
from plume.heads.head import Dims, HeadModule, Loss
from plume.model.memory import States
from plume.model.networks.model import Model
from plume.nn.character_embedding import CharacterEmbeddingModule
from plume.nn.embedding import EmbeddingModule, positions_of
from plume.nn.pooling import LAST_MAX_MEAN
from plume.nn.positions.scheme import PositionModule
from plume.nn.recurrent.attention_decoder import AttentionDecoderModule
from plume.nn.recurrent.bidirectional import BidirectionalStack
from plume.nn.recurrent.layer import RecurrentCell
from plume.nn.recurrent.recurrent import Recurrent, RecurrentOutput, RecurrentStack
from plume.nn.recurrent.rows import State
from plume.nn.recurrent.vector_decoder import VectorDecoderModule
from plume.nn.stack import initialise
from plume.objectives._objective import Objective

_SPREAD = 0.05  # of first token vectors and output weights, where the recipe names none


# Parts that know how they start; all others start normally distributed.
_OWN_START = (RecurrentStack, EmbeddingModule, CNNSoftmaxModule, BidirectionalStack, AttentionDecoderModule, VectorDecoderModule)


@dataclass(kw_only=True)
class StateCache:
    """What a writer keeps: the state after all that is written."""

    state: tuple[State, ...] | None = None

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows, in this order."""
        if self.state is not None:
            self.state = tuple(layer.pick(rows) for layer in self.state)


class RecurrentModel(Model):
    """Recurrent layers in place of a stack; the state after a row is where the next row of its stream begins."""

    task_pooling = LAST_MAX_MEAN
    tuning_rate = 1e-3

    def _build_body(self, vocabulary: int) -> None:
        network = self.recipe.network
        assert isinstance(network, Recurrent), "the recipe says that it is recurrent"
        self.embedding = self.recipe.embedding.build(vocabulary=vocabulary, positions=PositionModule())
        self.layers = network.build(self.recipe.embedding.width)

    def spell(self, words: Sequence[str]) -> None:
        if isinstance(self.embedding, CharacterEmbeddingModule):
            self.embedding.spell(words)
            for head in self.heads.values():
                if isinstance(head, CNNSoftmaxModule):
                    head.characters.copy_(self.embedding.spelled)

    @property
    def spells(self) -> bool:
        return isinstance(self.embedding, CharacterEmbeddingModule)

    def spelling(self, words: Sequence[str]) -> Tensor | None:
        return self.embedding.spelling(words) if isinstance(self.embedding, CharacterEmbeddingModule) and words else None

    def _head(self, objective: Objective) -> HeadModule:
        characters = self.embedding.spelled.clone() if isinstance(self.embedding, CharacterEmbeddingModule) else None
        return objective.head.build(
            Dims(width=self.recipe.network.output_width, token=self.embedding.token, pooler=self.pooler, characters=characters)
        )

    def initialise(self, seed: int) -> None:
        network = self.recipe.network
        assert isinstance(network, Recurrent)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            initialise(self, network.initial_range or _SPREAD)
            for part in self.modules():
                if isinstance(part, _OWN_START):
                    part.initialise()

    def new_cache(self) -> list[Any]:
        return [StateCache()]

    def encode(
        self,
        batch: Batch,
        *,
        keep_layers: bool = False,
        record_attention: bool = False,
        head_mask: Tensor | None = None,
        cache: list[Any] | None = None,
    ) -> Encoded:
        if record_attention or head_mask is not None:
            raise PlumeError(f"{self.recipe.name} is a recurrent network: it has no attention.")
        return self._encode(batch, keep_layers=keep_layers, cache=cache)

    def _encode(self, batch: Batch, *, keep_layers: bool, cache: list[Any] | None) -> Encoded:
        value = self._embedded(batch)
        held = cache[0].state if cache else self._layered(self._recalled(batch))
        read = self._read(batch, value, held, keep_layers=keep_layers)
        if cache:
            cache[0].state = read.state
        if batch.stream is not None:
            self.memories[batch.stream] = _flat(read.state)
        layers = (value, *read.layers) if keep_layers else ()
        return Encoded(last=picked(read.last, batch.read), layers=layers, state=read.state)

    def token_layers(self, batch: Batch) -> dict[int, Encoded]:
        """Layers that are added up (ELMo) share the last one's space; without that only the last says anything to the head."""
        network = self.recipe.network
        assert isinstance(network, Recurrent)
        encoded = self.encode(replace(batch, read=None), keep_layers=True)
        readable = range(1 if network.residual else network.depth, network.depth + 1)
        return {number: replace(encoded, last=encoded.layers[number], layers=()) for number in readable}

    def _embedded(self, batch: Batch) -> Tensor:
        return self.embedding(batch.tokens, positions_of(batch.tokens, None), None, unseen=batch.unseen, extra=batch.extra)

    def _read(self, batch: Batch, value: Tensor, held: tuple[State, ...] | None, *, keep_layers: bool) -> RecurrentOutput:
        return self.layers(value, state=held, length=batch.length, keep_layers=keep_layers)

    def _recalled(self, batch: Batch) -> States | None:
        return None if batch.stream is None or batch.begins else self.memories.get(batch.stream)

    def _layered(self, kept: States | None) -> tuple[State, ...] | None:
        """What `_flat` laid out, by layer again."""
        network = self.recipe.network
        assert isinstance(network, Recurrent)
        if kept is None:
            return None
        if network.cell is RecurrentCell.GRU:
            return tuple(State(hidden=hidden) for hidden in kept)
        return tuple(State(hidden=hidden, cell=cell) for hidden, cell in zip(kept[::2], kept[1::2], strict=True))

    def losses(self, batch: Batch) -> dict[str, Loss]:
        """In training with AWD-LSTM's penalties (arXiv:1708.02182 §4.6): states shall be small, and change little from token to token."""
        network = self.recipe.network
        assert isinstance(network, Recurrent)
        if not torch.is_grad_enabled() or batch.source is not None or not (network.activity or network.slowness):
            return super().losses(batch)
        encoded = self.encode(batch, keep_layers=True)
        found = {name: self.head(name).loss(encoded, target) for name, target in batch.labels.items()}
        penalty = network.activity * encoded.last.pow(2).mean()
        before_dropout = encoded.layers[-1]
        if before_dropout.shape[1] > 1:
            penalty = penalty + network.slowness * (before_dropout[:, 1:] - before_dropout[:, :-1]).pow(2).mean()
        return {name: replace(loss, total=loss.total + penalty * loss.count) for name, loss in found.items()}

    def body_flops(self, batch: Batch) -> int:
        rows, time = batch.tokens.shape
        return 3 * (self.layers.flops(rows=rows, time=time) + self._embedding_flops(batch))

    def _embedding_flops(self, batch: Batch) -> int:
        if not isinstance(self.embedding, CharacterEmbeddingModule):
            return self.embedding.product_flops(batch.tokens.shape[0] * batch.tokens.shape[1])
        return self.embedding.flops(batch.tokens, batch.unseen)


def picked(states: Tensor, read: Tensor | None) -> Tensor:
    """[B, M, D] the positions that heads read; all, where none are named."""
    return states if read is None else states.gather(1, read[:, :, None].expand(-1, -1, states.shape[2]))


def _flat(state: Sequence[State]) -> States:
    """As the run keeps it: hidden and cell of each layer, [B, …], without their past."""
    return [part.detach() for layer in state for part in (layer.hidden, layer.cell) if part is not None]
