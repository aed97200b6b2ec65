"""Tasks whose answer is written: a text is read, and the model's own head for tokens writes another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.core.batching import by_length
from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.use.abilities import Abilities
from plume.model.use.generate import beam_search, greedy
from plume.model.use.searching import Wanted, Written
from plume.readers.example import Example
from plume.text.pieces import bounds
from plume.text.tokenizer import Tokenizer
from plume.train.device import to_device
from plume.tuning.adapting.body import Body
from plume.tuning.rows.questions import Questions, one_each
from plume.tuning.rows.rows import Array, Coder, TextRows, runs, shortened, whole
from plume.tuning.rows.written_rows import Pairs, source_batch
from plume.tuning.task import Answering, Responses, Task, mark_cut
from plume.tuning.writing.finding import require_way
from plume.tuning.writing.ways import Way

_ROWS = 64  # that are read at once at use


@dataclass(frozen=True, kw_only=True)
class TextQuestions(Questions):
    """`rows` are read, `targets` written, where they are known. Its batches are whole: the way says in which order they are read."""

    complete: ClassVar[bool] = True

    way: Way
    targets: TextRows

    @property
    def length(self) -> Array:
        return self.rows.length + self.targets.length

    def pairs(self, index: Array) -> Pairs:
        """What is read and what is written of these, padded."""
        return Pairs(
            read=self.rows.padded(self.rows.tokens, index, self.rows.pad),
            length=self.rows.length[index],
            written=self.targets.padded(self.targets.tokens, index, self.rows.pad),
            size=self.targets.length[index],
            pad=self.rows.pad,
        )

    def batch(self, index: Array) -> Batch:
        return self.way.batch(self.pairs(index), self.name)

    def sources(self, index: Array, device: torch.device) -> Batch:
        """What is read of these, for the network."""
        read = self.rows.padded(self.rows.tokens, index, self.rows.pad)
        return to_device(source_batch(read, self.rows.length[index]), device)

    def alike(self, *, most: int = _ROWS) -> Iterator[Array]:
        """Texts to answer together: of one length, or nearly, as the way wants it."""
        return by_length(self.rows.length, rows=most, spread=self.way.spread)


@dataclass(frozen=True, kw_only=True)
class WrittenTask(Task):
    """`way` is the model's, and found when the two meet."""

    way: Way | None = None
    longest: int | None = None  # tokens that are written at most; None: a fifth more than nearly all of the training texts have

    def source(self, example: Example) -> str:
        """What is read."""
        raise NotImplementedError

    def target(self, example: Example) -> str:
        """What is to be written."""
        raise NotImplementedError

    def fitting(self, examples: Sequence[Example], room: int, coder: Coder) -> tuple[Sequence[Example], NDArray[np.bool_]]:
        """Cut so that what is read has about `room` tokens, where its end is not what can be spared; and which were cut."""
        return examples, np.zeros(len(examples), np.bool_)

    def suited(self, body: Body, tokenizer: Tokenizer, examples: Sequence[Example]) -> Task:
        """With the model's way to write, and how much the training answers lead one to expect; of a run that goes on both are known."""
        if self.way is not None:
            return self
        if not isinstance(body, Model):
            raise PlumeError(f"Word vectors cannot write a text: {self.called} needs a model that can, such as t5, bart or gpt2.")
        longest = usual_length([self.target(example) for example in examples], tokenizer) if self.longest is None else self.longest
        return replace(self, way=require_way(Abilities(body, tokenizer), self.called), longest=longest)

    def respond(self, model: Answering, examples: Sequence[Example]) -> Responses:
        coder = model.coder()
        questions, notes = self.questions(examples, coder)
        found, more = self.written(model.body.model, coder, questions, examples)
        return mark_cut(found, questions), notes + more

    def written(self, body: Model, coder: Coder, questions: TextQuestions, examples: Sequence[Example]) -> Responses:
        """What is written for the questions, as answers."""
        raise NotImplementedError

    @property
    def writes(self) -> Way:
        """Its way, once it has one."""
        assert self.way is not None, "a task is fitted to its model before it reads"
        return self.way

    @property
    def objective(self) -> str:
        return self.writes.objective

    def most(self, coder: Coder) -> int:
        """Tokens that are written at most."""
        fits = self.writes.most(coder)
        return fits if self.longest is None else min(fits, self.longest)

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[TextQuestions, Counter[str]]:
        way, room = self.writes, self.writes.room(coder, self.most(coder))
        rows, notes = self.laid_out(examples, room, coder)
        if any(example.answer is None for example in examples):
            targets = _rows(np.zeros(0, np.int64), np.zeros(len(examples), np.int64), coder.tokenizer.pad)
        else:
            targets, short = lay_out_targets([self.target(example) for example in examples], way, coder, left=way.left(coder, rows))
            notes["answers longer than a row, cut in training"] = short
        return TextQuestions(name=self.called, rows=rows, groups=one_each(len(rows)), way=way, targets=targets), notes

    def laid_out(self, examples: Sequence[Example], room: int, coder: Coder) -> tuple[TextRows, Counter[str]]:
        """What is read of the examples, in at most `room` tokens each; and what was lost."""
        examples, cut = self.fitting(examples, room, coder)
        read = whole(coder.cut([self.source(example) for example in examples]))
        cut |= read.end - read.begin > room
        rows = replace(self.writes.lay_out(shortened(read, room), coder), cut=cut)
        return rows, Counter({f"texts cut to {room} tokens": int(cut.sum())})

    def write(self, body: Model, questions: TextQuestions, *, room: int, beams: int = 1) -> list[Written]:
        """What the model writes after each text."""
        device = next(body.parameters()).device
        room += len(self.writes.opening)
        found: dict[int, Written] = {}
        for index in questions.alike(most=max(1, _ROWS // beams)):
            with torch.inference_mode():
                writer = self.writes.writer(body, questions.sources(index, device))
            if beams == 1:
                written = greedy(writer, room=room, stop=self.writes.end)
            else:
                lines = [Wanted(room=room)] * len(index)
                written = [ways[0] for ways in beam_search(writer, lines=lines, stop=self.writes.end, beams=beams)]
            found |= zip(index.tolist(), written, strict=True)
        return [found[number] for number in range(len(questions))]


def lay_out_targets(texts: Sequence[str], way: Way, coder: Coder, *, left: Array) -> tuple[TextRows, int]:
    """Each text as it is written: what opens it, its tokens, and the end token unless it had to be cut; and how many were."""
    cut = coder.cut(texts)
    sizes = np.diff(cut.token_bounds)
    kept = np.minimum(sizes, left)
    before = len(way.opening)
    length = before + kept + (kept == sizes)
    begin = np.cumsum(length) - length
    tokens = np.full(int(length.sum()), way.end, np.int64)
    tokens[runs(begin, np.full(len(texts), before))] = np.tile(np.array(way.opening, np.int64), len(texts))
    tokens[runs(begin + before, kept)] = cut.ids[runs(cut.token_bounds[:-1], kept)]
    return _rows(tokens, length, coder.tokenizer.pad), int((kept < sizes).sum())


def _rows(tokens: Array, length: Array, pad: int) -> TextRows:
    nowhere = np.full(len(tokens), -1)
    return TextRows(tokens=tokens, segment=None, text=nowhere, place=nowhere, bounds=bounds(length), pad=pad)


def usual_length(texts: Sequence[str], tokenizer: Tokenizer) -> int:
    """A fifth more tokens than all but a hundredth of the texts have."""
    sizes = [len(ids) for ids in tokenizer.encode(list(texts[:20_000]))]
    return int(np.ceil(1.2 * np.quantile(sizes, 0.99))) + 1
