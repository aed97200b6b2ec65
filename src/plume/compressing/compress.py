"""From models, a method and data to a small model with its lineage."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.compressing.job import CompressionJob, JobSettings, data_by_task, data_of, read_job, split_of
from plume.compressing.lineage import CompressionStep, Figures, read_lineage, write_lineage
from plume.compressing.measuring import SECONDS, figures_side_by_side, timed_on
from plume.compressing.method import Compression
from plume.compressing.together import figures_together
from plume.core.errors import PlumeError
from plume.core.files import read_json, removed_if_refused, write_json
from plume.core.part import describe
from plume.hf.importing import check_free
from plume.model.checkpoint import read_recipe
from plume.static.model import is_word_model
from plume.train.metrics import METRICS
from plume.tuning.declared import is_tuned
from plume.tuning.settings import TaskData

_TOOK = Path("train") / "took.json"  # seconds, of a run that was stopped


@dataclass(frozen=True, kw_only=True)
class Compressed:
    """A compression that has ended: the model before and after, or the signal that stopped it."""

    folder: Path
    before: Figures | None = None
    after: Figures | None = None
    stopped_by: str | None = None


def compress(
    sources: Sequence[Path],
    method: Compression,
    folder: Path,
    *,
    train: Sequence[str] = (),
    dev: Sequence[str] = (),
    text: Sequence[str] = (),
    quiet: bool = False,
    **options: object,
) -> Compressed:
    """`train` and `dev` are labelled files, by default those that the model was tuned on; `options` are fields of `JobSettings`."""
    check_free(folder)
    for source in sources:
        if not is_tuned(source) and not is_word_model(source):
            read_recipe(source)  # says what is there instead of a model, before anything is done
    if len(sources) != 1 and not method.several:
        raise PlumeError(f"{method.name} takes one model, not {len(sources)}: --method ensemble takes several.")
    if method.by_task and (train or dev):
        raise PlumeError(f"{method.name} takes the files that each model was tuned on: leave out --train and --dev.")
    if method.by_pairs and train:
        raise PlumeError(f"{method.name} is about vectors of plain text, and answers say nothing about these: give --text, not --train.")
    if text:
        _refuse_text(method, sources[0])
    settings = JobSettings(
        sources=absolute(sources), method=method, data=_data(method, sources, train, dev), split=split_of(sources[0]), text=absolute(text),
        pairs=absolute(dev) if method.by_pairs else (), **options,  # type: ignore[arg-type]
    )  # fmt: skip
    job = CompressionJob(settings=settings, folder=folder, quiet=quiet)
    with removed_if_refused(folder, unless=(folder / METRICS).exists):
        return _finish(job, method.run)


def resume(folder: Path, *, quiet: bool = False) -> Compressed:
    """Go on with a compression that trains."""
    job = read_job(folder, quiet=quiet)
    return _finish(job, job.settings.method.resume)


def _finish(job: CompressionJob, work: object) -> Compressed:
    assert callable(work)
    began = time.perf_counter()
    stopped_by = work(job)
    ended = read_lineage(job.folder)
    seconds = _seconds_before(job.folder) + time.perf_counter() - began if ended is None else ended.steps[-1].seconds
    if stopped_by is not None:
        write_json(job.folder / _TOOK, seconds)
        return Compressed(folder=job.folder, stopped_by=stopped_by)
    made = job.settings
    timing = SECONDS if made.timed else 0.0
    # Several teachers are not one model that could be timed.
    compared = (job.source, job.folder) if len(job.sources) == 1 else (job.folder,)
    *one, after = figures_side_by_side(compared, made.data, split=made.split, pairs=made.pairs, seconds=timing)
    before = one[0] if one else figures_together(job.sources, made.data, split=made.split)
    step = CompressionStep(
        method=made.method.name, settings=describe(made.method), seconds=seconds, before=before, after=after,
        timed_on=None if after.speed is None else timed_on(), text=tuple(Path(path).name for path in made.text),
    )  # fmt: skip
    job.save()
    write_lineage(job.folder, job.sources, step)
    return Compressed(folder=job.folder, before=before, after=after)


def _seconds_before(folder: Path) -> float:
    """What the run had taken when it was stopped: a part of what the model cost."""
    return float(read_json(folder / _TOOK, "seconds of a run")) if (folder / _TOOK).exists() else 0.0


def _refuse_text(method: Compression, source: Path) -> None:
    """Text that would say nothing to the method."""
    if method.reads_text(tuned=is_tuned(source)):
        return
    tuned = method.reads_text(tuned=False)
    why = f"{source} is tuned, so what matters is told by its labelled rows" if tuned else f"{method.name} reads no plain text"
    raise PlumeError(f"{why}: leave out --text.")


def _data(method: Compression, sources: Sequence[Path], train: Sequence[str], dev: Sequence[str]) -> tuple[TaskData, ...]:
    if method.by_pairs:
        return ()
    return data_by_task(sources) if method.by_task else data_of(sources[0], absolute(train), absolute(dev))


def absolute(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """As they are found again from another directory, where a run goes on."""
    return tuple(str(Path(path).absolute()) for path in paths)
