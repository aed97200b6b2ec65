"""What `plume view` shows of a Hugging Face directory is what transformers computes: attentions, and losses without some heads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from plume.core.part import replace
from plume.hf.export import export
from plume.model.gating import AttentionPlace, gated, without
from plume.model.recipe import Recipe
from plume.text.tokenizer import Tokenizer
from plume.view.recording.attention import AttentionReader
from plume.view.recording.subject import Subject, open_subject
from plume.view.recording.texts import row_batch

TEXT, OTHER = "The old captain finds a wooden box.", "My sister carries two apples."
CLASSES: dict[str, Any] = {
    "bert": transformers.AutoModelForMaskedLM, "gpt2": transformers.AutoModelForCausalLM, "t5": transformers.AutoModelForSeq2SeqLM,
}  # fmt: skip
Opened = Callable[[str], tuple[Subject, Any]]


@pytest.fixture(scope="module")
def opened(
    miniature: Callable[..., Recipe], tokenizer_for: Callable[[Recipe], Tokenizer], tmp_path_factory: pytest.TempPathFactory
) -> Opened:
    """A directory with random weights, opened by both."""

    def make(family: str) -> tuple[Subject, Any]:
        recipe = miniature(family)
        recipe = replace(recipe, network=replace(recipe.network, dropout=0.0, attention_dropout=0.0))
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
        folder: Path = tmp_path_factory.mktemp(family) / "hf"
        export(model, tokenizer, folder)
        theirs = CLASSES[family].from_pretrained(folder, attn_implementation="eager").eval()
        return open_subject(folder), theirs

    return make


@pytest.mark.parametrize("family", ["bert", "gpt2"])
@pytest.mark.parametrize("pair", [None, OTHER])
def test_attention_is_theirs(family: str, pair: str | None, opened: Opened) -> None:
    subject, theirs = opened(family)
    reader = AttentionReader(subject, TEXT, pair=pair)
    (own,) = reader.maps()
    asked = {"input_ids": torch.tensor([reader.read.tokens])}
    if reader.read.segment is not None:
        asked["token_type_ids"] = torch.tensor([reader.read.segment])
    expected = theirs(**asked, output_attentions=True).attentions
    assert len(own.probability) == len(expected)
    for ours, reference in zip(own.probability, expected, strict=True):
        np.testing.assert_allclose(ours, reference[0].detach().numpy(), atol=1e-5)


def test_all_three_attentions_of_an_encoder_decoder_are_theirs(opened: Opened) -> None:
    subject, theirs = opened("t5")
    reader = AttentionReader(subject, TEXT, target=OTHER)
    assert reader.target is not None
    expected = theirs(
        input_ids=torch.tensor([reader.read.tokens]), decoder_input_ids=torch.tensor([reader.target.tokens]), output_attentions=True
    )
    sides = zip(reader.maps(), (expected.encoder_attentions, expected.decoder_attentions, expected.cross_attentions), strict=True)
    for own, reference in sides:
        for ours, layer in zip(own.probability, reference, strict=True):
            np.testing.assert_allclose(ours, layer[0].detach().numpy(), atol=1e-5)


def test_a_head_that_is_off_is_one_whose_output_they_zero(opened: Opened) -> None:
    """transformers 5 has no head masks any more: a hook zeroes what the head hands to the output projection."""
    subject, theirs = opened("bert")
    reader = AttentionReader(subject, TEXT)
    layer, head, width = 1, 2, subject.network.stack.block(1).attention.head_width

    def zeroed(module: Any, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        merged = given[0].clone()
        merged[..., head * width : (head + 1) * width] = 0
        return (merged, *given[1:])

    handle = theirs.bert.encoder.layer[layer].attention.output.dense.register_forward_pre_hook(zeroed)
    expected = theirs(input_ids=torch.tensor([reader.read.tokens]), output_hidden_states=True).hidden_states[-1][0]
    handle.remove()
    with torch.no_grad(), gated(subject.network, without(subject.network, AttentionPlace.SELF, layer, head)):
        ours = subject.network.encode(row_batch(subject, reader.read)).last[0]
    np.testing.assert_allclose(ours.numpy(), expected.detach().numpy(), atol=1e-5)
