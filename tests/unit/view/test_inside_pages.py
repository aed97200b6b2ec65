"""The pages in a real browser: they draw, answer to clicks and keys, write nothing to the console and ask for nothing outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plume.model.use.language_model import LanguageModel
from plume.view.inside import gradients_page, layers_page, predictions_page, senses_page

TEXT = "The old captain paints the lighthouse near the river."


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "elmo"])
def test_predictions(family: str, language_model: Callable[[str], LanguageModel], opened: Callable[..., Any]) -> None:
    made = predictions_page(language_model(family), TEXT, language="zh" if family == "gpt2" else "en")
    page = opened(made, width=390 if family == "t5" else 1200, scheme="dark" if family == "elmo" else "light")
    whole(page)
    tokens = page.locator("button.piece")
    assert tokens.count() == len(made.data["predictions"]["places"])
    tokens.nth(2).click()
    assert tokens.nth(2).get_attribute("aria-selected") == "true"
    rows = page.locator("table.guesses tbody tr")
    assert rows.count() == len(made.data["predictions"]["layers"])
    assert rows.last.locator("td.guess .token").all_inner_texts() == [text.strip() for text in made.data["predictions"]["guesses"][2][-1]]
    tokens.nth(2).press("ArrowRight")
    assert tokens.nth(3).get_attribute("aria-selected") == "true"
    page.locator("td[data-place='1']").first.click()
    assert tokens.nth(1).get_attribute("aria-selected") == "true"


def test_predictions_after_a_source(language_model: Callable[[str], LanguageModel], opened: Callable[..., Any]) -> None:
    page = opened(predictions_page(language_model("transformer"), "my sister", written="the letter"))
    assert "my" in page.locator("p.running").inner_text()


def test_gradients(opened: Callable[..., Any], tuned: Callable[..., Any]) -> None:
    made = gradients_page(tuned("bert", "ner"), TEXT, language="en")
    page = opened(made, width=390, scheme="dark")
    whole(page)
    tabs = page.get_by_role("tab")
    assert tabs.count() == len(made.data["gradients"]["answers"])
    tabs.nth(1).click()
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    piece = page.locator(".attributed .piece").first
    piece.hover()
    assert page.locator(".tip").is_visible()
    assert "%" in page.locator(".figures").inner_text()


def test_senses(language_model: Callable[[str], LanguageModel], opened: Callable[..., Any], tmp_path: Path) -> None:
    lines = [f"{text}\t{label}" for text, label in [("the cat finds the letter", "a"), ("two apples and a letter", "b")] * 8]
    (tmp_path / "words.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    made = senses_page(language_model("bert"), "letter", tmp_path / "words.tsv", label="label")
    page = opened(made)
    whole(page)
    page.get_by_role("slider").fill("0")
    assert "0 (embedding)" in page.locator("output").inner_text()
    page.get_by_label("Map").select_option("PCA")
    page.get_by_label("Colour").select_option("clusters")
    canvas = page.locator(".map canvas")
    canvas.press("ArrowRight")
    assert page.locator(".sentences li").count() == 6
    page.locator(".sentences li button").first.click()
    assert page.locator(".sentences mark").first.inner_text() == "letter"
    assert painted(page, ".map canvas")


def test_layers(language_model: Callable[[str], LanguageModel], opened: Callable[..., Any]) -> None:
    page = opened(layers_page(language_model("gpt2"), name="g"), width=390)
    whole(page)
    assert "Not measured" in page.inner_text("body") or painted(page, "canvas")


def whole(page: Any) -> None:
    """Nothing sticks out, and nothing could not be drawn."""
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".failed").count() == 0


def painted(page: Any, canvas: str) -> bool:
    """Is anything on it?"""
    page.wait_for_timeout(300)
    script = "e => new Uint32Array(e.getContext('2d').getImageData(0, 0, e.width, e.height).data.buffer).some(one => one)"
    return bool(page.locator(canvas).first.evaluate(script))
