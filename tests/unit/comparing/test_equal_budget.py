"""The same budget for all: what the loop counts is what an independent count finds, and time is kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch
from plume.core.part import replace
from plume.data.corpus import Corpus
from plume.model.recipe import Recipe
from plume.text.tokenizer import Tokenizer
from plume.train import pretrain, runs
from plume.train.evaluate import to_device
from plume.train.pretrain import OUTCOME, build, make_mixture
from plume.train.settings import make_settings
from plume.train.stores import read_stores

STEPS = 4


def read_tokens(batch: Batch) -> int:
    """Every token that some network is shown, padding left out; counted from the arrays themselves."""
    own = int((torch.as_tensor(batch.length)).sum()) if batch.length is not None else int(torch.as_tensor(batch.tokens).numel())
    return own + (0 if batch.source is None else read_tokens(batch.source))


def spent(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / OUTCOME).read_text())["spent"])


@pytest.mark.parametrize("family", ["bert", "electra", "gpt2", "t5", "xlnet"])
def test_tokens_and_flops_are_what_another_count_finds(
    family: str, tmp_path: Path, corpus: Corpus, miniature: Callable[..., Recipe]
) -> None:
    """FLOPs by torch's own counter, over the same batches; of ELECTRA the generator too, of T5 both sides."""
    recipe = miniature(family)
    settings = make_settings(recipe, corpus=list(corpus.files), budget=f"{STEPS}steps", save_every="1d")
    pretrain.start(settings, tmp_path / "run", quiet=True)
    tokenizer = Tokenizer.load(tmp_path / "run" / "tokenizer.json", format=recipe.format)
    stores = read_stores(corpus, tokenizer, words=recipe.words, quiet=True)
    mixture = make_mixture(stores.train, recipe, tokenizer, seed=0)
    model = build(recipe, vocabulary=tokenizer.size, seed=0).train()
    model.spell(tokenizer.tokens())
    tokens = flops = 0
    steps = mixture.steps(mixture.start(), step=0, active=list(range(len(mixture.readers))), shares=(slice(None),), workers=0)
    for _ in range(STEPS):
        (batch,) = next(steps).batches
        tokens += read_tokens(batch)
        scale = {name: torch.tensor(1.0) for name in model.counts(batch)}
        with FlopCounterMode(display=False) as counter:
            loss, _ = model(to_device(batch, torch.device("cpu")), scale)
            loss.backward()
        flops += counter.get_total_flops()
    found = spent(tmp_path / "run")
    assert found["tokens"] == tokens
    assert found["flops"] == pytest.approx(flops, rel=0.02)


@pytest.mark.parametrize("family", ["bert", "fasttext"])
def test_time_is_kept(
    family: str, tmp_path: Path, corpus: Corpus, miniature: Callable[..., Recipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another clock: wall time of the run, without that of measuring, saving and all that is before and after the steps."""
    inside = [0.0]
    if family == "bert":
        step = pretrain.Loop._step

        def timed(self: Any, *given: Any, began: float, **others: Any) -> Any:
            found = step(self, *given, began=began, **others)
            inside[0] += time.perf_counter() - began
            return found

        monkeypatch.setattr(pretrain.Loop, "_step", timed)
        settings = make_settings(replace(miniature("bert")), corpus=list(corpus.files), budget="3s")
        pretrain.start(settings, tmp_path / "run", quiet=True)
        assert inside[0] == pytest.approx(3.0, rel=0.02)
    else:
        runs.start("fasttext/tiny", corpus=list(corpus.files), out=tmp_path / "run", budget="3s", quiet=True, threads=1)
    assert spent(tmp_path / "run")["seconds"] == pytest.approx(3.0, rel=0.02)


def test_word_vectors_keep_a_budget_of_tokens(tmp_path: Path, corpus: Corpus) -> None:
    runs.start("word2vec/tiny", corpus=list(corpus.files), out=tmp_path / "run", budget="20000tokens", quiet=True, threads=1)
    assert 20_000 <= spent(tmp_path / "run")["tokens"] <= 20_400
