"""Prediction in a random order: XLNet (arXiv:1906.08237; zihangdai/xlnet, data_utils.py) and MPNet (arXiv:2004.09297; microsoft/MPNet)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Shown
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Select
from plume.noise.target import Aim, TargetRule

ALWAYS = np.iinfo(np.int64).max  # `until` of tokens that stay visible


@dataclass(frozen=True, kw_only=True)
class NGramsInContext(Select):
    """Runs of n tokens, each inside a context of n × `context`: one token in six is predicted, 85 of 512 (XLNet §2.3).

    n is 1 … `longest` with probability proportional to 1/n, and a run begins with a word. The authors' loop means n words, but asks whether
    the run's first piece begins a word where it should ask about the next; so it takes n tokens, as the paper says, and so do we. Rows of other
    lengths predict round(length / context). What runs leave open is filled with single tokens.
    """

    longest: int = 5
    context: int = 6

    def __post_init__(self) -> None:
        if self.longest < 1 or self.context < 2:
            raise PlumeError(f"NGramsInContext(longest={self.longest}, context={self.context}): at least 1 and 2.")

    @property
    def share(self) -> float:
        return 1 / self.context

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        width = rows.tokens.shape[1]
        ordinary = ~rows.special
        goal = np.minimum(np.maximum(np.rint(rows.length / self.context).astype(np.int64), 1), ordinary.sum(1))
        tokens, start = self._runs(rows, goal, draws)
        score = np.where(ordinary & ~tokens, draws.uniform(width), 2.0)
        order = np.argsort(np.argsort(score, axis=1), axis=1)
        single = order < (goal - tokens.sum(1))[:, None]
        return Chosen(tokens=tokens | single, start=start | single)

    def _runs(self, rows: Rows, goal: NDArray[np.int64], draws: Draws) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        batch, width = rows.tokens.shape
        ordinary = ~rows.special
        before = np.pad(np.cumsum(ordinary, axis=1), ((0, 0), (1, 0)))  # ordinary tokens before each place
        begins = np.where(rows.word_start & ordinary, np.arange(width), width)
        begins = np.pad(np.minimum.accumulate(begins[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)), constant_values=width)
        odds = np.cumsum(1.0 / np.arange(1, self.longest + 1))
        lengths = 1 + np.searchsorted(odds, draws.uniform(width) * odds[-1], side="right")
        lot = draws.uniform(width)
        edge = np.zeros((batch, width + 1), np.int64)
        start = np.zeros((batch, width), bool)
        at, used = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
        row = np.arange(batch)
        for turn in range(width):
            n = np.minimum(lengths[row, turn], (goal - used)[row])
            left = (lot[row, turn] * n * self.context).astype(np.int64)
            first = begins[row, np.minimum(at + left, width)]
            end = first + n
            going = (n > 0) & (end < rows.length[row])  # as in the original, no run that reaches the row's end
            row, first, end, n, left = row[going], first[going], end[going], n[going], left[going]
            if not len(row):
                break
            start[row, first] = True
            edge[row, first] += 1
            edge[row, end] -= 1
            used[row] += before[row, end] - before[row, first]
            at = end + n * self.context - left
        return (np.cumsum(edge, axis=1)[:, :-1] > 0) & ordinary, start


@dataclass(frozen=True, kw_only=True)
class Permuted(TargetRule):
    """The selected tokens in place, each seeing the context and those that come before it in a random order (XLNet §2.2).

    The row is cut into `blocks` of equal size (the last may be shorter); each has an order of its own, and nothing sees a later block. XLNet has
    two: states of the first become memory, and would leak what they saw of the second. Special tokens take part in the order
    without being asked for, as in the authors' _local_perm; so the context does not see them.
    """

    streams: ClassVar[bool] = True
    blocks: int = 1

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise PlumeError(f"Permuted(blocks={self.blocks}): a row has at least one block.")

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        place = np.arange(rows.tokens.shape[1])
        size = np.maximum(-(-rows.length // self.blocks), 1)[:, None]
        block = place // size
        permuted = chosen.tokens | rows.special
        key = 3.0 * block + np.where(permuted, 1 + draws.uniform(len(place)), 0)
        key[place >= rows.length[:, None]] = np.inf
        order = np.argsort(np.argsort(key, axis=1), axis=1)  # block after block, the context of each before its permuted tokens
        rank = np.where(permuted, order, block * size)
        return Aim(shown=shown.tokens, length=rows.length, where=chosen.tokens, what=rows.tokens, rank=rank)


@dataclass(frozen=True, kw_only=True)
class MaskedPermuted(TargetRule):
    """As Permuted, but every token knows of the whole row: behind it stand copies of the selected tokens as the corruption shows them (MPNet).

    A copy is seen until the token itself is. The query stream begins with what the copy shows, which is not always the mask. The selected
    tokens' order is a permutation of single tokens, also inside whole words.
    """

    streams: ClassVar[bool] = True

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        if shown.tokens.shape != rows.tokens.shape:
            raise PlumeError("MaskedPermuted needs a corruption that leaves every token its place, such as Mask.")
        batch, width = rows.tokens.shape
        key = np.where(chosen.tokens, draws.uniform(width), 2.0)
        turn = np.argsort(np.argsort(key, axis=1), axis=1) + 1  # of the selected tokens, from 1
        count = chosen.tokens.sum(1)
        length = rows.length + count
        row, here = np.nonzero(chosen.tokens)
        there = length[row] - count[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)

        def joined(text: NDArray[np.int64], copies: NDArray[np.int64], rest: int) -> NDArray[np.int64]:
            whole = np.full((batch, int(length.max())), rest, np.int64)
            whole[:, :width] = text
            whole[row, there] = copies
            return whole

        inside = np.arange(width) < rows.length[:, None]
        where = np.zeros((batch, int(length.max())), bool)
        where[:, :width] = chosen.tokens
        return Aim(
            shown=joined(rows.tokens, shown.tokens[row, here], alphabet.pad),
            length=length,
            where=where,
            what=joined(rows.tokens, rows.tokens[row, here], alphabet.pad),
            rank=joined(np.where(chosen.tokens, turn, 0), np.zeros_like(here), 0),
            until=joined(np.full((batch, width), ALWAYS), turn[row, here], ALWAYS),
            position=joined(np.where(inside, np.arange(width), 0), here, 0),
            query=joined(shown.tokens, np.full_like(here, alphabet.pad), alphabet.pad),
            segment=None if rows.segment is None else joined(rows.segment, rows.segment[row, here], 0),
        )

    def raw(self, length: int, select: Select) -> int:
        """
        >>> from plume.noise.select import Tokens
        >>> MaskedPermuted().raw(512, Tokens())
        445
        """
        text = length
        while text > 1 and text + max(1, int(np.ceil(text * select.share))) > length:
            text -= 1
        return text
