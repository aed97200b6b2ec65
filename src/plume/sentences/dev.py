"""Which weights of a run are kept: those that measure best on a file of scored pairs, or, where there is none, the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from plume.core.embedder import Embedder
from plume.core.files import write_json
from plume.metrics.scores import number_scores
from plume.model.checkpoint import WEIGHTS, save_weights, state_of
from plume.model.use.language_model import LanguageModel
from plume.sentences.grouping import Grouped, ScoredPairs
from plume.sentences.losses import Views, alignment, uniformity
from plume.sentences.network import ContrastModel
from plume.sentences.reading import read_sentences
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Spent
from plume.train.metrics import read_metrics
from plume.vectors.sentence import SentenceVectors
from plume.vectors.sts import cosines

BEST, BEST_SCORE = Path("train") / "best.safetensors", Path("train") / "best.json"
_PLACED = 2000  # pairs at most, on which alignment and uniformity are taken
_NEAR = 0.8


class Keeper:
    """`dev` are scored pairs, or None; `vectors` says how the model makes them as it is now."""

    def __init__(
        self,
        model: ContrastModel,
        tokenizer: Tokenizer,
        vectors: Callable[[], SentenceVectors],
        dev: Grouped | None,
        folder: Path,
        *,
        write: bool,
    ) -> None:
        self.model, self.tokenizer, self.vectors, self.dev, self.folder, self.write = model, tokenizer, vectors, dev, folder, write

    @cached_property
    def history(self) -> list[float]:
        """Spearman's correlations so far; read back where a run goes on."""
        return [float(line["held_out/spearman"]) for line in read_metrics(self.folder) if "held_out/spearman" in line]

    def measure(self, spent: Spent) -> dict[str, float]:
        """Dev figures, if there is a dev file; the weights are kept if they are the best, or if nothing chooses among them."""
        if self.dev is None:
            self._keep(WEIGHTS)
            return {}
        self.model.eval()
        found = figures(LanguageModel(self.model.body, self.tokenizer, self.vectors()), self.dev)
        self.model.train()
        if found["spearman"] >= max(self.history, default=-np.inf):
            self._keep(BEST)
            if self.write:
                write_json(self.folder / BEST_SCORE, {"step": spent.steps, "scores": found})
        self.history.append(found["spearman"])
        return found

    def _keep(self, path: Path | str) -> None:
        if self.write:
            save_weights(self.folder / path, state_of(self.model.body))
            self.vectors().save(self.folder)


def spearman(model: Embedder, files: Sequence[str]) -> float:
    """Spearman's correlation of cosines and scores, on files of scored pairs."""
    found = read_sentences([Path(file) for file in files])
    pairs = ScoredPairs()(found, "--dev")
    return number_scores(pairs.score, cosines(model, found.rows).tolist())["spearman"]


def figures(model: LanguageModel, pairs: Grouped) -> dict[str, float]:
    """Spearman's correlation of cosines and scores; alignment of the pairs that belong together, and uniformity."""
    texts = list(dict.fromkeys(text for pair in pairs.texts for text in pair))
    number = {text: place for place, text in enumerate(texts)}
    vectors = torch.from_numpy(model.embed(texts, batch=64))
    index = torch.tensor([[number[text] for text in pair[:2]] for pair in pairs.texts]).T  # [2, N]
    score = torch.tensor(pairs.score)
    views = Views(vectors=vectors[index], text=index, score=score).normalised()
    cosine: Sequence[float] = (views.vectors[0] * views.vectors[1]).sum(-1).tolist()
    some = Views(vectors=views.vectors[:, :_PLACED], text=index[:, :_PLACED], score=score[:_PLACED])
    near = (some.score >= _NEAR).float()
    return {
        "spearman": number_scores(pairs.score, cosine)["spearman"],
        "alignment": float(alignment(some, near) / near.sum().clamp(min=1)),
        "uniformity": float(uniformity(some)),
    }
