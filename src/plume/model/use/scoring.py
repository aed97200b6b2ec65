"""How likely a model finds texts: exactly where it predicts one token after the other, else by hiding each token in turn.

Texts of like length are read together. What is read from left to right may be padded behind its end, where nothing of it looks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.batching import by_length
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule, precise
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities, Said
from plume.model.use.blanks import at_blanks, tensor
from plume.model.use.rows import padded
from plume.model.use.writers import bound_memory
from plume.model.use.writing import answering, writer_for

_STRETCH = 128  # tokens read at once where a memory holds what was before
_SCORES = 1 << 24  # logits held at once
Rows = list[list[int]]


@dataclass(frozen=True, kw_only=True)
class Score:
    """`log_probability` in nats: exact for a left-to-right model, the pseudo-log-likelihood (arXiv:1910.14659) for a masked one."""

    log_probability: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """Of a token in the mean."""
        return math.exp(-self.log_probability / max(self.tokens, 1))


def score(
    can: Abilities,
    texts: Sequence[str],
    *,
    source: Sequence[str] | None = None,
    memory: int | None = None,
    batch: int = 32,
    language: Sequence[Said] | None = None,
) -> list[Score]:
    """Of each text; `source` and `language` are one for each. At most `batch` rows are read at once."""
    if not texts:
        return []
    ids = can.tokenizer.encode(list(texts))
    said = [None] * len(texts) if language is None else language
    spoken = [
        can.language(text, own, told, place=f"text {number}" if len(texts) > 1 else "")
        for number, (text, own, told) in enumerate(zip(texts, ids, said, strict=True), 1)
    ]
    if memory is not None and can.model.recipe.memory is None:
        raise PlumeError(f"{can.name} has no memory to lengthen: leave it out, or train a family that has one (transformer-xl, xlnet).")
    if source is not None:
        return _decoded(can, kind, source, ids, batch) if (kind := can.decoder()) else _at_masks(can, source, ids, batch)
    if kind := can.causal():
        return _causal(can, kind, ids, spoken, batch) if can.model.recipe.memory is None else _with_memory(can, kind, ids, memory, batch)
    if kind := can.spans():
        return _written_out(can, kind, ids, texts, batch)
    if can.model.recipe.assembly.writes and (kind := can.permuted()):
        return _by_queries(can, kind, ids, memory, batch)
    if can.masked():
        return _pseudo(can, ids, texts, spoken, batch)
    if can.decoder():
        raise PlumeError(f"{can.name} writes after reading: say what it read (source, or --source) to score what it writes.")
    raise PlumeError(
        f"{can.name} cannot score text: it was not trained to predict tokens from what is before them or around them. {can.words()}"
    )


class _Sums:
    """Log-probabilities, added up for each text."""

    def __init__(self, can: Abilities, texts: int) -> None:
        self.can, self.total = can, np.zeros(texts)

    def add(self, head: HeadModule, states: Tensor, answers: Tensor, asked: Tensor, text: Sequence[int] | NDArray[np.int64]) -> None:
        """From [B, T, D] states the [B, T] answers, where they are `asked` for; [B] says of which text each row is."""
        step = max(1, _SCORES // self.can.model.vocabulary)
        picked = [
            precise(head.logits(state)).log_softmax(-1).gather(1, answer[:, None]).squeeze(1)
            for state, answer in zip(torch.split(states[asked], step), torch.split(answers[asked], step), strict=True)
        ]
        row = asked.nonzero()[:, 0].cpu().numpy()
        np.add.at(self.total, np.asarray(text)[row], torch.cat(picked).double().cpu().numpy())

    def scores(self, tokens: Sequence[int]) -> list[Score]:
        """With how many tokens of each text were asked for."""
        return [Score(log_probability=total, tokens=count) for total, count in zip(self.total.tolist(), tokens, strict=True)]


def _inside(can: Abilities, width: int, begin: Sequence[int], end: Sequence[int]) -> Tensor:
    """[B, T] columns from `begin` up to `end` of each row."""
    place = torch.arange(width, device=can.device)
    return (place >= can.tensor([list(begin)]).T) & (place < can.tensor([list(end)]).T)


def _causal(can: Abilities, kind: BatchKind, ids: Rows, languages: Sequence[int | None], batch: int) -> list[Score]:
    rows, longest = [[can.tokenizer.separator, *one] for one in ids], can.model.recipe.positions.longest
    sums = _Sums(can, len(ids))
    windows = [(number, *window) for number, row in enumerate(rows) if len(row) > 1 for window in _windows(row, longest)]
    for index in by_length([len(part) for _, part, _ in windows], rows=batch):
        text, parts, known = zip(*(windows[number] for number in index), strict=True)
        tokens = padded(parts, can.tokenizer.pad, can.device)
        told = [language for number in text if (language := languages[number]) is not None]
        segment = can.tensor([told]).T.expand(-1, tokens.shape[1] - 1) if told else None
        states = can.model.encode(Batch(tokens=tokens[:, :-1], order=Order.CAUSAL, segment=segment)).last
        asked = _inside(can, tokens.shape[1] - 1, known, [len(part) - 1 for part in parts])
        sums.add(can.head(kind), states, tokens[:, 1:], asked, text)
    return sums.scores([len(one) for one in ids])


def _windows(row: list[int], longest: int | None) -> list[tuple[list[int], int]]:
    """Text longer than the model sees is read in windows that overlap by half, each token scored once: how many of each are known already."""
    if longest is None or len(row) <= longest + 1:
        return [(row, 0)]
    window = max(longest // 2, 1)
    found = []
    for first in range(0, len(row) - 1, window):
        start = max(0, first - (longest - window))
        found.append((row[start : first + window + 1], first - start))
    return found


def _with_memory(can: Abilities, kind: BatchKind, ids: Rows, memory: int | None, batch: int) -> list[Score]:
    """Stretch after stretch, each looking back at what is kept of those before (Transformer-XL §3.2)."""
    rows = [[can.tokenizer.separator, *one] for one in ids]
    sums = _Sums(can, len(ids))
    for index in by_length([len(row) for row in rows], rows=batch):
        tokens = padded([rows[number] for number in index], can.tokenizer.pad, can.device)
        asked = _inside(can, tokens.shape[1] - 1, [0] * len(index), [len(ids[number]) for number in index])
        cache = can.model.new_cache()
        for first in range(0, tokens.shape[1] - 1, _STRETCH):
            now = slice(first, first + _STRETCH)
            bound_memory(can.model, cache, length=memory)
            states = can.model.encode(Batch(tokens=tokens[:, :-1][:, now], order=Order.CAUSAL), cache=cache).last
            sums.add(can.head(kind), states, tokens[:, 1:][:, now], asked[:, now], index)
    return sums.scores([len(one) for one in ids])


def _by_queries(can: Abilities, kind: BatchKind, ids: Rows, memory: int | None, batch: int) -> list[Score]:
    """XLNet in the order of the text: the query stream at each place sees what is before it, what is kept of earlier stretches too."""
    rows = [[can.tokenizer.separator, *one] for one in ids]
    sums = _Sums(can, len(ids))
    for index in by_length([len(row) for row in rows], rows=batch):
        tokens = padded([rows[number] for number in index], can.tokenizer.pad, can.device)
        asked = _inside(can, tokens.shape[1], [1] * len(index), [len(rows[number]) for number in index])
        stretch = tokens.shape[1] if can.model.recipe.memory is None else _STRETCH
        cache = can.model.new_cache()
        for first in range(0, tokens.shape[1], stretch):
            now = tokens[:, first : first + stretch]
            skipped = int(first == 0)  # what the text begins with is not asked for
            read = torch.arange(skipped, now.shape[1], device=can.device).expand(len(now), -1)
            if read.shape[1] == 0:
                continue
            bound_memory(can.model, cache, length=memory)
            made = Batch(tokens=now, order=Order.CAUSAL, read=read, query=torch.full_like(read, can.mask))
            states = can.model.encode(made, cache=cache).last
            sums.add(can.head(kind), states, now[:, skipped:], asked[:, first : first + stretch][:, skipped:], index)
    return sums.scores([len(one) for one in ids])


def _written_out(can: Abilities, kind: BatchKind, ids: Rows, texts: Sequence[str], batch: int) -> list[Score]:
    """GLM: the whole text as what fills one blank."""
    frame = can.frame([can.mask])
    for one, text in zip(ids, texts, strict=True):
        can.check_length(frame + one, text)
    sums = _Sums(can, len(ids))
    for index in by_length([len(one) + len(frame) for one in ids], rows=batch):
        some = [ids[number] for number in index]
        tokens = padded([[*frame, can.start, *one] for one in some], can.tokenizer.pad, can.device)
        steps = torch.arange(tokens.shape[1], device=can.device).expand_as(tokens)
        order = (steps - len(frame) + 1).clamp(min=0)  # padding comes last: nothing looks at it
        position = steps.masked_fill(order > 0, frame.index(can.mask))
        states = can.model.encode(Batch(tokens=tokens, order=Order.RANKED, rank=order, position=position, within=order)).last
        asked = _inside(can, tokens.shape[1] - len(frame) - 1, [0] * len(some), [len(one) for one in some])
        sums.add(can.head(kind), states[:, len(frame) : -1], tokens[:, len(frame) + 1 :], asked, index)
    return sums.scores([len(one) for one in ids])


def _decoded(can: Abilities, kind: BatchKind, source: Sequence[str], ids: Rows, batch: int) -> list[Score]:
    frames = [can.frame(one) for one in can.tokenizer.encode(list(source))]
    for frame, text in zip(frames, source, strict=True):
        can.check_length(frame, text)
    answers = [can.closed(kind, one) for one in ids]
    total = np.zeros(len(ids))
    length = [max(len(frame), len(answer)) for frame, answer in zip(frames, answers, strict=True)]
    for index in by_length(length, rows=batch, tokens=_SCORES // can.model.vocabulary):
        some = [answers[number] for number in index]
        tokens = padded([[can.start, *answer[:-1]] for answer in some], can.tokenizer.pad, can.device)
        made = Batch(tokens=tokens, order=Order.CAUSAL, source=can.rows([frames[number] for number in index]))
        found = can.head(kind).log_probabilities(can.model.token_states(made))
        picked = found.gather(2, padded(some, 0, can.device)[:, : tokens.shape[1], None]).squeeze(2)
        asked = _inside(can, tokens.shape[1], [0] * len(some), [len(answer) for answer in some])
        total[index] = picked.double().masked_fill(~asked, 0.0).sum(1).cpu().numpy()
    return [Score(log_probability=float(one), tokens=len(answer)) for one, answer in zip(total, answers, strict=True)]


def _at_masks(can: Abilities, source: Sequence[str], ids: Rows, batch: int) -> list[Score]:
    """UniLM: each token in turn at a mask that sees the source and what is written before it."""
    begun = [answering(can, text, [], room=1) for text in source]
    kind = can.masks_after_text()
    assert kind is not None, "no other model without a decoder writes after a source"
    answers = [can.closed(kind, one) for one in ids]
    total = [0.0] * len(ids)
    for index in by_length([len(one.source or ()) for one in begun], rows=batch, spread=0.0):
        going = [number for number in index.tolist() if answers[number]]
        writer = writer_for(can, [begun[number] for number in going])
        scores, step = writer.first(), 0
        while True:
            tokens = [answers[number][step] for number in going]
            for number, token, row in zip(going, tokens, scores, strict=True):
                total[number] += float(row[token])
            step += 1
            stays = [row for row, number in enumerate(going) if step < len(answers[number])]
            if not stays:
                break
            writer.reorder(torch.tensor(stays, device=can.device))
            going = [going[row] for row in stays]
            scores = writer.go_on(torch.tensor([tokens[row] for row in stays], device=can.device))
    return [Score(log_probability=one, tokens=len(answer)) for one, answer in zip(total, answers, strict=True)]


def _pseudo(can: Abilities, ids: Rows, texts: Sequence[str], languages: Sequence[int | None], batch: int) -> list[Score]:
    """Each token masked in turn: a row for each."""
    frames = [can.frame(one) for one in ids]
    for frame, text in zip(frames, texts, strict=True):
        can.check_length(frame, text)
    special = set(can.tokenizer.special_ids.tolist())
    places = [(number, place) for number, frame in enumerate(frames) for place, token in enumerate(frame) if token not in special]
    sums = _Sums(can, len(ids))
    for index in by_length([len(frames[number]) for number, _ in places], rows=batch):
        text, place = np.array([places[number] for number in index]).T
        length = np.array([len(frames[number]) for number in text])
        rows = padded([frames[number] for number in text], can.tokenizer.pad).numpy()
        told = [language for number in text if (language := languages[number]) is not None]
        column = place[:, None]
        answers = np.take_along_axis(rows, column, 1)
        np.put_along_axis(rows, column, can.mask, 1)
        head, states = at_blanks(can, rows, length, column, np.array(told) if told else None)
        sums.add(head, states, tensor(can, answers), torch.ones_like(tensor(can, answers), dtype=torch.bool), text)
    return sums.scores(np.bincount([number for number, _ in places], minlength=len(ids)).tolist())
