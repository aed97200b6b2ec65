"""plume compress --method layers and theseus: every family that they fit; what comes out is a model directory as any other."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.compressing.compress import resume
from plume.compressing.lineage import read_lineage
from plume.compressing.options import compress_from_options
from plume.compressing.replacing.network import TheseusModel
from plume.core.errors import PlumeError
from plume.model.checkpoint import read_recipe, read_weights
from plume.model.trainable import Trainable
from plume.recipes import _catalog as catalog
from plume.tuning.options import start_from_options
from plume.tuning.preparing import prepare
from plume.tuning.settings import TaskData
from plume.tuning.task_loss import TaskLoss
from plume.tuning.tuned import TunedModel
from plume.view.attending import attention_page
from plume.view.recording.subject import open_subject

QUICK = ("bert", "electra", "gpt2", "xlnet", "t5", "albert", "elmo")  # one of each kind; the others with the slow tests
FAMILIES = [pytest.param(family, marks=() if family in QUICK else pytest.mark.slow) for family in catalog.networks()]
RECURRENT = {name for name in catalog.networks() if catalog.recipe(f"{name}/tiny").recurrent}
TEXTS = ["the cat warm", "cold my sister 旧房子"]


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts about warm things or cold ones."""
    source, path = random.Random(5), tmp_path_factory.mktemp("rows") / "rows.tsv"
    lines = [(source.choice(("the cat", "my sister", "我们喜欢")), source.choice(("warm", "cold"))) for _ in range(32)]
    path.write_text("".join(f"{text} {label}\t{label}\n" for text, label in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tuned(base: Any, rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A family's miniature, tuned for an instant."""
    made: dict[str, Path] = {}

    def make(family: str, **options: Any) -> Path:
        key = family + str(options)
        if key not in made:
            made[key] = tmp_path_factory.mktemp("tuned") / family
            given = {"epochs": 1.0, "measurements": 1, "batch": 8, "rate": 3e-3, "quiet": True} | options
            start_from_options(base(family), task="classification", train=str(rows), dev=str(rows), out=made[key], **given)
        return made[key]

    return make


def compress(source: Path, out: Path, **options: Any) -> Any:
    return compress_from_options(source, out=out, quiet=True, **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_of_every_family(family: str, tuned: Any, base: Any, tmp_path: Path) -> None:
    """Tuned and not, without training; recurrent networks have none to take out."""
    if family in RECURRENT:
        for source in (tuned(family), base(family)):
            with pytest.raises(PlumeError, match="is no Transformer"):
                compress(source, tmp_path / "out", method="layers", depth=1, settings=["recover=false"])
            assert not (tmp_path / "out").exists()
        return
    made = compress(tuned(family), tmp_path / "out", method="layers", settings=["layers=(1,)", "recover=false"])
    small, whole = plume.load(tmp_path / "out"), plume.load(tuned(family))
    assert small.model.body.recipe.transformer.depth == 1
    shared = catalog.recipe(f"{family}/tiny").sharing.value == "all"
    assert (made.after.parameters == made.before.parameters) if shared else (made.after.parameters < made.before.parameters)
    assert set(small.predict(TEXTS)[0]["scores"]) == {"warm", "cold"}
    assert all(torch.equal(a, b) for a, b in zip(small.model.heads.parameters(), whole.model.heads.parameters(), strict=True))
    spoken = {"language": "en"} if small.model.body.languages is not None else {}
    if small.model.body.recipe.transformer.between:
        with pytest.raises(PlumeError, match="nothing would read what it makes"):
            compress(base(family), tmp_path / "below", method="layers", depth=1)
        return
    below = compress(base(family), tmp_path / "below", method="layers", depth=1)
    assert below.after.scores == {} and plume.load(tmp_path / "below").embed(TEXTS, **spoken).shape == (2, small.width)


@pytest.mark.parametrize("family", FAMILIES)
def test_theseus_of_every_family(family: str, tuned: Any, tmp_path: Path) -> None:
    """Successors have learned, and nothing else has."""
    run = {"method": "theseus", "depth": 1, "epochs": 1.0, "rate": 3e-3}
    if family in RECURRENT:
        with pytest.raises(PlumeError, match=r"is no Transformer|is frozen"):
            compress(tuned(family), tmp_path / "out", **run)
        assert not (tmp_path / "out").exists()
        return
    if catalog.recipe(f"{family}/tiny").transformer.between:
        with pytest.raises(PlumeError, match="has modules between its layers"):
            compress(tuned(family), tmp_path / "out", **run)
        return
    compress(tuned(family), tmp_path / "out", **run)
    (last,) = (tmp_path / "out/train").glob("checkpoint-*/model.safetensors")  # the best may be the first
    before, after = read_weights(tmp_path / "out/train/shrunk/model.safetensors"), read_weights(last)
    moved = {name for name in after if not torch.equal(before[name], after[name])}
    assert moved and all(".blocks." in name or "_bias." in name for name in moved)
    assert any("stack.blocks.0" in name for name in moved)
    answers = plume.load(tmp_path / "out").predict(TEXTS)
    assert set(answers[0]["scores"]) == {"warm", "cold"}
    (step,) = read_lineage(tmp_path / "out").steps
    assert step.method == "theseus" and step.settings == "Theseus(depth=1)"


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "albert", "xlnet"])
def test_what_comes_out_is_a_model_as_any_other(family: str, tuned: Any, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    compress(tuned(family), out, method="layers", depth=1, epochs=1.0)
    small = plume.load(out)
    assert (out / "train/shrunk/task.json").exists() and "## Made small" in (out / "card.md").read_text(encoding="utf-8")
    assert small.evaluate(rows).scores["accuracy"] >= 0
    assert np.isfinite(small.embed(TEXTS)).all()
    assert attention_page([open_subject(out)], TEXTS[0]).html()
    start_from_options(out, task="classification", train=str(rows), dev=str(rows), out=tmp_path / "again", epochs=1.0, quiet=True)
    assert read_recipe(tmp_path / "again").transformer.depth == 1
    if family == "bert":
        compress(tuned(family, pooling="cls"), tmp_path / "cls", method="layers", depth=1, settings=["recover=false"])
        plume.export_hf(tmp_path / "cls", out=tmp_path / "hf")
        assert '"num_hidden_layers": 1' in (tmp_path / "hf/config.json").read_text(encoding="utf-8")
        plume.export_graph(out, out=tmp_path / "onnx")


def test_recovery_is_the_default_where_rows_are_known(tuned: Any, base: Any, rows: Path, tmp_path: Path) -> None:
    source = tuned("bert")
    compress(source, tmp_path / "trained", method="layers", depth=1, epochs=1.0)
    shrunk, trained = (read_weights(tmp_path / "trained" / name) for name in ("train/shrunk/model.safetensors", "model.safetensors"))
    assert any(not torch.equal(shrunk[name], trained[name]) for name in shrunk)
    compress(source, tmp_path / "plain", method="layers", depth=1, settings=["recover=false"])
    plain = read_weights(tmp_path / "plain/model.safetensors")
    assert all(torch.equal(shrunk[name], plain[name]) for name in shrunk), "recovery began with what is written otherwise"
    for refused, options, reason in (
        (
            source,
            {"settings": ["recover=false"], "epochs": 1.0},
            "Nothing is trained here, since recover=false says so: leave out --epochs, or learn again .--set recover=true",
        ),
        (base("bert"), {"rate": 1e-3}, "no labelled rows are known: leave out --rate, or tune the model first"),
        (base("bert"), {"settings": ["recover=true"]}, "not tuned for a task, so there are no labelled rows to recover on"),
        (base("bert"), {"settings": ["choose=importance"]}, "no task whose loss would say which layers matter"),
        (source, {"depth": 3}, "Of 2 layers at least one and at most all can stay, not 3"),
        (source, {"depth": 1, "settings": ["layers=(0,1)"]}, "do not agree"),
        (source, {"settings": ["decoder=(0,)"]}, "has no decoder"),
    ):  # fmt: skip
        with pytest.raises(PlumeError, match=reason):
            compress(refused, tmp_path / "refused", **({"method": "layers"} | options))
        assert not (tmp_path / "refused").exists()


def test_layers_dropped_in_tuning(tuned: Any, tmp_path: Path) -> None:
    """Those that stay are not dropped any more, also in what follows."""
    source = tuned("bert", adapt=["layer_drop=0.5"])
    assert read_recipe(source).transformer.layer_drop == 0.5
    compress(source, tmp_path / "out", method="layers", depth=1, epochs=1.0)
    assert read_recipe(tmp_path / "out").transformer.layer_drop == 0
    with pytest.raises(PlumeError, match="layer_drop is a share below 1"):
        tuned("bert", adapt=["layer_drop=1.0"])


def test_what_theseus_refuses(tuned: Any, base: Any, tmp_path: Path) -> None:
    for source, options, reason in (
        (base("bert"), {}, "not tuned for a task"),
        (tuned("bert"), {"depth": 2}, "Of 2 layers at least one and at most 1 can be left, not 2"),
        (tuned("bert", mode="probe"), {}, "is frozen below its task"),
    ):
        with pytest.raises(PlumeError, match=reason):
            compress(source, tmp_path / "refused", method="theseus", **options)
        assert not (tmp_path / "refused").exists()
    compress(tuned("bert"), tmp_path / "one", method="layers", depth=1, settings=["recover=false"])
    with pytest.raises(PlumeError, match="bert has one layer here: no fewer can stand in its place"):
        compress(tmp_path / "one", tmp_path / "refused", method="theseus")
    with pytest.raises(PlumeError, match="reads layers by their number, and layers takes some away"):
        compress(tuned("bert", mode="features"), tmp_path / "refused", method="layers", depth=1)


def test_layers_by_importance(tuned: Any, rows: Path, tmp_path: Path) -> None:
    """Of two, that one goes without which the loss is lower."""
    losses = {}
    for kept in (0, 1):
        compress(tuned("bert"), tmp_path / str(kept), method="layers", settings=[f"layers=({kept},)", "recover=false"])
        losses[kept] = loss_of(plume.load(tmp_path / str(kept)), rows)
    compress(tuned("bert"), tmp_path / "chosen", method="layers", depth=1, settings=["choose=importance", "recover=false"])
    assert loss_of(plume.load(tmp_path / "chosen"), rows) == min(losses.values())


def loss_of(model: TunedModel, rows: Path) -> float:
    examples = prepare(TaskData(task=model.tasks[0], train=(str(rows),), dev=(str(rows),)), known=True).train
    return TaskLoss(model, model.tasks[0], examples).mean()


@pytest.mark.parametrize(("method", "settings"), [("theseus", ["replacement=Rising(rate=0.05)"]), ("layers", [])])
def test_stopped_and_resumed(method: str, settings: list[str], tuned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the same bits as one that was not stopped."""
    run = {"method": method, "depth": 1, "epochs": 4.0, "rate": 3e-3, "settings": settings}
    compress(tuned("bert"), tmp_path / "whole", **run)
    trainable = TheseusModel if method == "theseus" else Trainable
    after = trainable.after_step

    def interrupted(self: Any, steps: int) -> None:
        after(self, steps)
        if steps == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(trainable, "after_step", interrupted)
        assert compress(tuned("bert"), tmp_path / "broken", **run).stopped_by == "SIGTERM"
    assert resume(tmp_path / "broken", quiet=True).stopped_by is None
    last = sorted(path.name for path in (tmp_path / "whole/train").glob("checkpoint-*"))[-1]
    for name in ("model.safetensors", *(f"train/{last}/{one.name}" for one in (tmp_path / "whole/train" / last).glob("*.safetensors"))):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes(), name
    assert read_lineage(tmp_path / "broken").steps[0].after.scores == read_lineage(tmp_path / "whole").steps[0].after.scores
