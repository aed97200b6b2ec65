"""The CRF: held against the sum and the maximum over all tag sequences, written out."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.nn.crf import CRF, bio_forbidden

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
LENGTH = torch.tensor([4, 1, 0, 3])
ROWS, WORDS = 4, 4


def crf_of(labels: int, *, forbidden: Tensor | None = None, seed: int = 3) -> CRF:
    crf = CRF(labels, forbidden=forbidden).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return crf


def emissions(labels: int, *, rows: int = ROWS, words: int = WORDS, scale: float = 1.0, seed: int = 5) -> Tensor:
    return torch.randn(rows, words, labels, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale


def paths_of(crf: CRF, emission: Tensor, length: int) -> dict[tuple[int, ...], float]:
    """Every tag sequence of a row, and its score."""
    forbidden = crf.forbidden.tolist()
    transition, begin, end = crf.transition.tolist(), crf.begin.tolist(), crf.end.tolist()
    labels, found = len(begin), {}
    for tags in itertools.product(range(labels), repeat=length):
        score = (-1e4 if forbidden[labels][tags[0]] else begin[tags[0]]) + end[tags[-1]]
        score += sum(float(emission[time, tag]) for time, tag in enumerate(tags))
        score += sum(-1e4 if forbidden[one][two] else transition[one][two] for one, two in itertools.pairwise(tags))
        found[tags] = score
    return found


def log_sum(scores: list[float]) -> float:
    top = max(scores)
    return top + math.log(sum(math.exp(score - top) for score in scores))


CASES = [
    pytest.param(3, None, 1.0, id="free"),
    pytest.param(5, bio_forbidden(BIO), 1.0, id="bio"),
    pytest.param(5, bio_forbidden(BIO), 2000.0, id="bio-far-apart"),
    pytest.param(1, None, 1.0, id="one-label"),
]


@pytest.mark.parametrize(("labels", "forbidden", "scale"), CASES)
def test_loss_best_and_marginals_are_those_of_all_paths(labels: int, forbidden: Tensor | None, scale: float) -> None:
    crf, emission = crf_of(labels, forbidden=forbidden), emissions(labels, scale=scale)
    tag = torch.randint(labels, (ROWS, WORDS), generator=torch.Generator().manual_seed(1))
    loss, best, marginals = crf.loss(emission, tag, LENGTH).detach(), crf.best(emission, LENGTH), crf.marginals(emission, LENGTH)
    for row, length in enumerate(LENGTH.tolist()):
        assert best[row, length:].tolist() == [-1] * (WORDS - length)
        assert not marginals[row, length:].any()
        if not length:
            assert float(loss[row]) == 0.0
            continue
        paths = paths_of(crf, emission[row], length)
        total = log_sum(list(paths.values()))
        assert float(loss[row]) == pytest.approx(total - paths[tuple(tag[row, :length].tolist())], abs=1e-9, rel=1e-12)
        assert tuple(best[row, :length].tolist()) == max(paths, key=lambda tags: paths[tags])
        for time, label in itertools.product(range(length), range(labels)):
            share = sum(math.exp(score - total) for tags, score in paths.items() if tags[time] == label)
            assert float(marginals[row, time, label]) == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_it_predicts_in_inference_mode(scale: float) -> None:
    crf, emission = crf_of(5, forbidden=bio_forbidden(BIO)), emissions(5, scale=scale)
    tag = torch.zeros(ROWS, WORDS, dtype=torch.long)
    expected = crf.loss(emission, tag, LENGTH), crf.best(emission, LENGTH), crf.marginals(emission, LENGTH)
    with torch.inference_mode():
        emission, length = emissions(5, scale=scale), LENGTH.clone()
        found = crf.loss(emission, tag, length), crf.best(emission, length), crf.marginals(emission, length)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert not found[2].requires_grad


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_the_gradients_are_right_whichever_way_the_sum_is_made(scale: float) -> None:
    crf = crf_of(5, forbidden=bio_forbidden(BIO))
    emission = emissions(5)
    emission[0, 0, 0] = scale
    tag = torch.tensor([[1, 2, 0, 3], [0, 9, 9, 9], [9, 9, 9, 9], [3, 4, 4, -100]])

    def total(emission: Tensor, transition: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        loss: Tensor = torch.func.functional_call(  # type: ignore[no-untyped-call]
            _Loss(crf), {"crf.transition": transition, "crf.begin": begin, "crf.end": end}, (emission, tag)
        )
        return loss

    values = [emission, *(parameter.detach().clone() for parameter in (crf.transition, crf.begin, crf.end))]
    assert torch.autograd.gradcheck(total, [value.requires_grad_() for value in values])


class _Loss(torch.nn.Module):
    def __init__(self, crf: CRF) -> None:
        super().__init__()
        self.crf = crf

    def forward(self, emission: Tensor, tag: Tensor) -> Tensor:
        return self.crf.loss(emission, tag, LENGTH) * torch.tensor([1.0, 2.0, 3.0, 0.5])  # rows that count differently


def test_padding_is_never_looked_at() -> None:
    crf, emission = crf_of(5, forbidden=bio_forbidden(BIO)), emissions(5)
    tag = torch.zeros(ROWS, WORDS, dtype=torch.long)
    wide = torch.full((ROWS, WORDS + 3, 5), torch.nan, dtype=torch.float64)
    behind = torch.arange(WORDS) >= LENGTH[:, None]
    wide[:, :WORDS] = emission.masked_fill(behind[:, :, None], torch.inf)
    wide_tag = torch.full((ROWS, WORDS + 3), -100)
    wide_tag[:, :WORDS] = tag.masked_fill(behind, 77)
    assert torch.equal(crf.best(wide, LENGTH)[:, :WORDS], crf.best(emission, LENGTH))
    assert torch.equal(crf.marginals(wide, LENGTH)[:, :WORDS], crf.marginals(emission, LENGTH))
    wide.requires_grad_()
    loss = crf.loss(wide, wide_tag, LENGTH)
    assert torch.equal(loss, crf.loss(emission, tag, LENGTH))
    loss.sum().backward()
    assert wide.grad is not None
    moved = wide.grad.abs().amax(2) > 0
    assert torch.equal(moved, torch.arange(WORDS + 3) < LENGTH[:, None])


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_single_precision_is_enough(scale: float) -> None:
    crf, emission = crf_of(20), emissions(20, rows=8, words=64, scale=scale)
    length = torch.tensor([64, 1, 0, 33, 64, 2, 7, 64])
    tag = torch.randint(20, (8, 64), generator=torch.Generator().manual_seed(1))
    exact, best = crf.loss(emission, tag, length), crf.best(emission, length)
    crf = crf.float()
    rough = emission.float().requires_grad_()
    loss = crf.loss(rough, tag, length)
    loss.sum().backward()
    assert loss.dtype == torch.float32
    assert torch.allclose(loss.double(), exact, rtol=1e-5, atol=1e-4)
    for parameter in (rough, *crf.parameters()):
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
    assert torch.equal(crf.best(rough, length), best)
    assert torch.allclose(crf.marginals(rough, length).sum(2), (torch.arange(64) < length[:, None]).float(), atol=1e-4)


def test_half_precision_is_widened() -> None:
    crf, emission = CRF(5).bfloat16(), emissions(5).bfloat16()
    loss = crf.loss(emission, torch.zeros(ROWS, WORDS, dtype=torch.long), LENGTH)
    assert loss.dtype == torch.float32
    assert torch.allclose(loss, CRF(5).loss(emission.float(), torch.zeros(ROWS, WORDS, dtype=torch.long), LENGTH))


@pytest.mark.parametrize(("rows", "words"), [(2, 0), (0, 3)])
def test_nothing_to_tag(rows: int, words: int) -> None:
    crf, emission, length = CRF(5), torch.zeros(rows, words, 5, requires_grad=True), torch.zeros(rows, dtype=torch.long)
    tag = torch.zeros(rows, words, dtype=torch.long)
    crf.loss(emission, tag, length).sum().backward()
    assert crf.loss(emission, tag, length).tolist() == [0.0] * rows
    assert crf.best(emission, length).shape == (rows, words)
    assert crf.marginals(emission, length).shape == (rows, words, 5)


def test_decoded_tags_are_always_well_formed() -> None:
    crf, emission = crf_of(5, forbidden=bio_forbidden(BIO)), emissions(5, rows=50, words=30, scale=8.0)
    plain = emission.argmax(2)
    begins = torch.full((50, 1), 5)
    follows = bio_forbidden(BIO)
    assert follows[torch.cat([begins, plain[:, :-1]], 1), plain].any()
    best = crf.best(emission, torch.full((50,), 30))
    assert not follows[torch.cat([begins, best[:, :-1]], 1), best].any()


def test_it_learns_which_tag_follows_which() -> None:
    """Emissions say nothing; only the transitions can tell that tags go 0, 1, 2, 0, 1, 2."""
    crf, tag = CRF(3), torch.arange(12).remainder(3)[None]
    emission, length = torch.zeros(1, 12, 3), torch.tensor([12])
    optimizer = torch.optim.Adam(crf.parameters(), lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        crf.loss(emission, tag, length).sum().backward()
        optimizer.step()
    assert torch.equal(crf.best(emission, length), tag)
    assert crf.loss(emission, tag, length).item() < 0.5
    assert set(crf.state_dict()) == {"transition", "begin", "end"}


def test_tags_without_a_kind_are_bio_too() -> None:
    assert bio_forbidden(["B", "I"]).tolist() == [[False, False], [False, False], [False, True]]


def test_impossible_declarations_are_refused() -> None:
    with pytest.raises(PlumeError, match="I-LOC"):
        bio_forbidden(["O", "B-PER", "I-LOC"])
    with pytest.raises(PlumeError, match="at least one label"):
        CRF(0)
    with pytest.raises(PlumeError, match=r"\[4, 3\]"):
        CRF(3, forbidden=torch.zeros(3, 3))
    closed = torch.zeros(4, 3, dtype=torch.bool)
    closed[1] = True
    with pytest.raises(PlumeError, match="none may follow"):
        CRF(3, forbidden=closed)
