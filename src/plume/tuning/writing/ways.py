"""Ways to write a text after reading one: what each kind of model is fed in training, and which writer goes on at use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from plume.core.batch import Batch, Order, Target
from plume.core.part import Part, replace
from plume.model.networks.model import Model
from plume.model.use.writers import CausalWriter, DecoderWriter, MaskWriter, SpanWriter, Writer
from plume.tuning.rows.rows import Array, Coder, Stretch, TextRows
from plume.tuning.rows.written_rows import Pairs, asked, behind


@dataclass(frozen=True, kw_only=True)
class Way(Part):
    """How a model writes, by one of the objectives that it was trained with. Special tokens are ids of the model's own tokenizer."""

    spread: ClassVar[float] = CausalWriter.spread  # by how much the texts that are answered together may differ in length

    objective: str  # whose head predicts the tokens
    end: int
    opening: tuple[int, ...] = ()  # tokens that are written before the text itself

    def most(self, coder: Coder) -> int:
        """Tokens that a text may have which is written; half of the row, where it stands in the same one."""
        return coder.length // 2

    def room(self, coder: Coder, longest: int) -> int:
        """Tokens of the text that is read, beside one of `longest` tokens and its end."""
        return coder.room(1) - longest - 1

    def left(self, coder: Coder, rows: TextRows) -> Array:
        """[R] tokens of text that may follow these rows in training."""
        return coder.length - 1 - rows.length

    def lay_out(self, stretch: Stretch, coder: Coder) -> TextRows:
        """What is read."""
        return coder.lay_out(stretch)

    def batch(self, pairs: Pairs, name: str) -> Batch:
        """For training: every token that is written is asked for."""
        raise NotImplementedError

    def writer(self, model: Model, source: Batch) -> Writer:
        """At use, for many texts at once."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ByDecoder(Way):
    """The encoder reads, the decoder writes (arXiv:1706.03762 §3.1). BART's writes the text's special tokens too, as it was trained to."""

    start: int

    def most(self, coder: Coder) -> int:
        return coder.length - 1 - len(self.opening)

    def room(self, coder: Coder, longest: int) -> int:
        return coder.room(1)

    def left(self, coder: Coder, rows: TextRows) -> Array:
        return np.full(len(rows), self.most(coder))

    def batch(self, pairs: Pairs, name: str) -> Batch:
        inside = pairs.inside
        fed = np.concatenate([np.full((len(inside), 1), self.start), pairs.written[:, :-1]], axis=1)
        target = Target(index=np.flatnonzero(inside), value=pairs.written[inside], whole=bool(inside.all()))
        return Batch(tokens=np.where(inside, fed, pairs.pad), order=Order.CAUSAL, source=pairs.source, labels={name: target})

    def writer(self, model: Model, source: Batch) -> Writer:
        prompt = Batch(tokens=torch.full_like(source.tokens[:, :1], self.start))
        return DecoderWriter(model, model.head(self.objective), source, prompt)


@dataclass(frozen=True, kw_only=True)
class AfterText(Way):
    """One row: the text, a separator, what is written (GPT §3.3). Only what is written counts."""

    def batch(self, pairs: Pairs, name: str) -> Batch:
        fed, length = behind(pairs, (pairs.written, pairs.size - 1))
        return asked(Batch(tokens=fed, length=length, order=Order.CAUSAL), pairs, name, first=pairs.length - 1)

    def writer(self, model: Model, source: Batch) -> Writer:
        return CausalWriter(model, model.head(self.objective), source, forgets=False)


@dataclass(frozen=True, kw_only=True)
class AtMasks(Way):
    """UniLM (arXiv:1905.03197 §2.3): what is read sees itself; each token is predicted at a mask in its place.

    The paper hides some of the target at a time (§3.1: 70%); here every token has a mask of its own, which sees what is written before it and
    which no other place sees, so that all are learned from at once, from exactly what is seen at use (as in the authors' later s2s-ft).
    """

    spread: ClassVar[float] = MaskWriter.spread

    mask: int
    segments: tuple[int, int] = (0, 1)

    def batch(self, pairs: Pairs, name: str) -> Batch:
        masks = np.full_like(pairs.written, self.mask)
        fed, length = behind(pairs, (pairs.written, pairs.size), (masks, pairs.size))
        column = np.arange(fed.shape[1]) - pairs.length[:, None]
        written = column >= 0
        masked = column >= pairs.size[:, None]
        step = np.where(masked, column - pairs.size[:, None], column)
        rank = np.where(written, 2 * step + np.where(masked, 1, 2), 0)
        made = Batch(
            tokens=fed,
            length=length,
            order=Order.RANKED,
            rank=rank,
            until=np.where(masked, rank + 1, 2 * fed.shape[1] + 2),
            position=np.where(written, pairs.length[:, None] + step, np.arange(fed.shape[1])),
            segment=np.where(written, self.segments[1], self.segments[0]),
        )
        return asked(made, pairs, name, first=pairs.length + pairs.size)

    def writer(self, model: Model, source: Batch) -> Writer:
        read = replace(source, segment=torch.full_like(source.tokens, self.segments[0]))
        nothing = Batch(tokens=source.tokens[:, :0])
        return MaskWriter(model, model.head(self.objective), nothing, self.mask, segment=self.segments[1], source=read)


@dataclass(frozen=True, kw_only=True)
class InBlank(Way):
    """GLM (arXiv:2103.10360 §2.3, "Finetuning"): the text ends in a blank, and what fills it is written behind."""

    spread: ClassVar[float] = SpanWriter.spread

    start: int
    mask: int

    def room(self, coder: Coder, longest: int) -> int:
        return super().room(coder, longest) - 1

    def lay_out(self, stretch: Stretch, coder: Coder) -> TextRows:
        rows = coder.lay_out(stretch)
        behind_text = len(coder.single) - 1 - coder.single.index("A")
        places = rows.bounds[1:] - behind_text
        return replace(rows, tokens=np.insert(rows.tokens, places, self.mask), bounds=rows.bounds + np.arange(len(rows.bounds)))

    def batch(self, pairs: Pairs, name: str) -> Batch:
        started = np.concatenate([np.full((len(pairs.size), 1), self.start), pairs.written], axis=1)
        fed, length = behind(pairs, (started, pairs.size))
        column = np.arange(fed.shape[1]) - pairs.length[:, None]
        blank = (pairs.read == self.mask).argmax(1)[:, None]
        step = np.maximum(column + 1, 0)
        position = np.where(column >= 0, blank, np.arange(fed.shape[1]))
        made = Batch(tokens=fed, length=length, order=Order.RANKED, rank=step, position=position, within=step)
        return asked(made, pairs, name, first=pairs.length)

    def writer(self, model: Model, source: Batch) -> Writer:
        blank = (source.tokens == self.mask).int().argmax(1)
        return SpanWriter(model, model.head(self.objective), source, blank.tolist(), self.start)
