"""The pages in a real browser: drawn, used with pointer and keys, and nothing asked of any network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from plume.core.catalog import load, names
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.gating import AttentionPlace
from plume.model.use.language_model import LanguageModel
from plume.view.attending import attention_page, importance_page
from plume.view.page import Page, ViewPanel
from plume.view.recording.importance import HeadImportance, PlaceImportance
from plume.view.recording.subject import subject_of

TEXT, OTHER = "The old captain finds a wooden box.", "My sister carries two apples."
HOSTILE = "<script>alert(1)</script> </script><b>&amp;"
Models = Callable[[str], LanguageModel]
Opened = Callable[..., Any]
_DRAWN = """canvas => { const blank = document.createElement("canvas"); blank.width = canvas.width; blank.height = canvas.height;
            return canvas.width > 0 && canvas.toDataURL() !== blank.toDataURL(); }"""
_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"


def seen(tab: Any, selector: str, at: int = 0) -> str:
    """What a canvas shows."""
    canvas = tab.locator(selector).nth(at)
    canvas.scroll_into_view_if_needed()
    tab.wait_for_function(_DRAWN, arg=canvas.element_handle())
    tab.evaluate(_FRAMES)
    return str(canvas.evaluate("canvas => canvas.toDataURL()"))


def test_every_view_has_a_script_and_words_in_both_languages() -> None:
    for name in names("view.views"):
        panel = load("view.views", name).PANEL
        assert panel.name == name and "title" in panel.words
        assert all(len(texts) == 2 and all(texts) for texts in panel.words.values())
        page = Page(title="t", panels=[panel], data={}, helpers=["attention", "grid"])
        assert f'plume.view("{name}"' in page.html()


def test_data_comes_through_whole(opened: Opened) -> None:
    arrays = {
        kind: np.arange(-3 if kind[0] in "if" else 0, 6).astype(kind)
        for kind in ("uint8", "int8", "int16", "uint16", "int32", "float32", "float64", "int64")
    }
    made = Page(title=HOSTILE, lede=HOSTILE, panels=[], data={"text": HOSTILE, "arrays": arrays}, language="zh")
    tab = opened(made)
    assert tab.title() == HOSTILE and tab.locator("h1").inner_text() == HOSTILE
    read = """() => { const d = JSON.parse(document.getElementById("data").textContent).data;
              return [d.text, Object.values(d.arrays).map(a => [...plume.array(a)])]; }"""
    text, found = tab.evaluate(read)
    assert text == HOSTILE and found == [one.tolist() for one in arrays.values()]
    assert tab.locator("html").get_attribute("lang") == "zh-Hans"


def test_a_notebook_shows_the_page_in_a_frame(browser: Any) -> None:
    page = Page(title=HOSTILE, panels=[], data={"x": HOSTILE})
    tab = browser.new_page()
    tab.set_content(f"<body>{page._repr_html_()}</body>")
    assert tab.frame_locator("iframe").locator("h1").inner_text() == HOSTILE
    tab.close()


def test_what_a_page_cannot_say() -> None:
    with pytest.raises(PlumeError, match="do not speak"):
        Page(title="t", panels=[], data={}, language="fr").html()
    with pytest.raises(ValueError, match="JSON"):
        Page(title="t", panels=[], data={"x": float("nan")}).html()
    with pytest.raises(TypeError, match="cannot stand"):
        Page(title="t", panels=[ViewPanel(name="head", words={})], data={"x": object()}).html()


def test_layers_of_unlike_numbers_of_heads_are_drawn(opened: Opened, language_model: Models) -> None:
    """Of a pruned model."""
    whole = language_model("bert")
    recipe = replace(whole.recipe, network=replace(whole.recipe.transformer, pruned=((0, 1, 3), ()), inner=(5, 64)))
    pruned = LanguageModel(recipe.assembly.build(recipe, vocabulary=whole.tokenizer.size), whole.tokenizer)
    tab = opened(attention_page([subject_of(pruned)], TEXT))
    swatches = tab.locator("#head .swatch")
    assert swatches.count() == 1
    tab.locator("#head select").first.select_option(index=1)
    assert swatches.count() == 4
    assert [swatches.nth(head).get_attribute("aria-pressed") for head in range(4)] == ["true"] * 4
    seen(tab, "canvas")


def test_head_view_answers_to_pointer_and_keys(opened: Opened, language_model: Models) -> None:
    tab = opened(attention_page([subject_of(language_model("bert"))], TEXT, pair=OTHER, view="head"), scheme="dark")
    assert tab.locator("#head output").inner_text() == "10%"
    tab.locator("#head input[type=range]").fill("0")
    first = seen(tab, "#head canvas")
    tab.locator("#head .swatch").nth(1).click()
    assert tab.locator("#head .swatch").nth(1).get_attribute("aria-pressed") == "false"
    toggled = seen(tab, "#head canvas")
    assert toggled != first
    tab.select_option("#head select >> nth=0", index=1)
    other = seen(tab, "#head canvas")
    assert other != toggled
    box = tab.locator("#head canvas").bounding_box()
    tab.mouse.move(box["x"] + 60, box["y"] + 40)
    over = seen(tab, "#head canvas")
    assert over != other
    tab.mouse.click(box["x"] + 60, box["y"] + 40)
    tab.mouse.move(box["x"] + box["width"] - 60, box["y"] + 60)
    assert "→" in tab.locator(".tip").inner_text() and "%" in tab.locator(".tip").inner_text()
    tab.mouse.move(2, 2)
    tab.locator("#head canvas").focus()
    held = seen(tab, "#head canvas")
    tab.keyboard.press("ArrowDown")
    assert seen(tab, "#head canvas") != held
    tab.keyboard.press("Escape")
    assert seen(tab, "#head canvas") == other
    tab.locator("#head .swatch").nth(2).dblclick()
    assert tab.locator("#head .swatch[aria-pressed=true]").count() == 1
    tab.get_by_role("button", name="all", exact=True).click()
    assert tab.locator("#head .swatch[aria-pressed=true]").count() == 4
    tall = box["height"]
    tab.select_option("#head select >> nth=1", label="first → second")
    tab.evaluate(_FRAMES)
    assert tab.locator("#head canvas").bounding_box()["height"] < tall


def test_model_view_enlarges_a_head(opened: Opened, language_model: Models) -> None:
    tab = opened(attention_page([subject_of(language_model("t5"))], TEXT, target=OTHER, view="model"))
    drawn = seen(tab, "#model canvas", 1)
    tab.select_option("#model select >> nth=1", label="lines")
    assert seen(tab, "#model canvas", 1) != drawn
    tab.locator("#model canvas").nth(1).click(position={"x": 60, "y": 20})
    assert "layer 1, head 1" in tab.locator("dialog h3").inner_text()
    seen(tab, "dialog canvas")
    tab.get_by_role("button", name="Next head").click()
    assert "head 2" in tab.locator("dialog h3").inner_text()
    tab.keyboard.press("Escape")
    tab.locator("dialog").wait_for(state="detached")
    tab.select_option("#model select >> nth=0", label="decoder → encoder")
    seen(tab, "#model canvas", 1)


def test_neuron_view_says_where_position_enters(opened: Opened, language_model: Models) -> None:
    tab = opened(attention_page([subject_of(language_model("nezha"))], TEXT, view="neuron"))
    first = seen(tab, "#neuron canvas", 1)
    note = tab.locator("#neuron .note").inner_text()
    assert "adds a bias to the scores" in note and "values" in note
    tab.get_by_role("button", name="Next token").click()
    second = seen(tab, "#neuron canvas", 1)
    assert second != first
    box = tab.locator("#neuron canvas").nth(1).bounding_box()
    tab.mouse.move(box["x"] + 200, box["y"] + 30)
    tip = tab.locator(".tip").inner_text()
    assert "q · k" in tip and "position" in tip and "softmax" in tip


def test_neuron_view_s_numbers_are_the_model_s(opened: Opened, language_model: Models) -> None:
    from plume.view.recording.attention import AttentionReader

    subject = subject_of(language_model("bert"))
    (own,) = AttentionReader(subject, TEXT).maps()
    tab = opened(attention_page([subject], TEXT, view="neuron"))
    seen(tab, "#neuron canvas", 1)
    box = tab.locator("#neuron canvas").nth(1).bounding_box()
    tab.mouse.move(box["x"] + 200, box["y"] + 2 * 21 + 8)
    lines = tab.locator(".tip").inner_text().split("\n")
    score = float((own.query[0][0, 0] * own.key[0][0, 2]).sum() * own.scale)
    assert float(lines[1].split()[-1]) == pytest.approx(score, abs=2e-3)
    assert float(lines[2].split()[-1].rstrip("%")) / 100 == pytest.approx(float(own.probability[0][0, 0, 2]), abs=0.006)


def test_switch_view_and_two_models_side_by_side(opened: Opened, language_model: Models) -> None:
    subjects = [subject_of(language_model("bert"), "one"), subject_of(language_model("gpt2"), "two")]
    tab = opened(attention_page(subjects, "The old captain finds a box.", view="all", language="zh"), width=390)
    assert tab.locator("#head h3").all_inner_texts() == ["one", "two"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    seen(tab, "#switch canvas", 0)
    before = tab.locator("#switch .answer").nth(1).inner_text()
    tab.locator("#switch canvas").nth(2).click(position={"x": 40, "y": 30})
    after = tab.locator("#switch .answer").nth(1).inner_text()
    assert "第 1 层，第 1 个头" in after and "完整模型" in after
    tab.keyboard.press("ArrowRight")
    assert "第 2 个头" in tab.locator("#switch .answer").nth(1).inner_text() != before
    seen(tab, "#switch canvas", 3)


def test_importance_view(opened: Opened) -> None:
    draw = np.random.default_rng(0)
    layers = [draw.random(4) for _ in range(3)]
    place = PlaceImportance(place=AttentionPlace.SELF, gradient=layers, normalised=layers, without=[one + 1 for one in layers])
    found = HeadImportance(model="tiny", task="ner", examples=9, loss=1.0, places=[place])
    assert found.correlation == pytest.approx(1)
    tab = opened(importance_page(found))
    drawn = seen(tab, "#importance canvas", 0)
    tab.select_option("#importance select", label="loss added without the head")
    assert seen(tab, "#importance canvas", 0) == drawn  # the same numbers, here
    seen(tab, "#importance canvas", 1)
    assert "1.00" in tab.locator("#importance").inner_text()
    assert tab.locator("#importance tbody tr").count() == 10
