"""PET and iPET against plain numpy and torch: weights, soft labels, losses, and who learns from what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import plume
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.core.part import part_from_json, replace
from plume.data.loader import Cursor
from plume.prompting import patterns
from plume.prompting.job import read_job
from plume.prompting.methods.ipet import METHOD as IPET
from plume.prompting.options import prompt_from_options
from plume.prompting.patterns import PatternMember, mixed, table_of, weights_of
from plume.prompting.prompt import go_on
from plume.prompting.soft_labels import SoftLabelSettings, read_soft_labels, write_soft_labels
from plume.readers.example import Example
from plume.train.device import to_device
from plume.tuning.lesson import Pupil
from plume.tuning.loaded import load_tuned
from plume.tuning.preparing import PreparedTask
from plume.tuning.zero_shot.cloze import Cloze

TEMPLATES = ("{text} It is ___ again.", "About ___: {text}")
SETTINGS = {"template": TEMPLATES, "quiet": True, "epochs": 1, "length": 48}


def texts_of(file: Path) -> list[Example]:
    return [Example(texts=(line,)) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def made(body_of: Any, few: Path, plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of PET that keeps its parts."""
    out = tmp_path_factory.mktemp("pet") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plume.prompting.job.PromptJob.clear_parts", lambda job: None)
        plume.prompt(body_of("bert"), train=few, text=plain, out=out, method="pet", settings=["runs=1", "soft_epochs=1"], **SETTINGS)
    return out


def test_a_template_weighs_what_it_gets_right_before_training(made: Path, body_of: Any, few: Path) -> None:
    can = plume.load(body_of("bert")).abilities
    examples = [line.split("\t") for line in few.read_text(encoding="utf-8").splitlines()[1:]]
    found = read_json(made / "train" / "parts" / "weights.json", "")
    for template in TEMPLATES:
        best = Cloze(can, template, ("box", "letter")).scores([text for text, _ in examples]).argmax(1)
        assert found[template] == np.mean([("box", "letter")[place] == label for place, (_, label) in zip(best, examples, strict=True)])


def test_soft_labels_are_the_weighted_mean_of_models_trained_alone(
    made: Path, body_of: Any, few: Path, plain: Path, tmp_path: Path
) -> None:  # fmt: skip
    weights = read_json(made / "train" / "parts" / "weights.json", "")
    total, count = np.zeros((24, 2)), 0.0
    for template in TEMPLATES:
        one = plume.prompt(body_of("bert"), train=few, out=tmp_path / str(count), method="pattern", **{**SETTINGS, "template": template})
        total += weights[template] * table_of(one, texts_of(plain))
        count += weights[template]
    examples, scores = read_soft_labels(made / "train" / "soft_labels.jsonl")
    assert [one.texts[0] for one in examples] == [one.texts[0] for one in texts_of(plain)]
    assert scores == pytest.approx(total / count, abs=1e-5)


def test_templates_that_get_nothing_right_weigh_alike() -> None:
    one, other = np.array([[1.0, 2.0]], np.float32), np.array([[3.0, 0.0]], np.float32)
    assert mixed([one, other], [0.75, 0.25]) == pytest.approx(np.array([[1.5, 1.5]]))
    assert mixed([one, other], [0.0, 0.0]) == pytest.approx(np.array([[2.0, 1.0]]))


def test_the_classifier_learns_from_soft_labels_alone(made: Path, body_of: Any, tmp_path: Path) -> None:
    tuned = load_tuned(made)
    settings = read_json(made / "train" / "run.json", "")
    assert settings["temperature"] == 2.0 and Path(settings["soft"]) == made / "train" / "soft_labels.jsonl"
    assert settings["training"]["batch"] == 16, "by the texts that it learns from, not by the eight examples"
    assert type(tuned.tasks[0]).__name__ == "LabelTask" or not hasattr(tuned.tasks[0], "prompt")
    file = tmp_path / "soft.jsonl"
    examples = [Example(texts=(text,)) for text in ("The cat finds it.", "My sister paints.")]
    teacher = np.array([[2.0, -1.0], [0.5, 0.25]], np.float32)
    write_soft_labels(file, examples, teacher)
    assert [one["scores"] for one in map(json.loads, file.read_text(encoding="utf-8").splitlines())] == teacher.tolist()

    run = part_from_json(settings)
    assert isinstance(run, SoftLabelSettings)
    one = PreparedTask(task=tuned.tasks[0], train=examples, dev=examples, readings=[], notes=[], dev_file=file)
    asked = tuned.tasks[0].questions(examples, tuned.coder())[0]
    lesson = replace(run, soft=str(file)).lesson(Pupil(tuned=tuned, prepared=[one], asked=[asked], folder=tmp_path))
    (reader,) = lesson.mixture.readers
    (batch,) = reader.step(Cursor(epoch=0, step=0), [slice(0, 2)])
    batch = to_device(batch, torch.device("cpu"))
    (loss,) = lesson.model.losses(batch).values()
    index = reader.plan(0)[1][0]
    student = torch.tensor(tuned.table(asked))[index]
    expected = 4 * F.kl_div((student / 2).log_softmax(-1), torch.tensor(teacher[index] / 2).softmax(-1), reduction="sum")
    assert loss.total.item() == pytest.approx(float(expected), rel=1e-4)
    assert loss.count == 2


