"""Nothing is trained, and what labels are worth by themselves is taken off: by texts that say nothing, or by those of the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.prompting.usual import usual_templates
from plume.readers.example import Example
from plume.tasks.multiple_choice import TASK as MULTIPLE_CHOICE


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_what_labels_are_worth_is_taken_off(body_of: Any, few: Path, plain: Path, tmp_path: Path, family: str) -> None:
    options = {"train": few, "method": "zero-shot", "template": "{text} It is ___ again.", "quiet": True}
    bare = plume.prompt(body_of(family), out=tmp_path / "bare", calibrate=False, **options)
    lines = plain.read_text(encoding="utf-8").splitlines()
    for name, texts, more in (("nothing", ["N/A", "", "[MASK]"], {}), ("texts", lines, {"text": plain})):
        made = plume.prompt(body_of(family), out=tmp_path / name, **options, **more)
        worth = np.mean([list(one["scores"].values()) for one in bare.predict(texts)], axis=0)
        assert np.exp(made.tasks[0].prior) == pytest.approx(worth, abs=1e-4)
        expected = np.array([list(one["scores"].values()) for one in bare.predict(lines[:3])]) / worth
        found = [list(one["scores"].values()) for one in made.predict(lines[:3])]
        assert np.array(found) == pytest.approx(expected / expected.sum(1, keepdims=True), abs=1e-4)


@pytest.mark.parametrize(("family", "template"), [("bert", "{text}? ___, {text_b}"), ("gpt2", "{text} {text_b}? ___")])
def test_without_a_template_pairs_have_one_that_the_model_can_read(body_of: Any, tmp_path: Path, family: str, template: str) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\tlabel\nThe cat.\tA box.\t0\nMy sister.\tThe letter.\t1\n", encoding="utf-8")
    made = plume.prompt(
        body_of(family), train=tmp_path / "pairs.tsv", task="paraphrase", method="zero-shot", out=tmp_path / "out", quiet=True
    )
    assert made.tasks[0].prompt.template == template


def test_what_was_trained_on_is_not_called_held_out(body_of: Any, few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"train": few, "template": "{text} It is ___ again.", "epochs": 1}
    plume.prompt(body_of("bert"), method="pattern", out=tmp_path / "out", **options)
    said = capsys.readouterr().err
    assert "on the training examples at step 1: accuracy" in said and "held out" not in said
    plume.prompt(body_of("bert"), method="pattern", out=tmp_path / "dev", dev=few, **options)
    assert "held out at step 1: accuracy" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["prefix", "soft"])
def test_what_learned_on_top_of_a_model_is_not_the_model(body_of: Any, few: Path, tmp_path: Path, method: str) -> None:
    """What was measured when it was made would not be what is saved."""
    options = {"train": few, "template": "{text} It is ___ again.", "quiet": True}
    plume.prompt(body_of("bert"), method=method, out=tmp_path / method, rate=0.5, epochs=2, **options)
    found = [
        plume.prompt(body, method="zero-shot", out=tmp_path / f"out{number}", **options)
        for number, body in enumerate((body_of("bert"), tmp_path / method))
    ]
    assert found[0].tasks[0].prior == found[1].tasks[0].prior
    best = [(tmp_path / f"out{number}" / "train" / "best.json").read_text(encoding="utf-8") for number in (0, 1)]
    assert best[0] == best[1]


def test_without_a_template_the_blank_of_the_texts_is_filled() -> None:
    """ChID's stands in the text: one behind it would ask something else."""
    choices = [Example(texts=(f"the {who} #idiom# a box", "finds", "paints"), answer=0) for who in ("cat", "captain")]
    assert usual_templates(MULTIPLE_CHOICE, choices) == ("{text}",)
    assert usual_templates(MULTIPLE_CHOICE, [*choices, Example(texts=("What is it?", "a box", "home"), answer=1)]) == ("{text} ___",)
