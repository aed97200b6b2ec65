"""Distillation from end to end: a student learns, its control has the same steps, a killed run goes on to the same bits, misfits are refused."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.compressing import compress as compressing
from plume.compressing.compress import resume
from plume.compressing.distilling import soft_labels
from plume.compressing.distilling.hard_labels import hard_labels
from plume.compressing.distilling.network import DistilledModel
from plume.compressing.lineage import read_lineage
from plume.compressing.measuring import figures_of
from plume.compressing.method import described
from plume.compressing.options import compress_from_options
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.model.checkpoint import read_weights, save_model, save_weights
from plume.readers.example import Example
from plume.train import loop as loops
from plume.train.metrics import read_metrics
from plume.tuning.options import start_from_options
from plume.tuning.tuned import TunedModel

WORDS = {"warm": ("sunny", "warm"), "cold": ("rainy", "cold")}


def rows(count: int, seed: int) -> list[tuple[str, str]]:
    source = random.Random(seed)
    made = []
    for _ in range(count):
        label = source.choice(["warm", "cold"])
        words = [source.choice(["the cat", "my sister", "a letter"]) for _ in range(source.randint(1, 3))]
        words.insert(source.randrange(len(words) + 1), source.choice(WORDS[label]))
        made.append((" ".join(words), label))
    return made


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, count, seed in (("train", 80, 0), ("dev", 40, 1)):
        made = rows(count, seed)
        (folder / f"{name}.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in made), encoding="utf-8")
        words = [[(word, "B-W" if word in ("sunny", "rainy") else "O") for word in text.split()] for text, _ in made]
        columns = "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in sentence) for sentence in words)
        (folder / f"{name}.conll").write_text(columns + "\n", encoding="utf-8")
        pairs = [{"source": text, "target": f"it is {label}"} for text, label in made[:24]]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    (folder / "more.txt").write_text("".join(f"{text}\n" for text, _ in rows(40, 2)), encoding="utf-8")
    (folder / "empty.txt").write_text("\n \n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Callable[..., Path]:
    made: dict[tuple[str, int], Path] = {}

    def make(family: str, width: int = 32) -> Path:
        if (family, width) not in made:
            recipe = miniature(family, width=width)
            model = recipe.assembly.build(recipe, vocabulary=tokenizer_for(recipe).size)
            model.initialise(1)
            model.spell(tokenizer_for(recipe).tokens())
            made[family, width] = tmp_path_factory.mktemp("base") / family
            save_model(made[family, width], model, tokenizer_for(recipe))
        return made[family, width]

    return make


@pytest.fixture(scope="module")
def teacher(base: Any, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    made: dict[tuple[str, str], Path] = {}

    def make(task: str = "classification", family: str = "bert") -> Path:
        if (task, family) not in made:
            ending = {"classification": "tsv", "ner": "conll", "text-to-text": "jsonl"}[task]
            out = tmp_path_factory.mktemp("teacher") / f"{family}-{task}"
            start_from_options(
                base(family), task=task, train=str(data / f"train.{ending}"), dev=str(data / f"dev.{ending}"), out=out, epochs=8.0, batch=8,
                rate=3e-3, quiet=True,
            )  # fmt: skip
            made[task, family] = out
        return made[task, family]

    return make


@pytest.fixture(scope="module")
def narrow(miniature: Any, tmp_path_factory: pytest.TempPathFactory, tokenizer_for: Any) -> Path:
    recipe = miniature("bert", width=16, depth=1)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer_for(recipe).size)
    model.initialise(2)
    folder = tmp_path_factory.mktemp("narrow")
    save_model(folder, model, tokenizer_for(recipe))
    return folder


def small(source: Any, out: Path, method: str = "distil", **options: Any) -> TunedModel:
    given = {"epochs": 2.0, "batch": 8, "rate": 3e-3, "quiet": True} | options
    made = plume.compress(source, method=method, out=out, **given)
    assert isinstance(made, TunedModel)
    return made


def steps(folder: Path) -> int:
    return int(read_metrics(folder)[-1]["step"])


def test_a_student_learns_what_its_teacher_knows(teacher: Any, data: Path, tmp_path: Path) -> None:
    small(teacher(), tmp_path / "out", student="bert/tiny", text=data / "more.txt", epochs=6.0, settings=["temperature=4"])
    lineage = read_json(tmp_path / "out" / "lineage.json", "")
    (step,) = lineage["steps"]
    assert step["method"] == "distil" and "temperature=4" in step["settings"]
    assert step["before"]["scores"]["classification.accuracy"] == 1.0 and step["after"]["scores"]["classification.accuracy"] > 0.9
    settings = read_json(tmp_path / "out" / "train" / "run.json", "")
    assert settings["split"] == 0 and settings["training"]["length"] == 32, "rows are as long as the teacher's"
    losses = {name for line in read_metrics(tmp_path / "out") for name in line if name.startswith("loss/")}
    assert losses == {"loss/gold", "loss/logits"}


def test_the_control_has_the_same_start_rows_and_steps(teacher: Any, data: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"text": data / "more.txt", "augment": ["masking=1", "ngrams=1"], "student": "bert/tiny", "epochs": 1.0}
    small(teacher(), tmp_path / "taught", **options)
    small(teacher(), tmp_path / "direct", control=True, **options)
    small(teacher(), tmp_path / "named", "direct", **options)
    assert steps(tmp_path / "taught") == steps(tmp_path / "direct") == (80 + 40) * 3 // 8
    starts = [read_weights(tmp_path / name / "train" / "student" / "model.safetensors") for name in ("taught", "direct")]
    assert all(torch.equal(starts[0][name], starts[1][name]) for name in starts[0])
    one, other = (read_weights(tmp_path / name / "model.safetensors") for name in ("direct", "named"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    losses = {name for line in read_metrics(tmp_path / "direct") for name in line if name.startswith("loss/")}
    assert losses == {"loss/gold"} and read_json(tmp_path / "direct" / "lineage.json", "")["steps"][0]["method"] == "direct"


def stopped_and_resumed(start: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, at: int) -> None:
    """Told to stop after some steps, taken up from the checkpoint: the same bits as a run that was never stopped."""
    assert start(tmp_path / "whole").stopped_by is None
    step, seen = loops.Loop._step, [0]

    def told(self: Any, given: Any, position: Any, *rest: Any, **more: Any) -> Any:
        seen[0] += 1
        if seen[0] == at:
            signal.raise_signal(signal.SIGTERM)
        return step(self, given, position, *rest, **more)

    monkeypatch.setattr(loops.Loop, "_step", told)
    assert start(tmp_path / "cut").stopped_by == "SIGTERM"
    assert not (tmp_path / "cut" / "lineage.json").exists()
    monkeypatch.undo()
    monkeypatch.setenv("PLUME_CACHE", str(tmp_path / "cache"))  # what teachers said is computed anew
    assert resume(tmp_path / "cut", quiet=True).stopped_by is None
    whole, cut = (read_weights(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert whole.keys() == cut.keys() and all(torch.equal(whole[key], cut[key]) for key in whole)
    one, other = (read_json(tmp_path / name / "lineage.json", "")["steps"][0]["after"] for name in ("whole", "cut"))
    assert one | {"speed": None} == other | {"speed": None}


@pytest.mark.parametrize(
    ("method", "task", "options"),
    [
        ("distil", "classification", {"text": "more.txt", "augment": ["masking=1", "same-words=1"]}),
        ("tinybert", "ner", {"student": "narrow"}),  # a map for other widths, two stages
        ("bilstm", "ner", {"text": "more.txt"}),  # vectors made on the way, frozen, a CRF
        ("sequence", "classification", {"text": "more.txt"}),
        ("born-again", "classification", {"settings": ["generations=2"]}),  # stopped in its first generation
        ("distil", "text-to-text", {"text": "more.txt"}),
    ],
)
def test_a_run_that_is_stopped_goes_on_to_the_same_bits(
    method: str, task: str, options: dict[str, Any], teacher: Any, narrow: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {name: str(data / value) if name == "text" else value for name, value in options.items()}
    if "student" in options:
        options["student"] = str(narrow)
    source = teacher(task, "t5" if task == "text-to-text" else "bert")
    given: dict[str, Any] = {"epochs": 1.0, "batch": 8, "rate": 3e-3, "quiet": True} | options
    stopped_and_resumed(lambda out: compress_from_options(source, method=method, out=out, **given), tmp_path, monkeypatch, at=3)


def test_what_a_stopped_run_took_is_the_sum_of_its_parts(teacher: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once more, when all is done, costs nothing more."""
    clock = itertools.count(step=100.0)
    monkeypatch.setattr(compressing, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    step = loops.Loop._step

    def told(self: Any, *given: Any, **more: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return step(self, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(loops.Loop, "_step", told)
        given: dict[str, Any] = {"method": "distil", "epochs": 1.0, "batch": 8, "timed": False, "quiet": True}
        assert compress_from_options(teacher(), out=tmp_path / "out", **given).stopped_by == "SIGTERM"
    for _ in range(2):
        resume(tmp_path / "out", quiet=True)
        lineage = read_lineage(tmp_path / "out")
        assert lineage is not None and [one.seconds for one in lineage.steps] == [200.0]


def test_another_teacher_is_not_gone_on_with(teacher: Any, data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "teacher"
    shutil.copytree(teacher(), copy)
    small(copy, tmp_path / "out", epochs=1.0)
    state = read_weights(copy / "model.safetensors")
    save_weights(copy / "model.safetensors", {name: value + 1 for name, value in state.items()})
    with pytest.raises(PlumeError, match="have changed"):
        resume(tmp_path / "out", quiet=True)


def test_what_a_teacher_says_is_computed_once(teacher: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    table = soft_labels.soft_table
    monkeypatch.setenv("PLUME_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(soft_labels, "soft_table", lambda *given: asked.append(1) or table(*given))
    for name, temperature in (("one", 1.0), ("two", 8.0)):
        small(teacher(), tmp_path / name, epochs=1.0, temperature=temperature)
    assert len(asked) == 1 and len(list((tmp_path / "cache" / "soft-labels").iterdir())) == 1


def test_several_teachers_speak_with_one_voice(teacher: Any, base: Any, data: Path, tmp_path: Path) -> None:
    """The mean of the scores, of teachers that cut words in other ways too; a word that one of them drops is the other's to say."""
    other = tmp_path / "other"
    start_from_options(
        base("gpt2"), task="ner", train=str(data / "train.conll"), dev=str(data / "dev.conll"), out=other, epochs=1.0, quiet=True
    )
    folders = [teacher("ner"), other]
    models = [TunedModel.load(folder) for folder in folders]
    task = models[0].tasks[0]
    text = "sunny \x0c the cat rainy"  # BERT's tokenizer drops the second word
    examples = [
        Example(texts=(text,), words=((0, 5), (6, 7), (8, 11), (12, 15), (16, 21))),
        Example(texts=("a letter",), words=((0, 1), (2, 8))),
    ]
    asked, _ = models[1].tasks[0].questions(examples, models[1].coder())
    tables = [soft_labels.soft_labels([folder], task, examples, asked) for folder in folders]
    assert np.isnan(tables[0]).any(1).tolist() == [False, True, False, False, False, False, False] and not np.isnan(tables[1]).any()
    both = soft_labels.soft_labels(folders, task, examples, asked)
    assert np.allclose(both[[0, 2, 3, 4, 5, 6]], (tables[0] + tables[1])[[0, 2, 3, 4, 5, 6]] / 2, atol=1e-6) and np.array_equal(
        both[1], tables[1][1]
    )


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_a_student_that_writes(family: str, teacher: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word by word it learns its teacher's shares of the whole vocabulary; of text without answers it learns what the teacher writes."""
    source = teacher("text-to-text", family)
    seen: list[dict[str, float]] = []
    losses = DistilledModel.losses

    def watched(self: Any, batch: Any) -> Any:
        found = losses(self, batch)
        seen.append({name: float(loss.total.detach()) for name, loss in found.items()})
        return found

    monkeypatch.setattr(DistilledModel, "losses", watched)
    made = small(source, tmp_path / "words", text=data / "more.txt", epochs=3.0)
    assert made.body.recipe.transformer.depth == 1 and made.body.model.decoder.part.depth == 1  # type: ignore[union-attr]
    assert {frozenset(one) for one in seen} == {frozenset({"gold", "logits"}), frozenset({"logits"})}
    texts = [text for text, _ in rows(40, 2)]
    written = TunedModel.load(source).predict(texts)
    taught = hard_labels([source], made.tasks[0], [Example(texts=(text,)) for text in texts], made.coder())
    assert [one.answer for one in taught] == [one["text"] for one in written]
    seen.clear()
    small(source, tmp_path / "texts", "sequence", text=data / "more.txt", epochs=1.0)
    assert {frozenset(one) for one in seen} == {frozenset({"gold"})}


def test_a_teacher_that_writes_labels_teaches_a_head(teacher: Any, tmp_path: Path) -> None:
    made = small(teacher("classification", "t5"), tmp_path / "out", student="bert/tiny", epochs=1.0)
    assert made.model.writing == {} and made.body.recipe.name == "bert"


def test_born_again_is_as_large_and_starts_from_the_same(teacher: Any, base: Any, tmp_path: Path) -> None:
    made = small(teacher(), tmp_path / "out", "born-again", epochs=1.0, settings=["generations=2"])
    step = read_json(tmp_path / "out" / "lineage.json", "")["steps"][0]
    assert step["before"]["parameters"] == step["after"]["parameters"]
    first, last = (read_json(tmp_path / "out" / place / "train" / "run.json", "") for place in ("train/generations/1", "."))
    assert first["model"] == last["model"] == str(base("bert"))
    assert first["teachers"] == [[str(teacher())]] and last["teachers"] == [[str(tmp_path / "out" / "train" / "generations" / "1")]]
    assert made.predict("the cat sunny")[0]["label"] in ("warm", "cold")


def test_word_vectors_of_the_tasks_own_texts(teacher: Any, data: Path, tmp_path: Path) -> None:
    made = small(teacher(), tmp_path / "out", "bilstm", text=data / "more.txt", epochs=12.0, rate=1e-2)
    assert made.model.body.recipe.name == "fasttext" and made.model.adaptation.network.width == 150
    assert made.measure(made.tasks[0], list(_read(made, data / "dev.tsv")), _reading(data)).scores["accuracy"] > 0.8


def _reading(data: Path) -> Any:
    from plume.readers.example import Reading

    return Reading(file=data / "dev.tsv")


def _read(made: TunedModel, path: Path) -> Any:
    return made.tasks[0].read([path], _reading(path.parent), labelled=True)


def test_a_student_larger_than_its_teacher_is_said(teacher: Any, base: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small(teacher(), tmp_path / "out", student=str(base("bert", 64)), epochs=1.0, quiet=False)
    assert "more than its teacher with" in " ".join(capsys.readouterr().err.split())


def test_a_student_of_several_teachers_stands_in_their_place(
    teacher: Any, base: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is larger than each of them, and smaller than all together, does make something smaller."""
    teachers = [teacher(), teacher("ner")]
    small(teachers, tmp_path / "out", "bam", student=str(base("bert", 40)), epochs=1.0, quiet=False)
    lineage = read_lineage(tmp_path / "out")
    assert lineage is not None
    (step,) = lineage.steps
    assert max(figures_of(one).parameters for one in teachers) < step.after.parameters < step.before.parameters
    assert "nothing gets smaller" not in " ".join(capsys.readouterr().err.split())


def test_the_card_says_what_a_student_was_and_what_it_was_fed(teacher: Any, data: Path, tmp_path: Path) -> None:
    small(teacher(), tmp_path / "out", student="bert/tiny", epochs=1.0, text=str(data / "more.txt"))
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "bert/tiny, fine-tuned" in card and "with more.txt |" in card
    lineage = read_lineage(tmp_path / "out")
    assert lineage is not None and lineage.steps[0].text == ("more.txt",)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("distil", {"text": "empty.txt"}, "empty.txt is empty: give"),
    ("distil", {"text": "nowhere.txt"}, "nowhere.txt"),
    ("distil", {"text": "more.txt", "settings": ["comparisons=(Gold(),)"]}, "nothing compares them"),
    ("distil", {"augment": ["masking"], "settings": ["comparisons=(Gold(),)"]}, "nothing compares them"),
    ("distil", {"augment": ["posh"]}, "choose masking, same-words, ngrams, vectors"),
    ("distil", {"settings": ["comparisons=()"]}, "compares nothing"),
    ("distil", {"settings": ["comparisons=(Gold(during=(0.0,0.5)),)"]}, "From the beginning of the run to its end"),
    ("distil", {"temperature": 0.0}, "A temperature is above 0"),
    ("distil", {"start": "layers=0,9"}, "Layers 0 to 1 can stay"),
    ("distil", {"start": "layers=a"}, "Layers are numbers from 0"),
    ("distil", {"start": "luck"}, "A student starts from"),
    ("distil", {"depth": 3}, "The teacher has 2 layers"),
    ("distil", {"student": "bert/tiny", "depth": 1}, "has a depth of its own"),
    ("distil", {"student": "bert/tiny", "start": "layers"}, "is as wide"),
    ("distil", {"student": "fasttext/tiny"}, "a network is needed here"),
    ("distil", {"student": "nothing/like"}, "nothing"),
    ("distil", {"student": "OTHER", "start": "random"}, "starts as it is"),
    ("minilm", {"student": "OTHER"}, "different vocabularies"),
    ("tinybert", {"student": "bert/tiny"}, "2 heads where the teacher has 4"),
    ("bam", {}, "name two or more"),
    ("bilstm", {"student": "bert/tiny"}, "is a directory of some"),
    ("bilstm", {"depth": 2}, "one layer over word vectors"),
    ("born-again", {"settings": ["generations=0"]}, "at least one generation"),
    ("distil", {"settings": ["keep=0.5"]}, "has no setting 'keep'"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "options", "words"), REFUSED)
def test_misfits_are_refused(method: str, options: dict[str, Any], words: str, teacher: Any, base: Any, data: Path, tmp_path: Path) -> None:
    if "text" in options:
        options = options | {"text": str(data / options["text"])}
    if options.get("student") == "OTHER":
        options = options | {"student": str(base("gpt2"))}
    with pytest.raises(PlumeError, match=words):
        small(teacher(), tmp_path / "out", method, **options)
    assert not (tmp_path / "out").exists()


def test_teachers_that_do_not_fit_are_refused(teacher: Any, base: Any, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="is not tuned for a task"):
        small(base("bert"), tmp_path / "out")
    with pytest.raises(PlumeError, match=r"cannot teach classification \(cold, warm …\): it is tuned for ner"):
        small([teacher(), teacher("ner")], tmp_path / "out", "ensemble")
    with pytest.raises(PlumeError, match="not tuned for a task: tune it first"):
        small(base("bert"), tmp_path / "out", "bilstm")
    with pytest.raises(PlumeError, match=r"\(--student t5/tiny\), .* or learn from what the teacher writes \(--method sequence\)"):
        small(teacher("text-to-text", "t5"), tmp_path / "out", student=str(base("bart")))
    with pytest.raises(PlumeError, match="several teachers write several texts"):
        small([teacher("text-to-text", "t5")] * 2, tmp_path / "out", "sequence")
    assert not (tmp_path / "out").exists()


def test_every_method_says_what_it_does() -> None:
    told = {name: (title, paper) for name, title, paper in described()}
    assert told["bam"] == (
        "several models, each tuned for one task, teach one student all of them; the teachers fade as the labels take over.", "arXiv:1907.04829"
    )  # fmt: skip
    assert all(len(title) > 30 and "arXiv" not in title for title, _ in told.values())
    assert "neurons" in told["feed-forward"][0] and "attention heads" in told["heads"][0], "read without the file's first words"


def test_plain_text_for_pairs_is_refused(base: Any, data: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{text}\t{text}\t{int(label == 'warm')}\n" for text, label in rows(16, 3)), encoding="utf-8")
    start_from_options(base("bert"), task="paraphrase", train=str(pairs), dev=str(pairs), out=tmp_path / "teacher", epochs=1.0, quiet=True)
    with pytest.raises(PlumeError, match=r"more\.txt"):
        small(tmp_path / "teacher", tmp_path / "out", text=data / "more.txt")
    assert not (tmp_path / "out").exists()
