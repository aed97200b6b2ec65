"""A trained model with a head for each task, and what stands between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.head import Dims, Head, HeadModule, Loss
from plume.heads.sentence_classification import SentenceClassification, SentenceClassificationModule
from plume.model.networks.recurrent import RecurrentModel, picked
from plume.model.networks.two_streams import TwoStreamModel
from plume.model.trainable import Trainable
from plume.nn.low_rank import add_low_rank
from plume.nn.pooling import Pooling
from plume.nn.scalar_mix import ScalarMix
from plume.nn.stack import initialise
from plume.tuning.adapting.adaptation import Adaptation, Mode, Place
from plume.tuning.adapting.word_body import WordBody

Body = Any  # a Model or a WordBody: `encode`, `width`, `spelling`, `body_flops`


class TaskModel(Trainable):
    """`body` is the model as it was trained, its own heads included; `network` and `mixes` stand on frozen layers; a head for each task.

    A head that reads one state of a text gets that of one token where the family has one for it, else a pooled one. A task that is answered
    in words has none: `writing` says which of the body's own objectives answers it.
    """

    def __init__(
        self,
        body: Body,
        heads: Mapping[str, Head],
        adaptation: Adaptation,
        writing: Mapping[str, str] | None = None,
        *,
        from_scratch: bool = False,
    ) -> None:
        super().__init__()
        self.memories = {}
        self.body, self.adaptation, self.writing = body, adaptation, dict(writing or {})
        if self.writing and adaptation.mode.frozen:
            raise PlumeError(
                f"{', '.join(self.writing)}: a model that writes learns by its own weights, and --mode {adaptation.mode} freezes them; "
                "use --mode full or adapters."
            )
        self.frozen = adaptation.mode.frozen and not from_scratch  # what knows nothing has to learn
        self.pools = adaptation.mode.frozen or isinstance(body, RecurrentModel | WordBody)
        self.mixes, self.network, width = None, None, body.width
        if adaptation.layer is not None and not -1 - layers_of(body) < adaptation.layer < layers_of(body):
            raise PlumeError(
                f"There is no layer {adaptation.layer} to probe: {body.recipe.name} has 0 (embedding) to {layers_of(body) - 1}."
            )
        if adaptation.mode is Mode.FEATURES:
            places = [Place.INPUT, Place.OUTPUT] if adaptation.place is Place.BOTH else [adaptation.place]
            self.mixes = nn.ModuleDict({str(place): ScalarMix(layers_of(body), norm=adaptation.norm) for place in places})
            self.network = adaptation.network.build(body.width)
            width = self.network.output_width + (body.width if Place.OUTPUT in places else 0)
        self.heads = nn.ModuleDict({name: self._head(head, width) for name, head in heads.items()})
        self._freeze()

    def _head(self, head: Head, width: int) -> HeadModule:
        pooler = None if self.pools else getattr(self.body, "pooler", None)
        if isinstance(head, SentenceClassification) and self.pools:
            head = replace(head, hidden=None)
            width = width * (1 if self.adaptation.mode is Mode.PROBE else 3)
        return head.build(Dims(width=width, token=nn.Embedding(1, 1), pooler=pooler))

    def _freeze(self) -> None:
        adaptation = self.adaptation
        writing = [self.body.head(objective) for objective in self.writing.values()]
        # Token vectors that a head is tied to and a pooler that it reads through belong to the body, and learn.
        body = {id(one) for name, one in self.body.named_parameters(remove_duplicate=False) if not name.startswith("heads.")}
        for head in getattr(self.body, "heads", {}).values():  # of pre-training: kept, and not trained on unless they write the answers
            for parameter in head.parameters() if head not in writing else ():
                if id(parameter) not in body:
                    parameter.requires_grad_(False)
        if self.frozen:
            self.body.requires_grad_(False)
        elif adaptation.mode is Mode.ADAPTERS:
            add_low_rank(self.body, adaptation.adapters)
        elif adaptation.frozen_layers:
            freeze_layers(self.body, adaptation.frozen_layers)

    def initialise(self, seed: int, spread: float = 0.02) -> None:
        """What is new; the body has its weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for head in self.heads.values():
                for part in head.children():
                    if part is not getattr(self.body, "pooler", None):
                        initialise(part, spread)

    def train(self, mode: bool = True) -> TaskModel:
        super().train(mode)
        if self.frozen:
            self.body.eval()
        return self

    def head(self, name: str) -> HeadModule:
        head = self.body.head(self.writing[name]) if name in self.writing else self.heads[name]
        assert isinstance(head, HeadModule)
        return head

    def states(self, batch: Batch) -> Encoded:
        """What the heads read: [B, M, D] at the positions that the batch names, or pooled [B, 1, D]."""
        own = self._own(batch)
        if own.labels:
            written: Encoded = self.body.token_states(own)
            return written
        if not self.pools:
            if batch.source is not None:
                return self.body.token_states(batch)
            if isinstance(self.body, TwoStreamModel):  # there `read` would ask a query stream, which does not see its own token
                encoded = self.body.encode(replace(batch, read=None))
                return replace(encoded, last=picked(encoded.last, batch.read))
            return self.body.encode(batch)
        name = next(iter(batch.labels))
        whole = replace(batch, read=None)
        with torch.no_grad() if self.frozen else nullcontext():
            encoded = self.body.encode(whole, keep_layers=self.adaptation.mode.frozen)
        states = self._on_top(encoded, batch.length)
        if isinstance(self.head(name), SentenceClassificationModule):
            return replace(encoded, last=self._pooled(states, batch), layers=())
        return replace(encoded, last=picked(states, batch.read), layers=())

    def _own(self, batch: Batch) -> Batch:
        """With the questions that the body itself answers, by its objectives' names."""
        return replace(batch, labels={self.writing[name]: target for name, target in batch.labels.items() if name in self.writing})

    def _on_top(self, encoded: Encoded, length: Tensor | None) -> Tensor:
        if self.adaptation.mode is Mode.PROBE and self.adaptation.layer is not None:
            return encoded.layers[self.adaptation.layer]
        if self.mixes is None or self.network is None:
            return encoded.last
        layers = [layer for layer in encoded.layers if layer.shape[-1] == self.body.width]
        mixed = {name: mix(layers, length=length) for name, mix in self.mixes.items()}
        states = self.network(mixed.get("input", encoded.last), length)
        return torch.cat([states, mixed["output"]], dim=-1) if "output" in mixed else states

    def _pooled(self, states: Tensor, batch: Batch) -> Tensor:
        """The mean for a probe; else ULMFiT's last, largest and mean state side by side (arXiv:1801.06146 §3.3)."""
        rows, time = batch.tokens.shape
        length = torch.full((rows,), time, device=states.device) if batch.length is None else batch.length
        ways = [Pooling.MEAN] if self.adaptation.mode is Mode.PROBE else [Pooling.LAST, Pooling.MAX, Pooling.MEAN]
        return torch.cat([pool(states, length) for pool in ways], dim=-1)[:, None]

    def counts(self, batch: Batch) -> dict[str, int]:
        return {name: max(len(target.value), 1) for name, target in batch.labels.items()}

    def flops(self, batch: Batch) -> int:
        own = self._own(batch)
        whole = not own.labels and (self.pools or isinstance(self.body, TwoStreamModel))
        body = self.body.body_flops(replace(own, read=None if whole else batch.read))  # heads are counted below
        heads = sum(self.head(name).flops(len(target.index)) for name, target in batch.labels.items())
        rows, time = batch.tokens.shape
        network = 0 if self.network is None else self.network.flops(rows=rows, time=time)
        return (body // 3 if self.frozen else body) + 3 * (heads + network)

    def losses(self, batch: Batch) -> dict[str, Loss]:
        encoded = self.states(batch)
        found = {name: self.head(name).loss(encoded, target) for name, target in batch.labels.items()}
        if self.mixes is None or not self.adaptation.penalty or not torch.is_grad_enabled():
            return found
        penalty = torch.stack([mix.penalty(self.adaptation.penalty) for mix in self.mixes.values()]).sum()  # type: ignore[operator]
        return {name: replace(loss, total=loss.total + penalty * loss.count) for name, loss in found.items()}

    def scores(self, batch: Batch) -> Tensor:
        """What the head says of the one task that the batch asks about."""
        ((name, target),) = batch.labels.items()
        return self.head(name).scores(self.states(batch), target)


def layers_of(body: Body) -> int:
    """How many layers of the model's own width there are to mix."""
    if isinstance(body, WordBody):
        return 1
    tokens = torch.zeros((1, 1), dtype=torch.long, device=next(body.parameters()).device)
    with torch.no_grad():
        layers = body.encode(Batch(tokens=tokens), keep_layers=True).layers
    return sum(layer.shape[-1] == body.width for layer in layers)


def freeze_layers(body: Body, count: int) -> None:
    """The embedding and the first `count` layers."""
    stack = getattr(body, "stack", None)
    layers: Iterable[nn.Module] = () if stack is None else stack.blocks
    layers = list(layers)
    if not layers or count > len(layers):
        raise PlumeError(f"There are {len(layers)} layers of their own to freeze in {body.recipe.name}, not {count}.")
    for part in (body.embedding, *layers[:count]):
        part.requires_grad_(False)
