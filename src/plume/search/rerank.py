"""Re-ranking: a cross-encoder reads query and passage together (Nogueira and Cho 2019, "Passage re-ranking with BERT")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from plume.core.errors import PlumeError
from plume.search.hits import Hit


class Reranker(Protocol):
    """How well each passage answers the query; the higher the better."""

    def __call__(self, query: str, passages: Sequence[str]) -> list[float]:
        """A score a passage."""


def pair_task(model: Any) -> Any:
    """The first task of a model that reads two texts and says how they go together; None if it has none."""
    return next((task for task in getattr(model, "tasks", ()) if getattr(task, "texts", None) == 2), None)


def relevance(task: Any, answer: dict[str, Any]) -> float:
    """Its number (`--task similarity`), or the probability of the label that says yes: the one declared, entailment, else the last."""
    if "scores" not in answer:
        return float(answer["score"])
    from plume.tuning.zero_shot.entailment import ENTAILMENT  # brings torch

    labels = list(answer["scores"])
    entailed = [label for label in labels if label.strip().lower() in ENTAILMENT]
    return float(answer["scores"][getattr(task, "positive", None) or (entailed or labels)[-1]])


class CrossEncoder:
    """A model that was fine-tuned on pairs."""

    def __init__(self, model: Any) -> None:
        fitting = pair_task(model)
        if fitting is None:
            raise PlumeError(
                "--rerank needs a model that was fine-tuned on pairs of texts: plume tune MODEL --task similarity --train FILE --out DIR "
                "(or --task paraphrase)."
            )
        self._model, self._task = model, fitting

    @classmethod
    def load(cls, folder: str | Path) -> CrossEncoder:
        """Of a model directory."""
        from plume.tuning.loaded import load

        return cls(load(folder))

    def __call__(self, query: str, passages: Sequence[str]) -> list[float]:
        """A score a passage."""
        answers = self._model.predict([(query, passage) for passage in passages], task=self._task.called)
        return [relevance(self._task, answer) for answer in answers]


def load_reranker(given: Any) -> Reranker | None:
    """Of a model directory, a fine-tuned model, or a function."""
    if isinstance(given, str | Path):
        return CrossEncoder.load(given)
    return CrossEncoder(given) if hasattr(given, "predict") else given


def rerank_hits(query: str, hits: Sequence[Hit], reranker: Reranker, top: int) -> list[Hit]:
    """The best of them by what it says."""
    scores = reranker(query, [hit.text for hit in hits]) if hits else []
    again = [replace(hit, score=float(score), rerank=float(score)) for hit, score in zip(hits, scores, strict=True)]
    return sorted(again, key=lambda hit: -hit.score)[:top]
