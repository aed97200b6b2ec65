"""Writing token after token, many texts at once: greedy, sampling, beam search. How a family comes to its next scores is its writer's business."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is wanted of one text: at most `room` tokens. `before` is the text that they follow, whose words count as said already."""

    room: int
    before: Sequence[int] = ()
    ends: frozenset[int] = frozenset()  # tokens that end it, besides the one that stops them all
    seed: int | None = None  # None: that of the sampling


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


Moves = tuple[list[int], list[int]]  # which rows go on, and each with which token


class Search:
    """What becomes of the scores of all rows at a step."""

    def step(self, scores: Tensor, given: list[int] | None) -> Moves:
        """From [N, V] scores; `given` [N] are tokens that rows have of their own, -1 where they have none. No rows: all is written."""
        raise NotImplementedError


def run(writer: Writer, search: Search) -> Iterator[None]:
    """Step after step, until no row goes on."""
    scores = writer.first()
    while True:
        given = writer.given()
        rows, tokens = search.step(scores, None if given is None else given.tolist())
        yield
        if not rows:
            return
        if rows != list(range(len(scores))):
            writer.reorder(torch.tensor(rows, device=writer.device))
        scores = writer.go_on(torch.tensor(tokens, device=writer.device))


@dataclass(kw_only=True)
class _Begun:
    """One line as it is written."""

    number: int
    line: Wanted
    generator: torch.Generator
    tokens: list[int] = field(default_factory=list)
    total: float = 0.0  # of the log-probabilities of its tokens, the stop included
    asked: int = 0

    @property
    def written(self) -> Written:
        return Written(self.total / max(self.asked, 1), tuple(self.tokens))


class _Choice(Search):
    """One token a row at each step: the likeliest, or one that is drawn."""

    def __init__(self, lines: Sequence[Wanted], *, stop: int, sampling: Sampling, device: torch.device) -> None:
        self.stop, self.sampling = stop, sampling
        self.lines = [_Begun(number=number, line=line, generator=self._generator(line, device)) for number, line in enumerate(lines)]
        self.going = list(self.lines)
        self.new: list[tuple[int, int]] = []  # (line, token) of the last step

    def _generator(self, line: Wanted, device: torch.device) -> torch.Generator:
        return torch.Generator(device=device).manual_seed(self.sampling.seed if line.seed is None else line.seed)

    def step(self, scores: Tensor, given: list[int] | None) -> Moves:
        if self.sampling.repetition_penalty != 1:
            scores = self.sampling.penalised(scores, [[*one.line.before, *one.tokens] for one in self.going])
        own = given or [-1] * len(self.going)
        chosen = self._chosen(scores, own)
        likely = scores.gather(1, torch.tensor(chosen, device=scores.device)[:, None])[:, 0].tolist()
        self.new, stays = [], []
        for row, one in enumerate(self.going):
            if own[row] >= 0 or self._take(one, chosen[row], likely[row]):
                stays.append(row)
        self.going = [self.going[row] for row in stays]
        return stays, [chosen[row] for row in stays]

    def _chosen(self, scores: Tensor, given: list[int]) -> list[int]:
        """[N] the rows' own tokens, and for the others the choice. A row draws as often as it would alone."""
        if self.sampling.greedy:
            best = scores.argmax(-1).tolist()
            return [choice if token < 0 else token for token, choice in zip(given, best, strict=True)]
        share = self.sampling.narrow(scores).softmax(-1)
        return [
            int(torch.multinomial(share[row], 1, generator=one.generator)) if given[row] < 0 else given[row]
            for row, one in enumerate(self.going)
        ]

    def _take(self, one: _Begun, token: int, likely: float) -> bool:
        """Does it go on after this token?"""
        if len(one.tokens) >= one.line.room:
            return False
        one.total, one.asked = one.total + likely, one.asked + 1
        if token == self.stop or token in one.line.ends:
            return False
        one.tokens.append(token)
        self.new.append((one.number, token))
        return len(one.tokens) < one.line.room


