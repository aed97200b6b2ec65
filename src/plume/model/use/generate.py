"""Writing token after token: greedy, sampling, beam search. How a family comes to its next scores is its writer's business."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from plume.core.batch import Encoded
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.use.writers import Writer


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen. `top_k` 0 and `top_p` 1 leave the distribution whole, a `repetition_penalty` of 1 all tokens alike."""

    temperature: float = 1.0
    repetition_penalty: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    greedy: bool = False
    beams: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise PlumeError(f"A temperature of {self.temperature} cannot be sampled at; use --greedy for the likeliest token.")
        if not 0 < self.top_p <= 1 or self.top_k < 0 or self.beams < 1:
            raise PlumeError("top_p lies above 0 and up to 1, top_k is 0 or more, beams 1 or more.")
        if self.repetition_penalty <= 0:
            raise PlumeError(f"A repetition penalty of {self.repetition_penalty} is none: give 1 for no penalty, 1.2 as CTRL's paper does.")

    def penalised(self, scores: Tensor, seen: Sequence[Sequence[int]]) -> Tensor:
        """[B, V] scores, lower for tokens that each row has seen (CTRL, arXiv:1909.05858 §4.1).

        The paper divides them by θ, whatever their sign; a negative one would gain by that, so it is multiplied, as transformers does.

        >>> Sampling(repetition_penalty=2.0).penalised(torch.tensor([[4.0, -4.0, 1.0]]), [[0, 1, 0]]).tolist()
        [[2.0, -8.0, 1.0]]
        """
        if self.repetition_penalty == 1:
            return scores
        lower = torch.where(scores < 0, scores * self.repetition_penalty, scores / self.repetition_penalty)
        found = torch.zeros_like(scores, dtype=torch.bool)
        for row, tokens in enumerate(seen):
            found[row, list(tokens)] = True
        return torch.where(found, lower, scores)

    def narrow(self, scores: Tensor) -> Tensor:
        """[..., V] scores with the tokens outside top-k and the top-p nucleus (arXiv:1904.09751) at -inf."""
        scores = scores / self.temperature
        if 0 < self.top_k < scores.shape[-1]:
            scores = scores.masked_fill(scores < scores.topk(self.top_k).values[..., -1:], float("-inf"))
        if self.top_p < 1:
            ordered, index = scores.sort(descending=True)
            before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)  # mass before each token: the first always stays
            scores = scores.masked_fill((before >= self.top_p).gather(-1, index.argsort(-1)), float("-inf"))
        return scores


@dataclass(frozen=True, order=True)
class Written:
    """One way to go on; `score` is the mean log-probability of its tokens, the stop included."""

    score: float
    tokens: tuple[int, ...]


class Unnormalised(HeadModule):
    """A head whose scores stay as they are: a penalty is a factor, so it matters where their zero lies."""

    def __init__(self, head: HeadModule) -> None:
        super().__init__()
        self.head = head

    def next_scores(self, encoded: Encoded) -> Tensor:
        return self.head.raw_scores(encoded)


@torch.inference_mode()
def write(writer: Writer, *, room: int, stop: int, sampling: Sampling, before: Sequence[int] = ()) -> list[int]:
    """At most `room` tokens, up to but without `stop`; `before` is the text that they follow, whose words count as said already."""
    if sampling.beams > 1:
        return list(beam_search(writer, room=room, stop=stop, beams=sampling.beams, sampling=sampling, before=before)[0].tokens)
    if sampling.repetition_penalty != 1:
        writer.head = Unnormalised(writer.head)
    generator = torch.Generator(device=writer.device).manual_seed(sampling.seed)
    written: list[int] = []
    scores = writer.first()
    while len(written) < room:
        (scores,) = sampling.penalised(scores, [[*before, *written]])
        if sampling.greedy:
            token = int(scores.argmax())
        else:
            token = int(torch.multinomial(sampling.narrow(scores).softmax(-1), 1, generator=generator))
        if token == stop:
            break
        written.append(token)
        if len(written) < room:
            scores = writer.go_on(torch.tensor([token], device=writer.device))
    return written


@torch.inference_mode()
def beam_search(
    writer: Writer, *, room: int, stop: int, beams: int, least: int = 0, sampling: Sampling = Sampling(), before: Sequence[int] = ()
) -> list[Written]:
    """The likeliest ways to go on that were found, best first; finished ones wait while the others go on. None stops before `least` tokens.

    Of `sampling` only the penalty counts, which then is on log-probabilities (as in transformers).
    """
    scores = writer.first()
    vocabulary = scores.shape[-1]
    total = torch.zeros(1, device=writer.device)
    written: list[tuple[int, ...]] = [()]
    finished: list[Written] = []
    for _ in range(room):
        scores = sampling.penalised(scores, [[*before, *text] for text in written])
        candidates = (total[:, None] + scores).flatten()
        best = candidates.topk(min(2 * beams, len(candidates)))
        rows: list[int] = []
        tokens: list[int] = []
        kept: list[float] = []
        for value, flat in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            row, token = divmod(flat, vocabulary)
            if token == stop and len(written[row]) < least:
                continue
            if token == stop:
                finished.append(Written(value / (len(written[row]) + 1), written[row]))
            elif len(rows) < beams:
                rows.append(row)
                tokens.append(token)
                kept.append(value)
        written = [(*written[row], token) for row, token in zip(rows, tokens, strict=True)]
        total = torch.tensor(kept, device=writer.device)
        # A running beam can still win while its mean is above the best finished one.
        running = [Written(value / len(text), text) for value, text in zip(kept, written, strict=True)]
        if len(finished) >= beams and max(finished).score >= max(running).score:
            break
        if len(written[0]) == room:
            break
        writer.reorder(torch.tensor(rows, device=writer.device))
        scores = writer.go_on(torch.tensor(tokens, device=writer.device))
    running = [Written(value / max(len(text), 1), text) for value, text in zip(total.tolist(), written, strict=True)]
    return sorted(finished + running, reverse=True)[:beams]
