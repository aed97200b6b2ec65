"""Choosing by folds: what is held out is not seen, what is tried is told, and of equals the simpler one is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import plume
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.prompting import trying
from plume.prompting.folds import check_folds, folds_of
from plume.prompting.method import method
from plume.prompting.options import prompt_from_options
from plume.prompting.prompt import go_on
from plume.prompting.trying import TriedPrompt, section, told, verdict
from plume.readers.example import Example
from plume.tasks.classification import TASK as CLASSIFICATION

SETTINGS = {"template": "{text} It is ___ again.", "quiet": True, "epochs": 1, "length": 48, "method": "auto"}


def test_folds_hold_out_each_example_once_and_labels_evenly() -> None:
    examples = [Example(texts=(str(number),), answer="abc"[number % 3]) for number in range(18)]
    found = folds_of(examples, 3, seed=1)
    assert sorted(number for one in found for number in one) == list(range(18))
    assert all(sorted(examples[number].answer for number in one) == list("aabbcc") for one in found)
    assert folds_of(examples, 3, seed=2) != found
    with pytest.raises(PlumeError, match="There are 18 examples: they can be held out in 2 to 18 folds, not in 19"):
        folds_of(examples, 19, seed=1)
    task = CLASSIFICATION.learned([*examples, Example(texts=("x",), answer="d")])
    with pytest.raises(PlumeError, match="The label 'd' has one example, which cannot be both held out and learned from"):
        check_folds([*examples, Example(texts=("x",), answer="d")], task)


def test_what_shares_a_text_is_held_out_together() -> None:
    examples = [Example(texts=(f"text {number // 3}", "and" * (number % 2)), answer="ab"[number // 6]) for number in range(12)]
    found = folds_of(examples, 2, seed=1)
    assert sorted(number for one in found for number in one) == list(range(12))
    assert all({number // 3 for number in one} in ({0, 2}, {0, 3}, {1, 2}, {1, 3}) for one in found)
    with pytest.raises(PlumeError, match="The 12 examples are about 4 texts, which cannot be held out in 5 folds"):
        folds_of(examples, 5, seed=1)
    with pytest.raises(PlumeError, match="The label 'b' has 3 examples that share a text, which cannot be both held out and learned from"):
        check_folds(examples[:9], CLASSIFICATION.learned(examples[:9]))


def test_a_fold_is_answered_by_a_model_that_has_not_seen_it(
    body_of: Any, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    seen: list[tuple[set[str], set[str]]] = []
    learned: list[set[str]] = []
    plainly, writes = trying.load_tuned, trying.write_rows

    def wrote(path: Path, examples: Any) -> None:
        learned.append({one.texts[0] for one in examples})
        writes(path, examples)

    def loaded(folder: Path) -> Any:
        tuned = plainly(folder)
        answers = tuned.answers

        def answered(task: Any, examples: Any) -> Any:
            seen.append((learned[-1], {one.texts[0] for one in examples}))
            return answers(task, examples)

        tuned.answers = answered
        return tuned

    monkeypatch.setattr(trying, "load_tuned", loaded)
    monkeypatch.setattr(trying, "write_rows", wrote)
    plume.prompt(body_of("bert"), train=few, out=tmp_path / "out", settings=["methods=tfidf,zero-shot", "folds=2"], **SETTINGS)
    assert len(seen) == 4
    for knew, asked in seen:
        assert len(knew) == len(asked) == 4 and not knew & asked
    tried = read_json(tmp_path / "out" / "train" / "tried.json", "")
    assert [one["method"] for one in tried] == ["tfidf", "zero-shot"] and all(one["rows"] == 8 for one in tried)
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "By folds of the training examples" in card and "which flatters it" in card
    assert not (tmp_path / "out" / "train" / "parts").exists()


def test_of_equals_the_simpler_one_is_taken_and_all_are_told() -> None:
    tried = [
        TriedPrompt("tfidf", "", (3, 3), 8),
        TriedPrompt("pattern", "{text} ___", (4, 2), 8),
        TriedPrompt("adapters", "t", (), 8, "No."),
    ]
    assert max(tried[:2], key=lambda one: one.share) is tried[0]
    lines = verdict(tried, tried[0])
    assert "best by folds: tfidf with 0.750" in lines[0]
    assert lines[1] == 'within one standard error of it, not told apart: pattern "{text} ___".'
    assert told(tried[0]) == "tfidf: 6 of 8 right (0.750, standard error 0.153; by fold: 3, 3)"
    perfect, close = TriedPrompt("tfidf", "", (8, 8), 16), TriedPrompt("frozen", "", (8, 7), 16)
    assert perfect.error == pytest.approx((1 / 32 * 31 / 32 / 16) ** 0.5), "sixteen right ones do not prove that all will be"
    assert len(verdict([perfect, close], perfect)) == 1 and perfect.error < 0.0625
    assert told(tried[2]) == 'adapters "t": not possible. No.'
    assert "| adapters | t | No. |" in section(tried, tried[0])


def test_what_a_user_must_put_right_is_no_reason_to_try_something_else(body_of: Any, tmp_path: Path) -> None:
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\nThe cat finds it.\t0\nMy sister paints.\t1\n" * 3, encoding="utf-8")
    with pytest.raises(PlumeError, match="The label '0' says nothing to a model"):
        plume.prompt(body_of("bert"), train=rows, out=tmp_path / "out", **SETTINGS)
    with pytest.raises(PlumeError, match="auto cannot try pet without texts that have no label: give some with --text"):
        plume.prompt(body_of("bert"), train=rows, out=tmp_path / "out", settings=["methods=pet"], labels="0=box,1=letter", **SETTINGS)
    with pytest.raises(PlumeError, match="auto tries other methods"):
        plume.prompt(body_of("bert"), train=rows, out=tmp_path / "out", settings=["methods=auto"], labels="0=box,1=letter", **SETTINGS)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_used_is_told_and_the_rest_is_tried(
    body_of: Any, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def refused(self: Any, job: Any) -> str:
        raise PlumeError("Not with this family.")

    monkeypatch.setattr(type(method("pattern")), "run", refused)
    plume.prompt(body_of("bert"), train=few, out=tmp_path / "out", settings=["methods=pattern,tfidf", "folds=2"], **SETTINGS)
    tried = read_json(tmp_path / "out" / "train" / "tried.json", "")
    assert [one["refused"] for one in tried] == ["Not with this family.", ""]


def test_stopped_and_gone_on_with_it_tries_only_what_is_left(
    body_of: Any, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    options = {"train": few, "settings": ["methods=tfidf,zero-shot", "folds=2"], **SETTINGS}
    prompt_from_options(body_of("bert"), out=tmp_path / "plain", **options)
    calls: list[tuple[str, int]] = []
    plainly = trying.answered_right

    def counted(job: Any, name: str, template: str, number: int, out: Any) -> Any:
        calls.append((name, number))
        return "SIGTERM" if len(calls) == 3 else plainly(job, name, template, number, out)

    monkeypatch.setattr(trying, "answered_right", counted)
    assert prompt_from_options(body_of("bert"), out=tmp_path / "out", **options).stopped_by == "SIGTERM"
    ran: list[str] = []
    monkeypatch.setattr(trying, "load_tuned", lambda folder, real=trying.load_tuned: ran.append(folder.name) or real(folder))
    assert go_on(tmp_path / "out", quiet=True).stopped_by is None
    assert ran == ["zero-shot-0-0", "zero-shot-0-1"]
    both = [json.loads((tmp_path / name / "train" / "tried.json").read_text(encoding="utf-8")) for name in ("plain", "out")]
    assert both[0] == both[1]


def test_any_method_may_be_measured_by_folds_once(
    body_of: Any, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    options = {**SETTINGS, "method": "zero-shot", "dev_by_folds": True}
    plume.prompt(body_of("bert"), train=few, out=tmp_path / "out", **options)
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "By folds of the training examples" in card and "flatters" not in card
    monkeypatch.setattr(trying, "answered_right", lambda *_: pytest.fail("measured a second time"))
    assert go_on(tmp_path / "out", quiet=True).stopped_by is None
    assert (tmp_path / "out" / "card.md").read_text(encoding="utf-8") == card
    with pytest.raises(PlumeError, match="--dev-by-folds measures within the training examples, and --dev on a file"):
        plume.prompt(body_of("bert"), train=few, dev=few, out=tmp_path / "both", **options)
