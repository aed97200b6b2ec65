"""The embedded studies: real text, no test row where a model could have seen it, and files that plume's own readers take."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from plume.core.errors import PlumeError
from plume.embedded.material import text_key
from plume.embedded.study import EmbeddedStudy, EmbeddedTask, write_study
from plume.readers.example import Example
from plume.tuning.preparing import prepare
from plume.tuning.settings import TaskData

KINDS = ["ner", "classification", "pair"]


def examples(task: EmbeddedTask) -> tuple[list[Example], list[Example]]:
    made = prepare(TaskData(task=import_module(f"plume.tasks.{task.kind}").TASK, train=(str(task.train),), dev=(str(task.test),)))
    for reading in made.readings:
        assert len(reading.lines()) == 1, "nothing was left out or mended"
    return made.train, made.dev


@pytest.fixture(params=range(3), ids=KINDS)
def task(request: pytest.FixtureRequest, study: EmbeddedStudy) -> EmbeddedTask:
    found: EmbeddedTask = study.tasks[request.param]
    return found


def test_corpus_is_running_text(study: EmbeddedStudy) -> None:
    text = study.corpus.read_text(encoding="utf-8")
    assert 2_400_000 < len(text) < 8_000_000
    documents = text.strip().split("\n\n")
    assert len(documents) > 5000
    assert len(set(documents)) > 0.99 * len(documents)
    mark_up = "`" if study.language == "en" else "/nr"
    assert mark_up not in text, "it would give the labels away"


def test_three_tasks_that_plume_reads(study: EmbeddedStudy, task: EmbeddedTask) -> None:
    train, test = examples(task)
    assert len(train) == (1200 if task.kind == "ner" else 800)
    assert 600 <= len(test) <= 800
    assert {len(example.texts) for example in train + test} == {2 if task is study.tasks[2] else 1}
    assert len(task.note) > 40


def test_no_test_row_was_seen(study: EmbeddedStudy, task: EmbeddedTask) -> None:
    corpus = {text_key(line) for line in study.corpus.read_text(encoding="utf-8").split("\n")}
    train, test = examples(task)
    learned = {text_key(text) for example in train for text in example.texts}
    for example in test:
        for text in example.texts:
            assert text_key(text) not in learned
            assert text_key(text) not in corpus


def test_rows_are_distinct(task: EmbeddedTask) -> None:
    for side in examples(task):
        assert len({tuple(map(text_key, example.texts)) for example in side}) == len(side)


def test_labels_are_in_balance(task: EmbeddedTask) -> None:
    for side in examples(task):
        if task.kind == "ner":
            names = Counter(tag[2:] for example in side for tag in example.answer if tag.startswith("B-"))
            assert len(names) == 3
            assert min(names.values()) >= 40
            with_names = sum(any(tag != "O" for tag in example.answer) for example in side)
            assert with_names == round(0.8 * len(side))
        else:
            labels = Counter(example.answer for example in side)
            assert max(labels.values()) <= (0.53 if len(labels) == 2 else 0.2) * len(side)
            assert min(labels.values()) >= 0.03 * len(side)


def test_rows_are_short(task: EmbeddedTask) -> None:
    for side in examples(task):
        for example in side:
            words = example.words if example.words is not None else [word for text in example.texts for word in text.split()]
            assert len(words) <= 60


def test_same_bytes_again(study: EmbeddedStudy, tmp_path: Path) -> None:
    """In another process, where sets have another order."""
    command = (
        "import gc; from pathlib import Path; from plume.embedded.study import write_study; gc.disable();"
        f"write_study({study.language!r}, Path({str(tmp_path)!r}))"
    )
    subprocess.run([sys.executable, "-c", command], check=True, env={**os.environ, "PYTHONHASHSEED": "77"})
    written = sorted(path.name for path in study.corpus.parent.iterdir())
    assert written == sorted(path.name for path in tmp_path.iterdir())
    assert len(written) == 7
    for name in written:
        assert (tmp_path / name).read_bytes() == (study.corpus.parent / name).read_bytes(), name


def test_missing_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", missing)
    with pytest.raises(PlumeError, match=r"pip install 'plume-lm\[demo\]'"):
        write_study("zh", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_unknown_language(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=r"'fr'.*en and in zh"):
        write_study("fr", tmp_path)
