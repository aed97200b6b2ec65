import dataclasses
import json
import math

import pytest

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.data.doctor import examine
from plume.data.duplicates import DuplicateCounter


def warned(found, words: str) -> bool:
    return any(words in warning for warning in found.warnings)


def test_counts(tmp_path):
    (tmp_path / "a.txt").write_text(
        "The cat sat. It slept.\n我爱北京。\n\nThe end is a longer line.\n\nThe end is a longer line.\n", encoding="utf-8"
    )
    found = examine(tmp_path / "a.txt")
    assert (found.documents, found.lines, found.sentences, found.one_sentence_documents) == (3, 4, 5, 2)
    assert found.words == 5 + 4 + 6 + 6
    assert found.characters == 22 + 5 + 25 + 25
    assert found.bytes == 22 + 15 + 25 + 25
    assert (found.languages.han, found.languages.latin, found.languages.other) == (4, 54, 0)
    assert (found.duplicate_lines, found.duplicate_documents) == (1, 1)
    assert dataclasses.astuple(found.longest_line) == (tmp_path / "a.txt", 4, 25)
    assert found.sentence_length == found.words / 5


def test_the_longest_line_of_jsonl_is_told_by_its_record(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "short."}\n{"text": "short.\\nlonger line."}\n')
    found = examine([tmp_path / "a.jsonl"])
    assert (found.longest_line.line, found.longest_line.length) == (2, 12)


def test_entropy_is_that_of_wordpiece_tokens(tmp_path):
    (tmp_path / "a.txt").write_text("天 地 玄 黄 。\n" * 50, encoding="utf-8")
    found = examine(tmp_path / "a.txt")
    assert found.unigram_entropy == pytest.approx(math.log(5))
    assert found.vocabulary == 5 + 5


def test_undecodable_bytes_are_reported_with_their_lines(tmp_path):
    lines = [b"A fine sentence here."] * 40
    for number in range(5, 35, 2):
        lines[number] = b"bad \xe9 byte"
    (tmp_path / "a.txt").write_bytes(b"\n".join(lines))
    found = examine(tmp_path / "a.txt")
    assert found.undecodable_lines == 15
    assert [bad.line for bad in found.undecodable] == list(range(6, 26, 2))
    assert found.undecodable[0].encoding == "ISO-8859-1"
    assert found.lines == 40
    assert warned(found, "15 lines are not UTF-8")


def test_undecodable_jsonl(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "fine."}\n{"text": "caf\xe9 here."}\n')
    found = examine(tmp_path / "a.jsonl")
    assert (found.undecodable_lines, found.undecodable[0].line, found.documents) == (1, 2, 2)


def test_missing_empty_and_binary_files_raise(tmp_path):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "binary.txt").write_bytes(b"a\0b")
    for name, words in (("none.txt", "does not exist"), ("empty.txt", "is empty"), ("binary.txt", "zero byte")):
        with pytest.raises(PlumeError, match=words):
            examine(tmp_path / name)


def varied(number: int) -> str:
    return f"Sentence {number} speaks of {number * 7} things and {number * 13} others."


def test_a_good_corpus_has_no_warnings(tmp_path):
    documents = ["\n".join(varied(10 * document + line) for line in range(10)) for document in range(50)]
    (tmp_path / "a.txt").write_text("\n\n".join(documents))
    assert examine(tmp_path / "a.txt").warnings == ()


def test_duplicates_are_warned_of(tmp_path):
    lines = [varied(number) for number in range(69)] + ["Menu."] * 31
    (tmp_path / "a.txt").write_text("\n".join(lines))
    assert warned(examine(tmp_path / "a.txt"), "30% of lines are duplicates")
    (tmp_path / "b.txt").write_text("\n\n".join([f"{varied(n)}\n{varied(n + 1)}" for n in range(19)] + [f"{varied(0)}\n{varied(1)}"]))
    assert warned(examine(tmp_path / "b.txt"), "5% of documents are duplicates")


def test_one_sentence_documents_are_warned_of(tmp_path):
    (tmp_path / "a.txt").write_text("\n\n".join(varied(number) for number in range(20)))
    assert warned(examine(tmp_path / "a.txt"), "One-sentence documents only: sentence-pair objectives")
    (tmp_path / "b.txt").write_text("\n\n".join([*(varied(number) for number in range(20)), f"{varied(30)} {varied(31)}"]))
    assert warned(examine(tmp_path / "b.txt"), "95% of documents have one sentence")


def test_missing_punctuation_long_lines_and_empty_texts_are_warned_of(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "word " * 30_000}) + '\n{"text": ""}\n')
    found = examine(tmp_path / "a.jsonl")
    assert warned(found, "is cut every 32 words (or Chinese characters), and 100% of the sentences are such pieces")
    assert (found.sentences, found.cut_sentences) == (938, 937)
    assert warned(found, "line 1 has 149,999 characters")
    assert warned(found, "1 documents have an empty 'text'")
    assert warned(found, "very monotonous")


def test_runs_without_a_space_are_named_with_their_lines(tmp_path):
    lines = [varied(number) for number in range(9)]
    lines[4] = "see " + "Qm9/" * 500 + " below"
    lines[6] = "天地玄黄" * 900  # is no such run, only text without ends
    lines[7] = "x" * 1_000
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    found = examine(tmp_path / "a.txt")
    assert [(blob.line, blob.length) for blob in found.blobs] == [(5, 2_000), (8, 1_000)]
    assert f"{tmp_path / 'a.txt'}, line 5: 2,000 characters without a space" in Corpus(tmp_path / "a.txt").census().blobs


def test_a_run_that_was_read_in_parts_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr("plume.data.documents.LONGEST_DOCUMENT", 3_000)
    (tmp_path / "a.txt").write_text("One line.\n" + "x" * 10_000 + "\n")
    found = examine(tmp_path / "a.txt")
    assert [(blob.line, blob.length) for blob in found.blobs] == [(2, 10_000)]
    assert (found.longest_line.line, found.documents) == (2, 5)


def test_no_text_at_all(tmp_path):
    (tmp_path / "a.txt").write_text(" \n")
    found = examine(tmp_path / "a.txt")
    assert found.warnings == ("There is no text at all.",)
    assert found.longest_line is None


def test_duplicates_beyond_the_room_are_estimated():
    counter = DuplicateCounter(room=500)
    for number in range(8000):
        counter.add(str(number % 6000))
    assert len(counter._kept) <= 500
    assert 1400 < counter.duplicates() < 2600
