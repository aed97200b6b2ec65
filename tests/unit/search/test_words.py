"""Words: BM25 against bm25s, segments that merge, passages that are cut."""

from __future__ import annotations

import random
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plume.search import passages
from plume.search.embedded import postings
from plume.search.embedded.postings import WordsReader, WordsWriter
from plume.search.passages import cut_passages
from plume.search.settings import Analysis
from plume.search.terms import terms
from plume.text.languages import count_words

VOCABULARY = [f"word{number}" for number in range(60)]


def written(texts: list[str], parts: int) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.executescript(postings.SCHEMA)
    writer = WordsWriter(database, Analysis.JIEBA)
    size = -(-len(texts) // parts)
    for first in range(0, len(texts), size):
        writer.add(first, texts[first : first + size])
        writer.flush()
    return database


@pytest.mark.parametrize("parts", [1, 7, 40])
def test_scores_are_those_of_bm25s(parts: int) -> None:
    bm25s = pytest.importorskip("bm25s")
    source = random.Random(3)
    texts = [" ".join(source.choices(VOCABULARY, weights=range(60, 0, -1), k=source.randint(3, 30))) for _ in range(200)]
    oracle = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    oracle.index([text.split() for text in texts], show_progress=False)
    reader = WordsReader(written(texts, parts), Analysis.JIEBA, len(texts))
    for query in (["word3", "word50", "word12"], ["word0"], ["word59", "word59"]):
        keys, scores = reader.best(" ".join(query), top=200, allowed=None)
        theirs = oracle.get_scores(query)
        assert np.allclose(scores, theirs[keys], rtol=1e-4)
        assert len(keys) == (theirs > 0).sum()


def test_segments_stay_few() -> None:
    database = written([f"same word{number}" for number in range(300)], 300)
    assert database.execute("SELECT count(*) FROM segments").fetchone()[0] <= 17
    keys, _ = WordsReader(database, Analysis.JIEBA, 300).best("word7 word250", top=5, allowed=None)
    assert sorted(keys.tolist()) == [7, 250]
    allowed = np.ones(300, np.bool_)
    allowed[7] = False
    assert WordsReader(database, Analysis.JIEBA, 300).best("word7 word250", top=5, allowed=allowed)[0].tolist() == [250]


@pytest.mark.parametrize("analysis", list(Analysis))
def test_chinese_words_of_two_characters_find_their_passage(analysis: Analysis) -> None:
    assert {"北京", "大学"} <= set(terms("我在北京大学读书", analysis))
    assert set(terms("北京", analysis)) == {"北京"}


@given(st.text(alphabet="ab .。\n中文\t!", max_size=300), st.integers(1, 12), st.integers(0, 6))
def test_passages_cover_the_text(text: str, words: int, overlap: int) -> None:
    """Nothing but space is lost, places are right, and no passage has more words than it may."""
    spans = cut_passages(text, words=words, overlap=min(overlap, words // 2))
    covered = set[int]()
    for begin, end in spans:
        assert 0 <= begin < end <= len(text)
        assert text[begin:end] == text[begin:end].strip()
        assert count_words(text[begin:end]) <= words and end - begin <= 20 * words
        covered.update(range(begin, end))
    assert all(character.isspace() for place, character in enumerate(text) if place not in covered)
    assert spans == sorted(spans)
    assert len(set(spans)) == len(spans)


def test_passages_overlap_by_whole_sentences() -> None:
    text = "One two three. Four five. Six seven eight. Nine ten."
    assert [text[begin:end] for begin, end in cut_passages(text, words=6, overlap=3)] == [
        "One two three. Four five.", "Four five. Six seven eight.", "Six seven eight. Nine ten.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["!" * 50_000, "! " * 25_000, "-\n" * 25_000, "x" * 50_000, "。" * 50_000, " " * 50_000 + "x", "ab " + "=" * 50_000, "ก" * 50_000],
)
@pytest.mark.parametrize("overlap", [0, 25])
def test_text_without_words_is_cut_by_its_length(text: str, overlap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And in one walk: each sentence is looked at a few times, however many there are."""
    looked = 0
    fits = passages._fits

    def counted(*of: int) -> bool:
        nonlocal looked
        looked += 1
        return fits(*of)

    monkeypatch.setattr(passages, "_fits", counted)
    spans = cut_passages(text, words=50, overlap=overlap)
    assert all(end - begin <= 1_000 for begin, end in spans)
    assert sum(end - begin for begin, end in spans) <= 2.1 * len(text.strip())
    assert looked <= 3 * len(text)
    covered = np.zeros(len(text), np.bool_)
    for begin, end in spans:
        covered[begin:end] = True
    assert all(character.isspace() for character, there in zip(text, covered.tolist(), strict=True) if not there)
