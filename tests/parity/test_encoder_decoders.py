"""Encoder–decoders against their transformers class in float64: every layer of both sides, attention, logits, losses and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor
from transformers.models.t5.modeling_t5 import T5LayerNorm

from plume.core.batch import Batch, Order, Target
from plume.core.part import replace
from plume.hf.export import config_of
from plume.model.checkpoint import state_of
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.recipes import _catalog as catalog

TOLERANCE = 1e-9
VOCABULARY, SOURCE, TIME = 60, 12, 9
LENGTHS, WRITTEN = [9, 12, 5], [9, 4, 7]
MODELS = ["transformer/tiny", "bart/tiny", "pegasus/tiny", "t5/tiny", "t5/v1.1-small"]
IDS = {"pad_token_id": 0, "eos_token_id": 2, "bos_token_id": 1, "decoder_start_token_id": 2, "forced_eos_token_id": None}


@dataclass
class Pair:
    """One of our models and the transformers model with the same weights."""

    ours: EncoderDecoderModel
    theirs: Any
    body: Any


def tiny(name: str) -> Any:
    recipe = catalog.recipe(name)
    longest = None if recipe.positions.longest is None else 16
    return replace(
        recipe,
        embedding=replace(recipe.embedding, width=32, dropout=0.0),
        network=replace(
            recipe.network, width=32, depth=3, heads=4, feed_forward=48, key_width=12 if "v1.1" in name else None, dropout=0.0,
            attention_dropout=0.0,
        ),
        assembly=replace(recipe.assembly, depth=2),  # the two sides may differ
        training=replace(recipe.training, length=16),
        positions=replace(recipe.positions, longest=longest),
    )  # fmt: skip


def pair(name: str) -> Pair:
    recipe = tiny(name)
    bridge = catalog.bridge(recipe)
    assert bridge is not None
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).double()
    assert isinstance(model, EncoderDecoderModel)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():  # everywhere different from its initial value, norms and biases too
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
    config = transformers.AutoConfig.for_model(**(config_of(recipe, bridge, vocabulary=VOCABULARY) | IDS))
    config._attn_implementation = "eager"
    theirs = getattr(transformers, bridge.architecture(recipe))(config).double()
    state = bridge.keys.revert(state_of(model))
    if "lm_head.weight" in state:  # transformers ties the two when it builds, and parts them where a checkpoint has both
        theirs.lm_head.weight = torch.nn.Parameter(state["lm_head.weight"].clone())
    else:
        theirs.tie_weights()
    report = theirs.load_state_dict(state, strict=False)
    assert not report.unexpected_keys
    known = ("embed_tokens.weight", "lm_head.weight", "final_logits_bias")
    if not recipe.positions.longest or name.startswith(("transformer", "pegasus")):
        known += ("embed_positions.weight",)
    assert all(key.endswith(known) for key in report.missing_keys), report.missing_keys
    body = getattr(theirs, "model", theirs)
    for part in (body.encoder, body.decoder):
        _in_double(part, model)
    return Pair(ours=model.train(), theirs=theirs.train(), body=body)


def _in_double(theirs: Any, model: EncoderDecoderModel) -> None:
    """Two things transformers computes in float32 whatever the weights are: fixed positions, and the mean of T5's norm."""
    table = getattr(theirs, "embed_positions", None)
    if table is not None and not table.weight.requires_grad:
        ours = model.embedding.position.at_input(torch.arange(len(table.weight)), None)
        assert ours is not None and float((ours - table.weight).abs().max()) < 1e-6
        table.weight.data = ours.clone()
    for part in theirs.modules():
        if isinstance(part, T5LayerNorm):
            part.forward = partial(_root_mean_square, part)


def _root_mean_square(norm: Any, value: Tensor) -> Tensor:
    return norm.weight * value * torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)


