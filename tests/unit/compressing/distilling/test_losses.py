"""Losses against plain torch, in float64: what the papers' formulas say, written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from plume.compressing.distilling.comparisons import DistilLoss, Gold, Logits, Weighing, stretch_of
from plume.compressing.distilling.computed import Computed, Extent
from plume.compressing.distilling.inner import CosineDistance, HiddenDistance, Patient, Relations, Scores
from plume.compressing.distilling.layer_pairs import EveryKth
from plume.core.errors import PlumeError
from plume.heads.head import ScoreKind
from plume.model.schedule import LinearStages
from plume.nn.attention import Attended

ROWS, TIME, HEADS = 3, 5, 2
LENGTH = torch.tensor([5, 3, 4])
INSIDE = torch.arange(TIME) < LENGTH[:, None]


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 8.0])
def test_hinton_one_of_several(temperature: float) -> None:
    student, teacher = draw(7, 4).requires_grad_(), draw(7, 4, seed=1)
    p, q = (teacher / temperature).softmax(-1), (student.detach() / temperature).softmax(-1)
    expected = temperature**2 * sum(float(p[i, c] * (p[i, c] / q[i, c]).log()) for i in range(7) for c in range(4))
    found = Logits(temperature=temperature).total(student, teacher, ScoreKind.ONE)
    assert float(found.detach()) == pytest.approx(expected, abs=1e-12)
    # With T² the gradient does not vanish as T grows: for large T it is that of half the squared distance of centred scores, over the classes.
    wide = torch.autograd.grad(Logits(temperature=1e4).total(student, teacher, ScoreKind.ONE), student)[0]
    centred = (student - student.mean(-1, keepdim=True)) - (teacher - teacher.mean(-1, keepdim=True))
    assert torch.allclose(wide, centred / 4, atol=1e-3)


def test_hinton_choices_of_unlike_number() -> None:
    student, teacher = draw(3, 4), draw(3, 4, seed=1)
    gone = torch.tensor([[False] * 4, [False, False, True, True], [False, False, False, True]])
    student, teacher = (scores.masked_fill(gone, float("-inf")) for scores in (student, teacher))
    student.requires_grad_()
    expected = sum(
        float(F.kl_div(student[i, ~gone[i]].log_softmax(-1), teacher[i, ~gone[i]].softmax(-1), reduction="sum")) for i in range(3)
    )
    found = Logits().total(student, teacher, ScoreKind.ONE)
    assert float(found) == pytest.approx(expected, abs=1e-12)
    (gradient,) = torch.autograd.grad(found, student)
    assert torch.isfinite(gradient).all() and (gradient[gone] == 0).all()
    apart = sum(float(((student - teacher)[i, ~gone[i]] ** 2).mean()) for i in range(3))
    squared = Logits(squared=True).total(student, teacher, ScoreKind.ONE)
    assert float(squared) == pytest.approx(apart, abs=1e-12) and torch.isfinite(torch.autograd.grad(squared, student)[0]).all()


def test_hinton_places_labels_and_numbers() -> None:
    student, teacher = draw(3, 6, 2), draw(3, 6, 2, seed=1)
    barred = torch.zeros(3, 6, dtype=torch.bool)
    barred[0, 4:] = barred[2, :2] = True
    student, teacher = (scores.masked_fill(barred[..., None], -1e4) for scores in (student, teacher))
    expected = sum(
        float(F.kl_div((student[i, :, side] / 3).log_softmax(0), (teacher[i, :, side] / 3).softmax(0), reduction="sum")) / 2
        for i in range(3) for side in (0, 1)
    )  # fmt: skip
    assert float(Logits(temperature=3.0).total(student, teacher, ScoreKind.PLACE)) == pytest.approx(9 * expected, abs=1e-9)
    student, teacher = draw(5, 3), draw(5, 3, seed=1)
    p, q = (teacher / 2).sigmoid(), (student / 2).sigmoid()
    expected = float((p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()).sum()) / 3
    assert float(Logits(temperature=2.0).total(student, teacher, ScoreKind.EACH)) == pytest.approx(4 * expected, abs=1e-12)
    student, teacher = -5000 + draw(5, 1), -5000 + draw(5, 1, seed=1)
    assert float(Logits(temperature=9.0).total(student, teacher, ScoreKind.NUMBER)) == pytest.approx(
        float(((student - teacher) ** 2).sum())
    )


def test_what_the_teacher_does_not_say_teaches_nothing() -> None:
    student, teacher = draw(4, 3), draw(4, 3, seed=1)
    silent = teacher.clone()
    silent[1] = float("nan")
    for one in (Logits(temperature=2.0), Logits(squared=True)):
        expected = sum(one.total(student[[i]], teacher[[i]], ScoreKind.ONE) for i in (0, 2, 3))
        assert torch.allclose(one.total(student, silent, ScoreKind.ONE), torch.as_tensor(expected))


def computed(width: int, heads: int, *, depth: int, seed: int, allowed: torch.Tensor | None) -> Computed:
    """As if a network had run."""
    layers = [draw(ROWS, TIME, width, seed=seed + number).requires_grad_() for number in range(depth + 1)]
    looks = []
    for number in range(depth):
        query, key, value = (draw(ROWS, heads, TIME, width // heads, seed=100 * seed + 3 * number + part) for part in range(3))
        bias = draw(1, heads, TIME, TIME, seed=1000 * seed + number)
        made = Attended(layer=number, query=query, key=key, value=value, scale=0.5, bias=bias, allowed=allowed, probability=query)
        looks.append(made)
    return Computed(layers=layers, looks=looks, inside=INSIDE, asked=torch.tensor([0, TIME, 2 * TIME + 3]))


@pytest.fixture
def pair() -> tuple[Computed, Computed]:
    allowed = INSIDE[:, None, None, :]
    return computed(4, HEADS, depth=2, seed=1, allowed=allowed), computed(6, HEADS, depth=4, seed=2, allowed=allowed)


OWN, THEIR = Extent(depth=2, width=4, heads=HEADS), Extent(depth=4, width=6, heads=HEADS)


def total(one: Any, pair: tuple[Computed, Computed], learned: nn.Module | None = None) -> torch.Tensor:
    found: torch.Tensor = one.total(*pair, one.places(OWN, THEIR), learned)
    return found


def test_distilbert(pair: tuple[Computed, Computed]) -> None:
    """5 KL at T 2 over answers, 2 of the labels, 1 cosine over tokens of the last states."""
    learned = nn.Linear(4, 6).double()
    mine, theirs = learned(pair[0].layers[2]), pair[1].layers[4]
    kept = torch.cat([mine[i, : LENGTH[i]] for i in range(ROWS)]), torch.cat([theirs[i, : LENGTH[i]] for i in range(ROWS)])
    expected = F.cosine_embedding_loss(*kept, torch.ones(len(kept[0])), reduction="sum")  # as the authors' script has it
    assert torch.allclose(total(CosineDistance(), pair, learned), expected, atol=1e-12)
    from plume.compressing.method import method

    weights = {type(one).__name__: one.weight for one in method("distilbert").comparisons}  # type: ignore[attr-defined]
    assert weights == {"Logits": 5.0, "Gold": 2.0, "CosineDistance": 1.0}


def test_tinybert_hidden_distance_through_one_map(pair: tuple[Computed, Computed]) -> None:
    learned = nn.Linear(4, 6).double()
    expected = 0.0
    for own, other in ((0, 0), (1, 2), (2, 4)):  # the embedding first; then every second layer
        for row in range(ROWS):
            for token in range(int(LENGTH[row])):
                mapped = learned.weight @ pair[0].layers[own][row, token] + learned.bias
                expected += float(F.mse_loss(mapped, pair[1].layers[other][row, token]))
    assert float(total(HiddenDistance(), pair, learned)) == pytest.approx(expected, abs=1e-10)
    assert isinstance(HiddenDistance().build(OWN, THEIR), nn.Linear) and HiddenDistance().build(OWN, OWN) is None
    with pytest.raises(PlumeError, match="through a map"):
        HiddenDistance(mapped=False).build(OWN, THEIR)


def test_tinybert_scores_before_the_softmax(pair: tuple[Computed, Computed]) -> None:
    expected = 0.0
    for own, other in ((0, 1), (1, 3)):  # block i of the student, block i · k + k − 1 of the teacher
        for row in range(ROWS):
            size = int(LENGTH[row])
            mine, theirs = (
                one.looks[layer].query[row] @ one.looks[layer].key[row].transpose(-1, -2) * 0.5 + one.looks[layer].bias[0]  # type: ignore[index]
                for one, layer in zip(pair, (own, other), strict=True)
            )
            expected += size * float(F.mse_loss(mine[:, :size, :size], theirs[:, :size, :size]))
    assert float(total(Scores(), pair)) == pytest.approx(expected, abs=1e-10)
    with pytest.raises(PlumeError, match="2 heads where the teacher has 3"):
        Scores().places(OWN, Extent(depth=4, width=6, heads=3))


def test_tinybert_scores_of_a_model_that_reads_one_way() -> None:
    """What may not be looked at is nought in both, as its code has it."""
    causal = torch.ones(TIME, TIME, dtype=torch.bool).tril()[None, None] & INSIDE[:, None, None, :]
    pair = computed(4, HEADS, depth=2, seed=1, allowed=causal), computed(6, HEADS, depth=4, seed=2, allowed=causal)
    plain = computed(4, HEADS, depth=2, seed=1, allowed=None)
    assert (pair[0].scores(0)[0, :, 0, 1:] == 0).all() and torch.equal(pair[0].scores(0)[0, :, 4], plain.scores(0)[0, :, 4])
    assert float(total(Scores(), pair)) < float(total(Scores(), (plain, pair[1])))


@pytest.mark.parametrize("heads", [None, 1, 2])
def test_minilm_relations(heads: int | None, pair: tuple[Computed, Computed]) -> None:
    count = heads or HEADS
    expected = 0.0
    for part in ("query", "key", "value"):
        for row in range(ROWS):
            size = int(LENGTH[row])
            relations = []
            for one, layer in zip(pair, (1, 3), strict=True):  # the last of both
                vectors = getattr(one.looks[layer], part)[row, :, :size]  # [H, T, W]
                merged = torch.cat(list(vectors), dim=-1)  # [T, D]: heads side by side
                pieces = merged.split(merged.shape[-1] // count, dim=-1)
                relations.append(torch.stack([(x @ x.T / math.sqrt(x.shape[-1])).softmax(-1) for x in pieces]))
            expected += float((relations[1] * (relations[1] / relations[0]).log()).sum()) / count
    assert float(total(Relations(heads=heads), pair)) == pytest.approx(expected, abs=1e-10)
    with pytest.raises(PlumeError, match="does not divide into 3 relation heads"):
        total(Relations(heads=3), pair)
    with pytest.raises(PlumeError, match="no layer 4"):
        Relations(layer=4).places(OWN, THEIR)


def test_minilm_takes_the_most_relation_heads_that_both_divide_into() -> None:
    """Three heads of the teacher's do not fit a width of 4."""
    pair = (
        computed(4, 2, depth=2, seed=1, allowed=None),
        computed(6, 3, depth=4, seed=2, allowed=None),
    )  # three heads of the teacher's do not fit a width of 4
    assert float(total(Relations(), pair)) == float(total(Relations(heads=2), pair))


