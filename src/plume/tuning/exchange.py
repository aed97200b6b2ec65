"""Tuned models in and out of Hugging Face directories: BertForSequenceClassification, T5ForQuestionAnswering and their like."""

from __future__ import annotations

import re
from pathlib import Path

import tokenizers
import torch

from plume.core import catalog
from plume.core.errors import PlumeError
from plume.core.files import write_folder, write_text
from plume.core.part import replace
from plume.heads.answer_span import AnswerSpan
from plume.heads.head import Head
from plume.heads.sentence_classification import Choice, MultiLabelClassification, SentenceClassification, SentenceRegression
from plume.heads.token_labelling import TokenLabelling
from plume.hf.export import export
from plume.hf.importing import Imported, check_free, read_folder
from plume.hf.task_export import TaskExport, export_task
from plume.hf.task_heads import labels_of
from plume.model.checkpoint import load_weights, state_of
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import finish
from plume.tuning.adapting.body import network
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.linear.model import LinearModel
from plume.tuning.linear.recipe import TITLE
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel, assemble, reading_order

_KINDS: dict[type[Head], str] = {
    SentenceClassification: "classification",
    MultiLabelClassification: "multi-label",
    SentenceRegression: "regression",
    Choice: "multiple-choice",
    AnswerSpan: "qa",
}
_ENTITY = re.compile(r"O|[BIESLUM]-.+")


def import_tuned(folder: Path, out: Path) -> TunedModel:
    """Read a directory whose class has a head for a task, write a tuned model at `out`, whole or not at all."""
    check_free(out)
    imported = read_folder(folder)
    if imported.head is None:
        raise PlumeError(f"{folder} has no head for a task: import it as a model, then tune it.")
    tuned = tuned_of(imported)
    recipe, task = imported.model.recipe, tuned.task()
    if tuned.coder().single != recipe.format.single and not _ends(tuned):
        imported.notes.append(
            f"Its tokenizer leaves texts as they are; here they end with {recipe.format.separator}, as in GPT §3.3: scores of a text differ "
            "from those in transformers unless it is given the same tokens. Tune it further to be sure."
        )
    card = [
        f"# {recipe.name}, tuned for {task.called}, imported",
        f"{recipe.title} ({recipe.paper}). Read from a Hugging Face directory named {folder.name}, a {imported.head.architecture}.",
        *imported.notes,
    ]

    def fill(target: Path) -> None:
        tuned.save(target)
        write_text(target / "card.md", "\n\n".join(card) + "\n")

    if out.exists():
        out.rmdir()
    write_folder(out, fill)
    return tuned


def _ends(tuned: TunedModel) -> bool:
    """Does the tokenizer's own wrapping end a text as the task does?"""
    encoded: list[int] = tuned.tokenizer.backend.encode("a").ids
    return encoded[-1:] == [tuned.tokenizer.separator]


def tuned_of(imported: Imported) -> TunedModel:
    """The task that the head is for, on the model below it."""
    head, recipe = imported.head, imported.model.recipe
    assert head is not None, "a class for a task"
    task = task_of(head.part, labels_of(imported.config, len(head.state["output.weight"])))
    declared = Declared(
        tasks=(task,),
        adaptation=FullTuning(),
        length=recipe.training.length,
        order=reading_order(imported.model, imported.tokenizer),
    )
    model = assemble(imported.model, declared)
    own = {f"heads.{task.called}.{name}": value.float() for name, value in head.state.items()}
    bias = f"heads.{task.called}.output.bias"
    if bias not in own and bias in state_of(model):  # the task's head has one although the class has none: it adds nothing
        own[bias] = torch.zeros(len(head.state["output.weight"]))
    load_weights(model, {f"body.{name}": value for name, value in state_of(imported.model).items()} | own, Path(head.architecture))
    imported.model.spell(imported.tokenizer.tokens())
    return TunedModel(model, imported.tokenizer, declared)


def task_of(part: Head, labels: tuple[str, ...]) -> Task:
    """The declaration, with the labels that the head tells apart."""
    if isinstance(part, TokenLabelling):
        kind = "ner" if all(_ENTITY.fullmatch(label) for label in labels) else "pos"
    else:
        kind = _KINDS[type(part)]
    task = catalog.load("tasks", kind).TASK
    assert isinstance(task, Task)
    named = isinstance(part, TokenLabelling | MultiLabelClassification) or type(part) is SentenceClassification
    return replace(task, labels=labels) if named else task


def export_tuned(tuned: TunedModel, out: Path, *, task: str | None = None) -> str:
    """Write the model with the head of one of its tasks. Returns the name of transformers' class."""
    if isinstance(tuned, LinearModel):
        raise PlumeError(f"{TITLE} has no counterpart in transformers.")
    chosen, model, adaptation = tuned.task(task), tuned.model, tuned.model.adaptation
    network(model.body, "Word vectors have no counterpart in transformers.")
    if model.reads_whole(chosen.called) or not adaptation.exports:
        with_pooling = " with --pooling" if adaptation.pooling is not None else ""
        without = ", without --pooling, or with --pooling cls where the examples are few," if with_pooling else ""
        raise PlumeError(
            f"Tuned in --mode {adaptation.mode}{with_pooling}, the head reads pooled or mixed states, for which transformers has no class: "
            f"tune in --mode full or adapters{without} to export."
        )
    plain, tokenizer = model.top.exported(adaptation.plain(model.body), tuned.tokenizer)
    body = network(plain, "Word vectors have no counterpart in transformers.")
    if chosen.objective is not None:  # what it writes with is the model's own head
        export(body, tokenizer, out)
        return "the class of its language model"
    part = chosen.head(body.classifier, dropout=adaptation.head_dropout)
    if getattr(chosen, "centred", False):
        raise PlumeError(
            f"{chosen.called} was learned as a difference from the mean of the training scores, because transformers' class for this family "
            "has no bias to hold it: it cannot be exported."
        )
    own = f"heads.{chosen.called}."
    return export_task(
        TaskExport(
            recipe=body.recipe,
            body=state_of(body),
            part=part,
            head={name.removeprefix(own): value for name, value in state_of(model).items() if name.startswith(own)},
            labels=chosen.labels,
            tokenizer=framed(tuned),
        ),
        out,
    )


def framed(tuned: TunedModel) -> Tokenizer:
    """The tokenizer, made to wrap texts as the task does: GPT's own leaves them alone, and a task ends them (§3.3)."""
    tokenizer, coder = tuned.tokenizer, tuned.coder()
    if coder.single == tokenizer.format.single:
        return tokenizer
    form = replace(tokenizer.format, single=coder.single, pair=coder.pair, segments=coder.segments)
    return Tokenizer(finish(tokenizers.Tokenizer.from_str(tokenizer.backend.to_str()), form), format=form)
