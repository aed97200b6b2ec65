"""Test rows on which the models are divided: what a person looks at to see how they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from plume.comparing.results import Disagreement
from plume.core.seeds import Draws
from plume.readers.example import Example
from plume.tuning.task import Prediction, Task

_DIVIDED = 1e-9  # less than this is not divided
_AGAIN = 0.05  # what each earlier row of the same answer, or with the same models right, takes from a row's division (0.25 at most)


def disagreements(
    task: Task, examples: Sequence[Example], predictions: Mapping[str, Sequence[Prediction]], *, most: int = 30, seed: int = 0
) -> list[Disagreement]:
    """Rows on which some are right and some wrong, the most divided first, and not all of one kind. The same rows each time."""
    if len(predictions) < 2 or not examples:
        return []
    right = right_rows(task, examples, predictions)
    share = right.mean(axis=0)
    found = []
    for row in _chosen(share * (1 - share), right, [str(example.answer)[:60] for example in examples], most=most, seed=seed):
        given = {model: some[row] for model, some in predictions.items()}
        gold, answers = task.readable(examples[row], given)
        verdict = dict(zip(predictions, right[:, row].tolist(), strict=True))
        found.append(Disagreement(task=task.called, row=row, texts=examples[row].texts, gold=gold, answers=answers, right=verdict))
    return found


def right_rows(task: Task, examples: Sequence[Example], predictions: Mapping[str, Sequence[Prediction]]) -> NDArray[np.bool_]:
    """[models, rows]. A number or a written text is hardly ever just right: there it is whether it is better than the median of all."""
    values = np.stack([task.grades(examples, some) for some in predictions.values()])
    return values > np.median(values) if task.graded else values >= 1


def _chosen(division: NDArray, right: NDArray[np.bool_], answers: Sequence[str], *, most: int, seed: int) -> list[int]:
    """Greedily: what was shown before counts less, chance decides between equals."""
    chance = Draws(seed=seed, epoch=0, index=np.arange(len(division))).uniform(1)[:, 0]
    kinds = [np.unique(np.array(answers), return_inverse=True)[1], np.unique(right.T, axis=0, return_inverse=True)[1].ravel()]
    value = np.where(division > _DIVIDED, division + 1e-6 * chance, -np.inf)
    chosen: list[int] = []
    for _ in range(min(most, int((division > _DIVIDED).sum()))):
        row = int(value.argmax())
        chosen.append(row)
        for kind in kinds:
            value[kind == kind[row]] -= _AGAIN
        value[row] = -np.inf
    return chosen
