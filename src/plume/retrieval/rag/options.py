"""From what a user writes, on the command line or in Python, to a run that trains a RAG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.retrieval.options import KNOWN, listed, refuse_unknown
from plume.retrieval.rag.training import start_rag_run
from plume.sentences.training import Trained
from plume.tasks.rag import TASK
from plume.tuning.options import Paths, check_numbers, parsed
from plume.tuning.settings import Wishes


def start_rag(
    model: Path,
    *,
    train: Paths,
    out: Path,
    documents: Paths,
    dev: Paths = None,
    retriever: str | Path | None = None,
    task_options: Sequence[str] = (),
    overrides: Sequence[str] = (),
    quiet: bool = False,
    **options: Any,
) -> Trained:
    """`retriever` is a model directory that embeds; None: BM25. The others are as for retrieval."""
    check_numbers(options)
    options = parsed(options)
    wishes = Wishes(**{field.name: options.pop(field.name) for field in fields(Wishes) if field.name in options})
    refuse_unknown(options, KNOWN, TASK.kind)
    if not listed(train) or not listed(documents):
        raise PlumeError(
            "Questions with answers and documents are needed: --train qa.jsonl --documents docs.jsonl (see 'plume tasks rag')."
        )
    task = TASK
    for assignment in task_options:
        task = task.override(assignment)
    return start_rag_run(
        model, out, task=task, train=listed(train), dev=listed(dev), documents=listed(documents),
        retriever=None if retriever is None else Path(retriever), wishes=wishes, overrides=overrides, quiet=quiet,
        **{name: value for name, value in options.items() if value is not None},
    )  # fmt: skip
