"""What a task is, by the look of its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from plume.comparing.guess import guess_kind
from plume.core.errors import PlumeError

TAGGED = "Ann B-PER\nsleeps O\n\nOslo B-LOC\nshines O\n"
FILES = {
    TAGGED: "ner",
    TAGGED.replace("B-PER", "NOUN").replace("B-LOC", "NOUN").replace(" O", " VERB"): "pos",
    "text\tlabel\nfine, really\tgood\nso so\tbad\n": "classification",
    "text,stars\nfine,5.0\nso so,3.0\n": "classification",
    'a\tb\tscore\na cat\tthe cat\t4.8\na "cat\train\t1\n': "regression",
    'score,text\n4.5,"fine, really"\n3,so so\n': "regression",
    '{"version": "1", "data": [{"paragraphs": []}]}': "qa",
    '{"text": "fine", "label": "good"}\n': "classification",
}


@pytest.mark.parametrize(("text", "kind"), FILES.items(), ids=[f"{kind}-{number}" for number, kind in enumerate(FILES.values())])
def test_by_the_look_of_the_file(text: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "train").write_text(text, encoding="utf-8")
    assert guess_kind("mine", tmp_path / "train") == kind


def test_running_text_is_no_task(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("It rained.\nThe cat slept.\n", encoding="utf-8")
    with pytest.raises(PlumeError, match="--task mine:classification=train"):
        guess_kind("mine", tmp_path / "train")
