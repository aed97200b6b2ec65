"""ContrastModel: the one trainable of all methods: it makes the vectors of a batch, and takes the method's loss over those of all processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from plume.core.batch import Batch, Encoded
from plume.heads.head import HeadModule, Loss
from plume.model.networks.model import Model
from plume.model.trainable import Trainable
from plume.nn.gathering import everyones, shared
from plume.nn.pooling import FIRST, Pooling
from plume.sentences.layer import PooledLayerModule
from plume.sentences.losses import ContrastLoss, Views, alignment, uniformity
from plume.sentences.rows import CONTRAST, TOKENS, chunks

ALIGNMENT, UNIFORMITY = "alignment", "uniformity"  # shown beside the loss, and not learned from
_NEAR = 0.8  # score of pairs that count as positive where alignment is measured


class ContrastModel(Trainable):
    """`pooling` None: as the family pools. `layer` stands on the pooled vector. `writer` is the head that writes the second
    text of a row, if it is to be written. In `parts` a batch is read twice, so that memory is that of a part, and negatives are the whole batch's
    (GradCache, arXiv:2101.06983): once to get the vectors, keeping nothing else, and again for each part's own gradient.
    """

    def __init__(
        self,
        body: Model,
        loss: ContrastLoss,
        *,
        pooling: Pooling | None = None,
        layer: PooledLayerModule | None = None,
        writer: HeadModule | None = None,
        parts: int = 1,
    ) -> None:
        super().__init__()
        self.memories = {}
        self.body, self.loss, self.pooling, self.parts = body, loss, pooling, parts
        self.layer = layer
        self._writer = [] if writer is None else [writer]  # a part of the body, not to be named twice

    def settle(self, batch: Batch) -> None:
        """What the vectors do not depend on does not learn: decoders, heads of pre-training. Found by asking for one gradient."""
        with torch.random.fork_rng(devices=[]):
            vectors, written = self._read(batch)
            torch.autograd.backward(vectors.sum() if written is None else vectors.sum() + written)
        for parameter in self.parameters():
            parameter.requires_grad_(parameter.grad is not None)
            parameter.grad = None

    def vectors(self, batch: Batch) -> Tensor:
        """[B, D] pooled, without the layer."""
        return self._pooled(self._encoded(batch), batch.length)

    def _encoded(self, batch: Batch) -> Encoded:
        part = self.pooling
        if (
            part is not None
            and part.last_only
            and part.tokens == (FIRST,)
            and TOKENS not in batch.labels
            and not self.body.recipe.recurrent
        ):
            first = torch.zeros((len(batch.tokens), 1), dtype=torch.long, device=batch.tokens.device)
            return self.body.encode(batch if self.body.queries else replace(batch, read=first))  # the last block makes one state a row
        return self.body.encode(batch, keep_layers=part is None or not part.last_only)

    def _pooled(self, encoded: Encoded, length: Tensor | None) -> Tensor:
        part = self.pooling
        rows, time = encoded.last.shape[:2]
        if part is None:
            every = torch.full((rows,), time, device=encoded.last.device) if length is None else length
            return self.body.pool(encoded, -1, every)
        layers: Sequence[Tensor] = encoded.layers or (encoded.last,)
        if part.last_only:
            layers = (encoded.last,)
        return part.build([one.shape[-1] for one in layers])(layers, length)

    def _read(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """[B, D] vectors as they are trained, and the summed loss of what is written."""
        encoded = self._encoded(batch)
        vectors = self._pooled(encoded, batch.length)
        if self.layer is not None:
            vectors = self.layer(vectors)
        if TOKENS not in batch.labels:
            return vectors, None
        return vectors, self._writer[0].loss(encoded, batch.labels[TOKENS]).total

    def _in_parts(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """The same, a part at a time: what a part computes is not kept, and computed again, with the same dropout, when its gradient is due."""
        groups = len(batch.labels[CONTRAST].value)
        picked = [torch.as_tensor(rows, device=batch.tokens.device) for rows in chunks(batch, groups=groups, parts=self.parts)]
        made = [checkpoint(self._read, rows_of(batch, rows), use_reentrant=False) for rows in picked]
        vectors = torch.cat([one for one, _ in made])[torch.argsort(torch.cat(picked))]
        written = [total for _, total in made if total is not None]
        return vectors, torch.stack(written).sum() if written else None

    def counts(self, batch: Batch) -> dict[str, int]:
        target = batch.labels[CONTRAST]
        groups = len(target.value)
        found = {CONTRAST: groups, ALIGNMENT: int((target.value >= _NEAR).sum()), UNIFORMITY: groups}
        return found | ({TOKENS: len(batch.labels[TOKENS].value)} if TOKENS in batch.labels else {})

    def flops(self, batch: Batch) -> int:
        body = self.body.body_flops(replace(batch, labels={}))
        return body * 4 // 3 if self.parts > 1 else body  # read a second time

    def losses(self, batch: Batch) -> dict[str, Loss]:
        vectors, written = self._in_parts(batch) if self.parts > 1 and torch.is_grad_enabled() else self._read(batch)
        target = batch.labels[CONTRAST]
        own, score = len(target.value), target.value
        mine = Views(vectors=vectors.view(-1, own, vectors.shape[-1]), text=target.index.view(-1, own), score=score)
        if target.feature is not None:
            mine = _with_teacher(mine, target.feature)
        views = Views(vectors=everyones(mine.vectors, dim=1), text=everyones(mine.text, dim=1), score=everyones(score, dim=0))
        rows = len(views.score)
        found = {CONTRAST: Loss(total=shared(self.loss(views) * rows, own=own, rows=rows), count=own)}
        with torch.no_grad():
            near = (score >= _NEAR).to(score.dtype)
            found[ALIGNMENT] = Loss(total=alignment(mine, near), count=int(near.sum()))
            found[UNIFORMITY] = Loss(total=uniformity(views) * own, count=own)
        if written is not None:
            found[TOKENS] = Loss(total=written, count=len(batch.labels[TOKENS].value))
        return found


def _with_teacher(views: Views, taught: Tensor) -> Views:
    """With the teacher's vectors [N, D] as the last view."""
    return replace(
        views, vectors=torch.cat([views.vectors, taught[None].to(views.vectors.dtype)]), text=torch.cat([views.text, views.text[:1]])
    )


def rows_of(batch: Batch, rows: Tensor) -> Batch:
    """These rows of a batch, with what is written in them."""
    arrays = {name: getattr(batch, name) for name in ("tokens", "length", "rank", "position", "segment", "backward")}
    labels = {}
    if TOKENS in batch.labels:
        target, time = batch.labels[TOKENS], batch.tokens.shape[1]
        place = torch.full((len(batch.tokens),), -1, device=rows.device)
        place[rows] = torch.arange(len(rows), device=rows.device)
        row = place[target.index // time]
        mine = row >= 0
        labels = {TOKENS: replace(target, index=row[mine] * time + target.index[mine] % time, value=target.value[mine])}
    picked: dict[str, Any] = {name: None if array is None else array[rows] for name, array in arrays.items()}
    return replace(batch, labels=labels, named={name: array[rows] for name, array in batch.named.items()}, **picked)
