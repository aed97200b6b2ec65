"""A way to adapt is one file in a folder, pooling a part of any head: new ones tune, are saved and loaded as plume's own are."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.core.batch import Batch, Target
from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.core.part import part_from_json
from plume.model.checkpoint import save_model
from plume.nn.pooling import MAX, Pooling, pooling_of
from plume.nn.task_network import TaskNetwork
from plume.tuning.adapting import ways
from plume.tuning.adapting.adaptation import modes, way
from plume.tuning.adapting.ways.adapters import LowRank, LowRankAdapters
from plume.tuning.adapting.ways.features import FrozenFeatures, Place
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.adapting.ways.probe import LinearProbe
from plume.tuning.exchange import export_tuned
from plume.tuning.options import start_from_options
from plume.tuning.tuned import TunedModel

TEXTS = ["the cat warm", "cold my sister a letter", "rainy"]


@pytest.fixture
def own_ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the files beside this one lay in plume's folder."""
    monkeypatch.setattr(ways, "__path__", [*ways.__path__, str(Path(__file__).with_name("ways"))])
    yield
    for name in ("bitfit", "scaled_states"):
        sys.modules.pop(f"{ways.__name__}.{name}", None)
        vars(ways).pop(name, None)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Callable[[str], Path]:
    def make(family: str) -> Path:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        made = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        made.initialise(3)
        folder = tmp_path_factory.mktemp("model") / family
        save_model(folder, made, tokenizer)
        return folder

    return make


@pytest.fixture(scope="module")
def bert(model: Callable[[str], Path]) -> Path:
    return model("bert")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    source, path = random.Random(2), tmp_path_factory.mktemp("data") / "table.tsv"
    rows = [f"{source.choice(['the cat', 'a letter'])} {word}\t{word}\n" for word in ["warm", "cold"] * 12]
    path.write_text("".join(rows), encoding="utf-8")
    return str(path)


def tune(model: Path, table: str, out: Path, **options: Any) -> TunedModel:
    options = {"epochs": 1.0, "measurements": 1, "batch": 8, "rate": 3e-3, "quiet": True} | options
    start_from_options(model, task="classification", train=table, dev=table, out=out, **options)
    return TunedModel.load(out)


def changed(before: Path, after: TunedModel) -> set[str]:
    old = dict(plume.load(before).model.named_parameters())
    return {name for name, value in after.model.body.named_parameters() if not torch.equal(old[name], value)}


@pytest.mark.usefixtures("own_ways")
def test_a_file_in_the_folder_is_a_mode(bert: Path, table: str, tmp_path: Path) -> None:
    assert modes()[:2] == ["full", "features"] and "bitfit" in modes()
    tuned = tune(bert, table, tmp_path / "out", mode="bitfit", adapt=["least=2"], pooling="cls")
    assert tuned.declared.adaptation.mode == "bitfit" and read_json(tmp_path / "out" / "task.json", "")["adaptation"]["least"] == 2
    moved = changed(bert, tuned)
    assert moved and all(name.endswith("bias") for name in moved)
    tuned.save(tmp_path / "again")
    assert TunedModel.load(tmp_path / "again").predict(TEXTS) == tuned.predict(TEXTS)
    assert export_tuned(tuned, tmp_path / "theirs") == "BertForSequenceClassification"


@pytest.mark.usefixtures("own_ways")
def test_a_way_brings_weights_of_its_own(bert: Path, table: str, tmp_path: Path) -> None:
    tuned = tune(bert, table, tmp_path / "out", mode="scaled-states")
    assert not changed(bert, tuned)
    factor = dict(tuned.model.named_parameters())["scale.factor"]
    assert not torch.equal(factor, torch.ones_like(factor)), "it was trained, saved and loaded"
    before = tuned.predict(TEXTS)
    with torch.no_grad():
        factor.zero_()
    assert tuned.predict(TEXTS) != before, "and heads read through it"
    with pytest.raises(PlumeError, match="no class"):
        export_tuned(tuned, tmp_path / "theirs")


