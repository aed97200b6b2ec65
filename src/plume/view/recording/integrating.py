"""Integrated gradients (Sundararajan et al. 2017, arXiv:1703.01365): what each token adds to an output on the way from a baseline to the text.

The path is a straight line between token vectors; positions, segments and special tokens stay as they are. Along it the gradient is integrated
by Gauss–Legendre's rule, with twice as many points until what the tokens add up to is the difference of the outputs.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.heads.head import at, precise
from plume.heads.token_labelling import TokenLabellingModule
from plume.model.networks.model import Model
from plume.model.networks.recurrent import RecurrentModel
from plume.train.device import to_device
from plume.tuning.adapting.word_body import WordBody
from plume.tuning.rows.questions import Questions
from plume.tuning.tuned import TunedModel

Output = Callable[[Tensor], Tensor]  # what the head says of n copies, to [n] numbers
_TOKENS = 4096  # read at once


class Baseline(enum.StrEnum):
    """What stands for a text that says nothing: at each of its tokens this vector."""

    MASK = "mask"
    PAD = "pad"
    ZERO = "zero"


@dataclass(frozen=True, kw_only=True)
class Integrated:
    """What each token adds to one output."""

    added: NDArray[np.float64]  # [R, T]
    output: float
    before: float  # the output for the baseline
    steps: int

    @property
    def error(self) -> float:
        """By how much the sum misses the difference, as a share of it (of a tenth of all that was added and taken, if that is more)."""
        difference = self.output - self.before
        scale = max(abs(difference), 0.1 * float(np.abs(self.added).sum()), 1e-9)
        return abs(float(self.added.sum()) - difference) / scale


class TextPath:
    """The way from the baseline to one group of rows of a tuned model's questions."""

    def __init__(self, model: TunedModel, questions: Questions, group: int, baseline: Baseline) -> None:
        self.model, self.questions, self.group = model, questions, group
        whole = self._copies(1)
        rows = questions.rows_of(np.array([group]))
        read = whole if whole.source is None else whole.source
        inside = torch.from_numpy(questions.rows.padded(questions.rows.text, rows, -1) >= 0).to(read.tokens.device)
        with torch.no_grad():
            self.text = self._vectors(read)  # [R, T, E]
            self.baseline = torch.where(inside[..., None], self._baseline(baseline, read), self.text)

    def integrate(self, output: Output, *, tolerance: float, most: int) -> Integrated:
        """With as many steps as bring the error below the tolerance; `most` at most."""
        steps = 16
        while True:
            found = self.integrated(output, steps)
            if steps >= most or found.error < tolerance:
                return found
            steps *= 2

    def integrated(self, output: Output, steps: int) -> Integrated:
        """With so many steps."""
        points, weights = np.polynomial.legendre.leggauss(steps)
        share = torch.tensor([0.0, *(0.5 * (points + 1)), 1.0]).to(self.text)
        weight = torch.tensor([0.0, *(0.5 * weights), 0.0]).to(self.text)
        slope = torch.zeros_like(self.text)
        values = []
        at_once = max(1, _TOKENS // (self.text.shape[0] * self.text.shape[1]))
        for some, weighing in zip(torch.split(share, at_once), torch.split(weight, at_once), strict=True):
            extra = self.vectors(some).requires_grad_()
            value = output(self.scores(len(some), extra))
            (gradient,) = torch.autograd.grad(value.sum(), extra)
            slope += (gradient.view(len(some), *self.text.shape) * weighing[:, None, None, None]).sum(0)
            values.append(value.detach())
        ends = torch.cat(values).double().cpu().numpy()
        added = (slope * (self.text - self.baseline)).sum(-1).double().cpu().numpy()
        return Integrated(added=added, output=float(ends[-1]), before=float(ends[0]), steps=steps)

    def vectors(self, share: Tensor) -> Tensor:
        """[n * R * T, E] at these shares of the way."""
        way = self.baseline + share[:, None, None, None] * (self.text - self.baseline)
        return way.flatten(0, 2)

    def scores(self, copies: int, extra: Tensor) -> Tensor:
        """What the head says of so many copies, which have these vectors."""
        return said(self.model, _with_vectors(self._copies(copies), extra, self.model.model.body.vocabulary))

    def _copies(self, count: int) -> Batch:
        batch = self.questions.batch(np.full(count, self.group))
        return to_device(self.model.finish(batch, self.questions), self.model.device)

    def _vectors(self, batch: Batch) -> Tensor:
        body = self.model.model.body
        if isinstance(body, WordBody):
            return body.encode(batch).last
        assert isinstance(body, Model)
        return body.embedding.vectors(batch.tokens, batch.unseen)

    def _baseline(self, baseline: Baseline, batch: Batch) -> Tensor:
        if baseline is Baseline.ZERO:
            return torch.zeros_like(self.text)
        number = self.model.tokenizer.mask if baseline is Baseline.MASK else self.model.tokenizer.pad
        if number is None:
            raise PlumeError(f"This model has no mask token to begin from: take another baseline, {Baseline.PAD} or {Baseline.ZERO}.")
        return self._vectors(replace(batch, tokens=torch.full_like(batch.tokens, number)))


def usual_baseline(model: TunedModel) -> Baseline:
    """The mask, where the model knows what a hidden word is; else padding, and for recurrent networks and word vectors no vector at all.

    A Transformer's norms divide by the length of what they read: beside nothing there is no small step for them (T5).
    """
    body = model.model.body
    if not isinstance(body, Model) or isinstance(body, RecurrentModel):
        return Baseline.ZERO
    return Baseline.PAD if model.tokenizer.mask is None else Baseline.MASK


def _with_vectors(batch: Batch, extra: Tensor, vocabulary: int) -> Batch:
    """Each token with a vector of its own. What a decoder reads are the same tokens, a place later."""
    read = batch if batch.source is None else batch.source
    own = vocabulary + torch.arange(read.tokens.numel(), device=extra.device).view_as(read.tokens)
    if batch.source is None:
        return replace(batch, tokens=own, extra=extra, unseen=None)
    written = torch.cat([batch.tokens[:, :1], own[:, :-1]], dim=1)
    return replace(batch, tokens=written, extra=extra, source=replace(batch.source, tokens=own, extra=extra))


def said(model: TunedModel, batch: Batch) -> Tensor:
    """The head's scores; of words what is said of each by itself, before a chain of labels decides."""
    ((name, target),) = batch.labels.items()
    head, states = model.model.head(name), model.model.states(batch)
    return precise(head.logits(at(states, target))) if isinstance(head, TokenLabellingModule) else head.scores(states, target)
