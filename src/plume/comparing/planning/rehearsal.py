"""A rehearsal: a few steps of every entrant on a little of the corpus, and a look at every task, before anything is spent.

It tells what cannot work, how long a step takes, and what memory it needs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from plume.comparing.cells import CellKind
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.entrants.few_steps import PAIRS, SAMPLE
from plume.comparing.forks import fork_server, hear_signals, hidden_main
from plume.comparing.measuring.sizes import parameters, peak_memory
from plume.comparing.rows.scored import scored_examples
from plume.comparing.study import Study
from plume.core.errors import PlumeError
from plume.core.files import write_text
from plume.core.machine import seconds_had_and_waited
from plume.data.corpus import Corpus, CorpusKind
from plume.data.layouts.carried import Carried
from plume.model.recipe import Recipe
from plume.readers.example import Example
from plume.train.budget import Budget, Spent
from plume.train.metrics import read_metrics
from plume.tuning.adapting.body import network
from plume.tuning.bodies import read_model
from plume.tuning.declared import Declared
from plume.tuning.linear.recipe import TermRecipe
from plume.tuning.settings import usual_way
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel, assemble, coder_for, reading_order
from plume.tuning.writing.by_text import approach
from plume.tuning.writing.written import WrittenTask

_DOCUMENTS, _CHARACTERS = 300, 300_000  # of the corpus; enough for every layout to make some rows
_EXAMPLES = 8  # of each task
_TIMINGS = 2  # the shorter counts


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What an entrant showed: what it cannot do, and what a step of it takes."""

    entrant: str
    cannot: dict[str, str] = field(default_factory=dict)  # by task, "" its pre-training: why
    step: Spent | None = None  # what one step costs; None: word vectors, and what is not pre-trained here
    parameters: int = 0
    memory: int = 0  # bytes, at the peak
    tokens: dict[str, float] = field(default_factory=dict)  # of a training example, on average, by task
    answering: dict[str, float] = field(default_factory=dict)  # seconds for an example, by task; none for tasks that write
    frozen: bool = False  # is its family used as it is, and only what is put on it learns?


@dataclass(frozen=True, kw_only=True)
class Look:
    """A task, read: it parses, and its first examples are at hand."""

    name: str
    task: Task
    examples: list[Example]
    train: int
    scored: int
    characters: float  # a training example, on average


def look_at_tasks(study: Study) -> list[Look]:
    """Read every file of every task; what does not parse says so, with its line."""
    looks = []
    for one in study.tasks:
        ready, examples, _ = scored_examples(one)
        characters = sum(len(text) for example in ready.train for text in example.texts) / len(ready.train)
        few = ready.train[:50]
        looks.append(
            Look(name=one.name, task=ready.task, examples=few, train=len(ready.train), scored=len(examples), characters=characters)
        )
    return looks


def rehearse_all(study: Study, entrants: Sequence[Entrant], looks: Sequence[Look], *, slots: int) -> list[Rehearsal]:
    """Each in a process of its own, so that its peak of memory is its own; as many at a time as cells will be."""
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(slots) as pool:
        carried = dict.fromkeys(one for entrant in entrants if isinstance(entrant.declared, Recipe) for one in entrant.declared.carries)
        write_text(Path(scratch) / SAMPLE, _sample(study, CorpusKind.TEXT, tuple(carried)))
        if any(isinstance(one.declared, Recipe) and one.declared.corpus is CorpusKind.PAIRS for one in entrants):
            with contextlib.suppress(PlumeError):  # there are none: the entrant's own rehearsal says so
                write_text(Path(scratch) / PAIRS, _sample(study, CorpusKind.PAIRS))
        return list(pool.map(lambda one: _apart(study, one, looks, Path(scratch)), entrants))


def _apart(study: Study, entrant: Entrant, looks: Sequence[Look], scratch: Path) -> Rehearsal:
    """An entrant that cannot be rehearsed, for whatever reason, does not stop the others."""
    try:
        with ProcessPoolExecutor(1, mp_context=fork_server(), initializer=hear_signals) as pool:
            with hidden_main():  # the process starts with what is submitted
                made = pool.submit(rehearse, study, entrant, looks, scratch)
            return made.result()
    except BrokenProcessPool:
        reason = "its rehearsal was ended by the system: it may have run out of memory"
    except Exception as error:
        reason = f"its rehearsal failed: {type(error).__name__}: {error}"
    return Rehearsal(entrant=entrant.name, cannot={"": reason})


