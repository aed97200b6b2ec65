"""What the heads and neurons of a model that is not tuned matter for the loss that it was pre-trained on, on a text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.data.loader import Cursor, Mixture, Reader
from plume.model.gating import AttentionPlace, GatedUnit, Gates, importance
from plume.model.kinds import BatchKind
from plume.model.use.language_model import LanguageModel
from plume.train.device import to_device
from plume.train.feeding import make_mixture
from plume.train.fitting import find_units, number_languages, refuse_misfit
from plume.train.stores import read_stores

_ROWS = 16  # of a batch


class TextLoss:
    """Of all objectives of pre-training together, weighed as they were there, on so many rows of the text."""

    def __init__(self, model: LanguageModel, text: tuple[str, ...], *, rows: int, folder: Path, seed: int, quiet: bool) -> None:
        self.model, recipe = model.model, model.recipe
        if not recipe.objectives:
            raise PlumeError(
                f"{recipe.name} has kept nothing of what it was pre-trained to predict, so no loss tells what matters: tune it first (plume "
                "tune), or prune it by --method magnitude, which needs no data."
            )
        corpus = Corpus(list(text), kind=recipe.corpus, carries=recipe.carries)
        stores = read_stores(corpus, model.tokenizer, words=recipe.words, quiet=quiet)
        number_languages(recipe, stores, str(folder))
        refuse_misfit(recipe, stores)
        find_units(recipe, stores, model.tokenizer, corpus=corpus, folder=folder, lexicon=None)
        few = max(_ROWS - _ROWS % recipe.readings, recipe.readings)
        self.mixture: Mixture[Reader] = make_mixture(stores.train, recipe, model.tokenizer, seed=seed, rows=few)
        self.steps = max(1, rows // few // len(self.mixture.readers))

    def importance(self, unit: GatedUnit, masks: Gates) -> dict[AttentionPlace, list[Tensor]]:
        """Of each |dL/dξ|, summed over rows."""
        found: dict[AttentionPlace, list[Tensor]] = {}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # for what a generator draws
            for kind, reader in zip(self.model.recipe.kinds, self.mixture.readers, strict=True):
                with self.model.fresh_memory():
                    sums = importance(self.model, self._batches(reader), partial(self._loss, kind), unit=unit, masks=masks)
                for place, layers in sums.items():
                    before = found.get(place, [torch.zeros_like(one) for one in layers])
                    found[place] = [one + kind.share * more for one, more in zip(before, layers, strict=True)]
        return found

    def _batches(self, reader: Reader) -> Iterator[tuple[Batch, list[int]]]:
        device = next(self.model.parameters()).device
        for step in range(min(len(reader.plan(0)[1]), self.steps)):
            (batch,) = reader.step(Cursor(step=step), [slice(None)])
            yield to_device(batch, device), [1] * len(batch.tokens)

    def _loss(self, kind: BatchKind, batch: Batch) -> Tensor:
        weight = {objective.name: kind.scale(objective) for objective in kind.objectives}
        scale = {name: torch.tensor(weight[name] / max(count, 1)) for name, count in self.model.counts(batch).items()}
        total: Tensor = self.model(batch, scale)[0]
        return total
