"""A trained model with a head for each task, and what stands between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.head import Dims, Head, HeadModule, Loss
from plume.model.networks.model import Model
from plume.model.networks.recurrent import picked
from plume.model.trainable import Trainable
from plume.nn.pooling import PoolingModule
from plume.nn.stack import initialise
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body
from plume.tuning.adapting.remembered import RememberedStates


class TaskModel(Trainable):
    """`body` is the model as it was trained, its own heads included; `top` is what the way to adapt it puts on it; a head for each task.

    A head that reads one state of a text gets that of one token where the family has one for it, else a pooled one. A task that is answered
    in words has none: `writing` says which of the body's own objectives answers it, `over` what reads the answer off that one's head.
    """

    def __init__(
        self,
        body: Body,
        heads: Mapping[str, Head],
        adaptation: Adaptation,
        writing: Mapping[str, str] | None = None,
        over: Mapping[str, Callable[[HeadModule], HeadModule]] | None = None,
        *,
        from_scratch: bool = False,
    ) -> None:
        super().__init__()
        self.memories = {}
        self.body, self.adaptation, self.writing = body, adaptation, dict(writing or {})
        self._over = {name: (over or {}).get(name, _itself) for name in self.writing}
        if self.writing and adaptation.frozen:
            raise PlumeError(
                f"{', '.join(self.writing)}: a model that writes learns by its own weights, and --mode {adaptation.mode} freezes them; "
                "use --mode full or adapters."
            )
        self.frozen = adaptation.frozen and not from_scratch  # what knows nothing has to learn
        self.remembered: RememberedStates | None = None  # while it is tuned, of a frozen body
        self.whole = adaptation.frozen or body.task_pooling is not None  # do all heads read whole rows, from what is on top?
        self.top = adaptation.on_top(body)
        for name, module in self.top.modules.items():  # it is no module itself, so that they are saved under these names
            self.add_module(name, module)
        self.pooled = {name for name, head in heads.items() if head.reads_text}  # whose head reads one vector made of a text
        self.pooling = self._pooling() if self.pooled else None
        if self.pooling is None:
            self.pooled = set()
            if adaptation.pooling is not None:
                raise PlumeError(
                    f"--pooling makes one vector of a text, and no head of {', '.join([*heads, *self.writing])} reads one: leave it out."
                )
        self.heads = nn.ModuleDict({name: self._head(name, head) for name, head in heads.items()})
        self._freeze_pretraining()
        if not from_scratch:
            adaptation.prepare(body)

    def _pooling(self) -> PoolingModule | None:
        part = self.adaptation.pooling_for(self.body)
        if part is None:
            return None
        return part.build([self.top.width] if part.last_only else self.top.widths(self.body))

    def _head(self, name: str, head: Head) -> HeadModule:
        if self.pooling is not None and name in self.pooled:
            head, width = head.over_pooled(), self.pooling.width
        else:
            width = self.top.width
        pooler = None if self.reads_whole(name) else self.body.pooler
        return head.build(Dims(width=width, token=nn.Embedding(1, 1), pooler=pooler))

    def _freeze_pretraining(self) -> None:
        """Heads of pre-training are kept, and not trained on unless they write the answers."""
        writing = [self.body.head(objective) for objective in self.writing.values()]
        # Token vectors that a head is tied to and a pooler that it reads through belong to the body, and learn.
        body = {id(one) for name, one in self.body.named_parameters(remove_duplicate=False) if not name.startswith("heads.")}
        for head in self.body.heads.values():
            for parameter in head.parameters() if head not in writing else ():
                if id(parameter) not in body:
                    parameter.requires_grad_(False)

    def initialise(self, seed: int, spread: float = 0.02) -> None:
        """What is new; the body has its weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for head in self.heads.values():
                for part in head.children():
                    if part is not self.body.pooler:
                        initialise(part, spread)

    def train(self, mode: bool = True) -> TaskModel:
        """A frozen body stays as it is measured, without dropout."""
        super().train(mode)
        if self.frozen:
            self.body.eval()
        return self

    def pace(self, name: str) -> float:
        """As the way to adapt has it."""
        return self.top.paces.get(name.partition(".")[0], 1.0)

    def head(self, name: str) -> HeadModule:
        """The one that answers this task: its own, or one of the body's that writes."""
        if name in self.writing:
            return self._over[name](self.body.head(self.writing[name]))
        head = self.heads[name]
        assert isinstance(head, HeadModule)
        return head

    def reads_whole(self, name: str | None) -> bool:
        """Does this task's head read what is made of whole rows, rather than the body's own states at some places?"""
        return self.whole or name in self.pooled

    def states(self, batch: Batch, *, head_mask: Tensor | None = None) -> Encoded:
        """What the heads read: [B, M, D] at the positions that the batch names, or pooled [B, 1, D]. `head_mask` is the body's."""
        batch = self.top.told(batch)
        own = self._own(batch)
        if own.labels:
            return self._token_states(own, head_mask)
        name = next(iter(batch.labels), None)
        if not self.reads_whole(name):
            return self._at(batch, head_mask)
        keep_layers = self.top.needs_layers or (self.pooling is not None and not self.pooling.part.last_only)
        encoded = self._whole(replace(batch, read=None), keep_layers, head_mask)
        layers = self.top.layers(encoded, batch.length)
        if self.pooling is not None and name in self.pooled:
            return replace(encoded, last=self.pooling(layers, batch.length)[:, None], layers=())
        return replace(encoded, last=picked(layers[-1], batch.read), layers=())

    def remember(self) -> None:
        """From now on compute what a frozen body makes of a text once. A table of words is as fast as the memory."""
        if self.frozen and isinstance(self.body, Model):
            self.remembered = RememberedStates(self.body.vocabulary)

    def _whole(self, batch: Batch, keep_layers: bool, head_mask: Tensor | None) -> Encoded:
        """The body's states of all tokens."""

        def encode(rows: Batch) -> Encoded:
            # What is frozen has no gradient of its own; only vectors that somebody put in ask for theirs.
            with torch.no_grad() if self.frozen and batch.extra is None else nullcontext():
                return self.top.encode(self.body, rows, keep_layers=keep_layers, head_mask=head_mask)

        return encode(batch) if self.remembered is None or head_mask is not None else self.remembered.encode(batch, encode)

    def _at(self, batch: Batch, head_mask: Tensor | None) -> Encoded:
        """The body's states at the positions that the batch names."""
        if batch.source is not None:
            return self._token_states(batch, head_mask)
        if self.body.queries:
            encoded = self.top.encode(self.body, replace(batch, read=None), head_mask=head_mask)
            return replace(encoded, last=picked(encoded.last, batch.read))
        return self.top.encode(self.body, batch, head_mask=head_mask)

    def _token_states(self, batch: Batch, head_mask: Tensor | None) -> Encoded:
        if head_mask is not None:
            raise PlumeError("Attention heads are masked where a network reads; this task is answered by its decoder or by its own head.")
        return self.body.token_states(batch)

    def _own(self, batch: Batch) -> Batch:
        """With the questions that the body itself answers, by its objectives' names."""
        return replace(batch, labels={self.writing[name]: target for name, target in batch.labels.items() if name in self.writing})

    def counts(self, batch: Batch) -> dict[str, int]:
        return {name: max(len(target.value), 1) for name, target in batch.labels.items()}

    def flops(self, batch: Batch) -> int:
        own = self._own(batch)
        whole = not own.labels and (self.reads_whole(next(iter(batch.labels), None)) or self.body.queries)
        body = self.body.body_flops(replace(own, read=None if whole else batch.read))  # heads are counted below
        heads = sum(self.head(name).flops(len(target.index)) for name, target in batch.labels.items())
        rows, time = batch.tokens.shape
        return (body // 3 if self.frozen else body) + 3 * (heads + self.top.flops(rows=rows, time=time))

    def losses(self, batch: Batch, *, head_mask: Tensor | None = None) -> dict[str, Loss]:
        return self.losses_of(self.states(batch, head_mask=head_mask), batch)

    def losses_of(self, encoded: Encoded, batch: Batch) -> dict[str, Loss]:
        """The same, of states that were computed already."""
        found = {name: self.head(name).loss(encoded, target) for name, target in batch.labels.items()}
        penalty = self.top.penalty() if torch.is_grad_enabled() else None
        if penalty is None:
            return found
        return {name: replace(loss, total=loss.total + penalty * loss.count) for name, loss in found.items()}

    def scores(self, batch: Batch, *, head_mask: Tensor | None = None) -> Tensor:
        """What the head says of the one task that the batch asks about."""
        ((name, target),) = batch.labels.items()
        return self.head(name).scores(self.states(batch, head_mask=head_mask), target)


def _itself(head: HeadModule) -> HeadModule:
    return head
