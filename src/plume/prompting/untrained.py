"""A model with a prompt that nothing was trained for: as a directory like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plume._version import __version__
from plume.core.files import make_folder, write_json, write_text
from plume.core.part import describe, replace
from plume.prompting.job import PromptJob
from plume.readers.example import Example
from plume.train.card import CARD, table, versions
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.best import BEST_SCORE
from plume.tuning.bodies import read_model
from plume.tuning.declared import Declared
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.settings import length_for
from plume.tuning.tuned import TunedModel, assemble, coder_for, reading_order

NOTHING = ("N/A", "", "[MASK]")  # texts that say nothing (arXiv:2102.09690 §5)


def untrained(job: PromptJob, task: Prompted) -> TunedModel:
    """The model as it is, answering through the prompt."""
    body, tokenizer = read_model(job.model)
    train = job.prepared.train
    length = length_for(body, job.settings.length)
    declared = Declared(
        tasks=(task.suited(body, tokenizer, train),),
        adaptation=FullTuning(),
        length=length,
        order=reading_order(body, tokenizer),
        language=coder_for(body, tokenizer, length=length).usual_language(train),
    )
    return TunedModel(assemble(body, declared), tokenizer, declared)


def prompted_in(tuned: TunedModel) -> Prompted:
    """Its one task."""
    (task,) = tuned.tasks
    assert isinstance(task, Prompted), "the model answers through a prompt"
    return task


def calibrated(tuned: TunedModel, texts: list[Example]) -> TunedModel:
    """With what its labels are worth whatever the text is taken off: by texts that say nothing, or by all there are."""
    task = prompted_in(tuned)
    made = replace(tuned.declared, tasks=(task.calibrated(tuned, texts),))
    return TunedModel(tuned.model, tuned.tokenizer, made, tuned.sentence)


def saying_nothing(task: Prompted) -> list[Example]:
    """Examples without content, as long as the task's are."""
    return [Example(texts=(one,) * (getattr(task.task, "texts", None) or 1)) for one in NOTHING]


def leave(
    job: PromptJob, tuned: TunedModel, *, scores: Mapping[str, float] | None = None, on: str = "", sections: Sequence[str] = ()
) -> None:  # fmt: skip
    """Write the model, its scores on dev where there is one (or those that were measured, and `on` what), and its card."""
    make_folder(job.folder)
    prepared, task = job.prepared, prompted_in(tuned)
    if scores is None:
        scores = task.measure(prepared.dev, tuned.answers(task, prepared.dev)[0])
        on = "dev" if prepared.held_out else "the training examples"
    tuned.save(job.folder)
    write_json(job.folder / BEST_SCORE, {"step": 0, "main": scores.get(task.metric), "scores": dict(scores), "on": on})
    words = task.prompt.words_of(task.labels) if task.labels else []
    told = [
        f"# {task.called}",
        f"{job.model.name}, prompted by plume {__version__} (method {job.settings.method.name}): nothing was trained.",
        *([f"## Scores on {on}", table(("metric", "value"), [(name, f"{value:.4f}") for name, value in scores.items()])] if scores else []),
        "## Prompt",
        f"`{task.prompt.template}`",
        *([table(("label", "words"), [(label, ", ".join(some)) for label, some in zip(task.labels, words, strict=True)])] if words else []),
        f"method: `{describe(job.settings.method)}`",
        *sections,
        "## Versions",
        versions(),
    ]
    write_text(job.folder / CARD, "\n\n".join(told) + "\n")
