"""How well a model predicts running text: each token from those before it, or each from all around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.batching import by_length
from plume.data.store import Store
from plume.heads.head import HeadModule, precise
from plume.model.use.abilities import Abilities
from plume.model.use.blanks import at_blanks, tensor
from plume.model.use.writers import bound_memory
from plume.nn.recurrent.recurrent import Recurrent
from plume.tuning.rows.rows import Array
from plume.tuning.zero_shot.blanks import left_to_right, rows_for, wrapped

_SCORES = 1 << 24  # logits held at once
_STREAMS = 8  # that a model with a memory reads side by side, each of at least so many stretches:
_STRETCHES = 64
_TOLD_BY = 1000  # tokens of a document that say which language it is in


@dataclass(kw_only=True)
class Tally:
    """Sums over the tokens that were asked for."""

    tops: tuple[int, ...]
    nats: float = 0.0
    count: int = 0
    found: dict[int, int] = field(default_factory=dict)  # how often the right token was among the k likeliest

    def add(self, head: HeadModule, states: Tensor, answers: Tensor) -> None:
        """[N, D] states and the [N] tokens that belong there, a slice of them at a time."""
        step = max(1, _SCORES // head.logits(states[:1]).shape[-1]) if len(states) else 1
        for state, answer in zip(torch.split(states, step), torch.split(answers, step), strict=True):
            logits = precise(head.logits(state))
            own = logits.gather(1, answer[:, None])
            self.nats += float((logits.logsumexp(1) - own[:, 0]).sum())
            self.count += len(answer)
            # Of equal scores the first token counts as the higher one: a model that scores all alike must not be always right.
            first = torch.arange(logits.shape[1], device=logits.device) < answer[:, None]
            place = ((logits > own) | ((logits == own) & first)).sum(1)
            for top in self.tops:
                self.found[top] = self.found.get(top, 0) + int((place < top).sum())

    @property
    def loss(self) -> float:
        """In nats a token."""
        return self.nats / max(self.count, 1)

    def figures(self, *, tokens: int, characters: int) -> dict[str, float]:
        """`tokens` and `characters` are those of the whole text: bits a character do not depend on how the tokenizer cuts it."""
        bits = self.loss / math.log(2) * tokens / max(characters, 1)
        found = {f"top{top}": self.found.get(top, 0) / max(self.count, 1) for top in self.tops}
        return {"loss": self.loss, "bits_per_character": bits, **found, "tokens": float(self.count)}


@torch.inference_mode()
def predict_next(can: Abilities, store: Store, *, length: int, tops: Sequence[int], language: str | None = None) -> Tally:
    """Every token of the text. A separator stands before each document, as in training, and is read but not asked for."""
    separator = can.tokenizer.separator
    stream = np.append(separator, np.asarray(store.tokens[:-1], np.int64))  # the last document's separator is followed by nothing
    recipe = can.model.recipe
    carries = recipe.memory is not None or isinstance(recipe.network, Recurrent)
    spoken = document_languages(can, store, language)
    segment = None if spoken is None else np.repeat(spoken, np.diff(np.append(_first_tokens(store), len(stream))))
    tally = Tally(tops=tuple(tops))
    for head, states, place in _streams(can, stream, length) if carries else _windows(can, stream, length, segment):
        asked = (place >= 0) & (stream[np.maximum(place, 0)] != separator)
        tally.add(head, states[tensor(can, asked)], tensor(can, stream[place[asked]]))
    return tally


_Step = tuple[HeadModule, Tensor, Array]  # [B, M, D] states, and [B, M] which token of the stream each predicts; -1: none


def document_languages(can: Abilities, store: Store, said: str | None) -> Array | None:
    """[D] of each document, as it was said or is told by its beginning; None: the model reads all alike."""
    if can.model.languages is None:
        can.check_language(said)
        return None
    bounds = np.append(_first_tokens(store), len(store.tokens))
    found = []
    for begin, end in pairwise(bounds.tolist()):
        ids = np.asarray(store.tokens[begin : min(end - 1, begin + _TOLD_BY)], np.int64).tolist()
        found.append(can.language(can.tokenizer.decode(ids), ids, said))
    return np.array(found, np.int64)


def _first_tokens(store: Store) -> Array:
    """[D]"""
    return np.asarray(store.sentence_start[np.asarray(store.document_start[:-1])], np.int64)


def _windows(can: Abilities, stream: Array, length: int, segment: Array | None = None) -> Iterator[_Step]:
    """Windows that overlap by half, so that each token is predicted once and has half a window before it, or all there is."""
    total = len(stream) - 1
    stride = total if total <= length else max(length // 2, 1)
    first = np.arange(0, total, stride)
    begin = np.maximum(0, first - (length - stride)) if total > length else first
    end = np.minimum(first + stride, total)
    nothing = np.zeros(0, np.int64)
    for index in np.split(np.arange(len(first)), np.arange(0, len(first), rows_for(min(length, total)))[1:]):
        tokens, size = wrapped(stream, begin[index], end[index], before=nothing, after=nothing, pad=can.tokenizer.pad)
        place = first[index, None] + np.arange(stride)
        there = place < end[index, None]
        read = np.where(there, place - begin[index, None], 0)
        told = None if segment is None else wrapped(segment, begin[index], end[index], before=nothing, after=nothing, pad=0)[0]
        head, states = left_to_right(can, tokens, size, read, told)
        yield head, states, np.where(there, place + 1, -1)


def _streams(can: Abilities, stream: Array, length: int) -> Iterator[_Step]:
    """Stretch after stretch, with what the model remembers of those before. The text is cut into a few streams that are read side by side."""
    total = len(stream) - 1
    rows = max(1, min(_STREAMS, total // (_STRETCHES * length)))
    each = -(-total // rows)
    kind, cache = can.causal(), can.model.new_cache()
    assert kind is not None, "only called for families that read left to right"
    for start in range(0, each, length):
        offset = np.arange(start, min(start + length, each))
        place = np.arange(rows)[:, None] * each + offset
        bound_memory(can.model, cache)
        states = can.model.encode(Batch(tokens=tensor(can, stream[np.minimum(place, total)]), order=Order.CAUSAL), cache=cache).last
        yield can.head(kind), states, np.where(place < total, place + 1, -1)


@torch.inference_mode()
def fill_in(
    can: Abilities,
    store: Store,
    *,
    length: int,
    tops: Sequence[int],
    sample: int | None,
    seed: int,
    language: str | None = None,
) -> Tally:
    """Tokens masked one at a time, the rest of the window left as it is (arXiv:1910.14659 §2), at most `sample` of them.

    The window lies around the token, inside its document.
    """
    frame = can.frame([-1])
    split = frame.index(-1)
    before, after = np.array(frame[:split], np.int64), np.array(frame[split + 1 :], np.int64)
    tokens = np.asarray(store.tokens, np.int64)
    place, begin, end, document = _around(store, room=length - len(before) - len(after))
    spoken = document_languages(can, store, language)
    if sample is not None and sample < len(place):
        chosen = np.sort(np.random.default_rng(seed).choice(len(place), sample, replace=False))
        place, begin, end, document = place[chosen], begin[chosen], end[chosen], document[chosen]
    tally = Tally(tops=tuple(tops))
    for index in by_length(end - begin + len(before) + len(after)):
        rows, size = wrapped(tokens, begin[index], end[index], before=before, after=after, pad=can.tokenizer.pad)
        column = (place - begin)[index, None] + len(before)
        answers = np.take_along_axis(rows, column, 1)
        np.put_along_axis(rows, column, can.mask, 1)
        head, states = at_blanks(can, rows, size, column, None if spoken is None else spoken[document[index]])
        tally.add(head, states[:, 0], tensor(can, answers[:, 0]))
    return tally


def _around(store: Store, *, room: int) -> tuple[Array, Array, Array, Array]:
    """Every token of the text, the stretch of at most `room` tokens around it, and its document."""
    bounds = np.asarray(store.document_start)
    first, last = store.sentence_start[bounds[:-1]], store.sentence_end[bounds[1:] - 1]
    size = last - first
    document = np.repeat(np.arange(len(first)), size)
    place = np.arange(len(document)) + np.repeat(first - (np.cumsum(size) - size), size)
    begin = np.clip(place - room // 2, first[document], np.maximum(first, last - room)[document])
    return place, begin, np.minimum(begin + room, last[document]), document
