"""card.md of a fine-tuned model: its data, what was read and left out, its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from plume._version import __version__
from plume.core.files import write_text
from plume.core.part import describe
from plume.model.checkpoint import read_recipe
from plume.static import model as word_models
from plume.train.card import CARD, sparkline, table, versions
from plume.train.loop import Outcome
from plume.tuning.preparing import PreparedTask
from plume.tuning.settings import TuneSettings


def write_card(
    folder: Path,
    *,
    settings: TuneSettings,
    prepared: Sequence[PreparedTask],
    outcome: Outcome,
    best: Mapping[str, Any],
    lost: Sequence[Mapping[str, int]],
    curve: Sequence[float],
    model: nn.Module,
) -> None:
    """As card.md."""
    spent, training = outcome.position.spent, settings.training
    learning = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    every = sum(parameter.numel() for parameter in model.parameters())
    sections = [
        f"# {', '.join(one.task.called for one in prepared)}",
        f"{_origin(Path(settings.model), folder)}, fine-tuned by plume {__version__} in mode {settings.adaptation.mode}"
        + (" **from scratch, without the pre-trained weights**" if settings.from_scratch else "")
        + f": {learning:,} of {every:,} parameters trained.",
        "## Best scores on dev" if any(one.held_out for one in prepared) else "## Scores on the training examples",
        table(("metric", "value"), [(name, f"{value:.4f}") for name, value in best["scores"].items()]),
        f"Over the run: `{sparkline(list(curve))}` ({curve[0]:.4f} … {curve[-1]:.4f})",
        "## Data",
        *[_data(one, counts) for one, counts in zip(prepared, lost, strict=True)],
        "## Training",
        table(("what", "value"), [
            ("steps", f"{spent.steps:,} of {settings.budget}; best at step {best['step']:,}"),
            ("batch size, peak learning rate, schedule", f"{training.batch}, {training.peak:.3g}, {describe(training.schedule)}"),
            ("maximum length", f"{training.length} tokens"),
            ("layer_decay, thaw", f"{training.layer_decay}, {training.thaw}"),
            ("adaptation", f"`{describe(settings.adaptation)}`"),
            ("seconds in steps", f"{spent.seconds:,.1f}"),
            ("ended", how_ended(outcome, settings)),
            ("seed", settings.seed),
        ]),
        "## Versions",
        versions(),
    ]  # fmt: skip
    write_text(folder / CARD, "\n\n".join(sections) + "\n")


def _origin(model: Path, folder: Path) -> str:
    """What was tuned, as users know it: a student or a pruned network that was made within the run has no name but its recipe's."""
    if folder.resolve() not in model.resolve().parents:
        return model.name
    recipe = word_models.read_recipe(model) if word_models.is_word_model(model) else read_recipe(model)
    return f"{recipe.name}/{recipe.size}"


def how_ended(outcome: Outcome, settings: TuneSettings) -> str:
    """Whether the budget was used up, in words."""
    if outcome.stopped_by:
        return f"early, by {outcome.stopped_by}"
    done = settings.budget.progress(outcome.position.spent) >= 1
    return "as planned" if done else f"early stopping: {settings.patience} evaluations without improvement"


def _data(one: PreparedTask, lost: Mapping[str, int]) -> str:
    lines = [f"- {line}" for reading in one.readings for line in reading.lines()] + [f"- {note}" for note in one.notes]
    lines.append(f"- trained on {len(one.train):,}, evaluated on {len(one.dev):,}")
    lines += [f"- in training {count:,} {what}" for what, count in lost.items() if count]
    if one.task.labels:
        shown = ", ".join(one.task.labels[:20]) + (" …" if len(one.task.labels) > 20 else "")
        lines.append(f"- {len(one.task.labels)} labels: {shown}")
    return f"### {one.task.called}: {one.task.title}\n\n" + "\n".join(lines)
