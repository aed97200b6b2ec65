"""DeepMoji against a network written from its paper (arXiv:1708.00524 §3.2) in plain torch: nn.LSTM, attention and softmax written out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Batch, Target
from plume.core.part import replace
from plume.nn.recurrent.layer import RecurrentLayer

ROWS, TIME, VOCABULARY = 4, 9, 60
LENGTH = torch.tensor([9, 3, 1, 6])


def lstm_of(onward: RecurrentLayer, back: RecurrentLayer) -> nn.LSTM:
    """torch has the gates in the order input, forget, candidate, output; plume output, input, forget, candidate."""
    made = nn.LSTM(onward.input.shape[1], onward.width, bidirectional=True, batch_first=True).double()
    for layer, suffix in ((onward, "l0"), (back, "l0_reverse")):
        for name, value in (("weight_ih", layer.input), ("weight_hh", layer.recurrent), ("bias_ih", layer.bias)):
            output, *others = value.detach().chunk(4)
            getattr(made, f"{name}_{suffix}").data.copy_(torch.cat([*others, output]))
        getattr(made, f"bias_hh_{suffix}").data.zero_()
    return made


def lstms_of(model: Any) -> list[nn.LSTM]:
    return [lstm_of(onward.layer(0), back.layer(0)) for onward, back in zip(model.encoder.onward, model.encoder.back, strict=True)]


def logits_of(model: Any, lstms: list[nn.LSTM], tokens: Tensor, *, features: bool = False) -> Tensor:
    """One text after another, without padding: so nothing can leak from it."""
    head = model.head("emoji_prediction")
    found = []
    for row, length in zip(tokens, LENGTH.tolist(), strict=True):
        words = model.embedding.token.weight[row[None, :length]].tanh()
        first, _ = lstms[0](words)
        second, _ = lstms[1](first)
        joined = torch.cat([second, first, words], dim=2)[0]  # [T, 2H + 2H + E]
        score = torch.exp(joined @ head.attention.weight[0])
        text = (score / score.sum()) @ joined
        found.append(text if features else head.output.weight @ text + head.output.bias)
    return torch.stack(found)


@pytest.fixture
def model(miniature: Any, built: Any) -> Any:
    return built(miniature("deepmoji"), vocabulary=VOCABULARY).eval()


@pytest.fixture
def batch() -> Batch:
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(3, VOCABULARY, (ROWS, TIME), generator=generator)
    context = torch.arange(ROWS * TIME).view(ROWS, TIME)
    answer = torch.tensor([5, 0, 63, 5])
    return Batch(
        tokens=tokens,
        length=LENGTH,
        labels={"emoji_prediction": Target(index=context[:, 0], value=answer, context=context, feature=LENGTH)},
    )


def test_loss_and_gradients(model: Any, batch: Batch) -> None:
    """In training with the penalty of 1e-6 on the squares of all word vectors, also those that no text has."""
    assert model.recipe.assembly.penalty == 1e-6
    found = model.losses(batch)["emoji_prediction"]
    (found.total / found.count).backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    lstms = lstms_of(model)
    expected = F.cross_entropy(logits_of(model, lstms, batch.tokens), batch.labels["emoji_prediction"].value)
    expected = expected + 1e-6 * (model.embedding.token.weight**2).sum()
    expected.backward()
    assert float(found.total.detach() / found.count) == pytest.approx(float(expected.detach()), abs=1e-9)
    own = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    for number, lstm in enumerate(lstms):
        for side, suffix in (("onward", "l0"), ("back", "l0_reverse")):
            for name, theirs in (("input", "weight_ih"), ("recurrent", "weight_hh"), ("bias", "bias_ih")):
                *others, output = getattr(lstm, f"{theirs}_{suffix}").grad.chunk(4)
                own[f"encoder.{side}.{number}.layers.0.{name}"] = torch.cat([output, *others])
    assert own.keys() == gradients.keys()
    for name, gradient in own.items():
        assert float(gradient.abs().max()) > 0 and torch.allclose(gradients[name], gradient, atol=1e-9), name


def test_without_gradients_nothing_is_added(model: Any, batch: Batch) -> None:
    with torch.no_grad():
        loss = model.losses(batch)["emoji_prediction"]
        expected = F.cross_entropy(logits_of(model, lstms_of(model), batch.tokens), batch.labels["emoji_prediction"].value, reduction="sum")
        assert float(loss.total) == pytest.approx(float(expected), abs=1e-9)


def test_one_vector_a_text_is_weighted_by_attention(model: Any, batch: Batch) -> None:
    """The paper's features, 2304 at its size."""
    with torch.no_grad():
        encoded = model.encode(batch, keep_layers=True)
        expected = logits_of(model, lstms_of(model), batch.tokens, features=True)
        assert torch.allclose(model.pool(encoded, -1, LENGTH), expected, atol=1e-9)
    assert [layer.shape[-1] for layer in encoded.layers] == [16, 64, 2 * 64 + 16]


def test_a_row_loses_whole_channels(miniature: Any, built: Any) -> None:
    recipe = miniature("deepmoji")
    recipe = replace(recipe, embedding=replace(recipe.embedding, dropout=0.5))
    embedding = built(recipe, vocabulary=VOCABULARY).embedding.train()
    torch.manual_seed(0)
    with torch.no_grad():
        made = embedding(torch.arange(3, 43).view(4, 10), torch.arange(10)[None], None)
    lost = made == 0
    assert torch.equal(lost, lost[:, :1].expand_as(lost)) and 0.3 < float(lost.double().mean()) < 0.7
    assert not torch.equal(lost[0], lost[1])
    with torch.no_grad():
        kept = embedding.eval()(torch.arange(3, 43).view(4, 10), torch.arange(10)[None], None)
    assert float(kept.abs().max()) < 1 and torch.allclose(made[~lost], 2 * kept[~lost])
