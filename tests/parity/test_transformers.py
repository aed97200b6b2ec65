"""Every family against its transformers class in float64: hidden states, logits, losses and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from plume.core.batch import Batch, Target
from plume.core.part import replace
from plume.heads.sentence_classification import SentenceClassification
from plume.hf.export import config_of
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.recipes import _catalog as catalog

TOLERANCE = 1e-9
VOCABULARY = 60
LENGTHS = [9, 12, 5]
FAMILIES = ["bert", "bert-wwm", "roberta", "roberta-wwm", "albert", "electra", "gpt", "gpt2"]


@dataclass
class Pair:
    """One of our models and the transformers model with the same weights."""

    ours: Model
    theirs: Any
    body: Any


def tiny(family: str) -> Any:
    recipe = catalog.recipe(f"{family}/tiny")
    factorised = catalog.recipe(family).embedding.width != catalog.recipe(family).network.width or family == "electra"
    heads = {o.name: replace(o.head, dropout=0.0) if isinstance(o.head, SentenceClassification) else o.head for o in recipe.objectives}
    return replace(
        recipe,
        objectives=tuple(replace(objective, head=heads[objective.name]) for objective in recipe.objectives),
        embedding=replace(recipe.embedding, width=16 if factorised else 32),
        network=replace(recipe.network, width=32, depth=3, heads=4, feed_forward=48 if "gpt" not in family else 128),
        positions=replace(recipe.positions, longest=16),
        training=replace(recipe.training, length=16),
    )


def pair(family: str) -> Pair:
    recipe = tiny(family)
    bridge = catalog.bridge(recipe)
    assert bridge is not None
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).double()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():  # everywhere different from its initial value, norms and biases too
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
    config = transformers.AutoConfig.for_model(**config_of(recipe, bridge, vocabulary=VOCABULARY))
    config._attn_implementation = "eager"
    theirs = getattr(transformers, bridge.architecture(recipe))(config).double()
    state = bridge.keys.revert({name: value for name, value in state_of(model).items() if not _generators(name, recipe)})
    report = theirs.load_state_dict(state, strict=False)
    assert not report.unexpected_keys
    theirs.tie_weights()
    tied = {"cls.predictions.decoder", "lm_head", "predictions.decoder", "lm_head.decoder"}
    assert {key.rsplit(".", 1)[0] for key in report.missing_keys} <= tied, report.missing_keys
    return Pair(ours=model.train(), theirs=theirs.train(), body=getattr(theirs, theirs.base_model_prefix))


def _generators(name: str, recipe: Any) -> bool:
    return recipe.assembly.generates and (name.startswith("generator.") or name.startswith("heads.masked_lm"))


def inputs(padded: bool, segments: int) -> tuple[Batch, dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(7)
    length = torch.tensor(LENGTHS if padded else [12, 12, 12])
    tokens = torch.randint(5, VOCABULARY, (3, 12), generator=generator)
    inside = torch.arange(12) < length[:, None]
    segment = (torch.arange(12) >= 4).long().expand(3, 12) if segments > 1 else None
    theirs = {"input_ids": tokens, "attention_mask": inside.long()}
    if segment is not None:
        theirs["token_type_ids"] = segment
    return Batch(tokens=tokens, length=length if padded else None, segment=segment), theirs


def close(ours: Tensor, theirs: Tensor, what: str) -> None:
    difference = float((ours - theirs).detach().abs().max())
    assert difference < TOLERANCE, f"{what} differs by {difference}"


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_and_attention(family: str, padded: bool) -> None:
    both = pair(family)
    batch, theirs = inputs(padded, both.ours.recipe.embedding.segments)
    batch = replace(batch, order=both.ours.recipe.noise.order)
    if family == "roberta":  # its positions come from the padding id, which these tokens do not contain
        theirs["position_ids"] = torch.arange(12).expand(3, 12) + 2
    expected = both.body(**theirs, output_hidden_states=True, output_attentions=True)
    encoded = both.ours.encode(batch, keep_layers=True, record_attention=True)
    inside = torch.ones(3, 12, dtype=torch.bool) if batch.length is None else torch.arange(12) < batch.length[:, None]
    assert len(encoded.layers) == len(expected.hidden_states) == 4
    for number, (ours, reference) in enumerate(zip(encoded.layers, expected.hidden_states, strict=True)):
        close(ours[inside], reference[inside], f"layer {number}")
    for number, (ours, reference) in enumerate(zip(encoded.attention, expected.attentions, strict=True)):
        close(ours.transpose(1, 2)[inside], reference.transpose(1, 2)[inside], f"attention {number}")
    with torch.no_grad():
        fused = both.ours.eval().encode(batch)
    close(fused.last[inside], expected.last_hidden_state[inside], "fused attention")


def masked_labels(batch: Batch) -> tuple[Target, Tensor]:
    index = torch.tensor([1, 4, 8, 13, 20, 25, 27])
    value = torch.tensor([9, 8, 7, 6, 9, 30, 11])
    dense = torch.full((36,), -100).scatter(0, index, value).view(3, 12)
    return Target(index=index, value=value), dense


def total(model: Model, batch: Batch) -> Tensor:
    weight = {objective.name: objective.weight for objective in model.recipe.objectives}
    losses = model.losses(batch)
    return torch.stack([weight[name] * loss.total / loss.count for name, loss in losses.items()]).sum()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "electra"])
def test_pretraining_loss_and_gradients(family: str, padded: bool) -> None:
    both = pair(family)
    recipe = both.ours.recipe
    batch, theirs = inputs(padded, recipe.embedding.segments)
    if family == "roberta":
        theirs["position_ids"] = torch.arange(12).expand(3, 12) + 2
    names = [objective.name for objective in recipe.objectives]
    if "causal_lm" in names:
        inside = theirs["attention_mask"].bool()
        theirs["labels"] = theirs["input_ids"].masked_fill(~inside, -100)
        index = inside[:, 1:].flatten().nonzero().squeeze(1)
        batch = Batch(
            tokens=batch.tokens[:, :-1],
            length=None if batch.length is None else batch.length - 1,
            order=recipe.noise.order,
            labels={"causal_lm": Target(index=index, value=batch.tokens[:, 1:].flatten()[index])},
        )
    else:
        target, theirs["labels"] = masked_labels(batch)
        labels = {"masked_lm": target}
        sentence = torch.tensor([0, 1, 1])
        for name, argument in (("next_sentence", "next_sentence_label"), ("sentence_order", "sentence_order_label")):
            if name in names:
                theirs[argument] = sentence
                labels[name] = Target(index=torch.arange(3) * 12, value=sentence)
        batch = replace(batch, labels=labels)
    if "causal_lm" in names:  # transformers casts these logits to float32 before its loss, so the loss is taken from the logits
        answers = theirs.pop("labels")[:, 1:].flatten()
        expected = torch.nn.functional.cross_entropy(both.theirs(**theirs).logits[:, :-1].flatten(0, 1), answers)
    else:
        expected = both.theirs(**theirs).loss
    loss = total(both.ours, batch)
    close(loss, expected, "loss")
    expected.backward()
    loss.backward()
    assert_gradients(both)


def assert_gradients(both: Pair) -> None:
    bridge = catalog.bridge(both.ours.recipe)
    assert bridge is not None
    theirs = {name: parameter.grad for name, parameter in both.theirs.named_parameters() if parameter.grad is not None}
    for copy, original in bridge.keys.copies:
        if copy in theirs and original not in theirs:
            theirs[original] = theirs.pop(copy)
        theirs.pop(copy, None)
    found = bridge.keys.apply(theirs)
    ours = {name: parameter.grad for name, parameter in both.ours.named_parameters() if parameter.grad is not None}
    assert set(found) == set(ours)
    for name, gradient in ours.items():
        close(gradient, found[name], f"gradient of {name}")


@pytest.mark.parametrize("padded", [False, True])
def test_electra_discriminator_loss_and_gradients(padded: bool) -> None:
    both = pair("electra")
    batch, theirs = inputs(padded, 2)
    answers = (torch.arange(36).view(3, 12) % 5 == 0).long()
    inside = theirs["attention_mask"].bool()
    index = inside.flatten().nonzero().squeeze(1)
    head = both.ours.head("replaced_token_detection")
    found = head.loss(both.ours.encode(batch), Target(index=index, value=answers.flatten()[index]))
    logits = both.theirs(**theirs).logits[inside]
    # transformers' own loss makes float32 of the labels and with them of the result, so it is taken from the logits.
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, answers[inside].double())
    loss = found.total / found.count
    close(loss, expected, "loss")
    close(head.logits(both.ours.encode(batch).last)[inside], logits, "logits")
    loss.backward()
    expected.backward()
    assert_gradients(both)


@pytest.mark.parametrize("padded", [False, True])
def test_electra_generator_is_transformers_masked_lm(padded: bool) -> None:
    ours = pair("electra").ours
    bridge = catalog.bridge(ours.recipe)
    assert bridge is not None and bridge.second is not None
    config = transformers.AutoConfig.for_model(**config_of(ours.recipe, bridge.second, vocabulary=VOCABULARY))
    theirs = transformers.ElectraForMaskedLM(config).double().train()
    wanted = {k: v for k, v in state_of(ours).items() if _generators(k, ours.recipe) or k.startswith("embedding.")}
    report = theirs.load_state_dict(bridge.second.keys.revert(wanted), strict=False)
    theirs.tie_weights()
    assert not report.unexpected_keys and set(report.missing_keys) <= {"generator_lm_head.weight"}
    batch, inputs_theirs = inputs(padded, 2)
    target, dense = masked_labels(batch)
    expected = theirs(**inputs_theirs, labels=dense).loss
    loss = ours.head("masked_lm").loss(ours.token_states(batch), target)
    close(loss.total / loss.count, expected, "generator loss")


@pytest.mark.parametrize("family", ["bert", "albert", "gpt2"])
def test_reading_only_some_positions_changes_nothing(family: str) -> None:
    model = pair(family).ours
    batch, _ = inputs(True, model.recipe.embedding.segments)
    batch = replace(batch, order=model.recipe.noise.order)
    read = torch.tensor([[0, 3, 5], [2, 0, 11], [4, 1, 1]])
    whole = model.encode(batch).last
    some = model.encode(replace(batch, read=read)).last
    close(some, whole.gather(1, read[:, :, None].expand(-1, -1, whole.shape[2])), "read positions")
