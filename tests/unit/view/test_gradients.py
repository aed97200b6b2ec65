"""Integrated gradients: what tokens add is the difference of outputs, and what finite differences say without any gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.tuning.tuned import TunedModel
from plume.view.recording.answers import log_odds, wanted
from plume.view.recording.gradients import explain
from plume.view.recording.integrating import Baseline, TextPath

TEXT = "The old captain paints the lighthouse near the river."
ITEMS: dict[str, Any] = {
    "classification": TEXT,
    "multi-label": TEXT,
    "paraphrase": ("my sister follows the letter", "the cat remembers some bread"),
    "similarity": ("my sister follows the letter", "the cat remembers some bread"),
    "ner": TEXT,
    "pos": TEXT,
    "qa": {"question": "who paints?", "context": TEXT},
    "multiple-choice": {"context": "my sister", "choices": ["finds a wooden box", "forgets the letter"]},
}


@pytest.mark.parametrize("task", ITEMS)
@pytest.mark.parametrize("family", ["bert", "gpt2", "elmo", "xlnet"])
def test_sums_are_differences(family: str, task: str, tuned: Callable[..., TunedModel]) -> None:
    model = tuned(family, task)
    found = explain(model, ITEMS[task], answers=2)
    assert found.answers and (found.answers[0].chosen or task == "multi-label")
    for one in found.answers:
        assert one.error < 0.05
        assert len(one.tokens) == len(one.text) == len(one.added)
        assert all(added == 0 for added, text in zip(one.added, one.text, strict=True) if text < 0)  # special tokens stay
        assert np.abs(one.added).sum() > 0


@pytest.mark.parametrize("family", ["bart", "t5", "albert", "transformer-xl", "deepmoji"])
def test_other_networks(family: str, tuned: Callable[..., TunedModel]) -> None:
    """Also through a decoder, which reads each token a second time."""
    (one, *_) = explain(tuned(family, "classification"), TEXT).answers
    assert one.error < 0.05 and np.abs(one.added).sum() > 0


@pytest.mark.parametrize("mode", ["features", "probe", "adapters"])
def test_frozen_bodies_have_gradients_too(mode: str, tuned: Callable[..., TunedModel]) -> None:
    (one, *_) = explain(tuned("bert", "classification", mode), TEXT).answers
    assert one.error < 0.05 and np.abs(one.added).sum() > 0


@pytest.mark.parametrize("task", ["classification", "ner", "qa"])
def test_finite_differences(task: str, tuned: Callable[..., TunedModel]) -> None:
    """The middle rule over 200 steps, each token's slope from two outputs nearby: no autograd, no Gauss."""
    model = tuned("bert", task)
    asked = model.task()
    example = asked.example(ITEMS[task])
    questions, _ = asked.questions([example], model.coder())
    one = wanted(model, asked, questions, example)[0]
    path = TextPath(model, questions, one.group, Baseline.MASK)
    found = path.integrated(one.output, 128)
    way = path.text - path.baseline  # [R, T, E]
    share = (torch.arange(200, dtype=torch.float64) + 0.5) / 200
    near = 1e-5
    with torch.no_grad():
        for token in (1, 2, 5):
            moved = torch.zeros_like(way)
            moved[:, token] = way[:, token]
            there, back = (
                one.output(path.scores(200, (path.vectors(share).view(200, *way.shape) + sign * near * moved).flatten(0, 2)))
                for sign in (1, -1)
            )
            assert float(((there - back) / (2 * near)).mean()) == pytest.approx(found.added[0, token], abs=2e-4)


def test_as_captum(tuned: Callable[..., TunedModel]) -> None:
    captum = pytest.importorskip("captum.attr")
    model = tuned("bert", "classification")
    asked = model.task()
    example = asked.example(TEXT)
    questions, _ = asked.questions([example], model.coder())
    one = wanted(model, asked, questions, example)[0]
    path = TextPath(model, questions, one.group, Baseline.MASK)

    def forward(vectors: torch.Tensor) -> torch.Tensor:
        return one.output(path.scores(len(vectors), vectors.flatten(0, 1)))

    theirs = captum.IntegratedGradients(forward).attribute(path.text, path.baseline, n_steps=64, method="gausslegendre")
    assert np.allclose(theirs.sum(-1).detach().numpy(), path.integrated(one.output, 64).added, atol=1e-9)


def test_log_odds() -> None:
    scores = torch.tensor([[3.0, 0.0, 0.0]])
    assert float(log_odds(scores, 0)) == pytest.approx(3 - np.log(2))


def test_what_has_no_gradients(tuned: Callable[..., TunedModel], language_model: Any) -> None:
    with pytest.raises(PlumeError, match="tuned for a task"):
        explain(language_model("bert"), TEXT)
    with pytest.raises(PlumeError, match="no baseline 'black': choose mask, pad, zero"):
        explain(tuned("bert", "classification"), TEXT, baseline="black")
    with pytest.raises(PlumeError, match="has no mask token"):
        explain(tuned("gpt2", "classification"), TEXT, baseline="mask")
    usual = {family: explain(tuned(family, "classification"), TEXT).baseline for family in ("bert", "gpt2", "elmo")}
    assert usual == {"bert": Baseline.MASK, "gpt2": Baseline.PAD, "elmo": Baseline.ZERO}