def test_patient_is_its_code(pair: tuple[Computed, Computed]) -> None:
    """F.mse_loss of normalised first tokens, over rows, layers and dimensions, times the rows."""
    own = torch.stack([pair[0].layers[layer].flatten(0, 1)[pair[0].asked] for layer in (1, 2)], 1)
    learned = nn.Linear(4, 6).double()
    other = torch.stack([pair[1].layers[layer].flatten(0, 1)[pair[0].asked] for layer in (2, 4)], 1)
    expected = F.mse_loss(F.normalize(learned(own), dim=-1), F.normalize(other, dim=-1)) * ROWS
    assert torch.allclose(total(Patient(), pair, learned), expected, atol=1e-12)


def test_pairs_where_depths_do_not_divide() -> None:
    assert EveryKth().hidden(4, 6) == [(0, 0), (1, 2), (2, 3), (3, 4), (4, 6)]
    assert EveryKth(embedding=False).blocks(3, 12) == [(0, 3), (1, 7), (2, 11)]


def test_weights_move_and_stretches_meet() -> None:
    rising, falling = Gold(weighing=Weighing.RISING), Logits(weighing=Weighing.FALLING, weight=2.0)
    assert [rising.factor(p) for p in (0.0, 0.25, 1.0)] == [0.0, 0.25, 1.0]
    assert [falling.factor(p) for p in (0.0, 0.25, 1.0)] == [2.0, 1.5, 0.0]
    late = Logits(during=(0.5, 1.0), weighing=Weighing.RISING)
    assert [late.counts_at(p) for p in (0.0, 0.49, 0.5, 1.0)] == [False, False, True, True] and late.factor(0.75) == 0.5
    parts: list[DistilLoss] = [Gold(during=(0.0, 0.3)), Logits(during=(0.3, 1.0))]
    assert stretch_of(parts) == (0.0, 1.0) and stretch_of([]) is None and stretch_of(parts[1:]) == (0.3, 1.0)
    with pytest.raises(PlumeError, match="Between 30% and 60% of the run"):
        stretch_of([Gold(during=(0.0, 0.3)), Logits(during=(0.6, 1.0))])
    for wrong in ({"weight": 0.0}, {"during": (0.5, 0.5)}, {"during": (0.0, 1.5)}):
        with pytest.raises(PlumeError, match="a weight is above 0"):
            Gold(**wrong)
    with pytest.raises(PlumeError, match="A temperature is above 0"):
        Logits(temperature=0.0)


def test_the_rate_rises_and_falls_in_each_stage() -> None:
    rate = LinearStages(warmup=0.2, bounds=(0.0, 0.5, 1.0))
    assert np.allclose([rate.factor(p) for p in (0.0, 0.1, 0.3, 0.5, 0.6, 0.8)], [0, 1, 0.5, 0, 1, 0.5])
