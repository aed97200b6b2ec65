"""Families with BERT's body or one like it, against their transformers classes in float64; what has no class, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from plume.core.batch import Batch, Order, Target
from plume.core.part import replace
from plume.hf.export import config_of
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.recipes import _catalog as catalog

TOLERANCE = 1e-9
VOCABULARY, TIME = 60, 12
LENGTHS = [9, 12, 5]
FAMILIES = ["spanbert", "ernie", "structbert", "unilm", "xlm"]
every_family = pytest.mark.parametrize("family", FAMILIES)
padded_or_not = pytest.mark.parametrize("padded", [False, True])


@pytest.fixture(autouse=True)
def doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLM's attention in transformers casts its scores to float32; here they stay as exact as the rest."""
    monkeypatch.setattr(Tensor, "float", lambda self: self if self.dtype == torch.float64 else self.to(torch.float32))


def built(recipe: Any) -> Model:
    """In float64, every parameter away from its first value, norms and biases too."""
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).double()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
    return model.train()


def small(family: str) -> Any:
    recipe = catalog.recipe(f"{family}/tiny")
    return replace(
        recipe,
        embedding=replace(recipe.embedding, width=32, dropout=0.0),
        network=replace(recipe.network, width=32, depth=3, heads=4, feed_forward=128, dropout=0.0),
        positions=replace(recipe.positions, longest=16),
        training=replace(recipe.training, length=16),
    )


def matched(family: str) -> tuple[Model, Any]:
    """Our model and the transformers model with the same weights."""
    recipe = small(family)
    bridge = catalog.bridge(recipe)
    assert bridge is not None
    model = built(recipe)
    config = transformers.AutoConfig.for_model(**config_of(recipe, bridge, vocabulary=VOCABULARY))
    config._attn_implementation = "eager"
    theirs = getattr(transformers, bridge.architecture(recipe))(config).double()
    state = {name: value for name, value in state_of(model).items() if not name.startswith(tuple(f"{part}." for part in bridge.unmatched))}
    written = bridge.keys.revert(state)
    if bridge.architecture(recipe) == list(bridge.architectures)[-1]:  # the bare model, without the prefix
        written = {name.removeprefix(bridge.prefix): value for name, value in written.items()}
    report = theirs.load_state_dict(written, strict=False)
    assert all(".pooler." in key for key in report.unexpected_keys), report.unexpected_keys  # a class without one, for a body that has it
    theirs.tie_weights()
    assert all("decoder" in key or key.startswith("pred_layer") or "pooler." in key for key in report.missing_keys), report.missing_keys
    return model, theirs.train()


def inputs(family: str, padded: bool) -> tuple[Batch, dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(7)
    tokens = torch.randint(5, VOCABULARY, (3, TIME), generator=generator)
    length = torch.tensor(LENGTHS if padded else [TIME] * 3)
    inside = (torch.arange(TIME) < length[:, None]).long()
    segment = torch.randint(0, 6 if family == "unilm" else 2, (3, TIME), generator=generator)
    theirs = {"input_ids": tokens, "attention_mask": inside, "langs" if family == "xlm" else "token_type_ids": segment}
    batch = Batch(tokens=tokens, length=length if padded else None, segment=segment)
    if family == "xlm":  # a sentence and its translation: positions begin again
        position = torch.cat([torch.arange(7), torch.arange(5)]).expand(3, TIME)
        batch, theirs = replace(batch, position=position), theirs | {"position_ids": position}
    return batch, theirs


def close(ours: Tensor, theirs: Tensor, what: str) -> None:
    difference = float((ours - theirs).detach().abs().max())
    assert difference < TOLERANCE, f"{what} differs by {difference}"


@padded_or_not
@every_family
def test_hidden_states_and_attention(family: str, padded: bool) -> None:
    model, theirs = matched(family)
    batch, given = inputs(family, padded)
    expected = getattr(theirs, theirs.base_model_prefix, theirs)(**given, output_hidden_states=True, output_attentions=True)
    encoded = model.encode(batch, keep_layers=True, record_attention=True)
    inside = given["attention_mask"].bool()
    assert len(encoded.layers) == len(expected.hidden_states) == 4
    for number, (ours, reference) in enumerate(zip(encoded.layers, expected.hidden_states, strict=True)):
        close(ours[inside], reference[inside], f"layer {number}")
    for number, (ours, reference) in enumerate(zip(encoded.attention, expected.attentions, strict=True)):
        close(ours.transpose(1, 2)[inside], reference.transpose(1, 2)[inside], f"attention {number}")


@padded_or_not
@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradients(family: str, padded: bool) -> None:
    """Of the heads that transformers has."""
    model, theirs = matched(family)
    batch, given = inputs(family, padded)
    bridge = catalog.bridge(model.recipe)
    assert bridge is not None
    held = bridge.architectures[bridge.architecture(model.recipe)]
    labels = {}
    if "masked_lm" in held:
        index, value = torch.tensor([1, 4, 8, 13, 20, 25, 27]), torch.tensor([9, 8, 7, 6, 9, 30, 11])
        labels["masked_lm"] = Target(index=index, value=value)
        given["labels"] = torch.full((36,), -100).scatter(0, index, value).view(3, TIME)
    if "next_sentence" in held:
        given["next_sentence_label"] = torch.tensor([0, 1, 1])
        labels["next_sentence"] = Target(index=torch.arange(3) * TIME, value=torch.tensor([0, 1, 1]))
    losses = model.losses(replace(batch, labels=labels))
    loss = torch.stack([part.total / part.count for part in losses.values()]).sum()
    if family == "xlm":  # its own loss cannot leave tokens out
        logits = theirs(**{name: value for name, value in given.items() if name != "labels"}).logits
        expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), given["labels"].flatten())
    else:
        expected = theirs(**given).loss
    close(loss, expected, "loss")
    loss.backward()
    expected.backward()
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters() if parameter.grad is not None}
    for copy, original in bridge.keys.copies:
        if copy in gradients and original not in gradients:
            gradients[original] = gradients.pop(copy)
        gradients.pop(copy, None)
    found = bridge.keys.apply(gradients)
    ours = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert set(found) == set(ours)
    for name, gradient in ours.items():
        close(gradient, found[name], f"gradient of {name}")


