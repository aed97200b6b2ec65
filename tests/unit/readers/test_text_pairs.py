"""Every format that holds a text and the text to write for it, and what is said of files that hold neither."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.readers.example import Example, Reading
from plume.readers.text_pairs import read_text_pairs

REAL = Path(__file__).parents[4] / "shared" / "data"
LCSTS = """<doc id=0>
    <human_label>5</human_label>
    <summary>
        可穿戴技术十大设计原则
    </summary>
    <short_text>
        本文总结了十个可穿戴产品的设计原则：
        1.为人们解决重复性问题
    </short_text>
</doc>
<doc id=3>
    <summary>
        放贷额度远超30亿
    </summary>
    <short_text>
        51信用卡管家跟P2P公司合作 & <推出>产品
    </short_text>
</doc>
"""


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def read(*paths: Path, labelled: bool = True, **options: Any) -> tuple[list[Example], Reading]:
    reading = Reading(file=paths[0])
    return list(read_text_pairs(paths, reading, labelled=labelled, **options)), reading


def pairs(*paths: Path, **options: Any) -> list[tuple[str, str | None]]:
    return [(example.texts[0], example.answer) for example in read(*paths, **options)[0]]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"summary": "t", "document": "s"}, ("s", "t")),
        ({"id": "x", "article": "s", "highlights": "t"}, ("s", "t")),
        ({"text": "s", "summary": "t", "label": "no"}, ("s", "t")),
        ({"target": "t", "source": "s"}, ("s", "t")),
        ({"Input": "s", "Output": "t"}, ("s", "t")),
        ({"question": "s", "answer": 42}, ("s", "42")),
        ({"translation": {"de": "s", "en": "t"}}, ("s", "t")),
        ({"id": 7, "zh-CN": "s", "en": "t"}, ("s", "t")),
        # the first pair in the list of names counts, not the first in the record
        ({"question": "no", "answer": "no", "document": "s", "summary": "t"}, ("s", "t")),
    ],
)
@pytest.mark.parametrize("form", ["lines", "array", "lines in .txt"])
def test_fields_are_found(tmp_path: Path, record: dict[str, Any], expected: tuple[str, str], form: str) -> None:
    if form == "array":
        path = write(tmp_path / "a.json", json.dumps([record, record], indent=2))
    else:
        path = write(tmp_path / ("a.jsonl" if form == "lines" else "a.txt"), f"{json.dumps(record)}\n\n{json.dumps(record)}\r\n")
    assert pairs(path) == [expected, expected]
    assert pairs(path, labelled=False) == [expected, expected]


def test_fields_given_by_the_user(tmp_path: Path) -> None:
    flat = write(tmp_path / "a.jsonl", '{"document": "no", "summary": "no", "body": "s", "title": "t"}\n')
    nested = write(tmp_path / "b.jsonl", '{"id": 3, "translation": {"en": "t", "de": "s"}}\n')
    table = write(tmp_path / "c.tsv", "title\tsource\ttarget\tbody\nt\tno\tno\ts\n")
    assert pairs(flat, fields=("body", "title")) == [("s", "t")]
    assert pairs(nested, fields=("de", "en")) == [("s", "t")]
    assert pairs(table, fields=("body", "title")) == [("s", "t")]
    assert read(nested)[0][0].key == "3"
    with pytest.raises(PlumeError, match=r"a\.jsonl, line 1: no fields 'body' and 'titel'; keys found: document, summary, body, title"):
        pairs(flat, fields=("body", "titel"))
    with pytest.raises(PlumeError, match=r"c\.tsv, line 1: the header has no columns 'x' and 'y'; found: title, source, target, body"):
        pairs(table, fields=("x", "y"))
    assert pairs(flat, fields=("body", "titel"), labelled=False) == [("s", None)]


def test_sources_alone_will_do_for_prediction(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.txt", "One text, with a comma.\r\n\n{not JSON\n 二\tone with a tab \n")
    examples, reading = read(lines, labelled=False)
    assert [(e.texts[0], e.answer, e.line) for e in examples] == [
        ("One text, with a comma.", None, 1),
        ("{not JSON", None, 3),
        ("二\tone with a tab", None, 4),
    ]
    assert (reading.read, reading.skipped, reading.where) == (3, {"empty text": 1}, {"empty text": "a.txt, line 2"})
    assert pairs(write(tmp_path / "b.jsonl", '{"document": "s"}\n{"document": "u", "summary": null}'), labelled=False) == [
        ("s", None),
        ("u", None),
    ]
    assert pairs(write(tmp_path / "c.jsonl", '{"id": 1, "sentence": "s"}'), labelled=False) == [("s", None)]
    assert pairs(write(tmp_path / "d.tsv", "s\nu\tt\n"), labelled=False) == [("s", None), ("u", "t")]
    assert pairs(write(tmp_path / "e.tsv", "id\tSource\n1\ts\n"), labelled=False) == [("s", None)]
    assert pairs(write(tmp_path / "f.txt", LCSTS.replace("summary", "other")), labelled=False)[1] == (
        "51信用卡管家跟P2P公司合作 & <推出>产品",
        None,
    )
    with pytest.raises(PlumeError, match="no name that plume knows for the text; keys found: a, b"):
        pairs(write(tmp_path / "g.jsonl", '{"a": "s", "b": "t"}'), labelled=False)


def test_tables(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.txt", '\ufeffA dog.\tEin Hund.\tby CK\r\n\r\n  A cat. \tEine "Katze\r\n\tleer\r\nleer\t\r\n\t\r\n')
    examples, reading = read(plain)
    assert [(e.texts[0], e.answer, e.line) for e in examples] == [("A dog.", "Ein Hund.", 1), ("A cat.", 'Eine "Katze', 3)]
    assert reading.lines() == [
        "a.txt: 2 examples (TSV without a header; source: column 1; target: column 2)",
        "2 left out: empty source (first: a.txt, line 4)",
        "1 left out: empty target (first: a.txt, line 5)",
    ]
    assert pairs(write(tmp_path / "b.tsv", "en\tzh\nA dog.\t狗\n")) == [("A dog.", "狗")]
    assert pairs(write(tmp_path / "c.tsv", "yes\toui\nno\tnon\n")) == [("yes", "oui"), ("no", "non")]  # words, though they look like codes
    quoted = write(tmp_path / "d.csv", 'id,article,highlights\n1,"Two lines,\nand a comma","He said ""no"""\n2,s,t\n')
    examples, reading = read(quoted)
    assert [(e.texts[0], e.answer, e.line) for e in examples] == [("Two lines,\nand a comma", 'He said "no"', 2), ("s", "t", 4)]
    assert reading.format == "CSV with a header; source: article; target: highlights"
    with pytest.raises(PlumeError, match=r"e\.txt, line 3: 1 column, where the pair needs 2.*tab"):
        pairs(write(tmp_path / "e.txt", "a\tb\nc\td\nlost\ne\tf\n"))


