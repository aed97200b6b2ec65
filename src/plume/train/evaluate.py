"""Held-out loss: the same rows and the same masks every time, so that two measurements can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from plume.data.layouts.layout import PairLabel
from plume.data.loader import Cursor, Mixture, Reader
from plume.heads.head import Loss
from plume.model.kinds import BatchKind
from plume.model.networks.model import Model
from plume.objectives._objective import Answers
from plume.train.device import to_device
from plume.train.distributed import Processes

_STEPS = 16  # batches at most: enough for a stable figure, cheap beside a tenth of the run


@torch.no_grad()
def evaluate(
    model: Model,
    mixture: Mixture[Reader],
    *,
    device: torch.device,
    processes: Processes,
    shares: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, float]:
    """Mean loss and accuracy of each objective; for few classes also the loss of guessing by their shares.

    The shares are those among the answers measured, unless the training text's are given: of many classes a few held-out rows know too much.

    An objective that several kinds of batch ask is measured on all of them. The readers' seed fixes the masks; a generator's samples are
    fixed too."""
    sums: dict[str, list[float]] = {objective.name: [] for objective in model.recipe.objectives}
    further: dict[str, dict[str, float]] = {name: {} for name in sums}
    was_training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[]), model.fresh_memory():
        torch.manual_seed(0)
        for reader in mixture.readers:
            # Rows are dealt out, not batches: every process then runs as many passes, which sharded parameters need.
            for step in range(min(len(reader.plan(0)[1]), max(_STEPS // len(mixture.readers), 4))):
                (batch,) = reader.step(Cursor(step=step), [slice(processes.rank, None, processes.size)])
                _, losses = model(to_device(batch, device), {})
                for name, loss in losses.items():
                    sums[name] = _added(sums[name], loss)
                    for what, total in loss.further.items():
                        further[name][what] = further[name].get(what, 0.0) + float(total)
    model.train(was_training)
    result = {}
    for name, parts in sums.items():
        total, count, correct, *classes = processes.sum(parts) if parts else (0.0, 0.0, 0.0)
        if count:
            result[name] = total / count
            result[f"{name}/accuracy"] = correct / count
            if sum(share > 0 for share in classes) > 1:
                answered = [share / count for share in classes]
                result[f"{name}/guessing"] = _cross_entropy(answered, (shares or {}).get(name, answered))
            result |= {f"{name}/{what}": processes.sum([total])[0] / count for what, total in further[name].items()}
    return result


def _added(sums: list[float], loss: Loss) -> list[float]:
    """Loss, count, right ones, and how often each class was the answer."""
    parts = [float(loss.total), float(loss.count), 0.0 if loss.correct is None else float(loss.correct)]
    parts += [] if loss.classes is None else loss.classes.tolist()
    return [old + new for old, new in zip(sums, parts, strict=True)] if sums else parts


def learned_context(loss: float, trivial: float) -> bool:
    """Is it better, by more than chance, than what needs no context?"""
    return loss < 0.97 * trivial


def _cross_entropy(answers: Sequence[float], guesses: Sequence[float]) -> float:
    """In nats: the loss of guessing by the classes' shares. A head may have more classes than there are labels: those are never the answer."""
    return -sum(answer * math.log(guess) for answer, guess in zip(answers, guesses, strict=False) if answer > 0)


def label_shares(kinds: Sequence[BatchKind], readers: Sequence[Reader]) -> dict[str, list[float]]:
    """By objective, the share of each label among an epoch's rows; one is added to each, so that none is impossible."""
    found: dict[str, list[float]] = {}
    for kind, reader in zip(kinds, readers, strict=True):
        if kind.layout.label is PairLabel.DOCUMENT:
            labels = reader.plan(0)[0].label
            assert labels is not None, "the layout says that rows have the documents' labels"
            counts = np.bincount(labels, minlength=len(reader.store.labels)) + 1
            found |= {one.name: (counts / counts.sum()).tolist() for one in kind.objectives if one.answers is Answers.LAYOUT}
    return found
