"""Every loss against a plain formula, written out by loops, and against sentence-transformers' on the same vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from plume.core.errors import PlumeError
from plume.nn.gathering import joined, shared
from plume.sentences.losses import ContrastLoss, CoSent, CosineError, InBatch, Matryoshka, SwappedRows, Views, alignment, uniformity

LOSSES: list[ContrastLoss] = [InBatch(), CoSent(), CosineError(), SwappedRows(), Matryoshka(loss=InBatch(), dimensions=(8, 4))]


def views(columns: int = 2, rows: int = 6, width: int = 16, *, seed: int = 0, text: Any = None, **options: Any) -> Views:
    source = torch.Generator().manual_seed(seed)
    vectors = torch.randn((columns, rows, width), generator=source, dtype=torch.float64, **options)
    numbers = torch.arange(columns * rows).view(columns, rows) if text is None else torch.tensor(text)
    return Views(vectors=vectors, text=numbers, score=torch.randint(0, 6, (rows,), generator=source) / 5)


def cosines(one: Any, other: Any) -> float:
    a, b = np.asarray(one), np.asarray(other)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_in_batch_is_a_softmax_over_all_second_texts_and_negatives(columns: int) -> None:
    made = views(columns)
    first, *others = made.vectors.tolist()
    expected = 0.0
    for row, vector in enumerate(first):
        logits = [20 * cosines(vector, other) for column in others for other in column]
        expected -= logits[row] - math.log(sum(math.exp(one) for one in logits))
    assert float(InBatch()(made)) == pytest.approx(expected / len(first), rel=1e-9)


def test_equal_texts_are_no_negatives() -> None:
    """Row 0 and 1 have the same first text; row 2's second text is row 0's; row 3's first text is row 1's second."""
    text = [[0, 0, 2, 11], [10, 11, 10, 13]]
    made = views(rows=4, text=text)
    cos = [[cosines(a, b) for b in made.vectors[1].tolist()] for a in made.vectors[0].tolist()]
    left = {0: [0, 3], 1: [1, 3], 2: [1, 2, 3], 3: [0, 2, 3]}  # 0: 1 has the same first text, 2 the same second; 3: 1's second is its first
    expected = sum(-20 * cos[row][row] + math.log(sum(math.exp(20 * cos[row][column]) for column in kept)) for row, kept in left.items())
    assert float(InBatch()(made)) == pytest.approx(expected / 4, rel=1e-9)


def test_cosent_compares_every_two_pairs_of_unlike_score() -> None:
    made = views(rows=7)
    cos = [cosines(a, b) for a, b in zip(*made.vectors.tolist(), strict=True)]
    score = made.score.tolist()
    terms = [math.exp(20 * (cos[i] - cos[j])) for i in range(7) for j in range(7) if score[i] < score[j]]
    assert float(CoSent()(made)) == pytest.approx(math.log(1 + sum(terms)), rel=1e-9)


def test_cosine_error_is_the_mean_squared_error() -> None:
    made = views()
    errors = [(cosines(a, b) - score) ** 2 for a, b, score in zip(*made.vectors.tolist(), made.score.tolist(), strict=True)]
    assert float(CosineError()(made)) == pytest.approx(sum(errors) / len(errors), rel=1e-6)


def test_simbert_asks_every_row_for_its_swapped_one() -> None:
    made = views(rows=5)
    rows = [*made.vectors[0].tolist(), *made.vectors[1].tolist()]
    expected = 0.0
    for place, row in enumerate(rows):
        logits = {other: 30 * cosines(row, rows[other]) for other in range(10) if other != place}
        expected -= logits[(place + 5) % 10] - math.log(sum(math.exp(one) for one in logits.values()))
    assert float(SwappedRows()(made)) == pytest.approx(expected / 10, rel=1e-9)


@pytest.mark.parametrize("loss", [InBatch(), CoSent(), CosineError()])
def test_matryoshka_sums_over_cuts_that_are_normalised_again(loss: ContrastLoss) -> None:
    made = views()
    cut = [Views(vectors=made.vectors[..., :width], text=made.text, score=made.score) for width in (16, 8, 4)]
    assert float(Matryoshka(loss=loss, dimensions=(4, 8))(made)) == pytest.approx(sum(float(loss(one)) for one in cut), rel=1e-12)
    assert Matryoshka(loss=loss).fitting(256).dimensions == (256, 128, 64, 32)  # type: ignore[attr-defined]
    with pytest.raises(PlumeError, match="vectors have 16"):
        Matryoshka(loss=loss, dimensions=(32,)).fitting(16)


class Given(torch.nn.Module):
    """Takes the place of a SentenceTransformer: the features are the vectors."""

    def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"sentence_embedding": features["given"]}

    def get_embedding_dimension(self) -> int:
        return 16


def peers() -> Any:
    return pytest.importorskip("sentence_transformers.sentence_transformer.losses")


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("name", ["ranking", "cosent", "cosine", "matryoshka"])
def test_same_numbers_and_gradients_as_sentence_transformers(name: str, columns: int) -> None:
    if columns == 3 and name in ("cosent", "cosine"):
        pytest.skip("pairs only")
    losses, model = peers(), Given()
    ours, theirs = {
        "ranking": (InBatch(), lambda: losses.MultipleNegativesRankingLoss(model)),
        "cosent": (CoSent(), lambda: losses.CoSENTLoss(model)),
        "cosine": (CosineError(), lambda: losses.CosineSimilarityLoss(model)),
        "matryoshka": (
            Matryoshka(loss=InBatch(), dimensions=(8, 4)),
            lambda: losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), [16, 8, 4]),
        ),
    }[name]
    made = views(columns, requires_grad=True)
    mine = ours(made)
    (gradient,) = torch.autograd.grad(mine, made.vectors)
    peer = theirs()([{"given": column} for column in made.vectors], made.score.double())
    (expected,) = torch.autograd.grad(peer, made.vectors)
    assert mine.item() == pytest.approx(peer.item(), rel=1e-6)
    np.testing.assert_allclose(gradient.numpy(), expected.numpy(), atol=1e-6)


@given(st.integers(0, 2**20), st.sampled_from(LOSSES), st.sampled_from([2, 3]))
def test_several_processes_give_the_gradient_of_one(seed: int, loss: ContrastLoss, processes: int) -> None:
    """Each holds the others' vectors as numbers; the losses and the gradients of all are together those of the whole batch."""
    whole = views(rows=6, seed=seed, requires_grad=True)
    (expected,) = torch.autograd.grad(loss(whole) * 6, whole.vectors)
    found, told = torch.zeros_like(expected), 0.0
    for rank in range(processes):
        parts = [whole.vectors[:, other::processes].detach() for other in range(processes)]
        parts[rank] = own = parts[rank].clone().requires_grad_(True)
        text = joined([whole.text[:, other::processes] for other in range(processes)], dim=1)
        score = joined([whole.score[other::processes] for other in range(processes)], dim=0)
        total = shared(loss(Views(vectors=joined(parts, dim=1), text=text, score=score)) * 6, own=6 // processes, rows=6)
        (gradient,) = torch.autograd.grad(total, own)
        found[:, rank::processes] += gradient
        told += total.item()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-9)
    assert told == pytest.approx(loss(whole).item() * 6, rel=1e-9)


def test_alignment_and_uniformity_as_wang_and_isola_define_them() -> None:
    made = views(rows=5)
    unit = made.normalised().vectors
    near = torch.tensor([1.0, 0, 1, 0, 1])
    apart = [float((unit[0, i] - unit[1, i]).norm() ** 2) for i in (0, 2, 4)]
    assert float(alignment(made, near)) == pytest.approx(sum(apart))
    kernel = torch.pdist(unit[0]).pow(2).mul(-2).exp().mean().log()
    assert float(uniformity(made)) == pytest.approx(float(kernel))
    assert float(uniformity(views(rows=3, text=[[0, 0, 0], [1, 2, 3]]))) == 0.0
