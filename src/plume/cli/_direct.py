"""Which task is meant: one that the model was fine-tuned for, or one that needs no fine-tuning."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plume.tuning.task import DirectTask


def direct_task(model: Path, name: str | None) -> DirectTask | None:
    """The task of that name, if it needs no fine-tuning; None if the model was fine-tuned for it."""
    from plume.core import catalog
    from plume.core.errors import PlumeError, suggest
    from plume.retrieval.rag.declared import is_rag
    from plume.tuning.declared import is_tuned, read_declaration
    from plume.tuning.task import DirectTask

    if not model.exists():
        raise PlumeError(f"{model} does not exist: give a model directory.")
    own = [task.called for task in read_declaration(model).tasks] if is_tuned(model) else []
    if own and (name is None or name in own):
        return None
    if name is not None:
        known = catalog.names("tasks")
        if name not in known:
            raise PlumeError(f"There is no task '{name}': {suggest(name, list(dict.fromkeys([*known, *own])))}.")
        task = catalog.load("tasks", name).TASK
        if isinstance(task, DirectTask):
            return task
    if is_rag(model):
        raise PlumeError(
            f'{model} answers questions from documents: plume ask {model} "…"; measure it with plume eval {model} --data FILE.'
        )
    if own:
        raise PlumeError(f"{model} was fine-tuned for {', '.join(own)}, not for '{name}'.")
    raise PlumeError(
        f"{model} is not fine-tuned for a task. {_abilities(model)} "
        f"Fine-tune it: plume tune {model} --task {name or 'ner'} --train FILE --out DIRECTORY (see 'plume tasks'). "
        "Tasks without fine-tuning: --task zero-shot, --task language-modelling."
    )


def _abilities(model: Path) -> str:
    """What it does as it is."""
    from plume import api
    from plume.model.use.language_model import LanguageModel

    loaded = api.load(model)
    return loaded.abilities.words() if isinstance(loaded, LanguageModel) else "It can embed texts and find similar words."


_FLAGS = {"multi_label": "each", "calibrate": "no-calibrate"}  # where the command line has another word


def zero_shot(labels: str | None, template: str | None, *, each: bool, way: str | None, no_calibrate: bool) -> dict[str, Any]:
    """The zero-shot options that were given."""
    said = {
        "labels": None if labels is None else labels.split(","), "template": template, "multi_label": each or None, "way": way,
        "calibrate": False if no_calibrate else None,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def options_for(call: Callable[..., Any], task: DirectTask, **given: Any) -> dict[str, Any]:
    """The given options, if the task needs no others and knows all of them."""
    from plume.core.errors import PlumeError

    wanted = [one for one in inspect.signature(call).parameters.values() if one.kind is one.KEYWORD_ONLY]
    known = {name for method in (task.predict, task.evaluate) for name in inspect.signature(method).parameters}
    if missing := [one.name for one in wanted if one.default is one.empty and one.name not in given]:
        raise PlumeError(f"--task {task.kind} needs --{missing[0]}.")
    if unknown := [name for name in given if name not in known]:
        raise PlumeError(f"--task {task.kind} has no use for --{_FLAGS.get(unknown[0], unknown[0])}: leave it out.")
    return given
