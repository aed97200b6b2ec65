"""What tuning hands to models that read mentions: the tokens of every name that the model keeps, whatever cut the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.model.use.language_model import LanguageModel
from plume.readers.example import Example
from plume.tuning.rows.questions import TokenQuestions
from plume.tuning.rows.word_cuts import find_words
from plume.tuning.tuned import coder_for

TEXTS = ("The tired sailor forgets the letter by the lighthouse.", "小猫看见图书馆。")


@pytest.fixture(scope="module")
def model(language_model: Any, knowledge: Any) -> LanguageModel:
    made: LanguageModel = language_model("eae")
    made.model.know(knowledge)
    return made


def named(coder: Any, cut: Any, text: str) -> list[tuple[str, int]]:
    """What each run of tokens with one entity says."""
    bounds = np.flatnonzero(np.diff(cut.named, prepend=-2, append=-2))
    pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return [(text[cut.start[first] : cut.end[behind - 1]], int(cut.named[first])) for first, behind in pairs if cut.named[first] >= 0]


def test_rows_carry_the_entities_of_their_tokens(model: LanguageModel) -> None:
    coder = coder_for(model.model, model.tokenizer, length=64)
    first, second = coder.texts([Example(texts=TEXTS)])
    assert named(coder, first.cut, TEXTS[0]) == [("tired sailor", 0), ("letter", 5), ("lighthouse", 6)]
    assert named(coder, second.cut, TEXTS[1]) == [("小猫", 12), ("图书馆", 14)]
    rows = coder.lay_out(first, second)
    assert rows.named is not None and (rows.named[rows.text < 0] == -1).all()
    for text, stretch in enumerate((first, second)):
        there = rows.text == text
        assert stretch.cut.named is not None
        assert np.array_equal(rows.named[there], stretch.cut.named[rows.place[there]])
    asked = TokenQuestions(
        name="x", rows=rows, groups=np.arange(2), column=np.zeros(1, np.int64), asked=np.arange(2), value=np.zeros(1, np.int64)
    )
    assert asked.batch(np.arange(1)).named["mentions"].tolist() == [rows.named.tolist()]


def test_words_of_a_file_are_linked_as_the_text_that_they_make(model: LanguageModel) -> None:
    coder = coder_for(model.model, model.tokenizer, length=64)
    text = TEXTS[0]
    words = tuple((text.index(word), text.index(word) + len(word)) for word in ("tired", "sailor", "letter", "lighthouse"))
    found = find_words([Example(texts=(text,), words=words)], coder)
    assert named(coder, found.cut, text) == [("tired sailor", 0), ("letter", 5), ("lighthouse", 6)]


def test_others_carry_nothing(language_model: Any) -> None:
    bert = language_model("bert")
    coder = coder_for(bert.model, bert.tokenizer, length=64)
    (stretch,) = coder.texts([Example(texts=TEXTS[:1])])
    assert stretch.cut.named is None and coder.lay_out(stretch).named is None
