"""Learning in context: what is shown, what is taken off, and what is said about chance."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.prompting.shots import drawn, scored_beside
from plume.readers.example import Example
from plume.tuning.loaded import load_tuned
from plume.tuning.prompts.demonstrations import Demonstration

TEMPLATE = "{text} It is ___ again."


def in_context(body: Path, few: Path, out: Path, **options: Any) -> Any:
    return plume.prompt(body, train=few, out=out, method="in-context", template=TEMPLATE, quiet=True, **options)


def test_a_draw_is_balanced_and_has_an_order_of_its_own() -> None:
    pool = [Demonstration(texts=(str(number),), word="w", label="abbbbc"[number % 6]) for number in range(24)]
    found = [drawn(pool, 7, seed=seed) for seed in range(40)]
    for one in found:
        assert len(set(one)) == 7
        labels = [pool[place].label for place in one]
        assert sorted(map(labels.count, "abc")) == [2, 2, 3]
    assert len({tuple(pool[place].label for place in one) for one in found}) > 10
    assert len({place for one in found for place in one}) == 24
    assert drawn(pool, 7, seed=3) == found[3]


def test_no_text_that_is_shown_is_scored() -> None:
    train = [Example(texts=(text,), answer="a") for text in ("one", "two", "one", "three")]
    job: Any = SimpleNamespace(prepared=SimpleNamespace(train=train, dev=train[:1], held_out=False))
    assert scored_beside(job, {0}) == [train[1], train[3]]
    assert scored_beside(job, set()) == train
    job.prepared.held_out = True
    assert scored_beside(job, {0}) == train[:1]


@pytest.mark.parametrize("family", ["gpt2", "bert"])
@pytest.mark.parametrize("choice", ["chance", "likeness"])
def test_it_is_a_tuned_model_like_any_other(body_of: Any, few: Path, tmp_path: Path, family: str, choice: str) -> None:
    made = in_context(body_of(family), few, tmp_path / "out", shots=2, settings=[f"choice={choice}"])
    again = load_tuned(tmp_path / "out")
    asked = ["The cat finds it.", "My sister paints a box."]
    assert again.predict(asked) == made.predict(asked)
    assert [again.predict(text)[0] for text in asked] == [
        {**one, "scores": pytest.approx(one["scores"], abs=1e-5), "score": pytest.approx(one["score"], abs=1e-5)}
        for one in made.predict(asked)
    ]
    shown = made.tasks[0].demonstrations
    assert len(shown.pool) == (2 if choice == "chance" else 8)
    assert {one.label for one in shown.pool} == {"box", "letter"}
    score = read_json(tmp_path / "out" / "train" / "best.json", "")
    assert score["on"].startswith("the training examples" + (" that are not shown" if choice == "chance" else ", none of which"))
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "What choice and order of the examples change" in card and "nothing was trained" in card


def test_calibration_is_by_texts_that_say_nothing_with_the_same_examples(body_of: Any, few: Path, tmp_path: Path) -> None:
    made = in_context(body_of("gpt2"), few, tmp_path / "on", shots=3, seed=4)
    bare = in_context(body_of("gpt2"), few, tmp_path / "off", shots=3, seed=4, calibrate=False)
    assert bare.tasks[0].prior == () and bare.tasks[0].demonstrations == made.tasks[0].demonstrations
    texts = ["N/A", "", "[MASK]"]
    worth = np.mean([list(one["scores"].values()) for one in bare.predict(texts)], axis=0)
    assert np.exp(made.tasks[0].prior) == pytest.approx(worth, abs=1e-4)
    plain = np.array([list(one["scores"].values()) for one in bare.predict(["The cat finds it."])])
    expected = plain / worth
    found = made.predict(["The cat finds it."])[0]["scores"].values()
    assert list(found) == pytest.approx((expected / expected.sum())[0], abs=1e-4)


def test_the_spread_is_of_models_that_could_have_been_made(body_of: Any, few: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text(few.read_text(encoding="utf-8"), encoding="utf-8")
    in_context(body_of("gpt2"), few, tmp_path / "0", shots=2, dev=dev, settings=["draws=2"], seed=1)
    card = (tmp_path / "0" / "card.md").read_text(encoding="utf-8")
    scores = []
    for seed in (1, 2):
        in_context(body_of("gpt2"), few, tmp_path / f"s{seed}", shots=2, dev=dev, settings=["draws=1"], seed=seed)
        scores.append(read_json(tmp_path / f"s{seed}" / "train" / "best.json", "")["scores"]["accuracy"])
        assert "What choice and order" not in (tmp_path / f"s{seed}" / "card.md").read_text(encoding="utf-8")
    assert f"| draws | {scores[0]:.3f}, {scores[1]:.3f} |" in card


def test_more_than_there_are_cannot_be_shown(body_of: Any, few: Path, tmp_path: Path) -> None:
    for shots in (0, 9):
        with pytest.raises(PlumeError, match=f"There are 8 examples, and 1 to 8 can be shown, not {shots}"):
            in_context(body_of("gpt2"), few, tmp_path / "out", shots=shots)
    assert not (tmp_path / "out").exists()
    in_context(body_of("gpt2", 200), few, tmp_path / "all", shots=8)
    assert read_json(tmp_path / "all" / "train" / "best.json", "")["scores"] == {}
