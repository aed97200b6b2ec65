"""What every family that the catalog lists must do. A new recipe joins by being there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge, needs_knowledge
from plume.core.part import part_from_json, replace
from plume.data.corpus import CorpusKind
from plume.data.layouts.layout import Layout, RowPlan
from plume.data.loader import Mixture
from plume.model.checkpoint import load_model, save_model, state_of
from plume.nn.stack import Sharing
from plume.objectives._objective import Answers, Objective
from plume.recipes import _catalog as catalog
from plume.train.optimizer import make_optimizer

TRANSFORMERS = [family for family in catalog.networks() if not catalog.recipe(family).recurrent]

FAMILIES = catalog.networks()
SIZES = [f"{family}/{size}" for family in FAMILIES for size in catalog.sizes(family)]
every_family = pytest.mark.parametrize("family", FAMILIES)

# Of the transformers classes that hold the same heads, tied weights counted once; ELECTRA's is discriminator plus generator
# without the embeddings that they share.
PARAMETERS = {
    "bert/base": 110_106_428,
    "bert/large": 336_226_108,
    "bert-wwm/base": 110_106_428,
    "roberta-wwm/base": 109_514_298,
    "roberta/base": 124_697_433,
    "roberta/large": 355_412_057,
    "albert/base": 11_813_810,
    "albert/large": 17_847_474,
    "albert/xlarge": 59_021_490,
    "albert/xxlarge": 223_158_450,
    "gpt/base": 116_534_784,
    "gpt2/base": 124_439_808,
    "gpt2/medium": 354_823_168,
    "gpt2/large": 774_030_080,
    "gpt2/xl": 1_557_611_200,
    "electra/base": 119_386_427,
    "electra/small-paper": 14_196_219,
    "electra/large": 354_655_291,
    "ctrl/base": 1_637_964_550,
    "mpnet/base": 109_518_527,
    "xlnet/base": 116_750_336,
    "xlnet/large": 360_300_800,
    "nezha/base": 102_489_226,  # BERT's of this vocabulary without its table of positions
    "nezha/large": 326_072_970,
    "transformer-xl/base": 61_722_847,  # 41 million beside the embeddings, as published for the authors' 16 layers
    "spanbert/base": 108_340_804 + 1_960_676,  # and the head that reads the spans' ends
    "spanbert/large": 333_610_308 + 3_389_668,
    "ernie/base": 100_477_778,
    "structbert/base": 110_104_890 + 2_307,  # and three classes of pairs
    "structbert/large": 336_224_058 + 3_075,
    "unilm/base": 108_936_006,
    "unilm/large": 334_666_054,
    "xlm/base": 249_071_384,
    "xlm/en-de": 142_422_203,
    "glm/base": 109_284_864,  # GLM has no class there: the paper says 110 and 335 million
    "glm/large": 334_616_576,
    "transformer/base": 63_082_496,
    "transformer/big": 214_245_376,
    "bart/base": 139_420_416,
    "bart/large": 406_291_456,
    "pegasus/base": 272_285_952,
    "pegasus/large": 568_699_904,
    "t5/small-paper": 60_506_624,
    "t5/base": 222_903_552,
    "t5/large": 737_668_096,
    "t5/3b": 2_851_598_336,
    "t5/11b": 11_307_321_344,
    "t5/v1.1-small": 76_961_152,
    "t5/v1.1-base": 247_577_856,
    "t5/v1.1-large": 783_150_080,
    "t5/v1.1-xl": 2_849_757_184,
    "t5/v1.1-xxl": 11_135_332_352,
}


@pytest.mark.parametrize("name", SIZES)
def test_every_size_builds_and_has_the_published_number_of_parameters(name: str) -> None:
    found = catalog.parameters(catalog.recipe(name))
    assert found == PARAMETERS.get(name, found)
    assert found > 100_000


@pytest.mark.parametrize("name", SIZES)
def test_a_recipe_survives_json(name: str) -> None:
    recipe = catalog.recipe(name)
    assert part_from_json(recipe.to_json()) == recipe
    assert (recipe.name, recipe.size) == tuple(name.split("/"))


@pytest.mark.parametrize("family", catalog.families())
def test_the_file_says_where_it_differs_from_the_paper(family: str) -> None:
    _, found, differs = catalog.about(family).partition("\n\nDiffers from the paper:")
    assert found, f"recipes/{family.replace('-', '_')}.py: the docstring ends with a section 'Differs from the paper:'"
    assert len(differs.split()) > 3


@every_family
def test_small_sizes_change_numbers_only(family: str) -> None:
    base, tiny = catalog.recipe(family), catalog.recipe(f"{family}/tiny")
    assert type(base.layout) is type(tiny.layout)
    published = [recipe.objectives for size, recipe in catalog.sizes(family).items() if size not in ("tiny", "mini", "small")]
    if base.recurrent:  # ELMo samples fewer words
        published = [tuple(replace(one, head=tiny.objectives[0].head) for one in objectives) for objectives in published]
        assert type(base.network) is type(tiny.network)
    else:
        assert (base.transformer.norm, base.transformer.activation) == (tiny.transformer.norm, tiny.transformer.activation)
    assert tiny.objectives in published  # T5's has the output weights of version 1.1
    assert (base.sharing, base.format) == (tiny.sharing, tiny.format)


@dataclass(frozen=True, kw_only=True)
class FirstRows(Layout):
    """The first rows that another layout plans, the same in every epoch."""

    of: Layout
    keep: int = 4

    @property
    def texts(self) -> int:
        return self.of.texts

    @property
    def wrapped(self) -> bool:
        return self.of.wrapped

    @property
    def sequential(self) -> bool:
        return self.of.sequential

    @property
    def restarts(self) -> bool:
        return self.of.restarts

    @property
    def corpus(self) -> CorpusKind:
        return self.of.corpus

    def plan(self, store: Any, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        plan = self.of.plan(store, room=room, rows=rows, generator=np.random.default_rng(0))
        return RowPlan(**{name: None if array is None else array[: self.keep] for name, array in vars(plan).items()})


def few_rows(mixture: Mixture) -> Mixture:
    """Four rows of each kind; where rows go on from batch to batch, two batches of them."""
    readers = []
    for reader in mixture.readers:
        of = reader.layout
        layout = FirstRows(of=of, label=of.label, carries=of.carries, keep=8 if of.sequential else 4)
        readers.append(replace(reader, layout=layout))
    return replace(mixture, readers=tuple(readers))


@every_family
def test_overfits_a_few_sentences(family: str, miniature: Any, mixture_for: Any, on_cpu: Any, weighed: Any, knowledge: Knowledge) -> None:
    """What is hidden is drawn anew each time, so that what is learned is the text. Kinds of batch take turns, stages apart."""
    recipe = miniature(family, width=64, rows=4)
    mixture = few_rows(mixture_for(recipe))
    tokenizer = mixture.readers[0].tokenizer
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size).train()
    model.initialise(0)
    model.spell(tokenizer.tokens())
    if needs_knowledge(recipe):
        model.know(knowledge)
    optimizer = make_optimizer(model, replace(recipe.training, peak=4e-3, decay=0.0))
    torch.manual_seed(0)
    history: dict[str, list[float]] = {objective.name: [] for objective in recipe.objectives}
    steps = mixture.steps(mixture.start(), step=0, active=range(len(recipe.kinds)), workers=0)
    patience = 3 if recipe.recurrent else 1  # what stands far back reaches them through every step between
    for step in itertools.islice(steps, patience * (200 + 120 * len(recipe.kinds))):
        loss, losses = weighed(model, recipe.kinds[step.kind], on_cpu(step.batches[0]))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        for name, part in losses.items():
            if part.count:
                history[name].append(float(part.total.detach()) / int(part.count))
        if all(learned(objective, history[objective.name]) for objective in recipe.objectives):
            return
    assert [objective.name for objective in recipe.objectives if not learned(objective, history[objective.name])] == []


def learned(objective: Objective, losses: list[float]) -> bool:
    """Has the loss of the last ten batches fallen to a small share of its start?"""
    if len(losses) < 20:
        return False
    # A generator that has learned leaves few tokens to detect, so a detector's loss has no such floor.
    share = 0.6 if objective.answers is Answers.GENERATOR else 0.3
    least = floor(objective)
    return sum(losses[-10:]) / 10 - least < share * (losses[0] - least)


def floor(objective: Objective) -> float:
    """The least that smoothed labels let a loss become, in a vocabulary of some hundreds: about their entropy."""
    smoothing = getattr(objective.head, "smoothing", 0.0)
    return smoothing * float(np.log(200 / smoothing)) if smoothing else 0.0


@every_family
def test_saves_and_loads_bit_equal(family: str, miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, tmp_path: Path) -> None:
    recipe = miniature(family)
    readers = [reader for _, reader in kinds_of(recipe)]
    model = recipe.assembly.build(recipe, vocabulary=readers[0].tokenizer.size)
    model.initialise(3)
    model.spell(readers[0].tokenizer.tokens())
    save_model(tmp_path / "model", model, readers[0].tokenizer)
    loaded, tokenizer = load_model(tmp_path / "model")
    assert loaded.recipe == recipe
    assert tokenizer.fingerprint == readers[0].tokenizer.fingerprint
    ours, theirs = state_of(model), state_of(loaded)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    found: list[list[float]] = []
    for one in (model.eval(), loaded):
        torch.manual_seed(0)
        with torch.no_grad():
            found.append([float(loss.total) for reader in readers for loss in one.losses(on_cpu(batch_of(reader))).values()])
    assert found[0] == found[1]


@pytest.mark.parametrize("family", TRANSFORMERS)
def test_a_pruned_model_saves_and_loads(family: str, miniature: Any, kinds_of: Any, on_cpu: Any, batch_of: Any, tmp_path: Path) -> None:
    """Of an encoder–decoder, the encoder."""
    whole = miniature(family)
    heads = replace(whole.network, pruned=((0, 2), ()))
    pruned = replace(whole, network=heads)
    ((_, reader), *_) = kinds_of(whole)
    tokenizer = reader.tokenizer
    if whole.sharing is Sharing.ALL:
        with pytest.raises(PlumeError, match="share one attention"):
            pruned.assembly.build(pruned, vocabulary=tokenizer.size)
        return
    model = pruned.assembly.build(pruned, vocabulary=tokenizer.size)
    model.initialise(3)
    save_model(tmp_path / "model", model, tokenizer)
    loaded, _ = load_model(tmp_path / "model")
    assert loaded.recipe.network.pruned == ((0, 2), ())
    assert loaded.stack.block(0).attention.heads == 2
    assert all(torch.equal(value, state_of(loaded)[name]) for name, value in state_of(model).items())
    model.losses(on_cpu(batch_of(reader)))
    with torch.device("meta"):
        fewer = sum(p.numel() for p in whole.assembly.build(whole, vocabulary=9).parameters())
        fewer -= sum(p.numel() for p in pruned.assembly.build(pruned, vocabulary=9).parameters())
    width, head_width, bias = whole.network.width, whole.network.head_width, whole.network.attention_bias
    theirs = 2 * (3 * (width * head_width + bias * head_width) + head_width * width)
    assert fewer == theirs or (whole.positions.per_head and fewer > theirs)  # a position scheme forgets them too


@every_family
def test_starts_the_same_from_the_same_seed(family: str, miniature: Any) -> None:
    recipe = miniature(family)
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(len(states))  # the state around it must not matter
        model = recipe.assembly.build(recipe, vocabulary=60)
        model.initialise(seed)
        states.append(state_of(model))
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    still = [name for name in states[0] if states[0][name].numel() and torch.equal(states[0][name], states[2][name])]
    told = getattr(recipe.positions, "local", False)  # positions are sinusoids then
    assert [name for name in still if not (name.endswith("bias") or "norm" in name or (told and "position" in name))] == []
