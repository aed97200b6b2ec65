import gzip
import json
import os
import tracemalloc
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.core.errors import PlumeError
from plume.data import documents as module
from plume.data import lines
from plume.data.corpus import Corpus


def paragraphs(corpus: Corpus) -> list[list[str]]:
    return [document.paragraphs for document in corpus.documents()]


class TestReading:
    TEXT: ClassVar = "One.\nTwo.\n\n\n三。\n  \nFour. Five.\n"
    DOCUMENTS: ClassVar = [["One.", "Two."], ["三。"], ["Four. Five."]]

    @pytest.mark.parametrize("encode", [
        lambda text: text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: ("\n\n" + text).encode(),
    ], ids=["plain", "byte-order mark", "CRLF", "no last line end", "leading blank lines"])  # fmt: skip
    def test_blank_lines_part_documents(self, encode, tmp_path):
        (tmp_path / "a.txt").write_bytes(encode(self.TEXT))
        assert paragraphs(Corpus(tmp_path / "a.txt")) == self.DOCUMENTS
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(encode(self.TEXT)))
        assert paragraphs(Corpus(tmp_path / "a.txt.gz")) == self.DOCUMENTS

    def test_a_document_knows_its_file_and_line(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text(self.TEXT)
        assert [(document.file, document.line) for document in Corpus(path).documents()] == [(path, 1), (path, 5), (path, 7)]

    def test_without_blank_lines_the_file_is_one_document(self, tmp_path):
        (tmp_path / "a.txt").write_text("One.\nTwo.\nThree.\n")
        assert paragraphs(Corpus(tmp_path / "a.txt")) == [["One.", "Two.", "Three."]]

    @pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.ndjson"])
    def test_jsonl(self, name, tmp_path):
        records = [{"text": "One.\n\nTwo.", "title": "x"}, {"text": ""}, {"text": "三。\r\n四。 "}]
        (tmp_path / name).write_text("\n".join(json.dumps(record) for record in records) + "\n\n")
        found = list(Corpus(tmp_path / name).documents())
        assert [document.paragraphs for document in found] == [["One.", "Two."], ["三。", "四。"]]
        assert [document.line for document in found] == [1, 3]

    def test_jsonl_escapes_that_utf8_cannot_write(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"text": "a\\ud800b \\u0000c \\ud83d\\ude00"}\n')
        assert paragraphs(Corpus(tmp_path / "a.jsonl")) == [["a\ufffdb c 😀"]]

    def test_a_folder_is_searched_in_order_and_hidden_files_are_passed_over(self, tmp_path):
        for name in ("b.txt", "a.md", "sub/c.text", ".hidden.txt", "sub/.x/d.txt", "e.py", "f.json", "sub/g.txt.gz", "h.jsonl"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({"text": name}) if "json" in name else name
            path.write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
        (tmp_path / "empty.txt").touch()
        assert paragraphs(Corpus(tmp_path)) == [["a.md"], ["b.txt"], ["h.jsonl"], ["sub/c.text"], ["sub/g.txt.gz"]]

    def test_several_paths_come_in_the_order_given_each_its_own_document(self, tmp_path):
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(f"{name}\n")
        assert paragraphs(Corpus([tmp_path / "b.txt", str(tmp_path / "a.txt")])) == [["b.txt"], ["a.txt"]]

    @pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
    def test_blocks_may_end_anywhere(self, block, tmp_path, monkeypatch):
        monkeypatch.setattr(lines, "BLOCK", block)
        (tmp_path / "a.txt").write_text("One 二.\r\nTwo 😀.\r\n\r\n三。", encoding="utf-8", newline="")
        found = list(Corpus(tmp_path / "a.txt").documents())
        assert [document.paragraphs for document in found] == [["One 二.", "Two 😀."], ["三。"]]
        assert [document.line for document in found] == [1, 4]

    @settings(max_examples=50, deadline=None)
    @given(words=st.lists(st.text(alphabet="ab 中é😀.", min_size=1, max_size=8), max_size=30), bound=st.integers(1, 40))
    def test_cutting_long_lines_and_documents_loses_nothing(self, words, bound, tmp_path_factory):
        path = tmp_path_factory.mktemp("long") / "a.txt"
        path.write_text("x" + "".join(words) + "\nlast", encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lines, "BLOCK", 5)
            patch.setattr(module, "LONGEST_LINE", 8)
            patch.setattr(module, "LONGEST_DOCUMENT", bound)
            found = list(Corpus(path).documents())
        assert "".join("".join(document.paragraphs) for document in found).replace(" ", "") == "".join(["x", *words, "last"]).replace(
            " ", ""
        )
        assert all(sum(map(len, document.paragraphs)) <= bound for document in found)
        assert found[-1].paragraphs[-1][-1] == "t"
        assert found[0].line == 1

    def test_a_line_in_parts_counts_once(self, tmp_path, monkeypatch):
        monkeypatch.setattr(lines, "BLOCK", 5)
        monkeypatch.setattr(module, "LONGEST_LINE", 8)
        (tmp_path / "a.txt").write_text("one two three four five six\n\nnext\n")
        found = list(Corpus(tmp_path / "a.txt").documents())
        assert [document.line for document in found] == [1, 3]
        assert " ".join(found[0].paragraphs) == "one two three four five six"
        assert len(found[0].paragraphs) > 2

    def test_a_long_jsonl_text_is_cut_too(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "LONGEST_DOCUMENT", 10)
        (tmp_path / "a.jsonl").write_text(json.dumps({"text": "one two\nthree\n" + "x" * 25}))
        assert paragraphs(Corpus(tmp_path / "a.jsonl")) == [["one two"], ["three"], ["x" * 10], ["x" * 10], ["x" * 5]]

    def test_a_long_line_is_searched_once(self, tmp_path, monkeypatch):
        looked_at = []

        class Counted(bytes):
            def rfind(self, sign):
                looked_at.append(len(self))
                return super().rfind(sign)

            def removeprefix(self, prefix):
                return Counted(super().removeprefix(prefix))

        read = lines._read
        monkeypatch.setattr(lines, "BLOCK", 1_000)
        monkeypatch.setattr(lines, "_read", lambda *given: Counted(read(*given)))
        (tmp_path / "a.jsonl").write_text(json.dumps({"text": "word " * 20_000}))
        assert len(paragraphs(Corpus(tmp_path / "a.jsonl"))[0][0]) == 99_999
        assert sum(looked_at) <= 101_000

    def test_memory_does_not_grow_with_a_file_of_one_line(self, tmp_path):
        with (tmp_path / "a.txt").open("w") as file:
            for _ in range(40):
                file.write("word " * 200_000)  # 40 MB in one line
        corpus = Corpus(tmp_path / "a.txt")
        tracemalloc.start()
        sizes = [sum(map(len, document.paragraphs)) for document in corpus.documents()]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert 39_900_000 < sum(sizes) <= 40_000_000
        assert peak < 30_000_000


class TestCensus:
    def test_counts(self, tmp_path):
        (tmp_path / "a.txt").write_text("ab\n中文\n\nx\n", encoding="utf-8")
        census = Corpus(tmp_path / "a.txt").census()
        assert (census.documents, census.paragraphs, census.characters, census.bytes) == (2, 3, 5, 9)

    def test_the_fingerprint_depends_on_the_text_only(self, tmp_path):
        (tmp_path / "a.txt").write_text("One.\nTwo.\n\nThree.\n")
        (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbf  One. \r\nTwo.\r\n\r\n\r\nThree.")
        (tmp_path / "c.jsonl").write_text('{"text": "One.\\nTwo."}\n{"text": "Three."}\n')
        (tmp_path / "d.txt.gz").write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes()))
        assert len({Corpus(path).census() for path in sorted(tmp_path.iterdir())}) == 1

    @pytest.mark.parametrize(
        "other", ["One.\n\nTwo.\n\nThree.\n", "One.\nTwo.\nThree.\n", "One. Two.\n\nThree.\n", "One.\nTwo.\n\nThreE.\n"]
    )
    def test_any_change_of_text_or_structure_changes_it(self, other, tmp_path):
        (tmp_path / "a.txt").write_text("One.\nTwo.\n\nThree.\n")
        (tmp_path / "b.txt").write_text(other)
        assert Corpus(tmp_path / "a.txt").census().fingerprint != Corpus(tmp_path / "b.txt").census().fingerprint

    def test_documents_cannot_run_together(self, tmp_path):
        (tmp_path / "a.txt").write_text("ab\n\nc\n")
        (tmp_path / "b.txt").write_text("a\n\nbc\n")
        assert Corpus(tmp_path / "a.txt").census().fingerprint != Corpus(tmp_path / "b.txt").census().fingerprint

    def test_it_is_taken_once(self, tmp_path):
        (tmp_path / "a.txt").write_text("One.\n")
        corpus = Corpus(tmp_path / "a.txt")
        first = corpus.census()
        (tmp_path / "a.txt").unlink()
        assert corpus.census() is first


class TestTrainable:
    def test_one_word_says_what_is_missing(self, tmp_path):
        (tmp_path / "a.txt").write_text("hello\n")
        with pytest.raises(PlumeError, match=r"a\.txt: too little text: found 1 sentence of 1 word; .* at least 2 sentences and 20 words"):
            Corpus(tmp_path / "a.txt").require_trainable()

    def test_one_long_sentence_is_too_little(self, tmp_path):
        (tmp_path / "a.txt").write_text("word " * 50)
        with pytest.raises(PlumeError, match="found 1 sentence of 50 words"):
            Corpus(tmp_path / "a.txt").require_trainable()

    def test_only_spaces(self, tmp_path):
        (tmp_path / "a.txt").write_text(" \n\n \n")
        with pytest.raises(PlumeError, match="found 0 sentences of 0 words"):
            Corpus(tmp_path / "a.txt").require_trainable()

    @pytest.mark.parametrize("text", ["word " * 19 + "end. Again.", "天地玄黄宇宙洪荒，日月盈昃。辰宿列张寒来暑往"])
    def test_twenty_words_or_characters_in_two_sentences_will_do(self, text, tmp_path):
        (tmp_path / "a.txt").write_text(text, encoding="utf-8")
        Corpus(tmp_path / "a.txt").require_trainable()


class TestErrors:
    def raises(self, path, match: str, *, read: bool = False) -> None:
        with pytest.raises(PlumeError, match=match):
            list(Corpus(path).documents()) if read else Corpus(path)

    def test_missing(self, tmp_path):
        self.raises(tmp_path / "none.txt", r"none\.txt does not exist")
        self.raises([], "No corpus given")

    def test_empty(self, tmp_path):
        (tmp_path / "a.txt").touch()
        self.raises(tmp_path / "a.txt", r"a\.txt is empty")
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"", mtime=0))
        self.raises(tmp_path / "a.txt.gz", r"a\.txt\.gz is empty")

    def test_folder_without_text(self, tmp_path):
        (tmp_path / "x.py").write_text("x")
        self.raises(tmp_path, r"holds no corpus files.*found x\.py")

    def test_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        self.raises(tmp_path / "pipe", "not a regular file")

    @pytest.mark.parametrize(("data", "match"), [
        (gzip.compress(b"text", mtime=0), r"compressed by gzip but not named \.gz"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"%PDF-1.7", "pdftotext"),
        (b"BZh91AY", "bunzip2"),
        (b"MZ\x90\0\x03\0\0\0\x04", "line 1: a zero byte"),
        ("文本 text".encode("utf-16"), r"looks like UTF-16\. .*iconv -f UTF-16 .*a\.txt -t UTF-8 > .*a\.utf8\.txt"),
        ("plain text".encode("utf-16-le"), "looks like UTF-16LE"),
        ("plain text".encode("utf-16-be"), "looks like UTF-16BE"),
    ])  # fmt: skip
    def test_binary(self, data, match, tmp_path):
        (tmp_path / "a.txt").write_bytes(data)
        self.raises(tmp_path / "a.txt", match)

    def test_zero_bytes_further_down_are_found_with_their_line(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"fine\n" * 300_000 + b"bad\0\n")
        self.raises(tmp_path / "a.txt", "line 300001: a zero byte", read=True)

    def test_named_gz_but_is_not(self, tmp_path):
        (tmp_path / "a.txt.gz").write_text("plain")
        self.raises(tmp_path / "a.txt.gz", r"named \.gz but is not compressed")

    def test_gzip_cut_short(self, tmp_path):
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(os.urandom(9000).hex().encode())[:-2000])
        self.raises(tmp_path / "a.txt.gz", "damaged gzip", read=True)

    @pytest.mark.parametrize(("text", "encoding", "guess"), [
        ("第三行是中文，用另一种编码。", "gb18030", "GB18030"),
        ("The café is naïve", "latin-1", "ISO-8859-1"),
        ("Ärger über Öl", "cp1252", "ISO-8859-1"),
    ])  # fmt: skip
    def test_undecodable_bytes(self, text, encoding, guess, tmp_path):
        path = tmp_path / "my corpus.txt"
        path.write_bytes(b"one\n\ntwo\n" * 60_000 + b"ok " + text.encode(encoding) + b"\nend\n")
        first = next(place for place, byte in enumerate(text.encode(encoding)) if byte > 127)
        expected = (
            rf"my corpus\.txt, line 180001: byte 0x{text.encode(encoding)[first]:02X} at column {4 + first} is not UTF-8; "
            rf"it looks like {guess}\. Convert the file: iconv -f {guess} '.*my corpus\.txt' -t UTF-8 > '.*my corpus\.utf8\.txt'"
        )
        self.raises(path, expected, read=True)

    def test_undecodable_gzip_says_how_to_convert_it(self, tmp_path):
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress("caf\xe9".encode("latin-1")))
        self.raises(tmp_path / "a.txt.gz", r"gzip -dc .*a\.txt\.gz \| iconv -f ISO-8859-1 -t UTF-8 > .*a\.utf8\.txt", read=True)

    @pytest.mark.parametrize(("line", "match"), [
        ("not json", r"a\.jsonl, line 3: not JSON"),
        ('{"text": "cut', r"line 3: not JSON"),
        ('["a"]', "line 3: a JSON list, not an object"),
        ('{"body": "x", "title": "y"}', "line 3: no 'text' field; keys found: body, title"),
        ('{"text": 3}', "line 3: 'text' is not a string but int; keys found: text"),
        ("{}", "line 3: no 'text' field; keys found: none"),
    ])  # fmt: skip
    def test_bad_jsonl(self, line, match, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n\n' + line + "\n")
        self.raises(tmp_path / "a.jsonl", match, read=True)

    def test_a_json_list_over_many_lines_says_how_to_turn_it_into_lines(self, tmp_path):
        (tmp_path / "a.json").write_text(json.dumps([{"text": "x"}], indent=1))
        self.raises(tmp_path / "a.json", r"jq -c '\.\[\]'", read=True)
