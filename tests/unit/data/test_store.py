import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data import encoder as encoder_module
from plume.data import store as store_module
from plume.data.corpus import Corpus
from plume.data.encoder import Encoder
from plume.data.store import Store, Stores, build_stores
from plume.data.store_files import FILES
from plume.text.format import BERT
from plume.text.sentences import split_sentences
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import WordPiece
from plume.text.words import Words


def contents(folder) -> dict[str, bytes]:
    """Every file below, by its name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def documents_of(store: Store) -> list[list[list[int]]]:
    """Documents as lists of sentences of ids."""
    bounds = store.document_start.tolist()
    return [
        [store.tokens[store.sentence_start[s] : store.sentence_end[s]].tolist() for s in range(first, last)]
        for first, last in itertools.pairwise(bounds)
    ]


class TestContents:
    @pytest.fixture(scope="class")
    @classmethod
    def stores(cls, sample, wordpiece, tmp_path_factory):
        folder = tmp_path_factory.mktemp("store")
        (folder / "c.txt").write_text("\n\n".join("\n".join(document) for document in sample), encoding="utf-8")
        return build_stores(Corpus(folder / "c.txt"), wordpiece, words=Words.JIEBA, cache=folder)

    def test_sentences_are_those_of_the_text_in_order(self, stores, sample, wordpiece):
        expected = [
            wordpiece.encode([sentence for paragraph in document for sentence in split_sentences(paragraph)]) for document in sample
        ]
        assert documents_of(stores.held_out) == expected[::100]
        assert documents_of(stores.train) == [document for number, document in enumerate(expected) if number % 100]

    def test_a_separator_follows_each_document_and_is_nowhere_else(self, stores, wordpiece):
        for store in (stores.train, stores.held_out):
            ends = store.sentence_end[store.document_start[1:] - 1]
            assert (store.tokens[ends] == wordpiece.separator).all()
            assert np.flatnonzero(store.tokens == wordpiece.separator).tolist() == ends.tolist()
            assert ends[-1] == len(store.tokens) - 1
            assert store.word_start[ends].all()

    def test_sentences_and_separators_cover_everything(self, stores):
        for store in (stores.train, stores.held_out):
            covered = int((store.sentence_end - store.sentence_start).sum()) + len(store.document_start) - 1
            assert covered == len(store.tokens) == len(store.word_start)
            assert (store.sentence_end > store.sentence_start).all()

    def test_decoding_gives_the_text_back(self, stores, sample, wordpiece):
        store = stores.train
        first = store.tokens[: store.sentence_end[store.document_start[1] - 1]]
        assert wordpiece.decode(first).replace(" ", "") == "".join(sample[1]).lower().replace(" ", "")

    def test_word_starts(self, stores, wordpiece):
        store = stores.train
        pieces = [wordpiece.token(number) for number in store.tokens[:4000]]
        inside = [piece for piece, begins in zip(pieces, store.word_start[:4000], strict=True) if not begins]
        assert len({piece for piece in inside if piece.startswith("##")}) > 10
        assert {"京", "学", "型"} <= set(inside)  # second characters of Chinese words
        assert all(piece.startswith("##") or len(piece) == 1 for piece in inside)
        assert not any(begins for piece, begins in zip(pieces, store.word_start[:4000], strict=True) if piece.startswith("##"))

    def test_counts_and_entropy(self, stores):
        store = stores.train
        ids = np.concatenate([np.array(sentence) for document in documents_of(store) for sentence in document])
        assert store.counts.tolist() == np.bincount(ids, minlength=store.vocabulary).tolist()
        share = np.bincount(ids)[np.bincount(ids) > 0] / len(ids)
        assert store.unigram_entropy == pytest.approx(float(-(share * np.log(share)).sum()), abs=1e-12)

    def test_types_and_info(self, stores, wordpiece, sample):
        assert stores.train.tokens.dtype == np.uint16
        assert stores.train.word_start.dtype == np.bool_
        assert stores.train.vocabulary == wordpiece.size == len(stores.train.counts)
        assert stores.info["documents"] == len(sample)
        assert stores.info["tokenizer"] == wordpiece.fingerprint
        assert stores.info["unknown_share"] == 0
        assert stores.info["train"] == {
            "tokens": len(stores.train.tokens), "sentences": len(stores.train.sentence_start), "documents": 247,
        }  # fmt: skip


class TestSameForAnyNumberOfWorkers:
    @pytest.mark.parametrize(("words", "numbers"), [(Words.SPACES, (1, 2, 3)), (Words.JIEBA, (1, 2))])
    def test_files_are_equal(self, words, numbers, sample, write, wordpiece, tmp_path, monkeypatch):
        monkeypatch.setattr("plume.data.encoding.CHUNK", 3000)
        corpus = write(sample)
        made = []
        for workers in numbers:
            seen: list[int] = []
            build_stores(corpus, wordpiece, words=words, cache=tmp_path / str(workers), workers=workers, small=0, progress=seen.append)
            assert len(seen) > 20
            assert seen == sorted(seen)
            assert seen[-1] == corpus.census().characters
            made.append(contents(tmp_path / str(workers)))
        assert len(made[0]) == 19
        assert all(other == made[0] for other in made)

    def test_batches_make_no_difference(self, sample, write, byte_level, tmp_path, monkeypatch):
        corpus = write(sample)
        build_stores(corpus, byte_level, words=Words.JIEBA, cache=tmp_path / "a")
        monkeypatch.setattr(encoder_module, "BATCH", 700)
        monkeypatch.setattr("plume.data.encoding.CHUNK", 1000)
        build_stores(corpus, byte_level, words=Words.JIEBA, cache=tmp_path / "b")
        assert contents(tmp_path / "a") == contents(tmp_path / "b")

    def test_a_script_without_a_main_guard(self, sample, write, wordpiece, tmp_path):
        """What breaks multiprocessing: the script would be run again in each process."""
        corpus = write(sample)
        wordpiece.save(tmp_path / "tokenizer.json")
        (tmp_path / "script.py").write_text(
            textwrap.dedent(f"""
            print("started")
            from plume.data.corpus import Corpus
            from plume.data.store import build_stores
            from plume.text.format import BERT
            from plume.text.tokenizer import Tokenizer
            from plume.text.words import Words
            tokenizer = Tokenizer.load({str(tmp_path / "tokenizer.json")!r}, format=BERT)
            corpus = Corpus({str(corpus.files[0])!r})
            made = build_stores(corpus, tokenizer, words=Words.SPACES, cache={str(tmp_path / "c")!r}, workers=2, small=0)
            print(len(made.train.document_start))
        """)
        )
        done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout == "started\n248\n"
        assert done.stderr == ""

    def test_a_process_that_dies_is_reported(self, sample, write, wordpiece, tmp_path, monkeypatch):
        monkeypatch.setattr("plume.data.workers._COMMAND", "import os; os._exit(7)")
        with pytest.raises(RuntimeError, match=r"exit status 7.*PLUME_WORKERS"):
            build_stores(write(sample), wordpiece, words=Words.SPACES, cache=tmp_path, workers=2, small=0)
        assert contents(tmp_path / "stores") == {}

    def test_an_error_in_the_corpus_comes_through(self, tmp_path, wordpiece):
        (tmp_path / "a.txt").write_bytes(b"A fine line.\n" * 1000)
        corpus = Corpus(tmp_path / "a.txt")
        corpus.census()
        (tmp_path / "a.txt").write_bytes(b"A fine line.\n\n" * 1000 + b"\xff\n")
        with pytest.raises(PlumeError, match="line 2001"):
            build_stores(corpus, wordpiece, words=Words.SPACES, cache=tmp_path, workers=2, small=0)

    def test_number_of_workers_from_the_environment(self, monkeypatch):
        monkeypatch.setenv("PLUME_WORKERS", "3")
        assert store_module._usual_workers(Words.SPACES) == 3
        monkeypatch.setenv("PLUME_WORKERS", "many")
        with pytest.raises(PlumeError, match="PLUME_WORKERS=many"):
            store_module._usual_workers(Words.SPACES)


class TestText:
    def test_byte_level_text_comes_back_exactly_line_breaks_too(self, write, byte_level, tmp_path):
        documents = [["The old dog. It walks!  Slowly.", "今天天气。我们散步。", "End. " * 30]]
        stores = build_stores(write(documents), byte_level, words=Words.SPACES, cache=tmp_path)
        ids = np.concatenate([stores.train.tokens[:-1], stores.held_out.tokens[:-1]])
        assert byte_level.decode(ids) == "\n".join(documents[0]).strip()

    def test_a_sentence_without_end_is_cut_and_nothing_is_lost(self, write, byte_level, tmp_path, monkeypatch):
        monkeypatch.setattr(encoder_module, "LONGEST_TEXT", 50)
        text = "dog walks " * 110 + "Then rain. " * 12 + "x" * 1300 + ". 今天" + "学习" * 700
        stores = build_stores(write([[text]]), byte_level, words=Words.SPACES, cache=tmp_path)
        ids = np.concatenate([stores.train.tokens[:-1], stores.held_out.tokens[:-1]])
        assert byte_level.decode(ids) == text
        assert (stores.train.sentence_end - stores.train.sentence_start).max() <= 640
        assert stores.train.sentence_continued.sum() + stores.held_out.sentence_continued.sum() == 6 + 2 + 43

    def test_a_line_without_sentence_ends_can_be_held_out_too(self, write, wordpiece, tmp_path):
        stores = build_stores(write([["dog walks " * 400]]), wordpiece, words=Words.SPACES, cache=tmp_path)
        assert (len(stores.train.tokens), len(stores.held_out.tokens)) == (768 + 1, 32 + 1)
        assert stores.train.sentence_continued.tolist() == [False] + [True] * 23

    def test_sentences_without_tokens_are_dropped(self, write, wordpiece, tmp_path):
        documents = [["The dog walks.", "\u200b", "Rain falls."], ["\u200b\ufeff"], ["Old hills."]]
        stores = build_stores(write(documents), wordpiece, words=Words.SPACES, cache=tmp_path)
        assert len(stores.train.sentence_start) + len(stores.held_out.sentence_start) == 3
        assert len(stores.train.document_start) + len(stores.held_out.document_start) - 2 == 2

    def test_documents_without_tokens_are_dropped_by_the_encoder(self, wordpiece):
        made = Encoder(wordpiece, words=Words.SPACES).encode([["\u200b"], ["The dog.", "\u200b"], []])
        assert (made.document_length.tolist(), made.sentence_length.tolist()) == ([1], [3])
        nothing = Encoder(wordpiece, words=Words.JIEBA).encode([])
        assert (nothing.tokens.dtype, len(nothing.tokens), len(nothing.document_length)) == (np.uint16, 0, 0)

    def test_special_tokens_written_in_the_text_cannot_part_documents(self, write, wordpiece, tmp_path):
        stores = build_stores(write([["The dog [SEP] walks. Rain falls."]]), wordpiece, words=Words.SPACES, cache=tmp_path)
        assert (stores.train.tokens == wordpiece.separator).sum() == 1

    def test_a_large_vocabulary_takes_four_bytes(self, write, tmp_path):
        vocabulary = {token: number for number, token in enumerate([*BERT.specials(), "dog", "."])} | {f"t{n}": n for n in range(7, 70_000)}
        (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
        tokenizer = Tokenizer.load(tmp_path / "vocab.txt", format=BERT)
        stores = build_stores(write([["t69999 dog. Dog t65536."]]), tokenizer, words=Words.SPACES, cache=tmp_path, workers=2, small=0)
        assert stores.train.tokens.dtype == np.uint32
        assert 69_999 in stores.train.tokens

    def test_unknown_share(self, write, tmp_path):
        tokenizer = Tokenizer(WordPiece(vocabulary=60).train(iter(["the dog walks."] * 9), format=BERT), format=BERT)
        stores = build_stores(write([["The 猫 walks. The dog walks."]]), tokenizer, words=Words.SPACES, cache=tmp_path)
        assert stores.info["unknown_share"] == 1 / 8


class TestCache:
    def folder(self, home):
        (found,) = (home / "stores").iterdir()
        return found

    def test_a_second_call_builds_nothing(self, sample, write, wordpiece, tmp_path, monkeypatch):
        corpus = write(sample)
        first = build_stores(corpus, wordpiece, words=Words.SPACES, cache=tmp_path)
        monkeypatch.setattr(store_module, "_build", lambda *_, **__: pytest.fail("built again"))
        again = build_stores(Corpus(corpus.files[0]), wordpiece, words=Words.SPACES, cache=tmp_path)
        assert again.info == first.info
        assert (again.train.tokens == first.train.tokens).all()

    def test_another_text_tokenizer_or_kind_of_words_is_another_store(self, sample, write, wordpiece, byte_level, tmp_path):
        corpus = write(sample)
        for other, tokenizer, words in (
            (corpus, wordpiece, Words.SPACES), (corpus, wordpiece, Words.JIEBA), (corpus, byte_level, Words.SPACES),
            (write(sample[:-1], "other.txt"), wordpiece, Words.SPACES),
        ):  # fmt: skip
            build_stores(other, tokenizer, words=words, cache=tmp_path)
        assert len(list((tmp_path / "stores").iterdir())) == 4

    @pytest.mark.parametrize("damage", [
        lambda folder: os.truncate(folder / "train" / "sentence_start.bin", 80),
        lambda folder: (folder / "held_out" / "sentence_end.bin").unlink(),
        lambda folder: (folder / "info.json").write_text("{"),
        lambda folder: (folder / "info.json").write_text("[]"),
        lambda folder: (folder / "info.json").unlink(),
    ], ids=["short file", "missing file", "broken info", "wrong info", "no info"])  # fmt: skip
    def test_a_damaged_store_is_built_again(self, damage, sample, write, wordpiece, tmp_path):
        corpus = write(sample[:120])
        build_stores(corpus, wordpiece, words=Words.SPACES, cache=tmp_path)
        whole = contents(self.folder(tmp_path))
        damage(self.folder(tmp_path))
        build_stores(corpus, wordpiece, words=Words.SPACES, cache=tmp_path)
        assert contents(self.folder(tmp_path)) == whole

    def test_open_one_part(self, sample, write, wordpiece, tmp_path):
        stores = build_stores(write(sample), wordpiece, words=Words.SPACES, cache=tmp_path)
        opened = Store.open(self.folder(tmp_path) / "held_out")
        for name in FILES:
            assert (getattr(opened, name) == getattr(stores.held_out, name)).all()

    def test_the_environment_names_the_cache(self, sample, write, wordpiece, tmp_path, monkeypatch):
        monkeypatch.setenv("PLUME_CACHE", str(tmp_path / "here"))
        build_stores(write(sample), wordpiece, words=Words.SPACES)
        assert json.loads((self.folder(tmp_path / "here") / "info.json").read_text())["version"] == store_module.VERSION

    def test_several_processes_building_the_same_store_all_succeed(self, sample, write, wordpiece, tmp_path):
        corpus = write(sample)
        wordpiece.save(tmp_path / "tokenizer.json")
        context = multiprocessing.get_context("fork")
        barrier = context.Barrier(4)
        processes = [
            context.Process(target=_build_at_once, args=(barrier, corpus.files[0], tmp_path / "tokenizer.json", tmp_path / "c"))
            for _ in range(4)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [0, 0, 0, 0]
        assert len(list((tmp_path / "c" / "stores").iterdir())) == 1

    def test_a_cache_that_cannot_be_written_names_the_variable_that_moves_it(self, sample, write, wordpiece, tmp_path, monkeypatch):
        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("plume.data.store._fill", refuse)
        with pytest.raises(PlumeError, match=r"permission denied.*PLUME_CACHE"):
            build_stores(write(sample), wordpiece, words=Words.SPACES, cache=tmp_path)

    def test_what_a_killed_build_left_is_swept_after_a_day(self, sample, write, wordpiece, tmp_path):
        old, young = tmp_path / "stores" / ".a.1.tmp", tmp_path / "stores" / ".b.2.tmp"
        for leftover in (old, young):
            leftover.mkdir(parents=True)
        os.utime(old, (0, 0))
        build_stores(write(sample), wordpiece, words=Words.SPACES, cache=tmp_path)
        assert not old.exists()
        assert young.exists()


def _build_at_once(barrier, path, tokenizer, cache) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    corpus, ready = Corpus(path), Tokenizer.load(tokenizer, format=BERT)
    corpus.census()
    barrier.wait()
    stores = build_stores(corpus, ready, words=Words.SPACES, cache=cache)
    assert len(stores.train.document_start) == 248


class TestTooLittle:
    def test_a_corpus_in_which_the_tokenizer_finds_one_sentence(self, write, wordpiece, tmp_path):
        with pytest.raises(PlumeError, match="less than two sentences"):
            build_stores(write([["The dog walks."]]), wordpiece, words=Words.SPACES, cache=tmp_path)
        assert contents(tmp_path / "stores") == {}


def test_the_unigram_entropy_is_that_of_held_out_text_by_training_frequencies() -> None:
    """Documents that are unlike the others cost more than the training text's own entropy says."""
    train, alike, unlike = (SimpleNamespace(counts=np.array(counts), unigram_entropy=0.5) for counts in ([97, 1, 0], [9, 0, 0], [0, 0, 4]))
    first = Stores(train=train, held_out=alike, info={}).unigram_entropy  # type: ignore[arg-type]
    assert first == pytest.approx(-np.log(98 / 101))
    assert Stores(train=train, held_out=unlike, info={}).unigram_entropy == pytest.approx(-np.log(1 / 101))  # type: ignore[arg-type]
    nothing = SimpleNamespace(counts=np.zeros(3))
    assert Stores(train=train, held_out=nothing, info={}).unigram_entropy == 0.5  # type: ignore[arg-type]
