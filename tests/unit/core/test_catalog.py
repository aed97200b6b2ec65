"""The folder is the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

import plume.recipes
from plume.core import catalog
from plume.core.errors import PlumeError
from plume.recipes import _catalog as recipes


@pytest.mark.parametrize("room", ["recipes", "objectives", "cli"])
def test_names_are_the_files(room: str) -> None:
    folder = Path(plume.recipes.__path__[0]).parent / room
    files = {path.stem.replace("_", "-") for path in folder.glob("[!_]*.py")}
    assert set(catalog.names(room)) == files
    assert catalog.names(room) == sorted(files)


@pytest.mark.parametrize("name", catalog.names("objectives"))
def test_an_objective_s_file_holds_a_function_of_its_name(name: str) -> None:
    word = name.replace("-", "_")
    assert getattr(catalog.load("objectives", name), word)().name == word


@pytest.mark.parametrize("family", recipes.families())
def test_a_family_s_sizes_carry_its_name(family: str) -> None:
    found = recipes.declarations(family)
    assert {(recipe.name, size) for size, recipe in found.items()} == {(family, recipe.size) for recipe in found.values()}
    assert {"tiny", "base"} <= set(found)
    assert recipes.declaration(family) == found["base"]
    if family in recipes.networks():
        assert {"mini", "small"} <= set(found)
        assert recipes.parent(recipes.sizes(family)["tiny"]) == recipes.recipe(family)


def test_word_vectors_are_in_the_catalog_and_are_no_networks() -> None:
    assert set(recipes.families()) - set(recipes.networks()) == {"fasttext", "glove", "word2vec"}
    assert {family for family in recipes.networks() if recipes.recipe(family).recurrent} == {
        "cove",
        "deepmoji",
        "elmo",
        "skip-thought",
        "ulmfit",
    }
    with pytest.raises(PlumeError, match="word2vec makes word vectors"):
        recipes.recipe("word2vec")


@pytest.mark.parametrize(("name", "said"), [("brt", "did you mean bert"), ("_sizes", "no '_sizes'"), ("../core", "no '..'"), ("", "no ''")])
def test_unknown_names_are_answered_with_known_ones(name: str, said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        recipes.recipe(name)


def test_unknown_sizes_are_answered_with_known_ones() -> None:
    with pytest.raises(PlumeError, match="bert has no size 'bas': did you mean base"):
        recipes.recipe("bert/bas")


def test_a_bridge_is_found_by_its_hugging_face_type() -> None:
    assert {"bert", "roberta", "albert", "electra", "openai-gpt", "gpt2"} <= set(recipes.bridges())
    for kind, bridge in recipes.bridges().items():
        assert bridge.model_type == kind
    assert recipes.bridge(recipes.recipe("bert-wwm")) is recipes.bridge(recipes.recipe("bert"))
