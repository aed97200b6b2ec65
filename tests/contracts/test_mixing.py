"""Objectives of any family on any recipe: what can be combined trains, and what cannot is refused at definition, with the reason."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import torch

from plume.core import catalog as core_catalog
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.recipes._own import changed

NAMES = [name.replace("-", "_") for name in core_catalog.names("objectives")]
BASES = ["bert", "albert", "gpt2", "t5"]

REASONS = (
    r"is written by a decoder; set assembly=EncoderDecoder\(\)",
    r"is predicted by a query stream; set assembly=TwoStreams\(\)",
    r"a two-stream network predicts permuted tokens",
    r"needs a generator; set assembly to GeneratorDiscriminator",
    r"shows a mask, and the format has no mask token; set format\.mask",
    r"shows sentinels, and the format has none; set format\.sentinels",
    r"tokens predicted in place need FullSentences, SentencePairs or Blocks\(overlap=0\)",
    r"it needs rows of two, such as (AdjacentTexts|Translations)",
    r"finds no batch that carries its answers; it needs rows labelled \w+, read both ways: set layout=(SentencePairs|LabelledDocuments)",
    r"finds no batch that carries its answers; it reads the batches of",
    r"asks for \w+, which the noise of \w+ does not tell; set (noise\.|a noise that does)",
    r"uses the head of \w+, and no objective of that name has one of its own",
    r"holds states of width \d+ against token vectors of width \d+; set its head\.transform=True",
    r"share a head but declare two different ones",
    r"its objectives need different kinds of corpus",
    r"a prefix order tells its two texts by their segments, and this format's pair has none",
    r"tells what is read from what is written by their segments, and this format's pair has none",
    r"numbers \d segments, and its rows hold \d texts",
    r"uses segment \d, and the embedding has \d",
    r"chooses among the entities of a memory, and the network has none; set network\.between",
    r"learns from the scores of a linker, and the network has none; set network\.between",
    r"works on (mentions|forms), which the rows do not carry; set layout\.carries",
    r"asks a retriever; set assembly=RetrieverReader\(\)",
)


def combined(recipe: Recipe, names: tuple[str, ...]) -> Recipe | str:
    """The recipe trained on these, or why that cannot be."""
    try:
        return changed(recipe, objectives=names)
    except PlumeError as error:
        return str(error)


def pairs() -> list[tuple[str, ...]]:
    return [*itertools.combinations(NAMES, 1), *itertools.combinations(NAMES, 2)]


@pytest.mark.parametrize("family", BASES)
def test_any_two_objectives_train_or_are_refused(family: str, miniature: Any, mixture_for: Any, batch_of: Any, on_cpu: Any) -> None:
    """Every pair is declared; of those that can be, every objective and one pair in seven is taken as far as a loss."""
    base = miniature(family, length=64, width=16, rows=2, depth=1)
    made: dict[tuple[str, ...], Recipe] = {}
    for names in pairs():
        found = combined(base, names)
        if isinstance(found, str):
            assert found.startswith(f"The recipe {family}/tiny cannot work: ")
            assert any(re.search(reason, found) for reason in REASONS), found
        else:
            made[names] = found
    assert all((objective.name,) in made for objective in base.objectives if objective.noise is not None)
    tried = [names for names in made if len(names) == 1] + [names for names in made if len(names) == 2][::7]
    for names in tried:
        recipe = made[names]
        assert {objective.name for kind in recipe.kinds for objective in kind.objectives} == set(names)
        mixture = mixture_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=mixture.readers[0].tokenizer.size)
        for kind, reader in zip(recipe.kinds, mixture.readers, strict=True):
            with torch.no_grad():
                losses = model.losses(on_cpu(batch_of(reader)))
            assert set(losses) == {objective.name for objective in kind.objectives}


@pytest.mark.parametrize(
    ("family", "names", "reason"),
    [
        ("bert", ("span_corruption",), r"span_corruption is written by a decoder; set assembly=EncoderDecoder\(\)"),
        ("bert", ("permuted_lm",), r"permuted_lm is predicted by a query stream; set assembly=TwoStreams\(\)"),
        ("bert", ("masked_lm", "replaced_token_detection"), "replaced_token_detection needs a generator"),
        (
            "bert",
            ("masked_lm", "span_boundary"),
            r"span_boundary asks for ends, .* masked_lm does not tell; set noise.target=InPlaceWithBoundaries\(\)",
        ),
        ("bert", ("masked_lm", "word_structure"), r"word_structure asks for moved, .* set noise.corrupt=Shuffled\(\)"),
        ("bert", ("next_sentence", "sentence_order"), "finds no batch that carries its answers; it needs rows labelled"),
        ("bert", ("masked_lm", "translation_lm"), "its objectives need different kinds of corpus"),
        ("albert/base", ("causal_lm",), "causal_lm holds states of width 768 against token vectors of width 128"),
        ("gpt2", ("masked_lm",), "blocks are one token longer"),
        ("gpt2", ("blank_infilling",), "shows a mask, and the format has no mask token"),
        ("t5", ("masked_lm",), "shows a mask, and the format has no mask token"),
        ("t5", ("translation",), r"translation reads a first text and writes a second; it needs rows of two, such as Translations\(\)"),
        ("xlnet", ("masked_lm",), "a two-stream network predicts permuted tokens"),
    ],
)  # fmt: skip
def test_why_not(family: str, names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(PlumeError, match=reason):
        changed(catalog.recipe(family if "/" in family else f"{family}/tiny"), objectives=names)


def test_weights_are_shares_of_turns_and_of_losses() -> None:
    """Two objectives with noise take turns 3 : 1; one without weighs as much beside either as its weight says."""
    recipe = changed(catalog.recipe("bert/tiny"), objectives=("masked_lm=3", "left_to_right_lm=1", "next_sentence=0.5"))
    assert [(kind.name, kind.share) for kind in recipe.kinds] == [("masked_lm", 3.0), ("left_to_right_lm", 1.0)]
    for kind in recipe.kinds:
        own, *others = kind.objectives
        assert kind.scale(own) == 1.0
        assert all(kind.scale(other) == 0.5 / kind.share for other in others)


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (((0.0, 0.4), (0.5, 1.0)), "no objective is trained from 40% to 50% of the run"),
        (((0.1, 1.0), (0.2, 1.0)), "objectives are trained from 10% to 100% of the run only"),
        (((0.0, 0.3), (0.2, 0.9)), "objectives are trained from 0% to 90% of the run only"),
    ],
)
def test_a_run_has_something_to_train_at_every_moment(stages: Any, said: str) -> None:
    bert = catalog.recipe("bert/tiny")
    first = bert.objectives[0]
    with pytest.raises(PlumeError, match=said):
        replace(bert, objectives=(replace(first, during=stages[0]), replace(first, name="second", during=stages[1])))
