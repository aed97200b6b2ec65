"""The CNN softmax: words' output vectors from their characters."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from plume.core.batch import Encoded, Target
from plume.core.errors import PlumeError
from plume.heads.cnn_softmax import CNNSoftmax, CNNSoftmaxModule
from plume.heads.head import Dims
from plume.nn.characters import CharacterCNN, character_ids

WIDTH, WORDS = 6, ["the", "cat", "cats", "dog", "dogs", "sat", "tea", "eat", "中", "中文", "ate", "a"]
CNN = CharacterCNN(filters=((1, 3), (2, 4), (3, 5)), width=4, longest=10, highways=1)


def head_of(*, samples: int = 5, correction: int = 3) -> CNNSoftmaxModule:
    torch.manual_seed(0)
    characters = torch.from_numpy(character_ids(WORDS, longest=10))
    head = CNNSoftmaxModule(CNNSoftmax(cnn=CNN, samples=samples, correction=correction), width=WIDTH, characters=characters).double()
    if head.correction is not None:
        nn.init.normal_(head.correction.weight)
    return head


def task() -> tuple[Encoded, Target]:
    hidden = torch.randn(1, 4, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    return Encoded(last=hidden), Target(index=torch.arange(4), value=torch.tensor([0, 5, 5, 9]), whole=True)


def test_scores_are_the_paper_s() -> None:
    """z_w = h · (CNN(chars_w) + M corr_w), arXiv:1602.02410 §3.2."""
    head, (encoded, _) = head_of(), task()
    assert head.correction is not None and head.widen is not None
    made = head.cnn(head.characters) + head.correction.weight @ head.widen.weight.t()
    assert float((head.logits(encoded.last) - encoded.last @ made.t()).detach().abs().max()) < 1e-12
    plain = head_of(correction=0)
    assert plain.correction is None
    assert float((plain.table() - plain.cnn(plain.characters)).detach().abs().max()) < 1e-12


def test_the_correction_starts_at_nothing_and_tells_like_words_apart() -> None:
    head = head_of()
    head.initialise()
    assert float((head.table() - head.cnn(head.characters)).detach().abs().max()) < 1e-12
    same = CNNSoftmaxModule(CNNSoftmax(cnn=CNN), width=WIDTH, characters=head.characters[[1, 1]]).double()
    assert same.correction is not None
    assert torch.equal(same.table()[0], same.table()[1])
    nn.init.normal_(same.correction.weight)
    assert not torch.allclose(same.table()[0], same.table()[1])


def test_with_as_many_samples_as_words_it_is_the_full_softmax() -> None:
    encoded, target = task()
    head = head_of(samples=len(WORDS))
    expected = F.cross_entropy(encoded.last[0] @ head.table().t(), target.value, reduction="sum")
    assert float((head.loss(encoded, target).total - expected).detach()) == pytest.approx(0, abs=1e-9)


def test_sampling_makes_only_the_vectors_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    head, (encoded, target) = head_of(samples=3), task()
    made: list[int] = []
    vectors = head.vectors
    monkeypatch.setattr(head, "vectors", lambda words: made.append(len(words)) or vectors(words))
    torch.manual_seed(2)
    losses = torch.stack([head.loss(encoded, target).total for _ in range(20)])
    assert max(made) <= 3 + 3  # three distinct answers
    losses.mean().backward()
    assert all(parameter.grad is not None and torch.isfinite(parameter.grad).all() for parameter in head.parameters())
    with torch.no_grad():
        full = head.loss(encoded, target)
    assert full.correct is not None
    assert full.count == 4
    many = head_of(samples=len(WORDS) - 1)
    near = torch.stack([many.loss(encoded, target).total.detach() for _ in range(50)]).mean()
    assert float(near) == pytest.approx(float(full.total), rel=0.05)


def test_the_table_is_kept_only_while_the_weights_stay() -> None:
    head = head_of()
    with torch.no_grad():
        first = head.table()
        assert head.table() is first
        head.cnn.project.weight += 0.1
        assert not torch.allclose(head.table(), first)
    assert head.table().requires_grad


def test_a_fused_step_is_noticed() -> None:
    """Fused optimizers change weights without raising their version; a run measures in evaluation mode."""
    head = head_of().eval()
    with torch.no_grad():
        first = head.table()
    head.train()
    optimizer = torch.optim.AdamW(head.parameters(), lr=0.1, fused=True)
    head.table().pow(2).sum().backward()
    optimizer.step()
    head.eval()
    with torch.no_grad():
        assert not torch.allclose(head.table(), first)


def test_the_characters_are_not_saved_and_must_be_given() -> None:
    assert not any("characters" in name for name in head_of().state_dict())
    with pytest.raises(PlumeError, match="table of their characters"):
        CNNSoftmax(cnn=CNN).build(Dims(width=WIDTH, token=nn.Embedding(3, WIDTH)))
    with pytest.raises(PlumeError, match="at least 1"):
        CNNSoftmax(samples=0)