def test_lcsts(tmp_path: Path) -> None:
    examples, reading = read(write(tmp_path / "a.txt", LCSTS.replace("\n", "\r\n")))
    assert [(e.texts[0], e.answer, e.key, e.line) for e in examples] == [
        ("本文总结了十个可穿戴产品的设计原则：\n1.为人们解决重复性问题", "可穿戴技术十大设计原则", "0", 1),
        ("51信用卡管家跟P2P公司合作 & <推出>产品", "放贷额度远超30亿", "3", 11),
    ]
    assert reading.format == "LCSTS; source: short_text; target: summary"
    one_line = (
        "<doc id=9><summary>t</summary><short_text>s</short_text></doc>\n"
        + "<doc id=10><summary> </summary><short_text>s</short_text></doc>"
    )
    examples, reading = read(write(tmp_path / "b.txt", one_line))
    assert ([e.key for e in examples], reading.skipped) == (["9"], {"empty target": 1})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</doc>\n<doc id=3>", "<doc id=3>", "line 1: this <doc> has no </doc> before the next one, in line 10"),
        ("产品\n    </short_text>\n</doc>", "产品", "line 11: this <doc> has no </doc>: the file is cut off"),
        ("<doc id=3>", "<doc>", "line 11: text between </doc> and the next"),
        ("<summary>\n        放", "<title>\n放", "line 11: this <doc> has no <summary>"),
    ],
)
def test_damaged_lcsts(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in LCSTS
    with pytest.raises(PlumeError, match=message):
        pairs(write(tmp_path / "a.txt", LCSTS.replace(old, new)))


def test_two_aligned_files(tmp_path: Path) -> None:
    english, german = write(tmp_path / "train.en", "a\nb\n\nd\n"), write(tmp_path / "train.de", "A\r\n\r\n\r\nD\r\n\r\n\r\n")
    examples, reading = read(english, german)
    assert [(e.texts[0], e.answer, e.line) for e in examples] == [("a", "A", 1), ("d", "D", 4)]  # and blank lines at the end do no harm
    assert reading.skipped == {"empty target": 1, "empty source": 1}
    assert reading.format == "two aligned files; source: train.en; target: train.de"
    assert pairs(german, english)[0] == ("A", "a")
    packed = tmp_path / "train.fr.gz"
    packed.write_bytes(gzip.compress("{à\nb\n\n[d\n".encode()))
    assert pairs(english, packed) == [("a", "{à"), ("b", "b"), ("d", "[d")]


def test_aligned_files_of_different_length(tmp_path: Path) -> None:
    long, short = write(tmp_path / "a.src", "a\n" * 1205), write(tmp_path / "a.tgt", "b\n" * 1203)
    with pytest.raises(PlumeError, match=r"a\.src has 1,205 lines, .*a\.tgt has 1,203 lines"):
        pairs(long, short)
    with pytest.raises(PlumeError, match=r"a\.tgt has 1,203 lines, .*a\.src has 1,205 lines"):
        pairs(short, long, labelled=False)


def test_one_of_two_aligned_files(tmp_path: Path) -> None:
    english, german = write(tmp_path / "train.en", "a\n"), write(tmp_path / "train.de", "b\n")
    write(tmp_path / "dev.fr", "c\n")
    with pytest.raises(PlumeError, match=f"Give both, the source first: --train {english} --train {german}$"):
        pairs(english)
    with pytest.raises(PlumeError, match="one text a line, and no answers"):
        pairs(write(tmp_path / "notes.txt", "a\n"))
    with pytest.raises(PlumeError, match=r"3 files, and .*train\.en holds one side alone"):
        pairs(english, german, english)
    assert pairs(english, labelled=False) == [("a", None)]


def test_several_files_that_hold_both_sides(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.jsonl", '{"source": "s", "target": "t"}'), write(tmp_path / "b.tsv", "u\tv\n")
    assert pairs(first, second, first) == [("s", "t"), ("u", "v"), ("s", "t")]
    assert (
        read(first, second, first)[1].format
        == "JSON; source: source; target: target and TSV without a header; source: column 1; target: column 2"
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.jsonl",
            '{"source": "s", "target": "t"}\n{"source": "s"}\n',
            r"a\.jsonl, line 2: no 'target', which the first record has; keys found: source",
        ),
        ("a.jsonl", '{"source": "s", "target": ["t"]}\n', r"line 1: 'target' is a JSON list, not text"),
        ("a.jsonl", '{"a": "s", "b": "t"}\n', r"line 1: no names that plume knows for source and target; keys found: a, b"),
        ("a.jsonl", '{"source": "s", "target": "t"}\n{"source": \n', r"a\.jsonl, line 2: not JSON"),
        ("a.json", '[{"source": "s", "target": "t"}, 3]', r"a\.json, line 1: .*int, not an object"),
        ("a.json", '[{"source": "s", "target": "t"},\n{"source', r"a\.json, line 2: .*not JSON"),
        ("a.txt", "\n \n", r"a\.txt holds no text"),
        ("a.txt", "", r"a\.txt holds no text"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(PlumeError, match=message):
        pairs(write(tmp_path / name, text))


def test_what_json_can_escape_and_utf8_cannot_write(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", r'{"source": "a\ud83d b\u0000", "target": "\ud83d\ude00"}')
    ((source, target),) = pairs(path)
    source.encode()
    assert (source[0], source[-1], target) == ("a", "b", "😀")


def test_reading_is_by_and_by(tmp_path: Path) -> None:
    """The first example is there before a mistake far below is met."""
    path = write(tmp_path / "a.tsv", "a\tb\n" * 50_000 + "lost\n")
    examples = read_text_pairs([path], Reading(file=path), labelled=True)
    assert len(list(itertools.islice(examples, 10))) == 10
    with pytest.raises(PlumeError, match=r"line 50001: 1 column"):
        list(examples)


@pytest.mark.skipif(not REAL.is_dir(), reason="the data sets are not here")
@pytest.mark.parametrize(
    ("names", "count", "start"),
    [
        (("xsum/train.jsonl",), 200, ("But there certainly should be.", "")),
        (("cnn_dailymail/dev.jsonl",), 20, ("Chelsea's early season form", "")),
        (("lcsts/train.txt",), 600, ("本文总结了十个可穿戴产品的设计原则", "可穿戴技术十大设计原则")),
        (("multi30k_en_de/val.en", "multi30k_en_de/val.de"), 1014, ("A group of men are", "Eine Gruppe von Männern")),
        (("news_commentary_en_zh/train.tsv",), 600, ("1929 or 1989?", "1929年还是1989年?")),
        (("tatoeba_en_zh/dev.tsv",), 500, ("What did you make?", "你做了什么？")),
    ],
)
def test_real_files(names: tuple[str, ...], count: int, start: tuple[str, str]) -> None:
    examples, reading = read(*(REAL / name for name in names))
    assert (len(examples), reading.read, reading.skipped) == (count, count, {})
    assert examples[0].texts[0].startswith(start[0]) and examples[0].answer.startswith(start[1])
