import json

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus, CorpusKind
from plume.data.emoji_texts import MOST, EmojiTexts
from plume.data.store import build_stores
from plume.text.words import Words


def examples(path):
    return [(document.paragraphs, document.label, document.line) for document in Corpus(path, kind=CorpusKind.EMOJI).documents()]


def test_a_text_comes_once_for_each_kind_without_any_emoji(tmp_path):
    (tmp_path / "a.txt").write_text("so 😂😂 good ❤️\nno emoji here\n\n😂\nwell 👍🏽 👍🏿 done\n", encoding="utf-8")
    assert examples(tmp_path / "a.txt") == [(["so good"], "😂", 1), (["so good"], "❤", 1), (["well done"], "👍", 5)]


def test_jsonl_records_are_texts(tmp_path):
    records = [{"text": "one\ntwo 😀"}, {"text": "three 😎"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert examples(tmp_path / "a.jsonl") == [(["one two"], "😀", 1), (["three"], "😎", 2)]


def test_only_the_most_frequent_kinds_are_kept(tmp_path):
    faces = [chr(0x1F600 + number) for number in range(70)]
    (tmp_path / "a.txt").write_text("".join(f"word {face} {face}\n" * (2 if number < 64 else 1) for number, face in enumerate(faces)))
    corpus = Corpus(tmp_path / "a.txt", kind=CorpusKind.EMOJI)
    assert (MOST, corpus.labels()) == (64, tuple(faces[:64]))
    assert corpus.census().documents == 128
    assert EmojiTexts(corpus.files, most=3).kinds == tuple(faces[:3])


@pytest.mark.parametrize(("text", "match"), [
    ("plain words\nmore words\n", "of 2 texts with words the kinds of emoji found are: none"),
    ("fun 😂\nmore fun 😂\n", "found are: only 😂"),
    ("fun 😂\n😀\n", "found are: only 😂"),
])  # fmt: skip
def test_too_few_kinds(text, match, tmp_path):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(PlumeError, match=match):
        Corpus(tmp_path / "a.txt", kind=CorpusKind.EMOJI).census()


def test_what_is_held_out_is_not_trained_on_under_another_label(tmp_path, wordpiece):
    (tmp_path / "a.txt").write_text(
        "".join(f"the cat walks {n} 😂{'👍' * (n % 2)}{'❤' * (n % 3 == 0)}\n" for n in range(400)), encoding="utf-8"
    )
    corpus = Corpus(tmp_path / "a.txt", kind=CorpusKind.EMOJI)
    stores = build_stores(corpus, wordpiece, words=Words.SPACES, cache=tmp_path)
    assert stores.info["labels"] == ["❤", "👍", "😂"]
    assert stores.held_out.document_label.tolist() == [2, 0, 2, 2, 2, 0]  # texts 0, 100, 200 and 300 with all their kinds
    documents = len(stores.train.document_label) + len(stores.held_out.document_label)
    assert documents == 400 + 200 + 134
    assert np.bincount(stores.train.document_label).tolist() == [132, 200, 396]
