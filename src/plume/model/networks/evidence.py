"""Evidence: the blocks of documents that a model looks things up in, as rows for its two networks, and their index."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch
from plume.data.blocks import Numbers, TextBlocks
from plume.text.tokenizer import Tokenizer
from plume.vectors.nearest import NOBODY, Nearest


class Evidence:
    """`vectors` is the index, [n, p]: None until a model has made it. A block of number -1 is the empty one."""

    def __init__(self, blocks: TextBlocks, tokenizer: Tokenizer) -> None:
        self.blocks, self.tokenizer = blocks, tokenizer
        assert tokenizer.begin is not None, "the recipe's format has a first token"
        self._begin: int = tokenizer.begin
        self._vectors: Tensor | None = None
        self._nearest: Nearest | None = None

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def vectors(self) -> Tensor | None:
        """The index."""
        return self._vectors

    @vectors.setter
    def vectors(self, made: Tensor) -> None:
        """Made anew."""
        self._vectors = made
        self._nearest = Nearest(made.float().cpu().numpy(), group=self.blocks.document)

    def search(self, queries: Tensor, count: int, own: Numbers | None) -> Numbers:
        """[B, count] the best blocks of each query but those of its own document; -1 where there are too few."""
        assert self._nearest is not None, "the index is made before anything is looked up"
        return self._nearest.search(queries.detach().float().cpu().numpy(), count, exclude=own).index

    def alone(self, which: Numbers, device: torch.device) -> Batch:
        """Blocks as the retriever reads them: title and body; the title is left out where there is none."""
        title, title_length = self.blocks.titles.rows(np.where(which < 0, NOBODY, self.blocks.document[np.maximum(which, 0)]))
        body, body_length = self.blocks.bodies.rows(which)
        return self._joined(
            [self._mark(self._begin, which), (title, title_length), self._mark(self.tokenizer.separator, which, title_length > 0),
             (body, body_length), self._mark(self.tokenizer.separator, which)], device=device,
        )[0]  # fmt: skip

    def behind(self, batch: Batch, which: Numbers, device: torch.device) -> Batch:
        """Blocks as the reader reads them: [B · k] rows of a text, [B, k] a block each behind it, as the second segment."""
        rows, count = which.shape
        tokens = batch.tokens.cpu().numpy()
        length = np.full(rows, tokens.shape[1]) if batch.length is None else batch.length.cpu().numpy()
        body, size = self.blocks.bodies.rows(which.ravel())
        text = (np.repeat(tokens, count, axis=0), np.repeat(length, count))
        made, segment = self._joined([text, (body, size), self._mark(self.tokenizer.separator, which.ravel(), size > 0)], device=device)
        return Batch(tokens=made.tokens, length=made.length, segment=segment)

    def holds(self, which: Numbers, spans: list[list[int]]) -> NDArray[np.bool_]:
        """[B] does the span of each row stand in any of its blocks, token for token?"""
        body, _ = self.blocks.bodies.rows(which.ravel(), fill=-1)
        body = body.reshape(*which.shape, -1)
        return np.array([_stands(row, span) for row, span in zip(body, spans, strict=True)], bool)

    def text(self, block: int) -> str:
        """Of one block."""
        body, length = self.blocks.bodies.rows(np.array([block]))
        return self.tokenizer.decode(body[0, : length[0]].tolist())

    def title(self, block: int) -> str:
        """Of the document that a block is of."""
        title, length = self.blocks.titles.rows(self.blocks.document[[block]])
        return self.tokenizer.decode(title[0, : length[0]].tolist())

    @staticmethod
    def _mark(token: int, which: Numbers, there: NDArray[np.bool_] | None = None) -> tuple[Numbers, Numbers]:
        """A special token in each row, or in those of them."""
        return np.full((len(which), 1), token), np.ones(len(which), np.int64) if there is None else there.astype(np.int64)

    def _joined(self, pieces: list[tuple[Numbers, Numbers]], *, device: torch.device) -> tuple[Batch, Tensor]:
        """Padded pieces one after another, and which tokens are not of the first."""
        total = np.sum([length for _, length in pieces], axis=0)
        made = np.full((len(total), int(total.max())), self.tokenizer.pad, np.int64)
        before = np.zeros(len(total), np.int64)
        for values, length in pieces:
            row, column = np.nonzero(np.arange(values.shape[1]) < length[:, None])
            made[row, before[row] + column] = values[row, column]
            before = before + length
        place = np.arange(made.shape[1])
        later = (place >= pieces[0][1][:, None]) & (place < total[:, None])
        length_there = torch.from_numpy(total).to(device) if (total < made.shape[1]).any() else None
        return Batch(tokens=torch.from_numpy(made).to(device), length=length_there), torch.from_numpy(later.astype(np.int64)).to(device)


def _stands(bodies: Numbers, span: list[int]) -> bool:
    if not span or bodies.shape[1] < len(span):
        return False
    windows = np.lib.stride_tricks.sliding_window_view(bodies, len(span), axis=1)
    return bool((windows == np.array(span)).all(2).any())
