"""plume tune, for tasks that are no head on a body but have a run of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plume.cli._training import end_if_stopped

if TYPE_CHECKING:
    from plume.sentences.training import Trained

RAG = "rag"


def has_run_of_its_own(tasks: Sequence[str]) -> bool:
    """Is it such a task? One stands alone."""
    from plume.core import catalog
    from plume.core.errors import PlumeError
    from plume.tuning.task import RunTask

    known = {name for name in catalog.names("tasks") if isinstance(catalog.load("tasks", name).TASK, RunTask)}
    own = [task for task in tasks if task.partition("=")[0].rpartition(":")[2].replace("_", "-") in known]
    if own and (len(tasks) > 1 or own[0].replace("_", "-") not in known):
        raise PlumeError(
            f"{own[0].partition('=')[0]} is trained by itself: --task {own[0].partition('=')[0]} --train FILE --documents FILE."
        )
    return bool(own)


def begin(model: Path, tasks: Sequence[str], *, retriever: Path | None, quiet: bool, **options: Any) -> None:
    """Start it."""
    from plume.core.errors import PlumeError
    from plume.retrieval.options import start_retrieval
    from plume.retrieval.rag.options import start_rag

    if tasks[0] == RAG:
        _finish_rag(start_rag(model, retriever=retriever, quiet=quiet, **options), quiet=quiet)
        return
    if retriever is not None:
        raise PlumeError(f"--retriever is for --task {RAG}: leave it out.")
    _finish(start_retrieval(model, quiet=quiet, **options), quiet=quiet)


def resumed(folder: Path, *, quiet: bool) -> bool:
    """Go on with such a run; False: the folder holds another."""
    from plume.retrieval import training
    from plume.retrieval.rag.training import rag_settings_of, resume_rag

    if (settings := training.settings_of(folder)) is not None:
        _finish(training.resume(folder, settings, quiet=quiet), quiet=quiet)
        return True
    if (answering := rag_settings_of(folder)) is not None:
        _finish_rag(resume_rag(folder, answering, quiet=quiet), quiet=quiet)
        return True
    return False


def measures(model: Path, task: str | None) -> bool:
    """Is the model measured by such a task?"""
    from plume.retrieval.rag.declared import is_rag

    return (task is None and is_rag(model)) or (task is not None and has_run_of_its_own([task]))


def measured(
    model: Path, task: str | None, data: Sequence[Path], documents: Sequence[Path], *, device: str
) -> tuple[dict[str, float], list[str]]:
    """Its scores on a file of questions, and what is to be said of the files."""
    from plume.core.errors import PlumeError
    from plume.retrieval.evaluating import evaluate_rag, evaluate_retrieval
    from plume.retrieval.rag.declared import is_rag
    from plume.tuning.loaded import load

    if task in (None, RAG):
        if not is_rag(model):
            raise PlumeError(
                f"{model} is no RAG: tune one with plume tune MODEL --task {RAG} --train FILE --documents FILE --out DIRECTORY."
            )
        return evaluate_rag(model, data, documents=documents, device=device)
    found = evaluate_retrieval(load(model, device=device), data, documents=documents)
    return found.flat(), found.notes


def _finish(made: Trained, *, quiet: bool) -> None:
    """Print the scores, the model's place and next steps; a run ended by a signal exits with the signal's usual code."""
    from plume.cli._scores import print_scores

    end_if_stopped(made.outcome.stopped_by, "tune", made.folder, quiet=quiet)
    if quiet:
        return
    if made.scores:
        print_scores(made.scores, title="best on dev")
    print(
        f"\n{made.folder} (model card: {made.folder / 'card.md'}). Next:\n"
        f"  plume index documents.jsonl --model {made.folder} --title title --passage 100 --out index/\n"
        f'  plume search index/ "…"\n'
        f"  plume eval {made.folder} --task retrieval --data FILE --documents documents.jsonl"
    )


def _finish_rag(made: Trained, *, quiet: bool) -> None:
    from plume.cli._scores import print_scores

    end_if_stopped(made.outcome.stopped_by, "tune", made.folder, quiet=quiet)
    if quiet:
        return
    print_scores(made.scores, title="best on dev")
    print(
        f"\n{made.folder} (model card: {made.folder / 'card.md'}). Next:\n"
        f'  plume ask {made.folder} "…"\n'
        f'  plume ask {made.folder} --documents other.jsonl "…"\n'
        f"  plume eval {made.folder} --data FILE"
    )
