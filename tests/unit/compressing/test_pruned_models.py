"""Pruning: what is chosen, what a gate's gradient is, and that a pruned directory is as any other."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import plume
from plume.compressing.compress import resume
from plume.compressing.lineage import read_lineage
from plume.compressing.options import compress_from_options
from plume.compressing.pruning.choosing import chosen, kept_of, wanted
from plume.compressing.pruning.movement import Cubic, MovementSettings, MovingModel
from plume.compressing.shrinking.tuned import with_body
from plume.compressing.shrinking.units import with_units
from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.data.corpus import Corpus
from plume.model.checkpoint import WEIGHTS, read_weights, save_model
from plume.model.gating import AttentionPlace, GatedUnit, gated, open_gates, units_of
from plume.model.use.language_model import LanguageModel
from plume.readers.example import Reading
from plume.train import loop as loops
from plume.train.settings import RUN
from plume.tuning.options import start_from_options
from plume.tuning.preparing import prepare
from plume.tuning.task_loss import TaskLoss
from plume.tuning.tuned import TunedModel

WARM, COLD = ("sunny", "warm"), ("rainy", "cold")
SELF = AttentionPlace.SELF


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, path = random.Random(5), tmp_path_factory.mktemp("labelled") / "weather.tsv"
    rows = []
    for _ in range(48):
        label = source.choice(("warm", "cold"))
        words = [source.choice(("the cat", "my sister", "a letter")) for _ in range(source.randint(1, 4))]
        rows.append(f"{' '.join(words)} {source.choice(WARM if label == 'warm' else COLD)}\t{label}\n")
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Any:
    """A family's miniature in a directory, not tuned."""

    def make(family: str) -> Path:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(3)
        folder: Path = tmp_path_factory.mktemp("plain") / family
        save_model(folder, model, tokenizer)
        return folder

    return make


@pytest.fixture(scope="session")
def tuned(plain: Any, labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[tuple[str, str | None], Path] = {}

    def make(family: str, answer: str | None = None) -> Path:
        if (family, answer) not in made:
            out = tmp_path_factory.mktemp("tuned") / family
            start_from_options(
                plain(family), task="classification", train=str(labelled), dev=str(labelled), out=out, epochs=1.0, measurements=1, batch=8,
                rate=3e-3, quiet=True, answer=answer,
            )  # fmt: skip
            made[family, answer] = out
        return made[family, answer]

    return make


def shrink(source: Path, out: Path, method: str, **options: Any) -> Any:
    compress_from_options(source, method=method, out=out, quiet=True, **options)
    return plume.load(out)


def network(model: Any) -> Any:
    return model.model.body if isinstance(model, TunedModel) else model.model


@given(st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=6), min_size=1, max_size=5), st.floats(0.01, 1.0), st.booleans())
def test_the_best_stay_and_one_of_each_layer(scores: list[list[int]], keep: float, even: bool) -> None:
    scored = {SELF: [torch.tensor(layer, dtype=torch.float64) for layer in scores]}
    counts = {SELF: [len(layer) for layer in scores]}
    total = sum(map(len, scores))
    if round(keep * total) < len(scores):
        with pytest.raises(PlumeError, match="too few for a network"):
            wanted(counts, keep, GatedUnit.HEAD)
        return
    count = wanted(counts, keep, GatedUnit.HEAD)
    made = kept_of(chosen(scored, {SELF: [torch.ones(len(layer)) for layer in scores]}, count, even=even))[SELF]
    assert all(made), "each layer has one"
    for layer, stay in zip(scores, made, strict=True):
        gone = [layer[number] for number in range(len(layer)) if number not in stay]
        assert not gone or max(gone) <= min(layer[number] for number in stay), "within a layer the best stay"
    if even:
        assert [len(stay) for stay in made] == [max(1, round(count / total * len(layer))) for layer in scores]
        return
    assert sum(map(len, made)) == count
    spare = [layer[number] for layer, stay in zip(scores, made, strict=True) if len(stay) > 1 for number in stay]
    gone = [layer[number] for layer, stay in zip(scores, made, strict=True) for number in range(len(layer)) if number not in stay]
    assert not spare or not gone or max(gone) <= sorted(spare)[0] or min(spare) >= max(gone)


@pytest.mark.parametrize("keep", [0.0, -0.5, 1.5, float("nan")])
def test_a_share_lies_between(keep: float, tuned: Any, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="above 0 and goes up to 1"):
        shrink(tuned("bert"), tmp_path / "out", "heads", keep=keep)
    assert not (tmp_path / "out").exists()


