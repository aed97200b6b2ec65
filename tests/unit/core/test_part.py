"""Parts: written and read back strictly, changed by dotted path, compared and described."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.core.part import Part, describe, differences, part_from_json, replace
from plume.data.layouts.layout import Blocks, FullSentences, PairLabel
from plume.model.recipe import Recipe
from plume.model.schedule import Cosine, Linear
from plume.nn.block import Norm
from plume.nn.stack import Sharing
from plume.noise.corrupt import Mask
from plume.noise.noise import Noise
from plume.noise.select import NGrams, Rounding, Tokens
from plume.recipes import _catalog as catalog
from plume.train.budget import Budget
from plume.train.settings import Settings, WordSettings


@pytest.fixture(scope="module")
def bert() -> Recipe:
    return catalog.recipe("bert/tiny")


@pytest.fixture(scope="module")
def gpt() -> Recipe:
    return catalog.recipe("gpt2/tiny")


# JSON


@pytest.mark.parametrize("name", [f"{family}/{size}" for family in catalog.networks() for size in catalog.sizes(family)])
def test_every_recipe_survives_the_file(name: str) -> None:
    recipe = catalog.recipe(name)
    settings = Settings(recipe=recipe, corpus=("a.txt", "b.txt"), budget=Budget.parse("2h"), seed=-3, tokenizer=None, initial="x")
    read = part_from_json(json.loads(json.dumps(settings.to_json())))
    assert read == settings
    assert type(read.recipe.layout) is type(recipe.layout)
    assert type(read.recipe.training.peak) is float


@pytest.mark.parametrize("family", sorted(set(catalog.families()) - set(catalog.networks())))
def test_every_recipe_of_word_vectors_survives_the_file(family: str) -> None:
    for recipe in catalog.declarations(family).values():
        settings = WordSettings(recipe=recipe, corpus=("a.txt",), budget=None, seed=2, threads=3)
        assert part_from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_a_field_left_out_takes_its_default() -> None:
    assert part_from_json({"part": "noise.select:NGrams", "rate": 0.3}) == NGrams(rate=0.3)


def test_whole_numbers_become_floats_where_floats_are_wanted() -> None:
    read = part_from_json({"part": "noise.corrupt:Mask", "mask": 1, "random": 0})
    assert (read.mask, type(read.mask)) == (1.0, float)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"part": "noise.select:Token"}, "Unknown part"),
        ({"part": "noise.selects:Tokens"}, "Unknown part"),
        ({"part": "os:PathLike"}, "Unknown part"),
        ({"part": "..os:PathLike"}, "Unknown part"),
        ({"part": ""}, "Unknown part"),
        ({"part": "core.part:replace"}, "not a part"),
        ({"part": "core.part:PlumeError"}, "not a part"),
        ({"part": "noise.select:Rounding"}, "not a part"),
        ({"part": "noise.select:Tokens", "rates": 0.1}, "no field 'rates': did you mean rate"),
        ({"part": "noise.select:Tokens", "rate": "much"}, "does not fit; expected float"),
        ({"part": "noise.select:Tokens", "rate": None}, "does not fit; expected float"),
        ({"part": "noise.select:Tokens", "rate": True}, "does not fit; expected float"),
        ({"part": "noise.select:Tokens", "replacement": 1}, "does not fit; expected bool"),
        ({"part": "noise.select:Tokens", "rounding": "up"}, "unknown value 'up'"),
        ({"part": "noise.noise:Noise", "select": {"part": "noise.corrupt:Mask"}}, "does not fit; expected Select"),
        ({"part": "noise.noise:Noise", "select": {"rate": 0.1}}, "Not a plume declaration"),
        ({"part": "nn.stack:Transformer", "pruned": [[1], "2"]}, "does not fit"),
        ({"rate": 0.1}, "Not a plume declaration"),
        ([1, 2], "Not a plume declaration"),
        (None, "Not a plume declaration"),
        ({"part": 7}, "Not a plume declaration"),
    ],
)
def test_reading_is_strict(data: Any, said: str) -> None:
    with pytest.raises(PlumeError, match=said.replace("(", r"\(")):
        part_from_json(data)


def test_a_declaration_cannot_run_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """plume.__main__ is plume's own, and importing it must not start the command line."""
    monkeypatch.setattr("plume.cli.main", lambda: pytest.fail("the command line was started"))
    with pytest.raises(PlumeError, match="Unknown part"):
        part_from_json({"part": "__main__:Recipe"})


