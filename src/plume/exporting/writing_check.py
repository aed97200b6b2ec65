"""Do the files write what the model writes? Both are scored at every step of the same texts; torch chooses how they go on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import islice

import torch
from torch import Tensor

from plume.exporting.checking import Checked
from plume.exporting.formats import Run
from plume.exporting.writing_graphs import MASK, SOURCE, SourceGraph, StepGraph
from plume.model.use.abilities import Abilities
from plume.model.use.generate import write
from plume.model.use.sampling import Sampling
from plume.model.use.searching import Wanted
from plume.model.use.writers import CausalWriter, DecoderWriter, PromptWriter, Writer
from plume.model.use.writing import Begun, writer_for

_TOGETHER = 8
_UNLIKELY = -30.0  # log-probabilities below are rounding


class FileSteps:
    """The files' side: the cache between two steps."""

    def __init__(self, graph: StepGraph, run: Run, named: Mapping[str, Tensor], rows: int) -> None:
        self.graph, self.run = graph, run
        self.read = tuple(named[name] for name in graph.inputs if name in named)
        self.past: Sequence[Tensor] = graph.nothing(rows)

    def scores(self, tokens: Tensor, *, memory: int | None) -> Tensor:
        """[B, V] log-probabilities after these new tokens [B, T], of which the last `memory` keys are seen."""
        if memory is not None:
            self.past = [one[:, :, -memory:] for one in self.past]
        logits, *self.past = self.run((tokens, *self.read, *self.past))
        return logits.log_softmax(-1)

    def reorder(self, rows: Tensor) -> None:
        """Go on with these rows."""
        self.read, self.past = tuple(one[rows] for one in self.read), [one[rows] for one in self.past]


class WriterBesideFiles(Writer):
    """Writes as torch does, and holds against it what the files would."""

    def __init__(self, inner: PromptWriter, files: FileSteps) -> None:
        super().__init__(inner.model, inner.head)
        self.inner, self.files = inner, files
        forgets = isinstance(inner, CausalWriter) and inner.forgets and inner.model.recipe.memory is not None
        self.memory = inner.model.recipe.memory.length if forgets and inner.model.recipe.memory is not None else None
        self.seconds, self.difference = [0.0, 0.0], 0.0
        self.texts = torch.arange(inner.rows)
        self.others: set[int] = set()  # texts of which the files would choose another token

    @property
    def rows(self) -> int:
        return self.inner.rows

    def first(self) -> Tensor:
        new = self.inner.prompt[:, : self.inner.place]
        begun = time.perf_counter()
        return self._compared(new, self.inner.first(), begun)

    def go_on(self, tokens: Tensor) -> Tensor:
        begun = time.perf_counter()
        return self._compared(tokens[:, None], self.inner.go_on(tokens), begun)

    def given(self) -> Tensor | None:
        return self.inner.given()

    def reorder(self, rows: Tensor) -> None:
        self.inner.reorder(rows)
        self.files.reorder(rows)
        self.texts = self.texts[rows]

    def _compared(self, new: Tensor, expected: Tensor, begun: float) -> Tensor:
        between = time.perf_counter()
        found = self.files.scores(new, memory=self.memory)
        self.seconds[0] += between - begun
        self.seconds[1] += time.perf_counter() - between
        likely = expected > _UNLIKELY
        self.difference = max(self.difference, (found - expected)[likely].abs().max().item())
        given = self.inner.given()
        chosen = torch.ones(len(new), dtype=torch.bool) if given is None else given < 0
        wrong = chosen & (found.argmax(-1) != expected.argmax(-1))
        self.others |= set(self.texts[wrong].tolist())
        return expected


def check_writing(
    can: Abilities, texts: Sequence[Begun], graphs: Mapping[str, SourceGraph | StepGraph], runs: Mapping[str, Run]
) -> Checked:
    """Greedily, some texts together and some alone."""
    difference, asked, other, seconds = 0.0, 0, 0, [0.0, 0.0]
    for some in _groups(can, texts):
        beside = _beside(can, some, graphs, runs)
        lines = [Wanted(room=one.room, ends=one.ends) for one in some]
        for _ in write(beside, lines=lines, stop=can.end, sampling=Sampling(greedy=True)):
            pass
        difference, asked, other = max(difference, beside.difference), asked + len(some), other + len(beside.others)
        seconds = [one + more for one, more in zip(seconds, beside.seconds, strict=True)]
    speed = [asked / max(one, 1e-9) for one in seconds]
    return Checked(texts=asked, difference=difference, agreement=1 - other / asked, torch=speed[0], file=speed[1])


def _groups(can: Abilities, texts: Sequence[Begun]) -> list[Sequence[Begun]]:
    alone = [[one] for one in texts]
    if can.model.recipe.memory is not None:  # where it ends depends on what is read at once
        return list(alone)
    return [*(texts[first : first + _TOGETHER] for first in range(0, len(texts), _TOGETHER)), *islice(alone, 0, None, 4)]


def _beside(
    can: Abilities, some: Sequence[Begun], graphs: Mapping[str, SourceGraph | StepGraph], runs: Mapping[str, Run]
) -> WriterBesideFiles:
    inner, steps = writer_for(can, some), graphs["decoder"]
    assert isinstance(inner, CausalWriter | DecoderWriter) and isinstance(steps, StepGraph), "what is exported to write"
    named: dict[str, Tensor] = {}
    if isinstance(inner, DecoderWriter):
        tokens, mask = graphs["encoder"].given(inner.source)[:2]
        named = {SOURCE: tokens, MASK: mask, **dict(zip(graphs["encoder"].outputs, runs["encoder"]((tokens, mask)), strict=True))}
    return WriterBesideFiles(inner, FileSteps(steps, runs["decoder"], named, len(some)))
