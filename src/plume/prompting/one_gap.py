"""Templates written by a model that fills one gap: what it would put between a text and its label's word, the same for all examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.model.networks.recurrent import picked
from plume.model.use.abilities import Abilities
from plume.prompting.template_writing import WrittenTemplate, joined, shown_tokens
from plume.train.device import to_device
from plume.tuning.prompts.blank import AskedRow, AtTheMasks, BehindTheText, ByDecoderText, LabelWord
from plume.tuning.prompts.demonstrations import Demonstration
from plume.tuning.prompts.finding import blank_of
from plume.tuning.prompts.questions import text_rows
from plume.tuning.prompts.template import SLOT

_LONGEST = 5  # tokens of a gap: without a cache each is read anew
_AT_ONCE = 128  # rows


class OneGapWriter:
    """Families with masks fill so many of them from left to right, for each number of them; GLM writes a span until it ends it, BART the whole text,
    until the label's word begins."""

    def __init__(self, can: Abilities, *, beams: int) -> None:
        blank = blank_of(can, left_to_right=True)
        if not isinstance(blank, AtTheMasks | BehindTheText | ByDecoderText):
            raise PlumeError(
                f"{can.name} cannot write templates: that takes a model that fills gaps, such as t5, bart, bert or glm. {can.words()}"
            )
        self.can, self.blank, self.beams = can, blank, beams
        self.specials = torch.from_numpy(can.tokenizer.special_ids).to(can.device)

    def written(self, examples: Sequence[Demonstration]) -> list[WrittenTemplate]:
        """The likeliest by their mean log-probability, best first."""
        sides = [self._sides(one) for one in examples]
        found = self._of_each_length(sides) if isinstance(self.blank, AtTheMasks) else self._until_the_end(sides)
        made: dict[str, float] = {}
        for tokens, score in sorted(found.items(), key=lambda one: -one[1]):
            said = self.can.tokenizer.decode(list(tokens)).strip()
            if said and "{" not in said and not SLOT.search(said):
                more = ["{text_b}"] if len(examples[0].texts) > 1 else []
                made.setdefault(joined("{text}", said, "___", ".", *more), score)
        return [WrittenTemplate(template, score) for template, score in made.items()]

    def _sides(self, one: Demonstration) -> tuple[list[int], list[int]]:
        texts, (word, stop) = shown_tokens(self.can, one.texts), self.can.tokenizer.encode([f" {one.word}", "."])
        return texts[0], [*word, *stop, *(texts[1] if len(texts) > 1 else [])]

    def _of_each_length(self, sides: list[tuple[list[int], list[int]]]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        for length in range(1, _LONGEST + 1):
            beams: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
            while len(beams[0][0]) < length:
                beams = self._longer(beams, self._scores([tokens for tokens, _ in beams], sides, length).sum(1))
            found |= {tokens: total / length for tokens, total in beams}
        return found

    def _until_the_end(self, sides: list[tuple[list[int], list[int]]]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        beams: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
        ends = [self.can.end if isinstance(self.blank, BehindTheText) else after[0] for _, after in sides]
        for length in range(_LONGEST + 1):
            table = self._scores([tokens for tokens, _ in beams], sides, length + 1)
            ended = table[:, range(len(sides)), ends].sum(1).tolist()
            for (tokens, total), ending in zip(beams, ended, strict=True):
                if tokens:
                    found[tokens] = (total + ending) / (length + 1)
            beams = self._longer(beams, table.sum(1))
        return found

    def _longer(self, beams: list[tuple[tuple[int, ...], float]], table: Tensor) -> list[tuple[tuple[int, ...], float]]:
        totals = table + torch.tensor([[total] for _, total in beams], device=table.device)
        totals[:, self.specials] = float("-inf")
        best = totals.flatten().topk(self.beams)
        wide = totals.shape[1]
        return [
            ((*beams[flat // wide][0], flat % wide), value) for value, flat in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]

    def _scores(self, written: Sequence[tuple[int, ...]], sides: list[tuple[list[int], list[int]]], length: int) -> Tensor:
        """[beams, examples, V] log-probabilities of the next token."""
        rows = [self._row(tokens, before, after, length) for tokens in written for before, after in sides]
        read = [self._read(rows[first : first + _AT_ONCE]) for first in range(0, len(rows), _AT_ONCE)]
        return torch.cat(read).view(len(written), len(sides), -1)

    def _row(self, tokens: tuple[int, ...], before: list[int], after: list[int], length: int) -> AskedRow:
        pad = self.can.tokenizer.pad
        word = LabelWord(0, 1, (*tokens, *[pad] * (length - len(tokens))))
        return list(self.blank.rows(before, [word], after))[len(tokens) if isinstance(self.blank, AtTheMasks) else 0]

    @torch.inference_mode()
    def _read(self, rows: Sequence[AskedRow]) -> Tensor:
        """[rows, V] what stands at the last place that each reads."""
        made, index = text_rows([row.tokens for row in rows], self.can.tokenizer.pad), np.arange(len(rows))
        places = np.array([[row.places[-1]] for row in rows])
        batch = Batch(tokens=made.padded(made.tokens, index, made.pad), length=made.length, read=places)
        decoded = text_rows([row.written for row in rows], self.can.tokenizer.pad)
        written = (decoded.padded(decoded.tokens, index, decoded.pad), decoded.length)
        asked = to_device(self.blank.batch(batch, written if len(decoded.tokens) else None), self.can.device)
        states = self.can.model.token_states(asked).last
        if asked.read is None:
            states = picked(states, torch.from_numpy(places).to(self.can.device))
        return self.can.model.head(self.blank.objective).logits(states[:, 0]).log_softmax(-1)
