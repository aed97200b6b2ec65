"""Prediction over files: memory, interruptions, and going on."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.readers.example import Example, Reading
from plume.tuning.asking import Asked, WrittenLines, answers, ask_texts, chunks, record
from plume.tuning.stream import json_line, whole_lines, write_answers

SIZE = 16


def lines(count: int, reading: Reading) -> Iterator[Example]:
    """Every seventh line is unusable; every third line has two examples, as a paragraph with two questions has."""
    for line in range(1, count + 1):
        if line % 7 == 0:
            reading.skip("empty text", f"in, line {line}")
            continue
        for part in range(2 if line % 3 == 0 else 1):
            reading.read += 1
            yield Example(texts=(f"第{line} é\n" + "x" * (line % 11) + str(part),), line=line)


def reply(examples: list[Example]) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Depends on what a text is answered together with, as the last digits of a real score do."""
    together = sum(len(example.texts[0]) for example in examples)
    return [{"label": "a", "score": round(1 / (together + len(example.texts[0])), 6)} for example in examples], Counter(cut=len(examples))


def asked(folder: Path, count: int = 100, answer: Any = reply) -> Asked:
    reading = Reading(file=folder / "in.txt", format="test")
    return Asked(paths=[reading.file], reading=reading, examples=lines(count, reading), answer=answer)


def test_one_line_for_each_example_in_order(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.jsonl"
    done = write_answers(asked(tmp_path), out, chunk=SIZE)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[:-1]]
    expected = list(lines(100, Reading(file=tmp_path)))
    assert [(one["line"], one["text"]) for one in records] == [(one.line, one.texts[0]) for one in expected]
    assert (done.before, done.written, done.stopped_by) == (0, len(expected), None)
    assert done.account == [
        f"in.txt: {len(expected)} examples (test)", "14 left out: empty text (first: in, line 7)", f"{len(expected)} cut",
    ]  # fmt: skip


def test_the_reader_is_never_more_than_a_chunk_ahead(tmp_path: Path) -> None:
    pulled = answered = 0

    def counted() -> Iterator[Example]:
        nonlocal pulled
        for number in range(1, 201):
            pulled += 1
            yield Example(texts=("a",), line=number)

    def answer(examples: list[Example]) -> tuple[list[dict[str, Any]], Counter[str]]:
        nonlocal answered
        assert pulled - answered == len(examples) <= SIZE
        answered += len(examples)
        return [{} for _ in examples], Counter()

    write_answers(
        Asked(paths=[tmp_path / "in"], reading=Reading(file=tmp_path / "in"), examples=counted(), answer=answer),
        tmp_path / "out", chunk=SIZE,
    )  # fmt: skip
    assert answered == 200


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        write_answers(asked(tmp_path, count), tmp_path / f"{count}.jsonl", chunk=64)
        write_answers(asked(tmp_path, count), tmp_path / f"{count}.jsonl", chunk=64, resume=True)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(300)  # what is made once
    assert peak(6000) < 1.3 * peak(600)


def test_long_texts_make_short_chunks() -> None:
    examples = [Example(texts=("x" * size, "y" * size)) for size in (10, 1, 1, 1, 100, 1)]
    assert [len(chunk) for chunk in chunks(examples, most=4, characters=20)] == [1, 4, 1]
    assert [len(chunk) for chunk in chunks(examples, most=3, characters=1000)] == [3, 3]


