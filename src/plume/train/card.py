"""card.md: what the model is, its data, its scores, and how to reproduce it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from plume._version import __version__
from plume.core.files import write_text
from plume.core.part import describe, differences
from plume.model.recipe import Recipe
from plume.train.evaluate import learned_context
from plume.train.loop import Outcome
from plume.train.measure import PaperFigure
from plume.train.metrics import read_metrics
from plume.train.progress import duration
from plume.train.settings import Settings
from plume.train.warm import WarmStartRecord

CARD = "card.md"
_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float], width: int = 60) -> str:
    """A curve as a line of bars, as many as fit.

    >>> sparkline([3.0, 2.0, 1.0])
    '█▅▁'
    """
    if not values:
        return ""
    picked = [values[i * len(values) // min(width, len(values))] for i in range(min(width, len(values)))]
    low, high = min(picked), max(picked)
    return "".join(_BARS[round((value - low) / ((high - low) or 1) * (len(_BARS) - 1))] for value in picked)


def table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """In Markdown.

    >>> print(table(("seed", "loss"), [(1, 2.5)]))
    | seed | loss |
    | --- | --- |
    | 1 | 2.5 |
    """
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def write_card(
    folder: Path,
    *,
    settings: Settings,
    parent: Recipe | None,
    outcome: Outcome,
    data: dict[str, Any],
    figures: list[PaperFigure],
    entropy: float,
    trivial: dict[str, float],
    parameters: int,
    warm: WarmStartRecord | None = None,
    notes: Sequence[str] = (),
) -> None:
    """card.md in a run's folder: what was trained on what, what it measured on held-out text, and what differs from the family's base."""
    recipe, spent = settings.recipe, outcome.position.spent
    sections = [
        f"# {recipe.name}/{recipe.size}",
        f"{recipe.title} ({recipe.paper}). {parameters:,} parameters, pre-trained by plume {__version__}.",
        *notes,
        *[_verdict(name, outcome, entropy, loss) for name, loss in trivial.items()],
        "## Training",
        table(("what", "value"), [
            ("budget", settings.budget),
            *([] if warm is None else [("warm start, charged to the budget", warm)]),
            ("steps", f"{spent.steps:,}"),
            ("tokens seen", f"{spent.tokens:,} ({spent.tokens / max(data['tokens'], 1):.1f} times the corpus)"),
            ("FLOPs (matrix products)", f"{spent.flops:.3g}"),
            ("seconds in steps", f"{spent.seconds:,.1f} ({duration(spent.seconds)})"),
            ("speed", f"{spent.tokens / max(spent.seconds, 1e-9):,.0f} tokens/s, {spent.flops / max(spent.seconds, 1e-9) / 1e9:,.0f} GFLOP/s"),
            ("ended", f"early, by {outcome.stopped_by}" if outcome.stopped_by else "budget used up"),
            ("seed", settings.seed),
        ]),
        _curves(folder),
        "## Held-out text",
        table(("objective", "value"), [(name, f"{value:.4f}") for name, value in outcome.held_out.items()] + [("unigram entropy", f"{entropy:.4f}")]),
        "## Data",
        table(("what", "value"), [(name.replace("_", " "), _in_words(value)) for name, value in data.items()]),
        "## Noise, as measured on this corpus",
        table(("figure", "measured", "paper", "note"), [
            (f.name, f"{f.measured:.4g}", "" if f.paper is None else f"{f.paper:.4g}", f.note) for f in figures
        ]),
        _recipe_section(recipe, parent),
        "## Versions",
        versions(),
    ]  # fmt: skip
    write_text(folder / CARD, "\n\n".join(sections) + "\n")


def _in_words(value: Any) -> str:
    """
    >>> _in_words({"tokens": 1450, "sentences": 14})
    '1,450 tokens, 14 sentences'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{_in_words(number)} {name}" for name, number in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def versions() -> str:
    """The versions that made the run."""
    return table(("what", "version"), [
        ("plume", __version__), ("torch", torch.__version__), ("tokenizers", version("tokenizers")),
        ("python", platform.python_version()), ("machine", f"{platform.system()} {platform.machine()}, {torch.get_num_threads()} threads"),
    ])  # fmt: skip


def _verdict(name: str, outcome: Outcome, entropy: float, trivial: float) -> str:
    """Has it learned anything that word frequencies, and copying what the input shows, do not give?"""
    if name not in outcome.held_out:
        return ""
    loss = outcome.held_out[name]
    against = f"the unigram entropy of {entropy:.3f} nats"
    if trivial < entropy:
        against += f" and the context-free baseline of {trivial:.3f} (token frequencies plus copying the tokens shown unchanged)"
    if learned_context(loss, trivial):
        return f"Held-out {name} loss **{loss:.3f}**, below {against}: it has learned from context."
    return f"Held-out {name} loss **{loss:.3f}** is not below {against}: **it has not learned context yet.**"


def _curves(folder: Path) -> str:
    lines = read_metrics(folder)
    names = sorted(
        {name for line in lines for name in line if name.startswith(("loss/", "held_out/")) and not name.endswith(("accuracy", "guessing"))}
    )
    rows = []
    for name in names:
        values = [line[name] for line in lines if name in line]
        rows.append((name, f"`{sparkline(values)}`", f"{values[0]:.3f}", f"{values[-1]:.3f}"))
    return table(("curve", "", "first", "last"), rows)


def _recipe_section(recipe: Recipe, parent: Recipe | None) -> str:
    if parent is None:
        return "## Recipe\n\nSee recipe.json."
    rows = [(d.path, f"`{describe(d.left)}`", f"`{describe(d.right)}`") for d in differences(parent, recipe) if d.path != "size"]
    return f"## Recipe, against {parent.name}/{parent.size}\n\n" + (table(("part", parent.size, "here"), rows) if rows else "The same.")
