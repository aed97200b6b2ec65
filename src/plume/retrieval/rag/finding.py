"""What finds passages for questions: words, whose scores stay as they are, or vectors, whose question side may learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.core.identity import folder_hash
from plume.data.store import cache_home
from plume.model.use.language_model import LanguageModel
from plume.retrieval.collection import Passages
from plume.retrieval.measuring import compared
from plume.retrieval.words import WordIndex
from plume.tuning.declared import TASK
from plume.vectors.nearest import Nearest
from plume.vectors.sentence import SentenceVectors, Similarity
from plume.vectors.transforms.normalise import Normalise

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
_LOWEST = -1e4  # the logit of what fills up, where too few passages share a word


class WordFinder:
    """BM25, whose scores are the passages' logits (§4.5)."""

    def __init__(self, passages: Passages) -> None:
        self._words, self._count = WordIndex(passages.texts), len(passages)

    def find(self, questions: Sequence[str], k: int) -> tuple[Numbers, Floats]:
        """[N, k] numbers and logits; of a question that shares no word with anything the first passages, all alike."""
        numbers, scores = np.zeros((len(questions), k), np.int64), np.zeros((len(questions), k), np.float32)
        for row, question in enumerate(questions):
            found, said = self._words.best(question, top=k)
            others = (one for one in range(self._count) if one not in set(found.tolist()))
            missing = k - len(found)
            numbers[row] = [*found.tolist(), *[next(others) for _ in range(missing)]]
            scores[row] = [*said.tolist(), *[_LOWEST if len(found) else 0.0] * missing]
        return numbers, scores


class VectorFinder:
    """The vectors of the passages, which stay, and what reads questions."""

    def __init__(self, model: LanguageModel, vectors: Floats, *, scale: float) -> None:
        self.model, self.vectors, self.scale = model, vectors, scale
        self.nearest = Nearest(vectors)

    @property
    def sentence(self) -> SentenceVectors:
        """How the vectors are made and compared."""
        return self.model.sentence or SentenceVectors()

    def find(self, questions: Sequence[str], k: int) -> tuple[Numbers, Floats]:
        """[N, k] numbers and logits."""
        asked = compared(self.model.embed_questions(list(questions)), self.sentence.similarity)
        found = self.nearest.search(asked, k)
        return found.index, found.score * self.scale

    def logits(self, asked: Tensor, numbers: Numbers) -> Tensor:
        """[B, k] of these passages, with a gradient to what the questions' pooled vectors [B, D] were made from."""
        told = torch.from_numpy(self.vectors[numbers]).to(asked)  # [B, k, D]
        asked = self.comparable(asked)
        return self.scale * torch.einsum("bd,bkd->bk", asked, told)

    def comparable(self, asked: Tensor) -> Tensor:
        """As an inner product compares them."""
        return F.normalize(asked, dim=-1) if self.sentence.similarity is Similarity.COSINE else asked


Finder = WordFinder | VectorFinder


def load_retriever(folder: Path) -> LanguageModel:
    """A model directory whose vectors can be learned through."""
    if (folder / TASK).exists():
        raise PlumeError(
            f"{folder} was tuned for a task, and not to find passages: plume tune MODEL --task retrieval makes what --retriever takes."
        )
    model = LanguageModel.load(folder)
    sentence = model.sentence or SentenceVectors()
    if any(not isinstance(one, Normalise) for one in sentence.transforms) or sentence.prompt:
        raise PlumeError(
            f"{folder}: its vectors have transforms or a prompt, through which nothing learns. Train one: plume tune --task retrieval."
        )
    if sentence.similarity not in (Similarity.COSINE, Similarity.DOT):
        raise PlumeError(f"{folder}: its vectors are compared by {sentence.similarity.value} distance; retrieval needs cosine or dot.")
    return model


def vector_finder(folder: Path, model: LanguageModel, passages: Passages, *, scale: float) -> VectorFinder:
    """With the passages' vectors, embedded once for the same passages and the same model, and kept in plume's cache."""
    similarity = (model.sentence or SentenceVectors()).similarity
    file = cache_home() / "passages" / f"{passages.fingerprint}-{_passage_side(folder)}.npy"
    if not file.exists():
        made = compared(model.embed(passages.texts), similarity).astype(np.float32)
        write_atomic(file, lambda target: _save(target, made))
    vectors: Floats = np.load(file, allow_pickle=False)
    return VectorFinder(model, vectors, scale=scale if similarity is Similarity.COSINE else 1.0)


def _save(target: Path, array: Floats) -> None:
    with target.open("wb") as opened:
        np.save(opened, array, allow_pickle=False)


def _passage_side(folder: Path) -> str:
    """What embeds passages decides, whatever reads the questions."""
    return folder_hash(folder, without=("questions",))
