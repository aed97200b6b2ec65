"""RAG's likelihoods and decodings against a page of numpy, and its losses against transformers'."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from plume.core.part import replace
from plume.model.use.writers import Writer
from plume.retrieval.rag.decoding import Decoder, MixedWriter
from plume.retrieval.rag.likelihood import answer_log_likelihood, shares
from plume.tasks.rag import TASK, Likelihood, SequenceDecoding


def made(rows: int = 3, k: int = 4, time: int = 5) -> tuple[Any, Any, Any]:
    source = np.random.default_rng(5)
    passages = torch.tensor(source.normal(size=(rows, k))).log_softmax(-1)
    tokens = -torch.tensor(source.exponential(size=(rows, k, time)))
    return passages, tokens, torch.arange(time) < torch.tensor([[time], [2], [3]])


def test_both_are_the_papers() -> None:
    """§2.1: Σ_z p(z) Π_i p(y_i | z), and Π_i Σ_z p(z) p(y_i | z)."""
    passages, tokens, inside = made()
    found = {kind: answer_log_likelihood(passages, tokens, inside, kind).exp().numpy() for kind in Likelihood}
    prior, each = passages.exp().numpy(), tokens.exp().numpy()
    for row, size in enumerate(inside.sum(1).tolist()):
        whole = sum(prior[row, z] * np.prod(each[row, z, :size]) for z in range(4))
        by_token = np.prod([sum(prior[row, z] * each[row, z, i] for z in range(4)) for i in range(size)])
        assert found[Likelihood.SEQUENCE][row] == pytest.approx(whole, abs=1e-12)
        assert found[Likelihood.TOKEN][row] == pytest.approx(by_token, abs=1e-12)
        part = [prior[row, z] * np.prod(each[row, z, :size]) / whole for z in range(4)]
        np.testing.assert_allclose(shares(passages, tokens, inside)[row].numpy(), part, atol=1e-12)


def theirs(likelihood: Likelihood, logits: Tensor, scores: Tensor, target: Tensor) -> Tensor:
    """transformers' loss of each row; it drops the first token of the target and masks the padding at the end."""
    rag = pytest.importorskip("transformers.models.rag.modeling_rag")
    kind = rag.RagSequenceForGeneration if likelihood is Likelihood.SEQUENCE else rag.RagTokenForGeneration
    generator = SimpleNamespace(pad_token_id=0, bos_token_id=None)
    model = SimpleNamespace(config=SimpleNamespace(n_docs=scores.shape[1], bos_token_id=None, generator=generator))
    model.marginalize = lambda *given: rag.RagTokenForGeneration.marginalize(model, *given)
    begun = torch.cat([torch.ones_like(target[:, :1]), target], 1)
    logits = torch.cat([logits, logits[:, :1]], 1)
    found: Tensor = kind.get_nll(model, logits, scores, begun, n_docs=scores.shape[1])
    return found.flatten()


@pytest.mark.parametrize("time", [1, 4])
@pytest.mark.parametrize("likelihood", list(Likelihood))
def test_transformers_says_the_same(likelihood: Likelihood, time: int) -> None:
    """But for answers of one token, which lose the passages' scores there: it adds them at the second position."""
    rows, k, vocabulary = 2, 3, 11
    source = np.random.default_rng(2)
    logits, scores = torch.tensor(source.normal(size=(rows * k, time, vocabulary))), torch.tensor(source.normal(size=(rows, k)))
    target = torch.tensor(source.integers(2, vocabulary, size=(rows, time)))
    log = logits.log_softmax(-1).view(rows, k, time, vocabulary)
    tokens = log.gather(3, target[:, None, :, None].expand(rows, k, time, 1)).squeeze(3)
    inside = torch.ones(rows, time, dtype=torch.bool)
    ours = -answer_log_likelihood(scores.log_softmax(-1), tokens, inside, likelihood)
    same = torch.allclose(ours, theirs(likelihood, logits, scores, target), atol=1e-9)
    assert same == (time > 1 or likelihood is Likelihood.TOKEN)


