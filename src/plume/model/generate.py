"""Left-to-right generation with a key/value cache: greedy, sampling, beam search."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.model import Model
from plume.nn.attention import LayerCache


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen. `top_k` 0 and `top_p` 1 leave the distribution whole."""

    temperature: float = 1.0
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


@torch.inference_mode()
def generate_tokens(model: Model, head: HeadModule, prompt: list[int], *, room: int, stop: int, sampling: Sampling) -> list[int]:
    """At most `room` tokens after the prompt, up to but without `stop`."""
    if sampling.beams > 1:
        return _beam(model, head, prompt, room=room, stop=stop, beams=sampling.beams)
    device = next(model.parameters()).device
    generator = torch.Generator(device=device).manual_seed(sampling.seed)
    cache = [LayerCache() for _ in range(model.recipe.network.depth)]
    written: list[int] = []
    step = torch.tensor([prompt], device=device)
    while len(written) < room:
        scores = _next_scores(model, head, step, cache)[0]
        if sampling.greedy:
            token = int(scores.argmax())
        else:
            token = int(torch.multinomial(sampling.narrow(scores).softmax(-1), 1, generator=generator))
        if token == stop:
            break
        written.append(token)
        step = torch.tensor([[token]], device=device)
    return written


def _next_scores(model: Model, head: HeadModule, tokens: Tensor, cache: list[LayerCache]) -> Tensor:
    """[B, V] log-scores of the token after the new ones [B, T]; earlier ones are in the cache."""
    encoded = model.encode(Batch(tokens=tokens, order=Order.CAUSAL), cache=cache)
    return head.logits(encoded.last[:, -1]).float().log_softmax(-1)


def _beam(model: Model, head: HeadModule, prompt: list[int], *, room: int, stop: int, beams: int) -> list[int]:
    """The likeliest continuation found, by mean log-probability of its tokens; finished ones wait, the others go on."""
    device = next(model.parameters()).device
    cache = [LayerCache() for _ in range(model.recipe.network.depth)]
    scores = _next_scores(model, head, torch.tensor([prompt], device=device), cache)
    vocabulary = scores.shape[-1]
    total = torch.zeros(1, device=device)
    written: list[list[int]] = [[]]
    finished: list[tuple[float, list[int]]] = []
    for _ in range(room):
        candidates = (total[:, None] + scores).flatten()
        best = candidates.topk(min(2 * beams, len(candidates)))
        rows: list[int] = []
        tokens: list[int] = []
        kept: list[float] = []
        for value, flat in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            row, token = divmod(flat, vocabulary)
            if token == stop:
                finished.append((value / (len(written[row]) + 1), written[row]))
            elif len(rows) < beams:
                rows.append(row)
                tokens.append(token)
                kept.append(value)
        written = [written[row] + [token] for row, token in zip(rows, tokens, strict=True)]
        total = torch.tensor(kept, device=device)
        # A running beam can still win while its mean is above the best finished one.
        if len(finished) >= beams and max(finished)[0] >= max(value / len(text) for value, text in zip(kept, written, strict=True)):
            break
        if len(written[0]) == room:
            break
        for held in cache:
            held.reorder(torch.tensor(rows, device=device))
        scores = _next_scores(model, head, torch.tensor(tokens, device=device)[:, None], cache)
    running = [(value / max(len(text), 1), text) for value, text in zip(total.tolist(), written, strict=True)]
    return max(finished + running)[1]
