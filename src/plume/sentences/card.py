"""card.md of a model whose sentence vectors were trained: what from, on what, how, and how good they are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plume._version import __version__
from plume.core.files import write_text
from plume.core.part import describe
from plume.model.checkpoint import WEIGHTS
from plume.sentences.settings import SentenceSettings
from plume.train.card import CARD, sparkline, table, versions
from plume.train.loop import Outcome
from plume.train.metrics import read_metrics


def write_card(
    folder: Path,
    *,
    settings: SentenceSettings,
    notes: Sequence[str],
    groups: int,
    outcome: Outcome,
    best: Mapping[str, Any],
    curve: Sequence[float],
) -> None:
    """As card.md."""
    method, training, spent = settings.method, settings.training, outcome.position.spent
    losses = [float(line["loss/contrast"]) for line in read_metrics(folder) if "loss/contrast" in line]
    sections = [
        f"# {Path(settings.model).name}, {method.name}",
        f"Sentence vectors of {Path(settings.model).name}, trained by plume {__version__}: {method.title} ({method.paper}).",
        "## Lineage",
        table(("what", "value"), [
            ("made from", f"`{settings.model}`"), ("its weights (SHA-256)", f"`{_digest(Path(settings.model) / WEIGHTS)}`"),
            ("recipe", "its own; with an objective that says how it writes" if method.views.writes else "its own, unchanged"),
            ("vectors", f"`{describe(settings.vectors)}`"),
        ]),
        "## Dev" if best else "## Weights",
        table(("metric", "value"), [(name, f"{value:.4f}") for name, value in best["scores"].items()]) if best else "The last of the run: there was "
        "no dev file to choose by.",
        *([f"Spearman over the run: `{sparkline(list(curve))}` ({curve[0]:.4f} … {curve[-1]:.4f})"] if curve else []),
        "## Data",
        "\n".join(f"- {note}" for note in [*notes, f"{groups:,} groups of texts"]),
        "## Training",
        table(("what", "value"), [
            ("steps", f"{spent.steps:,} of {settings.budget}" + (f"; best at step {best['step']:,}" if best else "")),
            ("loss", f"`{describe(method.loss)}`"),
            ("over the run", f"`{sparkline(losses)}` ({losses[0]:.4f} … {losses[-1]:.4f})" if losses else ""),
            ("views", f"`{describe(method.views)}`"),
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


def _digest(path: Path) -> str:
    if not path.exists():
        return "gone"
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
