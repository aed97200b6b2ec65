"""Labelled tables: the layout is found from files written as the data sets write theirs, and every later file is read by it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.readers.example import Example, Reading
from plume.readers.table_choice import AnswerKind
from plume.readers.table_layout import TableLayout, find_layout
from plume.readers.table_rows import TableFormat
from plume.readers.tables import read_table

LABEL, LABELS, SCORE = AnswerKind
ENGLISH = [
    "A red car will start on pole as usual .",
    'No "modern" practice here, he\'s sure',
    "unflinchingly bleak and desperate film",
    'a 6" screen',
]
CHINESE = ["什么牌子的空调最好！", "移动手机可以改成电信手机吗", "我的借贷额度，怎么减少了呢？", "这间酒店环境不错,但房间太小"]
ROWS = 24


def english(row: int) -> str:
    return f"{ENGLISH[row % 4]} {row}"


def chinese(row: int) -> str:
    return f"{CHINESE[row % 4]}{row}"


def quoted(*cells: object) -> str:
    return ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells)


def tabbed(*cells: object) -> str:
    return "\t".join(map(str, cells))


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(
    layout: TableLayout, *paths: Path, answer: AnswerKind = LABEL, labelled: bool = True, reading: Reading | None = None
) -> list[Example]:
    return list(read_table(paths, layout, reading or Reading(file=paths[0]), answer=answer, labelled=labelled))


TNEWS = {"label": 100, "label_desc": "news_story", "sentence": "", "keywords": "目送,卡明斯,占有敏感期,亲子关系", "id": 0}
# name, lines, answer, what is found in words, texts and answer of the row 5
FORMATS: dict[str, tuple[list[str], AnswerKind, str, tuple[str, ...], object]] = {
    "ag_news.csv": (
        [quoted(english(i), i % 4) for i in range(ROWS)],
        *(LABEL, "CSV without a header; text: column 1; label: column 2", (english(5),), "1"),
    ),
    "sst2.tsv": (
        ["sentence\tlabel", *(tabbed(english(i), i % 2) for i in range(ROWS))],
        *(LABEL, "TSV with a header; text: sentence; label: label", (english(5),), "1"),
    ),
    "chnsenticorp.tsv": (
        ["label\ttext_a", *(tabbed(i % 2, chinese(i)) for i in range(ROWS))],
        *(LABEL, "TSV with a header; text: text_a; label: label", (chinese(5),), "1"),
    ),
    "trec.tsv": (
        ["coarse\tfine\tquestion", *(tabbed(["DESC", "HUM"][i % 2], ["manner", "ind", "cremat"][i % 3], english(i)) for i in range(ROWS))],
        *(LABEL, "TSV with a header; text: question; label: coarse", (english(5),), "HUM"),
    ),
    "tnews.json": (
        [json.dumps(TNEWS | {"label": 100 + i % 3, "sentence": chinese(i), "id": 7 * i}, ensure_ascii=False) for i in range(ROWS)],
        *(LABEL, "JSONL; text: sentence; label: label", (chinese(5),), "102"),
    ),
    "toutiao.csv": (
        [
            quoted("text", "keywords", "label"),
            *(quoted(chinese(i), f"牛鼻环,沙抹子,{i}", ["news_car", "news_tech"][i % 2]) for i in range(ROWS)),
        ],
        *(LABEL, "CSV with a header; text: text; label: label", (chinese(5),), "news_tech"),
    ),
    "thucnews.txt": (
        [tabbed(chinese(i), i % 10) for i in range(ROWS)],
        *(LABEL, "TSV without a header; text: column 1; label: column 2", (chinese(5),), "5"),
    ),
    "cola.tsv": (
        [tabbed(["gj04", "bc01", "cj99"][i // 8], i % 2, "" if i % 2 else "*", english(i)) for i in range(ROWS)],
        *(LABEL, "TSV without a header; text: column 4; label: column 2", (english(5),), "1"),
    ),
    "mrpc.tsv": (
        [
            "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
            *(tabbed(i % 2, 7000 + i, 9000 + i, english(i), f'"{english(i + 1)}') for i in range(ROWS)),
        ],
        *(LABEL, "TSV with a header; texts: #1 String and #2 String; label: Quality", (english(5), f'"{english(6)}'), "1"),
    ),
    "lcqmc.txt": (
        [tabbed(chinese(i), chinese(i + 1), i % 2) for i in range(ROWS)],
        *(LABEL, "TSV without a header; texts: column 1 and 2; label: column 3", (chinese(5), chinese(6)), "1"),
    ),
    "rte.tsv": (
        [
            "index\tsentence1\tsentence2\tlabel",
            *(tabbed(i, english(i), english(i + 1), ["entailment", "not_entailment"][i % 2]) for i in range(ROWS)),
        ],
        *(LABEL, "TSV with a header; texts: sentence1 and sentence2; label: label", (english(5), english(6)), "not_entailment"),
    ),
    "sick_label.txt": (
        SICK := [
            "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment",
            *(tabbed(i + 1, english(i), english(i + 1), 1 + i % 5 / 2, ["NEUTRAL", "ENTAILMENT"][i % 2]) for i in range(ROWS)),
        ],
        *(LABEL, "TSV with a header; texts: sentence_A and sentence_B; label: entailment_judgment", (english(5), english(6)), "ENTAILMENT"),
    ),
    "sick_score.txt": (
        SICK,
        *(SCORE, "TSV with a header; texts: sentence_A and sentence_B; score: relatedness_score", (english(5), english(6)), 1.0),
    ),
    "stsb.csv": (
        [
            tabbed(
                "main-news",
                "headlines",
                ["2012test", "2014"][i % 2],
                f"{i % 12:04d}",
                f"{i % 5}.250",
                english(i),
                english(i + 1),
                *(["Media"] * 2 * (i > 20)),
            )
            for i in range(ROWS)
        ],
        *(SCORE, "TSV without a header; texts: column 6 and 7; score: column 5", (english(5), english(6)), 0.25),
    ),
    "stsb_zh.txt": (
        [tabbed(chinese(i), chinese(i + 1), i % 6) for i in range(ROWS)],
        *(SCORE, "TSV without a header; texts: column 1 and 2; score: column 3", (chinese(5), chinese(6)), 5.0),
    ),
    "sts12.tsv": (
        [tabbed(f"{i % 5}.600", english(i // 5 * 4), english(i)) for i in range(ROWS)],  # a sentence and its many translations
        *(SCORE, "TSV without a header; texts: column 2 and 3; score: column 1", (english(4), english(5)), 0.6),
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_layouts_of_the_data_sets_are_found_and_read(name: str, tmp_path: Path) -> None:
    lines, answer, words, texts, right = FORMATS[name]
    path = write(tmp_path / name, lines)
    layout = find_layout([path], texts=None, answer=answer)
    assert layout == find_layout([path], texts=len(texts), answer=answer)
    assert part_from_json(json.loads(json.dumps(layout.to_json()))) == layout
    reading = Reading(file=path)
    examples = read(layout, path, answer=answer, reading=reading)
    assert reading.format == words
    assert reading.read == len(examples) == ROWS and not reading.skipped
    line = 6 + (len(lines) > ROWS)
    assert examples[5] == Example(texts=texts, answer=right, line=line)
    assert {type(example.answer) for example in examples} == {float if answer is SCORE else str}
    assert [example.texts for example in read(layout, path, answer=answer, labelled=False)] == [example.texts for example in examples]


def test_one_file_a_column(tmp_path: Path) -> None:
    texts = write(tmp_path / "train_text.txt", [english(i) for i in range(ROWS)])
    labels = write(tmp_path / "train_labels.txt", [str(i % 20) for i in range(ROWS)])
    layout = find_layout([texts, labels], texts=1, answer=LABEL)
    assert layout.in_words(LABEL) == "one file a column; text: column 1; label: column 2"
    assert [(e.texts[0], e.answer, e.line) for e in read(layout, texts, labels)][21] == (english(21), "1", 22)
    assert len(read(layout, texts, labelled=False)) == ROWS
    turned = find_layout([labels, texts], texts=None, answer=LABEL)
    assert (turned.texts, turned.answer) == (("2",), "1")
    short = write(tmp_path / "short.txt", ["1"] * 9)
    with pytest.raises(PlumeError, match=r"(?s)train_text.txt: 24 lines; .*short.txt: 9 lines"):
        find_layout([texts, short], texts=1, answer=LABEL)
    with pytest.raises(PlumeError, match=r"short.txt: 9 lines"):
        read(layout, texts, short)
    with pytest.raises(PlumeError, match="learnt from 2"):
        read(layout, texts)


def test_a_header_in_unknown_words_is_known_by_being_unlike_the_rest(tmp_path: Path) -> None:
    rows = [tabbed(english(i), ["gut", "schlecht"][i % 2]) for i in range(ROWS)]
    assert find_layout([write(tmp_path / "a.tsv", ["Satz\tKlasse", *rows])], texts=1, answer=LABEL).header == ("Satz", "Klasse")
    assert find_layout([write(tmp_path / "b.tsv", rows)], texts=1, answer=LABEL).header == ()
    numbers = ["Satz\tPunkte", *(tabbed(english(i), i % 3) for i in range(3))]
    assert find_layout([write(tmp_path / "c.tsv", numbers)], texts=1, answer=LABEL).answer == "Punkte"
    # The user's own name is a sign as well, where nothing else is.
    few = ["Satz\tKlasse", tabbed(english(0), "gut"), tabbed(english(1), "schlecht")]
    assert find_layout([write(tmp_path / "d.tsv", few)], texts=1, answer=LABEL, answer_column="Klasse").texts == ("Satz",)


def test_a_first_row_of_data_is_no_header(tmp_path: Path) -> None:
    rows = ["label\tx", "a question\ty", *(tabbed(english(i), "xy"[i % 2]) for i in range(ROWS))]  # 'x' comes again
    layout = find_layout([write(tmp_path / "a.tsv", rows)], texts=1, answer=LABEL)
    assert layout.header == () and len(read(layout, tmp_path / "a.tsv")) == ROWS + 2


def test_a_file_of_a_few_rows(tmp_path: Path) -> None:
    """Where nothing comes again, a class that is called like a column must not make a header of the first row."""
    layout = find_layout(
        [write(tmp_path / "a.tsv", ["Raining there ?\tquestion", "It rains in the north .\tstatement"])], texts=1, answer=LABEL
    )
    assert (layout.header, layout.texts, layout.answer) == ((), ("1",), "2")
    assert find_layout([write(tmp_path / "b.tsv", ["text\tlabel", "good film\tyes", "bad\tno"])], texts=1, answer=LABEL).header == (
        "text",
        "label",
    )


def test_classes_with_long_names(tmp_path: Path) -> None:
    rows = ["内容\t标签", *(tabbed(chinese(i), f"国内新闻及其评论第{i % 8}类") for i in range(ROWS))]
    layout = find_layout([write(tmp_path / "a.tsv", rows)], texts=None, answer=LABEL)
    assert (layout.texts, layout.answer) == (("内容",), "标签")


def test_names_of_other_data_sets(tmp_path: Path) -> None:
    """MNLI has parses of its sentences and each annotator's label beside what is wanted; pandas writes an index without a name."""
    header = "index\tgenre\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label"
    rows = [
        tabbed(i, "fiction", f"( {english(i)} )", f"( {english(i)} )", english(i), english(i + 1), "neutral", "neutral")
        for i in range(ROWS)
    ]
    layout = find_layout([write(tmp_path / "mnli.tsv", [header, *rows])], texts=2, answer=LABEL)
    assert (layout.texts, layout.answer) == (("sentence1", "sentence2"), "gold_label")
    boolq = [json.dumps({"question": english(i), "title": "Pole", "answer": i % 2 == 0, "passage": english(i) * 5}) for i in range(ROWS)]
    layout = find_layout([write(tmp_path / "boolq.jsonl", boolq)], texts=None, answer=LABEL)
    assert (layout.texts, layout.answer) == (("question", "passage"), "answer")
    assert read(layout, tmp_path / "boolq.jsonl")[1].answer == "false"
    pandas = [",review,sentiment", *(f'{i},"{i} films, all good ones",{["positive", "negative"][i % 2]}' for i in range(ROWS))]
    layout = find_layout([write(tmp_path / "imdb.csv", pandas)], texts=None, answer=LABEL)
    assert (layout.header, layout.texts, layout.answer) == (("1", "review", "sentiment"), ("review",), "sentiment")


