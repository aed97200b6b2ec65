"""Tagging: a label for each word. Named entities, parts of speech and word segmentation differ in their files and labels only."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.lines import read_lines
from plume.heads.head import Head
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_labelling import TokenLabelling
from plume.metrics.entities import entity_scores, span_scores, tag_scores
from plume.metrics.resampled.labels import span_rows, tag_rows
from plume.metrics.resampled.measures import Measures
from plume.readers.conll import Conll, find_conll, looks_like_conll, read_conll
from plume.readers.example import Example, Reading
from plume.readers.plain_lines import read_plain_lines
from plume.readers.schemes import Span, in_characters, spans_of
from plume.readers.span_files import read_segmented, read_spans
from plume.readers.table_rows import is_json
from plume.text.languages import language_mix
from plume.tuning.kinds.readable import readable_spans, readable_tags, readable_words
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.rows.rows import Coder
from plume.tuning.rows.word_cuts import FoundWords, find_words
from plume.tuning.rows.word_labels import values_of_spans, with_beginnings, with_dropped
from plume.tuning.rows.word_rows import WordQuestions, ask_words
from plume.tuning.task import Columns, Prediction, Readable, Task

OUTSIDE = "O"


class TagKind(enum.StrEnum):
    """What a tag says of its word."""

    ENTITIES = "entities"  # BIO tags
    PLAIN = "plain"  # a tag of its own for each word
    WORDS = "words"  # the spans are the words themselves


@dataclass(frozen=True, kw_only=True)
class Tagging(Task):
    """A label for each word, or for each Han character; entities and segmented words are read off the labels."""

    reads: ClassVar[str] = "CoNLL columns (BIO, BIOES, IO); JSONL with spans"

    tags: TagKind = TagKind.ENTITIES
    crf: bool | None = None  # are labels of a sentence chosen together? None: by the model
    column: int = -1  # of the tag in CoNLL files, from 1; -1: the last
    conll: Conll | None = None  # how the training file was written; None: not in columns
    characters: bool = False  # Han characters are labelled one by one, and other scripts by words
    usual: str = ""  # the most frequent tag of training, which a word gets that the tokenizer drops

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        column = self.column if columns.answer is None else _number(columns.answer)
        found = find_conll(paths[0], plain=self.tags is TagKind.PLAIN, column=column) if looks_like_conll(paths[0]) else None
        if found is None and self.tags is TagKind.PLAIN:
            raise PlumeError(
                f"{paths[0]} is not in columns: {self.called} reads CoNLL files, a word and its tag a line, a blank line between sentences."
            )
        return replace(self, conll=found)

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        path = paths[0]
        if looks_like_conll(path) or (labelled and self.conll is not None and not _is_json(path)):
            conll = self.conll or find_conll(path, plain=self.tags is TagKind.PLAIN, column=self.column)
            return read_conll(path, reading, labelled=labelled, conll=conll)
        if _is_json(path):
            return read_spans(path, reading, labelled=labelled)
        if self.tags is TagKind.WORDS:
            return read_segmented(path, reading, labelled=labelled)
        return read_spans(path, reading, labelled=labelled) if labelled else read_plain_lines(path, reading)

    def example(self, item: Any) -> Example:
        example = super().example(item)
        if len(example.texts) != 1:
            raise PlumeError(f"{self.called} reads one text, and was given {len(example.texts)}: {str(item)[:60]!r}.")
        return example

    def learned(self, examples: Sequence[Example]) -> Self:
        characters = self._by_characters(examples)
        if self.tags is TagKind.PLAIN:
            found = Counter(tag for example in examples for tag in example.answer)
            return replace(self, labels=tuple(sorted(found)), usual=found.most_common(1)[0][0], characters=characters)
        types = sorted({span.label for example in examples for span in _spans(example)})
        if not types:
            raise PlumeError(f"{self.called}: none of the {len(examples):,} training examples has an entity: is the tag in another column?")
        return replace(self, labels=(OUTSIDE, *(f"{side}-{kind}" for kind in types for side in "BI")), characters=characters)

    def _by_characters(self, examples: Sequence[Example]) -> bool:
        if self.conll is not None:
            return self.conll.characters
        mix = language_mix("".join(example.texts[0] for example in examples[:1000]))
        return self.tags is TagKind.WORDS or mix.share(mix.han) > 0.5

    def check(self, examples: Sequence[Example], file: Path) -> None:
        known = set(self.labels)
        for example in examples:
            found = example.answer if self.tags is TagKind.PLAIN else [f"B-{span.label}" for span in _spans(example)]
            for label in found:
                if label not in known and self.tags is not TagKind.PLAIN:
                    raise PlumeError(
                        f"{file}, line {example.line}: entities of type '{label[2:]}' do not occur in the training file "
                        f"(it has {', '.join(sorted({one[2:] for one in self.labels if one != OUTSIDE}))})."
                    )

    def settled(self, *, together: bool) -> Self:
        return self if self.crf is not None else replace(self, crf=together and self.tags is not TagKind.PLAIN)

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return TokenLabelling(labels=self.labels, dropout=dropout, chain=bool(self.crf), bio=self.tags is not TagKind.PLAIN)

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        notes: Counter[str] = Counter()
        coder = coder.fresh()
        words = find_words(examples, coder, characters=self.characters)
        questions = ask_words(self.called, words, coder, together=bool(self.crf))
        asked = questions.line >= 0
        if all(example.answer is not None for example in examples):
            values = self._values(examples, words, notes)
            if self.tags is not TagKind.PLAIN:
                values = with_beginnings(values, asked, self.labels)
            questions = replace(questions, value=values[asked])
        if not asked.all():
            notes["words that the tokenizer drops"] = int((~asked).sum())
        return questions, notes

    def _values(self, examples: Sequence[Example], words: FoundWords, notes: Counter[str]) -> NDArray:
        """[W] numbers of labels."""
        number = {label: place for place, label in enumerate(self.labels)}
        if all(example.words is not None for example in examples):
            tags = [tag for example in examples for tag in example.answer]
            notes["words whose tag does not occur in the training file"] = sum(tag not in number for tag in tags)
            return np.array([number.get(tag, 0) for tag in tags], np.int64)
        return values_of_spans([example.answer for example in examples], words, number, notes)

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        assert isinstance(questions, WordQuestions)
        best, top = table.argmax(1), table.max(1)
        missing = self.usual or OUTSIDE
        chosen = questions.word_values(best, self.labels.index(missing) if missing in self.labels else 0)
        if self.tags is not TagKind.PLAIN:
            chosen = with_dropped(chosen, questions.line >= 0, questions.word_bounds, self.labels)
        sure = np.exp(np.where(top > 50, top - 100, top))  # where a chain decides, its choice was raised by 100
        score = questions.word_values(sure, np.nan)
        names = np.array(self.labels, object)[chosen]
        found = []
        for example, (first, last) in zip(examples, pairwise(questions.word_bounds.tolist()), strict=True):
            places = list(zip(questions.word_start[first:last].tolist(), questions.word_end[first:last].tolist(), strict=True))
            found.append(self._answer(example.texts[0], places, names[first:last].tolist(), score[first:last]))
        return found

    def _answer(self, text: str, places: list[tuple[int, int]], tags: list[str], score: NDArray) -> Prediction:
        if self.tags is TagKind.PLAIN:
            return {
                "tags": tags,
                "words": [
                    {"start": start, "end": end, "text": text[start:end], "tag": tag}
                    for (start, end), tag in zip(places, tags, strict=True)
                ],
            }
        entities = [
            {
                "start": places[span.start][0],
                "end": places[span.end - 1][1],
                "label": span.label,
                "text": text[places[span.start][0] : places[span.end - 1][1]],
                "score": round(float(np.nanmean(score[span.start : span.end])), 6),
            }
            for span in spans_of(tags)
        ]
        if self.tags is TagKind.WORDS:
            return {"words": [entity["text"] for entity in entities], "entities": entities, "tags": tags}
        return {"entities": entities, "tags": tags}

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        if all(example.words is not None for example in examples):
            gold, predicted = [list(example.answer) for example in examples], [one["tags"] for one in predictions]
            return tag_scores(gold, predicted) if self.tags is TagKind.PLAIN else entity_scores(gold, predicted)
        spans = [_entities(one) for one in predictions]
        return span_scores([example.answer for example in examples], spans, [len(example.texts[0]) for example in examples])

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        if self.tags is TagKind.PLAIN:
            return tag_rows([example.answer for example in examples], [one["tags"] for one in predictions])
        if not all(example.words is not None for example in examples):
            return span_rows([set(example.answer) for example in examples], [set(_entities(one)) for one in predictions])
        gold, tags = [example.answer for example in examples], [one["tags"] for one in predictions]
        spans = span_rows([set(spans_of(one)) for one in gold], [set(spans_of(one)) for one in tags])
        return spans | {"accuracy": tag_rows(gold, tags)["accuracy"]}

    def grades(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> NDArray[np.float64]:
        """A sentence is right as a whole: all its tags, or all its spans and no others."""
        counts = self._row_statistics("accuracy" if self.tags is TagKind.PLAIN else "f1", examples, predictions)
        return (counts == counts[:, :1]).all(axis=1).astype(np.float64)

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        if self.tags is TagKind.PLAIN:
            return readable_tags(example, given)
        gold = in_characters(spans_of(example.answer), example.words) if example.words is not None else list(example.answer)
        wording = readable_words if self.tags is TagKind.WORDS else readable_spans
        return wording(example.texts[0], gold), {model: wording(example.texts[0], _entities(one)) for model, one in given.items()}


def _spans(example: Example) -> list[Span]:
    return spans_of(example.answer) if example.words is not None else list(example.answer)


def _entities(prediction: Prediction) -> list[Span]:
    """In characters."""
    return [Span(start=one["start"], end=one["end"], label=one["label"]) for one in prediction["entities"]]


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PlumeError(f"Columns of CoNLL files have no names: give a number from 1, or -1 for the last, not '{text}'.") from None


def _is_json(path: Path) -> bool:
    first: Any = next((line for _, line in read_lines(path, longest=None) if line.strip()), "")
    line = str(first).strip()
    return is_json(line) or line.startswith('["')
