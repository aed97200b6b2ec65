"""Token vectors that begin as word2vec's: what is set, what is left, what it is charged, and that a run stopped at any moment goes on alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.corpus import Corpus
from plume.model.recipe import Recipe
from plume.model.warm_start import WarmStart, open_columns, start_warm, token_tables
from plume.recipes import _catalog as catalog
from plume.recipes._own import changed
from plume.train.budget import Budget
from plume.train.checkpoint import checkpoints
from plume.train.pretrain import resume, start
from plume.train.settings import Settings
from plume.train.warm import read_record

SMALL = (
    "network.width=32", "network.depth=1", "network.heads=2", "network.feed_forward=32", "embedding.width=32",
    "training.length=32", "training.batch=8", "tokenizer.vocabulary=320",
)  # fmt: skip
WORDS = 50


def small(name: str, *more: str) -> Recipe:
    recipe = catalog.recipe(name)
    assert isinstance(recipe, Recipe)
    return changed(recipe, overrides=(*SMALL, *more))


def settings(corpus: Corpus, budget: str, *more: str) -> Settings:
    return Settings(
        recipe=small("bert/tiny", *more), corpus=tuple(map(str, corpus.files)), budget=Budget.parse(budget), device="cpu", seed=3
    )


def warmed(name: str) -> tuple[Any, Any, np.ndarray]:
    """A model before, the same one after, and the vectors it was given for all tokens but the first ten."""
    recipe = small(name)
    before, after = (recipe.assembly.build(recipe, vocabulary=WORDS) for _ in range(2))
    before.initialise(1)
    after.initialise(1)
    assert recipe.warm_start is not None
    width = max(len(open_columns(table)) for table in token_tables(after))
    vectors = np.random.default_rng(0).normal(2.0, 0.1, (WORDS - 10, width)).astype(np.float32)
    shares = np.arange(1, WORDS + 1) / np.arange(1, WORDS + 1).sum()
    start_warm(after, recipe.warm_start, tokens=np.arange(10, WORDS), vectors=vectors, shares=shares)
    return before, after, vectors


# Tied and untied heads, scaled scores, positions with columns of their own, a generator that shares the table, a decoder.
@pytest.mark.parametrize("name", ["bert/tiny", "gpt2/tiny", "t5/tiny", "electra/tiny", "bart/tiny", "xlnet/tiny"])
def test_first_scores_have_the_spread_that_is_asked_for(name: str) -> None:
    before, after, vectors = warmed(name)
    for mine, own in zip(token_tables(after), token_tables(before), strict=True):
        columns = open_columns(own)
        given = mine.weight[10:, columns].detach().numpy()
        centred = (vectors - vectors.mean(0))[:, : len(columns)]
        assert np.corrcoef(given.ravel(), centred.ravel())[0, 1] > 0.999
        scale = min((head.scale for head in after.modules() if getattr(head, "token", None) is mine and hasattr(head, "part")), default=1.0)
        assert given.std() * scale * mine.embedding_dim**0.5 == pytest.approx(1.6, rel=0.15)
        assert torch.equal(mine.weight[:10], own.weight[:10]), "what the text never shows"
        rest = np.setdiff1d(np.arange(mine.embedding_dim), columns)
        assert torch.equal(mine.weight[:, rest], own.weight[:, rest]), "columns of positions"


def test_biases_begin_at_log_frequencies() -> None:
    _, after, _ = warmed("bert/tiny")
    bias = after.heads["masked_lm"].bias.detach()
    assert torch.allclose(bias.softmax(0), torch.arange(1, WORDS + 1) / (WORDS * (WORDS + 1) / 2), atol=1e-6)


def test_it_is_charged_and_in_the_card(corpus: Corpus, tmp_path: Path) -> None:
    start(settings(corpus, "20000tokens"), tmp_path / "run", quiet=True)
    record = read_record(tmp_path / "run")
    assert record is not None and record.tokens > 0 and record.words > 0
    first = json.loads((tmp_path / "run" / "train" / "metrics.jsonl").read_text().splitlines()[0])
    plain = start(settings(corpus, "20000tokens", "warm_start=none"), tmp_path / "plain", quiet=True)
    assert read_record(tmp_path / "plain") is None
    spent = json.loads((tmp_path / "run" / "train" / "outcome.json").read_text())["spent"]
    assert first["tokens"] > record.tokens and spent["steps"] < plain.outcome.position.spent.steps
    assert "word2vec on" in (tmp_path / "run" / "card.md").read_text() and "word2vec on" not in (tmp_path / "plain" / "card.md").read_text()


def test_it_takes_a_share_of_the_budget(corpus: Corpus, tmp_path: Path) -> None:
    """As many epochs as the share buys, and one piece where it buys none."""
    found = []
    for budget in ("100tokens", "200000tokens"):
        start(settings(corpus, budget, "warm_start.epochs=50"), tmp_path / budget, quiet=True)
        found.append(read_record(tmp_path / budget))
    few, many = found
    assert few is not None and many is not None
    assert few.epochs == 1 and 1 < many.epochs <= 50 and many.tokens <= 0.21 * 200_000


def test_the_same_seed_gives_the_same_bits_and_a_run_killed_before_its_first_checkpoint_begins_alike(
    corpus: Corpus, tmp_path: Path
) -> None:
    wanted = settings(corpus, "8steps")
    whole = start(wanted, tmp_path / "whole", quiet=True)
    again = start(wanted, tmp_path / "again", quiet=True)
    for path in checkpoints(tmp_path / "again"):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    resumed = resume(tmp_path / "again", wanted, quiet=True)
    assert (whole.folder / "model.safetensors").read_bytes() == (again.folder / "model.safetensors").read_bytes()
    assert resumed.outcome.held_out == whole.outcome.held_out


def test_other_weights_are_not_started_anew(corpus: Corpus, tmp_path: Path) -> None:
    start(settings(corpus, "2steps"), tmp_path / "first", quiet=True)
    start(replace(settings(corpus, "2steps"), initial=str(tmp_path / "first")), tmp_path / "second", quiet=True)
    assert read_record(tmp_path / "first") is not None and read_record(tmp_path / "second") is None


def test_small_sizes_have_it_and_published_ones_do_not() -> None:
    for family in catalog.networks():
        for size, recipe in catalog.sizes(family).items():
            if not recipe.recurrent:
                assert (recipe.warm_start is not None) == (size in ("tiny", "mini", "small")), f"{family}/{size}"


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"share": 0.0}, {"share": 1.0}, {"spread": 0.0}, {"window": 0}])
def test_its_numbers_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(PlumeError, match="share lies between 0 and 1"):
        WarmStart(**wrong)  # type: ignore[arg-type]
