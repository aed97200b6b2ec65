"""A prompted model is a tuned one: it can be made small, be a teacher, and be tuned again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.compressing.distilling.soft_labels import soft_labels
from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.tuning.kinds.labelling import softmax

TEMPLATE = "{text} It is ___ again."
ASKED = ["The cat finds it.", "My sister paints it."]


@pytest.fixture(scope="module")
def trained(body_of: Any, few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "out"
    plume.prompt(body_of("bert"), train=few, out=out, template=TEMPLATE, epochs=1, length=48, quiet=True)
    return out


@pytest.fixture(scope="module")
def shown(body_of: Any, few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "out"
    plume.prompt(body_of("gpt2"), train=few, out=out, template=TEMPLATE, quiet=True, method="in-context", shots=2)
    return out


@pytest.mark.parametrize("which", ["trained", "shown"])
def test_a_smaller_vocabulary_changes_nothing_for_what_it_has(
    which: str, request: pytest.FixtureRequest, few: Path, tmp_path: Path
) -> None:  # fmt: skip
    source, text = request.getfixturevalue(which), tmp_path / "text.txt"
    text.write_text("\n".join([*ASKED, "It is box again. letter N/A"]), encoding="utf-8")
    small = plume.compress(source, method="vocabulary", text=text, train=few, out=tmp_path / "small", quiet=True)
    before = plume.load(source)
    assert small.tokenizer.size < before.tokenizer.size
    for one, other in zip(small.predict(ASKED), before.predict(ASKED), strict=True):
        # Words of several tokens are each normalised over a vocabulary that is smaller now.
        assert list(one["scores"].values()) == pytest.approx(list(other["scores"].values()), abs=5e-3)


def test_it_teaches_a_student_of_another_kind(trained: Path, body_of: Any, few: Path, plain: Path, tmp_path: Path) -> None:
    for family in ("gpt2", "t5"):
        student = plume.compress(trained, method="distil", train=few, text=plain, out=tmp_path / family, epochs=1, quiet=True,
            student=str(body_of(family)))  # fmt: skip
        assert student.body.recipe.name == family
        assert {one["label"] for one in student.predict(ASKED)} <= {"box", "letter"}


def test_a_student_has_no_tokens_that_its_teacher_learned(body_of: Any, few: Path, tmp_path: Path) -> None:
    plume.prompt(body_of("bert"), train=few, out=tmp_path / "soft", template=TEMPLATE, method="soft", tokens=3, epochs=1, quiet=True)
    student = plume.compress(tmp_path / "soft", method="distil", out=tmp_path / "small", epochs=1, quiet=True, student=str(body_of("bert")))
    assert student.tasks[0].prompt.template == TEMPLATE
    assert {one["label"] for one in student.predict(ASKED)} <= {"box", "letter"}


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("zero-shot", []),
        ("in-context", ["choice=likeness", "draws=1", "shots=2"]),
        ("in-context", ["draws=1", "shots=2"]),
        ("lm-bff", ["draws=2"]),
    ],
)
def test_what_it_teaches_is_what_it_says(method: str, settings: list[str], body_of: Any, few: Path, tmp_path: Path) -> None:
    """With the examples that are shown, and calibrated."""
    folder = tmp_path / "teacher"
    teacher = plume.prompt(body_of("bert"), train=few, out=folder, template=TEMPLATE, method=method, settings=settings, quiet=True)
    student = teacher.tasks[0].anew()
    assert student.demonstrations is None and not student.prior and not student.nothing
    examples = [Example(texts=(text,)) for text in ASKED]
    asked = teacher.tasks[0].questions(examples, teacher.coder())[0]
    taught = softmax(soft_labels([folder], teacher.tasks[0], examples, asked))
    assert taught == pytest.approx(np.array([list(one["scores"].values()) for one in teacher.predict(ASKED)]), abs=2e-5)


@pytest.mark.parametrize("which", ["trained", "shown"])
def test_it_is_tuned_again(which: str, request: pytest.FixtureRequest, few: Path, tmp_path: Path) -> None:
    made = plume.tune(request.getfixturevalue(which), task="classification", train=few, out=tmp_path / "out", epochs=1, quiet=True)
    assert not hasattr(made.tasks[0], "prompt")
    assert len(made.predict(ASKED)) == 2


def test_a_graph_has_no_prompt_and_says_so(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=r"classification is answered through a prompt, .*predict and serve with --runtime torch"):
        plume.export_graph(trained, out=tmp_path / "x", to="onnx")
