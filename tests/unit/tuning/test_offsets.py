"""Entities and answers point into the original text, whatever the tokenizer makes of it: what is asked, if answered rightly, comes back in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.core.part import replace
from plume.readers.example import Example
from plume.readers.schemes import Span
from plume.readers.squad import GoldAnswer
from plume.tasks import ner, pos, qa
from plume.text.languages import has_han
from plume.text.tokenizer import Tokenizer
from plume.tuning.rows.questions import SpanQuestions, TokenQuestions
from plume.tuning.rows.rows import Coder
from plume.tuning.rows.word_cuts import find_words
from plume.tuning.rows.word_rows import WordQuestions, ask_words

FAMILIES = ("bert", "roberta", "albert", "gpt", "xlnet", "t5", "elmo")  # WordPiece, bytes, Unigram, BPE, words
PIECES = (
    "cat", "Zürich", "Zu\u0308rich", "naïve", "北京", "大学", "ＦＵＬＬ", "１２", "🙂", "👩\u200d🚀", "\u200b", "\x07", "\ufffd", "한국",
    "ﬁne", "Straße", "don't", "U.S.", "…", "，", "「", "e\u0301", "İstanbul", "\xad", "𠮷", "x" * 40, "a1b2", "--", "\u3000", "\x1f", "\x0c",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES + (" ", " ", "  ", "\t")), min_size=1, max_size=12).map("".join)
FREE = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=40)


@pytest.fixture(scope="module")
def coders(miniature: Any, tokenizer_for: Callable[[Any], Tokenizer]) -> dict[str, Callable[[int], Coder]]:
    made = {}
    for family in FAMILIES:
        tokenizer = tokenizer_for(miniature(family))
        first = tokenizer.size if family == "elmo" else None
        made[family] = lambda length, tokenizer=tokenizer, first=first: Coder(tokenizer, length=length, spells_from=first)
    return made


def asked_words(examples: list[Example], coder: Coder, *, characters: bool = False) -> WordQuestions:
    coder = coder.fresh()
    return ask_words("x", find_words(examples, coder, characters=characters), coder)


def right(questions: Any, width: int) -> np.ndarray:
    """The scores of a head that knows all answers."""
    table = np.full((questions.lines, width), -5.0, np.float32)
    if isinstance(questions, SpanQuestions):
        for row, (first, last) in enumerate(questions.value):
            table[questions.rows.bounds[row] + first, 0] = table[questions.rows.bounds[row] + last, 1] = 9.0
    elif isinstance(questions, TokenQuestions):
        table[np.arange(len(questions.value)), questions.value] = 0.0
    return table


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXTS | FREE, min_size=1, max_size=4), length=st.sampled_from([12, 64]), characters=st.booleans())
def test_words_lie_in_the_text(family: str, coders: Any, texts: list[str], length: int, characters: bool) -> None:
    """In order, apart, not empty, and of every word it is known where it stands."""
    examples = [Example(texts=(text,)) for text in texts]
    asked = asked_words(examples, coders[family](length), characters=characters)
    assert asked.word_bounds[-1] == len(asked.word_start)
    for text, first, last in zip(texts, asked.word_bounds[:-1], asked.word_bounds[1:], strict=True):
        start, end = asked.word_start[first:last], asked.word_end[first:last]
        assert (start < end).all() and (start[1:] >= end[:-1]).all()
        assert (len(start) == 0) or (start[0] >= 0 and end[-1] <= len(text))
        if characters:
            assert all(one == other - 1 for one, other in zip(start, end, strict=True) if has_han(text[one:other]))


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS | FREE, data=st.data(), length=st.sampled_from([12, 64]), characters=st.booleans(), crf=st.booleans())
def test_entities_come_back_where_they_were(
    family: str, coders: Any, text: str, data: Any, length: int, characters: bool, crf: bool
) -> None:
    coder = coders[family](length)
    words = asked_words([Example(texts=(text,))], coder, characters=characters)
    count = len(words.word_start)
    cuts = sorted(data.draw(st.sets(st.integers(0, count), max_size=6))) if count else []
    gold = [
        Span(start=int(words.word_start[one]), end=int(words.word_end[other - 1]), label="AB"[place % 2])
        for place, (one, other) in enumerate(zip(cuts[::2], cuts[1::2], strict=False))
    ]
    example = Example(texts=(text,), answer=tuple(gold))
    task = replace(ner.TASK, labels=("O", "B-A", "I-A", "B-B", "I-B"), characters=characters, crf=crf)
    questions, notes = task.questions([example], coder)
    assert len(questions) == (1 if crf else len(questions.rows))
    assert not any(count for name, count in notes.items() if name.startswith("entities"))
    (answer,) = task.answers(right(questions, 5), questions, [example])
    assert [(one["start"], one["end"], one["label"]) for one in answer["entities"]] == [(one.start, one.end, one.label) for one in gold]
    assert all(one["text"] == text[one["start"] : one["end"]] for one in answer["entities"])
    if gold:
        assert task.measure([example], [answer])["f1"] == 1.0


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(st.sampled_from([piece for piece in PIECES if piece.strip()]), min_size=1, max_size=12),
    length=st.sampled_from([12, 64]),
    space=st.sampled_from(["", " "]),
    characters=st.booleans(),
)
def test_tags_of_a_files_own_words(family: str, coders: Any, words: list[str], length: int, space: str, characters: bool) -> None:
    """A word that the tokenizer drops gets the most frequent tag; all others their own, as no two share a token."""
    text = space.join(words)
    start = np.cumsum([0, *(len(word) + len(space) for word in words)])[:-1]
    places = tuple((int(begin), int(begin) + len(word)) for begin, word in zip(start, words, strict=True))
    labels = tuple(f"T{number}" for number in range(4))
    tags = tuple(labels[number % 4] for number in range(len(words)))
    example = Example(texts=(text,), words=places, answer=tags)
    task = replace(pos.TASK, labels=labels, usual="T2", characters=characters)
    questions, notes = task.questions([example], coders[family](length))
    (answer,) = task.answers(right(questions, 4), questions, [example])
    asked = questions.line >= 0
    assert len(answer["tags"]) == len(words) and notes["words that the tokenizer drops"] == (~asked).sum()
    held = np.repeat(np.arange(len(questions.rows)), np.diff(questions.asked)) * 1000 + questions.column
    assert len(np.unique(held)) == len(held)
    assert answer["tags"] == [tag if known else "T2" for tag, known in zip(tags, asked, strict=True)]
    assert [(one["start"], one["end"]) for one in answer["words"]] == list(places)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS, data=st.data(), length=st.sampled_from([24, 64]))
def test_answers_come_back_where_they_were(family: str, coders: Any, text: str, data: Any, length: int) -> None:
    coder = coders[family](length)
    words = asked_words([Example(texts=(text,))], coder)
    if not len(words.word_start):
        return
    one = data.draw(st.integers(0, len(words.word_start) - 1))
    other = data.draw(st.integers(one, min(one + 1, len(words.word_start) - 1)))
    start, end = int(words.word_start[one]), int(words.word_end[other])
    example = Example(texts=("who?", text), answer=(GoldAnswer(text[start:end], start),))
    task = replace(qa.TASK, unanswerable=True, longest_answer=200)
    questions, _ = task.questions([example], coder.fresh())
    assert isinstance(questions, SpanQuestions)
    if not (questions.value != questions.null[:, None]).any():  # longer than any window: said to be nowhere
        assert len(questions.rows) > 1
        return
    table = right(questions, 2)
    table[questions.rows.bounds[:-1] + questions.null] = np.where((questions.value == questions.null[:, None]).all(1)[:, None], 0.0, -9.0)
    (answer,) = task.answers(table, questions, [example])
    assert (answer["start"], answer["end"], answer["answer"]) == (start, end, text[start:end])
    assert task.measure([example], [answer])["exact_match"] == 1.0
