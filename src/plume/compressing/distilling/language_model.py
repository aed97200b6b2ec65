"""A student of the language model itself, on a corpus: DistilBERT's own stage, TinyBERT's general stage, MiniLM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from plume.compressing.distilling.comparisons import DistilLoss, Gold, Logits
from plume.compressing.distilling.computed import Computed, asked_count, extent_of, recorded, text_tokens, whole
from plume.compressing.distilling.inner import Inner
from plume.compressing.distilling.layer_pairs import Pairs
from plume.compressing.distilling.network import named
from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.head import Loss
from plume.model.checkpoint import load_model
from plume.model.networks.model import Model
from plume.model.trainable import Trainable
from plume.objectives._objective import Answers
from plume.text.tokenizer import Tokenizer
from plume.train.settings import Settings


@dataclass(frozen=True, kw_only=True)
class DistilPretraining(Settings):
    """A pre-training run with a teacher, as run.json keeps it."""

    teacher: str
    comparisons: tuple[DistilLoss, ...]

    def learner(self, model: Model, tokenizer: Tokenizer) -> Trainable:
        teacher, known = load_model(Path(self.teacher))
        if known.fingerprint != tokenizer.fingerprint:
            raise PlumeError(
                f"Teacher and student are compared token by token, and {self.teacher} has another vocabulary: name the student by its recipe "
                "(--student bert/tiny), which takes the teacher's."
            )
        return DistilledLanguageModel(model, teacher, self.comparisons, seed=self.seed)


class DistilledLanguageModel(Trainable):
    """The teacher reads each batch, hidden tokens and all, with the student. `Gold` weighs the student's own objectives."""

    def __init__(self, student: Model, teacher: Model, comparisons: Sequence[DistilLoss], *, seed: int = 0) -> None:
        super().__init__()
        self.student, self.comparisons, self.progress = student, named(comparisons), 0.0
        self._teacher = [teacher.eval().requires_grad_(False)]
        self._taught = _taught(student, teacher) if any(isinstance(one, Logits) for one in comparisons) else []
        inner = {name: one for name, one in self.comparisons.items() if isinstance(one, Inner)}
        _refuse_misfits(student, list(inner.values()))
        self._places: dict[str, Pairs] = {}
        self.maps = nn.ModuleDict()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for name, one in inner.items():
                own, other = extent_of(student), extent_of(teacher)
                self._places[name] = one.places(own, other)
                if (learned := one.build(own, other)) is not None:
                    self.maps[name] = learned.to(next(student.parameters()))

    def kept(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The student's."""
        return self.student.kept()

    def aside(self) -> Iterator[tuple[str, nn.Parameter]]:
        return ((f"maps.{name}", parameter) for name, parameter in self.maps.named_parameters())

    def carried(self) -> dict[str, Tensor]:
        return self.student.carried()

    def carry_on(self, carried: dict[str, Tensor]) -> None:
        self.student.carry_on(carried)

    def before_step(self, progress: float) -> None:
        self.progress = progress

    def _active(self) -> dict[str, DistilLoss]:
        return {name: one for name, one in self.comparisons.items() if one.counts_at(self.progress)}

    def counts(self, batch: Batch) -> dict[str, int]:
        own = self.student.counts(batch)
        found: dict[str, int] = {}
        for name, one in self._active().items():
            if isinstance(one, Gold):
                found |= own
            elif isinstance(one, Logits):
                found[name] = sum(own[asked] for asked in self._taught if asked in own)
            else:
                assert isinstance(one, Inner)
                found[name] = asked_count(batch) if one.by_answer else text_tokens(batch)
        return found

    def flops(self, batch: Batch) -> int:
        return self.student.flops(batch) + self._teacher[0].flops(batch) // 3

    def losses(self, batch: Batch) -> dict[str, Loss]:
        active = self._active()
        layers, looks = any(one.layers for one in active.values()), any(one.looks for one in active.values())
        read = whole(batch, pooled=False) if layers or looks else batch
        with recorded(self.student, read, layers=layers, looks=looks) as mine:
            encoded = self.student.token_states(read)
        theirs, answered = self._teach(read, layers=layers, looks=looks)
        found: dict[str, Loss] = {}
        for name, one in active.items():
            factor = one.factor(self.progress)
            if isinstance(one, Gold):
                own = {asked: self.student.head(asked).loss(encoded, target) for asked, target in read.labels.items()}
                found |= {asked: replace(loss, total=loss.total * factor) for asked, loss in own.items()}
            elif isinstance(one, Logits):
                found[name] = self._answers(one, encoded, answered, read)
            else:
                assert isinstance(one, Inner)
                learned = self.maps[name] if name in self.maps else None  # noqa: SIM401 - so its type is known
                total = one.total(mine, theirs, self._places[name], learned) * factor
                found[name] = Loss(total=total, count=len(mine.asked) if one.by_answer else int(mine.inside.sum()))
        return found

    def _answers(self, logits: Logits, student: Encoded, teacher: Encoded, batch: Batch) -> Loss:
        """The two distributions over the vocabulary at the tokens that are asked about."""
        totals, count = [student.last.new_zeros(())], 0
        for name in (name for name in self._taught if name in batch.labels):
            target, own, other = batch.labels[name], self.student.head(name), self._teacher[0].head(name)
            mine, theirs = own.logits(own.asked(student, target)), other.logits(other.asked(teacher, target))
            totals.append(logits.total(mine, theirs, own.answer))
            count += len(target.value)
        return Loss(total=torch.stack(totals).sum() * logits.factor(self.progress), count=count)

    @torch.no_grad()
    def _teach(self, batch: Batch, *, layers: bool, looks: bool) -> tuple[Computed, Encoded]:
        with recorded(self._teacher[0], batch, layers=layers, looks=looks) as computed:
            encoded = self._teacher[0].token_states(batch)
        return computed, encoded


def _taught(student: Model, teacher: Model) -> list[str]:
    """The objectives of the student's that predict tokens and that the teacher has a head for."""
    both = [one.name for one in student.recipe.objectives if one.answers is Answers.NOISE and one.name in _objectives(teacher)]
    if not both:
        raise PlumeError(
            f"The teacher predicts none of the tokens that the student is asked about ({', '.join(_objectives(student))}): it was imported without "
            "its head. Compare what it computes inside instead: --method minilm."
        )
    return both


def _objectives(model: Model) -> list[str]:
    return [one.name for one in model.recipe.objectives]


def _refuse_misfits(student: Model, inner: Sequence[Inner]) -> None:
    recipe = student.recipe
    if recipe.assembly.generates:
        raise PlumeError(
            f"{recipe.name} judges what a generator of its own writes: a teacher has nothing to say about that. Distil it on a task."
        )
    if inner and (recipe.assembly.decodes or recipe.assembly.streams or recipe.recurrent):
        raise PlumeError(
            f"{recipe.name} is no single stack that reads both ways: what it computes inside is not compared; use --method distil."
        )
