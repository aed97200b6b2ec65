"""The small parts around the loop: optimizer groups, devices, metrics, measures, the sparkline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.loader import Cursor
from plume.noise.select import Tokens
from plume.recipes import _catalog as catalog
from plume.train.card import sparkline
from plume.train.device import Precision, autocast, bf16_gain, choose_device, choose_precision
from plume.train.distributed import Processes
from plume.train.evaluate import evaluate, label_shares
from plume.train.measure import measure_noise
from plume.train.metrics import METRICS, MetricsLog, read_metrics
from plume.train.optimizer import decayed, make_optimizer, set_rate
from plume.train.progress import duration

CPU = torch.device("cpu")


# Optimizer


@pytest.mark.parametrize("family", catalog.networks())
def test_only_matrices_decay(family: str, miniature: Any, built: Any) -> None:
    recipe = miniature(family)
    model = built(recipe)
    exempt = {name for name, parameter in model.named_parameters() if not decayed(name, parameter)}
    # XLNet's query stream starts from one vector, which is no matrix either.
    assert exempt == {name for name, _ in model.named_parameters() if name.endswith(("bias", "query_start")) or "norm" in name}
    optimizer = make_optimizer(model, replace(recipe.training, decay=0.3, peak=0.02))
    *heavy, light = optimizer.param_groups
    assert [group["weight_decay"] for group in heavy] == [0.3] * len(heavy) and light["weight_decay"] == 0.0
    assert {id(parameter) for parameter in light["params"]} == {id(p) for name, p in model.named_parameters() if name in exempt}
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    assert len(learned) == sum(parameter.requires_grad for parameter in model.parameters())
    # XLNet's segments have a vector a head, which is no map from states to states.
    inside = {id(p) for name, p in model.named_parameters() if "blocks." in name and name.endswith(".weight") and name not in exempt}
    assert {id(parameter) for group in heavy if group["blocks"] for parameter in group["params"]} == inside
    assert all(group["lr"] == 0.02 for group in optimizer.param_groups)


def test_the_recipe_s_numbers_reach_the_optimizer(built: Any, miniature: Any) -> None:
    recipe = miniature("roberta")
    first, *_ = make_optimizer(built(recipe), recipe.training).param_groups
    assert (first["betas"], first["eps"]) == ((0.9, 0.98), 1e-6)


# Held-out loss

MEASURED = [family for family in ("bert", "electra", "gpt2", "unilm", "xlm", "transformer-xl", "t5") if family in catalog.networks()]


@pytest.fixture(scope="module", params=MEASURED)
def measured(request: pytest.FixtureRequest, miniature: Any, mixture_for: Any, built: Any) -> Any:
    recipe = miniature(request.param, rows=8)
    mixture = mixture_for(recipe, seed=11)
    return built(recipe, vocabulary=mixture.readers[0].tokenizer.size).train(), mixture


def test_measuring_twice_gives_the_same(measured: Any) -> None:
    model, mixture = measured
    torch.manual_seed(1)
    first = evaluate(model, mixture, device=CPU, processes=Processes(CPU))
    state = torch.random.get_rng_state()
    torch.manual_seed(2)
    assert evaluate(model, mixture, device=CPU, processes=Processes(CPU)) == first
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), state), "measuring must not disturb the run's randomness"
    assert model.training


def test_the_measure_is_the_mean_over_predictions(measured: Any, on_cpu: Any) -> None:
    """Over all kinds of batch that ask; an objective without answers is left out."""
    model, mixture = measured
    found = evaluate(model, mixture, device=CPU, processes=Processes(CPU))
    model.eval()
    sums: dict[str, list[float]] = {}
    with torch.random.fork_rng(), torch.no_grad(), model.fresh_memory():
        torch.manual_seed(0)
        for reader in mixture.readers:
            for number in range(min(max(4, 16 // len(mixture.readers)), len(reader.plan(0)[1]))):
                (batch,) = reader.step(Cursor(step=number), [slice(None)])
                for name, loss in model.losses(on_cpu(batch)).items():
                    before = sums.get(name, [0.0, 0, 0])
                    sums[name] = [before[0] + float(loss.total), before[1] + int(loss.count), before[2] + int(loss.correct)]
    model.train()
    assert {name for name in found if "/" not in name} == set(sums)
    for name, (total, count, correct) in sums.items():
        assert found[name] == pytest.approx(total / count, rel=1e-12)
        assert found[f"{name}/accuracy"] == pytest.approx(correct / count, rel=1e-12)
        assert 0 <= found[f"{name}/accuracy"] <= 1


# Metrics


def written(folder: Path, steps: range, *, resumed_at: int) -> None:
    log = MetricsLog(folder, resumed_at=resumed_at)
    for step in steps:
        log.write(step=step, loss=float(step))
    log.close()


def test_resuming_drops_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    written(tmp_path, range(1, 11), resumed_at=0)
    written(tmp_path, range(7, 13), resumed_at=6)
    assert [line["step"] for line in read_metrics(tmp_path)] == list(range(1, 13))
    written(tmp_path, range(1, 3), resumed_at=0)
    assert [line["step"] for line in read_metrics(tmp_path)] == [1, 2]


def test_a_line_is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, resumed_at=0)
    log.write(step=1, rate=0.5)
    assert [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()] == [{"step": 1, "rate": 0.5}]
    log.close()


def test_half_a_last_line_is_dropped(tmp_path: Path) -> None:
    written(tmp_path, range(1, 4), resumed_at=0)
    with (tmp_path / METRICS).open("a") as file:
        file.write('{"step": 4, "lo')
    written(tmp_path, range(4, 5), resumed_at=3)
    assert [line["step"] for line in read_metrics(tmp_path)] == [1, 2, 3, 4]


# Devices


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "tpu:0"])
def test_a_device_that_is_not_here_is_said(name: str) -> None:
    with pytest.raises(PlumeError, match=f"The device '{name}' cannot be used here"):
        choose_device(name)


def test_the_cpu_is_always_there() -> None:
    assert choose_device("cpu") == CPU
    assert choose_device().type in ("cpu", "cuda", "mps")


def test_half_precision_must_be_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_precision(Precision.AUTO, CPU) is Precision.FP32
    assert choose_precision(Precision.FP32, CPU) is Precision.FP32
    with pytest.raises(PlumeError, match="fp16 is for CUDA devices; on cpu use fp32 or bf16"):
        choose_precision(Precision.FP16, CPU)
    monkeypatch.setattr("plume.train.device.bf16_gain", lambda: 0.31)
    with pytest.raises(PlumeError, match=r"0\.31 times the speed of fp32"):
        choose_precision(Precision.BF16, CPU)
    monkeypatch.setattr("plume.train.device.bf16_gain", lambda: 1.9)
    assert choose_precision(Precision.BF16, CPU) is Precision.BF16


def test_a_cpu_that_dies_of_bf16_is_asked_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plume.train.device._PROBE", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert bf16_gain() == 0.0
    with pytest.raises(PlumeError, match="its products crash"):
        choose_precision(Precision.BF16, CPU)


def test_products_run_in_the_precision_chosen() -> None:
    with autocast(Precision.FP32, CPU):
        assert not torch.is_autocast_enabled("cpu")
    with autocast(Precision.BF16, CPU):
        assert torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16


# Measures


def test_noise_as_measured_is_as_the_papers_say(miniature: Any, reader_for: Any) -> None:
    recipe = miniature("bert", length=64, rows=64)
    figures = {figure.name: figure for figure in measure_noise(recipe.kinds[0], reader_for(recipe))}
    assert figures["tokens selected"].measured == pytest.approx(0.15, abs=0.01)
    assert figures["of those: mask token"].measured == pytest.approx(0.8, abs=0.04)
    assert figures["of those: random token"].measured == pytest.approx(0.1, abs=0.03)
    assert figures["of those: unchanged"].measured == pytest.approx(0.1, abs=0.03)
    assert figures["pairs random_next"].measured > 0.5
    assert [figures[name].paper for name in ("tokens selected", "of those: mask token", "of those: random token")] == [0.15, 0.8, 0.1]
    assert figures["of those: unchanged"].paper == pytest.approx(0.1)


def test_each_family_s_noise_is_its_own(miniature: Any, reader_for: Any) -> None:
    shares = {}
    for family in ("electra", "bert-wwm", "albert", "gpt2"):
        recipe = miniature(family, length=64, rows=64)
        shares[family] = {figure.name: figure.measured for figure in measure_noise(recipe.kinds[0], reader_for(recipe))}
    assert shares["electra"]["of those: random token"] == 0.0
    assert shares["electra"]["of those: mask token"] == pytest.approx(0.85, abs=0.04)
    assert shares["electra"]["tokens selected"] < 0.145
    assert 0.11 < shares["bert-wwm"]["tokens selected"] <= 0.155
    assert shares["albert"]["pairs swapped"] > 0.4
    assert "tokens selected" not in shares["gpt2"]


def test_measured_rows_are_those_of_training(miniature: Any, reader_for: Any) -> None:
    """Everything selected and masked shows in the figures, so they come from the real rows and draws."""
    recipe = miniature("roberta", length=64, rows=16)
    reader = reader_for(recipe)
    figures = {figure.name: figure.measured for figure in measure_noise(recipe.kinds[0], reader)}
    batches = [reader.batch(Cursor(step=step)) for step in range(min(20, len(reader.plan(0)[1])))]
    tokens = sum(batch.tokens.size if batch.length is None else int(batch.length.sum()) for batch in batches)
    assert isinstance(recipe.noise.select, Tokens)
    assert figures["tokens selected"] == pytest.approx(sum(len(batch.labels["masked_lm"].value) for batch in batches) / tokens)
    assert figures["padding"] == pytest.approx(1 - tokens / sum(batch.tokens.size for batch in batches))
    assert figures["masked_lm: tokens a row"] == pytest.approx(tokens / (16 * len(batches)))


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([2.0], "▁"),
        ([1.0, 1.0], "▁▁"),
        ([0.0, 7.0], "▁█"),
        ([7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0], "█▇▆▅▄▃▂▁"),
    ],
)
def test_sparkline(values: list[float], line: str) -> None:
    assert sparkline(values) == line


def test_a_long_sparkline_is_thinned_evenly() -> None:
    line = sparkline([float(number) for number in range(1000)])
    assert len(line) == 60
    assert line == "".join(sorted(line))


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0s"), (59, "59s"), (61, "1m01s"), (3599.6, "1h00m"), (90000, "25h00m")])
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_labels_are_guessed_by_their_shares_in_the_training_text(miniature: Any, mixture_for: Any, built: Any) -> None:
    """Not by those of the few rows measured; shares of the labels trained on, each counted once more than it is."""
    balanced = miniature("deepmoji", rows=8)
    assert len(set(label_shares(balanced.kinds, mixture_for(balanced).readers)["emoji_prediction"])) == 1
    recipe = replace(balanced, layout=balanced.layout.as_it_is())
    mixture = mixture_for(recipe, seed=3)
    store = mixture.readers[0].store
    model = built(recipe, vocabulary=mixture.readers[0].tokenizer.size)
    shares = label_shares(recipe.kinds, mixture.readers)["emoji_prediction"]
    counts = np.bincount(store.document_label, minlength=len(store.labels))
    assert shares == pytest.approx((counts + 1) / (counts + 1).sum())
    even = [1 / len(shares)] * len(shares)
    found = evaluate(model, mixture, device=CPU, processes=Processes(CPU), shares={"emoji_prediction": even})
    assert found["emoji_prediction/guessing"] == pytest.approx(np.log(len(shares)))
    by_own = evaluate(model, mixture, device=CPU, processes=Processes(CPU))["emoji_prediction/guessing"]
    assert by_own < np.log(len(shares)) - 1e-6 or len(set(counts.tolist())) == 1


def test_layers_learn_at_rates_of_their_own(miniature: Any, built: Any) -> None:
    """ULMFiT §3.2–3.3: each layer at a share of the rate above it; frozen until its turn, the last layer first, the embedding last."""
    recipe = miniature("ulmfit")
    model = built(recipe)
    training = replace(recipe.training, layer_decay=0.5, thaw=1.0)
    optimizer = make_optimizer(model, training)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert sorted(id(p) for group in optimizer.param_groups for p in group["params"]) == sorted(names)
    found = {}
    for progress in (0.0, 0.25, 0.5, 0.75, 1.0):
        set_rate(optimizer, 1.0, progress)
        found[progress] = {names[id(p)]: group["lr"] for group in optimizer.param_groups for p in group["params"]}
    layers = ("layers.layers.2.bias", "layers.layers.1.bias", "layers.layers.0.input")
    rates = [found[1.0][name] for name in ("heads.causal_lm.bias", *layers, "embedding.token.weight")]
    assert rates == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert [sum(rate > 0 for rate in set_of.values()) for set_of in found.values()] == [1, 4, 7, 10, 11]
    plain = make_optimizer(model, recipe.training)
    assert len(plain.param_groups) == 2