class Chain(Writer):
    """Scores that depend on the row's source and on the last token alone."""

    def __init__(self, first: Tensor, following: Tensor) -> None:
        self.start, self.following, self.source = first, following, torch.arange(len(first))
        self.device, self.head, self.model = torch.device("cpu"), None, None  # type: ignore[assignment]

    @property
    def rows(self) -> int:
        return len(self.source)

    def first(self) -> Tensor:
        return self.start[self.source]

    def go_on(self, tokens: Tensor) -> Tensor:
        return self.following[self.source, tokens]

    def reorder(self, rows: Tensor) -> None:
        self.source = self.source[rows]


STOP, ROOM, WORDS = 3, 2, 4


class Toy(Decoder):
    """A decoder over chains: two passages, four words, answers of two words at most."""

    def _writer_of(self, rows: Any) -> Writer:
        return Chain(FIRST, FOLLOWING)

    def _scored(self, candidates: Any, rows: Any, passages: Tensor) -> Any:
        tokens = torch.stack([torch.stack([_path(z, (*text, STOP)) for z in range(2)]) for text in candidates])
        inside = torch.tensor([[i < len(text) + 1 for i in range(ROOM + 1)] for text in candidates])
        prior = passages.expand(len(candidates), 2)
        total = answer_log_likelihood(prior, tokens, inside, self.task.likelihood)
        return [SimpleNamespace(tokens=text, log_probability=float(one)) for text, one in zip(candidates, total, strict=True)]


_SOURCE = np.random.default_rng(11)
FIRST = torch.tensor(_SOURCE.normal(size=(2, WORDS)) * 2).log_softmax(-1).float()
FOLLOWING = torch.tensor(_SOURCE.normal(size=(2, WORDS, WORDS)) * 2).log_softmax(-1).float()


def _path(passage: int, text: tuple[int, ...]) -> Tensor:
    scores = [FIRST[passage, text[0]], *(FOLLOWING[passage, a, b] for a, b in itertools.pairwise(text))]
    return torch.stack([*scores, *[torch.zeros(())] * (ROOM + 1 - len(text))])


def everything(likelihood: Likelihood, logits: np.ndarray) -> dict[tuple[int, ...], float]:
    """The log-likelihood of every answer that can be written."""
    texts = [text for size in range(ROOM + 1) for text in itertools.product(range(STOP), repeat=size)]
    prior = torch.tensor(logits).log_softmax(-1)[None]
    made = {}
    for text in texts:
        tokens = torch.stack([_path(z, (*text, STOP)) for z in range(2)])[None]
        inside = (torch.arange(ROOM + 1) < len(text) + 1)[None]
        made[text] = float(answer_log_likelihood(prior, tokens, inside, likelihood))
    return made


@pytest.mark.parametrize("tilt", [0.0, 1.0, -2.0])
def test_thorough_decoding_finds_the_likeliest_answer(tilt: float) -> None:
    """With beams as wide as all answers; fast decoding says at most as much."""
    logits = np.array([tilt, 0.0], np.float32)
    every = everything(Likelihood.SEQUENCE, logits)
    task = replace(TASK, beams=16)
    decoder = Toy(writer=torch.nn.Linear(1, 1), way=SimpleNamespace(opening=(), end=STOP), task=task, room=ROOM)  # type: ignore[arg-type]
    found = decoder.decode([0, 1], logits)  # type: ignore[arg-type]
    assert found.log_probability == pytest.approx(max(every.values()), abs=1e-5) and every[found.tokens] == max(every.values())
    fast = replace(decoder, task=replace(task, decoding=SequenceDecoding.FAST)).decode([0, 1], logits)  # type: ignore[arg-type]
    assert sum(fast.shares) == pytest.approx(1.0, abs=1e-5)
    if len(fast.tokens) < ROOM:  # else it had no room to stop
        assert fast.log_probability <= found.log_probability + 1e-5


def test_a_mixed_writer_gives_the_token_likelihood() -> None:
    prior = torch.tensor([[0.3, 0.7]]).log()
    writer = MixedWriter(Chain(FIRST, FOLLOWING), prior)
    text = (2, 0, STOP)
    total = float(writer.first()[0, text[0]])
    for before, after in itertools.pairwise(text):
        total += float(writer.go_on(torch.tensor([before]))[0, after])
    assert total == pytest.approx(everything(Likelihood.TOKEN, prior[0].numpy())[text[:-1]], abs=1e-5)
