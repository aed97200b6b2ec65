"""Tuning runs: the best model is kept, a killed run goes on to the same bits, several tasks share a body, controls and defaults."""

from __future__ import annotations

import json
import random
import re
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.core.files import read_json
from plume.heads.sentence_classification import SentenceClassification
from plume.model.checkpoint import read_weights, save_model
from plume.model.networks.model import Model
from plume.readers.example import Reading
from plume.train import loop as loops
from plume.train.checkpoint import checkpoints
from plume.train.metrics import read_metrics
from plume.tuning.adapting.adaptation import way
from plume.tuning.adapting.network import TaskModel
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.options import named, start_from_options
from plume.tuning.preparing import prepare
from plume.tuning.settings import TaskData, Wishes, epochs_for, rate_for, training_for
from plume.tuning.tune import resume

WORDS = {"warm": ("sunny", "warm"), "cold": ("rainy", "cold")}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Path:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    made = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    made.initialise(1)
    folder = tmp_path_factory.mktemp("model") / "bert"
    save_model(folder, made, tokenizer)
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A file of texts that a word gives away."""

    def make(count: int, *, seed: int = 0, shares: tuple[float, float] = (0.5, 0.5), name: str = "table") -> str:
        source = random.Random(seed)
        path = tmp_path_factory.mktemp("data") / f"{name}.tsv"
        rows = []
        for _ in range(count):
            label = source.choices(["warm", "cold"], shares)[0]
            words = ["the cat"] * source.randint(1, 3)
            words.insert(source.randrange(len(words) + 1), source.choice(WORDS[label]))
            rows.append(f"{' '.join(words)}\t{label}\n")
        path.write_text("".join(rows), encoding="utf-8")
        return str(path)

    return make


def tune(model: Path, out: Path, train: str, dev: str | None = None, **options: Any) -> Any:
    options = {"epochs": 4.0, "batch": 8, "rate": 3e-3, "quiet": True, "task": "classification"} | options
    return start_from_options(model, train=train, dev=dev, out=out, **options)


def last_weights(folder: Path) -> dict[str, torch.Tensor]:
    """The body's after the last step, whichever measured best."""
    state = read_weights(checkpoints(folder)[-1] / "model.safetensors")
    return {name.removeprefix("body."): value for name, value in state.items() if name.startswith("body.")}


def test_learns_and_keeps_the_best(model: Path, table: Any, tmp_path: Path) -> None:
    tuned = tune(model, tmp_path / "out", table(80), table(40, seed=1), epochs=10.0)
    assert tuned.scores["accuracy"] == 1.0
    best = read_json(tmp_path / "out" / "train" / "best.json", "")
    lines = [json.loads(line) for line in (tmp_path / "out" / "train" / "metrics.jsonl").read_text().splitlines()]
    measured = {line["step"]: line["held_out/accuracy"] for line in lines if "held_out/accuracy" in line}
    assert best["main"] == max(measured.values()) and measured[best["step"]] == best["main"]
    assert best["step"] == max(step for step, value in measured.items() if value == best["main"]), "the last of equals"
    loaded = plume.load(tmp_path / "out")
    assert loaded.evaluate(table(40, seed=1)).scores["accuracy"] == best["main"]
    assert [one["label"] for one in loaded.predict(["the cat sunny", "rainy the cat"])] == ["warm", "cold"]


def test_stops_when_it_gets_no_better(model: Path, table: Any, tmp_path: Path) -> None:
    tuned = tune(model, tmp_path / "out", table(40), table(20, seed=1), epochs=10.0, rate=1e-9, patience=2, measurements=10)
    assert tuned.outcome.position.spent.steps == 3 * 5  # the first measurement, and two that are no better, five steps each
    assert "early stopping: 2 evaluations" in (tmp_path / "out" / "card.md").read_text()
    assert resume(tmp_path / "out", quiet=True).outcome.position.spent.steps == 3 * 5, "it was finished"