def test_the_users_words_decide(tmp_path: Path) -> None:
    lines, *_ = FORMATS["trec.tsv"]
    path = write(tmp_path / "trec.tsv", lines)
    assert find_layout([path], texts=1, answer=LABEL, answer_column="fine").answer == "fine"
    assert find_layout([path], texts=1, answer=LABEL, answer_column="2", text_columns=["3"]).texts == ("question",)
    with pytest.raises(PlumeError, match=r"(?s)no column 'grob'.*1 \(coarse\): DESC\n  2 \(fine\): manner.*--label COLUMN"):
        find_layout([path], texts=1, answer=LABEL, answer_column="grob")
    with pytest.raises(PlumeError, match="no column '4'"):
        find_layout([path], texts=1, answer=LABEL, answer_column="4")
    with pytest.raises(PlumeError, match="takes 1 text a row, but --text names coarse, question"):
        find_layout([path], texts=1, answer=LABEL, text_columns=["coarse", "question"])


@pytest.mark.parametrize(
    ("lines", "texts", "message"),
    [
        ([tabbed(chinese(i), chinese(i + 1), i % 2) for i in range(ROWS)], 1, "which column holds the text: it may be 1 or 2"),
        (
            [tabbed(english(i), english(i) * 9, i % 2) for i in range(ROWS)],
            None,
            "which column holds the text, or which two a pair of texts: it may be 1 or 2",
        ),
        (
            [tabbed(["a", "b"][i % 2], ["c", "d"][i % 2], english(i)) for i in range(ROWS)],
            1,
            "which column holds the label: it may be 1 or 2",
        ),
        ([tabbed(english(i), english(i + 1)) for i in range(ROWS)], 1, "which column holds the label: none looks like it"),
        ([english(i) for i in range(ROWS)], 1, "there is only one column"),
    ],
)
def test_what_is_not_clear_is_asked(lines: list[str], texts: int | None, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", lines)
    with pytest.raises(PlumeError, match=rf"(?s)a.tsv: .*{message}.*The first row by column:\n  1: "):
        find_layout([path], texts=texts, answer=LABEL)


def test_several_labels(tmp_path: Path) -> None:
    cells = ["2,5", "3", "2", "14,3,14"]
    emotions = write(tmp_path / "goemotions.tsv", [tabbed(english(i), cells[i % 4], f"eec{i}qt") for i in range(ROWS)])
    layout = find_layout([emotions], texts=1, answer=LABELS)
    assert (layout.answer, layout.separator) == ("2", ",")
    assert [e.answer for e in read(layout, emotions, answer=LABELS)][:4] == [("2", "5"), ("3",), ("2",), ("14", "3")]
    films = [json.dumps({"text": english(i), "genres": [["war", "drama"], [], ["drama"]][i % 3]}) for i in range(ROWS)]
    layout = find_layout([write(tmp_path / "films.jsonl", films)], texts=1, answer=LABELS)
    assert (layout.answer, layout.separator) == ("genres", None)
    assert [e.answer for e in read(layout, tmp_path / "films.jsonl", answer=LABELS)][:3] == [("war", "drama"), (), ("drama",)]
    named = ["text\tlabels", *(tabbed(english(i), ["war film|drama", "drama", ""][i % 3]) for i in range(ROWS))]
    layout = find_layout([write(tmp_path / "named.tsv", named)], texts=1, answer=LABELS)
    assert [e.answer for e in read(layout, tmp_path / "named.tsv", answer=LABELS)][:3] == [("war film", "drama"), ("drama",), ()]
    for cells, separator in {("war film", "love story"): None, ("a", "b", "a b", "b c", "c"): " "}.items():
        rows = ["text\tlabels", *(tabbed(english(i), cells[i % len(cells)]) for i in range(ROWS))]
        assert find_layout([write(tmp_path / "spaces.tsv", rows)], texts=1, answer=LABELS).separator == separator


TABLE = TableLayout(format=TableFormat.TSV, header=("id", "label", "text"), columns=3, texts=("text",), answer="label")


@pytest.mark.parametrize(
    ("layout", "lines", "texts", "words"),
    [
        (TABLE, ["id\tlabel\ttext", "1\tx\tone, two"], ["one, two"], "TSV with a header; text: text"),
        (TABLE, ["id,text", '1,"one, two"'], ["one, two"], "CSV with a header; text: text"),
        (TABLE, ["text\tid", "one, two\t1"], ["one, two"], "TSV with a header; text: text"),
        (TABLE, ["1\tx\tone, two"], ["one, two"], "TSV without a header; text: column 3"),
        (TABLE, ["1\tone, two"], ["one, two"], "TSV without a header; text: column 2"),
        (TABLE, ['{"text": "one, two"}'], ["one, two"], "JSONL; text: text"),
        (
            TABLE,
            ["one, two", "", 'three "four', "five\tsix", "seven"],
            ["one, two", 'three "four', "five\tsix", "seven"],
            "plain lines; text: column 1",
        ),
        (
            CSV := TableLayout(format=TableFormat.CSV, columns=2, texts=("1",), answer="2"),
            ["one, two"],
            ["one, two"],
            "plain lines; text: column 1",
        ),
        (CSV, ["one, two", 'three "four'], ["one, two", 'three "four'], "plain lines; text: column 1"),
        (CSV, ['"one, two","x"', "three,y"], ["one, two", "three"], "CSV without a header; text: column 1"),
        (CSV, ['"one, two"', '"three"'], ["one, two", "three"], "CSV without a header; text: column 1"),
        (TableLayout(format=TableFormat.JSONL, texts=("text",), answer="y"), ["one, two"], ["one, two"], "plain lines; text: column 1"),
    ],
)
def test_what_is_to_be_predicted_may_lack_answer_header_and_columns(
    layout: TableLayout, lines: list[str], texts: list[str], words: str, tmp_path: Path
) -> None:
    reading = Reading(file=write(tmp_path / "new.txt", lines))
    found = read(layout, reading.file, labelled=False, reading=reading)
    assert [(e.texts, e.answer) for e in found] == [((text,), None) for text in texts]
    assert reading.format == words
    assert reading.skipped.total() == ("" in lines)


@pytest.mark.parametrize("kind", [TableFormat.TSV, TableFormat.CSV, TableFormat.ALIGNED, TableFormat.JSONL])
def test_pairs_to_predict_may_be_two_texts_with_a_tab_between(kind: TableFormat, tmp_path: Path) -> None:
    layout = TableLayout(format=kind, columns=3, texts=("2", "3"), answer="1")
    path = write(tmp_path / "new.txt", ["one, two\tthree", "four\tfive, six"])
    assert [e.texts for e in read(layout, path, labelled=False)] == [("one, two", "three"), ("four", "five, six")]
    with pytest.raises(PlumeError, match="line 2: 1 columns where 2 are expected: only one"):
        read(layout, write(tmp_path / "bad.txt", ["one\ttwo", "only one"]), labelled=False)


def test_columns_that_do_not_fit_are_not_taken_for_text(tmp_path: Path) -> None:
    path = write(tmp_path / "new.txt", ["a\tb\tc\td"] * 3)
    with pytest.raises(PlumeError, match=r"new.txt: 4 columns in most rows, .*one text a line"):
        read(TABLE, path, labelled=False)


def test_a_labelled_file_needs_the_same_names_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path / "dev.tsv", ["text\tlabel", "one\tx", "two\ty"])
    assert [(e.texts, e.answer, e.line) for e in read(TABLE, path)] == [(("one",), "x", 2), (("two",), "y", 3)]
    assert read(TABLE, write(tmp_path / "dev.csv", ["label,text", "x,one", "y,two"])) == read(TABLE, path)
    with pytest.raises(PlumeError, match=r"bad.tsv, line 1: the header lacks label; the first row is text \| klasse.*id, label, text"):
        read(TABLE, write(tmp_path / "bad.tsv", ["text\tklasse", "one\tx"]))


