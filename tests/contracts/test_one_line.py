"""Every family that trains on text takes text without sentence ends: one line, no punctuation, one document (text8, transcripts)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plume.data.corpus import Corpus, CorpusKind
from plume.data.layouts.labelled import CodedBlocks
from plume.data.store import build_stores
from plume.recipes import _catalog as catalog
from plume.train.feeding import make_mixture
from plume.train.fitting import refuse_misfit
from plume.train.stores import no_sentences_warning


def _trains_on_plain_text(family: str) -> bool:
    recipe = catalog.recipe(f"{family}/tiny")
    # Which need labels, or text in which entities are marked.
    return recipe.corpus is CorpusKind.TEXT and not isinstance(recipe.layout, CodedBlocks) and not recipe.carries


FAMILIES = list(filter(_trains_on_plain_text, catalog.networks()))
WORDS = ("the", "old", "dog", "walks", "over", "quiet", "hills", "and", "rain", "falls", "in", "spring", "while", "a", "small", "boat")
TEXTS = {
    "English": " ".join(WORDS[(7 * n + n // 13) % len(WORDS)] for n in range(3_000)),
    "Chinese": "今天天气很好我们去图书馆学习中文" * 2_000,
}


@pytest.fixture(scope="module", params=TEXTS)
def one_line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    path = tmp_path_factory.mktemp("one line") / "text8.txt"
    path.write_text(TEXTS[request.param], encoding="utf-8")
    return Corpus(path)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_trains_as_it_is_or_in_pieces_and_that_is_said(
    family: str, one_line: Corpus, miniature: Any, tokenizer_for: Any, cache: Path
) -> None:
    one_line.require_trainable()
    recipe = miniature(family, length=256)  # twice the tiny sizes: this tokenizer, of another text, needs twice the tokens a word
    tokenizer = tokenizer_for(recipe)
    stores = build_stores(one_line, tokenizer, words=recipe.words, cache=cache)
    refuse_misfit(recipe, stores)
    assert len(stores.held_out.tokens) < 0.1 * len(stores.train.tokens)
    for store in (stores.train, stores.held_out):
        mixture = make_mixture(store, recipe, tokenizer, seed=0, rows=2 if store is stores.train else recipe.readings)
        for reader in mixture.readers:
            if store is stores.train:
                reader.check()
            assert len(reader.plan(0)) > 0
    sentences = any(kind.layout.reads_sentences for kind in recipe.kinds)
    assert ("is cut every 32 words" in (no_sentences_warning(recipe, stores.train) or "")) == sentences
