"""A student of the language model itself: its losses against a page of plain torch, its run, and what of it is saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import plume
from plume.compressing.compress import resume
from plume.compressing.distilling.comparisons import Gold, Logits
from plume.compressing.distilling.computed import text_tokens
from plume.compressing.distilling.inner import CosineDistance, Patient, Relations
from plume.compressing.distilling.language_model import DistilledLanguageModel
from plume.compressing.lineage import read_lineage
from plume.compressing.options import compress_from_options
from plume.core.errors import PlumeError
from plume.data.loader import Cursor
from plume.model.checkpoint import load_model, read_weights, save_model
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel
from plume.nn.watching import Watch, watched
from plume.train import loop as loops
from plume.train.checkpoint import checkpoints
from plume.train.device import to_device


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Callable[[str], Path]:
    """A directory with a family's miniature, four layers deep."""

    def make(family: str) -> Path:
        recipe = miniature(family, depth=4)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(1)
        folder = tmp_path_factory.mktemp("teacher") / family
        save_model(folder, model, tokenizer)
        return folder

    return make


@pytest.fixture(scope="module")
def text(corpora: Any) -> str:
    return str(corpora["text"].files[0])


def test_losses_are_those_of_the_papers(miniature: Any, built: Any, reader_for: Any) -> None:
    recipe = miniature("bert")
    plain = reader_for(recipe).step(Cursor(), [slice(None)])[0]
    batch, vocabulary = to_device(plain, torch.device("cpu")), int(plain.tokens.max()) + 1
    student = built(miniature("bert", depth=1), vocabulary=vocabulary)
    teacher = built(miniature("bert", depth=2, width=64), vocabulary=vocabulary, seed=9)
    comparisons = (Logits(weight=5.0, temperature=2.0), Gold(weight=2.0), CosineDistance(), Relations(heads=4))
    distilled = DistilledLanguageModel(student, teacher, comparisons).double().eval()
    found = distilled.losses(batch)

    def states(model: Model) -> tuple[Tensor, Any]:
        looks: list[Any] = []
        with watched((model.stack, Watch(looks=looks))):
            return model.encode(replace(batch, read=None)).last, looks[-1]

    mine, my_look = states(student)
    theirs, their_look = states(teacher)
    target = batch.labels["masked_lm"]
    asked = [model.head("masked_lm").logits(last.flatten(0, 1)[target.index]) for model, last in ((student, mine), (teacher, theirs))]
    own, other = (F.log_softmax(scores / 2, -1) for scores in asked)
    assert torch.allclose(found["logits"].total, 5 * 4 * F.kl_div(own, other, log_target=True, reduction="sum"), rtol=1e-9)
    hard = F.cross_entropy(asked[0], target.value, reduction="sum")
    assert torch.allclose(found["masked_lm"].total, 2 * hard, rtol=1e-9)
    length = torch.full((len(batch.tokens),), batch.tokens.shape[1]) if batch.length is None else batch.length
    inside = torch.arange(batch.tokens.shape[1]) < length[:, None]
    mapped = distilled.maps["cosine_distance"](mine)
    assert torch.allclose(found["cosine_distance"].total, (1 - F.cosine_similarity(mapped, theirs, dim=-1))[inside].sum(), rtol=1e-9)
    related = [_relation(getattr(my_look, one), getattr(their_look, one), inside) for one in ("query", "key", "value")]
    assert torch.allclose(found["relations"].total, torch.stack(related).sum(), rtol=1e-9)
    assert {name: int(loss.count) for name, loss in found.items()} == distilled.counts(plain)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_patient_distillation_is_a_mean_over_the_states_that_it_compares(family: str, miniature: Any, built: Any, reader_for: Any) -> None:
    """Of two objectives all of the text, of one alone what that asks about: the weight means the same."""
    plain = reader_for(miniature(family)).step(Cursor(), [slice(None)])[0]
    student, teacher = (built(miniature(family, depth=1), vocabulary=int(plain.tokens.max()) + 1, seed=seed) for seed in (1, 2))
    distilled = DistilledLanguageModel(student, teacher, (Patient(),)).eval()
    found = distilled.losses(to_device(plain, torch.device("cpu")))["patient"]
    asked = len(plain.labels["masked_lm"].index) if family == "roberta" else text_tokens(plain)
    assert found.count == distilled.counts(plain)["patient"] == asked


