"""Every recipe file: short, with its true parent, and a bridge whose table reads what it writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import plume.recipes
from plume.core.errors import PlumeError
from plume.core.part import differences, replace
from plume.model.config_map import ConfigMap, Entry
from plume.model.recipe import Recipe, unchecked
from plume.nn.activation import Activation
from plume.recipes import _catalog as catalog

FILES = {path.stem: path for path in Path(plume.recipes.__file__).parent.glob("[a-z]*.py")}
LONGEST, LONGER = 60, 5  # lines without the docstring; how many files may have more
BRIDGED = [family for family in catalog.networks() if catalog.bridge(catalog.recipe(family)) is not None]
SIZES = [f"{family}/{size}" for family in BRIDGED for size in catalog.sizes(family)]
# What no configuration says: how a family is trained, and how text is cut and laid out for it.
UNTOLD = ("size", "tokenizer", "training", "warm_start", "layout", "objectives", "positions.local", "assembly.fraction", "pooler")


def _tree(family: str) -> ast.Module:
    return ast.parse(FILES[family.replace("-", "_")].read_text(encoding="utf-8"))


def _lines(family: str) -> int:
    docstring = _tree(family).body[0]
    assert docstring.end_lineno is not None
    return len(FILES[family.replace("-", "_")].read_text(encoding="utf-8").splitlines()) - docstring.end_lineno + docstring.lineno - 1


def _replaced(family: str) -> str | None:
    """The family whose recipe the file's own is a `replace` of, found in its text."""
    tree = _tree(family)
    imported = {
        alias.asname or alias.name: node.module.rpartition(".")[2].replace("_", "-")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("plume.recipes.")
        for alias in node.names
    }
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(call := node.value, ast.Call):
            continue
        named = any(word.arg == "name" for word in call.keywords)  # a size keeps its family's name
        if named and isinstance(call.func, ast.Name) and call.func.id == "replace" and isinstance(call.args[0], ast.Name):
            return imported[call.args[0].id]
    return None


def test_recipe_files_are_short() -> None:
    longer = {family: lines for family in catalog.families() if (lines := _lines(family)) > LONGEST}
    assert len(longer) <= LONGER, longer


@pytest.mark.parametrize("family", catalog.families())
def test_the_declared_parent_is_what_the_recipe_was_made_from(family: str) -> None:
    assert catalog.made_from(family) == _replaced(family)


def test_a_recipe_that_only_borrows_a_part_has_no_parent() -> None:
    """CoVe and Skip-Thought have the Transformer's format, GLM has GPT-2's network."""
    assert {catalog.made_from(family) for family in ("cove", "skip-thought", "glm")} == {None}


def _config(family: str) -> ConfigMap:
    bridge = catalog.bridge(catalog.recipe(family))
    assert bridge is not None
    return bridge.config


@pytest.mark.parametrize("name", SIZES)
def test_a_config_map_reads_what_it_writes(name: str) -> None:
    config = _config(name.partition("/")[0])
    written = config.write(catalog.recipe(name))
    read = config.read(written)
    assert config.write(read) == written
    assert config.read(config.write(read)) == read


def test_a_second_network_is_written_in_place_of_the_whole() -> None:
    recipe = catalog.recipe("electra/base")
    bridge = catalog.bridge(recipe)
    assert bridge is not None and bridge.second is not None
    written = bridge.second.config.write(recipe)
    assert (written["hidden_size"], written["num_attention_heads"], written["embedding_size"]) == (256, 4, 768)
    assert bridge.second.config.read(written).transformer.width == 256


@pytest.mark.parametrize("name", SIZES)
def test_nothing_that_shapes_the_network_is_lost(name: str) -> None:
    recipe, config = catalog.recipe(name), _config(name.partition("/")[0])
    if config.base.name != recipe.name:  # it borrows the bridge of another family
        return
    found = [one.path for one in differences(recipe, config.read(config.write(recipe))) if not one.path.startswith(UNTOLD)]
    # T5 and XLNet have one dropout for all, CTRL none for attention, T5 no key for first weights.
    assert [path for path in found if not path.endswith(("dropout", "initial_range"))] == []


@pytest.mark.parametrize("family", BRIDGED)
def test_every_key_is_heeded(family: str) -> None:
    """A number that is doubled in config.json is doubled when it is written again."""
    config, tiny = _config(family), catalog.sizes(family)["tiny"]
    written = config.write(tiny)
    for rule in config.entries:
        keys = (rule.theirs,) if isinstance(rule, Entry) and isinstance(rule.theirs, str) else getattr(rule, "theirs", ())
        value = written.get(keys[0]) if isinstance(rule, Entry) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            continue
        if rule.ours == "positions.longest" and tiny.positions.longest is None:  # sines have no end
            continue
        again = config.write(config.read(written | dict.fromkeys(keys, 2 * value)))
        assert {again[key] for key in keys} == {2 * value}, keys


def test_a_value_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(PlumeError, match="layer_norm_eps is 'small', and a number is needed"):
        _config("bert").read({"layer_norm_eps": "small"})
    with pytest.raises(PlumeError, match="hidden_size is None, and a number is needed"):
        _config("bert").read({"hidden_size": None})
    with pytest.raises(PlumeError, match="hidden_act: the activation 'swish' is not known here, only gelu, gelu_new, relu"):
        _config("bert").read({"hidden_act": "swish"})


def _with(recipe: Recipe, **fields: object) -> Recipe:
    with unchecked():
        return replace(recipe, network=replace(recipe.transformer, **fields))


def test_what_their_class_cannot_have_is_not_written() -> None:
    tiny = catalog.recipe("gpt/tiny")
    with pytest.raises(PlumeError, match=r"no key for network.feed_forward: it is always 512 there, and 100 in this model"):
        _config("gpt").write(_with(tiny, feed_forward=100))
    with pytest.raises(PlumeError, match=r"no word for network.activation and network.gated of this model"):
        _config("t5").write(_with(catalog.recipe("t5/tiny"), gated=True))
    with pytest.raises(PlumeError, match=r"no word for network.activation"):
        _config("xlm").write(_with(catalog.recipe("xlm/tiny"), activation=Activation.GELU_TANH))


def test_what_this_family_cannot_be_is_not_read() -> None:
    with pytest.raises(PlumeError, match="encoder_ffn_dim and decoder_ffn_dim differ"):
        _config("bart").read({"encoder_ffn_dim": 64, "decoder_ffn_dim": 128})
    with pytest.raises(PlumeError, match=r"share_encoder_decoder_embeddings is False: .* do not share their token vectors"):
        _config("bart").read({"share_encoder_decoder_embeddings": False})
    with pytest.raises(PlumeError, match=r"causal is True: this XLM has .* a causal mask"):
        _config("xlm").read({"causal": True})
