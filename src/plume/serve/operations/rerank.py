"""Documents in the order in which they answer a query: read together with it by a cross-encoder, or else compared by their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plume.search.rerank import pair_task, relevance
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation, Prepared
from plume.serve.operations.embed import OPERATION as EMBED
from plume.serve.operations.embed import EmbedAsked, EmbedReady
from plume.serve.operations.predict import OPERATION as PREDICT
from plume.serve.operations.predict import PredictAsked, PredictReady
from plume.tuning.task import Task


@dataclass(frozen=True, kw_only=True)
class RerankAsked:
    """A query, and what may answer it."""

    query: str
    documents: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class RerankReady(Prepared):
    """As the operation that does the work is asked."""

    inner: PredictReady | EmbedReady


@dataclass(frozen=True, kw_only=True)
class Reranked:
    """A score for each document, the higher the better; by what they were given; and how many tokens were read."""

    scores: list[float]
    by: str
    tokens: int


class Rerank(Operation[RerankAsked, RerankReady, Reranked]):
    """A model tuned on pairs (similarity, paraphrase, nli) is a cross-encoder; of all others the cosine of vectors is taken."""

    name = "rerank"
    field = "documents"

    def able(self, opened: Opened) -> bool:
        return _task(opened) is not None or EMBED.able(opened)

    def characters(self, asked: RerankAsked) -> int:
        return len(asked.query) + sum(map(len, asked.documents))

    def prepare(self, opened: Opened, asked: RerankAsked) -> RerankReady:
        task = _task(opened)
        if task is not None:
            pairs = [(asked.query, document) for document in asked.documents]
            inner: PredictReady | EmbedReady = PREDICT.prepare(opened, PredictAsked(items=pairs, task=task.called))
        elif EMBED.able(opened):
            inner = EMBED.prepare(opened, EmbedAsked(texts=[asked.query, *asked.documents]))
        else:
            raise BadRequest(f"'{opened.name}' can rank nothing: it was not tuned on pairs, and has no vectors.", param="model")
        return RerankReady(cost=inner.cost, group=inner.group, inner=inner)

    def run(self, opened: Opened, prepared: Sequence[RerankReady]) -> list[Reranked]:
        task = _task(opened)
        if task is None:
            found = EMBED.run(opened, [one.inner for one in prepared if isinstance(one.inner, EmbedReady)])
            return [Reranked(scores=_cosines(one.vectors), by="cosine of vectors", tokens=one.tokens) for one in found]
        answers = PREDICT.run(opened, [one.inner for one in prepared if isinstance(one.inner, PredictReady)])
        by = f"cross-encoder ({task.called})"
        return [
            Reranked(scores=[relevance(task, answer) for answer in own], by=by, tokens=one.cost)
            for one, own in zip(prepared, answers, strict=True)
        ]


def _task(opened: Opened) -> Task | None:
    found: Any = pair_task(opened.content)
    return found if isinstance(found, Task) else None


def _cosines(vectors: np.ndarray) -> list[float]:
    """Of the first with each of the others."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found: list[float] = (unit[1:] @ unit[0]).astype(float).tolist()
    return found


OPERATION = Rerank()