# GLM, which transformers has not: its body in numpy, from the paper (§2.2) and Megatron's layers.


def glm_oracle(state: dict[str, np.ndarray], batch: Batch, *, depth: int, heads: int) -> np.ndarray:
    """[B, T, V] scores."""
    tokens, position, within, rank = (np.asarray(getattr(batch, name)) for name in ("tokens", "position", "within", "rank"))
    value = state["embedding.token.weight"][tokens] + state["embedding.position.table.weight"][position]
    value = value + state["embedding.position.inner.weight"][within]
    allowed = rank[:, None, :] <= rank[:, :, None]
    if batch.length is not None:
        allowed = allowed & (np.arange(tokens.shape[1]) < np.asarray(batch.length)[:, None])[:, None, :]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * state[f"{name}.weight"] + state[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def split(x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)

    for layer in range(depth):
        block = f"stack.blocks.{layer}"
        seen = norm(value, f"{block}.attention_norm")
        query, key, mixed = (split(linear(seen, f"{block}.attention.{part}")) for part in ("query", "key", "value"))
        score = np.where(allowed[:, None], query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1]), -np.inf)
        weight = np.exp(score - score.max(-1, keepdims=True))
        weight /= weight.sum(-1, keepdims=True)
        value = value + linear((weight @ mixed).transpose(0, 2, 1, 3).reshape(value.shape), f"{block}.attention.output")
        inner = linear(norm(value, f"{block}.feed_forward_norm"), f"{block}.feed_forward.inner")
        inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        value = value + linear(inner, f"{block}.feed_forward.output")
    return norm(value, "stack.final_norm") @ state["embedding.token.weight"].T


@padded_or_not
def test_glm_is_a_numpy_oracle(padded: bool) -> None:
    model = built(small("glm"))
    assert {name.split(".")[0] for name, _ in model.named_parameters()} == {"embedding", "stack"}  # a tied head without a bias
    generator = torch.Generator().manual_seed(7)
    lengths = torch.tensor(LENGTHS)
    # Part A of 4 tokens with its mask at 2; part B goes on with the mask's position and counts inside.
    position = torch.tensor([0, 1, 2, 3] + [2] * 8).expand(3, TIME)
    behind = torch.tensor([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]).expand(3, TIME)
    batch = Batch(
        tokens=torch.randint(5, VOCABULARY, (3, TIME), generator=generator),
        length=lengths if padded else None,
        order=Order.RANKED,
        rank=behind,
        position=position,
        within=behind,
    )
    state = {name: value.detach().numpy() for name, value in state_of(model).items()}
    expected = torch.from_numpy(glm_oracle(state, batch, depth=3, heads=4))
    inside = torch.arange(TIME) < (lengths if padded else torch.tensor([TIME] * 3))[:, None]
    close(model.head("blank_infilling").logits(model.encode(batch).last)[inside], expected[inside], "scores")
