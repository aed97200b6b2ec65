"""After-training: a model that was shrunk learns its task again, from what it still knows.

The face, for every method that takes something out of a network (`shrinking.method.Shrinking` does both for its methods):

    finish_shrunk(job, small, recover=None)   writes `small`, a `TunedModel` or `LanguageModel`, to `job.folder`; returns as `Compression.run` does
    resume_recovery(job)                      goes on with a recovery that was stopped; returns as `Compression.resume` does

Recovery is plain tuning with the heads that are there (`TuneSettings.keep_heads`), from OUT/train/shrunk. It is the default where labelled rows are
known; `recover=False` writes the model as it is, and `recover=True` without such rows is an error that says how to give some.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from plume.compressing.job import JOB, CompressionJob
from plume.core.errors import PlumeError
from plume.core.files import write_folder
from plume.model.use.language_model import LanguageModel
from plume.tuning.planning import Made, PlannedTuning, plan
from plume.tuning.settings import TuneSettings
from plume.tuning.tune import begin_planned
from plume.tuning.tune import resume as resume_tuning
from plume.tuning.tuned import TunedModel

SHRUNK = Path("train") / "shrunk"  # the model before it recovers; its control is `plume tune` of it


def finish_shrunk(job: CompressionJob, small: TunedModel | LanguageModel, *, recover: bool | None = None) -> str | None:
    """Write the model, as it is or after it has recovered; a signal that stopped it is returned by name."""
    if not recovers(job, small, recover):
        if (job.folder / JOB).exists():  # the run that has said what stays lies there
            small.save(job.folder)
        else:
            write_folder(job.folder, small.save)
        return None
    assert isinstance(small, TunedModel), "what recovers has a task"
    small.save(job.folder / SHRUNK)
    planned = plan_after(job, small, TuneSettings)
    job.save()
    return begin_planned(planned, job.folder, quiet=job.quiet).outcome.stopped_by


def resume_recovery(job: CompressionJob) -> str | None:
    """Go on from the last checkpoint."""
    return resume_tuning(job.folder, quiet=job.quiet).outcome.stopped_by


def recovers(job: CompressionJob, small: object, recover: bool | None) -> bool:
    """Does it learn again? By default where there are rows to learn from; wishes for training are refused where nothing is trained."""
    able = isinstance(small, TunedModel) and bool(job.settings.data)
    if recover and not able:
        _refuse(job, small)
    if recover is not False and able:
        return True
    if recover is False and job.settings.method.trains:
        return False  # what was to be learned has been: wishes were for that
    if recover is False:
        job.settings.refuse_training("recover=false says so", ", or learn again (--set recover=true)")
    instead = ", or give --train FILE" if isinstance(small, TunedModel) else ", or tune the model first (plume tune)"
    job.settings.refuse_training("no labelled rows are known", instead)
    return False


def _refuse(job: CompressionJob, small: object) -> None:
    if isinstance(small, TunedModel):
        job.need_data()
    raise PlumeError(
        f"{job.source} is not tuned for a task, so there are no labelled rows to recover on: leave out recover, and go on with "
        f"plume pretrain --init {job.folder}, or tune it (plume tune)."
    )


def plan_after(
    job: CompressionJob, small: TunedModel, kind: type[Made], *, model: Path | None = None, **settings: Any
) -> PlannedTuning[Made]:
    """The tuning that a model has had, once more, from `model` (None: OUT/train/shrunk): the same tasks, way and heads, and rows as long. `settings`
    are other fields of `kind`."""
    made, declared = job.settings, small.declared
    wishes = replace(job.wishes, length=made.length or declared.length)
    return plan(
        model or job.folder / SHRUNK, job.need_data(), kind, adapt=lambda _: declared.adaptation, wishes=wishes, overrides=made.overrides,
        budget=made.budget, answer="head", one_token=True, known=True, seed=made.seed, split=made.split, keep_heads=True, **settings,
    )  # fmt: skip
