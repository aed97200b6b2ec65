"""Recipes of a user's own: a file, or a known one with other objectives and parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plume.core.errors import PlumeError
from plume.data.layouts.layout import FullSentences, PairLabel, SentencePairs
from plume.model.assembly import GeneratorDiscriminator
from plume.recipes import _catalog as catalog
from plume.recipes._own import changed, read_recipe_file

HEAD = "import plume\nfrom plume.parts import replace\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "my_recipe.py"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def test_the_one_recipe_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, "MINE = replace(plume.recipe('bert/tiny'), name='mine')\n")
    assert read_recipe_file(path).name == "mine"
    path = written(tmp_path, "A = plume.recipe('bert/tiny')\nRECIPE = plume.recipe('gpt2/tiny')\n")
    assert read_recipe_file(path).name == "gpt2"


def test_a_recipe_json_is_read_as_it_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(catalog.recipe("t5/tiny").to_json()), encoding="utf-8")
    assert read_recipe_file(path) == catalog.recipe("t5/tiny")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "should make one recipe.*it has none"),
        ("A = plume.recipe('bert/tiny')\nB = plume.recipe('gpt2/tiny')\n", "RECIPE = …; it has A, B"),
        ("A = 1 / 0\n", "line 3: ZeroDivisionError"),
        ("A = = 2\n", "line 3: SyntaxError"),
        ("A = plume.recipe('brt/tiny')\n", "There is no 'brt'"),
        (
            "from dataclasses import dataclass\nfrom plume.noise.select import Tokens\n"
            "@dataclass(frozen=True, kw_only=True)\nclass Odd(Tokens): pass\n"
            "Odd.__module__ = 'elsewhere'\n"
            "base = plume.recipe('roberta/tiny')\none = base.objectives[0]\n"
            "RECIPE = replace(base, objectives=(replace(one, noise=replace(one.noise, select=Odd())),))\n",
            "Odd is a part of your own, of elsewhere, which was not named",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        read_recipe_file(written(tmp_path, text))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(PlumeError, match=r"no recipe file at nowhere\.py"):
        read_recipe_file(Path("nowhere.py"))


def test_objectives_of_the_recipe_keep_their_noise_and_head() -> None:
    mixed = changed(catalog.recipe("albert/tiny"), objectives=["masked_lm=2", "sentence-order=0.5"])
    assert [(objective.name, objective.weight) for objective in mixed.objectives] == [("masked_lm", 2.0), ("sentence_order", 0.5)]
    assert mixed.objectives[0].noise == catalog.recipe("albert/tiny").objectives[0].noise
    # The noise's own weight is how often its batch comes; the other counts in relation to it.
    (kind,) = mixed.kinds
    assert [kind.scale(objective) for objective in kind.objectives] == [1.0, 0.25]


def test_a_sentence_objective_brings_the_rows_it_needs() -> None:
    mixed = changed(catalog.recipe("roberta/tiny"), objectives=["masked_lm", "sentence_order"])
    assert mixed.layout == SentencePairs(label=PairLabel.SWAPPED)


def test_what_is_set_must_work_only_when_all_is_said() -> None:
    settings = [
        "objectives=(masked_lm(), replaced_token_detection(weight=20))",
        "layout=FullSentences()",
        "assembly=GeneratorDiscriminator()",
    ]
    for order in (settings, settings[::-1]):
        mixed = changed(catalog.recipe("albert/tiny"), overrides=order)
        assert (mixed.layout, mixed.assembly) == (FullSentences(), GeneratorDiscriminator())
        assert mixed.objectives[1].weight == 20.0
    with pytest.raises(PlumeError, match="needs a generator"):
        changed(catalog.recipe("albert/tiny"), overrides=settings[:2])


def test_objectives_with_noise_take_turns_by_weight() -> None:
    mixed = changed(catalog.recipe("bert/tiny"), objectives=["masked_lm=3", "causal_lm=1"])
    assert [(kind.name, kind.share) for kind in mixed.kinds] == [("masked_lm", 3.0), ("causal_lm", 1.0)]


def test_an_objective_named_without_a_number_keeps_its_weight() -> None:
    mixed = changed(catalog.recipe("electra/tiny"), objectives=["masked_lm", "replaced_token_detection"])
    assert [objective.weight for objective in mixed.objectives] == [1.0, 50.0]


def test_one_that_joins_several_kinds_weighs_as_much_as_was_asked_in_all() -> None:
    mixed = changed(
        catalog.recipe("bert/tiny"), objectives=["masked_lm=3", "denoising=1", "next_sentence=2"], overrides=["assembly=EncoderDecoder()"]
    )
    shares = [(kind.share, {o.name: kind.scale(o) for o in kind.objectives}) for kind in mixed.kinds]
    assert sum(share * scale.get("next_sentence", 0.0) for share, scale in shares) == pytest.approx(2.0)
    assert [scale[kind.name] for (_, scale), kind in zip(shares, mixed.kinds, strict=True)] == [1.0, 1.0]


def test_a_sentence_objective_joins_only_batches_that_are_read_both_ways() -> None:
    mixed = changed(catalog.recipe("bert/tiny"), objectives=["masked_lm", "causal_lm", "next_sentence"])
    assert {kind.name: [o.name for o in kind.objectives] for kind in mixed.kinds} == {
        "masked_lm": ["masked_lm", "next_sentence"],
        "causal_lm": ["causal_lm"],
    }
    with pytest.raises(PlumeError, match="read both ways"):
        changed(catalog.recipe("gpt/tiny"), objectives=["causal_lm", "sentence_order"])


@pytest.mark.parametrize(
    ("family", "settings", "said"),
    [
        ("xlnet", ["memory.reuse=1.0"], "set memory.reuse as layout.reuse"),
        ("transformer-xl", ["objectives=(backward_lm(),)"], "from right to left must not see"),
        ("bert", ["objectives=(Objective(name=x),)"], "missing 3 required"),
        ("bert", ["layout=train_tokenizer()"], "no part called 'train_tokenizer'"),
        ("bert", ["layout=Layout()"], "no part called 'Layout'"),
        ("bert", ["training.optimizer=Optimizer()"], "no part called 'Optimizer'"),
    ],
)
def test_what_would_leak_or_crash_is_refused(family: str, settings: list[str], said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        changed(catalog.recipe(f"{family}/tiny"), overrides=settings)


def test_a_special_token_can_be_set() -> None:
    assert changed(catalog.recipe("gpt2/tiny"), overrides=["format.mask=[MASK]"]).format.mask == "[MASK]"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("masked_lm=much", "the weight after = is a number"),
        ("masked_ml", "There is no 'masked-ml'"),
        ("masked_lm=0", "above 0"),
        ("masked_lm=nan", "above 0"),
    ],
)
def test_a_wrong_objective_says_what_would_be_right(word: str, said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        changed(catalog.recipe("bert/tiny"), objectives=[word])
