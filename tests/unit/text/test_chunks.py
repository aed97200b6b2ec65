"""Remembering words must change nothing: every field equals what the tokenizer gives for the whole text."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.text import chunks
from plume.text.chunks import independent_chunks
from plume.text.format import BERT, GPT, ROBERTA
from plume.text.pieces import join
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import BPE, ByteLevelBPE, Unigram, WordPiece
from plume.text.words import Words

SPECS = {
    "uncased": (WordPiece(vocabulary=300), BERT),
    "cased": (WordPiece(vocabulary=300, lowercase=False), BERT),
    "bpe": (BPE(vocabulary=300), GPT),
    "byte level": (ByteLevelBPE(vocabulary=400), ROBERTA),
}


@pytest.fixture(scope="module", autouse=True)
def _for_few_texts_too():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plume.text.tokenizer._FEW", 0)
        yield


@pytest.fixture(scope="module", params=SPECS)
def tokenizer(request, texts) -> Tokenizer:
    spec, form = SPECS[request.param]
    return Tokenizer(spec.train(iter(texts), format=form), format=form)


def whole(tokenizer: Tokenizer, texts: list[str]):
    return join(tokenizer._encodings(texts, allow_special=False), texts)


def assert_equal(one, other) -> None:
    for field in dataclasses.fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


STRANGE = "abtheÉ é'n’ts.,-!\t\n\r\v\x1c\x85\xa0\u200b\u2028\u3000\u0301\ufe0f\ufeff\ufffd\x00北京㐀豈𠀀𫠠𫤠か한🦉🇨🇳<s>[MASK]"


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text(alphabet=st.one_of(st.sampled_from(STRANGE), st.characters(codec="utf-8")), max_size=25), max_size=6))
def test_the_same_as_without_memory(texts, tokenizer):
    assert_equal(tokenizer.encode_joined(texts, words=Words.SPACES), whole(tokenizer, texts))


def test_real_text_whether_seen_before_or_not(texts, tokenizer):
    for _ in range(2):
        assert_equal(tokenizer.encode_joined(texts, words=Words.SPACES), whole(tokenizer, texts))


@pytest.mark.parametrize("bound", ["REMEMBERED_CHUNKS", "REMEMBERED_TOKENS"])
def test_it_forgets_when_it_is_full(bound, texts, tokenizer, monkeypatch):
    monkeypatch.setattr(chunks, bound, 10)
    for text in texts[:8]:
        assert_equal(tokenizer.encode_joined([text], words=Words.SPACES), whole(tokenizer, [text]))
        assert len(tokenizer._memory._number) < 60


def test_tokenizers_whose_words_depend_on_each_other_are_left_alone(texts, tokenizer):
    unigram = Tokenizer(Unigram(vocabulary=100).train(iter(texts), format=BERT), format=BERT)
    assert unigram._memory is None
    file = json.loads(tokenizer.backend.to_str())
    assert independent_chunks(file) is not None
    added = {"id": 0, "content": "new york", "special": False, "lstrip": False, "rstrip": False, "normalized": True, "single_word": False}
    assert independent_chunks(file | {"added_tokens": [added]}) is None
    assert independent_chunks(file | {"pre_tokenizer": None}) is None
    assert independent_chunks(file | {"normalizer": {"type": "NFC"}}) is None
