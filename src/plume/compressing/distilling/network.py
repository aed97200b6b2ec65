"""DistilledModel: a student that learns from answers, from a teacher's answers, and from what a teacher computes on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from plume.compressing.distilling.comparisons import DistilLoss, Gold, Logits
from plume.compressing.distilling.computed import Computed, asked_count, extent_of, recorded, text_tokens, whole
from plume.compressing.distilling.inner import Inner
from plume.compressing.distilling.layer_pairs import Pairs
from plume.core.batch import Batch, Encoded
from plume.heads.head import Loss
from plume.model.trainable import Trainable
from plume.tuning.adapting.network import TaskModel

SAID, LABELLED = "said", "labelled"  # what a batch carries: the teacher's scores where they were kept, and whether its answers are learned


@dataclass(frozen=True, kw_only=True)
class Tutor:
    """A teacher that reads each batch with the student: its network, and what it calls the task."""

    model: TaskModel
    task: str

    @torch.no_grad()
    def read(self, batch: Batch, *, layers: bool, looks: bool) -> tuple[Computed, Tensor]:
        """What it computes on the way, and what its head says."""
        ((_, target),) = batch.labels.items()
        own = replace(batch, labels={self.task: target})
        computed, encoded, own = read_inside(self.model, own, layers=layers, looks=looks)
        return computed, self.model.head(self.task).taught(encoded, own.labels[self.task])


class DistilledModel(Trainable):
    """`tutors` are by the student's task, where the teacher has to read the batches with the student; else these bring its answers. A tutor is no
    part of the module: it is neither trained nor saved. What comparisons learn themselves begins as `seed` says."""

    def __init__(self, student: TaskModel, tutors: Mapping[str, Tutor], comparisons: Sequence[DistilLoss], *, seed: int = 0) -> None:
        super().__init__()
        self.memories = {}
        self.student, self.comparisons, self.progress = student, named(comparisons), 0.0
        self._tutors = dict(tutors)
        for tutor in tutors.values():
            tutor.model.eval().requires_grad_(False)
        self._places: dict[tuple[str, str], Pairs] = {}
        self.maps = nn.ModuleDict()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for name, one in self.comparisons.items():
                if isinstance(one, Inner):
                    self._prepare(name, one)

    def _prepare(self, name: str, one: Inner) -> None:
        own = extent_of(self.student.body)
        for task, tutor in self._tutors.items():
            other = extent_of(tutor.model.body)
            self._places[name, task] = one.places(own, other)
            learned = one.build(own, other)
            if learned is not None:
                self.maps[f"{name}-{task}"] = learned.to(next(self.student.parameters()))

    def kept(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The student's, as it names them: its layers are known as such."""
        return self.student.kept()

    def aside(self) -> Iterator[tuple[str, nn.Parameter]]:
        return ((f"maps.{name}", parameter) for name, parameter in self.maps.named_parameters())

    def before_step(self, progress: float) -> None:
        self.progress = progress

    def _active(self, batch: Batch) -> dict[str, DistilLoss]:
        """What counts now, of this batch."""
        labelled = bool(batch.named[LABELLED][0])
        found = {name: one for name, one in self.comparisons.items() if one.counts_at(self.progress)}
        return found if labelled else {name: one for name, one in found.items() if not isinstance(one, Gold)}

    def counts(self, batch: Batch) -> dict[str, int]:
        answers = sum(self.student.counts(_plain(batch)).values())
        return {name: self._count(one, batch, answers) for name, one in self._active(batch).items()}

    def _count(self, one: DistilLoss, batch: Batch, answers: int) -> int:
        if isinstance(one, Inner):
            return asked_count(batch) if one.by_answer else text_tokens(batch)
        if isinstance(one, Gold) or SAID not in batch.named:
            return answers
        said = batch.named[SAID]
        return int((~np.isnan(said).reshape(len(said), -1).any(1)).sum())

    def flops(self, batch: Batch) -> int:
        plain = _plain(batch)
        student = self.student.flops(plain)
        tutor = self._tutor(batch)
        if tutor is None or not self._asks(batch, self._active(batch)):
            return student
        ((_, target),) = plain.labels.items()
        return student + tutor.model.flops(replace(plain, labels={tutor.task: target})) // 3

    def _tutor(self, batch: Batch) -> Tutor | None:
        return self._tutors.get(next(iter(batch.labels)))

    def _asks(self, batch: Batch, active: Mapping[str, DistilLoss]) -> bool:
        """Has the teacher to read this batch?"""
        said = SAID in batch.named
        return any(isinstance(one, Inner) or (isinstance(one, Logits) and not said) for one in active.values())

    def losses(self, batch: Batch) -> dict[str, Loss]:
        active, said, plain = self._active(batch), batch.named.get(SAID), _plain(batch)
        want = {"layers": any(one.layers for one in active.values()), "looks": any(one.looks for one in active.values())}
        mine, encoded, read = read_inside(self.student, plain, **want)
        theirs = mine
        if self._asks(batch, active):
            tutor = self._tutor(batch)
            assert tutor is not None, "whoever is asked is there"
            theirs, answered = tutor.read(plain, **want)
            said = answered if said is None else said
        ((task, target),) = read.labels.items()
        head = self.student.head(task)
        found: dict[str, Loss] = {}
        for name, one in active.items():
            if isinstance(one, Gold):
                loss = self.student.losses_of(encoded, read)[task]
            elif isinstance(one, Logits):
                assert said is not None, "the teacher was asked, now or before"
                own = head.taught(encoded, target)
                loss = Loss(total=one.total(own, said.to(own.dtype), head.answer), count=max(len(target.value), 1))
            else:
                assert isinstance(one, Inner)
                learned = self.maps[f"{name}-{task}"] if f"{name}-{task}" in self.maps else None  # noqa: SIM401 - so its type is known
                total = one.total(mine, theirs, self._places[name, task], learned)
                loss = Loss(total=total, count=len(mine.asked) if one.by_answer else int(mine.inside.sum()))
            found[name] = replace(loss, total=loss.total * one.factor(self.progress))
        return found


def read_inside(model: TaskModel, batch: Batch, *, layers: bool, looks: bool) -> tuple[Computed, Encoded, Batch]:
    """What a model computes on the way, the states that its head reads, and the batch as the head is asked about it."""
    if not layers and not looks:
        with recorded(model.body, batch, layers=False, looks=False) as found:
            return found, model.states(batch), batch
    read = whole(batch, pooled=next(iter(batch.labels)) in model.pooled)
    with recorded(model.body, read, layers=layers, looks=looks) as found:
        return found, model.states(read), read


def named(comparisons: Sequence[DistilLoss]) -> dict[str, DistilLoss]:
    """By the names of their losses; a second of a kind has a number.

    >>> list(named([Gold(), Logits(), Logits(temperature=2.0)]))
    ['gold', 'logits', 'logits_2']
    """
    seen: Counter[str] = Counter()
    found: dict[str, DistilLoss] = {}
    for one in comparisons:
        seen[one.name] += 1
        found[one.name if seen[one.name] == 1 else f"{one.name}_{seen[one.name]}"] = one
    return found


def _plain(batch: Batch) -> Batch:
    """What the networks read."""
    return replace(batch, named={name: value for name, value in batch.named.items() if name not in (SAID, LABELLED)})
