"""A prompted model is a tuned one: it can be made small, be a teacher, and be tuned again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import plume

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


@pytest.mark.parametrize("which", ["trained", "shown"])
def test_it_is_tuned_again(which: str, request: pytest.FixtureRequest, few: Path, tmp_path: Path) -> None:
    made = plume.tune(request.getfixturevalue(which), task="classification", train=few, out=tmp_path / "out", epochs=1, quiet=True)
    assert not hasattr(made.tasks[0], "prompt")
    assert len(made.predict(ASKED)) == 2