def test_nothing_left_is_refused(tuned: Any, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="leaves 1 of 8 heads, too few for a network: each of 2 blocks needs one"):
        shrink(tuned("bert"), tmp_path / "out", "heads", keep=0.1)


@pytest.mark.parametrize("unit", list(GatedUnit))
def test_importance_is_the_slope_of_the_loss(unit: GatedUnit, tuned: Any, labelled: Path) -> None:
    """Against differences, an example at a time, with some switched off already."""
    model = TunedModel.load(tuned("bert"))
    model.model.double().eval()
    task, body = model.task(None), network(model)
    examples = list(task.read([labelled], Reading(file=labelled), labelled=True))[:3]
    masks = open_gates(body, unit)
    masks[SELF][0][1] = 0.0
    found = TaskLoss(model, task, examples).importance(unit, masks)
    for layer, number in ((0, 0), (0, 1), (1, 2)):
        slopes = []
        for example in examples:
            losses = []
            for step in (1e-4, -1e-4):
                gates = {SELF: [one.clone() for one in masks[SELF]]}
                gates[SELF][layer][number] += step
                alone = TaskLoss(model, task, [example])
                with (
                    gated(body, gates if unit is GatedUnit.HEAD else {}, neurons=gates if unit is GatedUnit.NEURON else None),
                    torch.no_grad(),
                ):
                    losses.append(sum(float(alone._loss(batch)) for batch, _ in alone._batches()))
            slopes.append(abs(losses[0] - losses[1]) / 2e-4)
        assert float(found[SELF][layer][number]) == pytest.approx(np.mean(slopes), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "xlnet", "electra", "mpnet"])
@pytest.mark.parametrize("method", ["heads", "feed-forward", "magnitude"])
def test_a_tuned_model_is_pruned_and_used(family: str, method: str, tuned: Any, labelled: Path, tmp_path: Path) -> None:
    source = tuned(family)
    before = network(plume.load(source))
    made = shrink(source, tmp_path / "out", method, keep=0.5, settings=["recover=false"])
    for unit in GatedUnit:
        whole, left = (sum(sum(place) for place in units_of(one, unit).values()) for one in (before, network(made)))
        changed = method == "magnitude" or (method == "heads") == (unit is GatedUnit.HEAD)
        assert left == (round(whole / 2) if changed else whole)
    assert made.predict("the cat sunny")[0]["label"] in ("warm", "cold")
    assert made.embed(["the cat"]).shape == (1, before.width)
    assert (tmp_path / "out" / "lineage.json").exists()


def test_recovery_learns_the_task_again(tuned: Any, labelled: Path, tmp_path: Path) -> None:
    made = shrink(tuned("bert"), tmp_path / "out", "heads", keep=0.5, epochs=2.0, rate=3e-3)
    assert sum(units_of(network(made), GatedUnit.HEAD)[SELF]) == 4
    settings = json.loads((tmp_path / "out" / "train" / "run.json").read_text(encoding="utf-8"))
    assert settings["keep_heads"] is True
    again = shrink(tmp_path / "out", tmp_path / "again", "feed-forward", keep=0.5, settings=["recover=false"])
    body = network(again)
    assert sum(units_of(body, GatedUnit.HEAD)[SELF]) == 4 and sum(units_of(body, GatedUnit.NEURON)[SELF]) == 64
    assert len(json.loads((tmp_path / "again" / "lineage.json").read_text(encoding="utf-8"))["steps"]) == 2


@pytest.mark.parametrize("family", ["t5", "gpt2", "xlnet"])
@pytest.mark.parametrize("method", ["heads", "movement"])
def test_others_recover_too(family: str, method: str, tuned: Any, tmp_path: Path) -> None:
    """An encoder–decoder answers in words, a decoder by its last token, two streams by one."""
    made = shrink(tuned(family), tmp_path / "out", method, keep=0.5, epochs=1.0)
    whole, left = (
        sum(sum(place) for place in units_of(network(one), GatedUnit.HEAD).values()) for one in (plume.load(tuned(family)), made)
    )
    assert left == whole // 2
    assert made.predict("the cat sunny")[0]["label"] in ("warm", "cold")


def uneven(tuned: Any, out: Path) -> Path:
    """Layers of unlike numbers of heads and neurons."""
    model = TunedModel.load(tuned("bert"))
    body = with_units(network(model), GatedUnit.HEAD, {SELF: [[2], [0, 1, 3]]})
    with_body(model, with_units(body, GatedUnit.NEURON, {SELF: [list(range(5)), list(range(3, 60))]})).save(out)
    return out


