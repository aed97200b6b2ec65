import gzip
import json
import re

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus, CorpusKind
from plume.data.store import build_stores
from plume.text.words import Words

PAIRS = [("The cat walks.", "猫走路。"), ("Old stone. Green hills.", "旧石。绿山。"), ("Rain falls softly.", "下雨了。")]


def pairs_of(*paths):
    return [(*document.paragraphs, *document.languages) for document in Corpus(list(paths), kind=CorpusKind.PAIRS).documents()]


def table(path, rows, *, head=None):
    lines = ["\t".join(row) for row in ([head] if head else []) + list(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class TestReading:
    def test_a_table_without_header(self, tmp_path):
        assert pairs_of(table(tmp_path / "a.tsv", PAIRS)) == [(*pair, "source", "target") for pair in PAIRS]

    def test_a_header_names_the_languages(self, tmp_path):
        assert pairs_of(table(tmp_path / "a.tsv", PAIRS, head=("en", "zh-Hans"))) == [(*pair, "en", "zh-Hans") for pair in PAIRS]
        assert pairs_of(table(tmp_path / "b.tsv", PAIRS, head=("source", "target"))) == [(*pair, "source", "target") for pair in PAIRS]

    def test_further_columns_and_blank_lines_are_passed_over(self, tmp_path):
        path = tmp_path / "a.txt"  # as downloads are named
        path.write_text("".join(f"{a}\t{b}\tCC-BY #1\r\n\r\n" for a, b in PAIRS), encoding="utf-8")
        assert [pair[:2] for pair in pairs_of(path)] == PAIRS

    def test_jsonl(self, tmp_path):
        path = tmp_path / "a.jsonl"
        records = [{"source": a, "target": b, "source_language": "en"} for a, b in PAIRS]
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        assert pairs_of(path) == [(*pair, "en", "target") for pair in PAIRS]

    def test_two_files_whose_endings_name_the_languages(self, tmp_path):
        (tmp_path / "train.en").write_text("".join(f"{a}\n" for a, _ in PAIRS), encoding="utf-8")
        (tmp_path / "train.zh.gz").write_bytes(gzip.compress("".join(f"{b}\n" for _, b in PAIRS).encode()))
        assert pairs_of(tmp_path / "train.en", tmp_path / "train.zh.gz") == [(*pair, "en", "zh") for pair in PAIRS]
        assert pairs_of(tmp_path / "train.zh.gz", tmp_path / "train.en") == [(b, a, "zh", "en") for a, b in PAIRS]

    def test_a_folder(self, tmp_path):
        for name, side in (("x.en", 0), ("x.zh", 1), ("y.en", 0), ("y.zh", 1)):
            (tmp_path / name).write_text("".join(f"{name[0]} {pair[side]}\n" for pair in PAIRS), encoding="utf-8")
        table(tmp_path / "z.tsv", PAIRS)
        (tmp_path / "README.md").write_text("# what this is\n")
        found = pairs_of(tmp_path)
        assert [pair[0][0] for pair in found] == ["T", "O", "R", *"xxxyyy"]
        assert {pair[2:] for pair in found} == {("source", "target"), ("en", "zh")}


class TestWhatIsWrong:
    @pytest.mark.parametrize(("text", "match"), [
        ("a\tb\nrunning text here\n", r"a\.tsv, line 2: one column, where a pair has two.*running text"),
        ("a\tb\n\nc\t \n", r"a\.tsv, line 3: the target side is empty: the pairs do not align"),
        ("en\tde\n\tb\n", r"a\.tsv, line 2: the en side is empty"),
        ("a\t" + "b" * 10_001 + "\n", r"a\.tsv, line 1: the target side has 10,001 characters"),
    ])  # fmt: skip
    def test_tables(self, text, match, tmp_path):
        (tmp_path / "a.tsv").write_text(text)
        with pytest.raises(PlumeError, match=match):
            pairs_of(tmp_path / "a.tsv")

    def test_files_of_different_length(self, tmp_path):
        (tmp_path / "a.en").write_text("one\ntwo\nthree\n")
        (tmp_path / "a.de").write_text("eins\nzwei\n")
        with pytest.raises(PlumeError, match=r"do not align: a\.de ends after line 2, and a\.en goes on"):
            pairs_of(tmp_path / "a.en", tmp_path / "a.de")

    def test_an_empty_line_on_one_side(self, tmp_path):
        (tmp_path / "a.en").write_text("one\n\n\nfour\n")
        (tmp_path / "a.de").write_text("eins\n\ndrei\nvier\n")
        with pytest.raises(PlumeError, match=r"a\.en, line 3: the en side is empty"):
            pairs_of(tmp_path / "a.en", tmp_path / "a.de")

    def test_one_side_alone_or_three(self, tmp_path):
        for name in ("a.en", "a.de", "a.fr"):
            (tmp_path / name).write_text("one\n")
        with pytest.raises(PlumeError, match="the other side is not there"):
            pairs_of(tmp_path / "a.en")
        with pytest.raises(PlumeError, match="differ in their ending only: name the two"):
            pairs_of(tmp_path)

    def test_text_for_a_recipe_of_pairs(self, tmp_path):
        (tmp_path / "a.txt").write_text("Running text.\n")
        (tmp_path / "a.jsonl").write_text('{"text": "Running text."}\n')
        with pytest.raises(PlumeError, match="line 1: one column"):
            pairs_of(tmp_path / "a.txt")
        with pytest.raises(PlumeError, match=r"no 'source' with text in it; keys found: text\. For pairs write"):
            pairs_of(tmp_path / "a.jsonl")

    def test_pairs_for_a_recipe_of_text(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"source": "a", "target": "b"}\n')
        with pytest.raises(PlumeError, match="these are pairs, and this recipe trains on text"):
            list(Corpus(tmp_path / "a.jsonl").documents())
        with pytest.raises(PlumeError, match="which plume reads as pairs, and this recipe trains on text"):
            Corpus(table(tmp_path / "a.tsv", PAIRS))


class TestStore:
    @pytest.fixture
    def corpus(self, tmp_path):
        rows = [(f"The cat walks {n} times. Rain falls.", f"猫走路{n}。下雨。") for n in range(250)]
        return Corpus(table(tmp_path / "a.tsv", rows, head=("zh", "en")), kind=CorpusKind.PAIRS)

    def test_each_side_is_one_sentence_with_its_language(self, corpus, byte_level, tmp_path):
        stores = build_stores(corpus, byte_level, words=Words.SPACES, cache=tmp_path)
        assert stores.info["languages"] == ["en", "zh"]
        assert stores.train.languages == ("en", "zh")
        assert (len(stores.train.document_label), len(stores.held_out.document_label)) == (247, 3)
        for store in (stores.train, stores.held_out):
            assert np.diff(store.document_start).tolist() == [2] * (len(store.document_start) - 1)
            assert store.sentence_language.tolist() == [1, 0] * (len(store.document_start) - 1)
            assert (store.tokens[store.sentence_end] == byte_level.separator).all()  # after each side
        store = stores.held_out
        texts = [byte_level.decode(store.tokens[a:b]) for a, b in zip(store.sentence_start, store.sentence_end, strict=True)]
        assert texts[2:4] == ["The cat walks 100 times. Rain falls.", "猫走路100。下雨。"]
        assert store.sentence_start[1:].tolist() == (store.sentence_end[:-1] + 1).tolist()

    def test_workers_make_the_same(self, corpus, byte_level, tmp_path, monkeypatch):
        monkeypatch.setattr("plume.data.encoding.CHUNK", 500)
        one, two = (
            build_stores(corpus, byte_level, words=Words.SPACES, cache=tmp_path / str(workers), workers=workers, small=0)
            for workers in (1, 2)
        )
        for name in ("tokens", "sentence_start", "sentence_language", "document_label"):
            assert (getattr(one.train, name) == getattr(two.train, name)).all()

    def test_a_few_pairs_are_not_cut_either(self, byte_level, tmp_path):
        corpus = Corpus(table(tmp_path / "a.tsv", PAIRS), kind=CorpusKind.PAIRS)
        stores = build_stores(corpus, byte_level, words=Words.SPACES, cache=tmp_path)
        assert (len(stores.train.sentence_start), len(stores.held_out.sentence_start)) == (4, 2)

    def test_a_side_without_tokens_takes_the_other_with_it(self, wordpiece, tmp_path):
        corpus = Corpus(table(tmp_path / "a.tsv", [*PAIRS, ("\u200b\u200b", "猫"), ("Cat.", "猫。")]), kind=CorpusKind.PAIRS)
        stores = build_stores(corpus, wordpiece, words=Words.SPACES, cache=tmp_path)
        assert len(stores.train.sentence_start) == 6  # four pairs have tokens on both sides, one of them is held out

    def test_languages_are_part_of_the_fingerprint(self, tmp_path):
        made = [Corpus(table(tmp_path / f"{n}.tsv", PAIRS, head=head), kind=CorpusKind.PAIRS).census().fingerprint
                for n, head in enumerate((("en", "zh"), ("en", "ja"), None))]  # fmt: skip
        assert len(set(made)) == 3
        assert re.fullmatch("[0-9a-f]{32}", made[0])
