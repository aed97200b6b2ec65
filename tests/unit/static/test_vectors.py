"""WordVectors in use: neighbours, analogies, words never seen, sentence vectors."""

from __future__ import annotations

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static.ngrams import ngram_ids
from plume.static.sif import SIF, Mean
from plume.static.vectors import CharacterNGrams, WordVectors
from plume.vectors.transforms.without_component import WithoutComponent

ROYAL = WordVectors(
    words=("man", "woman", "king", "queen", "apple", "none"),
    counts=np.array([60, 20, 10, 5, 4, 1]),
    matrix=np.array([[1, 0, 0.1], [0, 1, 0.1], [1, 0, 3], [0, 1, 3], [-3, -3, 0], [0, 0, 0]], np.float32),
)


def random_vectors(size: int = 500, dimension: int = 20) -> WordVectors:
    generator = np.random.default_rng(1)
    matrix = generator.normal(size=(size, dimension)).astype(np.float32) * generator.uniform(0.1, 9, (size, 1)).astype(np.float32)
    return WordVectors(words=tuple(f"w{number}" for number in range(size)), counts=np.arange(size, 0, -1), matrix=matrix)


def test_similarity_is_the_cosine_whatever_the_lengths() -> None:
    assert ROYAL.similarity("man", "king") == pytest.approx(1.3 / np.sqrt(1.01 * 10), abs=1e-6)
    assert ROYAL.similarity("man", "man") == pytest.approx(1)
    assert ROYAL.similarity("man", "none") == 0  # a row of zeros is near to nothing, not NaN


def test_the_analogy_leaves_out_the_words_asked_with() -> None:
    assert [neighbour.word for neighbour in ROYAL.analogy("man", "king", "woman", top=1)] == ["queen"]
    assert {neighbour.word for neighbour in ROYAL.most_similar("king")} == {"man", "woman", "queen", "apple", "none"}
    found = ROYAL.most_similar("king", top=5)
    assert [neighbour.similarity for neighbour in found] == sorted((neighbour.similarity for neighbour in found), reverse=True)
    assert found[-1].word == "apple" and found[-1].similarity == pytest.approx(-3 / np.sqrt(10 * 18), abs=1e-6)


@pytest.mark.parametrize(("positive", "negative"), [(["w3"], []), (["w3", "w7"], []), (["w3", "w9"], ["w1"])])
def test_neighbours_are_gensims(positive: list[str], negative: list[str]) -> None:
    models = pytest.importorskip("gensim.models")
    ours = random_vectors()
    theirs = models.KeyedVectors(ours.dimension)
    theirs.add_vectors(list(ours.words), ours.matrix)
    expected = theirs.most_similar(positive, negative, topn=15)
    found = ours.most_similar(positive, negative, top=15)
    assert [neighbour.word for neighbour in found] == [word for word, _ in expected]
    assert [neighbour.similarity for neighbour in found] == pytest.approx([score for _, score in expected], abs=1e-5)


def test_equal_similarities_come_in_the_vocabularys_order() -> None:
    vectors = WordVectors(words=tuple("abcde"), matrix=np.array([[1, 0], [1, 1], [2, 2], [4, 4], [0, 1]], np.float32))
    assert [neighbour.word for neighbour in vectors.most_similar("a", top=2)] == ["b", "c"]


def test_more_neighbours_than_words() -> None:
    assert len(ROYAL.most_similar(["king", "king"], top=100)) == 5


def test_an_unknown_word_is_refused_with_near_spellings() -> None:
    with pytest.raises(PlumeError, match=r"'quen' is not among the 6 words.*did you mean queen"):
        ROYAL.vector("quen")
    with pytest.raises(PlumeError, match="did you mean king"):
        ROYAL.most_similar("King")
    with pytest.raises(PlumeError, match="name at least one word"):
        ROYAL.most_similar([])
    with pytest.raises(PlumeError, match="top=0"):
        ROYAL.most_similar("king", top=0)


def test_a_word_never_seen_is_the_mean_of_its_ngrams() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    ngrams = CharacterNGrams(matrix=rows, shortest=3, longest=4)
    vectors = WordVectors(words=("wort",), matrix=np.ones((1, 4), np.float32), ngrams=ngrams)
    ids = ngram_ids("词语", shortest=3, longest=4, buckets=50)
    assert len(ids) == 3  # <词语 词语> <词语>
    np.testing.assert_allclose(vectors.vector("词语"), rows[ids].mean(0), rtol=1e-6)
    assert vectors.vector("wort").tolist() == [1] * 4
    assert "词语" not in vectors and vectors.knows("词语")
    assert vectors.most_similar("词语")[0].word == "wort"


def test_a_word_too_short_for_ngrams_is_refused() -> None:
    vectors = WordVectors(
        words=("wort",),
        matrix=np.ones((1, 2), np.float32),
        ngrams=CharacterNGrams(matrix=np.ones((9, 2), np.float32), shortest=5, longest=6),
    )
    assert not vectors.knows("a") and not vectors.knows("</s>")
    with pytest.raises(PlumeError, match="too short for n-grams of 5 to 6"):
        vectors.vector("a")


