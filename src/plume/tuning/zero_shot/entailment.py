"""Labels by entailment (Yin et al. 2019, arXiv:1909.00161): does the text entail that it is about the label?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.prompts.template import SLOT, TEXTS
from plume.tuning.tuned import TunedModel

ENTAILMENT = {"entailment", "entailed", "entails", "蕴含", "蕴涵"}
_CONTRADICTION = {"contradiction", "contradictory", "contradicts", "矛盾"}


@dataclass(frozen=True, kw_only=True)
class Entailment:
    """A task of a tuned model that says whether one text follows from another."""

    task: LabelTask
    entails: int  # among the task's labels
    against: tuple[int, ...]  # contradiction where there is one, else everything else

    def logits(
        self, tuned: TunedModel, texts: Sequence[str], hypotheses: Sequence[str], *, language: str | None = None
    ) -> NDArray[np.float64]:
        """[texts, hypotheses, 2] that the text entails it, and that it does not; all pairs in one call."""
        pairs = list(tuned.told((Example(texts=pair) for pair in product(texts, hypotheses)), language))
        questions, _ = self.task.questions(pairs, tuned.coder())
        table = tuned.table(questions).astype(np.float64)
        rest = np.logaddexp.reduce(table[:, list(self.against)], axis=1)
        return np.stack([table[:, self.entails], rest], axis=1).reshape(len(texts), len(hypotheses), 2)


def find_entailment(tuned: TunedModel) -> Entailment | None:
    """The first of its tasks whose labels name entailment."""
    return next(_found(tuned), None)


def _found(tuned: TunedModel) -> Iterator[Entailment]:
    for task in tuned.tasks:
        if not isinstance(task, LabelTask) or task.texts != 2:
            continue
        names = [label.strip().lower() for label in task.labels]
        entails = [place for place, name in enumerate(names) if name in ENTAILMENT]
        if len(entails) == 1:
            rest = [place for place, name in enumerate(names) if name in _CONTRADICTION]
            against = rest or [place for place in range(len(names)) if place not in entails]
            yield Entailment(task=task, entails=entails[0], against=tuple(against))


def hypotheses(template: str, labels: Sequence[str]) -> list[str]:
    """
    >>> hypotheses("This text is about {}.", ["sports"])
    ['This text is about sports.']
    """
    if len(SLOT.findall(template)) != 1 or any(name in template for name in TEXTS):
        raise PlumeError(f"The template '{template}' needs one place for the label, {{}} or ___, and no {{text}}: the text is the premise.")
    return [SLOT.sub(lambda _, label=label: label, template) for label in labels]  # type: ignore[misc]