def _sample(study: Study, kind: CorpusKind, carries: Sequence[Carried] = ()) -> str:
    """The beginning of the corpus as JSONL, with its labels and what the entrants' rows carry."""
    documents, size = [], 0
    for document in itertools.islice(Corpus(list(study.corpus), kind=kind, carries=carries).documents(), _DOCUMENTS):
        record: dict[str, Any] = {"text": "\n".join(document.paragraphs)} | ({} if document.label is None else {"label": document.label})
        record |= {one.name: one.value(document.named[one.name]) for one in carries if one.name in document.named}
        if document.languages is not None:
            sides = dict(zip(("source", "target"), document.paragraphs, strict=True))
            record = sides | {f"{side}_language": name for side, name in zip(sides, document.languages, strict=True)}
        documents.append(json.dumps(record, ensure_ascii=False))
        size += len(documents[-1])
        if size > _CHARACTERS:
            break
    return "\n".join(documents) + "\n"


def rehearse(study: Study, entrant: Entrant, looks: Sequence[Look], scratch: Path) -> Rehearsal:
    """In a process of its own."""
    torch.set_num_threads(study.threads)
    os.environ["PLUME_CACHE"] = str(scratch / "cache")  # the sample is not read again
    try:
        before = seconds_had_and_waited()
        folder = entrant.rehearsed(study, scratch, scratch / entrant.folder)
        had, waited = (after - start for start, after in zip(before, seconds_had_and_waited(), strict=True))
        if entrant.static or isinstance(entrant.declared, TermRecipe):
            return Rehearsal(entrant=entrant.name, cannot={look.name: why for look in looks if (why := entrant.cannot(look.task))})
        tried = {look.name: _try(folder, look) for look in looks}
        cannot = {name: found for name, found in tried.items() if isinstance(found, str)}
        trained = any(cell.kind is CellKind.PRETRAIN for cell in entrant.cells(0)[-1:])
        return Rehearsal(
            entrant=entrant.name, cannot=cannot, step=_step(folder, alone=had / (had + waited)) if trained else None, parameters=parameters(folder),
            memory=peak_memory(), tokens=_tokens(folder, looks), frozen=usual_way(read_model(folder)[0]).frozen,
            answering={name: found for name, found in tried.items() if isinstance(found, float)},
        )  # fmt: skip
    except PlumeError as error:
        return Rehearsal(entrant=entrant.name, cannot={"": str(error)})


def _step(folder: Path, *, alone: float) -> Spent:
    """The mean of all steps but the first. `alone` is the share of the time in which nothing else had the core: a plan is for a quiet machine."""
    lines = [line for line in read_metrics(folder) if "flops" in line]
    first, last = lines[0], lines[-1]
    count = max(last["step"] - first["step"], 1)
    return Spent(
        steps=1,
        tokens=last["tokens"] // last["step"],
        flops=last["flops"] / last["step"],
        seconds=alone * (last["seconds"] - first["seconds"]) / count,
    )


def _tokens(folder: Path, looks: Sequence[Look]) -> dict[str, float]:
    """By a tokenizer of the sample, which cuts a little finer than that of the whole corpus."""
    _, tokenizer = read_model(folder)
    counted = {look.name: tokenizer.encode([text for example in look.examples for text in example.texts]) for look in looks}
    return {look.name: sum(map(len, counted[look.name])) / len(look.examples) for look in looks}


def _try(folder: Path, look: Look) -> str | float | None:
    """Put the task's head on the model and let it answer: the seconds for an example, where that is one pass, or why it cannot."""
    try:
        body, tokenizer = read_model(folder)
        adaptation = usual_way(body)
        task = approach(look.task, body, tokenizer, look.examples, adaptation=adaptation)
        length = network(body, "Word vectors are not rehearsed.").recipe.training.length
        usual = coder_for(body, tokenizer, length=length).usual_language(look.examples)
        order = reading_order(body, tokenizer)
        declared = Declared(tasks=(task,), adaptation=adaptation, length=length, order=order, language=usual)
        model = assemble(body, declared)
        model.initialise(0)
        tuned, some = TunedModel(model, tokenizer, declared), look.examples[:_EXAMPLES]
        tuned.answers(task, some)
        if isinstance(task, WrittenTask):
            return None
        return min(_timed(tuned, task, some) for _ in range(_TIMINGS)) / len(some)  # the first call also allocates
    except PlumeError as error:
        return str(error)


def _timed(tuned: TunedModel, task: Task, examples: list[Example]) -> float:
    """Seconds, without those in which something else had the machine: a decision for the whole study is made by them."""
    began = time.process_time()
    tuned.answers(task, examples)
    return (time.process_time() - began) / torch.get_num_threads()


def refuse_small_budget(budget: Budget, rehearsals: Sequence[Rehearsal]) -> None:
    """A budget must buy a step of every entrant."""
    for one in rehearsals:
        if one.step is not None and (share := budget.progress(one.step)) > 1:
            needs = {
                "seconds": f"{one.step.seconds:.2g} s",
                "tokens": f"{one.step.tokens:,} tokens",
                "flops": f"{one.step.flops:.2g} FLOPs",
            }
            raise PlumeError(
                f"A budget of {budget} buys no step of {one.entrant}, which takes about {needs[budget.unit]}: "
                f"give at least {math.ceil(share)} times as much, or a smaller batch: --set training.batch=8"
            )
