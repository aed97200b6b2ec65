"""The page of an exploration in a real browser: points, the front, the table, and the command of the model that is chosen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from plume.compressing.exploring.frontier import Frontier, FrontierModel, FrontierRole, with_front
from plume.view.frontier import frontier_page


def model(
    name: str, quality: float, latency: float, size: float, role: FrontierRole = FrontierRole.VARIANT, control: str = ""
) -> FrontierModel:
    return FrontierModel(
        name=name, role=role, method=name, command=f"plume compress runs/ner --method {name} --out {name}", quality=quality, latency=latency,
        per_second=1000 / latency, bytes=int(size * 1e6), parameters=int(size * 1e5), runtime="torch", seconds=100, control=control,
    )  # fmt: skip


MODELS = (
    model("ner", 0.9, 10, 90, FrontierRole.BASELINE),
    model("int8", 0.89, 3, 23),
    model("<b>layers</b>", 0.8, 5, 60),
    model("distil", 0.85, 1, 20, control="direct"),
    model("direct", 0.82, 1.1, 20, FrontierRole.CONTROL),
    FrontierModel(name="broken", role=FrontierRole.VARIANT, reason="It could not be made."),
)
FRONTIER = Frontier(
    model="runs/ner", metric="accuracy", plume="1", made="2026-01-01T10:00+00:00", machine="a CPU", data=("dev.csv",), models=with_front(MODELS)
)  # fmt: skip


@pytest.mark.parametrize(("language", "width", "scheme"), [("en", 1200, "light"), ("zh", 390, "dark")])
def test_points_and_rows(language: str, width: int, scheme: str, opened: Callable[..., Any]) -> None:
    page = opened(frontier_page(FRONTIER, language=language), width=width, scheme=scheme)
    page.wait_for_selector("g.model")
    assert page.locator("g.model").count() == page.locator("table.models tbody tr").count() == 5
    assert page.locator("g.model.best").count() == page.locator(".star").count() == 3, "ner, int8, distil"
    assert "broken" in page.locator(".not-made").inner_text() and "It could not be made." in page.locator(".not-made").inner_text()
    assert "<b>layers</b>" in page.locator("table.models").inner_text(), "names are text"
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_the_command_by_mouse_and_by_keyboard(opened: Callable[..., Any]) -> None:
    page = opened(frontier_page(FRONTIER))
    page.locator('g.model[data-name="int8"]').focus()
    page.keyboard.press("Enter")
    assert page.locator(".detail pre").inner_text() == "plume compress runs/ner --method int8 --out int8"
    assert page.locator('tr[data-name="int8"]').get_attribute("class") == "chosen"
    assert page.locator(".detail .figures dd").all_inner_texts() == ["98.9%", "÷ 3.9", "÷ 3.3", "× 3.3"]
    page.locator('tr[data-name="distil"] button').click()
    assert "distilling brings +3.0 points" in page.locator(".detail").inner_text()
    assert page.locator('g.model[data-name="distil"]').get_attribute("aria-pressed") == "true"
    page.locator("button.copy").click()
    page.locator(
        "button.copy", has_not_text=re.compile("^Copy$")
    ).wait_for()  # an expression would need eval, which the page's policy refuses
    page.locator('tr[data-name="ner"] button').click()
    assert page.locator(".detail pre").count() == 0 and "This is the model" in page.locator(".detail").inner_text()


def test_axes_and_sorting(opened: Callable[..., Any]) -> None:
    page = opened(frontier_page(FRONTIER))

    def names() -> list[str]:
        return [row.get_attribute("data-name") for row in page.locator("table.models tbody tr").all()]

    assert names()[0] == "ner"
    page.locator("button[data-column=latency]").click()
    assert names()[:2] == ["distil", "direct"]
    page.keyboard.press("Enter")
    assert names()[0] == "ner" and page.locator("th[aria-sort=descending] button").get_attribute("data-column") == "latency"
    for axis, best in (("bytes", {"ner", "int8", "distil"}), ("rate", {"ner", "int8", "distil"})):
        page.locator(f"button[data-axis={axis}]").click()
        assert {one.get_attribute("data-name") for one in page.locator("g.model.best").all()} == best
        assert page.locator(f"button[data-axis={axis}]").get_attribute("aria-pressed") == "true"
