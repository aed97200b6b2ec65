"""Every family with a token table of its full rank is the same network; a narrower one runs, is saved, loaded and trained like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.compressing.shrinking.embedding import with_narrow_table
from plume.core.errors import PlumeError
from plume.model.checkpoint import state_of
from plume.model.use.language_model import LanguageModel
from plume.nn.factorised import FactorisedTokens, whole_vectors
from plume.recipes import _catalog as catalog

TEXTS = ["The old captain finds a wooden box.", "小猫看见苹果。"]
SPELLED = ("elmo",)  # words are made of characters
FAMILIES = [family for family in catalog.networks() if family not in SPELLED]
every_family = pytest.mark.parametrize("family", FAMILIES)


@every_family
def test_at_full_rank_nothing_changes(
    family: str, miniature: Any, built: Any, tokenizer_for: Any, kinds_of: Any, batch_of: Any, on_cpu: Any
) -> None:
    """States, losses of all objectives (tied and untied heads), and the gradient that reaches what is not factorised."""
    recipe = miniature(family)
    tokenizer = tokenizer_for(recipe)
    whole = built(recipe, vocabulary=tokenizer.size).eval()
    narrow = with_narrow_table(whole, recipe.embedding.width)
    assert isinstance(narrow.embedding.token, FactorisedTokens)
    torch.testing.assert_close(whole_vectors(narrow.embedding.token), whole.embedding.token.weight, rtol=0, atol=1e-12)
    for _, reader in kinds_of(recipe, rows=2):
        batch = on_cpu(batch_of(reader))
        found = []
        for model in (whole, narrow):
            model.zero_grad()
            torch.manual_seed(1)  # ELECTRA's generator draws
            losses = model.losses(batch)
            sum(loss.total for loss in losses.values()).backward()
            found.append(({name: loss.total.item() for name, loss in losses.items()}, {n: p.grad for n, p in model.named_parameters()}))
        (before, theirs), (after, ours) = found
        assert after == pytest.approx(before, rel=1e-9)
        for name, gradient in theirs.items():
            if "token" not in name and gradient is not None:
                torch.testing.assert_close(ours[name], gradient, rtol=1e-7, atol=1e-9)


@every_family
def test_a_narrow_table_is_saved_and_learns(family: str, base: Any, tmp_path: Path, mixture_for: Any, on_cpu: Any) -> None:
    whole = LanguageModel.load(base(family))
    narrow = LanguageModel(with_narrow_table(whole.model, 4), whole.tokenizer)
    told = {"language": "en"} if whole.model.languages is not None else {}
    assert len(state_of(narrow.model)) == len(state_of(whole.model)) + 1
    narrow.save(tmp_path / "narrow")
    again = LanguageModel.load(tmp_path / "narrow")
    assert again.recipe.embedding.factorised == 4
    np.testing.assert_array_equal(again.embed(TEXTS, **told), narrow.embed(TEXTS, **told))
    once_more = with_narrow_table(again.model, 2)
    assert once_more.embedding.token.weight.shape == (whole.model.vocabulary, 2)


@pytest.mark.parametrize("family", ["bert", "gpt2", "albert", "electra"])
def test_it_can_be_trained_from_the_start(family: str, miniature: Any) -> None:
    """A recipe may ask for it: first vectors spread as they would without."""
    recipe = miniature(family).override("embedding.factorised=4")
    model = recipe.assembly.build(recipe, vocabulary=500)
    model.initialise(1)
    assert whole_vectors(model.embedding.token).std().item() == pytest.approx(model.embedding.token.weight.std().item(), rel=0.5)


def test_what_has_no_table_is_refused(miniature: Any, built: Any) -> None:
    with pytest.raises(PlumeError, match="from their characters"):
        with_narrow_table(built(miniature("elmo")), 4)
    with pytest.raises(PlumeError, match="is not 1 to 32"):
        with_narrow_table(built(miniature("bert")), 33)
    with pytest.raises(PlumeError, match=r"embedding\.factorised=64 is not 1 to 32"):
        miniature("bert").override("embedding.factorised=64")
    with pytest.raises(PlumeError, match="made of their characters"):
        miniature("elmo").override("embedding.factorised=4")
