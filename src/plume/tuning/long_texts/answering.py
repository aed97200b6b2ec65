"""Questions about texts of any length: a judge recalls the blocks that matter, and a reader reads them together (CogLTX, NeurIPS 2020)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.documents import read_documents
from plume.heads.head import Head
from plume.heads.judged_span import UNREAD, JudgedSpan
from plume.heads.sentence_classification import SentenceClassification
from plume.readers.example import Example
from plume.tuning.asked import AskedOf, Reply, Stage
from plume.tuning.kinds.answering import QuestionAnswering, stated
from plume.tuning.long_texts.blocks import LONGEST
from plume.tuning.long_texts.buffers import Buffers, JudgedQuestions, LongTexts, by_run, chunks, lay_out_buffers, long_texts
from plume.tuning.long_texts.intervening import each_hidden, span_losses, voted, votes
from plume.tuning.long_texts.lessons import BlockPool, answer_places, gold_blocks, lesson_rows, pool_of
from plume.tuning.long_texts.recall import Judge, recall, scores_of, windows_of
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.rows.rows import Coder
from plume.tuning.rows.windows import best_answers
from plume.tuning.task import Answering, Columns, Prediction, Responses
from plume.tuning.writing.worded import ByText

_OPTIONS = ("block", "keep", "rounds", "shortlist", "words", "longest_question", "longest_answer", "threshold")  # of `plume ask --set`


@dataclass(frozen=True, kw_only=True)
class RecalledAnswering(QuestionAnswering):
    """One network under two heads: the judge scores blocks, by the mean over their tokens, and the reader points at the answer. Both learn from the
    same rows."""

    block: int = LONGEST  # tokens at most, and at most a quarter of a row
    keep: int = 3  # blocks that are remembered from one round to the next
    rounds: int = 2
    shortlist: int = 0  # so many blocks are judged, those that share most words with the question; 0: all, as in the paper
    # What the words that a block shares with the question count beside the judge, from 0 to 1 too (BM25, 1 for the best block); 0: the paper. They
    # find what a judge has not learned yet, and it sets right where they mislead.
    words: float = 1.0
    supervised: bool = True  # blocks that hold the answer matter; else those without which the reader's loss rises
    judges: float = 1.0  # weight of the judge's loss beside the reader's

    @classmethod
    def of(cls, task: QuestionAnswering) -> RecalledAnswering:
        """The same task with recall in place of windows."""
        return cls(**{one.name: getattr(task, one.name) for one in fields(task)})

    def for_long_texts(self, way: str) -> QuestionAnswering:
        return self

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        if min(self.block, self.keep, self.rounds) < 1 or min(self.shortlist, self.words, self.judges) < 0:
            raise PlumeError(f"{self.called}: block, keep and rounds are at least 1, and shortlist, words and judges at least 0.")
        return super().fitted(paths, columns)

    def in_words(self, examples: Sequence[Example]) -> ByText | None:
        return None

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return JudgedSpan(dropout=dropout, judges=self.judges)

    def texts(self, examples: Sequence[Example], coder: Coder) -> tuple[LongTexts, Counter[str]]:
        """As blocks; and what was lost on the way."""
        made, cut = long_texts(examples, coder, longest_question=self.longest_question, block=self.block)
        return made, Counter({f"questions cut to {self.longest_question} tokens": cut})

    # Training

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        """Those of the first epoch: nothing has been judged yet, so blocks stand beside the relevant ones by their words."""
        texts, notes = self.texts(examples, coder)
        pool = pool_of(texts)
        return self._lesson(examples, texts, pool, np.stack([pool.words, pool.near]), coder, epoch=0), notes

    def renewed(self, model: Answering, examples: Sequence[Example], epoch: int) -> Questions | None:
        """From the second epoch on the judge says which blocks look relevant, and, without supervision, the reader which are."""
        coder = model.coder()
        texts, _ = self.texts(examples, coder)
        pool = pool_of(texts)
        return self._lesson(examples, texts, pool, self._judged(model, examples, texts, pool, epoch), coder, epoch=epoch)

    def _judged(self, model: Answering, examples: Sequence[Example], texts: LongTexts, pool: BlockPool, epoch: int) -> NDArray[np.float64]:
        """[2, N] of each pooled block the judge's score, and how many interventions have spoken for it."""
        if not epoch:
            return np.stack([pool.words, pool.near])
        return model.once(f"{self.called}-{epoch}", lambda: self._judge_again(model, examples, texts, pool, epoch))

    def _judge_again(
        self, model: Answering, examples: Sequence[Example], texts: LongTexts, pool: BlockPool, epoch: int
    ) -> NDArray[np.float64]:
        coder = model.coder()
        looked = {number: sorted(pool.of(number, pool.words)) for number in range(len(texts)) if not texts.fits(number)}
        found = scores_of(windows_of(texts, looked, {number: [] for number in looked}), self._judge(model, texts, coder)) if looked else {}
        scores = np.array([found.get(number, {}).get(block, 0.0) for number, block in pool.places])
        if self.supervised:
            return np.stack([scores, pool.near])
        before = self._judged(model, examples, texts, pool, epoch - 1)
        return np.stack([scores, self._intervened(model, examples, texts, pool, before, coder)])

    def _intervened(
        self, model: Answering, examples: Sequence[Example], texts: LongTexts, pool: BlockPool, before: NDArray[np.float64], coder: Coder
    ) -> NDArray[np.float64]:
        """How many interventions speak for each pooled block, once each block of the reader's rows has been hidden from it."""
        places = answer_places(examples, texts)
        rows = lesson_rows(texts, pool, self._looking(before[0], pool), pool.relevant(before[1]), epoch=0)
        buffers = Buffers.of([(row.question, row.blocks) for row in rows if row.read])
        asked = lay_out_buffers(self.called, texts, buffers, coder, value=places[buffers.owner])
        whole = span_losses(model.table(asked), asked)
        again, row, block = each_hidden(buffers)
        hidden = lay_out_buffers(self.called, texts, again, coder, value=places[again.owner]).without(block)
        change = span_losses(model.table(hidden), hidden) - whole[row]
        return voted(before[1], pool.numbered, again.owner, block, votes(change))

    def _looking(self, scores: NDArray[np.float64], pool: BlockPool) -> NDArray[np.float64]:
        """How relevant each pooled block looks, as it will when a question is answered."""
        return scores + self.words * pool.share

    def _lesson(
        self, examples: Sequence[Example], texts: LongTexts, pool: BlockPool, judged: NDArray[np.float64], coder: Coder, *, epoch: int
    ) -> JudgedQuestions:
        known = all(example.answer is not None for example in examples)
        places = answer_places(examples, texts) if known else np.full((len(texts), 2), -1)
        relevant = gold_blocks(places, texts) if self.supervised and known else pool.relevant(judged[1])
        rows = lesson_rows(texts, pool, self._looking(judged[0], pool), relevant, epoch=epoch)
        if not known:
            rows = [row for row in rows if row.read]
        buffers = Buffers.of([(row.question, row.blocks) for row in rows])
        read = np.array([row.read for row in rows])
        value = np.where(read[:, None], places[buffers.owner], UNREAD) if known else None
        return lay_out_buffers(self.called, texts, buffers, coder, relevant=relevant, value=value)

    # Answers

    def _judge(self, model: Answering, texts: LongTexts, coder: Coder) -> Judge:
        def judge(buffers: Buffers) -> NDArray[np.float64]:
            asked = lay_out_buffers(self.called, texts, buffers, coder)
            return asked.judged(model.table(asked))

        return judge

    def respond(self, model: Answering, examples: Sequence[Example]) -> Responses:
        """The blocks that matter are recalled, then read together."""
        coder = model.coder()
        texts, notes = self.texts(examples, coder)
        found: list[Prediction] = []
        for turn in chunks(texts):
            memory = recall(
                texts, turn.tolist(), self._judge(model, texts, coder), rounds=self.rounds, keep=self.keep, shortlist=self.shortlist,
                words=self.words,
            )  # fmt: skip
            asked = lay_out_buffers(self.called, texts, Buffers.of([(number, memory[number]) for number in turn.tolist()]), coder)
            asked = replace(asked, window_example=np.arange(len(turn)))
            table = model.table(asked)
            answers = self.answers(table, asked, [examples[number] for number in turn.tolist()])
            found += [one | {"blocks": blocks} for one, blocks in zip(answers, _kept(texts, asked, table), strict=True)]
        return found, notes

    def ask(self, model: Answering, questions: Sequence[str], given: AskedOf) -> list[Reply]:
        """About all documents of a file together, which are one long text; every block that was read is a step."""
        if given.documents is None:
            raise PlumeError(f"{self.called}: say what to read: plume ask MODEL --documents article.txt (or JSONL with a text a line).")
        given.require_documents_only(self.called)
        settings = given.settings(self, _OPTIONS)
        text = whole_text(Path(given.documents))
        found, _ = replace(self, **settings).respond(model, [Example(texts=(question, text)) for question in questions])
        return [_reply(question, text, one) for question, one in zip(questions, found, strict=True)]

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        """An answer stands in blocks that follow each other in the text; what a row holds apart is searched apart."""
        assert isinstance(questions, JudgedQuestions)
        rows, context = questions.rows, questions.context
        row, begin, end = by_run(questions)
        owner = questions.window_example[row]
        place = rows.padded(np.where(rows.text == 1, rows.place, -1), row, -1)
        inside = (place >= begin[:, None]) & (place < end[:, None])
        base = questions.base[row][:, None]
        there = np.maximum(place, 0)
        found = best_answers(
            start=rows.padded(np.ascontiguousarray(table[:, 0]), row, 0),  # type: ignore[arg-type]
            end=rows.padded(np.ascontiguousarray(table[:, 1]), row, 0),  # type: ignore[arg-type]
            allowed=inside,
            window_example=owner,
            null=questions.null[row],
            character_start=context.start[there] - base if len(context.start) else np.zeros_like(place),
            character_end=context.end[there] - base if len(context.end) else np.zeros_like(place),
            longest=self.longest_answer,
            threshold=self.threshold if self.unanswerable else np.inf,
        )
        return [stated(example.texts[1], one) for example, one in zip(examples, found, strict=True)]


