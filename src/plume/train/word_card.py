"""card.md of word vectors."""

from __future__ import annotations

import math
from importlib.metadata import version
from pathlib import Path

from plume._version import __version__
from plume.core.files import write_text
from plume.core.part import describe, differences
from plume.recipes import _catalog as catalog
from plume.static.recipe import HeldOutLoss
from plume.static.text import Vocabulary
from plume.train.budget import Spent
from plume.train.card import CARD, sparkline, table
from plume.train.metrics import read_metrics
from plume.train.progress import duration
from plume.train.settings import WordSettings


def write_word_card(
    folder: Path, *, settings: WordSettings, spent: Spent, measured: HeldOutLoss, vocabulary: Vocabulary, words: int, stopped_by: str | None
) -> None:
    """card.md of word vectors: what they were trained on, what they reached."""
    recipe = settings.recipe
    curves = [line["held_out/loss"] for line in read_metrics(folder) if "held_out/loss" in line]
    verdict = "it has learned from context" if measured.loss < 0.97 * measured.baseline else "**it has not learned context yet**"
    loss = f"Held-out loss **{measured.loss:.3f}** per prediction; word frequencies alone give {measured.baseline:.3f}: {verdict}."
    base = catalog.declarations(recipe.name)["base"] if recipe.name in catalog.families() else recipe
    changes = [(one.path, f"`{describe(one.left)}`", f"`{describe(one.right)}`") for one in differences(base, recipe) if one.path != "size"]
    sections = [
        f"# {recipe.name}/{recipe.size}",
        f"{recipe.title} ({recipe.paper}). {len(vocabulary):,} words × {recipe.dimension}, trained by plume {__version__}.",
        "Not measured: the held-out text has nothing to predict." if math.isnan(measured.loss) else loss,
        table(("what", "value"), [
            ("budget", settings.budget or f"{recipe.epochs} epochs"),
            ("words read", f"{spent.tokens:,} ({spent.tokens / max(words, 1):.1f} times the text)"),
            ("seconds", f"{spent.seconds:,.1f} ({duration(spent.seconds)})"),
            ("speed", f"{spent.tokens / max(spent.seconds, 1e-9):,.0f} words/s, {settings.threads} threads"),
            ("ended", f"early, by {stopped_by}" if stopped_by else "as planned"),
            ("held-out loss over time", f"`{sparkline(curves)}`"),
            ("seed", f"{settings.seed}" + ("" if settings.threads == 1 else "; threads write without locks, so that another run differs a little")),
            ("corpus", ", ".join(Path(path).name for path in settings.corpus)),
            ("most frequent words", " ".join(vocabulary.words[:20])),
        ]),
        f"## Recipe, against {base.name}/{base.size}",
        table(("part", base.size, "here"), changes) if changes else "The same.",
        table(("what", "version"), [("plume", __version__), ("numba", version("numba")), ("numpy", version("numpy"))]),
    ]  # fmt: skip
    write_text(folder / CARD, "\n\n".join(sections) + "\n")
