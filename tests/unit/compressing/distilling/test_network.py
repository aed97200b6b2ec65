"""A student and its teacher in one step: what is compared is what the networks compute, and losses are divided by what they are sums of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from plume.compressing.distilling.comparisons import Gold, Logits
from plume.compressing.distilling.inner import CosineDistance, HiddenDistance, Inner, Patient, Relations, Scores
from plume.compressing.distilling.network import LABELLED, SAID, DistilledModel, Tutor
from plume.nn.pooling import Pooling
from plume.readers.example import Example
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel, assemble, reading_order

TEXTS = ("the cat finds a box", "rainy", "我们喜欢苹果 in the morning", "a letter near the river")


@pytest.fixture
def model(miniature: Any, tokenizer_for: Any) -> Callable[..., TunedModel]:
    """A family's miniature with a task's head, in float64, each weight another."""

    def make(family: str, task: Task, *, width: int = 32, depth: int = 2, seed: int = 1, pooling: Pooling | None = None) -> TunedModel:
        recipe = miniature(family, width=width, depth=depth)
        tokenizer = tokenizer_for(recipe)
        body = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        body.spell(tokenizer.tokens())
        declared = Declared(
            tasks=(task,), adaptation=FullTuning(dropout=0.0, pooling=pooling), length=32, order=reading_order(body, tokenizer)
        )
        made = assemble(body, declared).double()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
        return TunedModel(made, tokenizer, declared)

    return make


def classification(**changes: Any) -> Task:
    from plume.tasks.classification import TASK

    return replace(TASK, labels=("cold", "warm"), texts=1, **changes)


def batch_for(tuned: TunedModel, task: Task, examples: list[Example], *, said: Any = None) -> Any:
    questions, _ = task.questions(examples, tuned.coder())
    batch = tuned.finish(questions.batch(np.arange(len(questions))), questions)
    told = {} if said is None else {SAID: said}
    return replace(batch, named={LABELLED: np.array([True]), **told})


EVERYTHING = (Gold(), Logits(temperature=2.0), HiddenDistance(), CosineDistance(), Patient(), Scores(), Relations())


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("family", ["bert", "electra", "xlnet", "gpt2", "t5", "bart"])
def test_counts_are_what_losses_are_sums_of(family: str, pooled: bool, model: Any, on_cpu: Any) -> None:
    task = classification()
    pooling = Pooling() if pooled else None
    student, teacher = model(family, task, depth=1, seed=2, pooling=pooling), model(family, task)
    wrapped = DistilledModel(student.model, {"classification": Tutor(model=teacher.model, task="classification")}, EVERYTHING).train()
    batch = batch_for(student, task, [Example(texts=(text,), answer="warm") for text in TEXTS])
    losses = wrapped.losses(on_cpu(batch))
    assert {name: loss.count for name, loss in losses.items()} == wrapped.counts(batch)
    assert all(loss.total.requires_grad and torch.isfinite(loss.total) for loss in losses.values())
    assert wrapped.flops(batch) > student.model.flops(replace(batch, named={}))
    torch.stack([loss.total for loss in losses.values()]).sum().backward()
    assert all(parameter.grad is None for parameter in teacher.model.parameters())
    assert not any(name.startswith("teacher") for name, _ in wrapped.kept())
    assert not teacher.model.training and not any(p.requires_grad for p in teacher.model.parameters())


def test_bert_against_a_page_of_torch(model: Any, on_cpu: Any) -> None:
    """The networks' own layers and attentions, kept on demand, give the same losses by hand; of a wider teacher too."""
    task = classification()
    student, teacher = model("bert", task, depth=1, width=16, seed=2), model("bert", task)
    wrapped = DistilledModel(student.model, {"classification": Tutor(model=teacher.model, task="classification")}, EVERYTHING, seed=3)
    batch = batch_for(student, task, [Example(texts=(text,), answer="warm") for text in TEXTS])
    losses = {name: float(loss.total.detach()) for name, loss in wrapped.losses(on_cpu(batch)).items()}
    plain = on_cpu(replace(batch, named={}, read=None, labels={}))
    with torch.no_grad():
        mine, theirs = (one.model.body.encode(plain, keep_layers=True) for one in (student, teacher))
    inside = torch.arange(plain.tokens.shape[1]) < plain.length[:, None]
    maps = dict(wrapped.maps.requires_grad_(False).items())
    hidden = sum(
        float(((maps["hidden_distance-classification"](mine.layers[own]) - theirs.layers[other])[inside] ** 2).mean(-1).sum())
        for own, other in ((0, 0), (1, 2))
    )
    assert losses["hidden_distance"] == pytest.approx(hidden)
    cosine = 1 - F.cosine_similarity(maps["cosine_distance-classification"](mine.last)[inside], theirs.last[inside], dim=-1)
    assert losses["cosine_distance"] == pytest.approx(float(cosine.sum()))
    first, other = (F.normalize(one, dim=-1) for one in (maps["patient-classification"](mine.last[:, 0]), theirs.last[:, 0]))
    assert losses["patient"] == pytest.approx(float(((first - other) ** 2).mean(-1).sum()))
    student.model.requires_grad_(False)
    logits = [one.model.heads["classification"].logits(states.last[:, 0]) for one, states in ((student, mine), (teacher, theirs))]
    scores = [scores / 2 for scores in logits]
    assert losses["logits"] == pytest.approx(float(4 * F.kl_div(scores[0].log_softmax(-1), scores[1].softmax(-1), reduction="sum")))
    assert losses["gold"] == pytest.approx(float(F.cross_entropy(logits[0], torch.ones(4, dtype=torch.long), reduction="sum")))
    own, theirs_ = (_scores_by_hand(one, states.layers[-2], inside) for one, states in ((student, mine), (teacher, theirs)))
    expected = (((own - theirs_) ** 2).mean(1).sum(-1) / inside.sum(1)[:, None])[inside].sum()
    assert losses["scores"] == pytest.approx(float(expected))
    # Answers that were kept are as those that are asked for.
    kept = batch_for(student, task, [Example(texts=(text,), answer="warm") for text in TEXTS], said=logits[1].detach().numpy())
    assert float(wrapped.losses(on_cpu(kept))["logits"].total) == pytest.approx(losses["logits"])


