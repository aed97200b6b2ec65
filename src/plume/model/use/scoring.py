"""How likely a model finds a text: exactly where it predicts one token after the other, else by hiding each token in turn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import HeadModule, precise
from plume.model.kinds import BatchKind
from plume.model.memory import Memory
from plume.model.use.abilities import Abilities, Said
from plume.model.use.writing import answerer

_STRETCH = 128  # tokens read at once where a memory holds what was before


@dataclass(frozen=True, kw_only=True)
class Score:
    """`log_probability` in nats: exact for a left-to-right model, the pseudo-log-likelihood (arXiv:1910.14659) for a masked one."""

    log_probability: float
    tokens: int

    @property
    def perplexity(self) -> float:
        return math.exp(-self.log_probability / max(self.tokens, 1))


def score(
    can: Abilities, text: str, *, source: str | None = None, memory: int | None = None, batch: int = 32, language: Said = None
) -> Score:
    ids = can.tokenizer.encode([text])[0]
    spoken = can.language(text, ids, language)
    if memory is not None and can.model.recipe.memory is None:
        raise PlumeError(f"{can.name} has no memory to lengthen: leave it out, or train a family that has one (transformer-xl, xlnet).")
    if source is not None:
        return _decoded(can, kind, source, ids) if (kind := can.decoder()) else _at_masks(can, source, ids)
    if kind := can.causal():
        return _causal(can, kind, ids, memory, spoken)
    if kind := can.spans():
        return _written_out(can, kind, ids, text)
    if can.model.recipe.assembly.writes and (kind := can.permuted()):
        return _by_queries(can, kind, ids, memory)
    if can.masked():
        return _pseudo(can, ids, text, batch, spoken)
    if can.decoder():
        raise PlumeError(f"{can.name} writes after reading: say what it read (source, or --source) to score what it writes.")
    raise PlumeError(
        f"{can.name} cannot score text: it was not trained to predict tokens from what is before them or around them. {can.words()}"
    )


def _causal(can: Abilities, kind: BatchKind, ids: list[int], memory: int | None, language: int | None) -> Score:
    head = can.head(kind)
    row = [can.tokenizer.separator, *ids]
    if can.model.recipe.memory is not None:
        return _with_memory(can, head, row, memory)
    longest = can.model.recipe.positions.longest or len(row)
    total, window = 0.0, max(longest // 2, 1)
    # Text longer than the model sees is read in windows that overlap by half, each token scored once.
    for first in range(0, max(len(row) - 1, 1), window) if len(row) > longest + 1 else (0,):
        start = max(0, first - (longest - window))
        part = row[start : first + window + 1] if len(row) > longest + 1 else row
        tokens = can.tensor([part])
        segment = None if language is None else torch.full_like(tokens[:, :-1], language)
        encoded = can.model.encode(Batch(tokens=tokens[:, :-1], order=Order.CAUSAL, segment=segment))
        picked = _picked(head, encoded.last[0], tokens[0, 1:])
        total += float(picked[first - start :].sum())
    return Score(log_probability=total, tokens=len(row) - 1)


def _with_memory(can: Abilities, head: HeadModule, row: list[int], memory: int | None) -> Score:
    """Stretch after stretch, each looking back at the memory of those before (Transformer-XL §3.2)."""
    total = 0.0
    with can.model.fresh_memory(_whole(can.model.recipe.memory, memory)):
        for first in range(0, len(row) - 1, _STRETCH):
            tokens = can.tensor([row[first : first + _STRETCH + 1]])
            batch = Batch(tokens=tokens[:, :-1], order=Order.CAUSAL, stream=0, begins=first == 0)
            total += float(_picked(head, can.model.encode(batch).last[0], tokens[0, 1:]).sum())
    return Score(log_probability=total, tokens=len(row) - 1)


def _whole(memory: Memory | None, length: int | None) -> Memory | None:
    """Here rows do not overlap, so all of each is remembered; as long as asked, or as in training."""
    return None if memory is None else replace(memory, reuse=1.0, length=memory.length if length is None else length)


def _by_queries(can: Abilities, kind: BatchKind, ids: list[int], memory: int | None) -> Score:
    """XLNet in the order of the text: the query stream at each place sees what is before it, in memory too."""
    head = can.head(kind)
    row = [can.tokenizer.separator, *ids]
    total = 0.0
    stretch = len(row) if can.model.recipe.memory is None else _STRETCH
    with can.model.fresh_memory(_whole(can.model.recipe.memory, memory)):
        for first in range(0, len(row), stretch):
            tokens = can.tensor([row[first : first + stretch]])
            asked = torch.arange(1 if first == 0 else 0, tokens.shape[1], device=can.device)[None]
            if asked.shape[1] == 0:
                continue
            shown = torch.full_like(asked, can.mask)
            stream = None if can.model.recipe.memory is None else 0
            batch = Batch(tokens=tokens, order=Order.CAUSAL, read=asked, query=shown, stream=stream, begins=first == 0)
            total += float(_picked(head, can.model.encode(batch).last[0], tokens[0, asked[0]]).sum())
    return Score(log_probability=total, tokens=len(row) - 1)


def _written_out(can: Abilities, kind: BatchKind, ids: list[int], text: str) -> Score:
    """GLM: the whole text as what fills one blank."""
    frame = can.frame([can.mask])
    can.check_length(frame + ids, text)
    tokens = can.tensor([[*frame, can.start, *ids]])
    steps = torch.arange(tokens.shape[1], device=can.device)[None]
    behind = steps >= len(frame)
    order = (steps - len(frame) + 1).clamp(min=0)
    batch = Batch(tokens=tokens, order=Order.RANKED, rank=order, position=steps.masked_fill(behind, frame.index(can.mask)), within=order)
    states = can.model.encode(batch).last[0, len(frame) : -1]
    return Score(log_probability=float(_picked(can.head(kind), states, can.tensor([ids])[0]).sum()), tokens=len(ids))


def _decoded(can: Abilities, kind: BatchKind, source: str, ids: list[int]) -> Score:
    frame = can.frame(can.tokenizer.encode([source])[0])
    can.check_length(frame, source)
    answer = can.closed(kind, ids)
    batch = Batch(tokens=can.tensor([[can.start, *answer[:-1]]]), order=Order.CAUSAL, source=Batch(tokens=can.tensor([frame])))
    states = can.model.token_states(batch)
    picked = can.head(kind).log_probabilities(states)[0].gather(1, can.tensor([answer])[0][:, None])
    return Score(log_probability=float(picked.sum()), tokens=len(answer))


def _at_masks(can: Abilities, source: str, ids: list[int]) -> Score:
    """UniLM: each token in turn at a mask that sees the source and what is written before it."""
    writer, _ = answerer(can, source, [])
    kind = can.masks_after_text()
    assert kind is not None, "no other model without a decoder writes after a source"
    answer = can.closed(kind, ids)
    scores, total = writer.first(), 0.0
    for number, token in enumerate(answer):
        total += float(scores[0, token])
        if number + 1 < len(answer):
            scores = writer.go_on(torch.tensor([token], device=can.device))
    return Score(log_probability=total, tokens=len(answer))


def _pseudo(can: Abilities, ids: list[int], text: str, batch: int, language: int | None) -> Score:
    """Each token masked in turn."""
    frame = can.frame(ids)
    can.check_length(frame, text)
    special = set(can.tokenizer.special_ids.tolist())
    places = [number for number, token in enumerate(frame) if token not in special]
    kind = can.masked()
    assert kind is not None, "only called for families that predict tokens in place"
    segment = can.segment_tensor(frame, language)
    total = 0.0
    for first in range(0, len(places), batch):
        now = can.tensor([places[first : first + batch]])[0]
        rows = can.tensor([frame]).repeat(len(now), 1)
        turn = torch.arange(len(now), device=can.device)
        answers = rows[turn, now]
        rows[turn, now] = can.mask
        made = Batch(tokens=rows, segment=None if segment is None else segment.expand_as(rows))
        if kind.noise.target.streams:  # MPNet: no query stream, the masks stand in the text
            states = can.model.encode(made).last[turn, now]
        else:
            states = can.model.token_states(replace(made, read=now[:, None])).last[:, 0]
        total += float(_picked(can.head(kind), states, answers).sum())
    return Score(log_probability=total, tokens=len(places))


def _picked(head: HeadModule, states: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """[N] log-probabilities of the answers, from [N, D] states."""
    return precise(head.logits(states)).log_softmax(-1).gather(1, answers[:, None]).squeeze(1)
