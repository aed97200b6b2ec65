"""JSONL with spans in its several spellings, and segmented lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.readers.example import Example, Reading
from plume.readers.span_files import read_segmented, read_spans

TEXT = "李明在北京大学读书"
ENTITIES = [(0, 2, "PER"), (3, 7, "ORG")]


def spans(tmp_path: Path, *records: Any, labelled: bool = True) -> tuple[list[Example], Reading]:
    path = tmp_path / "data.json"
    path.write_text("".join(json.dumps(record) + "\r\n" for record in records), encoding="utf-8")
    reading = Reading(file=path)
    return list(read_spans(path, reading, labelled=labelled)), reading


def plain(example: Example) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label) for span in example.answer]


@pytest.mark.parametrize(
    "answer",
    [
        {"label": {"ORG": {"北京大学": [[3, 6]]}, "PER": {"李明": [[0, 1]]}}},
        {"entities": [{"start": 3, "end": 7, "label": "ORG"}, {"start": 0, "end": 2, "label": "PER"}]},
        {"entities": [{"start": 0, "end": 2, "type": "PER", "text": "李明"}, {"start": 3, "end": 7, "entity": "ORG"}]},
        {"spans": [[0, 2, "PER"], [3, 7, "ORG"]]},
        {"label": [[0, 2, "PER"], [3, 7, "ORG"]]},
        {"labels": [[0, 2, "PER"], [3, 7, "ORG"]]},
        {"entities": [{"id": 1, "start_offset": 0, "end_offset": 2, "label": "PER"}, [3, 7, "ORG"]]},
    ],
)
def test_every_spelling(tmp_path: Path, answer: dict[str, Any]) -> None:
    (example,), reading = spans(tmp_path, {"id": 5, "text": TEXT} | answer)
    assert plain(example) == ENTITIES
    assert (example.texts, example.words, example.key, example.line) == ((TEXT,), None, "5", 1)
    assert (reading.read, reading.mended, reading.skipped) == (1, {}, {})


def test_a_list_of_objects(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    records = [{"text": TEXT, "spans": [[0, 2, "PER"], [3, 7, "ORG"]]}, {"text": "一", "spans": []}]
    for text in (json.dumps(records, indent=1), json.dumps(records)):
        path.write_text(text, encoding="utf-8")
        examples = list(read_spans(path, Reading(file=path), labelled=True))
        assert [(example.texts[0], plain(example)) for example in examples] == [(TEXT, ENTITIES), ("一", [])]
    path.write_text('[\n{"text": "一", "spans": []},\n7]', encoding="utf-8")
    with pytest.raises(PlumeError, match="line 3: the list holds a JSON int"):
        list(read_spans(path, Reading(file=path), labelled=True))


def test_without_answers(tmp_path: Path) -> None:
    examples, _ = spans(tmp_path, {"text": "一"}, {"text": "二", "label": {"X": {"三": [[9, 9]]}}}, labelled=False)
    assert [(example.texts, example.answer, example.key) for example in examples] == [(("一",), None, None), (("二",), None, None)]


def test_no_entity_is_an_answer_too(tmp_path: Path) -> None:
    examples, _ = spans(tmp_path, {"text": TEXT, "entities": []}, {"text": TEXT, "label": {}})
    assert [example.answer for example in examples] == [(), ()]


def test_emoji_count_as_one_character(tmp_path: Path) -> None:
    (example,), _ = spans(tmp_path, {"text": "😀😀Ann", "entities": [{"start": 2, "end": 5, "label": "PER", "text": "Ann"}]})
    assert plain(example) == [(2, 5, "PER")]


def test_half_a_surrogate_keeps_the_places_behind_it(tmp_path: Path) -> None:
    (example,), reading = spans(tmp_path, {"text": "\ud83d\0Ann", "entities": [[2, 5, "PER"]]})
    assert example.texts == ("\ufffd\ufffdAnn",)
    assert plain(example) == [(2, 5, "PER")]
    assert sum(reading.mended.values()) == 1


def test_what_is_stated_decides(tmp_path: Path) -> None:
    """The nearest place where it occurs; where it does not occur, no entity."""
    text = "北京到北京，又到北京"
    label = {"LOC": {"北京": [[4, 5], [90, 91]], "上海": [[0, 1]], "": [[0, 0]]}}
    (example,), reading = spans(tmp_path, {"text": text, "label": label})
    assert plain(example) == [(3, 5, "LOC"), (8, 10, "LOC")]
    assert reading.mended == {
        "an entity that stands elsewhere than stated": 2,
        "an entity that does not occur in its text is passed over": 2,
    }
    assert reading.where["an entity that stands elsewhere than stated"] == "data.json, line 1: 北京"


def test_of_two_that_overlap_the_longer_is_kept(tmp_path: Path) -> None:
    entities = [[3, 5, "LOC"], [3, 7, "ORG"], [6, 8, "X"], [0, 2, "PER"], [0, 2, "NAME"], [0, 2, "PER"]]
    (example,), reading = spans(tmp_path, {"text": TEXT, "entities": entities})
    assert plain(example) == ENTITIES
    assert reading.mended == {"an entity that overlaps a longer one is passed over": 3}  # LOC, X, NAME; the same twice is no overlap


def test_empty_texts_are_counted(tmp_path: Path) -> None:
    examples, reading = spans(tmp_path, {"text": "  ", "entities": []}, {"text": TEXT, "entities": []})
    assert [example.line for example in examples] == [2]
    assert reading.skipped == {"empty text": 1}
    assert reading.read == 1


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": TEXT, "entities": [[3, 10, "ORG"]]}, r"line 2: the ORG from 3 to 10 is not within .* 9 characters"),
        ({"text": TEXT, "entities": [[-1, 2, "ORG"]]}, r"from -1 to 2"),
        ({"text": TEXT, "entities": [[2, 2, "ORG"]]}, r"from 2 to 2"),
        ({"text": TEXT, "entities": [[0, 2]]}, r"line 2: \[0, 2\] is no entity"),
        ({"text": TEXT, "entities": [{"start": 0, "label": "X"}]}, r"is no entity"),
        ({"text": TEXT, "entities": [{"start": "0", "end": 2, "label": "X"}]}, r"is no entity"),
        ({"text": TEXT, "entities": [[0, 2, ""]]}, r"is no entity"),
        ({"text": TEXT, "entities": [7]}, r"is no entity"),
        ({"text": TEXT, "label": {"PER": [[0, 1]]}}, r"line 2: 'label' is an object, but not as in CLUENER"),
        ({"text": TEXT, "label": "PER"}, r"line 2: no entities; keys found: text, label"),
        ({"sentence": TEXT}, r"line 2: no 'text' .* keys found: sentence"),
        ([TEXT], r"line 2: a JSON list"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, record: Any, message: str) -> None:
    with pytest.raises(PlumeError, match=message):
        spans(tmp_path, {"text": TEXT, "entities": []}, record)


def segmented(tmp_path: Path, text: str, *, labelled: bool = True) -> tuple[list[Example], Reading]:
    path = tmp_path / "pku.utf8"
    path.write_bytes(text.encode())
    reading = Reading(file=path)
    return list(read_segmented(path, reading, labelled=labelled)), reading


def test_words_with_spaces_between(tmp_path: Path) -> None:
    examples, reading = segmented(tmp_path, "共同  创造　美好 的  \r\n\r\n　新 世纪\n")
    assert [(example.texts[0], example.line) for example in examples] == [("共同创造美好的", 1), ("新世纪", 3)]
    assert plain(examples[0]) == [(0, 2, "W"), (2, 4, "W"), (4, 6, "W"), (6, 7, "W")]
    assert reading.read == 2


def test_lines_to_cut(tmp_path: Path) -> None:
    examples, _ = segmented(tmp_path, "共同创造\n新 世纪\n", labelled=False)
    assert [(example.texts, example.answer) for example in examples] == [(("共同创造",), None), (("新世纪",), None)]


def test_a_file_that_is_not_cut(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="no spaces in the first 20 lines"):
        segmented(tmp_path, "共同创造美好的新世纪\n" * 30)
    assert len(segmented(tmp_path, "共同创造美好的新世纪\n" * 30, labelled=False)[0]) == 30
    assert len(segmented(tmp_path, "好\n" * 19 + "很 好\n" + "好\n" * 30)[0]) == 50