def _scores_by_hand(tuned: TunedModel, states: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    attention = tuned.model.body.stack.blocks[-1].attention  # type: ignore[union-attr, index]
    heads, width = attention.heads, attention.head_width
    query, key = (part(states).unflatten(-1, (heads, width)).transpose(1, 2) for part in (attention.query, attention.key))
    scores: torch.Tensor = query @ key.transpose(-1, -2) / width**0.5
    return scores.masked_fill(~inside[:, None, None, :], 0.0)


def test_maps_begin_as_the_seed_says(model: Any) -> None:
    task = classification()
    student, teacher = model("bert", task, width=16), model("bert", task)
    made = [
        DistilledModel(
            student.model, {"classification": Tutor(model=teacher.model, task="classification")}, (HiddenDistance(), Gold()), seed=seed
        )
        for seed in (1, 1, 2)
    ]
    weights = [one.maps["hidden_distance-classification"].weight for one in made]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert sum(name.startswith("maps.") for name, _ in made[0].aside()) == 2 == len(list(made[0].maps.parameters()))


def test_two_of_a_kind_are_told_apart(model: Any, on_cpu: Any) -> None:
    from plume.compressing.distilling.layer_pairs import Given, LastOnly

    task = classification()
    student, teacher = model("bert", task, width=16), model("bert", task)
    two: tuple[Inner, ...] = (HiddenDistance(pairs=LastOnly()), HiddenDistance(pairs=Given(pairs=((0, 0),)), during=(0.0, 0.5)))
    wrapped = DistilledModel(student.model, {"classification": Tutor(model=teacher.model, task="classification")}, two)
    batch = batch_for(student, task, [Example(texts=(text,), answer="warm") for text in TEXTS])
    assert list(wrapped.losses(on_cpu(batch))) == ["hidden_distance", "hidden_distance_2"] and len(wrapped.maps) == 2
    wrapped.before_step(0.5)
    assert list(wrapped.losses(on_cpu(batch))) == ["hidden_distance"] == list(wrapped.counts(batch))
