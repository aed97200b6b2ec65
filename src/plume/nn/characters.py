"""Words from their characters: ELMo's convolutions, highway layers and projection (arXiv:1802.05365 §3.4; arXiv:1602.02410 §3.1)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part

# bilm-tf: the 256 bytes, then five signs, all one up so that 0 is free for a token that is not there.
SENTENCE_BEGINS, SENTENCE_ENDS, WORD_BEGINS, WORD_ENDS, PADDING = range(257, 262)
CHARACTERS = 262
PUBLISHED = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
SMALL = ((1, 16), (2, 32), (3, 48), (4, 64))


def character_ids(
    words: Sequence[str], *, longest: int = 50, begins: Collection[str] = (), ends: Collection[str] = (), absent: Collection[str] = ()
) -> NDArray[np.int32]:
    """[N, longest] the UTF-8 bytes of each word between a sign for its begin and one for its end, cut to fit.

    `begins` and `ends` are the words that stand for the edges of a sentence, `absent` those for no token at all (a row of zeros).

    >>> character_ids(["ab", "中"], longest=6).tolist()
    [[259, 98, 99, 260, 261, 261], [259, 229, 185, 174, 260, 261]]
    """
    if longest < 3:
        raise PlumeError(f"A word needs room for its begin, its end and a character: longest must be at least 3, not {longest}.")
    encoded = [word.encode("utf-8", "surrogatepass")[: longest - 2] for word in words]
    size = np.fromiter((len(word) for word in encoded), np.int64, len(encoded))
    place = np.arange(longest)[None, :]
    table = np.full((len(words), longest), PADDING, np.int32)
    table[(place >= 1) & (place <= size[:, None])] = np.frombuffer(b"".join(encoded), np.uint8).astype(np.int32) + 1
    table[:, 0] = WORD_BEGINS
    table[np.arange(len(words)), size + 1] = WORD_ENDS
    edges = np.full((2, longest), PADDING, np.int32)
    edges[:, :3] = [(WORD_BEGINS, sign, WORD_ENDS) for sign in (SENTENCE_BEGINS, SENTENCE_ENDS)]
    for named, row in ((begins, edges[0]), (ends, edges[1]), (absent, 0)):
        if named:
            table[np.fromiter((word in named for word in words), bool, len(words))] = row
    return table


@dataclass(frozen=True, kw_only=True)
class CharacterCNN(Part):
    """`filters` are (characters wide, how many): each is slid over a word and keeps its largest value, before the activation.

    >>> CharacterCNN(filters=SMALL, projection=64).build()(torch.from_numpy(character_ids(["ab", "cd"]))).shape
    torch.Size([2, 64])
    """

    characters: int = CHARACTERS
    longest: int = 50
    width: int = 16
    filters: tuple[tuple[int, int], ...] = PUBLISHED
    highways: int = 2
    projection: int = 512

    def __post_init__(self) -> None:
        if not self.filters or min(min(pair) for pair in self.filters) < 1:
            raise PlumeError(f"A character CNN needs filters as (characters wide, how many), both at least 1, not {self.filters}.")
        if max(wide for wide, _ in self.filters) > self.longest:
            raise PlumeError(f"A filter is wider than the longest word of {self.longest} characters: {self.filters}.")

    @property
    def filtered(self) -> int:
        """How many filters there are, which is the width of the highway layers."""
        return sum(count for _, count in self.filters)

    def build(self) -> CharacterCNNModule:
        """The convolutions."""
        return CharacterCNNModule(self)


class Highway(nn.Module):
    """gate · relu(W x + b) + (1 − gate) · x (arXiv:1505.00387)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, value: Tensor) -> Tensor:
        return torch.lerp(value, self.transform(value).relu(), self.gate(value).sigmoid())


class CharacterCNNModule(nn.Module):
    """What a `CharacterCNN` builds: convolutions over characters, their maxima, highway layers, a projection."""

    def __init__(self, part: CharacterCNN) -> None:
        super().__init__()
        self.part = part
        self.character = nn.Embedding(part.characters, part.width, padding_idx=0)
        self.filters = nn.ModuleList(nn.Conv1d(part.width, count, wide) for wide, count in part.filters)
        self.highways = nn.ModuleList(Highway(part.filtered) for _ in range(part.highways))
        self.project = nn.Linear(part.filtered, part.projection)
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """As bilm-tf starts: characters within ±1, filters within ±0.05, the rest normal by fan-in, and highways that carry."""
        nn.init.uniform_(self.character.weight, -1.0, 1.0)
        self.character.weight[0] = 0.0
        for module in self.modules():
            if isinstance(module, nn.Conv1d):
                nn.init.uniform_(module.weight, -0.05, 0.05)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=1.0 / math.sqrt(module.in_features))
            if isinstance(module, nn.Conv1d | nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, Highway):
                nn.init.constant_(module.gate.bias, -2.0)

    def forward(self, ids: Tensor) -> Tensor:
        """[N, C] characters to [N, projection]: best the distinct words of a batch, then picked by where they stand."""
        value = self.character(self._trimmed(ids).long()).transpose(1, 2)
        found = torch.cat([filters(value).max(2).values for filters in self.filters], dim=1).relu()
        for highway in self.highways:
            found = highway(found)
        projected: Tensor = self.project(found)
        return projected

    def _trimmed(self, ids: Tensor) -> Tensor:
        """Without the columns where every word is padding, but for as many as the widest filter reads: more would only
        repeat what it finds there, so the largest value is the same."""
        return ids[:, : self.columns(ids)]

    def columns(self, ids: Tensor) -> int:
        """How many characters of each word the filters are slid over."""
        used = int((ids != PADDING).any(0).sum())
        return min(ids.shape[1], used + max(wide for wide, _ in self.part.filters))

    def flops(self, *, words: int, characters: int | None = None) -> int:
        """Of the matrix products of one forward pass over words of so many characters each."""
        columns = self.part.longest if characters is None else characters
        slides = sum((columns - wide + 1) * wide * self.part.width * count for wide, count in self.part.filters)
        dense = self.part.filtered * (2 * self.part.highways * self.part.filtered + self.part.projection)
        return 2 * words * (slides + dense)
