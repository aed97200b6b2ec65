"""What is recorded is what the model computes, for every family that has attention."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.gating import AttentionPlace, gated, gated_places, heads_of, without
from plume.model.use.language_model import LanguageModel
from plume.nn.stack import Transformer
from plume.recipes import _catalog as catalog
from plume.view.recording.attention import MEMORY, AttentionMap, AttentionReader
from plume.view.recording.subject import subject_of
from plume.view.recording.texts import SPECIAL

FAMILIES = [name for name in catalog.networks() if isinstance(catalog.recipe(f"{name}/tiny").network, Transformer)]
RECURRENT = [name for name in catalog.networks() if name not in FAMILIES]
TEXT, OTHER = "The old captain finds a wooden box.", "My sister carries two apples."
Models = Callable[[str], LanguageModel]


def maps_of(model: LanguageModel, text: str = TEXT, **how: str | None) -> dict[AttentionPlace, AttentionMap]:
    language = "en" if model.model.languages is not None else None
    reader = AttentionReader(subject_of(model), text, language=language, **how)
    return {one.place: one for one in reader.maps()}


@pytest.mark.parametrize("family", FAMILIES)
def test_softmax_of_query_times_key_is_what_was_recorded(family: str, language_model: Models) -> None:
    model = language_model(family)
    target = OTHER if model.recipe.assembly.decodes else None
    for one in maps_of(model, target=target).values():
        assert len(one.probability) == len(one.query) == len(one.key) == len(one.bias)
        for probability, query, key, bias in zip(one.probability, one.query, one.key, one.bias, strict=True):
            assert probability.shape == (len(query), len(one.rows), len(one.columns))
            scores = (query.astype(float) @ key.astype(float).transpose(0, 2, 1)) * one.scale + (0 if bias is None else bias)
            seen = probability > 0  # what may not be seen has no share at all
            powers = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
            np.testing.assert_allclose(powers / powers.sum(-1, keepdims=True), probability, atol=1e-5)
            np.testing.assert_allclose(probability.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_the_attention_that_the_model_tells_itself(family: str, language_model: Models) -> None:
    model = language_model(family)
    language = "en" if model.model.languages is not None else None
    told = model.hidden(TEXT, attention=True, language=language)[0]
    found = maps_of(model, target=OTHER if model.recipe.assembly.decodes else None)
    own = found.get(AttentionPlace.ENCODER) or found[AttentionPlace.SELF]
    assert len(own.rows) == len(told.tokens)
    for ours, theirs in zip(own.probability, told.attention, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet", "gpt2", "xlm"])
def test_a_pair_says_which_token_is_of_which_text(family: str, language_model: Models) -> None:
    own = maps_of(language_model(family), pair=OTHER)[AttentionPlace.SELF]
    first = [name for name, text in zip(own.rows, own.row_text, strict=True) if text == 0]
    alone = maps_of(language_model(family))[AttentionPlace.SELF]
    assert first == [name for name, text in zip(alone.rows, alone.row_text, strict=True) if text == 0]
    assert {text for text in own.row_text if text != SPECIAL} == {0, 1}


@pytest.mark.parametrize("family", ["transformer-xl", "xlnet"])
def test_what_was_read_before_stands_in_front_of_the_keys(family: str, language_model: Models) -> None:
    model = language_model(family)
    own = maps_of(model, before=OTHER)[AttentionPlace.SELF]
    remembered = own.column_text.count(MEMORY)
    assert remembered > 2 and own.column_text[:remembered] == [MEMORY] * remembered
    assert own.columns[remembered:] == own.rows
    assert all(layer[:, :, :remembered].sum() > 0.1 for layer in own.probability)
    assert not model.model.memories
    with pytest.raises(PlumeError, match="no memory"):
        maps_of(language_model("bert"), before=OTHER)


def test_two_streams_and_an_encoder_decoder_have_several_maps(language_model: Models) -> None:
    assert list(maps_of(language_model("xlnet"))) == [AttentionPlace.SELF, AttentionPlace.QUERIES]
    sides = maps_of(language_model("t5"), target=OTHER)
    assert list(sides) == [AttentionPlace.ENCODER, AttentionPlace.DECODER, AttentionPlace.CROSS]
    assert (
        sides[AttentionPlace.CROSS].columns == sides[AttentionPlace.ENCODER].rows
        and sides[AttentionPlace.CROSS].rows == sides[AttentionPlace.DECODER].rows
    )
    upper = np.triu(sides[AttentionPlace.DECODER].probability[0][0], 1)
    assert not upper.any()
    assert maps_of(language_model("bart"))[AttentionPlace.DECODER].rows  # without a target, what it writes itself
    with pytest.raises(PlumeError, match="no decoder"):
        maps_of(language_model("bert"), target=OTHER)


def test_where_position_enters(language_model: Models) -> None:
    assert maps_of(language_model("bert"))[AttentionPlace.SELF].position == ["input"]
    assert maps_of(language_model("t5"), target=OTHER)[AttentionPlace.ENCODER].position == ["scores"]
    assert maps_of(language_model("transformer-xl"))[AttentionPlace.SELF].position == ["query_key", "scores"]
    nezha = maps_of(language_model("nezha"))[AttentionPlace.SELF]
    assert nezha.position == ["scores", "values"] and nezha.bias[0] is not None


@pytest.mark.parametrize("family", RECURRENT)
def test_recurrent_networks_have_no_heads(family: str, language_model: Models) -> None:
    with pytest.raises(PlumeError, match="recurrent"):
        subject_of(language_model(family), family)


def test_a_blank_is_the_mask(language_model: Models) -> None:
    assert "[MASK]" in maps_of(language_model("bert"), "The old captain ___ a box.")[AttentionPlace.SELF].rows
    assert "[MASK]" not in maps_of(language_model("bert"), "The [SEP] old")[AttentionPlace.SELF].rows


@pytest.mark.parametrize("family", ["bert", "albert", "gpt2", "transformer-xl", "t5"])
def test_a_gate_takes_out_what_the_head_gives(family: str, language_model: Models) -> None:
    """As if the columns of the output projection that read the head were zero."""
    model = language_model(family)
    subject = subject_of(model)
    place = next(iter(gated_places(subject.network)))
    stack = gated_places(subject.network)[place]
    assert heads_of(stack, place) == [4, 4]
    with gated(subject.network, without(subject.network, place, 1, 2)):
        gone = model.embed(TEXT)
    assert stack.watch is None
    if family == "albert":  # its layers share one attention, so that no weight is the second layer's alone
        assert np.abs(gone - model.embed(TEXT)).max() > 1e-4
        return
    attention = stack.block(1).attention
    kept = attention.output.weight.detach().clone()
    width = attention.head_width
    try:
        with torch.no_grad():
            attention.output.weight[:, 2 * width : 3 * width] = 0
        np.testing.assert_allclose(gone, model.embed(TEXT), atol=1e-6)
    finally:
        with torch.no_grad():
            attention.output.weight.copy_(kept)


def test_gates_may_differ_from_row_to_row(language_model: Models) -> None:
    model = language_model("bert")
    subject = subject_of(model)
    gates = [torch.ones(2, 4, dtype=torch.float64), torch.ones(2, 4, dtype=torch.float64)]
    gates[0][1, 3] = 0
    with gated(subject.network, {AttentionPlace.SELF: gates}):
        rows = model.embed([TEXT, TEXT])
    np.testing.assert_allclose(rows[0], model.embed(TEXT)[0], atol=1e-6)
    with gated(subject.network, without(subject.network, AttentionPlace.SELF, 0, 3)):
        np.testing.assert_allclose(rows[1], model.embed(TEXT)[0], atol=1e-6)


def test_heads_that_were_pruned_are_not_counted(language_model: Models, tokenizer_for: Callable[..., object]) -> None:
    whole = language_model("bert")
    recipe = replace(whole.recipe, network=replace(whole.recipe.network, pruned=((1, 2), ())))
    pruned = LanguageModel(recipe.assembly.build(recipe, vocabulary=whole.tokenizer.size), whole.tokenizer)
    subject = subject_of(pruned)
    assert heads_of(subject.network.stack, AttentionPlace.SELF) == [2, 4]
    assert [layer.shape[0] for layer in maps_of(pruned)[AttentionPlace.SELF].probability] == [2, 4]
    with gated(subject.network, without(subject.network, AttentionPlace.SELF, 1, 3)):
        pruned.embed(TEXT)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_special_tokens_alone_are_no_text(family: str, language_model: Models) -> None:
    with pytest.raises(PlumeError, match="give a text"):
        maps_of(language_model(family), "")
