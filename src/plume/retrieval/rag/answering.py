"""A RAG at use: questions in, answers out, with the passages that they rest on and how much each of them counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.documents import clean
from plume.metrics.squad import answer_scores
from plume.model.use.language_model import LanguageModel
from plume.retrieval.collection import DocumentPassage, Passages, read_passages
from plume.retrieval.questions import SearchQuestion
from plume.retrieval.rag.declared import RETRIEVER, RagDeclared, read_rag
from plume.retrieval.rag.decoding import Decoder
from plume.retrieval.rag.finding import Finder, WordFinder, load_retriever, vector_finder
from plume.retrieval.rag.pages import Pages
from plume.tuning.asked import AskedOf, Reply, Stage
from plume.tuning.tuned import coder_for

_SHOWN = 120  # characters of a passage
_AT_ONCE = 256  # questions
_TASK = "rag"


@dataclass(frozen=True, kw_only=True)
class RagAnswer:
    """An answer, its probability, and the passages that were read: the share of the answer's likelihood of each, and what the retriever gave it."""

    answer: str
    probability: float
    passages: tuple[DocumentPassage, ...]
    shares: tuple[float, ...]
    found: tuple[float, ...]


class RagAnswerer(LanguageModel):
    """A writer, and what finds its passages. `plume.load` of a RAG's directory gives one; documents are opened when first asked."""

    def __init__(
        self, writer: LanguageModel, declared: RagDeclared, *, folder: Path | None = None, passages: Passages | None = None,
        finder: Finder | None = None,
    ) -> None:  # fmt: skip
        super().__init__(writer.model, writer.tokenizer, writer.sentence)
        self.declared, self.folder = declared, folder
        self._opened: dict[tuple[str, ...], tuple[Passages, Finder]] = {}
        if passages is not None and finder is not None:
            self._opened[declared.documents] = passages, finder

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu", runtime: str = "torch") -> RagAnswerer:
        """From its directory. What searches step by step is computed by torch."""
        return cls(LanguageModel.load(folder, device=device), read_rag(Path(folder)), folder=Path(folder))

    def opened(self, documents: str | Path | Sequence[str | Path] | None = None) -> tuple[Passages, Finder]:
        """The passages of these files, or of those of training, and what finds among them; vectors are made once and kept by content."""
        if documents is None:
            files = self.declared.documents
        else:
            files = (str(documents),) if isinstance(documents, str | Path) else tuple(map(str, documents))
        if files not in self._opened:
            if documents is None and (gone := next((file for file in files if not Path(file).is_file()), None)):
                raise PlumeError(f"The documents of training are not at {gone}: say where they are, or others, with --documents FILE.")
            passages = read_passages(files, words=self.declared.task.passage)
            self._opened = {files: (passages, self._finder(passages))}
        return self._opened[files]

    def _finder(self, passages: Passages) -> Finder:
        if not self.declared.dense:
            return WordFinder(passages)
        assert self.folder is not None, "a RAG in training knows what finds"
        folder = self.folder / RETRIEVER
        return vector_finder(folder, load_retriever(folder), passages, scale=self.declared.task.scale)

    def answer(self, questions: Sequence[str], *, documents: Any = None, top: int | None = None) -> list[RagAnswer]:
        """One for each question. `top` passages are read; None: as many as in training."""
        found: list[RagAnswer] = []
        passages, finder = self.opened(documents)
        k = min(self.declared.task.passages if top is None else top, len(passages))
        for first in range(0, len(questions), _AT_ONCE):
            some = list(questions[first : first + _AT_ONCE])
            numbers, logits = finder.find(some, k)
            told, place = np.unique(numbers, return_inverse=True)
            pages = Pages(self._coder, some, [passages.texts[number] for number in told.tolist()])
            for row, places in enumerate(place.reshape(numbers.shape)):
                decoded = self._decoder.decode(pages.rows(np.full(k, row), places), logits[row])
                prior = np.exp(logits[row] - np.logaddexp.reduce(logits[row]))
                found.append(RagAnswer(
                    answer=self.tokenizer.decode(decoded.tokens).strip(), probability=math.exp(decoded.log_probability),
                    passages=tuple(passages.passages[number] for number in numbers[row].tolist()), shares=decoded.shares,
                    found=tuple(map(float, prior)),
                ))  # fmt: skip
        return found

    def without_passages(self, questions: Sequence[str]) -> list[str]:
        """What the same writer says without reading anything: what it remembers."""
        pages, decoder = Pages(self._coder, questions, [""]), self._decoder
        rows = [decoder.decode(pages.alone(np.array([number])), np.zeros(1, np.float32)) for number in range(len(questions))]
        return [self.tokenizer.decode(one.tokens).strip() for one in rows]

    def ask(
        self, question: str | Sequence[str], *, documents: Any = None, kb: Any = None, task: str | None = None, **options: Any
    ) -> list[Reply]:
        """A reply to each question: the answer, and the passages by their shares of it. `top` passages are read."""
        AskedOf(kb=kb).require_documents_only("A RAG")
        if task not in (None, _TASK):
            raise PlumeError(f"This model was not tuned for '{task}', but for {_TASK}: leave out --task.")
        top = _top(options)
        questions = [clean(one).strip() for one in ([question] if isinstance(question, str) else question)]
        if not all(questions):
            raise PlumeError("A question is a text that is not empty.")
        return [_reply(asked, found) for asked, found in zip(questions, self.answer(questions, documents=documents, top=top), strict=True)]

    def measure(self, questions: Sequence[SearchQuestion], *, documents: Any = None) -> dict[str, dict[str, float]]:
        """Exact match and F1 of the answers; and, with the same weights, of a reader of BM25's first passage, and of nothing read."""
        asked, gold = [one.question for one in questions], [list(one.answers) for one in questions]
        passages, _ = self.opened(documents)
        reader = RagAnswerer(self, replace(self.declared, dense=False, task=replace(self.declared.task, passages=1)),
            passages=passages, finder=WordFinder(passages))  # fmt: skip
        return {
            "rag": answer_scores(gold, [one.answer for one in self.answer(asked, documents=documents)]),
            "first of BM25": answer_scores(gold, [one.answer for one in reader.answer(asked)]),
            "nothing read": answer_scores(gold, self.without_passages(asked)),
        }

    @property
    def _coder(self) -> Any:
        return coder_for(self.model, self.tokenizer, length=self.declared.length)

    @property
    def _decoder(self) -> Decoder:
        return Decoder(writer=self.model, way=self.declared.way, task=self.declared.task, room=self.declared.longest)


def _reply(question: str, found: RagAnswer) -> Reply:
    order = sorted(range(len(found.shares)), key=lambda place: -found.shares[place])
    steps = [
        Stage(
            name=f"passage {found.passages[place].document}",
            said=_short(found.passages[place]),
            score=found.shares[place],
            others=(("found with", found.found[place]),),
        )
        for place in order
    ]
    return Reply(question=question, answers=(found.answer,) if found.answer else (), score=found.probability, steps=tuple(steps))


def _short(passage: DocumentPassage) -> str:
    text = " ".join(passage.read.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _top(options: Mapping[str, Any]) -> int | None:
    """How many passages a question asks to be read, which is all that it can set."""
    if unknown := [name for name in options if name != "top"]:
        raise PlumeError(f"A RAG has no setting '{unknown[0]}' that a question may change: top.")
    top = options.get("top")
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 1):
        raise PlumeError(f"A RAG: top is the number of passages that are read, a whole number from 1 on, not {top!r}.")
    return top
