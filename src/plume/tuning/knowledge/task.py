"""The task: questions to a knowledge base, answered in four stages (what is named, what that means, which path, where it leads)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.matching import Matching
from plume.heads.sentence_classification import SentenceClassification
from plume.kb.used import KnowledgeUsed
from plume.metrics.resampled.measures import Measures, mean_of
from plume.readers.example import Example, Reading
from plume.readers.kb_questions import READS, read_kb_questions
from plume.tuning.asked import AskedOf, Reply
from plume.tuning.knowledge.answering import FoundPaths, answer
from plume.tuning.knowledge.measuring import baselines, row_values, stage_scores
from plume.tuning.knowledge.nearness import vectors_hash
from plume.tuning.knowledge.opened import OpenedKB, opened
from plume.tuning.knowledge.replying import as_reply
from plume.tuning.knowledge.rows import as_rows
from plume.tuning.knowledge.situations import BUCKETS, START, Situation, Topic, WayOn, begin, go_on, spelled_alike, topics_of
from plume.tuning.knowledge.supervision import Taught, gold_topics, teach
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.rows.rows import Coder
from plume.tuning.task import Answering, Columns, Prediction, Readable, Responses, Task, listed

_OFTEN = 20  # times that training shows a relation; of rarer ones, words teach only which were there at all


@dataclass(frozen=True, kw_only=True)
class KnowledgeQuestions(Task):
    """Paths of relations are matched, not classified: the question is read beside each way on, so relations that training never showed are found too.

    KBQA-BERT matches one relation so; here topics and relations are compared together, and paths grow step by step in a beam.
    """

    reads: ClassVar[str] = READS
    right_by: ClassVar[str | None] = "hits@1"

    kb: str = ""  # its directory
    knowledge: KnowledgeUsed | None = None  # what was there when it was trained
    relations: tuple[str, ...] = ()  # of the paths that were learned from, as they are compared
    hops: int = 1  # longest path
    beam: int = 5
    wrong: int = 12  # ways that a right one is compared with in training
    counted: bool = True  # have shared letters, words and the like a say beside the network?
    vectors: str = ""  # a model directory; how near its sentence vectors are is counted as well
    vectors_hash: str = ""  # of what was there when it was trained
    crossed: bool | None = None  # has each word a weight with each relation? None: where training shows relations often enough to tell
    read_pairs: bool = True  # has the network a say?

    # Reader

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        if not self.kb:
            raise PlumeError(f"{self.called} needs a knowledge base: --kb DIRECTORY, which plume kb build makes of triples.")
        if self.hops < 1 or self.beam < 1 or self.wrong < 1:
            raise PlumeError(f"{self.called}: hops, beam and wrong are at least 1.")
        vectors = str(Path(self.vectors).absolute()) if self.vectors else ""
        task = replace(self, vectors=vectors, vectors_hash=vectors_hash(vectors))
        return replace(task, knowledge=KnowledgeUsed.of(task._opened().kb))

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        return read_kb_questions(paths[0], reading, labelled=labelled)

    def learned(self, examples: Sequence[Example]) -> Self:
        task = replace(self, hops=max([self.hops, *(len(one.answer.path) for one in examples)]))
        taught = [one for one in teach(self._opened(), tuple(examples), task.hops) if one is not None]
        if not taught:
            raise PlumeError(
                f"{self.called}: no question of the training file leads to its answers in {self.kb}, by a path of {task.hops} "
                f"{'steps' if task.hops > 1 else 'step'}: is it the right knowledge base? Longer paths: --task-set hops=2."
            )
        names = self._opened().relations
        steps = sum(len(one.path) for one in taught)
        used = {step for one in taught for step in one.path}
        crossed = steps >= _OFTEN * len(used) if self.crossed is None else self.crossed
        return replace(task, crossed=crossed, relations=tuple(sorted({names[step.relation] for one in taught for step in one.path})))

    def example(self, item: Any) -> Example:
        example = super().example(item)
        if len(example.texts) != 1:
            raise PlumeError(f"{self.called} reads one question, and was given {len(example.texts)}: {str(item)[:60]!r}.")
        return example

    # Training

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        if any(example.answer is None for example in examples):
            raise self._in_steps()
        known, notes = self._opened(), Counter[str]()
        situations: list[Situation] = []
        right: list[int] = []
        for number, (example, taught) in enumerate(zip(examples, teach(known, tuple(examples), self.hops), strict=True)):
            if taught is None:
                notes["questions that no path answers, left out of training"] += 1
                continue
            for situation, way in self._lessons(known, example, taught):
                ways = self._chosen(situation.ways, way, known, example.texts[0], number)
                situations.append(replace(situation, ways=tuple(ways)))
                right.append(ways.index(way))
        return as_rows(self.called, known, situations, right, coder), notes

    def _lessons(self, known: OpenedKB, example: Example, taught: Taught) -> Iterator[tuple[Situation, WayOn]]:
        """Each decision on the right path, with the right way on."""
        question, topic, path = example.texts[0], taught.topic, taught.path
        topics = [topic, *(one for one in topics_of(known, question) if (one.entity, one.start) != (topic.entity, topic.start))]
        yield begin(known, question, topics), WayOn(topic=topic, path=path[:1])
        for length in range(1, self.hops):
            if length > len(path):
                break
            here = WayOn(topic=topic, path=path[:length])
            ended = length == len(path)
            yield (
                go_on(known, question, here, known.graph.walk(topic.entity, here.path)),
                WayOn(topic=topic, path=path[: length if ended else length + 1], ended=ended),
            )

    def _chosen(self, ways: Sequence[WayOn], right: WayOn, known: OpenedKB, question: str, number: int) -> list[WayOn]:
        """The right way and so many wrong ones; where there are too few, relations that the topic has not."""
        generator = np.random.default_rng([number, len(right.path)])
        wrong = [one for one in ways if one != right]
        if len(wrong) > self.wrong:
            same = [one for one in wrong if one.topic == right.topic or one.ended]
            other = [one for one in wrong if one not in same]
            order = [
                *(same[place] for place in generator.permutation(len(same))),
                *(other[place] for place in generator.permutation(len(other))),
            ]
            share = max(self.wrong - len(other), (2 * self.wrong) // 3)
            wrong = [*order[: min(share, len(same))], *order[len(same) :]][: self.wrong]
        elif len(right.path) == 1 and not right.path[0].inverse:
            taken = {one.path[0].relation for one in ways if one.topic == right.topic} | {right.path[0].relation}
            wrong += spelled_alike(known, question, right.topic, taken, self.wrong - len(wrong), generator)
        made = [right, *wrong]
        return [made[place] for place in generator.permutation(len(made)).tolist()]

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return Matching(
            dropout=dropout, hidden=classifier.hidden, bias=classifier.bias, start=START, buckets=BUCKETS if self.crossed else 1,
            reading=self.read_pairs, counting=self.counted,
        )  # fmt: skip

    # Answers

    def respond(self, model: Answering, examples: Sequence[Example]) -> Responses:
        known = self._opened()
        texts = [example.texts[0] for example in examples]
        found = self._found(known, model, texts, [topics_of(known, text) for text in texts])
        predictions = [self._prediction(known, one) for one in found]
        told = [number for number, example in enumerate(examples) if example.answer is not None and example.answer.topic]
        if told:  # the later stages alone
            topics = [gold_topics(known, texts[number], examples[number].answer) for number in told]
            alone = self._found(known, model, [texts[number] for number in told], topics)
            for number, one in zip(told, alone, strict=True):
                predictions[number]["given_topic"] = self._prediction(known, one)
        return predictions, Counter({"questions that name nothing of the knowledge base": sum(not one.topics for one in found)})

    def _found(self, known: OpenedKB, model: Answering, texts: Sequence[str], topics: Sequence[Sequence[Topic]]) -> list[FoundPaths]:
        return answer(self.called, known, model, texts, topics, hops=self.hops, beam=self.beam) if texts else []

    def _prediction(self, known: OpenedKB, found: FoundPaths) -> Prediction:
        best = found.best
        named = list(dict.fromkeys(known.kb.name_of(topic.entity) for topic, _ in found.topics))
        if best is None:
            return {"answers": [], "topic": None, "path": [], "score": 0.0, "topics": named}
        return {
            "answers": [known.kb.name_of(one) for one in found.answers],
            "topic": known.kb.name_of(best.way.topic.entity),
            "path": [[known.kb.relations[step.relation], bool(step.inverse)] for step in best.way.path],
            "score": round(math.exp(best.score), 6),
            "topics": named,
        }

    def ask(self, model: Answering, questions: Sequence[str], given: AskedOf) -> list[Reply]:
        if given.documents is not None:
            raise PlumeError(f"{self.called} asks a knowledge base, and reads no documents: leave out --documents.")
        task = self._asked(given.options)
        known = task._opened(given.kb)
        note = self._other(known)
        found = task._found(known, model, questions, [topics_of(known, text) for text in questions])
        return [as_reply(known, text, one, note) for text, one in zip(questions, found, strict=True)]

    def _asked(self, options: Mapping[str, Any]) -> Self:
        """With what one question may set."""
        for name, value in options.items():
            moved = name == "vectors" and isinstance(value, str) and self.vectors
            if not moved and (name not in ("beam", "hops") or not isinstance(value, int) or value < 1):
                also = ", and vectors, the directory where they are now" if self.vectors else ""
                raise PlumeError(f"{self.called} is asked with beam and hops, whole numbers from 1 on{also}; not {name}={value}.")
        return replace(self, **options)

    def _opened(self, other: str | None = None) -> OpenedKB:
        folder = other or self.kb
        if not (Path(folder) / "kb.sqlite").exists():
            own = "" if self.knowledge is None else f" ({self.called} was trained with one of fingerprint {self.knowledge.fingerprint})"
            raise PlumeError(
                f"There is no knowledge base at {folder}{own}: name one with --kb, or make it with plume kb build triples.tsv --out {folder}."
            )
        if vectors_hash(self.vectors) != self.vectors_hash:
            raise PlumeError(
                f"{self.vectors} is not the model whose vectors {self.called} was trained with: name the one that is, with vectors=DIRECTORY."
            )
        return opened(folder, self.vectors)

    def _other(self, known: OpenedKB) -> str | None:
        """Not the one it was trained with: allowed while its relations say something to the model, and said."""
        folder = known.kb.folder
        if self.knowledge is None or known.kb.fingerprint == self.knowledge.fingerprint:
            return None
        shared = sum(name in set(known.relations) for name in self.relations)
        if not shared:
            raise PlumeError(
                f"This model was trained with the knowledge base {self.knowledge.folder} ({self.knowledge.fingerprint}), and {folder} "
                f"({known.kb.fingerprint}) has none of the {len(self.relations):,} relations that it learned: tune it with --kb {folder}."
            )
        edited = self.knowledge.numbers_alike(known.kb)
        kind = "has been edited since" if edited else f"is not the one of training ({self.knowledge.folder})"
        return f"{folder} {kind}; {shared:,} of {len(self.relations):,} relations that were learned are there"

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        raise self._in_steps()  # `respond` takes them

    def _in_steps(self) -> PlumeError:
        return PlumeError(
            f"{self.called} is answered in several steps, between which a knowledge base is looked into, by a network that plume tunes and runs: "
            "no exported graph and no linear model does that."
        )

    # Measures

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return stage_scores([one.answer for one in examples], predictions)

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        values = row_values([one.answer for one in examples], predictions)
        return {name: lambda rows=rows: mean_of(rows) for name, rows in values.items()}  # type: ignore[misc]

    def yardsticks(self, train: Sequence[Example], dev: Sequence[Example]) -> list[str]:
        found = baselines(self._opened(), dev)
        return [
            f"{self.called}: on dev {name} would score hits@1 {scores['hits@1']:.3f}, f1 {scores['f1']:.3f}."
            for name, scores in found.items()
        ]

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        return listed(example.answer.answers), {model: listed(one["answers"]) for model, one in given.items()}