def test_mean_passes_over_unknown_words() -> None:
    means = ROYAL.sentence_vectors([["man", "queen", "unheard"], [], ["unheard"], ["apple", "apple", "man"]])
    expected = [[0.5, 0.5, 1.55], [0, 0, 0], [0, 0, 0], [-5 / 3, -2, 0.1 / 3]]
    np.testing.assert_allclose(means, expected, atol=1e-6)
    assert means.dtype == np.float32
    assert ROYAL.sentence_vectors([]).shape == (0, 3)


def test_mean_uses_ngrams_for_words_never_seen() -> None:
    ngrams = CharacterNGrams(matrix=np.full((7, 2), 5, np.float32), shortest=3, longest=3)
    vectors = WordVectors(words=("wort",), matrix=np.ones((1, 2), np.float32), ngrams=ngrams)
    np.testing.assert_allclose(vectors.sentence_vectors([["wort", "unheard"], ["wort", "unheard", "unheard"]]), [[3, 3], [11 / 3, 11 / 3]])


def test_many_sentences_cross_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plume.static.vectors._WORDS_AT_ONCE", 7)
    vectors = random_vectors()
    sentences = [[f"w{(3 * n + k) % 600}" for k in range(n % 12)] for n in range(60)]
    expected = [np.mean([vectors.vector(w) for w in words if w in vectors] or [np.zeros(20)], 0) for words in sentences]
    np.testing.assert_allclose(vectors.sentence_vectors(sentences, weighting=Mean()), expected, atol=1e-5)


def sif_oracle(vectors: WordVectors, sentences: list[list[str]], smoothing: float) -> np.ndarray:
    """Algorithm 1 of Arora et al. (2017), as written."""
    share = dict(zip(vectors.words, vectors.counts / vectors.counts.sum(), strict=True))
    rows = np.array([sum(smoothing / (smoothing + share[w]) * vectors.vector(w) for w in words) / len(words) for words in sentences])
    first = np.linalg.svd(rows, full_matrices=False)[2][0]
    return rows - np.outer(rows @ first, first)


def test_sif_is_the_papers_algorithm() -> None:
    vectors = random_vectors()
    sentences = [[f"w{(7 * n + k * k) % 500}" for k in range(1 + n % 9)] for n in range(40)]
    rows = vectors.sentence_vectors(sentences, weighting=SIF())
    np.testing.assert_allclose(WithoutComponent().fit(rows).apply(rows), sif_oracle(vectors, sentences, 1e-3), atol=1e-5)
    weights = SIF(smoothing=0.1).weights(np.array([3, 1]), 2)
    assert weights.tolist() == pytest.approx([0.1 / 0.85, 0.1 / 0.35, 1])  # a word never seen weighs one


def test_sif_gives_a_word_never_seen_the_weight_of_count_zero() -> None:
    ngrams = CharacterNGrams(matrix=np.full((7, 2), 5, np.float32), shortest=3, longest=3)
    vectors = WordVectors(words=("wort", "tat"), counts=np.array([3, 1]), matrix=np.ones((2, 2), np.float32), ngrams=ngrams)
    np.testing.assert_allclose(
        vectors.sentence_vectors([["tat", "unheard"]], weighting=SIF(smoothing=0.1)), [[(0.1 / 0.35 + 5) / 2] * 2], rtol=1e-6
    )


def test_a_kept_component_makes_a_sentence_independent_of_its_company() -> None:
    vectors = random_vectors()
    sample = [[f"w{(7 * n + k * k) % 500}" for k in range(1 + n % 9)] for n in range(40)]
    rows = vectors.sentence_vectors(sample, weighting=SIF())
    fitted = WithoutComponent().fit(rows)
    together, alone = fitted.apply(rows), fitted.apply(vectors.sentence_vectors(sample[3:4], weighting=SIF()))
    np.testing.assert_allclose(together[3:4], alone, atol=1e-6)
    assert np.abs(together @ fitted.arrays["component"]).max() < 1e-5


def test_sif_says_what_it_needs() -> None:
    bare = WordVectors(words=ROYAL.words, matrix=ROYAL.matrix)
    with pytest.raises(PlumeError, match="came without counts"):
        bare.sentence_vectors([["man"], ["king"]], weighting=SIF())
    with pytest.raises(PlumeError, match="at least two"):
        WithoutComponent().fit(ROYAL.sentence_vectors([["man"]], weighting=SIF()))


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(PlumeError, match="1 of 2 words occur twice"):
        WordVectors(words=("a", "a"), matrix=np.zeros((2, 2), np.float32))
    with pytest.raises(PlumeError, match="do not go together"):
        WordVectors(words=("a", "b"), matrix=np.zeros((3, 2), np.float32))
    with pytest.raises(PlumeError, match="3 dimensions, the words 2"):
        WordVectors(
            words=("a",),
            matrix=np.zeros((1, 2), np.float32),
            ngrams=CharacterNGrams(matrix=np.zeros((5, 3), np.float32), shortest=3, longest=6),
        )
