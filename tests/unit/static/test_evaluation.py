"""Similarity and analogy files: scores against gensim's and scipy's, formats, unknown words, malformed lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static import evaluation
from plume.static.vectors import CharacterNGrams, WordVectors

PLAIN = WordVectors(words=("a", "b", "c", "d"), matrix=np.array([[1, 0], [1, 1], [0, 1], [-1, 0.2]], np.float32))


def random_vectors(size: int = 300, dimension: int = 8) -> WordVectors:
    matrix = np.random.default_rng(2).normal(size=(size, dimension)).astype(np.float32)
    return WordVectors(words=tuple(f"w{number}" for number in range(size)), matrix=matrix)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# ---- similarity


@pytest.mark.parametrize(
    "text",
    [
        "a\tb\t9\na\tc\t5\na\td\t1\n",
        "a b 9\na c 5\na d 1\n",
        'Word 1,Word 2,Human (mean)\na,b,9\n"a",c,5.0\na,d,1\n',
        "# WordSim\nword1\tword2\tscore\tjudge 1\na\tb\t9\t10\na\tc\t5\t4\n\na\td\t1\t0\n",
        "\ufeffa  b\t9\n".replace("a  b\t", "a b ") + "a c 5\r\na d 1",
    ],
)
def test_the_files_in_use_are_read(tmp_path: Path, text: str) -> None:
    result = evaluation.similarity(PLAIN, write(tmp_path / "ws.txt", text))
    cosine = np.array([PLAIN.similarity("a", other) for other in "bcd"])
    assert (result.name, result.pairs, result.used, result.unknown) == ("ws", 3, 3, ())
    assert result.spearman == pytest.approx(1)
    assert result.pearson == pytest.approx(np.corrcoef(cosine, [9, 5, 1])[0, 1])


def test_correlations_with_ties_are_scipys(tmp_path: Path) -> None:
    stats = pytest.importorskip("scipy.stats")
    vectors, generator = random_vectors(), np.random.default_rng(0)
    pairs = [(f"w{one}", f"w{other}", int(score)) for one, other, score in generator.integers(0, [300, 300, 6], (200, 3))]
    path = write(tmp_path / "ws.tsv", "".join(f"{one}\t{other}\t{score}\n" for one, other, score in pairs))
    result = evaluation.similarity(vectors, path)
    cosine = [vectors.similarity(one, other) for one, other, _ in pairs]
    assert result.spearman == pytest.approx(stats.spearmanr(cosine, [score for *_, score in pairs]).statistic, abs=1e-9)
    assert result.pearson == pytest.approx(stats.pearsonr(cosine, [score for *_, score in pairs]).statistic, abs=1e-9)


def test_unknown_pairs_are_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "ws", "a b 9\na zebra 8\na c 5\nyak zebra 2\n")
    result = evaluation.similarity(PLAIN, path)
    assert (result.pairs, result.used, result.unknown) == (4, 2, ("zebra", "yak"))


def test_ngrams_are_used_only_if_asked(tmp_path: Path) -> None:
    ngrams = CharacterNGrams(matrix=np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32), shortest=3, longest=5)
    vectors = WordVectors(words=PLAIN.words, matrix=PLAIN.matrix, ngrams=ngrams)
    path = write(tmp_path / "ws", "a b 9\na zebra 8\na c 5\n")
    assert evaluation.similarity(vectors, path).used == 2
    assert evaluation.similarity(vectors, path, unseen=True).used == 3


def test_a_lower_case_vocabulary_is_asked_in_lower_case(tmp_path: Path) -> None:
    path = write(tmp_path / "ws", "A b 9\na C 5\nA D 1\n")
    assert evaluation.similarity(PLAIN, path).used == 3
    cased = WordVectors(words=("a", "b", "c", "D"), matrix=PLAIN.matrix)
    assert evaluation.similarity(cased, write(tmp_path / "ws", "A b 9\na c 5\na D 1\n")).used == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a b 9\na c\n", "ws:2: 'a c' is not two words and a score"),
        ("a b 9\n\n# note\na c five\n", "ws:4: 'a c five' is not"),
        ("zebra yak 1\nyak cow 2\n", "0 of 2 pairs can be answered with these 4 words .unknown: zebra, yak, cow"),
        ("", "0 of 0 pairs"),
    ],
)
def test_a_bad_similarity_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PlumeError, match=says):
        evaluation.similarity(PLAIN, write(tmp_path / "ws", text))


def test_scores_that_do_not_vary_have_no_correlation(tmp_path: Path) -> None:
    result = evaluation.similarity(PLAIN, write(tmp_path / "ws", "a b 5\na c 5\n"))
    assert np.isnan(result.spearman) and np.isnan(result.pearson)


# ---- analogy


def structured_vectors() -> WordVectors:
    """Pairs of a stem and its form, one direction apart, with noise: some analogies work, some do not."""
    generator = np.random.default_rng(4)
    stems = generator.normal(size=(60, 10))
    forms = stems + 1.5 * np.eye(10)[0] + 0.45 * generator.normal(size=stems.shape)
    words = [f"stem{number}" for number in range(60)] + [f"form{number}" for number in range(60)]
    return WordVectors(words=tuple(words), matrix=np.concatenate([stems, forms]).astype(np.float32))


def questions() -> str:
    generator = np.random.default_rng(6)
    lines = [f"stem{one} form{one} stem{other} form{other}" for one, other in generator.integers(0, 66, (300, 2)) if one != other]
    return ": first\n" + "\n".join(lines[:100]) + "\n: second\n" + "\n".join(lines[100:]) + "\n"


@pytest.mark.parametrize("most", [None, 110])
def test_accuracy_is_gensims(tmp_path: Path, most: int | None) -> None:
    models = pytest.importorskip("gensim.models")
    vectors, path = structured_vectors(), write(tmp_path / "questions.txt", questions())
    theirs = models.KeyedVectors(vectors.dimension)
    theirs.add_vectors(list(vectors.words), vectors.matrix)
    _, sections = theirs.evaluate_word_analogies(str(path), restrict_vocab=most or 120, case_insensitive=False)
    result = evaluation.analogy(vectors, path, most=most)
    assert [section.correct for section in result.sections] == [len(section["correct"]) for section in sections[:2]]
    assert [section.used for section in result.sections] == [
        len(section["correct"]) + len(section["incorrect"]) for section in sections[:2]
    ]
    assert 0.1 < (result.total.accuracy or 0) < 0.9  # neither all nor none: the test can tell
    assert result.total.questions == sum(section.questions for section in result.sections) > result.total.used
    assert result.total.left_out == result.total.questions - result.total.used and result.unknown


def test_blocks_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, path = structured_vectors(), write(tmp_path / "questions.txt", questions())
    whole = evaluation.analogy(vectors, path)
    monkeypatch.setattr(evaluation, "_SCORES_AT_ONCE", 500)
    assert evaluation.analogy(vectors, path) == whole


def test_a_hand_checked_analogy(tmp_path: Path) -> None:
    matrix = np.array([[1, 0, 0.1], [0, 1, 0.1], [1, 0, 3], [0, 1, 3], [-3, -3, 0]], np.float32)
    vectors = WordVectors(words=("man", "woman", "king", "queen", "apple"), matrix=matrix)
    path = write(tmp_path / "q", ": family\nMan King Woman Queen\nman king woman apple\n: none\nman king woman prince\n")
    result = evaluation.analogy(vectors, path)
    assert [(section.name, section.used, section.correct, section.accuracy) for section in result.sections] == [
        ("family", 2, 1, 0.5),
        ("none", 0, 0, None),
    ]
    assert result.unknown == ("prince",) and result.total.left_out == 1


def test_words_outside_the_most_frequent_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "q", "a b c d\na b c a\n")
    assert evaluation.analogy(PLAIN, path, most=3).total.used == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (": x\na b c d\na b c\n", "q:3: 3 words where an analogy has four"),
        ("a b c d e\n", "q:1: 5 words"),
        ("w x y z\n", "none of 1 questions can be answered with these 4 words .unknown: w, x, y, z"),
        ("", "none of 0 questions"),
    ],
)
def test_a_bad_analogy_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PlumeError, match=says):
        evaluation.analogy(PLAIN, write(tmp_path / "q", text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="Cannot read"):
        evaluation.analogy(PLAIN, tmp_path / "nowhere")