@pytest.mark.usefixtures("own_ways")
def test_a_setting_of_another_mode_names_it() -> None:
    for mode, asked, said in (
        ("full", "least=1", "--mode bitfit; this is --mode full"),
        ("bitfit", "frozen_layers=1", "one by one in --mode full; in --mode bitfit"),
        ("full", "layer=1", "--mode probe; --mode full"),
        ("features", "adapters.rank=2", "--mode adapters"),
    ):
        with pytest.raises(PlumeError, match=said):
            way(mode).adjusted([asked])
    with pytest.raises(PlumeError, match="no part 'depth'"):
        way("full").adjusted(["depth=1"])
    with pytest.raises(PlumeError, match=r"no mode 'ful'.*full, features"):
        way("ful")


OLD = {  # task.json as it was written when one record had the fields of every mode
    "part": "tuning.adaptation:Adaptation",
    "mode": "full",
    "frozen_layers": 2,
    "adapters": {"part": "nn.low_rank:LowRank", "rank": 4, "alpha": 16.0, "dropout": 0.0, "targets": ["query", "value"]},
    "network": {"part": "nn.task_network:TaskNetwork", "width": 100, "depth": 1, "dropout": 0.5},
    "place": "both",
    "penalty": 0.1,
    "norm": True,
    "layer": 1,
    "dropout": 0.2,
}


@pytest.mark.parametrize(
    "now",
    [
        FullTuning(frozen_layers=2, dropout=0.2),
        FrozenFeatures(network=TaskNetwork(width=100), place=Place.BOTH, penalty=0.1, norm=True, dropout=0.2),
        LinearProbe(layer=1, dropout=0.2),
        LowRankAdapters(adapters=LowRank(rank=4), dropout=0.2),
    ],
)
@pytest.mark.parametrize("address", ["tuning.adaptation:Adaptation", "tuning.adapting.adaptation:Adaptation"])
def test_what_was_written_before_there_were_ways(address: str, now: Any) -> None:
    assert part_from_json(OLD | {"part": address, "mode": now.mode}) == now
    assert part_from_json({"part": address, "mode": now.mode}) == type(now)()
    assert part_from_json(now.to_json()) == now
    with pytest.raises(PlumeError, match="no field 'layr'"):
        part_from_json({"part": address, "mode": now.mode, "layr": 1})


def test_a_tuned_transformer_is_pooled(bert: Path, table: str, tmp_path: Path) -> None:
    plain, mean = (tune(bert, table, tmp_path / str(name), pooling=name) for name in ("cls", "mean"))
    assert mean.predict(TEXTS) != plain.predict(TEXTS)
    assert {"stack.blocks.0.attention.query.weight"} <= changed(bert, mean) and not {"pooler.dense.weight"} & changed(bert, mean)
    assert mean.declared.adaptation.pooling == pooling_of("mean")
    batch = Batch(tokens=torch.tensor([[3, 7, 8, 9], [3, 9, 0, 0]]), length=torch.tensor([4, 2]), labels=_asked(2))
    with torch.no_grad():
        states = mean.model.body.encode(Batch(tokens=batch.tokens, length=batch.length)).last
        expected = torch.stack([states[0].mean(0), states[1, :2].mean(0)])
        torch.testing.assert_close(mean.model.states(batch).last[:, 0], expected)
    with pytest.raises(PlumeError, match=r"with --pooling.*no class.*without --pooling.*--pooling cls"):
        export_tuned(mean, tmp_path / "theirs")
    few = tune(bert, table, tmp_path / "few")
    assert few.predict(TEXTS) == mean.predict(TEXTS) and "--pooling cls" in (tmp_path / "few" / "card.md").read_text(encoding="utf-8")
    assert export_tuned(plain, tmp_path / "theirs") == "BertForSequenceClassification" and plain.declared.adaptation.pooling is None


def _asked(rows: int) -> dict[str, Target]:
    return {"classification": Target(index=torch.arange(rows), value=torch.zeros(rows, dtype=torch.long))}


