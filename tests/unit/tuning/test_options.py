"""What a user writes about a tuning run, before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.tuning import options
from plume.tuning.options import start_from_options

TWO = ["ner=a.conll,b.conll", "topic:classification=a.tsv,b.tsv"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What would be started."""

    def start(task: Any, **given: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        monkeypatch.setattr(options, "start", lambda model, data, out, **rest: found.update(rest, data=data))
        start_from_options(Path("model"), task=task, out=Path("out"), **given)
        return found

    return start


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("accumulate", 0, "at least 1"),
        ("accumulate", -1, "at least 1"),
        ("batch", 0, "at least 1"),
        ("patience", 0, "at least 1"),
        ("rate", 0.0, "more than 0"),
        ("rate", -1.0, "more than 0"),
        ("rate", float("nan"), "more than 0"),
        ("epochs", 0.0, "more than 0"),
        ("epochs", -1.0, "more than 0"),
    ],
)
def test_the_least_of_each_number(name: str, value: float, least: str, asked: Any) -> None:
    with pytest.raises(PlumeError, match=f"--{name} is {least}, not "):
        asked("ner", train="a.conll", **{name: value})


def test_numbers_that_are_allowed_or_not_given(asked: Any) -> None:
    found = asked("ner", train="a.conll", accumulate=1, batch=1, patience=1, rate=1e-9, epochs=0.1)
    assert (found["accumulate"], found["patience"], found["wishes"].batch, found["wishes"].epochs) == (1, 1, 1, 0.1)
    assert asked("ner", train="a.conll", batch=None)["wishes"].batch is None


def test_names_of_several_tasks(asked: Any) -> None:
    assert [one.task.called for one in asked(TWO)["data"]] == ["ner", "topic"]
    with pytest.raises(PlumeError, match="2 tasks are called classification: name them: --task one:classification="):
        asked(["classification=a.tsv", "classification=b.tsv"])
    with pytest.raises(PlumeError, match="2 tasks are called a: name them"):
        asked(["a:ner=a.conll", "a:classification=b.tsv"])
    for name in ("a.b", "a b", "a/b"):
        with pytest.raises(PlumeError, match=f"cannot be called '{name}': use letters, digits, _ and -"):
            asked([f"{name}:ner=a.conll", "classification=b.tsv"])
    for name in ("keys", "type"):
        with pytest.raises(PlumeError, match=f"cannot be called '{name}', .* choose another name"):
            asked([f"{name}:ner=a.conll", "classification=b.tsv"])
    assert [one.task.called for one in asked(["主题_1-b:ner=a.conll", "classification=b.tsv"])["data"]] == ["主题_1-b", "classification"]


def test_a_setting_goes_to_the_tasks_that_have_it(asked: Any) -> None:
    assert asked("ner", train="a.conll", crf=True)["data"][0].task.crf
    assert not asked("ner", train="a.conll")["data"][0].task.crf
    ner, topic = (one.task for one in asked(TWO, crf=True, task_options=["unseen=true"])["data"])
    assert (ner.crf, topic.unseen) == (True, True)
    three = [*TWO, "other:classification=c.tsv"]
    found = [one.task for one in asked(three, task_options=["topic.unseen=true", "ner.crf=true"])["data"]]
    assert (found[0].crf, found[1].unseen, found[2].unseen) == (True, True, False)
    with pytest.raises(PlumeError, match="none of the tasks ner, topic"):
        asked(TWO, task_options=["longest_answer=5"])
    with pytest.raises(PlumeError, match="crf"):
        asked("classification", train="a.tsv", crf=True)
    with pytest.raises(PlumeError, match="crf"):
        asked(TWO, task_options=["topic.crf=true"])


def test_columns_are_of_one_task(asked: Any) -> None:
    assert asked("classification", train="a.tsv", text="a", label="b")["columns"].texts == ("a",)
    for given in ({"text": "a"}, {"label": "b"}):
        with pytest.raises(PlumeError, match="--text and --label name columns of one task"):
            asked(TWO, **given)
