"""`plume prompt` as a user runs it: killed anywhere and resumed it ends with the same bits; its model answers like any other."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plume.model.checkpoint import save_model

ROWS = [("the cat finds it", "box"), ("my sister paints it", "letter"), ("her teacher finds it", "box"), ("the cat paints it", "letter")]
MOMENTS = ("weights.json", "pattern-0-0/train/metrics.jsonl", "pattern-0-0.npy", "pattern-1-0/train/metrics.jsonl", "pattern-1-0.npy")
HELD = """
from plume.prompting.methods import pet
pet.write_soft_labels = lambda *_: signal.pause()
"""


@pytest.fixture
def folder(tmp_path: Path, miniature: Any, tokenizer_for: Any) -> Path:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(0)
    save_model(tmp_path / "bert", model, tokenizer)
    (tmp_path / "few.tsv").write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS * 2), encoding="utf-8")
    (tmp_path / "plain.txt").write_text("".join(f"{text}\n" for text, _ in ROWS * 3), encoding="utf-8")
    (tmp_path / "templates.txt").write_text("# two\n{text} it is ___ again\nabout ___ : {text}\n", encoding="utf-8")
    return tmp_path


def test_killed_at_a_random_moment(folder: Path, start: Callable[..., Any], plume: Callable[..., Any]) -> None:
    def pet(out: str) -> list[str]:
        return ["prompt", *map(str, (folder / "bert", "--train", folder / "few.tsv", "--method", "pet", "--template", folder / "templates.txt",
                "--text", folder / "plain.txt", "--set", "runs=1", "--set", "soft_epochs=2", "--epochs", "2", "--out", folder / out))]  # fmt: skip

    moment = random.choice(MOMENTS)
    victim = start(pet("broken"), first=HELD)
    victim.wait_until(lambda: (folder / "broken/train/parts" / moment).exists())
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert plume(*pet("whole")).code == 0
    resumed = plume("prompt", "--resume", folder / "broken")
    assert resumed.code == 0, resumed.err
    for name in ("model.safetensors", "train/soft_labels.jsonl"):
        assert (folder / "whole" / name).read_bytes() == (folder / "broken" / name).read_bytes(), f"{name} differs after a kill at {moment}"
    assert not (folder / "broken/train/parts").exists()
    said = plume("predict", folder / "broken", "the cat finds it")
    assert json.loads(said.out)["label"] in ("box", "letter")
    assert "accuracy" in plume("eval", folder / "broken", "--data", folder / "few.tsv").out


def test_what_users_get_wrong_ends_with_2(folder: Path, plume: Callable[..., Any]) -> None:
    base = ("prompt", folder / "bert", "--train", folder / "few.tsv", "--out", folder / "out")
    for more, message in (
        (("--template", "{text} it is"), "needs one blank for the label"),
        (("--method", "in-context", "--shots", "99"), "8 examples, and 1 to 8 can be shown, not 99"),
        (("--method", "zero-shot", "--tokens", "3"), "--method zero-shot has no setting 'tokens': it is a setting of"),
        (("--labels", "box=bread,letter=bread"), "A label's word comes twice: 'bread'"),
    ):
        refused = plume(*base, *more)
        assert refused.code == 2 and message in refused.err and "Traceback" not in refused.err
        assert not (folder / "out").exists()
    assert "There is no" not in plume("prompt", "--list").out
