"""Measuring a model's vectors, or words alone, on questions and the passages that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.readers.example import Reading
from plume.retrieval.collection import passages_of, read_passages
from plume.retrieval.measuring import found_by_vectors, pool_of, three_ways
from plume.retrieval.pairing import pair
from plume.retrieval.questions import read_questions
from plume.retrieval.rag.answering import RagAnswerer
from plume.retrieval.words import WordIndex
from plume.tasks.retrieval import TASK
from plume.vectors.sentence import Similarity


@dataclass(frozen=True, kw_only=True)
class RetrievalScores:
    """By words (bm25), by vectors (dense), and by both: MRR at 10, and how many questions have their passage among the first k."""

    scores: dict[str, dict[str, float]]
    questions: int
    passages: int
    notes: list[str]

    def flat(self) -> dict[str, float]:
        """The vectors' own, and those of all ways, one beside the other."""
        ways = {f"{name}/{way}": value for way, found in self.scores.items() for name, value in found.items()}
        return self.scores["dense"] | ways


def evaluate_retrieval(
    model: Embedder, data: Sequence[str | Path], *, documents: Sequence[str | Path] = (), words: int = TASK.passage
) -> RetrievalScores:
    """Questions among all passages of the documents, cut to so many words; without documents among the passages that the questions bring."""
    reading = Reading(file=Path(data[0]))
    questions = [one for file in data for one in read_questions(Path(file), reading)]
    brought = (text for one in questions for text in (*one.positives, *one.negatives))
    passages = read_passages(documents, words=words) if documents else passages_of(brought)
    index = WordIndex(passages.texts)
    pairing = pair(questions, passages, index, negatives=0)
    pool = pool_of(pairing.pairs, passages.texts)
    near = found_by_vectors(model, pool, similarity_of(model))
    return RetrievalScores(
        scores=three_ways(near, pool.by_words(index), pool), questions=len(pool.questions), passages=len(passages),
        notes=[*reading.lines(), f"{len(passages):,} passages", *pairing.lines(Path(data[0]).name)],
    )  # fmt: skip


def similarity_of(model: Embedder) -> Similarity:
    """As a model's vectors are meant to be compared."""
    found = getattr(getattr(model, "sentence", None), "similarity", Similarity.COSINE)
    return Similarity.DOT if found is Similarity.DOT else Similarity.COSINE


def evaluate_rag(
    folder: Path, data: Sequence[str | Path], *, documents: Sequence[str | Path] = (), device: str = "cpu"
) -> tuple[dict[str, float], list[str]]:
    """Exact match and F1 of a RAG's answers, beside those of a reader of BM25's first passage and of nothing read; and the account of the files."""
    reading = Reading(file=Path(data[0]))
    questions = [one for file in data for one in read_questions(Path(file), reading, second="answers") if one.answers]
    if not questions:
        raise PlumeError(f"{data[0]}: no question has an answer: give them as 'answers' or 'answer'.")
    found = RagAnswerer.load(folder, device=device).measure(questions, documents=tuple(documents) or None)
    ways = {f"{name}/{way}": value for way, scores in found.items() for name, value in scores.items()}
    return found["rag"] | ways, reading.lines()