def test_uneven_directories_tune_view_and_export(tuned: Any, labelled: Path, tmp_path: Path) -> None:
    folder = uneven(tuned, tmp_path / "uneven")
    model = plume.load(folder)
    assert network(model).recipe.transformer.inner == (5, 57)
    start_from_options(
        folder, task="classification", train=str(labelled), dev=str(labelled), out=tmp_path / "tuned", epochs=1.0, quiet=True
    )
    assert network(plume.load(tmp_path / "tuned")).recipe.transformer.inner == (5, 57)
    plume.view.attention(folder, "the cat sunny").write(tmp_path / "attention.html")
    plume.view.heads(folder, labelled, examples=4).write(tmp_path / "heads.html")
    assert "plume compress" in (tmp_path / "heads.html").read_text(encoding="utf-8")
    plume.export_graph(folder, out=tmp_path / "onnx")  # which holds the file against torch


def test_even_widths_can_be_written_for_transformers(plain: Any, tmp_path: Path) -> None:
    made = shrink(plain("bert"), tmp_path / "even", "magnitude", settings=["even=true", "units=('neuron',)"])
    part = made.recipe.transformer
    assert part.feed_forward == 32 and part.inner == () and part.pruned == ()
    plume.export_hf(tmp_path / "even", out=tmp_path / "there")
    assert json.loads((tmp_path / "there" / "config.json").read_text(encoding="utf-8"))["intermediate_size"] == 32
    for name, units, why in (
        ("widths", {GatedUnit.NEURON: [[0], [1, 2]]}, "widths of their own"),
        ("heads", {GatedUnit.HEAD: [[0], [1, 2]]}, "heads are pruned"),
    ):
        ((unit, kept),) = units.items()
        LanguageModel(with_units(made.model, unit, {SELF: kept}), made.tokenizer).save(tmp_path / name)
        with pytest.raises(PlumeError, match=why):
            plume.export_hf(tmp_path / name, out=tmp_path / "hf")


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "xlnet", "transformer-xl", "electra", "ernie", "glm"])
def test_an_untuned_model_is_judged_by_its_text(family: str, plain: Any, corpus: Corpus, tmp_path: Path) -> None:
    source = plain(family)
    made = shrink(source, tmp_path / "heads", "heads", text=str(corpus.files[0]), settings=["examples=16", "rounds=2"])
    whole, left = (sum(sum(place) for place in units_of(one.model, GatedUnit.HEAD).values()) for one in (plume.load(source), made))
    assert left == whole // 2
    made = shrink(tmp_path / "heads", tmp_path / "both", "feed-forward", text=str(corpus.files[0]), settings=["examples=16", "rounds=1"])
    assert sum(sum(place) for place in units_of(made.model, GatedUnit.HEAD).values()) == left


def test_what_does_not_fit_is_refused(plain: Any, tuned: Any, corpus: Corpus, tmp_path: Path) -> None:
    text = str(corpus.files[0])
    for source, options, why in (
        (plain("bert"), {}, "give --text FILE"),
        (tuned("bert"), {"text": text}, "leave out --text"),
        (tuned("albert"), {}, "share one attention"),
        (plain("ulmfit"), {"text": text}, "recurrent network"),
        (tuned("bert"), {"settings": ["rounds=0"]}, "at least one round"),
    ):
        with pytest.raises(PlumeError, match=why):
            shrink(source, tmp_path / "out", "heads", **options)
        assert not (tmp_path / "out").exists()
    with pytest.raises(PlumeError, match="not tuned for a task"):
        shrink(plain("bert"), tmp_path / "out", "movement")
    with pytest.raises(PlumeError, match="begin < end"):
        shrink(tuned("bert"), tmp_path / "out", "movement", settings=["begin=0.8"])


def test_a_gate_moves_as_the_weights_behind_it(tuned: Any, labelled: Path) -> None:
    """dL/dξ is the sum of w · dL/dw over what a head, or a neuron, writes with."""
    model = TunedModel.load(tuned("bert"))
    model.model.double().eval()
    settings = _moving(tuned("bert"), labelled)
    moving = MovingModel(model.model, settings)
    examples = prepare(settings.data[0], known=True).train[:8]
    asked = TaskLoss(model, model.task(None), examples)
    (batch, _), *_ = asked._batches()
    asked._loss(batch).backward()
    for layer in range(2):
        block = network(model).stack.block(layer)
        for output, unit, width in (
            (block.attention.output, GatedUnit.HEAD, block.attention.head_width),
            (block.feed_forward.output, GatedUnit.NEURON, 1),
        ):
            expected = (output.weight * output.weight.grad).sum(0).view(-1, width).sum(1)
            assert torch.allclose(moving.gates[unit][SELF][layer].grad, expected, atol=1e-12)
    moving.after_step(1)
    assert all(gate.grad is None for _, _, gate in moving._each())
    moving.before_step(1.0)
    assert [int(sum(gate.sum() for gate in moving.gates[unit][SELF])) for unit in GatedUnit] == [4, 64]
    closed = next(gate for gate in moving.gates[GatedUnit.NEURON][SELF] if gate.min() == 0)
    asked._loss(batch).backward()
    assert float(closed.grad[closed == 0].abs().max()) > 0, "what is closed still hears"