@torch.inference_mode()
def write(writer: Writer, *, lines: Sequence[Wanted], stop: int, sampling: Sampling) -> Iterator[tuple[int, int]]:
    """(which line, its next token) as they are written, up to but without `stop`; with beams, when all are done.

    There is a line for each of the writer's rows.
    """
    if sampling.beams > 1:
        found = beam_search(writer, lines=lines, stop=stop, beams=sampling.beams, sampling=sampling)
        for number, (line, texts) in enumerate(zip(lines, found, strict=True)):
            tokens = texts[0].tokens
            cut = next((place for place, token in enumerate(tokens) if token in line.ends), len(tokens))
            yield from ((number, token) for token in tokens[:cut])
        return
    if sampling.repetition_penalty != 1:
        writer.head = Unnormalised(writer.head)
    search = _Choice(lines, stop=stop, sampling=sampling, device=writer.device)
    for _ in run(writer, search):
        yield from search.new


@torch.inference_mode()
def greedy(writer: Writer, *, room: int, stop: int) -> list[Written]:
    """For each of the writer's rows the likeliest token each time, at most `room` of them, up to but without `stop`."""
    search = _Choice([Wanted(room=room)] * writer.rows, stop=stop, sampling=Sampling(greedy=True), device=writer.device)
    for _ in run(writer, search):
        pass
    return [one.written for one in search.lines]


class _Beam:
    """One text's: the ways to go on that run, and those that are finished."""

    def __init__(self, line: Wanted) -> None:
        self.line = line
        self.total = torch.zeros(1)
        self.written: list[tuple[int, ...]] = [()]
        self.finished: list[Written] = []

    @property
    def running(self) -> list[Written]:
        return [Written(value / max(len(text), 1), text) for value, text in zip(self.total.tolist(), self.written, strict=True)]

    def step(self, scores: Tensor, *, stop: int, beams: int, least: int) -> Moves:
        """From the [rows, V] scores of those that run; no rows: it is done."""
        if self.line.room == 0:
            return [], []
        vocabulary = scores.shape[-1]
        candidates = (self.total.to(scores.device)[:, None] + scores).flatten()
        best = candidates.topk(min(2 * beams, len(candidates)))
        rows: list[int] = []
        tokens: list[int] = []
        kept: list[float] = []
        for value, flat in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            row, token = divmod(flat, vocabulary)
            if token == stop and len(self.written[row]) < least:
                continue
            if token == stop:
                self.finished.append(Written(value / (len(self.written[row]) + 1), self.written[row]))
            elif len(rows) < beams:
                rows.append(row)
                tokens.append(token)
                kept.append(value)
        self.written = [(*self.written[row], token) for row, token in zip(rows, tokens, strict=True)]
        self.total = torch.tensor(kept)
        # A running beam can still win while its mean is above the best finished one.
        decided = len(self.finished) >= beams and max(self.finished).score >= max(self.running).score
        return ([], []) if decided or len(self.written[0]) == self.line.room else (rows, tokens)


class _Beams(Search):
    """Several ways to go on for each text, whose rows stand one behind the other."""

    def __init__(self, lines: Sequence[Wanted], *, stop: int, beams: int, least: int, sampling: Sampling) -> None:
        self.stop, self.beams, self.least, self.sampling = stop, beams, least, sampling
        self.texts = [_Beam(line) for line in lines]
        self.going = list(self.texts)

    def step(self, scores: Tensor, given: list[int] | None) -> Moves:
        seen = [[*one.line.before, *text] for one in self.going for text in one.written]
        scores = self.sampling.penalised(scores, seen)
        rows: list[int] = []
        tokens: list[int] = []
        stays, first = [], 0
        for one in self.going:
            count = len(one.written)
            if given is not None and given[first] >= 0:  # one row still, which reads its prompt
                kept, chosen = [0], [given[first]]
            else:
                kept, chosen = one.step(scores[first : first + count], stop=self.stop, beams=self.beams, least=self.least)
            rows += [first + row for row in kept]
            tokens += chosen
            stays += [one] if kept else []
            first += count
        self.going = stays
        return rows, tokens


@torch.inference_mode()
def beam_search(
    writer: Writer, *, lines: Sequence[Wanted], stop: int, beams: int, least: int = 0, sampling: Sampling = Sampling()
) -> list[list[Written]]:
    """For each line the likeliest ways to go on that were found, best first; finished ones wait while the others go on.

    None stops before `least` tokens. Of `sampling` only the penalty counts, which then is on log-probabilities (as in transformers).
    """
    search = _Beams(lines, stop=stop, beams=beams, least=least, sampling=sampling)
    for _ in run(writer, search):
        pass
    return [sorted(one.finished + one.running, reverse=True)[:beams] for one in search.texts]
