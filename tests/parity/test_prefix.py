"""Prefixes against peft's in float64, where the shapes agree: GPT-2, whose positions go on behind the prefix there."""

from __future__ import annotations

from typing import Any

import peft
import pytest
import torch
import transformers

from plume.core.batch import Batch, Order
from plume.hf.export import config_of
from plume.model.checkpoint import state_of
from plume.nn.prefix import Prefix
from plume.recipes import _catalog as catalog
from plume.tuning.adapting.ways.prefix import PrefixTuning

VOCABULARY, LENGTH, LENGTHS = 60, 4, [9, 12, 5]


@pytest.mark.parametrize("hidden", [0, 24])
def test_a_prefix_is_pefts(hidden: int, miniature: Any, built: Any) -> None:
    recipe = miniature("gpt2", length=16)
    bridge = catalog.bridge(recipe)
    ours = built(recipe, vocabulary=VOCABULARY)
    config = transformers.AutoConfig.for_model(**config_of(recipe, bridge, vocabulary=VOCABULARY))
    theirs = transformers.GPT2Model(config).double().eval()
    state = bridge.keys.revert(state_of(ours))
    theirs.load_state_dict(
        {name.removeprefix("transformer."): value for name, value in state.items() if "lm_head" not in name}, strict=False
    )
    wanted = peft.PrefixTuningConfig(
        task_type="FEATURE_EXTRACTION", num_virtual_tokens=LENGTH, prefix_projection=hidden > 0, encoder_hidden_size=hidden or None
    )
    wrapped = peft.get_peft_model(theirs, wanted).double()
    encoder = wrapped.prompt_encoder["default"]

    top = PrefixTuning(prefix=Prefix(length=LENGTH, hidden=hidden)).on_top(ours.eval())
    made = top.modules["prefix"].double()["stack"]
    with torch.no_grad():
        made.table.copy_(encoder.embedding.weight)
        for layer in (0, 2) if hidden else ():
            made.network[layer].weight.copy_(encoder.transform[layer].weight)
            made.network[layer].bias.copy_(encoder.transform[layer].bias)

    tokens = torch.randint(3, VOCABULARY, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(2))
    length = torch.tensor(LENGTHS)
    inside = torch.arange(max(LENGTHS)) < length[:, None]
    behind = (torch.arange(max(LENGTHS)) + LENGTH).expand(len(LENGTHS), -1)
    mine = ours.encode(Batch(tokens=tokens, length=length, order=Order.CAUSAL, position=behind)).last[inside]
    other = wrapped(input_ids=tokens, attention_mask=inside.long()).last_hidden_state[inside]
    assert torch.allclose(mine, other, atol=1e-9)
    mine.pow(2).sum().backward()
    other.pow(2).sum().backward()
    assert torch.allclose(made.table.grad, encoder.embedding.weight.grad, atol=1e-8)
