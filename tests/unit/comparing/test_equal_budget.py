"""The same budget for all: what the loop counts is what an independent count finds, and time is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch
from plume.core.part import replace
from plume.data.corpus import Corpus
from plume.data.loader import Reader
from plume.model.build import build
from plume.model.recipe import Recipe
from plume.static import token_vectors
from plume.static.word2vec import Word2VecTrainer
from plume.text.tokenizer import Tokenizer
from plume.train import loop, pretrain, runs, warm, word_vectors
from plume.train.device import to_device
from plume.train.feeding import make_mixture
from plume.train.loop import Loop
from plume.train.pretrain import OUTCOME
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
    recipe = replace(miniature(family), warm_start=None)  # which is charged apart
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


class Clock:
    """Stands still but for what is charged to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
        self.now, self._patch = 1000.0, monkeypatch
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def charge(self, owner: Any, name: str, seconds: float) -> None:
        """From now on every call takes so long."""
        call = getattr(owner, name)

        def slow(*given: Any, **others: Any) -> Any:
            self.now += seconds
            return call(*given, **others)

        self._patch.setattr(owner, name, slow)


def test_time_is_kept_by_networks(
    tmp_path: Path, corpus: Corpus, miniature: Callable[..., Recipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a batch, its step and the warm start count; measuring, saving and all else that is before and after do not."""
    clock = Clock(monkeypatch, loop)
    for module in (token_vectors, warm):
        monkeypatch.setattr(module, "time", loop.time)
    clock.charge(Word2VecTrainer, "train", 0.375)
    clock.charge(Reader, "step", 0.125)
    clock.charge(Loop, "_gradients", 0.25)
    for owner, name in ((loop, "save_checkpoint"), (Loop, "_measure"), (pretrain, "shared_stores"), (pretrain, "build")):
        clock.charge(owner, name, 100.0)
    settings = make_settings(miniature("bert"), corpus=list(corpus.files), budget="3s", save_every="1s", workers=0)
    pretrain.start(settings, tmp_path / "run", quiet=True)
    assert clock.now > 1500, "much was done besides"
    assert (spent(tmp_path / "run")["steps"], spent(tmp_path / "run")["seconds"]) == (7, 8 * 0.375)


def test_time_is_kept_by_word_vectors(tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, word_vectors)
    clock.charge(Word2VecTrainer, "train", 0.375)
    for owner, name in ((word_vectors._Run, "_save"), (word_vectors._Run, "_measure"), (word_vectors, "read_text")):
        clock.charge(owner, name, 100.0)
    runs.start("fasttext/tiny", corpus=list(corpus.files), out=tmp_path / "run", budget="3s", quiet=True, threads=1)
    assert clock.now > 1500, "much was done besides"
    assert (spent(tmp_path / "run")["steps"], spent(tmp_path / "run")["seconds"]) == (8, 8 * 0.375)


def test_word_vectors_keep_a_budget_of_tokens(tmp_path: Path, corpus: Corpus) -> None:
    runs.start("word2vec/tiny", corpus=list(corpus.files), out=tmp_path / "run", budget="20000tokens", quiet=True, threads=1)
    assert 20_000 <= spent(tmp_path / "run")["tokens"] <= 20_400
