"""card.md of a bi-encoder: what from, on what, how, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plume._version import __version__
from plume.core.files import write_text
from plume.core.part import describe
from plume.retrieval.settings import RetrievalSettings
from plume.train.card import CARD, sparkline, table, versions
from plume.train.loop import Outcome
from plume.train.metrics import read_metrics


def write_card(
    folder: Path,
    *,
    settings: RetrievalSettings,
    notes: Sequence[str],
    questions: int,
    outcome: Outcome,
    best: Mapping[str, Any],
    curve: Sequence[float],
) -> None:
    """As card.md."""
    training, spent = settings.training, outcome.position.spent
    losses = [float(line["loss/contrast"]) for line in read_metrics(folder) if "loss/contrast" in line]
    sections = [
        f"# {Path(settings.model).name}, retrieval",
        f"Vectors of questions and passages by {Path(settings.model).name}, trained by plume {__version__} (DPR, arXiv:2004.04906).",
        "## Dev" if best else "## Weights",
        table(("metric", "value"), [(name, f"{value:.4f}") for name, value in best["scores"].items()]) if best else "The last of the run: there was "
        "no dev file to choose by.",
        *([f"MRR over the run: `{sparkline(list(curve))}` ({curve[0]:.4f} … {curve[-1]:.4f})"] if curve else []),
        "## Data",
        "\n".join(f"- {note}" for note in [*notes, f"{questions:,} questions to learn from"]),
        "## Training",
        table(("what", "value"), [
            ("made from", f"`{settings.model}`"),
            ("task", f"`{describe(settings.task)}`"),
            ("steps", f"{spent.steps:,} of {settings.budget}" + (f"; best at step {best['step']:,}" if best else "")),
            ("loss over the run", f"`{sparkline(losses)}` ({losses[0]:.4f} … {losses[-1]:.4f})" if losses else ""),
            ("batch size, peak learning rate, schedule", f"{training.batch}, {training.peak:.3g}, {describe(training.schedule)}"),
            ("maximum length, dropout", f"{training.length} tokens, {settings.dropout}"),
            ("seconds in steps", f"{spent.seconds:,.1f}"),
            ("ended", f"early, by {outcome.stopped_by}" if outcome.stopped_by else "as planned"),
            ("seed", settings.seed),
        ]),
        "## Versions",
        versions(),
    ]  # fmt: skip
    write_text(folder / CARD, "\n\n".join(sections) + "\n")