@pytest.mark.parametrize("mode", ["full", "features", "adapters"])
def test_a_killed_run_goes_on_to_the_same_bits(mode: str, model: Path, table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, dev = table(40), table(20, seed=1)
    options: dict[str, Any] = {"save_every": "4steps", "epochs": 3.0, "patience": 99, "rate": 3e-4, "mode": mode}
    tune(model, tmp_path / "whole", train, dev, **options)
    step = loops.Loop._step

    def killed(self: Any, given: Any, position: Any, *rest: Any, **more: Any) -> Any:
        if position.spent.steps == 10:
            raise RuntimeError("killed")
        return step(self, given, position, *rest, **more)

    monkeypatch.setattr(loops.Loop, "_step", killed)
    with pytest.raises(RuntimeError):
        tune(model, tmp_path / "cut", train, dev, **options)
    monkeypatch.undo()
    resume(tmp_path / "cut", quiet=True)
    for name in ("model.safetensors", "train/best.safetensors"):
        whole, cut = read_weights(tmp_path / "whole" / name), read_weights(tmp_path / "cut" / name)
        assert whole.keys() == cut.keys() and all(torch.equal(whole[key], cut[key]) for key in whole)
    assert read_json(tmp_path / "whole" / "train" / "best.json", "") == read_json(tmp_path / "cut" / "train" / "best.json", "")
    measured = [[line["step"] for line in read_metrics(tmp_path / name) if "held_out/accuracy" in line] for name in ("whole", "cut")]
    assert measured[0] == measured[1] == [3, 6, 9, 12, 15]


def test_told_to_stop_between_two_measurements_it_goes_on_as_if_it_had_not(
    model: Path, table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, dev = table(40), table(20, seed=1)
    options: dict[str, Any] = {"epochs": 3.0, "patience": 99, "rate": 3e-4}
    tune(model, tmp_path / "whole", train, dev, **options)
    step = loops.Loop._step

    def told(self: Any, given: Any, position: Any, *rest: Any, **more: Any) -> Any:
        if position.spent.steps in (3, 7):
            signal.raise_signal(signal.SIGTERM)
        return step(self, given, position, *rest, **more)

    monkeypatch.setattr(loops.Loop, "_step", told)
    first = tune(model, tmp_path / "cut", train, dev, **options)
    assert (
        first.outcome.position.spent.steps == 4
        and plume.load(tmp_path / "cut").evaluate(dev).scores["accuracy"] == first.scores["accuracy"]
    )
    assert resume(tmp_path / "cut", quiet=True).outcome.position.spent.steps == 8
    assert resume(tmp_path / "cut", quiet=True).outcome.stopped_by is None
    whole, cut = (
        [read_json(tmp_path / name / "train" / "best.json", "")]
        + [(line["step"], line["held_out/accuracy"]) for line in read_metrics(tmp_path / name) if "held_out/accuracy" in line]
        for name in ("whole", "cut")
    )
    assert whole == cut


def test_resuming_on_changed_files_is_refused(model: Path, table: Any, tmp_path: Path) -> None:
    train = table(40)
    tune(model, tmp_path / "out", train, table(20, seed=1), epochs=1.0)
    Path(train).write_text(Path(train).read_text() + "the cat\twarm\n")
    with pytest.raises(plume.PlumeError, match="have changed"):
        resume(tmp_path / "out", quiet=True)


def test_from_scratch_is_the_same_network_without_its_weights(model: Path, table: Any, tmp_path: Path) -> None:
    train, dev = table(40), table(20, seed=1)
    made = {}
    for scratch in (False, True):
        tune(model, tmp_path / str(scratch), train, dev, epochs=1.0, rate=1e-9, from_scratch=scratch)
        made[scratch] = plume.load(tmp_path / str(scratch)).model.body.state_dict()
    before = plume.load(model).model.state_dict()
    assert made[True].keys() == made[False].keys() == before.keys()
    weight = "stack.blocks.0.attention.query.weight"
    assert torch.allclose(made[False][weight], before[weight], atol=1e-5) and not torch.allclose(
        made[True][weight], before[weight], atol=1e-2
    )


def test_several_tasks_share_a_body(model: Path, table: Any, tmp_path: Path) -> None:
    """Each gets its turn by its size to the power of 3/4 (BAM)."""
    small, large = table(40, name="small"), table(640, seed=3, name="large")
    kinds: list[int] = []
    step = loops.Loop._step

    def noted(self: Any, given: Any, *rest: Any, **more: Any) -> Any:
        kinds.append(given.kind)
        return step(self, given, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops.Loop, "_step", noted)
        start_from_options(
            model, task=[f"one:classification={small},{small}", f"two:classification={large},{small}"], out=tmp_path / "out", batch=8,
            rate=3e-3, budget="200steps", quiet=True, patience=99,
        )  # fmt: skip
    counts = Counter(kinds)
    expected = 200 * 40**0.75 / (40**0.75 + 640**0.75)
    assert abs(counts[0] - expected) < 2 * np.sqrt(expected)  # in proportion to its size it would be 12, not 22
    tuned = plume.load(tmp_path / "out")
    assert [task.called for task in tuned.tasks] == ["one", "two"]
    assert tuned.predict(["the cat rainy"], task="two")[0]["label"] == "cold"
    with pytest.raises(plume.PlumeError, match="one, two"):
        tuned.predict(["the cat rainy"])


def test_without_a_dev_file_a_tenth_is_held_out(model: Path, table: Any, tmp_path: Path) -> None:
    tune(model, tmp_path / "out", table(240), epochs=0.1)
    card = (tmp_path / "out" / "card.md").read_text()
    held_out = int(re.search(r"so (\d+) of the 240 examples are held out", card)[1])  # type: ignore[index]
    assert 24 <= held_out <= 120 and f"trained on {240 - held_out}, evaluated on {held_out}" in card


def test_few_examples_are_all_trained_on(model: Path, table: Any, tmp_path: Path) -> None:
    """The last weights are kept, whatever is measured on the way, and the run does not end early."""
    made = tune(model, tmp_path / "out", table(60), epochs=2.0, patience=1)
    card = (tmp_path / "out" / "card.md").read_text()
    assert not made.held_out and "trained on 60, evaluated on 60" in card and "## Scores on the training examples" in card
    last = last_weights(tmp_path / "out")
    assert all(torch.equal(value, last[name]) for name, value in plume.load(tmp_path / "out").model.body.named_parameters())
    assert read_json(tmp_path / "out" / "train" / "best.json", "")["step"] == made.outcome.position.spent.steps == 2 * 8
    assert tune(model, tmp_path / "dev", table(60), table(30, seed=1), epochs=1.0).held_out


def test_texts_that_are_held_out_are_not_trained_on(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "context": f"context {n // 5} and more", "answer": "more"} for n in range(300)]
    (tmp_path / "qa.jsonl").write_text("\n".join(map(json.dumps, rows)))
    made = prepare(TaskData(task=named("qa"), train=(str(tmp_path / "qa.jsonl"),)))
    contexts = [{example.texts[1] for example in part} for part in (made.train, made.dev)]
    assert len(made.dev) == 30 and len(made.train) == 270 and not contexts[0] & contexts[1]


def test_everything_below_learns(model: Path) -> None:
    """The pooler too, though a head of pre-training reads through it."""
    body = plume.load(model).model
    made = TaskModel(body, {"x": SentenceClassification(classes=2)}, FullTuning())
    frozen = {name for name, parameter in made.named_parameters() if not parameter.requires_grad}
    assert body.pooler is not None and frozen and all(name.startswith("body.heads.") for name in frozen)


@pytest.mark.parametrize(("metric", "better"), [("mse", min), ("pearson", max)])
def test_the_best_by_any_metric(metric: str, better: Any, model: Path, table: Any, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in Path(table(60)).read_text().splitlines()]
    (tmp_path / "scores.tsv").write_text("".join(f"{text}\t{text}\t{3.5 if label == 'warm' else 0.5}\n" for text, label in rows))
    tune(model, tmp_path / "out", str(tmp_path / "scores.tsv"), str(tmp_path / "scores.tsv"), task="similarity", metric=metric, patience=99)
    measured = [line[f"held_out/{metric}"] for line in read_metrics(tmp_path / "out") if f"held_out/{metric}" in line]
    assert read_json(tmp_path / "out" / "train" / "best.json", "")["scores"][metric] == better(measured)


def test_windows_count_as_rows(model: Path, tmp_path: Path) -> None:
    """An epoch reads the window of a long context that holds the answer, and two of the others."""
    rows = [{"question": "who?", "context": "the cat " * 60 + f"x{n}", "answer": "cat"} for n in range(16)]
    (tmp_path / "qa.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tuned = tune(model, tmp_path / "out", str(tmp_path / "qa.jsonl"), str(tmp_path / "qa.jsonl"), task="qa", epochs=1.0, patience=99)
    windows = len(plume.load(tmp_path / "out").tasks[0].questions(*_examples(tmp_path))[0])
    assert windows > 3 * 16 and tuned.outcome.position.spent.steps == 3 * 16 / 8


def _examples(folder: Path) -> tuple[Any, Any]:
    tuned = plume.load(folder / "out")
    return list(tuned.tasks[0].read([folder / "qa.jsonl"], Reading(file=folder / "qa.jsonl"), labelled=True)), tuned.coder()


def test_unequal_classes_are_said(model: Path, table: Any, tmp_path: Path) -> None:
    tune(model, tmp_path / "out", table(80, shares=(0.97, 0.03)), epochs=1.0)
    assert "very unequal" in (tmp_path / "out" / "card.md").read_text()


def test_frozen_layers_stay(model: Path, table: Any, tmp_path: Path) -> None:
    tune(model, tmp_path / "out", table(40), epochs=1.0, adapt=["frozen_layers=1"])
    before, after = dict(plume.load(model).model.named_parameters()), last_weights(tmp_path / "out")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(name.startswith(("stack.blocks.1.", "pooler")) for name in changed)


def test_layers_learn_at_their_own_rates(model: Path, table: Any, tmp_path: Path) -> None:
    tune(model, tmp_path / "out", table(40), epochs=1.0, overrides=["layer_decay=0.01"])
    before, after = dict(plume.load(model).model.named_parameters()), last_weights(tmp_path / "out")
    moved = {name: float((before[name] - after[name]).detach().abs().max()) for name in before}
    first, second = moved["stack.blocks.0.feed_forward.inner.weight"], moved["stack.blocks.1.feed_forward.inner.weight"]
    assert 0 < first < second / 20


def test_defaults_follow_the_data_and_the_model(model: Path) -> None:
    assert [epochs_for(count) for count in (50, 999, 1000, 5000, 100_000)] == [20, 20, 10, 5, 3]
    body = plume.load(model).model
    full, adapters, probe = (rate_for(body, way(mode)) for mode in ("full", "adapters", "probe"))
    assert (full, adapters, probe) == (1e-3, 3e-3, 3e-3)  # so narrow that all are at their limits
    for width, rate in ((128, 8.8e-4), (384, 1.5e-4), (768, 5e-5)):
        sized = SimpleNamespace(recipe=SimpleNamespace(network=SimpleNamespace(width=width)))
        assert Model.tuning_rate.fget(sized) == pytest.approx(rate, rel=0.02)  # type: ignore[attr-defined]
    chosen = training_for(body, FullTuning(), Wishes(batch=4, rate=1e-5, length=20), examples=10)
    assert (chosen.batch, chosen.peak, chosen.length) == (4, 1e-5, 20)
    with pytest.raises(plume.PlumeError, match="at most 64"):
        training_for(body, FullTuning(), Wishes(length=65), examples=10)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("good\twarm\nbad\tcold\nodd\tbad\tcold\n", r"table.tsv, line 3: 3 columns where 2"),
        ("good\twarm\nbad\twarm\n", "nothing to tell apart"),
        ("", "empty"),
    ],
)
def test_bad_training_files(content: str, message: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text(content)
    with pytest.raises(plume.PlumeError, match=message):
        tune(model, tmp_path / "out", str(tmp_path / "table.tsv"), label="2", text=["1"])
    assert not (tmp_path / "out").exists()


def test_a_label_that_training_has_not_shown(model: Path, table: Any, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("the cat\twarm\nthe cat\ttepid\n")
    with pytest.raises(plume.PlumeError, match=r"dev.tsv, line 2: the label 'tepid' does not occur"):
        tune(model, tmp_path / "out", table(40), str(tmp_path / "dev.tsv"))
    tuned = tune(model, tmp_path / "out", table(40), str(tmp_path / "dev.tsv"), task_options=["unseen=true"], epochs=1.0)
    assert tuned.scores["accuracy"] <= 0.5


def test_an_empty_dev_file(model: Path, table: Any, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("\n\n")
    with pytest.raises(plume.PlumeError, match=r"dev.tsv"):
        tune(model, tmp_path / "out", table(40), str(tmp_path / "dev.tsv"))


@pytest.mark.parametrize("mode", ["full", "features", "adapters", "probe"])
def test_a_seed_fixes_everything(mode: str, model: Path, table: Any, tmp_path: Path) -> None:
    train, dev = table(24), table(16, seed=1)
    made = []
    for number, seed in enumerate((5, 5, 6)):
        torch.manual_seed(number)  # whatever the caller has drawn before
        tune(model, tmp_path / str(number), train, dev, mode=mode, epochs=1.0, seed=seed)
        made.append(read_weights(checkpoints(tmp_path / str(number))[-1] / "model.safetensors"))
    assert all(torch.equal(made[0][name], made[1][name]) for name in made[0])
    assert any(not torch.equal(made[0][name], made[2][name]) for name in made[0])


def test_from_scratch_even_frozen_features_learn(model: Path, table: Any, tmp_path: Path) -> None:
    tune(model, tmp_path / "out", table(24), table(16, seed=1), mode="features", epochs=1.0, from_scratch=True)
    first = plume.load(model).model
    first.initialise(0)
    last = last_weights(tmp_path / "out")
    weight = "stack.blocks.0.feed_forward.inner.weight"
    assert 0 < float((dict(first.named_parameters())[weight] - last[weight]).detach().abs().max()) < 0.1
