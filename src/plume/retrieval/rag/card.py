"""card.md of a RAG: what from, on what, how, and how well it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plume._version import __version__
from plume.core.files import write_text
from plume.core.part import describe
from plume.retrieval.rag.settings import RagSettings
from plume.train.card import CARD, sparkline, table, versions
from plume.train.loop import Outcome
from plume.train.metrics import read_metrics


def write_rag_card(
    folder: Path,
    *,
    settings: RagSettings,
    notes: Sequence[str],
    questions: int,
    outcome: Outcome,
    best: Mapping[str, Any],
    curve: Sequence[float],
) -> None:
    """As card.md."""
    training, spent, lines = settings.training, outcome.position.spent, read_metrics(folder)
    losses = [float(line["loss/rag"]) for line in lines if "loss/rag" in line]
    distinct = [float(line["loss/distinct"]) for line in lines if "loss/distinct" in line]
    sections = [
        f"# {Path(settings.model).name}, rag",
        f"Answers by {Path(settings.model).name} from passages that are found, trained by plume {__version__} (RAG, arXiv:2005.11401).",
        "## Dev",
        table(("metric", "value"), [(name, f"{value:.4f}") for name, value in best["scores"].items()]),
        *([f"F1 over the run, of greedy answers: `{sparkline(list(curve))}` ({curve[0]:.4f} … {curve[-1]:.4f})"] if curve else []),
        "## Data",
        "\n".join(f"- {note}" for note in [*notes, f"{questions:,} questions with an answer each to learn from"]),
        "## Training",
        table(("what", "value"), [
            ("writer", f"`{settings.model}`"),
            ("retriever", f"`{settings.retriever}`" if settings.retriever else "BM25"),
            ("task", f"`{describe(settings.declared.task)}`"),
            ("steps", f"{spent.steps:,} of {settings.budget}; best at step {best['step']:,}"),
            ("loss a token over the run", f"`{sparkline(losses)}` ({losses[0]:.4f} … {losses[-1]:.4f})" if losses else ""),
            ("different passages in a batch, as a share", f"`{sparkline(distinct)}` ({distinct[0]:.3f} … {distinct[-1]:.3f})" if distinct else ""),
            ("batch size, peak learning rate, schedule", f"{training.batch}, {training.peak:.3g}, {describe(training.schedule)}"),
            ("seconds in steps", f"{spent.seconds:,.1f}"),
            ("ended", f"early, by {outcome.stopped_by}" if outcome.stopped_by else "as planned"),
            ("seed", settings.seed),
        ]),
        "## Versions",
        versions(),
    ]  # fmt: skip
    write_text(folder / CARD, "\n\n".join(sections) + "\n")
