"""What a text mentions, and what belongs in its blanks: places are those of the text, probabilities the heads' own, facts those of today."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from plume.cli import app
from plume.core.errors import PlumeError
from plume.kb.store import Edit, KnowledgeBase
from plume.model.use.language_model import LanguageModel

TEXT = "The tired sailor finds ___ near the lighthouse. 北京大学的老师 [MASK]。"


@pytest.fixture(scope="module", params=["eae", "fae"])
def model(request: pytest.FixtureRequest, language_model: Any, knowledge: Any) -> LanguageModel:
    made: LanguageModel = language_model(request.param)
    made.model.know(knowledge)
    return made


def test_blanks_and_linked_mentions_stand_where_the_text_has_them(model: LanguageModel, kb: Path) -> None:
    model.know(kb)
    found = model.entities(TEXT, top=3)
    assert [TEXT[one.start : one.end] for one in found] == [one.text for one in found]
    assert [one.text for one in found] == ["tired sailor", "___", "lighthouse", "北京大学", "老师", "[MASK]"]
    assert [one.blank for one in found] == [False, True, False, False, False, True]
    for one in found:
        assert len(one.guesses) == 3
        assert [guess.probability for guess in one.guesses] == sorted((guess.probability for guess in one.guesses), reverse=True)
        asks = one.blank and model.recipe.name == "fae"
        assert (one.context is not None) == asks and len(one.facts) == (3 if asks else 0)
    model.linker = None


def test_without_names_the_model_finds_mentions_by_itself(model: LanguageModel) -> None:
    memory = model.model.stack.between[0]
    before = memory.detect.bias.detach().clone()
    with torch.no_grad():
        memory.detect.bias.copy_(torch.tensor([1000.0, 0.0, 0.0]))  # nothing is a mention, but a blank is
    assert [one.text for one in model.entities(TEXT)] == ["___", "[MASK]"]
    assert model.entities("Nobody is here.") == []
    with torch.no_grad():
        memory.detect.bias.copy_(torch.tensor([0.0, 1000.0, 0.0]))  # every token is one
    assert len(model.entities("two apples")) >= 2
    with torch.no_grad():
        memory.detect.bias.copy_(before)


def test_a_blank_is_the_mean_of_its_lengths(model: LanguageModel) -> None:
    (blank,) = [one for one in model.entities("The ___ is near.", top=17) if one.blank]
    assert sum(guess.probability for guess in blank.guesses) == pytest.approx(1, abs=1e-5)
    if blank.context is not None:
        assert 0 < blank.context + sum(fact.probability for fact in blank.facts) <= 1 + 1e-6


def test_facts_are_those_of_the_knowledge_base_today(language_model: Any, kb: Path, tmp_path: Path, knowledge: Any) -> None:
    model = language_model("fae")
    today = shutil.copytree(kb, tmp_path / "kb")
    head = model.model.head("fact_prediction")
    model.know(kb)
    before = len(head.facts)
    with KnowledgeBase.open(today) as opened:
        opened.add([Edit(subject="letter", relation="owns", object="river")])
    model.know(today)
    assert len(head.facts) == before + 2  # a key from each of its ends
    facts = {(one.subject, one.relation, one.objects) for blank in model.entities("A ___.", top=200) for one in blank.facts}
    assert ("letter", "owns", ("river",)) in facts and ("river", "owns", ("letter",)) in facts
    said = {one.said for blank in model.entities("A ___.", top=200) for one in blank.facts}
    assert "letter — owns — river" in said
    with KnowledgeBase.open(today) as opened:
        opened.remove([Edit(subject="letter", relation="owns", object="river")])
    model.know(today)
    assert len(head.facts) == before
    model.model.know(knowledge)
    model.linker = None


def test_the_command(language_model: Any, kb: Path, knowledge: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    made = language_model("fae")
    made.model.know(knowledge)
    made.save(folder)
    runner = CliRunner()
    shown = runner.invoke(app, ["fill", str(folder), "The old captain owns ___.", "--entities", "--top", "2", "--kb", str(kb)])
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert len(lines) == 5 and lines[2].startswith("without a fact ") and " — " in lines[3]
    assert runner.invoke(app, ["fill", str(folder), "The ___.", "--kb", str(kb)], catch_exceptions=True).exit_code != 0


def test_vectors_of_entities(language_model: Any, knowledge: Any, tmp_path: Path) -> None:
    made = language_model("eae")
    made.model.know(knowledge)
    made.save(tmp_path / "model")
    names, vectors = made.entity_vectors()
    assert names == knowledge.entities and vectors.shape[0] == len(names)
    runner = CliRunner()
    shown = runner.invoke(app, ["embed", str(tmp_path / "model"), "--entities"])
    assert [json.loads(line)["text"] for line in shown.output.splitlines()] == list(names)
    runner.invoke(app, ["embed", str(tmp_path / "model"), "--entities", "--out", str(tmp_path / "v.npy")])
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), vectors, rtol=1e-6)


def test_others_are_refused(language_model: Any, kb: Path) -> None:
    with pytest.raises(PlumeError, match="bert was not trained to tell entities"):
        language_model("bert").entities("The ___.")
    with pytest.raises(PlumeError, match="was trained without a knowledge base"):
        language_model("bert").know(kb)


def test_where_nothing_is_named_it_is_said(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plume.load", lambda folder: model)
    monkeypatch.setattr(model, "entities", lambda text, top: [])
    said = CliRunner().invoke(app, ["fill", "model", "Nobody is here.", "--entities"])
    assert said.exit_code == 0 and "no blank (___), and no entity was found" in said.stderr


def test_an_empty_text_has_no_entities(model: LanguageModel) -> None:
    for text in ("", "  "):
        with pytest.raises(PlumeError, match="The text is empty"):
            model.entities(text)
