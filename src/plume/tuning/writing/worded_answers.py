"""Answers to questions in words: a long context is read in windows, and the best of what is written for them is the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.part import replace
from plume.model.networks.model import Model
from plume.readers.example import Example
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.rows.rows import Array, Coder, Stretch, shortened, whole
from plume.tuning.rows.windows import drawn_windows
from plume.tuning.task import Prediction, Responses
from plume.tuning.writing.worded import ByText, characters
from plume.tuning.writing.written import TextQuestions

_SEAM = 2  # tokens more that a text may have when it is cut together with the words around it


@dataclass(frozen=True, kw_only=True)
class WindowQuestions(TextQuestions):
    """Each row is about a window of a context."""

    owner: Array  # [R] the example
    begin: Array  # [R] the window's first character
    holds: NDArray[np.bool_]  # [R] does it have an answer?

    def drawn(self, generator: np.random.Generator) -> Array:
        """Every window that holds an answer, and some of those that do not."""
        return drawn_windows(self.owner, self.holds, generator)


@dataclass(frozen=True, kw_only=True)
class AnswerByText(ByText):
    """A question's answer is written, not pointed at; nothing is written where there is none.

    A long context is read in the windows that a head would read, and nothing is to be written for one that does not hold the answer.
    """

    def source(self, example: Example) -> str:
        return f"question: {example.texts[0]} context: {example.texts[1]}"

    def target(self, example: Example) -> str:
        return example.answer[0].text if example.answer else ""

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[TextQuestions, Counter[str]]:
        assert isinstance(self.task, QuestionAnswering)
        room = self.writes.room(coder, self.most(coder)) - self.around(coder) - _SEAM
        longest = max(min(self.task.longest_question, room // 2), 1)
        asked = whole(coder.cut([example.texts[0] for example in examples]))
        short = shortened(asked, longest)
        long = asked.end - asked.begin > longest
        kept = np.where(long, characters(short)[1], np.diff(asked.cut.character_bounds)).tolist()
        context = coder.cut([example.texts[1] for example in examples])
        owner, first, last = self.task.split(context, np.maximum(room - (short.end - short.begin), 2))
        begin, end = characters(Stretch(cut=context, begin=first, end=last), owner)
        alone = np.bincount(owner)[owner] == 1
        seen = [
            _window(examples[number], kept[number], None if whole_text else (start, stop))
            for number, start, stop, whole_text in zip(owner.tolist(), begin.tolist(), end.tolist(), alone.tolist(), strict=True)
        ]
        made, notes = super().questions(seen, coder)
        notes[f"questions cut to {longest} tokens"] = int(long.sum())
        rows = replace(made.rows, cut=None)  # what one window lacks another has
        begin = np.where(alone, 0, begin)
        return WindowQuestions(
            name=made.name, rows=rows, groups=made.groups, way=made.way, targets=made.targets, owner=owner, begin=begin,
            holds=np.array([bool(example.answer) for example in seen], np.bool_),
        ), notes  # fmt: skip

    def written(self, body: Model, coder: Coder, questions: TextQuestions, examples: Sequence[Example]) -> Responses:
        """Of several windows the answer that is likeliest; none only where none of them has one."""
        assert isinstance(questions, WindowQuestions)
        best: dict[int, tuple[bool, float, str, int]] = {}
        written = self.texts(body, coder, questions)
        for number, begin, (text, score) in zip(questions.owner.tolist(), questions.begin.tolist(), written, strict=True):
            place = examples[number].texts[1].find(text, begin) if text else -1
            if number not in best or (text != "", score) > best[number][:2]:
                best[number] = (text != "", score, text, place)
        found: list[Prediction] = [
            {"answer": text, "start": place, "end": place + len(text) if place >= 0 else -1, "score": score}
            for _, score, text, place in (best[number] for number in range(len(examples)))
        ]
        elsewhere = sum(one["start"] < 0 and one["answer"] != "" for one in found)
        return found, Counter({"answers that do not stand in their context (start -1)": elsewhere})


def _window(example: Example, question: int, bounds: tuple[int, int] | None) -> Example:
    """With the first characters of the question, and what the window holds of the context and of the answers; None: all."""
    asked, context = example.texts[0][:question], example.texts[1]
    if bounds is None:
        return replace(example, texts=(asked, context))
    begin, end = bounds
    held = example.answer and tuple(one for one in example.answer if begin <= one.start and one.start + len(one.text) <= end)
    return replace(example, texts=(asked, context[begin:end]), answer=held)
