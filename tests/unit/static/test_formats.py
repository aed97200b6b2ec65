"""Vector files: ours open in gensim and fastText, theirs in ours, and damage is named."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static.formats.detect import open_vectors
from plume.static.formats.fasttext import FastTextFile, fasttext_args, read_fasttext, write_fasttext
from plume.static.formats.word2vec import read_word2vec, write_word2vec_binary, write_word2vec_text
from plume.static.vectors import WordVectors

WORDS = ("the", "</s>", "北京", "naïve", "0.5", "😀", "don't")
LINES = [
    "the cat sat on the mat and the cat slept",
    "a dog chased the cat around the garden all day",
    "北京 是 中国 的 首都 而 上海 是 最大 的 城市",
    "the garden is where the dog and the cat sleep",
] * 30


@pytest.fixture
def vectors() -> WordVectors:
    generator = np.random.default_rng(3)
    matrix = (generator.normal(size=(len(WORDS), 5)) * 10.0 ** generator.integers(-30, 30, (len(WORDS), 5))).astype(np.float32)
    matrix[0, :2] = [1 / 3, -0.0]
    return WordVectors(words=WORDS, matrix=matrix)


def same(found: WordVectors, expected: WordVectors) -> None:
    assert found.words == expected.words
    assert found.matrix.tobytes() == expected.matrix.tobytes()  # bit-equal


# ---- word2vec and GloVe


@pytest.mark.parametrize("binary", [False, True])
def test_word2vec_round_trip_and_gensim(vectors: WordVectors, tmp_path: Path, binary: bool) -> None:
    (write_word2vec_binary if binary else write_word2vec_text)(tmp_path / "ours", vectors)
    same(open_vectors(tmp_path / "ours"), vectors)
    models = pytest.importorskip("gensim.models")
    theirs = models.KeyedVectors.load_word2vec_format(str(tmp_path / "ours"), binary=binary)
    assert tuple(theirs.index_to_key) == WORDS and theirs.vectors.tobytes() == vectors.matrix.tobytes()
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=binary)
    same(open_vectors(tmp_path / "theirs"), vectors)


def test_glove_and_gz_are_found_by_content(vectors: WordVectors, tmp_path: Path) -> None:
    write_word2vec_text(tmp_path / "a", vectors)
    text = (tmp_path / "a").read_bytes()
    (tmp_path / "glove").write_bytes(text.partition(b"\n")[2])
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    same(open_vectors(tmp_path / "glove"), vectors)
    same(open_vectors(tmp_path / "packed"), vectors)


def test_trailing_spaces_and_empty_last_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"2 2\r\na 1 2 \r\nb 3 4 \r\n\r\n\n")  # word2vec.c and fastText end rows with a space
    assert open_vectors(tmp_path / "a").matrix.tolist() == [[1, 2], [3, 4]]


def test_words_with_spaces_in_glove(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("the 0.1 0.2\n. . . 1 2\nat name@domain.com 3 4\n5 6 7\n")
    found = open_vectors(tmp_path / "a")
    assert found.words == ("the", ". . .", "at name@domain.com", "5")
    assert found.matrix[1:].tolist() == [[1, 2], [3, 4], [6, 7]]


@pytest.mark.parametrize("binary", [False, True])
def test_the_first_of_repeated_words_is_kept_as_in_gensim(tmp_path: Path, binary: bool) -> None:
    rows = [("a", [1, 2]), ("b", [3, 4]), ("a", [5, 6]), ("a", [7, 8])]
    if binary:
        (tmp_path / "a").write_bytes(b"4 2\n" + b"".join(word.encode() + b" " + struct.pack("<2f", *row) for word, row in rows))
    else:
        (tmp_path / "a").write_text("4 2\n" + "".join(f"{word} {row[0]} {row[1]}\n" for word, row in rows))
    found = open_vectors(tmp_path / "a")
    assert found.words == ("a", "b") and found.matrix.tolist() == [[1, 2], [3, 4]]
    assert len(found.notes) == 1 and "2 rows repeat a word (such as 'a')" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("3 2\na 1 2\nb 3 4\n", "promises 3 words, and there are 2 rows"),
        ("1 2\na 1 2\nb 3 4\n", "promises 1 words, and there are 2 rows"),
        ("3 2\na 1 2\nb 3\nc 5 6\n", "a:3: 1 numbers where the others have 2"),
        ("3 2\na 1 2\nb 3 4 5\nc 5\n", "a:3: 3 numbers where the others have 2"),  # the totals agree, the rows do not
        ("2 2\na 1 2\nb 3 x4\n", "a:3: 'x4' is not a number"),
        ("2 2\na x1 2\nb 3 4\n", "a:2: 'x1' is not a number"),
        ("2 2\na 1 2\n 3 4\n", "a:3: a row without a word"),
        ("a 1 2\nb 3 4\nc 5\nd 1 2\n", "a:3: 1 numbers where the others have 2"),
        ("a 1 2\nb 3 4\nc 0.5 0.6 d 7 8\n", "a:3: 5 numbers where the others have 2"),  # a line feed was lost
        ("a 1 2\nb 3 zwei\n", "a:2: 'zwei' is not a number"),
        ("Once upon a time\nthere was a file\n", "a:1: not word vectors"),
        ("", "not word vectors|holds no word vectors"),
        ("0 5\n", "holds no word vectors"),
        ("2 0\na\nb\n", "vectors of no dimensions"),
    ],
)
def test_damaged_text_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(PlumeError, match=says):
        open_vectors(tmp_path / "a")


def test_damage_far_into_a_file_has_its_line(tmp_path: Path) -> None:
    rows = [f"w{number} 1 2 3" for number in range(45_000)]
    rows[41_234] = "w41234 1 2"
    (tmp_path / "a").write_text("45000 3\n" + "\n".join(rows))
    with pytest.raises(PlumeError, match="a:41236: 2 numbers"):
        open_vectors(tmp_path / "a")


def test_a_damaged_binary_has_its_byte(vectors: WordVectors, tmp_path: Path) -> None:
    write_word2vec_binary(tmp_path / "a", vectors)
    whole = (tmp_path / "a").read_bytes()
    for size in (len(whole) - 2, len(whole) // 2, 12):
        (tmp_path / "a").write_bytes(whole[:size])
        with pytest.raises(PlumeError, match=f"ends at byte {size}, in word .* of the 7"):
            read_word2vec(tmp_path / "a")
    (tmp_path / "a").write_bytes(whole.replace(b"7 5\n", b"700000000000 5\n"))
    with pytest.raises(PlumeError, match="in word 8 of the 700,000,000,000"):
        read_word2vec(tmp_path / "a")
    (tmp_path / "a").write_bytes(gzip.compress(whole)[:-20])
    with pytest.raises(PlumeError, match="cannot be unpacked"):
        read_word2vec(tmp_path / "a")
    (tmp_path / "a").write_bytes(whole.replace(b"7 5\n", b"6 5\n"))
    with pytest.raises(PlumeError, match="goes on at byte"):
        read_word2vec(tmp_path / "a")


def test_binary_rows_cross_the_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plume.static.formats.word2vec._BYTES_AT_ONCE", 64)
    matrix = np.random.default_rng(0).normal(size=(1000, 9)).astype(np.float32)
    expected = WordVectors(words=tuple(f"word{number}" for number in range(1000)), matrix=matrix)
    write_word2vec_binary(tmp_path / "a", expected)
    same(read_word2vec(tmp_path / "a"), expected)


def test_words_that_are_not_utf8_are_shown_and_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"2 1\nna\xefve 1\nb 2\n")
    found = open_vectors(tmp_path / "a")
    assert found.words == ("na\ufffdve", "b") and "1 words are not UTF-8" in found.notes[0]


@pytest.mark.parametrize("word", ["two words", "line\nfeed", "", "tab\t"])
def test_words_that_a_format_cannot_hold_are_refused(tmp_path: Path, word: str) -> None:
    vectors = WordVectors(words=("a", word), matrix=np.zeros((2, 2), np.float32))
    for write in (write_word2vec_text, write_word2vec_binary):
        with pytest.raises(PlumeError, match="1 words are empty or hold"):
            write(tmp_path / "a", vectors)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="There is no file"):
        open_vectors(tmp_path / "nowhere.bin")


# ---- fastText


def our_model(model: str = "sg", loss: str = "ns") -> FastTextFile:
    generator = np.random.default_rng(5)
    words, labels = ("</s>", "the", "北京", "cat", "naïve"), ("__label__yes", "__label__no") if model == "sup" else ()
    bucket, dimension, counts = 200, 6, np.array([30, 20, 10, 5, 5])
    return FastTextFile(
        args=fasttext_args(dim=dimension, bucket=bucket, model=model, loss=loss, minn=2, maxn=4, ws=3),
        words=words, counts=counts, labels=labels, label_counts=np.array([9, 4][: len(labels)]), tokens=70,
        input=generator.normal(size=(len(words) + bucket, dimension)).astype(np.float32),
        output=generator.normal(size=(len(labels) or len(words), dimension)).astype(np.float32),
    )  # fmt: skip


def test_fasttext_round_trip(tmp_path: Path) -> None:
    for model in (our_model(), our_model("cbow", "hs"), our_model("sup", "softmax")):
        write_fasttext(tmp_path / "m.bin", model)
        found = read_fasttext(tmp_path / "m.bin")
        assert dict(found.args) == dict(model.args)
        assert (found.words, found.labels, found.tokens) == (model.words, model.labels, model.tokens)
        for name in ("counts", "label_counts", "input", "output"):
            np.testing.assert_array_equal(getattr(found, name), getattr(model, name))


@pytest.mark.parametrize(("model", "loss"), [("sg", "ns"), ("cbow", "hs"), ("sup", "softmax")])
def test_fasttext_opens_ours(tmp_path: Path, model: str, loss: str) -> None:
    fasttext = pytest.importorskip("fasttext")
    ours = our_model(model, loss)
    write_fasttext(tmp_path / "m.bin", ours)
    theirs, vectors = fasttext.load_model(str(tmp_path / "m.bin")), ours.vectors()
    assert tuple(theirs.get_words()) == ours.words
    for word in (*ours.words, "cats", "上海北京", "zzz"):
        np.testing.assert_allclose(theirs.get_word_vector(word), vectors.vector(word), atol=1e-6)
    if model == "sup":
        assert tuple(theirs.get_labels()) == ours.labels
        assert theirs.get_output_matrix() == pytest.approx(ours.output)


def test_gensim_opens_ours(tmp_path: Path) -> None:
    module = pytest.importorskip("gensim.models.fasttext")
    ours = our_model()
    write_fasttext(tmp_path / "m.bin", ours)
    theirs, vectors = module.load_facebook_model(str(tmp_path / "m.bin")).wv, ours.vectors()
    assert tuple(theirs.index_to_key) == ours.words
    for word in (*ours.words[1:], "cats", "上海北京"):  # gensim gives </s> n-grams, fastText does not
        np.testing.assert_allclose(theirs[word], vectors.vector(word), atol=1e-6)


def train(tmp_path: Path, **settings: Any) -> Any:
    fasttext = pytest.importorskip("fasttext")
    supervised = settings.pop("supervised", False)
    lines = [f"__label__{'zh' if '是' in line else 'en'} {line}" for line in LINES] if supervised else LINES
    (tmp_path / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train = fasttext.train_supervised if supervised else fasttext.train_unsupervised
    model = train(str(tmp_path / "text"), dim=8, minCount=1, epoch=1, bucket=500, verbose=0, thread=1, **settings)
    model.save_model(str(tmp_path / "m.bin"))
    return model


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "skipgram"},
        {"model": "cbow", "minn": 1, "maxn": 3},
        {"model": "skipgram", "maxn": 0},
        {"supervised": True, "wordNgrams": 2},
    ],
)
def test_we_open_fasttexts(tmp_path: Path, settings: dict[str, Any]) -> None:
    theirs = train(tmp_path, **settings)
    found = open_vectors(tmp_path / "m.bin")
    assert list(found.words) == theirs.get_words(include_freq=True)[0]
    assert found.counts is not None and found.counts.tolist() == theirs.get_words(include_freq=True)[1].tolist()
    for word in found.words:
        np.testing.assert_allclose(found.vector(word), theirs.get_word_vector(word), atol=1e-6)
    if found.ngrams is not None:
        for word in ("gardens", "南京", "x"):
            if found.knows(word):
                np.testing.assert_allclose(found.vector(word), theirs.get_word_vector(word), atol=1e-6)
    before = (tmp_path / "m.bin").read_bytes()
    write_fasttext(tmp_path / "again.bin", read_fasttext(tmp_path / "m.bin"))
    assert (tmp_path / "again.bin").read_bytes() == before  # byte for byte


def test_a_classifiers_labels_are_read(tmp_path: Path) -> None:
    train(tmp_path, supervised=True)
    found = read_fasttext(tmp_path / "m.bin")
    assert found.labels == ("__label__en", "__label__zh") and found.label_counts.tolist() == [90, 30]
    assert found.output.shape == (2, 8) and found.args["model"] == "sup"


def test_a_quantised_model_is_refused(tmp_path: Path) -> None:
    model = train(tmp_path, supervised=True, wordNgrams=2)  # which has enough rows
    model.quantize(input=str(tmp_path / "text"), qnorm=True)
    model.save_model(str(tmp_path / "m.ftz"))
    with pytest.raises(PlumeError, match="quantised fastText model"):
        open_vectors(tmp_path / "m.ftz")


def test_a_damaged_model_is_named(tmp_path: Path) -> None:
    write_fasttext(tmp_path / "m.bin", our_model())
    whole = (tmp_path / "m.bin").read_bytes()
    for size in (6, 40, 100, 120, len(whole) // 2, len(whole) - 1):
        (tmp_path / "m.bin").write_bytes(whole[:size])
        with pytest.raises(PlumeError, match=f"ends at byte {size:,}"):
            read_fasttext(tmp_path / "m.bin")
    (tmp_path / "m.bin").write_bytes(whole[:4] + struct.pack("<i", 99) + whole[8:])
    with pytest.raises(PlumeError, match="version 99"):
        open_vectors(tmp_path / "m.bin")


def test_what_fasttexts_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="no argument 'dims': did you mean dim"):
        fasttext_args(dims=3)
    ours = our_model()
    with pytest.raises(PlumeError, match=r"input matrix is .* ask for"):
        FastTextFile(**{**vars(ours), "input": ours.input[:-1]})
    with pytest.raises(PlumeError, match="no loss 'nce'"):
        write_fasttext(tmp_path / "m.bin", FastTextFile(**{**vars(ours), "args": fasttext_args(**{**ours.args, "loss": "nce"})}))