def whole_text(file: Path) -> str:
    """Everything that a file of text or JSONL says, a paragraph a line."""
    if file.is_dir():
        raise PlumeError(f"--documents {file} is a folder: give a text file, or JSONL with a 'text' a line.")
    if not file.is_file():
        raise PlumeError(f"--documents {file}: there is no such file. Give a text file, or JSONL with a 'text' a line.")
    text = "\n".join(paragraph for document in read_documents([file]) for paragraph in document.paragraphs)
    if not text:
        raise PlumeError(f"--documents {file}: there is no text in it.")
    return text


def _reply(question: str, text: str, one: Prediction) -> Reply:
    blocks = sorted(one["blocks"], key=lambda block: -block["score"])
    steps = [Stage(name="read", said=" ".join(text[block["start"] : block["end"]].split()), score=block["score"]) for block in blocks]
    return Reply(question=question, answers=(one["answer"],) if one["answer"] else (), score=one["score"], steps=tuple(steps))


def _kept(texts: LongTexts, asked: JudgedQuestions, table: NDArray[np.float32]) -> list[list[dict[str, Any]]]:
    """Of each row its blocks: where they stand in the text, and what the judge gave them when they were read together."""
    scores = asked.judged(table)
    found = []
    for first, last in zip(asked.buffers.bounds[:-1].tolist(), asked.buffers.bounds[1:].tolist(), strict=True):
        places = [texts.place(block) for block in asked.buffers.block[first:last].tolist()]
        found.append(
            [
                {"start": start, "end": end, "score": round(score, 6)}
                for (start, end), score in zip(places, scores[first:last].tolist(), strict=True)
            ]
        )
    return found
