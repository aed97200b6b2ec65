"""The seam of families that are built for a knowledge base: a run is fitted to it, and the model directory needs it no more."""

from __future__ import annotations

import shutil
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.core.knowledge import Knowledge, arrays_of, fitted, needs_knowledge
from plume.core.part import replace
from plume.model.checkpoint import load_model, save_model
from plume.model.resources import exchange, read_knowledge, save_knowledge
from plume.recipes import _catalog as catalog
from plume.train import pretrain
from plume.train.settings import Settings, make_settings, read_settings


@pytest.fixture(scope="module")
def settings(miniature: Any, corpora: Any, kb: Path) -> Any:
    """Of a run of four steps, with the recipe as the catalog has it: not fitted to anything."""

    def make(family: str = "eae", **changes: Any) -> Settings:
        unfitted = replace(catalog.recipe(f"{family}/tiny"), warm_start=None)
        recipe = replace(
            unfitted, tokenizer=replace(unfitted.tokenizer, vocabulary=200), training=replace(unfitted.training, length=32, batch=4)
        )
        given = {"corpus": corpora["linked"].files[0], "budget": "4steps", "save_every": "2steps", "kb": kb}
        return make_settings(recipe, **{**given, **changes})

    return make


@pytest.fixture(scope="module")
def run(settings: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("knowledge") / "run"
    pretrain.start(settings(), folder, quiet=True)
    return folder


def test_a_recipe_takes_its_numbers_from_the_knowledge_base(knowledge: Knowledge) -> None:
    recipe = catalog.recipe("eae/tiny")
    assert needs_knowledge(recipe) and not needs_knowledge(catalog.recipe("bert/tiny"))
    made = fitted(recipe, knowledge)
    assert made.transformer.between[0].entities == len(knowledge.entities) != recipe.transformer.between[0].entities
    assert fitted(made, knowledge) == made and fitted(catalog.recipe("bert/tiny"), knowledge) == catalog.recipe("bert/tiny")
    assert arrays_of(recipe) == ()


def test_the_directory_needs_no_knowledge_base(run: Path, knowledge: Knowledge, tmp_path: Path) -> None:
    moved = shutil.copytree(run, tmp_path / "moved")
    said = read_json(moved / "knowledge.json", "")
    assert said == {"path": knowledge.path, "fingerprint": knowledge.fingerprint, "entities": 17, "relations": 3, "facts": 17}
    model, tokenizer = load_model(moved)
    assert model.knowledge is not None and model.knowledge.entities == knowledge.entities
    assert model.stack.between[0].entity.weight.shape[0] == 17
    save_model(tmp_path / "again", model, tokenizer)
    assert read_knowledge(tmp_path / "again").relations == knowledge.relations


@pytest.mark.parametrize("family", ["eae", "fae"])
def test_a_run_that_goes_on_needs_none_either(family: str, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the checkpoint in the middle it ends with the same bits, wherever the knowledge base is by then."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with monkeypatch.context() as patch:
        patch.setattr("plume.train.checkpoint.shutil.rmtree", lambda *_, **__: None)  # so that the one in the middle stays
        pretrain.start(settings(family), whole, quiet=True)
    shutil.copytree(whole, broken)
    shutil.rmtree(broken / "train/checkpoint-000000004")
    saved = read_settings(broken)
    assert isinstance(saved, Settings)
    pretrain.resume(broken, replace(saved, kb=str(tmp_path / "gone")), quiet=True)
    for file in ("model.safetensors", "train/checkpoint-000000004/optimiser.safetensors"):
        assert (whole / file).read_bytes() == (broken / file).read_bytes()
    assert (broken / "train/checkpoint-000000004/model.safetensors").stat().st_ino != (whole / "model.safetensors").stat().st_ino


def test_what_is_missing_or_too_much_is_said(settings: Any, corpora: Any, kb: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=r"eae is built for one knowledge base: name it with --kb"):
        pretrain.start(settings(kb=None), tmp_path / "a", quiet=True)
    with pytest.raises(PlumeError, match=r"bert is not built for a knowledge base.*leave --kb out"):
        pretrain.start(settings("bert"), tmp_path / "b", quiet=True)
    with pytest.raises(PlumeError, match="is no knowledge base"):
        pretrain.start(settings(kb=tmp_path), tmp_path / "c", quiet=True)
    with pytest.raises(PlumeError, match=r"mentions no entity.*plume kb link"):
        pretrain.start(settings(corpus=corpora["text"].files[0]), tmp_path / "d", quiet=True)
    other = tmp_path / "linked.jsonl"
    other.write_text(corpora["linked"].files[0].read_text().replace('"id": 5', '"id": 99'), encoding="utf-8")
    with pytest.raises(PlumeError, match=r"mentions entity 99, and .* has 17: it was linked to another knowledge base"):
        pretrain.start(settings(corpus=other), tmp_path / "e", quiet=True)
    assert not any(tmp_path.glob("[a-e]"))


def test_another_knowledge_base_is_refused_by_name(run: Path, knowledge: Knowledge) -> None:
    model, _ = load_model(run)
    names = (*knowledge.entities[:4], "another name", *knowledge.entities[5:])
    with pytest.raises(PlumeError, match=r"entity 4 is 'wooden box' there and 'another name' here"):
        exchange(model, with_fields(knowledge, entities=names, path="other"))
    with pytest.raises(PlumeError, match="relation 2 is 'is near' there and nothing here"):
        exchange(model, with_fields(knowledge, relations=knowledge.relations[:2]))
    more = with_fields(knowledge, entities=(*knowledge.entities, "new"), arrays={"triples": np.array([[0, 0, 1], [17, 0, 2], [3, 2, 4]])})
    exchange(model, more)  # other facts between the same entities; what is new has no vector
    assert model.knowledge is not None and model.knowledge.entities == knowledge.entities
    assert model.knowledge.array("triples").tolist() == [[0, 0, 1], [3, 2, 4]]


def test_arrays_lie_beside_the_weights(knowledge: Knowledge, tmp_path: Path) -> None:
    save_knowledge(tmp_path, knowledge)
    assert np.array_equal(load_file(tmp_path / "knowledge.safetensors")["triples"], knowledge.array("triples"))
    assert read_knowledge(tmp_path).array("vectors").shape == (17, 12)
    with pytest.raises(PlumeError, match="has no nothing"):
        knowledge.array("nothing")
    (tmp_path / "entities.txt").write_text("one\n", encoding="utf-8")
    with pytest.raises(PlumeError, match=r"counts 17 entities, and entities.txt beside it names 1"):
        read_knowledge(tmp_path)
