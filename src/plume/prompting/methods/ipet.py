"""iPET (arXiv:2001.07676 §3.4): PET in generations, each model taught by a part of the others on ever more texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from plume.core.errors import PlumeError
from plume.prompting.folds import write_rows
from plume.prompting.job import PromptJob
from plume.prompting.methods.pet import PatternEnsemble
from plume.prompting.patterns import PatternMember, mixed, scores_of
from plume.readers.example import Example
from plume.tuning.kinds.labelling import softmax
from plume.tuning.rows.questions import Floats


@dataclass(frozen=True, kw_only=True)
class IterativePatterns(PatternEnsemble):
    """Generation g learns from growth^g times as many examples as there are, in the proportions of their labels."""

    generations: int = 3
    growth: float = 5.0
    share: float = 0.25  # of the others teach a model

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.generations < 1 or self.growth <= 1 or not 0 < self.share <= 1:
            raise PlumeError(
                f"ipet has 1 or more generations, a growth above 1, and a share of teachers above 0 and up to 1, not {self.generations}, "
                f"{self.growth} and {self.share}. Without generations it is pet."
            )

    def members(self, job: PromptJob) -> list[PatternMember]:
        found = super().members(job)
        if len(found) < 2:
            raise PlumeError("ipet lets models teach each other: give several templates, or --set runs=2 or more.")
        return found

    def tables(self, job: PromptJob, members: list[PatternMember], weights: dict[str, float]) -> list[Floats] | str:
        found = super().tables(job, members, weights)
        for generation in range(1, self.generations + 1):
            if isinstance(found, str):
                return found
            found = self._generation(job, members, weights, found, generation)
        return found

    def _generation(
        self, job: PromptJob, members: list[PatternMember], weights: dict[str, float], before: list[Floats], generation: int
    ) -> list[Floats] | str:
        found = []
        for number, member in enumerate(members):
            job.say(f"generation {generation}, model {number + 1} of {len(members)}")
            place = job.parts / f"generation-{generation}" / member.name
            generator = np.random.default_rng([job.settings.seed % 2**64, generation, number])
            teachers = self.teachers(len(members), number, generator)
            said = mixed([before[one] for one in teachers], [self.weight(weights, members[one]) for one in teachers])
            rows = place.with_suffix(".jsonl")
            write_rows(rows, self._taught(job, said, generation, generator))
            table = scores_of(job, member, place, train=(str(rows.absolute()),))
            if isinstance(table, str):
                return table
            found.append(table)
        return found

    def teachers(self, members: int, number: int, generator: np.random.Generator) -> list[int]:
        """Some of the others."""
        others = [one for one in range(members) if one != number]
        return sorted(generator.choice(others, max(1, round(self.share * len(others))), replace=False).tolist())

    def _taught(self, job: PromptJob, said: Floats, generation: int, generator: np.random.Generator) -> list[Example]:
        """The training examples, and texts with the label that the teachers give them, surer ones sooner."""
        labels = job.prepared.task.labels
        share = softmax(said.astype(np.float64))
        best = share.argmax(1)
        wanted = Counter(one.answer for one in job.prepared.train)
        added: list[Example] = []
        for place, label in enumerate(labels):
            own = np.flatnonzero(best == place)
            count = min(len(own), round(wanted[label] * (self.growth**generation - 1)))
            sure = share[own, place]
            drawn: list[int] = generator.choice(own, count, replace=False, p=sure / sure.sum()).tolist() if count else []
            added += [replace(job.unlabelled[text], answer=label) for text in sorted(drawn)]
        return [*job.prepared.train, *added]


METHOD = IterativePatterns()
