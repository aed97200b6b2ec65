"""A few steps of pre-training on a little of the corpus: what a rehearsal makes of an entrant."""

from __future__ import annotations

import contextlib
from pathlib import Path

from plume.comparing.study import Study
from plume.core.errors import PlumeError
from plume.data.corpus import Corpus, CorpusKind
from plume.model.recipe import Recipe
from plume.static.recipe import StaticRecipe
from plume.train import pretrain, word_vectors
from plume.train.settings import make_settings, make_word_settings

SAMPLE, PAIRS = "sample.jsonl", "pairs.jsonl"  # of the corpus, in the rehearsal's directory
_STEPS = 3  # the first warms up


def few_steps(recipe: Recipe, study: Study, scratch: Path, out: Path, *, init: Path | None = None) -> Path:
    """The network after them; a corpus that the recipe cannot read says so."""
    Corpus(list(study.corpus), kind=recipe.corpus).require_trainable()
    sample = scratch / (PAIRS if recipe.corpus is CorpusKind.PAIRS else SAMPLE)
    settings = make_settings(recipe, corpus=[sample], budget=f"{_STEPS}steps", init=init, log_every=1, measurements=1, save_every="1d")
    pretrain.start(settings, out, quiet=True)
    return out


def compile_loops(recipe: StaticRecipe, scratch: Path, out: Path) -> Path:
    """Word vectors are made by loops that are compiled when they first run on a machine, which no budget shall pay for."""
    with contextlib.suppress(PlumeError):  # the sample may be too small for it
        settings = make_word_settings(recipe, corpus=[scratch / SAMPLE], budget="1tokens", threads=1)
        word_vectors.start(settings, out, quiet=True)
    return out
