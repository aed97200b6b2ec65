"""Model: the network that a recipe declares, and its losses."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.head import Dims, HeadModule, Loss
from plume.model.recipe import Recipe
from plume.nn.attention import LayerCache, Sight
from plume.nn.embedding import positions_of
from plume.nn.pooling import Pooler
from plume.nn.stack import Stack, initialise
from plume.nn.visibility import Mask, mask_of
from plume.objectives._objective import Answers, Objective


class Model(nn.Module):
    """One embedding, one stack, a head for each objective.

    Parameters are saved by `named_parameters`, which names a shared or tied tensor once.
    """

    def __init__(self, recipe: Recipe, *, vocabulary: int) -> None:
        super().__init__()
        self.recipe = recipe
        width, network = recipe.embedding.width, recipe.network
        positions = recipe.positions.build(width=width, head_width=network.head_width)
        self.embedding = recipe.embedding.build(vocabulary=vocabulary, positions=positions)
        self.stack = network.build(embedding_width=width, sharing=recipe.sharing)
        self.pooler = Pooler(network.width) if recipe.pooler else None
        self.heads = nn.ModuleDict({objective.name: self._head(objective) for objective in recipe.objectives})

    def _head(self, objective: Objective) -> HeadModule:
        return objective.head.build(Dims(width=self.recipe.network.width, token=self.embedding.token, pooler=self.pooler))

    def head(self, name: str) -> HeadModule:
        head = self.heads[name]
        assert isinstance(head, HeadModule)
        return head

    def initialise(self, seed: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            initialise(self, self.recipe.network.initial_range)
            for part in self.modules():
                if isinstance(part, Stack):
                    part.initialise()

    @property
    def vocabulary(self) -> int:
        return self.embedding.token.num_embeddings

    def encode(
        self,
        batch: Batch,
        *,
        keep_layers: bool = False,
        record_attention: bool = False,
        head_mask: Tensor | None = None,
        cache: list[LayerCache] | None = None,
    ) -> Encoded:
        """Run the stack; with `batch.read`, only those positions come out of the last block."""
        return self._run(self.stack, batch, keep_layers=keep_layers, record=record_attention, head_mask=head_mask, cache=cache)

    def token_states(self, batch: Batch) -> Encoded:
        """What the head that predicts tokens reads: here the one network's output."""
        return self.encode(batch)

    def _run(
        self,
        stack: Stack,
        batch: Batch,
        *,
        keep_layers: bool = False,
        record: bool = False,
        head_mask: Tensor | None = None,
        cache: list[LayerCache] | None = None,
    ) -> Encoded:
        held = cache[0].length if cache else 0
        position = positions_of(batch.tokens, batch.position)
        if held and batch.position is None:
            position = position + held
        longest = self.recipe.positions.longest
        if longest is not None and held + batch.tokens.shape[1] > longest:
            raise PlumeError(f"{held + batch.tokens.shape[1]} tokens are too many: {self.recipe.name} places at most {longest}.")
        keys = torch.arange(held + batch.tokens.shape[1], device=batch.tokens.device)[None] if batch.position is None else position
        sight = Sight(
            mask=mask_of(batch) if not held else Mask(causal=batch.tokens.shape[1] > 1),
            positions=self.embedding.position,
            query_position=position,
            key_position=keys,
            head_mask=head_mask,
            recorded=[] if record else None,
        )
        return stack(
            self.embedding(batch.tokens, position, batch.segment), sight=sight, read=batch.read, cache=cache, keep_layers=keep_layers
        )

    def counts(self, batch: Batch) -> dict[str, int]:
        """How many predictions each objective makes on the batch; known before the network runs."""
        tokens = batch.tokens.shape[0] * batch.tokens.shape[1] if batch.length is None else int(batch.length.sum())
        return {
            objective.name: tokens if objective.answers is Answers.GENERATOR else len(batch.labels[objective.name].value)
            for objective in self.recipe.objectives
            if objective.answers is Answers.GENERATOR or objective.name in batch.labels
        }

    def flops(self, batch: Batch) -> int:
        """Of one training step on the batch: its matrix products forward, and twice that backward. One rule for every family."""
        rows, time = batch.tokens.shape
        read = None if batch.read is None else batch.read.shape[1]
        counts = self.counts(batch)
        return 3 * (self.stack.flops(rows=rows, time=time, read=read) + sum(self.head(name).flops(n) for name, n in counts.items()))

    def losses(self, batch: Batch) -> dict[str, Loss]:
        """The loss of each objective that the batch has labels for."""
        encoded = self.encode(batch)
        return {name: self.head(name).loss(encoded, target) for name, target in batch.labels.items()}

    def forward(self, batch: Batch, scale: dict[str, Tensor]) -> tuple[Tensor, dict[str, Loss]]:
        """The weighted sum that training follows: each objective's summed loss times its scale (weight over the global count).

        Measuring gives no scales and takes the losses; it comes this way too, because sharded parameters are gathered here.
        """
        losses = self.losses(batch)
        weighted = [loss.total * scale[name] for name, loss in losses.items() if name in scale]
        return torch.stack(weighted).sum() if weighted else torch.zeros(()), losses