@pytest.mark.parametrize("data", [{"part": "train.budget:Budget", "unit": "steps"}, {"part": "core.part:Part"}])
def test_a_missing_field_is_said(data: Any) -> None:
    with pytest.raises(PlumeError):
        part_from_json(data)


# Override


@pytest.mark.parametrize(
    ("assignment", "path", "value"),
    [
        ("network.depth=4", "network.depth", 4),
        (" network.depth = 4 ", "network.depth", 4),
        ("network.dropout=1", "network.dropout", 1.0),
        ("training.peak=3e-4", "training.peak", 3e-4),
        ("network.norm=pre", "network.norm", Norm.PRE),
        ("network.norm=PRE", "network.norm", Norm.PRE),
        ("sharing=FEED_FORWARD", "sharing", Sharing.FEED_FORWARD),
        ("sharing=feed_forward", "sharing", Sharing.FEED_FORWARD),
        ("network.residual_scaling=true", "network.residual_scaling", True),
        ("network.residual_scaling=True", "network.residual_scaling", True),
        ("format.unknown=none", "format.unknown", None),
        ("title=hello world", "title", "hello world"),
        ("title='a/b'", "title", "a/b"),
        ("title=torch-int8", "title", "torch-int8"),
        ("title=bert/tiny", "title", "bert/tiny"),
        ("title=words.json", "title", "words.json"),
        ("network.pruned=((1, 0), ())", "network.pruned", ((1, 0), ())),
        ("objectives.masked_lm.weight=2", "objectives[0].weight", 2.0),
        ("objectives.1.weight=0.5", "objectives[1].weight", 0.5),
        ("objectives.masked_lm.noise.select.rate=0.2", "objectives[0].noise.select.rate", 0.2),
        ("objectives.masked_lm.noise.select.rounding=probabilistic", "objectives[0].noise.select.rounding", Rounding.PROBABILISTIC),
        ("objectives.masked_lm.noise.select=NGrams(longest=2, rate=0.2)", "objectives[0].noise.select", NGrams(longest=2, rate=0.2)),
        ("training.schedule=Cosine(warmup=0.1)", "training.schedule", Cosine(warmup=0.1)),
    ],
)
def test_override_changes_one_thing(bert: Recipe, assignment: str, path: str, value: Any) -> None:
    changed = bert.override(assignment)
    (difference,) = differences(bert, changed)
    assert difference.path == path
    assert difference.right == value
    assert type(difference.right) is type(value)
    assert type(changed) is Recipe


def test_override_replaces_a_part_by_a_call(gpt: Recipe) -> None:
    assert gpt.override("layout=FullSentences(across=false)").layout == FullSentences(across=False)
    assert gpt.override("layout=Blocks()").layout == Blocks()
    masked = gpt.override("format.mask=<mask>").override("layout=FullSentences()")
    nested = masked.override("objectives.causal_lm.noise=Noise(select=Tokens(rate=0.5, rounding=PROBABILISTIC), corrupt=Mask(mask=0.5))")
    assert nested.noise == Noise(select=Tokens(rate=0.5, rounding=Rounding.PROBABILISTIC), corrupt=Mask(mask=0.5))