def test_line_ends_marks_and_compression_do_no_harm(tmp_path: Path) -> None:
    lines, answer, words, *_ = FORMATS["toutiao.csv"]
    plain = write(tmp_path / "a.csv", lines)
    other = tmp_path / "b.csv.gz"
    other.write_bytes(gzip.compress(b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\n", b"\r\n")))
    layout = find_layout([other], texts=1, answer=answer)
    assert layout == find_layout([plain], texts=1, answer=answer) and layout.in_words(answer) == words
    assert read(layout, other) == read(layout, plain)


def test_a_quoted_field_may_have_line_breaks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ["text,label", '"one\ntwo, ""three""",x', "four,y"])
    layout = find_layout([path], texts=1, answer=LABEL)
    assert [(e.texts[0], e.answer, e.line) for e in read(layout, path)] == [('one\ntwo, "three"', "x", 2), ("four", "y", 4)]


def test_empty_texts_and_blank_lines_are_counted(tmp_path: Path) -> None:
    reading = Reading(file=write(tmp_path / "a.tsv", ["id\tlabel\ttext", "1\tx\tone", "", "2\ty\t  ", "3\tx\ttwo"]))
    assert [e.line for e in read(TABLE, reading.file, reading=reading)] == [2, 5]
    assert reading.skipped == {"blank line": 1, "empty text": 1} and reading.where["empty text"] == f"{reading.file}, line 4"


JSON = TableLayout(format=TableFormat.JSONL, texts=("text",), answer="y")


@pytest.mark.parametrize(
    ("layout", "lines", "answer", "message"),
    [
        (
            TABLE,
            ["id\tlabel\ttext", "1\tx\tone", "2\ty\ttwo\tthree"],
            LABEL,
            r"line 3: 4 columns where 3 \(id, label, text\) are expected: 2 \| y \| two \| three. Replace a tab",
        ),
        (TABLE, ["id\tlabel\ttext", "1\t \tone"], LABEL, r"line 2: the label \('label'\) is empty"),
        (TABLE, ["id\tlabel\ttext", "1\t4,5\tone"], SCORE, r"line 2: the score \('label'\) is '4,5', which is no number"),
        (TABLE, ["id\tlabel\ttext", "1\tnan\tone"], SCORE, "line 2: .* no number"),
        (JSON, ['{"text": "one", "y": 1}', '{"text": "two"}'], LABEL, "line 2: no field 'y'; there are text. Every line needs text, y"),
        (JSON, ['{"text": "one", "y": 1}', "[1]"], LABEL, "line 2: a JSON list, not an object"),
        (JSON, ['{"text": "one", "y": 1}', '{"text": "tw'], LABEL, "line 2: not JSON"),
        (JSON, ['{"text": ["one"], "y": 1}'], LABEL, "line 1: 'text' holds .* no text"),
        (JSON, ['{"text": "one", "y": ["a", "b"]}'], LABEL, "line 1: the label 'y' holds .* multi-label"),
        (JSON, ['{"text": "one", "y": true}'], SCORE, "line 1: .* no number"),
        (TABLE, [" "], LABEL, "is empty"),
        (TABLE, [], LABEL, "is empty"),
    ],
)
def test_bad_files_are_errors_that_name_the_line(
    layout: TableLayout, lines: list[str], answer: AnswerKind, message: str, tmp_path: Path
) -> None:
    with pytest.raises(PlumeError, match=f"a.txt.* ?{message}"):
        read(layout, write(tmp_path / "a.txt", lines), answer=answer)


def test_rows_may_be_longer_only_where_many_are(tmp_path: Path) -> None:
    first, last = FORMATS["stsb.csv"][0][0], FORMATS["stsb.csv"][0][-1]
    rows = [f"{first} {i}".replace("car", f"car {i}") for i in range(1200)]
    path = write(tmp_path / "a.csv", rows + [last] * 40)  # behind the rows that are looked at
    layout = find_layout([path], texts=2, answer=SCORE)
    assert (layout.columns, layout.varies) == (7, True) and len(read(layout, path, answer=SCORE)) == 1240
    with pytest.raises(PlumeError, match="line 1: 6 columns where 7 are expected"):
        read(layout, write(tmp_path / "short.csv", [first.rpartition("\t")[0]]), answer=SCORE)
    rows = [tabbed(english(i), english(i + 1), i % 2) for i in range(200)]
    path = write(tmp_path / "b.tsv", [*rows, f"one\t{rows[0]}"])
    layout = find_layout([path], texts=2, answer=LABEL)
    assert (layout.columns, layout.varies) == (3, False)
    with pytest.raises(PlumeError, match="line 201: 4 columns where 3"):
        read(layout, path)


def test_empty_files_have_no_layout(tmp_path: Path) -> None:
    for name, lines in {"a.tsv": [], "b.tsv": ["", " "]}.items():
        with pytest.raises(PlumeError, match=f"{name} is empty"):
            find_layout([write(tmp_path / name, lines)], texts=1, answer=LABEL)
    with pytest.raises(PlumeError, match=r"has a header .* and no rows"):
        find_layout([write(tmp_path / "c.tsv", ["text\tlabel"])], texts=1, answer=LABEL)
    with pytest.raises(PlumeError, match="Cannot read"):
        find_layout([tmp_path / "d.tsv"], texts=1, answer=LABEL)


def test_a_json_array_is_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": english(i), "label": i % 2} for i in range(ROWS)], indent=1))
    found = read(find_layout([path], texts=1, answer=LABEL), path)
    assert [(e.texts[0], e.answer) for e in found] == [(english(i), str(i % 2)) for i in range(ROWS)]
    assert [e.line for e in found][:3] == [2, 6, 10]
