import json

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus, CorpusKind
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.text.control import control_codes, control_id, require_control_id
from plume.text.format import BERT, GPT
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import ByteLevelBPE, WordPiece
from plume.text.words import Words


def jsonl(path, records):
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def books(tmp_path):
    texts = [
        {"text": f"The cat walks {n}. Rain falls softly.", "code" if n % 2 else "label": ("Books", "Links")[n % 3 == 0]} for n in range(300)
    ]
    return Corpus(jsonl(tmp_path / "a.jsonl", texts))


class TestCorpus:
    def test_labels_come_from_either_field(self, tmp_path):
        records = [
            {"text": "a", "label": "x"},
            {"text": "b", "code": "y"},
            {"text": "c", "label": 3},
            {"text": "d"},
            {"text": "e", "label": ["?"]},
        ]
        corpus = Corpus(jsonl(tmp_path / "a.jsonl", records))
        assert [document.label for document in corpus.documents()] == ["x", "y", "3", None, None]
        assert corpus.labels() == ("3", "x", "y")

    def test_two_labels_for_one_document(self, tmp_path):
        path = jsonl(tmp_path / "a.jsonl", [{"text": "a"}, {"text": "a", "label": "x", "code": "y"}])
        with pytest.raises(PlumeError, match="line 2: label 'x' but code 'y'"):
            list(Corpus(path).documents())

    def test_the_fingerprint_knows_labels(self, tmp_path):
        made = {Corpus(jsonl(tmp_path / f"{n}.jsonl", [{"text": "a", "label": label}, {"text": "b"}])).census().fingerprint
                for n, label in enumerate(("x", "y", None))}  # fmt: skip
        (tmp_path / "plain.txt").write_text("a\n\nb\n")
        assert len(made) == 3
        assert Corpus(tmp_path / "plain.txt").census().fingerprint in made  # no label, no difference


class TestStore:
    def test_labels_follow_their_documents_into_both_parts(self, books, wordpiece, tmp_path):
        stores = build_stores(books, wordpiece, words=Words.SPACES, cache=tmp_path)
        assert stores.info["labels"] == ["Books", "Links"]
        number = np.arange(300)
        expected = (number % 3 == 0).astype(int)
        assert stores.held_out.document_label.tolist() == expected[number % 100 == 0].tolist()
        assert stores.train.document_label.tolist() == expected[number % 100 != 0].tolist()
        assert stores.train.codes.tolist() == [-1, -1]  # this tokenizer knows no codes

    def test_no_labels(self, write, sample, wordpiece, tmp_path):
        store = build_stores(write(sample), wordpiece, words=Words.SPACES, cache=tmp_path).train
        assert (store.document_label == -1).all()
        assert (store.labels, store.languages, store.kind) == ((), (), CorpusKind.TEXT)
        assert (store.sentence_language == 0).all()


class TestControlCodes:
    @pytest.mark.parametrize(("spec", "form"), [(ByteLevelBPE(vocabulary=400), GPT), (WordPiece(vocabulary=120), BERT)])
    def test_codes_are_single_special_tokens_after_the_formats_own(self, books, spec, form, tmp_path):
        made = train_tokenizer(books, spec, form, codes=books.labels())
        own = len(form.specials())
        assert [made.token(own), made.token(own + 1)] == ["<|Books|>", "<|Links|>"]
        assert {own, own + 1} <= set(made.special_ids.tolist())
        assert made.size == spec.vocabulary or made.size < spec.vocabulary
        assert own not in made.encode(["<|Books|> the cat"])[0]  # a corpus cannot write one
        made.save(tmp_path)
        again = Tokenizer.load(tmp_path, format=form)
        assert control_codes(again) == ("Books", "Links")
        assert control_id(again, "Links") == own + 1
        store = build_stores(books, again, words=Words.SPACES, cache=tmp_path).train
        assert store.codes.tolist() == [own, own + 1]

    def test_without_codes_nothing_changes(self, books):
        spec = ByteLevelBPE(vocabulary=400)
        assert train_tokenizer(books, spec, GPT, codes=()).fingerprint == train_tokenizer(books, spec, GPT).fingerprint

    def test_an_unknown_code_says_which_there_are(self, books):
        made = train_tokenizer(books, ByteLevelBPE(vocabulary=400), GPT, codes=books.labels())
        assert require_control_id(made, "Books") == 1
        with pytest.raises(PlumeError, match="Unknown control code 'Boks': did you mean Books"):
            require_control_id(made, "Boks")
        plain = train_tokenizer(books, ByteLevelBPE(vocabulary=400), GPT)
        with pytest.raises(PlumeError, match="trained without any"):
            require_control_id(plain, "Boks")

    def test_a_label_that_is_a_special_token(self, tmp_path):
        corpus = Corpus(jsonl(tmp_path / "a.jsonl", [{"text": "a b c", "label": "endoftext"}]))
        with pytest.raises(PlumeError, match="rename the label"):
            train_tokenizer(corpus, ByteLevelBPE(vocabulary=400), GPT, codes=corpus.labels())