@pytest.mark.parametrize("mode", ["full", "adapters", "features", "probe"])
def test_every_mode_can_be_pooled(mode: str, bert: Path, table: str, tmp_path: Path) -> None:
    most = tune(bert, table, tmp_path / "out", mode=mode, pooling="max")
    assert most.model.pooling is not None and most.model.pooling.part.tokens == (MAX,)
    assert most.predict(TEXTS) != tune(bert, table, tmp_path / "usual", mode=mode).predict(TEXTS)
    assert most.predict(TEXTS) == TunedModel.load(tmp_path / "out").predict(TEXTS)


def test_layers_are_mixed_by_learned_weights(bert: Path, table: str, tmp_path: Path) -> None:
    tuned = tune(bert, table, tmp_path / "out", adapt=["pooling=Pooling(layers=None, mixed=True)"])
    weight = dict(tuned.model.named_parameters())["pooling.mix.weight"]
    assert len(weight) == plume.load(bert).recipe.network.depth + 1 and bool(weight.any())
    assert tuned.predict(TEXTS) == TunedModel.load(tmp_path / "out").predict(TEXTS)
    with pytest.raises(PlumeError, match="no layer 9"):
        tune(bert, table, tmp_path / "none", adapt=["pooling=Pooling(layers=(0, 9))"])


def test_an_encoder_decoder_that_is_pooled_reads_its_encoder(model: Callable[[str], Path], table: str, tmp_path: Path) -> None:
    t5 = model("t5")
    tuned = tune(t5, table, tmp_path / "out", pooling="mean")
    assert not tuned.model.writing and not any("decoder" in name for name in changed(t5, tuned))
    with pytest.raises(PlumeError, match="cannot be answered by text"):
        tune(t5, table, tmp_path / "none", pooling="mean", answer="text")


def test_pooling_needs_a_text_to_label(bert: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.conll"
    file.write_text("the O\ncat B-X\n\n" * 8, encoding="utf-8")
    for pooling, said in (("mean", "no head of ner reads one"), ("middle", "no pooling 'middle': choose mean, first")):
        with pytest.raises(PlumeError, match=said):
            start_from_options(bert, task="ner", train=file, dev=file, out=tmp_path / "out", pooling=pooling, quiet=True)
    assert not (tmp_path / "out").exists()


def test_texts_are_embedded_over_any_layers(bert: Path) -> None:
    model = plume.load(bert)
    first, last = (model.embed(TEXTS, pooling="mean", layer=layer) for layer in (0, -1))
    np.testing.assert_allclose(model.embed(TEXTS, pooling=Pooling(layers=(0, -1))), (first + last) / 2, atol=1e-6)
    weighted, hidden = model.embed(TEXTS[0], pooling="weighted")[0], model.hidden(TEXTS[0])[0].layers[-1]
    place = np.arange(1, len(hidden) + 1)[:, None]
    np.testing.assert_allclose(weighted, (hidden * place).sum(0) / place.sum(), atol=1e-6)


def vector(embedder: Embedder, text: str) -> np.ndarray[Any, Any]:
    found = embedder.embed(text, pooling="mean")
    assert found.shape == (1, embedder.width)
    return found


def test_whatever_is_loaded_embeds(bert: Path, table: str, tmp_path: Path) -> None:
    probed = tune(bert, table, tmp_path / "out", mode="probe")
    np.testing.assert_array_equal(vector(probed, TEXTS[0]), vector(plume.load(bert), TEXTS[0]))


def test_attention_heads_are_masked_below_a_task(bert: Path, table: str, tmp_path: Path) -> None:
    tuned = tune(bert, table, tmp_path / "out")
    network = tuned.body.recipe.network
    batch = Batch(tokens=torch.tensor([[3, 7, 8, 9]]), read=torch.tensor([[0]]), labels=_asked(1))
    scores, open_, closed = (
        tuned.model.scores(batch, **given)
        for given in (
            {},
            {"head_mask": torch.ones(network.depth, network.heads)},
            {"head_mask": torch.zeros(network.depth, network.heads)},
        )
    )
    torch.testing.assert_close(scores, open_)
    assert not torch.allclose(scores, closed)
