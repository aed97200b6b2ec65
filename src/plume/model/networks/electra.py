"""ELECTRA's two networks: a generator fills masks with samples, a discriminator says which tokens are not the original (arXiv:2003.10555)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded, Target
from plume.heads.head import Dims, HeadModule, Loss, at
from plume.heads.token_prediction import TokenPredictionModule
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.stack import Stack, Transformer
from plume.objectives._objective import Answers, Objective


class Electra(Model):
    """`embedding`, `stack` and the replaced-token head are the discriminator, the model that is kept; `generator` shares the embedding."""

    def __init__(self, recipe: Recipe, *, vocabulary: int, generator: Transformer) -> None:
        self._generator_part = generator
        super().__init__(recipe, vocabulary=vocabulary)
        # A discriminator that was imported alone has nothing for a generator to learn from.
        trained = any(objective.answers is Answers.NOISE for objective in recipe.objectives)
        self.generator = generator.build(embedding_width=recipe.embedding.width, sharing=recipe.sharing) if trained else None

    def _head(self, objective: Objective) -> HeadModule:
        if objective.answers is Answers.NOISE:  # the generator's
            return objective.head.build(Dims(width=self._generator_part.width, token=self.embedding.token))
        return super()._head(objective)

    def token_states(self, batch: Batch, *, keep_layers: bool = False) -> Encoded:
        return self._run(self._token_stack(batch), batch, keep_layers=keep_layers)

    def _token_stack(self, batch: Batch) -> Stack:
        assert self.generator is not None, "masked_lm is declared, so there is a generator"
        return self.generator

    def flops(self, batch: Batch) -> int:
        """Both networks, and the generator's scores once more for drawing the samples."""
        total = super().flops(replace(batch, read=None))
        if self.generator is not None:
            rows, time = batch.tokens.shape
            read = None if batch.read is None else batch.read.shape[1]
            total += self.generator.step_flops(rows=rows, time=time, read=read, positions=self.embedding.position)
            total += 3 * self.embedding.product_flops(rows * time)
            drawn = [o.name for o in self.recipe.objectives if o.answers is Answers.NOISE and o.name in batch.labels]
            total += sum(self.head(name).flops(len(batch.labels[name].value)) for name in drawn)
        return total

    def losses(self, batch: Batch) -> dict[str, Loss]:
        losses: dict[str, Loss] = {}
        judged = batch
        for objective in self.recipe.objectives:
            if objective.answers is Answers.NOISE and objective.name in batch.labels:
                head, target = self.head(objective.name), batch.labels[objective.name]
                assert isinstance(head, TokenPredictionModule)
                encoded = self.token_states(batch)
                losses[objective.name] = head.loss(encoded, target)
                judged = self._pasted(batch, target, sample(head, at(encoded, target).detach()))
        encoded = self.encode(judged)
        for objective in self.recipe.objectives:
            if objective.answers is not Answers.NOISE and objective.name in judged.labels:
                losses[objective.name] = self.head(objective.name).loss(encoded, judged.labels[objective.name])
        return losses

    def _pasted(self, batch: Batch, target: Target, sampled: Tensor) -> Batch:
        """The text with samples at the selected places; a sample that hits the original token counts as original."""
        tokens = batch.tokens.flatten().scatter(0, target.index, sampled).view_as(batch.tokens)
        replaced = torch.zeros_like(batch.tokens).flatten().scatter(0, target.index, (sampled != target.value).long())
        inside = torch.ones_like(batch.tokens, dtype=torch.bool)
        if batch.length is not None:
            inside = torch.arange(tokens.shape[1], device=tokens.device) < batch.length[:, None]
        index = inside.flatten().nonzero().squeeze(1)
        answer = Target(index=index, value=replaced[index], whole=len(index) == len(replaced))
        names = [objective.name for objective in self.recipe.objectives if objective.answers is Answers.GENERATOR]
        others = {o.name for o in self.recipe.objectives if o.answers is Answers.LAYOUT} & batch.labels.keys()
        labels = dict.fromkeys(names, answer) | {name: replace(batch.labels[name], slot=None) for name in others}
        return replace(batch, tokens=tokens, read=None, labels=labels)


@torch.no_grad()
def sample(head: TokenPredictionModule, hidden: Tensor) -> Tensor:
    """[N] tokens drawn from the generator's distribution, by inverting its cumulative sum: one random number a row."""
    threshold = torch.rand(len(hidden), 1, device=hidden.device, dtype=hidden.dtype)
    drawn = []
    for states, lot in zip(torch.split(hidden, 256), torch.split(threshold, 256), strict=True):
        cumulative = head.logits(states).softmax(-1).cumsum(-1)
        drawn.append(torch.searchsorted(cumulative, lot * cumulative[:, -1:]).squeeze(1))
    return torch.cat(drawn).clamp_(max=head.token.num_embeddings - 1)
