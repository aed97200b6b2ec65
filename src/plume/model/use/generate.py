"""Writing token after token, many texts at once: greedy, sampling, beam search. How a family comes to its next scores is its writer's business."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from plume.core.batch import Encoded
from plume.heads.head import HeadModule
from plume.model.use.choosing import TokenChoice
from plume.model.use.sampling import Sampling
from plume.model.use.searching import Moves, Search, Wanted, Written, run
from plume.model.use.writers import Writer


class Unnormalised(HeadModule):
    """A head whose scores stay as they are: a penalty is a factor, so it matters where their zero lies."""

    def __init__(self, head: HeadModule) -> None:
        super().__init__()
        self.head = head

    def next_scores(self, encoded: Encoded) -> Tensor:
        return self.head.raw_scores(encoded)


def choice_for(writer: Writer, lines: Sequence[Wanted], *, stop: int, sampling: Sampling = Sampling()) -> TokenChoice:
    """The choice of the next tokens; where any line has a penalty that is a factor, the writer's scores stay as they are."""
    raw = any((line.sampling or sampling).repetition_penalty != 1 for line in lines)
    if raw:
        writer.head = Unnormalised(writer.head)
    return TokenChoice(lines, stop=stop, sampling=sampling, device=writer.device, normalised=not raw)


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
    search = choice_for(writer, lines, stop=stop, sampling=sampling)
    for _ in run(writer, search):
        yield from search.new


@torch.inference_mode()
def greedy(writer: Writer, *, room: int, stop: int) -> list[Written]:
    """For each of the writer's rows the likeliest token each time, at most `room` of them, up to but without `stop`."""
    search = TokenChoice([Wanted(room=room)] * writer.rows, stop=stop, sampling=Sampling(greedy=True), device=writer.device)
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
