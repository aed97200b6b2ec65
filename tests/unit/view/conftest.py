"""Tuned models at random, and pages in a browser that nothing outside can reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from plume.core import catalog
from plume.core.part import replace
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.adaptation import way
from plume.tuning.declared import Declared
from plume.tuning.kinds.tagging import TagKind
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel, assemble, reading_order


@pytest.fixture(scope="session")
def classifier(
    miniature: Callable[..., Recipe], built: Callable[..., Model], tokenizer_for: Callable[[Recipe], Tokenizer]
) -> Callable[..., TunedModel]:
    """A family with a head for three labels, both at random."""

    def make(family: str, mode: str = "full") -> TunedModel:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size)
        task = replace(catalog.load("tasks", "classification").TASK, labels=("cold", "neither", "warm"), texts=1)
        declared = Declared(tasks=(task,), adaptation=way(mode), length=32, order=reading_order(body, tokenizer))
        model = assemble(body, declared)
        model.initialise(3, spread=0.3)
        return TunedModel(model.double(), tokenizer, declared)

    return make


def declared_task(name: str) -> Task:
    task = catalog.load("tasks", name).TASK
    if name in ("classification", "multi-label", "paraphrase"):
        return replace(task, labels=("cold", "neither", "warm"), texts=2 if name == "paraphrase" else 1)
    if name == "ner":
        return replace(task, labels=("O", "B-PER", "I-PER"), crf=False)
    if name == "pos":
        return replace(task, labels=("DET", "NOUN", "VERB"), tags=TagKind.PLAIN, crf=False)
    return task


@pytest.fixture(scope="session")
def tuned(
    miniature: Callable[..., Recipe], built: Callable[..., Model], tokenizer_for: Callable[[Recipe], Tokenizer]
) -> Callable[..., TunedModel]:
    """A family with a task's head on it, both at random in float64: gradients do not ask who trained it."""

    def make(family: str, task: str, mode: str = "full") -> TunedModel:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size)
        asked = Declared(tasks=(declared_task(task),), adaptation=way(mode), length=64, order=reading_order(body, tokenizer))
        model = assemble(body, asked).double()
        with torch.random.fork_rng():
            torch.manual_seed(3)
            for head in model.heads.values():
                for weight in head.parameters():
                    torch.nn.init.normal_(weight, std=0.3)
        return TunedModel(model, tokenizer, asked)

    return make


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Write a page, open it, and hold it to its promises: no error, no request."""
    troubles: list[str] = []
    contexts = []

    def show(page: Any, *, width: int = 1200, scheme: str = "light") -> Any:
        file = tmp_path / f"page-{len(contexts)}.html"
        page.write(file)
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("request", lambda request: troubles.append(request.url) if not request.url.startswith("file:") else None)
        tab.goto(file.as_uri())
        return tab

    yield show
    for context in contexts:
        context.close()
    assert not troubles
