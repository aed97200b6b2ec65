"""What a model is asked while its heads are switched off one by one: a number that says how sure it is, and its first guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.train.device import to_device
from plume.tuning.tuned import TunedModel
from plume.view.recording.answers import wanted
from plume.view.recording.asking import AskAfterSource, AskedPlace, Asking, asking_for
from plume.view.recording.attention import AttentionReader
from plume.view.recording.integrating import said
from plume.view.recording.texts import row_batch

_PLACES, _GUESSES = 16, 5


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`sure`: of the answer that the whole model gives, in nats (or a cosine, or a number); the first guesses with their probabilities."""

    sure: float
    guesses: list[tuple[str, float]]


class Question(Protocol):
    """AskedPlace again and again; the first answer is the whole model's, and the later ones are about that answer."""

    kind: str  # "blank", "text", "next", "task", "number" or "states": what `sure` is of

    def ask(self) -> Answer:
        """With the heads that are on."""


class TokenQuestion:
    """Which token stands in a blank; or all tokens of the text, each hidden in turn or after those before it."""

    def __init__(self, reader: AttentionReader) -> None:
        self.can, read = reader.subject.can, reader.read
        self.asking, frame = self._way(reader)
        special = set(self.can.tokenizer.special_ids.tolist())
        if not self.asking.hides:
            self.kind = "next"
            places: Sequence[int] = range(len(frame) + 1)
            self.answers: list[int | None] = [*frame, None]
        elif self.can.tokenizer.mask in frame:
            self.kind = "blank"
            places = [place for place, token in enumerate(frame) if token == self.can.tokenizer.mask]
            self.answers = [None] * len(places)
        else:
            self.kind = "text"
            inside = [place for place, token in enumerate(frame) if token not in special]
            places = [inside[round(one)] for one in np.linspace(0, len(inside) - 1, min(_PLACES, len(inside)))]
            self.answers = [frame[place] for place in places]
        if not places:
            raise PlumeError("There is no token in the text: write a few words.")
        language = read.segment[0] if read.segment is not None and self.can.model.languages is not None else None
        self.asked = [AskedPlace(frame=frame, place=place, language=language) for place in places]
        self.told: Sequence[int] | None = None

    def _way(self, reader: AttentionReader) -> tuple[Asking, list[int]]:
        if reader.target is None:
            return asking_for(self.can), reader.read.tokens
        kind = self.can.decoder()
        if kind is None:
            return asking_for(self.can), reader.read.tokens
        return AskAfterSource(self.can, kind, reader.read.tokens), reader.target.tokens[1:]

    @torch.inference_mode()
    def ask(self) -> Answer:
        """The mean log-probability of the tokens, and the guesses for the first blank, or for what comes next."""
        head, layers = self.asking.layers(self.asked)
        found = head.log_probabilities(layers[max(layers)]).flatten(0, 1).float()
        if self.told is None:
            best = found.argmax(-1).tolist()
            self.told = [best[row] if answer is None else answer for row, answer in enumerate(self.answers)]
        sure = found[torch.arange(len(found)), torch.tensor(self.told, device=found.device)]
        if self.kind == "next" and len(sure) > 1:
            sure = sure[:-1]  # how it goes on is shown, and not known
        if self.kind == "text":
            return Answer(sure=float(sure.mean()), guesses=[])
        row = found[0 if self.kind == "blank" else -1]
        values, tokens = row.topk(min(_GUESSES, len(row)))
        named = [self.can.tokenizer.decode([one]).strip() or self.can.tokenizer.token(one) for one in tokens.tolist()]
        return Answer(sure=float(sure.mean()), guesses=list(zip(named, values.exp().tolist(), strict=True)))


class TaskQuestion:
    """A tuned model's answer, by its log-odds; of a number, the number."""

    def __init__(self, model: TunedModel, texts: Sequence[str], task: str | None = None) -> None:
        self.model = model
        asked = model.task(task)
        example = asked.example(texts[0] if len(texts) == 1 else tuple(texts))
        self.questions, _ = asked.questions([example], model.coder())
        self.wanted = wanted(model, asked, self.questions, example)[:_GUESSES]
        self.kind = "task" if asked.labels or len(self.wanted) > 1 else "number"

    @torch.inference_mode()
    def ask(self) -> Answer:
        """The mean over what was answered, and the probability of each."""
        tables: dict[int, Tensor] = {}
        for group in {one.group for one in self.wanted}:
            batch = self.model.finish(self.questions.batch(np.array([group])), self.questions)
            tables[group] = said(self.model, to_device(batch, self.model.device))
        odds = [float(one.output(tables[one.group])[0]) for one in self.wanted]
        chosen = [value for value, one in zip(odds, self.wanted, strict=True) if one.chosen] or odds[:1]
        shown = [
            (f"{one.about}: {one.answer}" if one.about else one.answer, value if self.kind == "number" else 1 / (1 + float(np.exp(-value))))
            for value, one in zip(odds, self.wanted, strict=True)
        ]
        return Answer(sure=float(np.mean(chosen)), guesses=shown)


class StatesQuestion:
    """Where a model has no answer of its own: how far the vectors that it makes of the text turn."""

    kind = "states"

    def __init__(self, reader: AttentionReader) -> None:
        self.reader = reader
        self.whole: Tensor | None = None

    @torch.inference_mode()
    def ask(self) -> Answer:
        """The mean cosine to the whole model's vectors."""
        network = self.reader.subject.network
        found = network.encode(row_batch(self.reader.subject, self.reader.read)).last[0].float()
        self.whole = found if self.whole is None else self.whole
        return Answer(sure=float(torch.cosine_similarity(found, self.whole, dim=-1).mean()), guesses=[])


def question_of(reader: AttentionReader, texts: Sequence[str], task: str | None = None) -> Question:
    """What this model can be asked about the text."""
    tuned, network = reader.subject.tuned, reader.subject.network
    if tuned is not None and tuned.task(task).objective is None:
        return TaskQuestion(tuned, texts, task)
    # A generator that fills masks is another network than the one that is shown; two texts are no text to go on with.
    if network.recipe.assembly.generates or (len(texts) > 1 and not isinstance(network, EncoderDecoderModel)):
        return StatesQuestion(reader)
    try:
        return TokenQuestion(reader)
    except PlumeError:
        return StatesQuestion(reader)


__all__ = ["Answer", "Question", "StatesQuestion", "TaskQuestion", "TokenQuestion", "question_of"]