@pytest.mark.parametrize("seed", range(4))
def test_cut_anywhere_and_resumed_the_file_is_the_same(seed: int, tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    write_answers(asked(tmp_path), whole, chunk=SIZE)
    content = whole.read_bytes()
    source = random.Random(seed)
    for cut in [0, len(content), *(source.randrange(len(content)) for _ in range(20))]:
        broken = tmp_path / "broken.jsonl"
        broken.write_bytes(content[:cut])
        done = write_answers(asked(tmp_path), broken, chunk=SIZE, resume=True)
        assert broken.read_bytes() == content, f"differs after a cut at byte {cut}"
        assert done.before == content[:cut].count(b"\n")
        assert done.before + done.written == content.count(b"\n")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_drops_the_chunk_under_way(name: str, tmp_path: Path) -> None:
    calls = 0

    def interrupted(examples: list[Example]) -> tuple[list[dict[str, Any]], Counter[str]]:
        nonlocal calls
        calls += 1
        if calls == 3:
            os.kill(os.getpid(), getattr(signal, name))
        return reply(examples)

    out, whole, handler = tmp_path / "out", tmp_path / "whole", signal.getsignal(signal.SIGTERM)
    done = write_answers(asked(tmp_path, answer=interrupted), out, chunk=SIZE)
    assert (done.stopped_by, done.written) == (name, 2 * SIZE)
    assert signal.getsignal(signal.SIGTERM) is handler
    write_answers(asked(tmp_path), whole, chunk=SIZE)
    assert out.read_bytes() == b"".join(whole.read_bytes().splitlines(keepends=True)[: 2 * SIZE])
    write_answers(asked(tmp_path), out, chunk=SIZE, resume=True)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("chunk", [1, 3])
def test_a_signal_while_a_chunk_is_written_takes_it_back(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, calls, really = tmp_path / "out", 0, Path.open

    class Handle(io.FileIO):
        def write(self, lines: Any) -> int:
            super().write(lines[: len(lines) // 2])
            raise KeyboardInterrupt

    def opened(path: Path, mode: str) -> Any:
        nonlocal calls
        calls += 1
        return Handle(path, mode) if calls == chunk else really(path, mode)

    monkeypatch.setattr(Path, "open", opened)
    done = write_answers(asked(tmp_path), out, chunk=SIZE)
    assert (done.stopped_by, done.written) == ("SIGINT", (chunk - 1) * SIZE)
    assert out.exists() is (chunk > 1)
    if chunk > 1:
        assert out.read_bytes().count(b"\n") == 2 * SIZE and out.read_bytes().endswith(b"\n")


def test_an_error_in_the_input_leaves_what_was_written(tmp_path: Path) -> None:
    def broken() -> Iterator[Example]:
        for number in range(1, 41):
            yield Example(texts=("a",), line=number)
        raise PlumeError("in, line 41: 3 columns")

    out = tmp_path / "out"
    question = Asked(paths=[tmp_path / "in"], reading=Reading(file=tmp_path / "in"), examples=broken(), answer=reply)
    with pytest.raises(PlumeError, match="line 41"):
        write_answers(question, out, chunk=SIZE)
    assert whole_lines(out).count == 2 * SIZE


def test_what_is_there_is_not_lost(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine, without an end of line")
    for options in ({}, {"resume": True, "overwrite": True}):
        with pytest.raises(PlumeError, match="--resume"):
            write_answers(asked(tmp_path), out, **options)
    out.write_text("mine\nand mine")
    with pytest.raises(PlumeError, match="line 1: no JSON object"):
        write_answers(asked(tmp_path), out, resume=True)
    out.write_text('{"line": 1, "text": "another"}\nhalf')
    with pytest.raises(PlumeError, match="not about example 1"):
        write_answers(asked(tmp_path), out, resume=True, chunk=SIZE)
    assert out.read_text() == '{"line": 1, "text": "another"}\nhalf'
    with pytest.raises(PlumeError, match="the input itself"):
        write_answers(asked(tmp_path), tmp_path / "in.txt", overwrite=True)
    with pytest.raises(PlumeError, match="no file"):
        write_answers(asked(tmp_path), tmp_path, overwrite=True)
    write_answers(asked(tmp_path, 5), out, overwrite=True)
    assert whole_lines(out).count == 6
    with pytest.raises(PlumeError, match="has 2 examples, and 6 are answered"):
        write_answers(asked(tmp_path, 2), out, resume=True)


def test_nothing_to_answer(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=r"in.txt has nothing to answer: it is empty"):
        write_answers(asked(tmp_path, 0), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_documents_without_lines_are_numbered(tmp_path: Path) -> None:
    examples = [Example(texts=("who?", "Anna."), key=f"q{number}") for number in range(5)]
    question = Asked(paths=[tmp_path], reading=Reading(file=tmp_path), examples=iter(examples), answer=reply)
    records = [one for made in answers(question, chunk=2) for one in made]
    assert [(one["number"], one["id"], one["texts"]) for one in records] == [(n + 1, f"q{n}", ["who?", "Anna."]) for n in range(5)]
    assert "line" not in records[0]
    question = Asked(paths=[tmp_path], reading=Reading(file=tmp_path), examples=iter(examples), answer=reply)
    rest = [one for made in answers(question, before=WrittenLines(count=3, last=records[2]), chunk=2) for one in made]
    assert rest == records[3:]


def test_where_the_answer_is_a_text_the_text_is_its_source(tmp_path: Path) -> None:
    example = Example(texts=("a long text",), line=3)
    made = record(example, {"text": "short"}, number=1)
    assert made == {"line": 3, "source": "a long text", "text": "short"}
    question = Asked(paths=[tmp_path], reading=Reading(file=tmp_path), examples=iter([example]), answer=reply)
    assert list(answers(question, before=WrittenLines(count=1, last=made))) == []


def test_lines_of_json_can_always_be_written() -> None:
    assert json.loads(json_line({"text": "\ud800", "n": 1}).encode()) == {"text": "\ud800", "n": 1}


def test_texts_of_tables_and_of_lines(tmp_path: Path) -> None:
    table, plain = tmp_path / "in.tsv", tmp_path / "in.txt"
    table.write_text("id\tsentence\n1\ta fine film\n2\ta dull film\n", encoding="utf-8")
    plain.write_text("a fine\tfilm\r\n\na dull film\n", encoding="utf-8")
    assert [one.texts for one in ask_texts([table], reply).examples] == [("a fine film",), ("a dull film",)]
    question = ask_texts([plain], reply)
    assert [(one.line, one.texts[0]) for one in question.examples] == [(1, "a fine\tfilm"), (3, "a dull film")]
    assert question.reading.skipped == {"blank line": 1}
