"""Every family by every kind of task is exported, or refused with a sentence that says what to do; docs/export.md has the table.

What is refused is refused before anything is computed, so the table is made of that; the slow test exports every cell, in both formats.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.exporting.folder import export_graph, subject_of
from plume.model.use.language_model import LanguageModel
from plume.recipes import _catalog as catalog

DOCS = Path(__file__).parents[3] / "docs"
FAMILIES = catalog.networks()
KINDS = {
    "labels, numbers": "classification",
    "tags": "ner",
    "spans": "qa",
    "choices": "multiple-choice",
    "texts": "summarisation",
    "vectors": "embed",
    "generation": "generate",
}
# Why not, by what the refusal says; each also says what to do.
REASONS = {
    "Recurrent networks": "R",
    "characters of words": "R",
    "told the language of every text": "L",
    "has a vector for each language": "L",
    "which entities a text mentions": "M",
    "at masks": "W",
    "hidden end of a text": "W",
    "cannot write a text": "–",
    "does not write": "–",
}
ADVICE = ("Use torch", "--runtime onnx", "--task embed", "needs another family", "needs a model that can", "Tune ", "let plume")


@pytest.fixture(scope="session")
def make(tuned: Any, written: Any, miniature: Any, built: Any, tokenizer_for: Any) -> Callable[[str, str], tuple[Any, str | None]]:
    """A miniature of a family for a kind of task, and what to say as `task`."""

    def one(family: str, kind: str) -> tuple[Any, str | None]:
        if kind == "summarisation":
            return written(family, kind), None
        if kind in ("embed", "generate"):
            recipe = miniature(family, length=64)
            tokenizer = tokenizer_for(recipe)
            return LanguageModel(built(recipe, vocabulary=tokenizer.size).float(), tokenizer), kind
        return tuned(family, kind), None

    return one


def refusal(make: Callable[[str, str], tuple[Any, str | None]], family: str, kind: str) -> str | None:
    """What is said; None: it goes."""
    try:
        model, task = make(family, kind)
        subject_of(model, task, None)
    except PlumeError as error:
        return str(error)
    return None


def cell(make: Callable[[str, str], tuple[Any, str | None]], family: str, kind: str) -> str:
    said = refusal(make, family, kind)
    if said is None:
        return "✓"
    assert any(words in said for words in ADVICE), f"{family}, {kind}: nobody says what to do: {said}"
    (sign,) = {sign for words, sign in REASONS.items() if words in said}
    return sign


def test_the_table(make: Any) -> None:
    rows: dict[tuple[str, ...], list[str]] = {}
    for family in FAMILIES:
        rows.setdefault(tuple(cell(make, family, kind) for kind in KINDS.values()), []).append(family)
    lines = [f"| {', '.join(families)} | {' | '.join(cells)} |" for cells, families in rows.items()]
    for page in (DOCS / "export.md", DOCS / "zh" / "export.md"):
        text = page.read_text(encoding="utf-8")
        assert not [line for line in lines if line not in text], f"{page.name} lacks lines of:\n" + "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_what_goes_is_exported(family: str, make: Any, tmp_path: Path) -> None:
    for kind in KINDS.values():
        if cell(make, family, kind) == "✓":
            for to in ("onnx", "torchscript"):
                model, task = make(family, kind)
                made = export_graph(model, tmp_path / f"{kind}-{to}", to=to, task=task)
                assert made.checked.agreement == 1 and made.checked.difference < 1e-3