@pytest.mark.parametrize(
    "assignment", ["positions=Rotary()", "positions=Learned(longest=64)", "objectives.causal_lm.head=TokenPrediction()"]
)
def test_parts_with_a_file_of_their_own_can_be_named(gpt: Recipe, assignment: str) -> None:
    assert gpt.override("training.length=32").override(assignment) != gpt


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("network.deth=4", "Transformer has no part 'deth'; did you mean depth"),
        ("netwrk.depth=4", "Recipe has no part 'netwrk'; did you mean network"),
        ("network.depth=four", "'four' does not fit; expected int"),
        ("network.depth=4.5", "4.5 does not fit; expected int"),
        ("network.depth=true", "True does not fit; expected int"),
        ("network.norm=mid", "unknown value 'mid'; Known: post, pre"),
        ("network.depth.x=3", "'depth' is the plain value 2 and has no parts below it"),
        ("objectives.masked.weight=1", "no item 'masked'; did you mean masked_lm"),
        ("objectives.2.weight=1", "no item '2'"),
        ("objectives.masked_lm=3", "name a field of objectives.0"),
        ("network.depth", "is not a setting"),
        ("=4", "is not a setting"),
        ("layout=Block()", "no part called 'Block' fits here; did you mean Blocks"),
        ("layout=Tokens()", "no part called 'Tokens' fits here"),
        ("training.schedule=Cosine(warm=0.1)", "Cosine has no field 'warm'; did you mean warmup"),
        ("training.schedule=Cosine(warmup=x)", "'x' does not fit; expected float"),
        ("training.schedule=Linear(0.1)", r"cannot read 'Linear\(0.1\)'"),
        ("paper=open('x').read()", "cannot read"),
        ("network.depth=2 + 2", "cannot read"),
        ("layout=None", "None does not fit; expected Layout"),
        ("layout=FullSentences()", "next_sentence finds no batch .* needs rows labelled random_next"),
        ("training.length=513", "rows of 513 tokens, but positions only up to 512"),
        ("network.width=100", None),
        ("network.heads=3", "does not divide into 3 heads"),
    ],
)
def test_a_wrong_setting_says_what_would_be_right(bert: Recipe, assignment: str, said: str | None) -> None:
    if said is None:
        assert bert.override(assignment).network.width == 100
        return
    with pytest.raises(PlumeError, match=said):
        bert.override(assignment)


@pytest.mark.parametrize(
    "assignment", ["network.heads=0", "network.depth=0", "training.batch=0", "objectives.masked_lm.noise.select.rate=2"]
)
def test_numbers_that_cannot_work_are_refused(bert: Recipe, assignment: str) -> None:
    with pytest.raises(PlumeError):
        bert.override(assignment)


def test_override_leaves_the_original_alone(bert: Recipe) -> None:
    before = bert.to_json()
    bert.override("objectives.masked_lm.noise.select.rate=0.9")
    assert bert.to_json() == before


# Differences and descriptions


@dataclass(frozen=True, kw_only=True)
class Inner(Part):
    number: int = 1
    label: PairLabel | None = None


@dataclass(frozen=True, kw_only=True)
class Outer(Part):
    name: str
    inner: Inner = Inner()
    items: tuple[Inner, ...] = ()


def test_differences_are_the_leaves() -> None:
    left = Outer(name="x", items=(Inner(), Inner(number=2)))
    right = Outer(name="x", inner=Inner(label=PairLabel.SWAPPED), items=(Inner(), Inner(number=3)))
    assert [tuple(found) for found in differences(left, right)] == [("inner.label", None, PairLabel.SWAPPED), ("items[1].number", 2, 3)]
    assert list(differences(left, left)) == []


def test_a_part_of_another_class_or_a_longer_tuple_is_one_difference() -> None:
    (found,) = differences(Noise(select=Tokens()), Noise(select=NGrams()))
    assert found == ("select", Tokens(), NGrams())
    (found,) = differences(Outer(name="x"), Outer(name="x", items=(Inner(),)))
    assert found == ("items", (), (Inner(),))


def test_a_description_leaves_defaults_out() -> None:
    assert describe(Outer(name="x")) == "Outer(name='x')"
    assert describe(Outer(name="x", items=(Inner(number=5),))) == "Outer(name='x', items=(Inner(number=5)))"
    assert describe(Inner(label=PairLabel.SWAPPED)) == "Inner(label=SWAPPED)"
    assert describe(Linear(warmup=0.5)) == "Linear(warmup=0.5)"


@pytest.mark.parametrize("name", ["bert/tiny", "gpt2/tiny", "albert/tiny", "electra/tiny"])
def test_a_description_of_a_part_can_be_typed_back(name: str) -> None:
    """`plume show` prints what --set takes."""
    recipe = catalog.recipe(name)
    for field in ("layout", "assembly", "tokenizer", "network", "embedding", "training"):
        part = getattr(recipe, field)
        blank = recipe if field != "layout" else replace(recipe, objectives=())
        assert getattr(blank.override(f"{field}={describe(part)}"), field) == part
