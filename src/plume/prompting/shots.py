"""Which of the labelled examples are shown, and how much depends on that and on their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.prompting.job import PromptJob
from plume.readers.example import Example
from plume.train.card import table
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.prompts.demonstrations import Demonstration, DemonstrationChoice, Demonstrations, SameForAll, Shown
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel

_SCORED = 200  # examples, where the spread over draws is measured


def demonstrations_of(task: Prompted, examples: Sequence[Example]) -> tuple[Demonstration, ...]:
    """Examples with their answers in words: of a label that has several its first."""
    words = task.prompt.words_of(task.labels) if isinstance(task.task, LabelTask) else []
    first = {label: some[0] for label, some in zip(task.labels, words, strict=False)}
    return tuple(
        Demonstration(texts=one.texts, word=first[one.answer], label=one.answer)
        if first
        else Demonstration(texts=one.texts[:1], word=one.texts[1 + one.answer])
        for one in examples
    )


def drawn(pool: Sequence[Demonstration], count: int, *, seed: int) -> Shown:
    """So many, of each label as many as can be, in an order of their own."""
    if not 1 <= count <= len(pool):
        raise PlumeError(
            f"There are {len(pool)} examples, of which 1 to {len(pool)} can be shown, not {count}: --shots {min(len(pool), 4)}"
        )
    generator = np.random.default_rng(seed)
    of_label: dict[str, list[int]] = {}
    for place in generator.permutation(len(pool)).tolist():
        of_label.setdefault(pool[place].label, []).append(place)
    rounds = max(len(some) for some in of_label.values())
    found = [some[turn] for turn in range(rounds) for some in of_label.values() if turn < len(some)][:count]
    return tuple(generator.permutation(found).tolist())


@dataclass(frozen=True, kw_only=True)
class ShownSpread:
    """The score of several draws of examples, and of several orders of one draw."""

    metric: str
    draws: tuple[float, ...]
    orders: tuple[float, ...]
    rows: int

    def lines(self) -> list[str]:
        """In words."""
        said = [("draws of examples", self.draws), ("orders of the same examples", self.orders)]
        return [
            f"{self.metric} over {len(found)} {what}, {self.rows:,} rows: mean {np.mean(found):.3f}, lowest {min(found):.3f}, highest "
            f"{max(found):.3f}, standard deviation {np.std(found, ddof=1):.3f}"
            for what, found in said
            if len(found) > 1
        ]

    def section(self) -> str:
        """Of the card."""
        rows = [
            (what, ", ".join(f"{score:.3f}" for score in found))
            for what, found in (("draws", self.draws), ("orders", self.orders))
            if len(found) > 1
        ]
        told = " ".join(f"{line}." for line in self.lines())
        why = "Nothing was chosen by these figures: the seed says which examples are shown."
        return "\n\n".join(["## What choice and order of the examples change", table(("over", self.metric), rows), f"{told} {why}"])


def spread_of(
    job: PromptJob, pool: Sequence[Demonstration], *, count: int, times: int, made: Callable[[Demonstrations], TunedModel], between: str
) -> ShownSpread | None:
    """Measured on dev, or on the training examples that none of them shows; None: there are too few."""
    seeds = [job.settings.seed + number for number in range(times)]
    draws = [drawn(pool, count, seed=seed) for seed in seeds]
    orders = [draws[0], *(tuple(np.random.default_rng(seed).permutation(draws[0]).tolist()) for seed in seeds[1:])]
    examples = scored_beside(job, {place for draw in draws for place in draw})[:_SCORED]
    if times < 2 or not examples:
        return None

    def score(shown: Shown) -> float:
        tuned = made(Demonstrations(pool=tuple(pool), choice=SameForAll(draws=(shown,)), between=between))
        return measured(tuned, examples)[tuned.tasks[0].metric]

    return ShownSpread(
        metric=job.prepared.task.metric,
        draws=tuple(score(one) for one in draws),
        orders=tuple(score(one) for one in dict.fromkeys(orders)),
        rows=len(examples),
    )


def scored_beside(job: PromptJob, shown: set[int]) -> list[Example]:
    """The dev examples; without a dev file the training examples that share no text with what is shown."""
    prepared = job.prepared
    seen = {prepared.train[place].passage for place in shown}
    return list(prepared.dev) if prepared.held_out else [one for one in prepared.train if one.passage not in seen]


def measured(tuned: TunedModel, examples: Sequence[Example]) -> dict[str, float]:
    """What a model scores on these."""
    task: Task = tuned.tasks[0]
    return task.measure(examples, tuned.answers(task, examples)[0])


def kept(pool: Sequence[Demonstration], shown: Shown, *, between: str) -> Demonstrations:
    """Only what is shown, to be saved with the model."""
    choice: DemonstrationChoice = SameForAll(draws=(tuple(range(len(shown))),))
    return Demonstrations(pool=tuple(pool[place] for place in shown), choice=choice, between=between)


def answering_with(tuned: TunedModel, demonstrations: Demonstrations) -> TunedModel:
    """The same model with these beside each question."""
    task = replace(tuned.tasks[0], demonstrations=demonstrations)
    return TunedModel(tuned.model, tuned.tokenizer, replace(tuned.declared, tasks=(task,)), tuned.sentence)


def listed(pool: Sequence[Demonstration]) -> Iterator[tuple[str, str]]:
    """Rows of a table."""
    return ((" / ".join(one.texts).replace("|", "\\|"), one.word) for one in pool)