def _moving(source: Path, labelled: Path) -> MovementSettings:
    settings = part_from_json(json.loads((source / "train" / "run.json").read_text(encoding="utf-8")))
    known = {name: getattr(settings, name) for name in ("model", "data", "adaptation", "training", "budget")}
    return MovementSettings(**known, schedule=Cubic(keep=0.5), units=tuple(GatedUnit), even=False, normalise=False)


def test_movement_closes_prunes_recovers_and_resumes(tuned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was stopped, while gates closed and while it recovered, goes on to the same bits."""
    options: dict[str, Any] = {"keep": 0.5, "epochs": 3.0, "batch": 8, "rate": 3e-3}
    made = shrink(tuned("bert"), tmp_path / "whole", "movement", **options)
    assert sum(units_of(network(made), GatedUnit.HEAD)[SELF]) == 4 and sum(units_of(network(made), GatedUnit.NEURON)[SELF]) == 64
    step, steps = loops.Loop._step, [0]

    def told(self: Any, *rest: Any, **more: Any) -> Any:
        steps[0] += 1
        if steps[0] in (11, 25):
            signal.raise_signal(signal.SIGTERM)
        return step(self, *rest, **more)

    monkeypatch.setattr(loops.Loop, "_step", told)
    source = [tuned("bert")]
    assert compress_from_options(source, method="movement", out=tmp_path / "cut", quiet=True, **options).stopped_by == "SIGTERM"
    assert not (tmp_path / "cut" / WEIGHTS).exists(), "nothing is pruned yet"
    assert resume(tmp_path / "cut", quiet=True).stopped_by == "SIGTERM"
    assert (tmp_path / "cut" / WEIGHTS).exists(), "it recovers"
    assert resume(tmp_path / "cut", quiet=True).after is not None
    whole, cut = (read_weights(tmp_path / name / WEIGHTS) for name in ("whole", "cut"))
    assert whole.keys() == cut.keys() and all(torch.equal(whole[name], cut[name]) for name in whole)


def test_movement_need_not_recover(tuned: Any, tmp_path: Path) -> None:
    """Wishes for training are for the run that closes gates, beside which the model is written as it then is."""
    options: dict[str, Any] = {"keep": 0.5, "epochs": 1.0, "batch": 8, "settings": ["recover=false"]}
    made = shrink(tuned("bert"), tmp_path / "out", "movement", **options)
    assert sum(units_of(network(made), GatedUnit.HEAD)[SELF]) == 4
    assert not (tmp_path / "out" / RUN).exists(), "one run, not two"
    lineage = read_lineage(tmp_path / "out")
    assert lineage is not None and len(lineage.steps) == 1


@pytest.mark.parametrize("start", ["layers", "random"])
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_a_pruned_model_teaches_one_of_fewer_layers(family: str, start: str, tuned: Any, tmp_path: Path) -> None:
    """Whose blocks have the shapes of those that it stands for, as uneven as they are."""
    shrink(tuned(family), tmp_path / "pruned", "magnitude", keep=0.4, settings=["recover=false"])
    made = network(shrink(tmp_path / "pruned", tmp_path / "out", "distil", start=start, epochs=1.0, batch=8))
    before = network(plume.load(tmp_path / "pruned"))
    for unit in GatedUnit:
        for place, counts in units_of(made, unit).items():
            assert counts == units_of(before, unit)[place][:1]


def test_the_network_is_smaller_and_does_less(tuned: Any, tmp_path: Path) -> None:
    whole = network(plume.load(tuned("bert")))
    made = network(shrink(tuned("bert"), tmp_path / "out", "magnitude", keep=0.5, settings=["recover=false"]))
    size = {"rows": 2, "time": 16, "positions": whole.embedding.position}
    assert made.stack.flops(**size) == pytest.approx(whole.stack.flops(**size) / 2, rel=0.01)
    blocks = [sum(p.numel() for p in one.stack.parameters()) for one in (whole, made)]
    assert blocks[1] == pytest.approx(blocks[0] / 2, rel=0.05)
    assert replace(made.recipe, network=whole.recipe.network) == whole.recipe
