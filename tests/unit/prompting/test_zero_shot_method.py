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


def test_without_a_template_the_blank_of_the_texts_is_filled() -> None:
    """ChID's stands in the text: one behind it would ask something else."""
    choices = [Example(texts=(f"the {who} #idiom# a box", "finds", "paints"), answer=0) for who in ("cat", "captain")]
    assert usual_templates(MULTIPLE_CHOICE, choices) == ("{text}",)
    assert usual_templates(MULTIPLE_CHOICE, [*choices, Example(texts=("What is it?", "a box", "home"), answer=1)]) == ("{text} ___",)