def _relation(student: Tensor, teacher: Tensor, inside: Tensor, heads: int = 4) -> Tensor:
    """Row by row, head by head: softmax(XXᵀ/√d) of both, and the divergence of each query's distribution."""
    total = torch.zeros((), dtype=torch.float64)
    for row in range(len(inside)):
        length = int(inside[row].sum())
        mine, theirs = (one[row].transpose(0, 1).reshape(one.shape[2], -1)[:length] for one in (student, teacher))
        for head in range(heads):
            p, q = (
                (x @ x.T / x.shape[1] ** 0.5).softmax(-1)
                for x in (one[:, head * one.shape[1] // heads : (head + 1) * one.shape[1] // heads] for one in (theirs, mine))
            )
            total = total + (p * (p.log() - q.log())).sum() / heads
    return total


@pytest.mark.parametrize("method", ["distil", "distilbert", "tinybert", "minilm"])
def test_a_language_model_is_distilled_on_plain_text(method: str, teacher: Callable[[str], Path], text: str, tmp_path: Path) -> None:
    source = teacher("bert")
    before = read_weights(source / "model.safetensors")
    model = plume.compress(source, method=method, out=tmp_path / "small", text=text, depth=2, budget="4steps", quiet=True)
    assert isinstance(model, LanguageModel)
    small, _ = load_model(tmp_path / "small")
    assert small.recipe.transformer.depth == 2, "and its weights fit its recipe: no map of the run is among them"
    after = read_weights(source / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before), "a teacher stays as it is"
    lineage = read_lineage(tmp_path / "small")
    assert lineage is not None and lineage.steps[0].method == method and lineage.origin == ("bert",)
    assert "## Made small" in (tmp_path / "small" / "card.md").read_text(encoding="utf-8")


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    teacher: Callable[[str], Path], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = teacher("bert")
    options: dict[str, Any] = {"method": "tinybert", "text": text, "student": None, "depth": 2, "budget": "6steps", "quiet": True}
    plume.compress(source, out=tmp_path / "whole", **options)
    step, calls = loops.Loop._step, []

    def stopping(self: Any, *given: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            given[2].append("SIGINT")
        return step(self, *given, **more)

    monkeypatch.setattr(loops.Loop, "_step", stopping)
    stopped = compress_from_options(source, out=tmp_path / "broken", **options)
    assert stopped.stopped_by == "SIGINT"
    monkeypatch.undo()
    assert resume(tmp_path / "broken", quiet=True).stopped_by is None
    one, other = (checkpoints(tmp_path / name)[-1] for name in ("whole", "broken"))
    for file in ("model.safetensors", "optimiser.safetensors"):
        mine, theirs = read_weights(one / file), read_weights(other / file)
        assert mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_what_does_not_fit_is_refused(teacher: Callable[[str], Path], text: str, tmp_path: Path) -> None:
    bert = teacher("bert")
    with pytest.raises(PlumeError, match="--text FILE"):
        plume.compress(bert, method="distil", out=tmp_path / "a", quiet=True)
    with pytest.raises(PlumeError, match="no answers to be learned"):
        plume.compress(bert, method="sequence", out=tmp_path / "a", text=text, budget="1steps", quiet=True)
    with pytest.raises(PlumeError, match="leave out --epochs"):
        plume.compress(bert, method="distil", out=tmp_path / "a", text=text, epochs=2.0, quiet=True)
    with pytest.raises(PlumeError, match="judges what a generator"):
        plume.compress(teacher("electra"), method="distil", out=tmp_path / "a", text=text, quiet=True)
    with pytest.raises(PlumeError, match="no single stack"):
        plume.compress(teacher("t5"), method="minilm", out=tmp_path / "a", text=text, quiet=True)
    assert not (tmp_path / "a").exists(), "nothing is left of what was refused"
