import random

import pytest

from plume.core.part import replace
from plume.data.train_tokenizer import corpus_tokenizer, sample_paragraphs, train_tokenizer
from plume.text.format import BERT
from plume.text.tokenizers import WordPiece


def test_trains_on_the_corpus(write, sample):
    made = train_tokenizer(write(sample), WordPiece(vocabulary=150), BERT)
    assert made.encode(["Believes 大学"]) == [[made.id("believes"), made.id("大"), made.id("学")]]
    assert made.size <= 150


def test_the_sample_is_spread_evenly_in_whole_documents(write):
    corpus = write([[f"document {number:03d} one", f"document {number:03d} two"] for number in range(200)])
    found = list(sample_paragraphs(corpus, limit=corpus.census().bytes // 4))
    numbers = [int(text.split()[1]) for text in found]
    assert 48 <= len(set(numbers)) <= 50
    assert len(numbers) == 2 * len(set(numbers))
    assert max(b - a for a, b in zip(sorted(set(numbers)), sorted(set(numbers))[1:], strict=False)) <= 5


def test_a_small_corpus_is_used_whole(write, sample):
    assert list(sample_paragraphs(write(sample), limit=10**9)) == [line for document in sample for line in document]


def test_one_document_larger_than_the_sample_is_taken_in_the_end(write):
    draw = random.Random(1)
    corpus = write([[f"{draw.random()}" for _ in range(size)] for size in (50, 900, 50)])
    found = list(sample_paragraphs(corpus, limit=corpus.census().bytes // 5))
    assert len(found) in (50, 100)


def test_the_same_corpus_gives_the_same_tokenizer(write, sample):
    corpus = write(sample)
    spec = replace(WordPiece(vocabulary=200), lowercase=False)
    assert train_tokenizer(corpus, spec, BERT).fingerprint == train_tokenizer(corpus, spec, BERT).fingerprint


def test_it_is_trained_once(write, sample, tmp_path, monkeypatch):
    monkeypatch.setenv("PLUME_CACHE", str(tmp_path / "cache"))
    corpus, spec = write(sample), WordPiece(vocabulary=200)
    made = corpus_tokenizer(corpus, spec, BERT)
    monkeypatch.setattr("plume.data.train_tokenizer.train_tokenizer", None)
    assert corpus_tokenizer(corpus, spec, BERT).fingerprint == made.fingerprint
    with pytest.raises(TypeError):
        corpus_tokenizer(corpus, replace(spec, lowercase=False), BERT)
    monkeypatch.undo()
    monkeypatch.setenv("PLUME_CACHE", str(tmp_path / "cache"))
    for kept in (tmp_path / "cache" / "tokenizers").iterdir():
        kept.write_text("{")
    assert corpus_tokenizer(corpus, spec, BERT).fingerprint == made.fingerprint, "a damaged one is made again"
