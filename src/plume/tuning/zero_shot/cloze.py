"""Labels read off a cloze (PET, arXiv:2001.07676 §3): how likely is each one's wording in a sentence that follows the text?"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batching import by_length
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import HeadModule, precise
from plume.model.use.abilities import Abilities
from plume.model.use.blanks import tensor
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words
from plume.tuning.rows.rows import Array
from plume.tuning.zero_shot.blanks import LONGEST
from plume.tuning.zero_shot.cloze_ways import Filled, Pattern, way_of

TEXT = "{text}"
SLOT = re.compile(r"\{\}|\{label\}|_{3,}")  # where the label goes


class Cloze:
    """One template over one model; `labels` are words. Scores are mean log-probabilities of a label's tokens.

    The mean, since a sum would call long labels unlikely for being long.
    """

    def __init__(self, can: Abilities, template: str, labels: Sequence[str]) -> None:
        self.can, self.way, self.labels = can, way_of(can), len(labels)
        start, end = _cut(template)
        self.template = SLOT.sub(" ", f"{start} {end}")
        self.spaced = start.endswith(" ")  # the text's first word then carries that space, as in running text
        filled = [_filled(can.tokenizer, start.rstrip(" "), end, label) for label in labels]
        self.patterns = _grouped([self.way.pattern(one, number) for number, one in enumerate(filled)])
        longest = can.model.recipe.positions.longest or LONGEST
        self.room = longest - max(one.size for one in self.patterns)
        if self.room < 1:
            raise PlumeError(
                f"The template and its labels leave no room for the text in {longest} tokens: shorten them ('{template[:60]}')."
            )

    def scores(self, texts: Sequence[str], *, language: str | None = None) -> NDArray[np.float64]:
        """[texts, labels] in nats. A text that is too long is cut at its end, the template never. A row has the text's language."""
        cut = self.can.tokenizer.encode_joined([f" {text}" if self.spaced else text for text in texts], words=Words.SPACES)
        begin = cut.token_bounds[:-1]
        end = np.minimum(cut.token_bounds[1:], begin + self.room)
        spoken = self._languages(texts, language)
        table = np.zeros((len(texts), self.labels))
        for pattern in self.patterns:
            for index in by_length(end - begin + pattern.size):
                told = None if spoken is None else spoken[index]
                table[np.ix_(index, pattern.labels)] = self._batch(pattern, cut.ids, begin[index], end[index], told)
        return table

    def _languages(self, texts: Sequence[str], said: str | None) -> Array | None:
        """[texts]; of no text, that of the template."""
        if self.can.model.languages is None:
            self.can.check_language(said)
            return None
        read = [text or self.template for text in texts]
        return np.array([self.can.language(*one, said) for one in zip(read, self.can.tokenizer.encode(read), strict=True)], np.int64)

    @torch.inference_mode()
    def _batch(self, pattern: Pattern, ids: Array, begin: Array, end: Array, language: Array | None) -> NDArray[np.float64]:
        """[B, L]"""
        head, states = self.way.states(pattern, ids, begin, end, language)
        return _means(head, states, tensor(self.can, pattern.answers)).double().cpu().numpy()


def _means(head: HeadModule, states: Tensor, answers: Tensor) -> Tensor:
    """[B, L] from [B, M, D] states and [L, M] tokens."""
    logits = precise(head.logits(states))
    picked = logits.gather(2, answers.T[None].expand(len(logits), -1, -1))  # [B, M, L]
    return (picked - logits.logsumexp(-1, keepdim=True)).mean(1)


def _grouped(patterns: Sequence[Pattern]) -> list[Pattern]:
    """Masks show no label, so labels of as many tokens have the same rows, which are read once for all of them."""
    groups: dict[tuple[bytes, ...], Pattern] = {}
    for one in patterns:
        key = tuple(part.tobytes() for part in (one.before, one.after, one.place, *(one.written or ())))
        if known := groups.get(key):
            one = replace(
                one, labels=np.concatenate([known.labels, one.labels]), answers=np.concatenate([known.answers, one.answers])
            )  # fmt: skip
        groups[key] = one
    return list(groups.values())


def _cut(template: str) -> tuple[str, str]:
    """Before the text and after it; one of the two has the label's place."""
    if len(SLOT.findall(template)) != 1 or template.count(TEXT) > 1:
        raise PlumeError(f"The template '{template}' needs one place for the label, {{}} or ___, and at most one {TEXT}.")
    if TEXT not in template:
        template = f"{TEXT} {template}" if template.isascii() else TEXT + template
    start, _, end = template.partition(TEXT)
    return start, end


def _filled(tokenizer: Tokenizer, start: str, end: str, label: str) -> Filled:
    slot = SLOT.search(end)
    behind = slot is not None
    slot = slot or SLOT.search(start)
    assert slot is not None, "a template has a place for the label"
    # The label is put in before the template is cut into tokens, as it would stand in running text.
    cut = [tokenizer.encode_joined([SLOT.sub(lambda _: label, part)], words=Words.SPACES) for part in (start, end)]
    own = cut[1] if behind else cut[0]
    # The space before the label is the label's, whether or not the tokenizer has a piece for both: otherwise it would be shown to some labels
    # only. So is a token that reaches over the label's bounds: without it the label would not be whole.
    first = slot.start() - slot.string[: slot.start()].endswith(" ")
    place = np.flatnonzero((own.end > first) & (own.start < slot.start() + len(label)))
    answers = own.ids[place]
    if not len(place) or (tokenizer.unknown is not None and (answers == tokenizer.unknown).any()):
        raise PlumeError(
            f"The label '{label}' holds signs that this model's vocabulary lacks: say it in other words (--labels NAME=WORDS)."
        )
    return Filled(before=cut[0].ids, after=cut[1].ids, place=place, behind=behind, answers=answers)