def test_training_through_the_blank_is_cross_entropy_of_the_labels_words(body_of: Any, few: Path, tmp_path: Path) -> None:
    made = plume.prompt(
        body_of("bert"), train=few, out=tmp_path / "out", method="zero-shot", template=TEMPLATES[0], calibrate=False, quiet=True
    )
    examples = [Example(texts=(text,), answer=label) for text, label in (("The cat finds it.", "box"), ("My sister paints.", "letter"))]
    questions = made.tasks[0].questions(examples, made.coder())[0]
    batch = to_device(questions.batch(np.array([0, 1])), made.device)
    (loss,) = made.model.losses(batch).values()
    scores = torch.tensor(Cloze(made.body.abilities, TEMPLATES[0], ("box", "letter")).scores([one.texts[0] for one in examples]))
    assert loss.total.item() == pytest.approx(float(F.cross_entropy(scores, torch.tensor([0, 1]), reduction="sum")), rel=1e-5)


def test_a_model_that_is_otherwise_read_as_features_learns_through_the_blank(body_of: Any, few: Path, tmp_path: Path) -> None:
    made = plume.prompt(body_of("elmo"), train=few, out=tmp_path / "out", method="pattern", template=TEMPLATES[0], epochs=3, quiet=True)
    before = dict(plume.load(body_of("elmo")).model.named_parameters())
    assert any(not torch.equal(value, before[name]) for name, value in made.model.body.named_parameters())


def test_stopped_and_gone_on_with_it_is_the_same(
    made: Path, body_of: Any, few: Path, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    plainly, calls = patterns.scores_of, []

    def stopped(job: Any, member: PatternMember, place: Path, **options: Any) -> Any:
        calls.append(member.name)
        return plainly(job, member, place, **options) if len(calls) != 2 else "SIGTERM"

    monkeypatch.setattr("plume.prompting.methods.pet.scores_of", stopped)
    options = {"train": few, "text": plain, "method": "pet", "settings": ["runs=1", "soft_epochs=1"], **SETTINGS}
    assert prompt_from_options(body_of("bert"), out=tmp_path / "out", **options).stopped_by == "SIGTERM"
    assert go_on(tmp_path / "out", quiet=True).stopped_by is None
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == (made / "model.safetensors").read_bytes()
    assert not (tmp_path / "out" / "train" / "parts").exists()


def test_generations_are_taught_by_some_of_the_others_on_ever_more_texts(
    body_of: Any, few: Path, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    generator = np.random.default_rng(0)
    for _ in range(20):
        found = IPET.teachers(9, 4, generator)
        assert len(found) == 2 and 4 not in found
    learned: list[tuple[str, int, dict[str, int]]] = []

    def spy(job: Any, member: PatternMember, place: Path, *, train: tuple[str, ...] = ()) -> Any:
        if train:
            rows = [json.loads(line) for line in Path(train[0]).read_text(encoding="utf-8").splitlines()]
            labels = [row["label"] for row in rows]
            learned.append((member.name, len({row["text"] for row in rows[8:]}), {name: labels.count(name) for name in set(labels)}))
        # Half of the texts are sure to be either.
        sure = np.where(np.arange(24) < 12, 3.0, -3.0)
        return np.stack([sure, -sure], 1).astype(np.float32)

    monkeypatch.setattr("plume.prompting.methods.pet.scores_of", spy)
    monkeypatch.setattr("plume.prompting.methods.ipet.scores_of", spy)
    plume.prompt(body_of("bert"), train=few, text=plain, out=tmp_path / "out", method="ipet",
        settings=["runs=1", "soft_epochs=1", "generations=2", "growth=2"], **SETTINGS)  # fmt: skip
    assert [name for name, _, _ in learned] == ["pattern-0-0", "pattern-1-0"] * 2
    assert [counts for _, _, counts in learned] == [{"box": 8, "letter": 8}] * 2 + [{"box": 16, "letter": 16}] * 2
    assert [texts for _, texts, _ in learned] == [8, 8, 24, 24]


def test_what_pet_needs_is_said(body_of: Any, few: Path, plain: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="--method pet learns from texts without a label too: give some, a line each, --text FILE"):
        plume.prompt(body_of("bert"), train=few, out=tmp_path / "out", method="pet", **SETTINGS)
    with pytest.raises(PlumeError, match="ipet lets models teach each other: give several templates, or --set runs=2"):
        plume.prompt(body_of("bert"), train=few, text=plain, out=tmp_path / "out", method="ipet", settings=["runs=1"],
            **{**SETTINGS, "template": TEMPLATES[0]})  # fmt: skip
    empty = tmp_path / "empty.txt"
    empty.write_text("\n", encoding="utf-8")
    with pytest.raises(PlumeError, match=r"empty\.txt is empty"):
        plume.prompt(body_of("bert"), train=few, text=empty, out=tmp_path / "out", method="pet", **SETTINGS)
    assert not (tmp_path / "out").exists()


def test_weights_are_read_again(made: Path) -> None:
    assert set(weights_of(read_job(made, quiet=True))) == set(TEMPLATES)
