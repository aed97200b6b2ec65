"""Dialogue: the assistant's next turn, after all turns before it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.networks.model import Model
from plume.readers.conversations import Role, Turn, example_of, read_conversations, turns_before, turns_of
from plume.readers.example import Example, Reading
from plume.text.pieces import Joined, bounds
from plume.text.tokenizer import Tokenizer
from plume.train.device import to_device
from plume.tuning.adapting.body import Body
from plume.tuning.rows.rows import Coder, TextRows, whole
from plume.tuning.task import Prediction, Responses, Task
from plume.tuning.writing.nearest import frequent_answer, nearest_answers
from plume.tuning.writing.template import ChatTemplate, fitting
from plume.tuning.writing.text_to_text import FreeText
from plume.tuning.writing.written import TextQuestions

_SCORES = 16_000_000  # of tokens that are computed at once


@dataclass(frozen=True, kw_only=True)
class Dialogue(FreeText):
    """Every turn of the assistant is learned, after all turns before it; nothing else counts. `template` is how turns become tokens."""

    reads: ClassVar[str] = "JSONL of messages or turns; questions and answers (JSONL, TSV, CSV)"

    template: ChatTemplate = field(default_factory=ChatTemplate)

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        return read_conversations(paths, reading, labelled=labelled, fields=self.fields)

    def example(self, item: Any) -> Example:
        """One thing that the user says, a list of messages, or {"messages": …}."""
        if isinstance(item, Mapping) and "messages" in item:
            item = item["messages"]
        turns = [Turn(Role.USER, item)] if isinstance(item, str) else turns_of(item, where=self.called)
        if not any(turn.content.strip() for turn in turns):
            raise PlumeError(f"{self.called}: nothing was said.")
        return example_of(turns)

    def suited(self, body: Body, tokenizer: Tokenizer, examples: Sequence[Example]) -> Task:
        made = super().suited(body, tokenizer, examples)
        assert isinstance(made, Dialogue)
        return made if self.way is not None else replace(made, template=self.template.suited(tokenizer))

    def source(self, example: Example) -> str:
        return "\n".join(f"{turn.role}: {turn.content}" for turn in turns_before(example))

    def laid_out(self, examples: Sequence[Example], room: int, coder: Coder) -> tuple[TextRows, Counter[str]]:
        """Whole turns are left out at the front where there are too many; a single one that is too long loses its beginning."""
        said = [turns_before(example) for example in examples]
        written = self.template.writer([turn for turns in said for turn in turns], coder.tokenizer)
        asked = coder.tokenizer.encode([self.template.assistant])[0]
        rows, cut = [], np.zeros(len(said), np.bool_)
        for number, turns in enumerate(said):
            coded = [written(turn) for turn in turns]
            kept = fitting(turns, [len(ids) for ids in coded], room - len(asked))
            ids = [*(token for place in kept for token in coded[place]), *asked]
            cut[number] = len(kept) < len(turns) or len(ids) > room
            rows.append(ids[max(0, len(ids) - room) :])
        laid = self.writes.lay_out(whole(_joined(rows)), coder)
        return replace(laid, cut=cut), Counter({f"conversations of which only the last turns fit {room} tokens": int(cut.sum())})

    def written(self, body: Model, coder: Coder, questions: TextQuestions, examples: Sequence[Example]) -> Responses:
        found, notes = super().written(body, coder, questions, examples)
        if len(questions.targets.tokens):
            for one, total, size in zip(found, _likelihoods(body, questions), questions.targets.length.tolist(), strict=True):
                one |= {"log_probability": round(float(total), 4), "tokens": size}
        return found, notes

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        """What text-to-text measures, and the perplexity of the right answers' tokens, the end counted in."""
        scores = super().measure(examples, predictions)
        if all("log_probability" in one for one in predictions):
            total = sum(one["log_probability"] for one in predictions)
            scores["perplexity"] = math.exp(min(-total / sum(one["tokens"] for one in predictions), 700.0))
        return scores

    def yardsticks(self, train: Sequence[Example], dev: Sequence[Example]) -> list[str]:
        """The most frequent answer to all, and the answer to the nearest question."""
        answers = [str(example.answer) for example in train]
        given = {
            "the most frequent answer to everything": [frequent_answer(answers)] * len(dev),
            "the training answer whose question is nearest (TF-IDF)": nearest_answers(
                [example.texts[-1] if example.texts else "" for example in train],
                answers,
                [example.texts[-1] if example.texts else "" for example in dev],
            ),
        }
        name = self.metric if self.metric != "perplexity" else "chrf"
        return [
            f"{self.called}: {words} would score {name} {self.measure(dev, [{'text': text} for text in texts])[name]:.4f} on dev."
            for words, texts in given.items()
        ]


def _joined(rows: Sequence[Sequence[int]]) -> Joined:
    """Rows of tokens as if they had been cut from texts; where they stood nobody asks."""
    ids = np.array([token for row in rows for token in row], np.int64)
    nowhere = np.zeros(len(ids), np.int64)
    ends = bounds(map(len, rows))
    return Joined(ids=ids, word_start=np.ones(len(ids), np.bool_), start=nowhere, end=nowhere, token_bounds=ends, character_bounds=ends)


@torch.inference_mode()
def _likelihoods(body: Model, questions: TextQuestions) -> NDArray[np.float64]:
    """[N] the log-probability of each right answer, its end token counted in."""
    device = next(body.parameters()).device
    most = max(1, min(64, _SCORES // (int(questions.targets.length.max()) * body.vocabulary)))
    found = np.zeros(len(questions))
    for index in questions.alike(most=most):
        pairs = questions.pairs(index)
        batch = to_device(replace(questions.batch(index), labels={}), device)
        scores = body.head(questions.way.objective).log_probabilities(body.token_states(batch))
        own = scores.gather(2, torch.from_numpy(pairs.written).to(device)[:, :, None]).squeeze(2).double().cpu().numpy()
        found[index] = np.where(pairs.inside, own, 0.0).sum(1)
    return found
