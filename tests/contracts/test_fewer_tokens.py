"""Every family over fewer tokens equals the whole, ids mapped, wherever no token that went is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.compressing.shrinking.used_tokens import count_tokens
from plume.compressing.shrinking.vocabulary import network_with_tokens
from plume.core.batch import Batch
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel
from plume.recipes import _catalog as catalog
from plume.text.fewer_tokens import choose_tokens

SOME = ("The old captain finds a wooden box near the river.", "小猫看见苹果。")
OTHER = ("My sister unfastens the lighthouse, uncomfortably!", "北京大学的学生研究自然语言。", "Ωmega 3.14 ß 😀", "")
every_family = pytest.mark.parametrize("family", catalog.networks())


def parts(batch: Batch) -> list[Batch]:
    return [batch] if batch.source is None else [batch, batch.source]


def renumbered(batch: Batch, new: np.ndarray) -> Batch:
    query = None if batch.query is None else new[batch.query]
    source = None if batch.source is None else renumbered(batch.source, new)
    return replace(batch, tokens=new[batch.tokens], query=query, source=source)


def states(model: Model, batch: Batch) -> list[torch.Tensor]:
    """What every head reads, ELECTRA's generator and discriminator both."""
    if batch.stream is not None:
        model.memories = {}
    found = [model.token_states(replace(batch, stream=None)).last]
    read = batch if batch.source is None else batch.source
    return [*found, model.encode(replace(read, stream=None)).last]


@every_family
@torch.no_grad()
def test_states_and_scores_are_the_whole_ones(
    family: str, miniature: Any, built: Any, tokenizer_for: Any, kinds_of: Any, batch_of: Any, on_cpu: Any
) -> None:
    recipe = miniature(family)
    tokenizer = tokenizer_for(recipe)
    whole = built(recipe, vocabulary=tokenizer.size).eval()
    whole.spell(tokenizer.tokens())
    chosen = choose_tokens(tokenizer, count_tokens(tokenizer, SOME))
    for _, reader in kinds_of(recipe, rows=2):
        batch = batch_of(reader)
        used = np.concatenate([np.ravel(ids) for one in parts(batch) for ids in (one.tokens, one.query) if ids is not None])
        kept = np.union1d(chosen, used)
        new = np.full(tokenizer.size, -1)
        new[kept] = np.arange(len(kept))
        small, fewer = network_with_tokens(whole, tokenizer, kept)
        assert small.vocabulary == fewer.size == len(kept)
        before, after = states(whole, on_cpu(batch)), states(small, on_cpu(renumbered(batch, new)))
        for one, other in zip(before, after, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
        _same_scores(whole, small, kept)


def _same_scores(whole: Model, small: Model, kept: np.ndarray) -> None:
    """Of the heads: a row a token, or as before."""
    for name, head in whole.heads.items():
        if not list(head.parameters()):  # it compares what the network gives
            continue
        own = (part.in_features for part in head.modules() if isinstance(part, torch.nn.Linear))
        width = next(own, None) or head.token.embedding_dim
        hidden = torch.randn(3, width, dtype=torch.float64)
        try:
            before, after = head.logits(hidden), small.heads[name].logits(hidden)
        except NotImplementedError:  # SpanBERT's reads the ends of spans, then its own `output`
            before, after = head.output.logits(hidden[:, : whole.width]), small.heads[name].output.logits(hidden[:, : whole.width])
        if before.shape[-1] == whole.vocabulary:
            before = before[..., torch.from_numpy(kept)]
        torch.testing.assert_close(before, after, rtol=0, atol=1e-12)


@every_family
def test_texts_are_read_as_before_and_others_still_are(family: str, miniature: Any, built: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    recipe = miniature(family)
    tokenizer = tokenizer_for(recipe)
    whole = LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)
    whole.model.spell(tokenizer.tokens())
    kept = choose_tokens(whole.tokenizer, count_tokens(whole.tokenizer, SOME))
    network, fewer = network_with_tokens(whole.model, whole.tokenizer, kept)
    small = LanguageModel(network, fewer)
    told = {"language": "en"} if whole.model.languages is not None else {}
    before, after = whole.hidden(SOME, **told), small.hidden(SOME, **told)
    for one, other in zip(before, after, strict=True):
        assert one.tokens == other.tokens
        for layer, its in zip(one.layers, other.layers, strict=True):
            np.testing.assert_array_equal(layer, its)
    assert np.isfinite(small.embed(OTHER, **told)).all()
    if whole.model.spells:  # words are spelled, known or not
        np.testing.assert_allclose(small.embed(OTHER, **told), whole.embed(OTHER, **told), atol=1e-6)
    small.model.float().eval()
    small.save(tmp_path / "saved")
    again = LanguageModel.load(tmp_path / "saved")
    assert again.tokenizer.fingerprint == fewer.fingerprint
    np.testing.assert_array_equal(again.embed(SOME, **told), small.embed(SOME, **told))