def inputs(padded: bool) -> tuple[Batch, dict[str, Tensor], Tensor]:
    generator = torch.Generator().manual_seed(7)
    length = torch.tensor(LENGTHS if padded else [SOURCE] * 3)
    written = torch.tensor(WRITTEN if padded else [TIME] * 3)
    source = torch.randint(5, VOCABULARY, (3, SOURCE), generator=generator)
    tokens = torch.randint(5, VOCABULARY, (3, TIME), generator=generator)
    answers = torch.randint(5, VOCABULARY, (3, TIME), generator=generator)
    inside, asked = torch.arange(SOURCE) < length[:, None], torch.arange(TIME) < written[:, None]
    index = asked.flatten().nonzero().squeeze(1)
    batch = Batch(
        tokens=tokens,
        length=written if padded else None,
        order=Order.CAUSAL,
        source=Batch(tokens=source, length=length if padded else None),
        labels={"name": Target(index=index, value=answers.flatten()[index])},
    )
    theirs = {"input_ids": source, "attention_mask": inside.long(), "decoder_input_ids": tokens, "decoder_attention_mask": asked.long()}
    return batch, theirs, answers


def close(ours: Tensor, theirs: Tensor, what: str) -> None:
    difference = float((ours - theirs).detach().abs().max())
    assert difference < TOLERANCE, f"{what} differs by {difference}"


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_hidden_states_and_attention_of_both_sides(name: str, padded: bool) -> None:
    both = pair(name)
    batch, theirs, _ = inputs(padded)
    expected = both.body(**theirs, output_hidden_states=True, output_attentions=True)
    read = both.ours.encode(batch.source, keep_layers=True, record_attention=True)
    written = both.ours.decode(batch, read, keep_layers=True, record_attention=True)
    inside, asked = theirs["attention_mask"].bool(), theirs["decoder_attention_mask"].bool()
    sides = (
        ("encoder", read.layers, expected.encoder_hidden_states, inside),
        ("decoder", written.layers, expected.decoder_hidden_states, asked),
    )
    for side, ours, reference, real in sides:
        assert len(ours) == len(reference) == (4 if side == "encoder" else 3)
        for number, (mine, other) in enumerate(zip(ours, reference, strict=True)):
            close(mine[real], other[real], f"{side} layer {number}")
    for number, (mine, other) in enumerate(zip(read.attention, expected.encoder_attentions, strict=True)):
        close(mine.transpose(1, 2)[inside], other.transpose(1, 2)[inside], f"encoder attention {number}")
    for number, (mine, other) in enumerate(zip(written.attention, expected.decoder_attentions, strict=True)):
        close(mine.transpose(1, 2)[asked], other.transpose(1, 2)[asked], f"decoder attention {number}")
    for number, (mine, other) in enumerate(zip(written.cross_attention, expected.cross_attentions, strict=True)):
        close(mine.transpose(1, 2)[asked], other.transpose(1, 2)[asked], f"cross attention {number}")
    with torch.no_grad():
        fused = both.ours.eval().token_states(batch)
    close(fused.last[asked], expected.decoder_hidden_states[-1][asked], "fused attention")


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_logits_loss_and_gradients(name: str, padded: bool) -> None:
    both = pair(name)
    batch, theirs, answers = inputs(padded)
    objective = both.ours.recipe.objectives[0].name
    batch = replace(batch, labels={objective: batch.labels["name"]})
    asked = theirs["decoder_attention_mask"].bool()
    logits = both.theirs(**theirs).logits
    close(both.ours.head(objective).logits(both.ours.token_states(batch).last)[asked], logits[asked], "logits")
    smoothing = getattr(both.ours.recipe.objectives[0].head, "smoothing", 0.0)
    expected = F.cross_entropy(logits[asked], answers[asked], label_smoothing=smoothing)
    found = both.ours.losses(batch)[objective]
    loss = found.total / found.count
    close(loss, expected, "loss")
    expected.backward()
    loss.backward()
    bridge = catalog.bridge(both.ours.recipe)
    assert bridge is not None
    gradients = {key: parameter.grad for key, parameter in both.theirs.named_parameters() if parameter.grad is not None}
    reference = bridge.keys.apply(gradients)
    ours = {key: parameter.grad for key, parameter in both.ours.named_parameters() if parameter.grad is not None}
    assert set(reference) == set(ours)
    for key, gradient in ours.items():
        close(gradient, reference[key], f"gradient of {key}")


@pytest.mark.parametrize("name", MODELS)
def test_reading_only_some_positions_changes_nothing(name: str) -> None:
    model = pair(name).ours
    batch, _, _ = inputs(True)
    read = torch.tensor([[0, 3, 5], [2, 0, 3], [4, 1, 6]])
    whole = model.token_states(batch).last
    some = model.token_states(replace(batch, read=read)).last
    close(some, whole.gather(1, read[:, :, None].expand(-1, -1, whole.shape[2])), "read positions")
