"""A teacher's sentence vectors as what a student learns: computed once, kept in the cache by content, cut where the student is narrower."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plume.compressing.distilling.soft_labels import computed_once
from plume.compressing.distilling.students import parameters_in
from plume.compressing.job import CompressionJob
from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.core.identity import folder_hash
from plume.core.part import replace
from plume.model.checkpoint import WEIGHTS, state_of
from plume.nn.pooling import Pooling
from plume.sentences.embedding import CHUNK
from plume.sentences.grouping import EachText
from plume.sentences.layer import PooledLayer
from plume.sentences.losses import CosineGap, SquaredDistance
from plume.sentences.method import SentenceMethod
from plume.sentences.planning import PlannedSentences, planned, pooled_width
from plume.sentences.settings import SentenceSettings
from plume.train.budget import Budget
from plume.train.device import choose_device
from plume.tuning.linear.model import is_linear
from plume.tuning.loaded import load
from plume.tuning.rows.questions import Floats
from plume.tuning.settings import epochs_for
from plume.vectors.corpus_texts import chunks
from plume.vectors.sentence import SENTENCE, SentenceVectors
from plume.vectors.transforms.normalise import Normalise
from plume.vectors.transforms.principal_components import PrincipalComponents

# A vector is an exact answer, which dropout would only blur.
METHOD = SentenceMethod(
    name="vectors", title="a teacher's sentence vectors", paper="arXiv:2004.09813", loss=SquaredDistance(), views=EachText(), batch=32,
    length=128, dropout=0.0,
)  # fmt: skip


class Distance(enum.StrEnum):
    """What is made small between the vectors of teacher and student."""

    SQUARED = "squared"
    COSINE = "cosine"  # 1 − cosine: lengths are free


@dataclass(frozen=True, kw_only=True)
class VectorSettings(SentenceSettings):
    """Of a run with a teacher, as run.json keeps it."""

    teacher: str
    cut: int | None = None  # the teacher's vectors to so many of their principal components; None: as they are
    dense: PooledLayer | None = None  # from the student's width to the teacher's

    @property
    def layer(self) -> PooledLayer | None:
        return self.dense

    @property
    def files(self) -> tuple[str, ...]:
        decisive = (Path(self.teacher) / name for name in (WEIGHTS, SENTENCE))
        return (*super().files, *(str(path) for path in decisive if path.exists()))

    def taught(self, texts: Sequence[str]) -> Floats:
        whole = teacher_vectors(Path(self.teacher), texts, device=str(choose_device(self.device)))
        if self.cut is None:
            return whole
        components = PrincipalComponents(dimensions=self.cut).fit(whole)
        if components.width(whole.shape[1]) < self.cut:
            raise PlumeError(
                f"The teacher's vectors of {len(texts):,} texts lie in {components.width(whole.shape[1])} dimensions, and the student has "
                f"{self.cut} to fill: give more text, or --set dense=true."
            )
        return components.apply(whole)


def teacher_vectors(teacher: Path, texts: Sequence[str], *, device: str = "cpu") -> Floats:
    """[N, D] as the directory's `embed` gives them."""
    key = hashlib.blake2b(digest_size=16)
    key.update(folder_hash(teacher).encode())
    for text in texts:
        key.update(json.dumps(text).encode())

    def embedded() -> Floats:
        model: Embedder = load(teacher, device=device)
        return np.concatenate([model.embed(some) for some in chunks(texts, CHUNK)])

    return computed_once(f"sentence-vectors/{key.hexdigest()}.npy", embedded)


def plan_vectors(
    job: CompressionJob, student: Path, *, distance: Distance, dense: bool | None, made_here: bool, rate: float | None
) -> PlannedSentences:
    """`dense` None: only where the student is wider. `made_here`: the student reads by the teacher's tokenizer, and embeds in no way of its own.
    `rate` is what the student learns at if the user says nothing."""
    teacher, made = load(job.source), job.settings
    how = teacher.sentence or SentenceVectors()
    unit = bool(how.transforms) and isinstance(how.transforms[-1], Normalise)
    loss = CosineGap() if distance is Distance.COSINE else SquaredDistance(normalised=unit)
    plan = planned(
        student, kind=VectorSettings, method=replace(METHOD, loss=loss), text=made.text, dev=made.pairs,
        wishes=replace(job.wishes, rate=made.rate or rate), pooling=_pooling(how) if made_here else None, budget=made.budget,
        overrides=made.overrides, seed=made.seed, teacher=str(job.source),
    )  # fmt: skip
    settings = plan.settings
    own, wanted = pooled_width(plan.source, settings.pooling), teacher.width
    widened = own > wanted if dense is None else dense
    if own > wanted and not widened:
        raise PlumeError(
            f"The student's vectors have {own} dimensions and the teacher's {wanted}: leave out dense=false, or choose another."
        )
    vectors = replace(settings.vectors, transforms=(Normalise(),) if unit else (), similarity=how.similarity)
    if made_here:
        vectors = replace(vectors, prompt=how.prompt, longest=how.longest)
    cut = own if own < wanted and not widened else None
    layer = PooledLayer(tanh=False, kept=True, width=wanted) if widened else None
    settings = replace(settings, vectors=vectors, cut=cut, dense=layer)
    if made.budget is None and made.epochs is None:
        settings = replace(settings, budget=_budget(settings, len(plan.data.groups.texts)))
    plan.data.notes.extend(_notes(plan, job.source, cut=cut, width=wanted))
    return plan._replace(settings=settings)


def refuse_teacher(job: CompressionJob) -> None:
    """What cannot teach vectors, and what lacks text, before anything is written."""
    if is_linear(job.source):
        raise PlumeError(f"{job.source} was made of a task's examples alone: there is no model below to embed with.")
    if not job.settings.text:
        raise PlumeError("The teacher's vectors of some texts are what the student learns: give texts with --text FILE.")


def _pooling(how: SentenceVectors) -> Pooling | None:
    """The teacher's, of the last layer: others of its layers the student may lack."""
    return Pooling(tokens=how.pooling.tokens) if isinstance(how.pooling, Pooling) else None


def _budget(settings: SentenceSettings, texts: int) -> Budget:
    return Budget(unit="steps", amount=max(1, round(epochs_for(texts) * texts / settings.training.batch)))


def _notes(plan: PlannedSentences, teacher: Path, *, cut: int | None, width: int) -> list[str]:
    own, theirs = sum(value.numel() for value in state_of(plan.source).values()), parameters_in(teacher)
    larger = [f"The student has {own:,} parameters, more than its teacher with {theirs:,}: nothing gets smaller."] if own > theirs else []
    if cut is None:
        return larger
    fitted = PrincipalComponents(dimensions=cut).advice(len(plan.data.groups.texts), width)
    return [*larger, f"the teacher's vectors are cut from {width} to {cut} dimensions by PCA of these texts", *fitted]
