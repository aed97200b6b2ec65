"""Heads switched off one by one, and the gradients that foresee it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.model.gating import AttentionPlace, gated, without
from plume.model.use.language_model import LanguageModel
from plume.tuning.task_loss import TaskLoss
from plume.tuning.tuned import TunedModel
from plume.view.attending import attention_page, importance_page
from plume.view.recording.attention import AttentionReader
from plume.view.recording.importance import TaskHeads
from plume.view.recording.questions import question_of
from plume.view.recording.subject import subject_of
from plume.view.recording.switching import all_heads, switched_off

TEXT = "The old captain finds a wooden box."
Models = Callable[[str], LanguageModel]
Tuned = Callable[..., TunedModel]


@pytest.mark.parametrize(
    ("family", "text", "kind"),
    [
        ("bert", "The old captain ___ a wooden box.", "blank"),
        ("bert", TEXT, "text"),
        ("gpt2", TEXT, "next"),
        ("xlnet", TEXT, "text"),
        ("transformer-xl", TEXT, "next"),
        ("electra", TEXT, "states"),
        ("glm", TEXT, "text"),
        ("bart", TEXT, "next"),
    ],
)
def test_every_head_is_switched_off_once(family: str, text: str, kind: str, language_model: Models) -> None:
    reader = AttentionReader(subject_of(language_model(family)), text)
    maps = reader.maps()
    found = switched_off(reader, [text], maps)
    assert found.kind == kind
    assert sum(len(layer) for place in found.places for layer in place.answers) == all_heads(reader)
    changes = [answer.sure - found.whole.sure for place in found.places for layer in place.answers for answer in layer]
    assert np.abs(changes).max() > 1e-6
    assert question_of(reader, [text]).ask() == found.whole  # all heads are on again
    for place in found.places:
        for layer, heads in enumerate(place.moved):
            for moved in heads:
                own = moved[[one.place for one in maps].index(place.place)]
                assert all(np.all(one == 0) for one in own[: layer + 1])  # what comes before cannot know
                assert all(np.all((one >= 0) & (one <= 1)) for one in own)


def test_a_blank_s_guesses_are_what_fill_says(language_model: Models) -> None:
    model, text = language_model("bert"), "The old captain ___ a wooden box."
    subject = subject_of(model)
    reader = AttentionReader(subject, text)
    found = switched_off(reader, [text], reader.maps())
    for head in (0, 3):
        with gated(subject.network, without(subject.network, AttentionPlace.SELF, 1, head)):
            told = {guess.token: guess.probability for guess in model.fill(text, top=40)[0]}
        shared = [(name, value) for name, value in found.places[0].answers[1][head].guesses if name in told]
        assert shared and all(value == pytest.approx(told[name], abs=1e-6) for name, value in shared)


@pytest.mark.parametrize("family", ["bert", "gpt2", "bart"])
def test_a_tuned_model_is_asked_for_its_answer(family: str, classifier: Tuned) -> None:
    model = classifier(family)
    reader = AttentionReader(subject_of(model), TEXT)
    found = switched_off(reader, [TEXT], reader.maps())
    assert found.kind == "task"
    said = model.predict(TEXT)[0]
    assert found.whole.guesses[0][0] == said["label"]
    place = found.places[0]
    with gated(reader.subject.network, without(reader.subject.network, place.place, 0, 2)):
        gone = model.predict(TEXT)[0]
    shown = dict(place.answers[0][2].guesses)
    assert shown[gone["label"]] == max(shown.values())


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    rows = [("the cat finds a wooden box", "cold"), ("my sister carries two apples", "warm"), ("her teacher paints", "neither")] * 2
    file = tmp_path / "dev.tsv"
    file.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    return file


@pytest.mark.parametrize(("family", "mode"), [("bert", "full"), ("gpt2", "full"), ("bart", "full"), ("bert", "features")])
def test_importance_is_the_slope_of_each_example_s_loss(family: str, mode: str, classifier: Tuned, labelled: Path) -> None:
    """Against finite differences, an example at a time."""
    subject = subject_of(classifier(family, mode))
    heads = TaskHeads(subject, labelled)
    found = heads.importance(without_each=False)
    assert found.examples == 6 and found.correlation is None
    one = found.places[0]
    step = 1e-4
    for layer, head in ((0, 1), (1, 3)):
        slopes = []
        for example in heads.examples[:3]:  # the others are the same again
            alone = TaskLoss(subject.tuned, heads.task, [example])
            gates = without(subject.network, one.place, layer, head)
            gates[one.place][layer][head] = 1 - step
            slopes.append((alone.mean() - alone.mean(gates)) / step)
        assert one.gradient[layer][head] == pytest.approx(np.abs(slopes).mean(), rel=1e-2, abs=1e-4)
    for layer in one.normalised:
        assert np.linalg.norm(layer) == pytest.approx(1)


def test_importance_is_saved_for_pruning(classifier: Tuned, labelled: Path, tmp_path: Path) -> None:
    found = TaskHeads(subject_of(classifier("bert"), "tiny"), labelled, examples=3).importance()
    assert found.examples == 3
    assert found.correlation is not None and -1 <= found.correlation <= 1
    found.write(tmp_path / "heads.json")
    found.write(tmp_path / "heads.csv")
    told = json.loads((tmp_path / "heads.json").read_text(encoding="utf-8"))
    rows = list(csv.DictReader((tmp_path / "heads.csv").open(encoding="utf-8")))
    assert len(told["heads"]) == len(rows) == 8
    assert float(rows[5]["loss_without"]) == told["heads"][5]["loss_without"] and rows[5]["layer"] == "1"
    assert importance_page(found).html()


def test_a_model_that_was_not_tuned_has_no_task(language_model: Models, labelled: Path) -> None:
    with pytest.raises(PlumeError, match="not fine-tuned"):
        TaskHeads(subject_of(language_model("bert")), labelled)


def test_long_texts_are_switched_only_when_asked_for(language_model: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of(language_model("bert"))
    monkeypatch.setattr("plume.view.attending.MOST", 10)
    assert [panel.name for panel in attention_page([subject], TEXT).panels] == ["head", "model", "neuron"]
    assert [panel.name for panel in attention_page([subject], TEXT, view="switch").panels] == ["switch"]
    with pytest.raises(PlumeError, match="no view"):
        attention_page([subject], TEXT, view="heads")
