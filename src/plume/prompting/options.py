"""From what a user writes, on the command line or in Python, to a prompt that is used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.prompting.job import PromptSettings
from plume.prompting.method import method as named
from plume.prompting.prompt import PromptOutcome, prompt
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.options import check_numbers
from plume.tuning.options import named as task_named
from plume.tuning.prompts.label_words import Said, read_words
from plume.tuning.prompts.template import read_templates

Paths = str | Path | Sequence[str | Path] | None
_RUN = ("epochs", "batch", "rate", "length", "budget", "seed")  # of the run; all else is the method's


def prompt_from_options(
    model: Path,
    *,
    train: Paths,
    out: Path,
    task: str = "classification",
    method: str = "pattern",
    template: str | Sequence[str] = (),
    labels: Said | None = None,
    dev: Paths = None,
    text: Paths = None,
    columns: str | Sequence[str] = (),
    label: str | None = None,
    left_to_right: bool = False,
    dev_by_folds: bool = False,
    settings: Sequence[str] = (),
    overrides: Sequence[str] = (),
    quiet: bool = False,
    **options: Any,
) -> PromptOutcome:
    """`settings` are the method's, by dotted path; `overrides` the training's. Other options are the run's (epochs, batch, rate, length, budget,
    seed) or fields of the method (tokens, shots, calibrate)."""
    check_numbers(options)
    if not _listed(train):
        raise PlumeError("Labelled examples are needed, few as they may be: --train FILE.")
    given = {name: value for name, value in options.items() if value is not None}
    answered = task_named(task)
    templates = (template,) if isinstance(template, str) else template
    chosen = named(method).having({name: value for name, value in given.items() if name not in _RUN}).adjusted(settings)
    made = PromptSettings(
        model=str(model.absolute()), method=chosen, task=answered, train=_listed(train), dev=_listed(dev), text=_listed(text),
        templates=read_templates(templates, blank_in_text=not isinstance(answered, LabelTask)),
        words=() if labels is None else read_words(labels), left_to_right=left_to_right,
        columns=(columns,) if isinstance(columns, str) else tuple(columns), answer=label, overrides=tuple(overrides),
        by_folds=dev_by_folds, **{name: value for name, value in given.items() if name in _RUN},
    )  # fmt: skip
    return prompt(made, out, quiet=quiet)


def _listed(paths: Paths) -> tuple[str, ...]:
    if paths is None:
        return ()
    return tuple(str(Path(path).absolute()) for path in ([paths] if isinstance(paths, str | Path) else paths))
