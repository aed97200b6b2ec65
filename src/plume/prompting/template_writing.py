"""Templates written by a model that fills spans (LM-BFF, arXiv:2012.15723 §5.2): what it would put between text and label word, and behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from plume.core.errors import PlumeError
from plume.model.use.abilities import Abilities
from plume.model.use.writers import DecoderWriter
from plume.noise.sentinels import SpansAfterSentinels
from plume.tuning.prompts.demonstrations import Demonstration
from plume.tuning.prompts.template import SLOT

_ROOM = 20  # tokens of a template, as the authors have it
_TEXT = 64  # tokens of each text that is shown
_SPACED = "'.,;:!?)”"  # before these no space is written


@dataclass(frozen=True)
class WrittenTemplate:
    """And how likely it is: the mean over its tokens of the log-probabilities' sum over examples."""

    template: str
    score: float


class TemplateWriter:
    """T5 and its kin, which fill several spans at once. What is written is the same for all examples: their log-probabilities are added."""

    def __init__(self, can: Abilities, *, beams: int) -> None:
        kind = can.decoder()
        if kind is None or not isinstance(kind.noise.target, SpansAfterSentinels):
            raise PlumeError(f"{can.name} cannot fill several spans at once, as t5 does. {can.words()}")
        self.can, self.kind, self.beams = can, kind, beams
        names = [can.tokenizer.id(name) for name in can.tokenizer.format.sentinel_tokens()[:3]]
        self.sentinels = [number for number in names if number is not None]
        if len(self.sentinels) < 2:
            raise PlumeError(f"{can.name} has too few sentinels to write templates: two spans need two or three.")

    @torch.inference_mode()
    def written(self, examples: Sequence[Demonstration]) -> list[WrittenTemplate]:
        """The likeliest, best first; each reads as a template with a blank."""
        two = len(examples[0].texts) > 1
        found: dict[str, float] = {}
        for tokens, score in self._searched([self._source(one) for one in examples]):
            split = tokens.index(self.sentinels[1])
            before, behind = (self.can.tokenizer.decode(list(some)).strip() for some in (tokens[:split], tokens[split + 1 :]))
            if not SLOT.search(before + behind) and "{" not in before + behind:
                found.setdefault(joined("{text}", before, "___", behind, *(["{text_b}"] if two else [])), score)
        return [WrittenTemplate(template, score) for template, score in found.items()]

    def _source(self, one: Demonstration) -> list[int]:
        texts = shown_tokens(self.can, one.texts)
        (word,) = self.can.tokenizer.encode([f" {one.word}"])
        first, second = self.sentinels[:2]
        return self.can.frame([*texts[0], first, *word, second, *(texts[1] if len(texts) > 1 else [])])

    def _searched(self, sources: list[list[int]]) -> list[tuple[tuple[int, ...], float]]:
        """Beam search over all examples at once: each beam has a row for every example."""
        can, count = self.can, len(sources)
        start = [can.start, self.sentinels[0]]
        writer = DecoderWriter(can.model, can.head(self.kind), can.rows(sources), can.rows([start] * count))
        beams: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
        finished: dict[tuple[int, ...], float] = {}
        scores = writer.first()
        for _ in range(_ROOM + 1):
            table = scores.view(len(beams), count, -1).sum(1)
            going: list[tuple[int, int, float]] = []
            for place, token, total in self._best(table, beams):
                written, _ = beams[place]
                if self._ends(token, written):
                    score = total / (len(written) + 1)
                    finished[written] = max(score, finished.get(written, score))  # whichever token ends it
                elif len(going) < self.beams:
                    going.append((place, token, total))
            if not going or len(finished) >= self.beams:
                break
            writer.reorder(torch.tensor([place * count + row for place, _, _ in going for row in range(count)], device=can.device))
            beams = [((*beams[place][0], token), total) for place, token, total in going]
            scores = writer.go_on(torch.tensor([token for _, token, _ in going for _ in range(count)], device=can.device))
        return sorted(finished.items(), key=lambda one: -one[1])

    def _best(self, table: torch.Tensor, beams: Sequence[tuple[tuple[int, ...], float]]) -> list[tuple[int, int, float]]:
        """Which beam, its next token, and the total: special tokens only where a span ends, and there alone where it has no more room."""
        totals = table + torch.tensor([[total] for _, total in beams], device=table.device)
        specials = torch.from_numpy(self.can.tokenizer.special_ids).to(table.device)
        for place, (written, _) in enumerate(beams):
            second = self.sentinels[1] in written
            allowed = self._closing if second else [self.sentinels[1]]
            kept = totals[place, allowed].clone()
            full = len(written) >= (_ROOM if second else _ROOM // 2)
            totals[place, slice(None) if full else specials] = float("-inf")
            totals[place, allowed] = kept
        best = totals.flatten().topk(min(2 * self.beams, totals.numel()))
        wide = totals.shape[1]
        return [
            (flat // wide, flat % wide, value)
            for value, flat in zip(best.values.tolist(), best.indices.tolist(), strict=True)
            if value > -1e30
        ]

    @property
    def _closing(self) -> list[int]:
        return [self.can.end, *self.sentinels[2:]]

    def _ends(self, token: int, written: tuple[int, ...]) -> bool:
        return self.sentinels[1] in written and token in self._closing


def shown_tokens(can: Abilities, texts: Sequence[str]) -> list[list[int]]:
    """Of each text as many as a writer looks at."""
    return [ids[:_TEXT] for ids in can.tokenizer.encode(list(texts))]


def joined(*pieces: str) -> str:
    """With spaces where a script has them.

    >>> joined("{text}", "It was", "___", ". Really"), joined("{text}", "这是", "___", "。")
    ('{text} It was ___. Really', '{text}这是___。')
    """
    said = [piece for piece in pieces if piece]
    made = said[0]
    wide = any(ord(sign) > 0x2E80 for piece in said for sign in piece)
    for piece in said[1:]:
        made += piece if wide or piece[0] in _SPACED else f" {piece}"
    return made
